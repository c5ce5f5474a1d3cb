"""The exceptions: one class for each error code, each also a fitting built-in exception.

``error.code`` is the code of the C interface, ``error.status`` its name; the text names program, rank, host, series and
step where they apply. ``Full`` is an answer, not a failure: it says that nothing was written.
"""

from __future__ import annotations

from typing import ClassVar


class Error(Exception):
    """Whatever Couplet reports. Its children tell what was lost: the call, the request, the peer or the host."""

    code: ClassVar[int] = 0
    status: ClassVar[str] = "unknown"


class Full(Error, BlockingIOError):  # noqa: N818  an answer, as queue.Full is
    """No room for another step within wait_timeout: holders have not read yet. Nothing was written."""

    code = 2
    status = "COUPLET_FULL"


# The call is lost.
class ArgumentError(Error, ValueError):
    """An argument makes no sense."""

    code = -1
    status = "COUPLET_ERROR_ARGUMENT"


class StateError(Error, RuntimeError):
    """Not now: wrong order of calls, or something closed."""

    code = -2
    status = "COUPLET_ERROR_STATE"


class NotFoundError(Error, LookupError):
    """No such program, series or rank."""

    code = -3
    status = "COUPLET_ERROR_NOT_FOUND"


class ExistsError(Error, ValueError):
    """The name is taken."""

    code = -4
    status = "COUPLET_ERROR_EXISTS"


class ElementTypeError(Error, TypeError):
    """Another element type than was agreed."""

    code = -5
    status = "COUPLET_ERROR_TYPE"


class ShapeError(Error, ValueError):
    """Wrong number of dimensions, wrong extents, or a box outside the array."""

    code = -6
    status = "COUPLET_ERROR_SHAPE"


class StepError(Error, ValueError):
    """A step that does not increase."""

    code = -7
    status = "COUPLET_ERROR_STEP"


class LimitError(Error, RuntimeError):
    """A named limit was passed."""

    code = -8
    status = "COUPLET_ERROR_LIMIT"


class UnsupportedError(Error, NotImplementedError):
    """Not with this build or on this system."""

    code = -9
    status = "COUPLET_ERROR_UNSUPPORTED"


class ForkedError(Error, RuntimeError):
    """The object belongs to the parent process."""

    code = -10
    status = "COUPLET_ERROR_FORKED"


class ThreadError(Error, RuntimeError):
    """Used by two threads at a time."""

    code = -11
    status = "COUPLET_ERROR_THREAD"


class OutOfMemoryError(Error, MemoryError):
    """No memory."""

    code = -12
    status = "COUPLET_ERROR_MEMORY"


class ConfigurationError(Error, ValueError):
    """A mistake in environment or configuration."""

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
    """The other process is gone."""

    code = -201
    status = "COUPLET_ERROR_PEER_LOST"


class AuthenticationError(Error, PermissionError):
    """Wrong secret."""

    code = -202
    status = "COUPLET_ERROR_AUTHENTICATION"


class VersionError(Error, ConnectionError):
    """Versions do not fit."""

    code = -203
    status = "COUPLET_ERROR_VERSION"


class ProtocolError(Error, ConnectionError):
    """Bytes that make no sense, lost, repeated or damaged frames."""

    code = -204
    status = "COUPLET_ERROR_PROTOCOL"


# The host is lost.
class SystemCallError(Error, OSError):
    """A call of the operating system failed."""

    code = -301
    status = "COUPLET_ERROR_SYSTEM"


class NoSpaceError(Error, OSError):
    """Disk or shared memory full."""

    code = -302
    status = "COUPLET_ERROR_NO_SPACE"


class HubLostError(Error, ConnectionError):
    """The hub is gone or was never there."""

    code = -303
    status = "COUPLET_ERROR_HUB_LOST"


class InternalError(Error, RuntimeError):
    """A mistake of Couplet itself."""

    code = -304
    status = "COUPLET_ERROR_INTERNAL"


_BY_CODE: dict[int, type[Error]] = {kind.code: kind for kind in Error.__subclasses__()}


def error_for(code: int, text: str) -> Error:
    """The exception of a status; the extension calls this."""
    kind = _BY_CODE.get(code, Error)
    return kind(text or kind.status)
