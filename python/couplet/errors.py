"""The exceptions: one class for each error code. Each is also a built-in exception with a similar meaning.

``error.code`` is the code of the C interface, ``error.status`` its name. The text names program, rank, host, series and
step where they apply. ``Full`` is an answer, not a failure: it says that nothing was written.
"""

from __future__ import annotations

from typing import ClassVar


class Error(Exception):
    """The base of all errors of Couplet. Its children say what was lost: the call, the request, the peer or the
    host.
    """

    code: ClassVar[int] = 0
    status: ClassVar[str] = "unknown"


class Full(Error, BlockingIOError):  # noqa: N818  an answer, as queue.Full is
    """There is no room for another step: a holding reader still needs the oldest slot. Nothing was written."""

    code = 2
    status = "COUPLET_FULL"


# Errors that lose the call.
class ArgumentError(Error, ValueError):
    """An argument is out of range, of another length or of an unknown kind."""

    code = -1
    status = "COUPLET_ERROR_ARGUMENT"


class StateError(Error, RuntimeError):
    """The call is not possible now: calls were made in the wrong order, or the object is closed."""

    code = -2
    status = "COUPLET_ERROR_STATE"


class NotFoundError(Error, LookupError):
    """There is no program, series, field, area or rank of this name or number."""

    code = -3
    status = "COUPLET_ERROR_NOT_FOUND"


class ExistsError(Error, ValueError):
    """The name is already in use."""

    code = -4
    status = "COUPLET_ERROR_EXISTS"


class ElementTypeError(Error, TypeError):
    """The elements have another type than was agreed."""

    code = -5
    status = "COUPLET_ERROR_TYPE"


class ShapeError(Error, ValueError):
    """The number of dimensions or the extents are wrong, or a box is outside the array."""

    code = -6
    status = "COUPLET_ERROR_SHAPE"


class StepError(Error, ValueError):
    """The step is not greater than the previous one."""

    code = -7
    status = "COUPLET_ERROR_STEP"


class LimitError(Error, RuntimeError):
    """A named limit was exceeded."""

    code = -8
    status = "COUPLET_ERROR_LIMIT"


class UnsupportedError(Error, NotImplementedError):
    """This build or this system does not have the function."""

    code = -9
    status = "COUPLET_ERROR_UNSUPPORTED"


class ForkedError(Error, RuntimeError):
    """The object belongs to the parent process."""

    code = -10
    status = "COUPLET_ERROR_FORKED"


class ThreadError(Error, RuntimeError):
    """Two threads used the object at the same time."""

    code = -11
    status = "COUPLET_ERROR_THREAD"


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""

    code = -12
    status = "COUPLET_ERROR_MEMORY"


class ConfigurationError(Error, ValueError):
    """A variable or a configuration file has a mistake."""

    code = -13
    status = "COUPLET_ERROR_CONFIG"


class MpiError(Error, RuntimeError):
    """An MPI call failed, or two MPI libraries are loaded."""

    code = -14
    status = "COUPLET_ERROR_MPI"


# Errors that lose the request.
class DeadlineError(Error, TimeoutError):
    """The deadline has passed."""

    code = -101
    status = "COUPLET_ERROR_TIMEOUT"


class TruncatedError(Error, BufferError):
    """The message is longer than the receive buffer, whose content is then undefined."""

    code = -102
    status = "COUPLET_ERROR_TRUNCATED"


class EvictedError(Error, RuntimeError):
    """This reader kept the writer waiting for longer than evict_after_held, or its hold was released."""

    code = -103
    status = "COUPLET_ERROR_EVICTED"


class MismatchError(Error, ValueError):
    """The ranks of one program do not agree on the arguments of a collective call."""

    code = -104
    status = "COUPLET_ERROR_MISMATCH"


# Errors that lose the peer.
class PeerLostError(Error, ConnectionError):
    """The other process has died or left."""

    code = -201
    status = "COUPLET_ERROR_PEER_LOST"


class AuthenticationError(Error, PermissionError):
    """The other side has another secret."""

    code = -202
    status = "COUPLET_ERROR_AUTHENTICATION"


class VersionError(Error, ConnectionError):
    """The versions of the two sides do not fit."""

    code = -203
    status = "COUPLET_ERROR_VERSION"


class ProtocolError(Error, ConnectionError):
    """Frames were lost, repeated or damaged, or do not follow the protocol."""

    code = -204
    status = "COUPLET_ERROR_PROTOCOL"


# Errors that lose the host.
class SystemCallError(Error, OSError):
    """A call to the operating system failed."""

    code = -301
    status = "COUPLET_ERROR_SYSTEM"


class NoSpaceError(Error, OSError):
    """The disk or the shared memory is full."""

    code = -302
    status = "COUPLET_ERROR_NO_SPACE"


class HubLostError(Error, ConnectionError):
    """The hub is gone, or no hub answers."""

    code = -303
    status = "COUPLET_ERROR_HUB_LOST"


class InternalError(Error, RuntimeError):
    """Couplet has made a mistake: please report it."""

    code = -304
    status = "COUPLET_ERROR_INTERNAL"


_BY_CODE: dict[int, type[Error]] = {kind.code: kind for kind in Error.__subclasses__()}


def error_for(code: int, text: str) -> Error:
    """Returns the exception for a status. The extension calls this."""
    kind = _BY_CODE.get(code, Error)
    return kind(text or kind.status)
