"""Couplet lets separately started parallel programs work as one: they share time series and exchange messages.

    with couplet.join("nowcast") as universe:
        eta = universe.open_series("eta", box=[(150, 750), (100, 500)])
        for batch in eta.batches(up_to=64):    # each is one read of many steps
            batch.data                         # (steps, 600, 400)

Arrays are in C order; boxes are 0-based and half open. Blocking calls release the GIL and answer Ctrl-C. Errors are the
exceptions of couplet.errors. Guide: docs/guide/python.md.
"""

from couplet._areas import Area, AreaInfo
from couplet._coalesce import Client, Moment, StepManager
from couplet._collectives import CollectiveRequest, Operation
from couplet._couplet import Message, version
from couplet._exchanges import Exchange
from couplet._groups import ANY_SOURCE, ANY_TAG, Group, MessageArrival
from couplet._halos import Grid, Halo
from couplet._open_options import OpenOptions
from couplet._requests import Request, waitall, waitany
from couplet._series import Batch, FieldInfo, Reader, Retained, SeriesInfo, Statistics, Steps, Waits, Writer
from couplet._tasks import ANY_WORKER, Coupler, Requester, Task, Work, Worker, waitany_task
from couplet._universe import Program, Universe, join
from couplet._waiting import Thing, arm_any, wait_any
from couplet.errors import (
    ArgumentError,
    ArgumentTypeError,
    AuthenticationError,
    ConfigurationError,
    DeadlineError,
    ElementTypeError,
    Error,
    EvictedError,
    ExistsError,
    ForkedError,
    Full,
    HubLostError,
    InternalError,
    LimitError,
    MismatchError,
    MpiError,
    NoSpaceError,
    NotFoundError,
    OutOfMemoryError,
    PeerLostError,
    ProtocolError,
    ShapeError,
    StateError,
    StepError,
    SystemCallError,
    ThreadError,
    TruncatedError,
    UnsupportedError,
    VersionError,
)
from couplet.weights import Weights

__version__ = version()

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "ANY_WORKER",
    "Area",
    "AreaInfo",
    "ArgumentError",
    "ArgumentTypeError",
    "AuthenticationError",
    "Batch",
    "CollectiveRequest",
    "ConfigurationError",
    "Coupler",
    "DeadlineError",
    "ElementTypeError",
    "Error",
    "EvictedError",
    "Client",
    "Exchange",
    "Moment",
    "StepManager",
    "ExistsError",
    "FieldInfo",
    "ForkedError",
    "Full",
    "Grid",
    "Group",
    "Halo",
    "HubLostError",
    "InternalError",
    "LimitError",
    "Message",
    "MessageArrival",
    "MismatchError",
    "MpiError",
    "NoSpaceError",
    "NotFoundError",
    "OpenOptions",
    "Operation",
    "OutOfMemoryError",
    "PeerLostError",
    "Program",
    "ProtocolError",
    "Reader",
    "Request",
    "Requester",
    "Retained",
    "SeriesInfo",
    "ShapeError",
    "StateError",
    "Statistics",
    "StepError",
    "Steps",
    "SystemCallError",
    "Task",
    "Thing",
    "ThreadError",
    "TruncatedError",
    "Universe",
    "UnsupportedError",
    "VersionError",
    "Waits",
    "Weights",
    "Work",
    "Worker",
    "Writer",
    "arm_any",
    "join",
    "version",
    "wait_any",
    "waitall",
    "waitany",
    "waitany_task",
]
