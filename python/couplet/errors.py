"""The exceptions: one class for each error code, each also a fitting built-in exception.

Written by tools/generate from include/couplet/couplet_status.h: do not edit (make generate).
``error.code`` is the code of the C interface, ``error.status`` its name; the text names program, rank, host, series and
step if they apply. ``Full`` is an answer, not a failure: it says that nothing was written.
"""

from __future__ import annotations

from typing import ClassVar


class Error(Exception):
    """The base of all errors of Couplet. Its children say what was lost: call, request, peer or host."""

    code: ClassVar[int] = 0
    status: ClassVar[str] = "unknown"


class Full(Error, BlockingIOError):  # noqa: N818  an answer, as queue.Full is
    """There is no room, and nothing was done: a reader has not read (put, claim), or a queue is full (submit)."""

    code = 2
    status = "COUPLET_FULL"


# The call is lost.
class ArgumentError(Error, ValueError):
    """An argument is not allowed; the text says which one, and what would be."""

    code = -1
    status = "COUPLET_ERROR_ARGUMENT"


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a type that the call does not take; the text says which types it takes."""


class StateError(Error, RuntimeError):
    """The call is not allowed now: calls in the wrong order, a handle that is closed."""

    code = -2
    status = "COUPLET_ERROR_STATE"


class NotFoundError(Error, LookupError):
    """There is no such program, series or rank."""

    code = -3
    status = "COUPLET_ERROR_NOT_FOUND"


class ExistsError(Error, ValueError):
    """The name is taken."""

    code = -4
    status = "COUPLET_ERROR_EXISTS"


class ElementTypeError(Error, TypeError):
    """The data type is not the agreed one."""

    code = -5
    status = "COUPLET_ERROR_TYPE"


class ShapeError(Error, ValueError):
    """The number of dimensions is wrong, or a box is outside the array."""

    code = -6
    status = "COUPLET_ERROR_SHAPE"


class StepError(Error, ValueError):
    """The step is not greater than the one before it."""

    code = -7
    status = "COUPLET_ERROR_STEP"


class LimitError(Error, RuntimeError):
    """A named limit was passed."""

    code = -8
    status = "COUPLET_ERROR_LIMIT"


class UnsupportedError(Error, NotImplementedError):
    """This build or this system cannot do it."""

    code = -9
    status = "COUPLET_ERROR_UNSUPPORTED"


class ForkedError(Error, RuntimeError):
    """The handle belongs to the parent process."""

    code = -10
    status = "COUPLET_ERROR_FORKED"


class ThreadError(Error, RuntimeError):
    """Two threads used the universe at the same time."""

    code = -11
    status = "COUPLET_ERROR_THREAD"


class OutOfMemoryError(Error, MemoryError):
    """Memory could not be allocated."""

    code = -12
    status = "COUPLET_ERROR_MEMORY"


class ConfigurationError(Error, ValueError):
    """There is a mistake in the environment or in the configuration."""

    code = -13
    status = "COUPLET_ERROR_CONFIG"


class MpiError(Error, RuntimeError):
    """An MPI call failed, or two MPI libraries are loaded."""

    code = -14
    status = "COUPLET_ERROR_MPI"


# The request is lost.
class DeadlineError(Error, TimeoutError):
    """The deadline has passed."""

    code = -101
    status = "COUPLET_ERROR_TIMEOUT"


class TruncatedError(Error, BufferError):
    """The message is longer than the receive buffer."""

    code = -102
    status = "COUPLET_ERROR_TRUNCATED"


class EvictedError(Error, RuntimeError):
    """This holder kept the writer waiting for longer than evict_after_held, or its hold was released."""

    code = -103
    status = "COUPLET_ERROR_EVICTED"


class MismatchError(Error, ValueError):
    """The ranks of one program do not agree."""

    code = -104
    status = "COUPLET_ERROR_MISMATCH"


# The peer is lost.
class PeerLostError(Error, ConnectionError):
    """The process or program that the text names has died or left."""

    code = -201
    status = "COUPLET_ERROR_PEER_LOST"


class AuthenticationError(Error, PermissionError):
    """The other side has another secret."""

    code = -202
    status = "COUPLET_ERROR_AUTHENTICATION"


class VersionError(Error, ConnectionError):
    """The versions of both sides do not fit together."""

    code = -203
    status = "COUPLET_ERROR_VERSION"


class ProtocolError(Error, ConnectionError):
    """Bytes arrived that are malformed, lost, repeated or damaged."""

    code = -204
    status = "COUPLET_ERROR_PROTOCOL"


# The host is lost.
class SystemCallError(Error, OSError):
    """An operating system call failed."""

    code = -301
    status = "COUPLET_ERROR_SYSTEM"


class NoSpaceError(Error, OSError):
    """The disk or the shared memory is full."""

    code = -302
    status = "COUPLET_ERROR_NO_SPACE"


class HubLostError(Error, ConnectionError):
    """The hub is gone or was never there."""

    code = -303
    status = "COUPLET_ERROR_HUB_LOST"


class InternalError(Error, RuntimeError):
    """A mistake in Couplet itself; please report it with the text."""

    code = -304
    status = "COUPLET_ERROR_INTERNAL"


_BY_CODE: dict[int, type[Error]] = {kind.code: kind for kind in Error.__subclasses__()}


def error_for(code: int, text: str) -> Error:
    """The exception of a status; the extension calls this."""
    kind = _BY_CODE.get(code, Error)
    return kind(text or kind.status)
