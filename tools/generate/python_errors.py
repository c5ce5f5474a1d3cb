"""Writes python/couplet/errors.py: an exception for each error code, which is also a fitting built-in one."""

from __future__ import annotations

from header import Constant, Header

# The class of each error, and the built-in exception that it also is.
CLASSES = {
    "FULL": ("Full", "BlockingIOError"),
    "ERROR_ARGUMENT": ("ArgumentError", "ValueError"),
    "ERROR_STATE": ("StateError", "RuntimeError"),
    "ERROR_NOT_FOUND": ("NotFoundError", "LookupError"),
    "ERROR_EXISTS": ("ExistsError", "ValueError"),
    "ERROR_TYPE": ("ElementTypeError", "TypeError"),
    "ERROR_SHAPE": ("ShapeError", "ValueError"),
    "ERROR_STEP": ("StepError", "ValueError"),
    "ERROR_LIMIT": ("LimitError", "RuntimeError"),
    "ERROR_UNSUPPORTED": ("UnsupportedError", "NotImplementedError"),
    "ERROR_FORKED": ("ForkedError", "RuntimeError"),
    "ERROR_THREAD": ("ThreadError", "RuntimeError"),
    "ERROR_MEMORY": ("OutOfMemoryError", "MemoryError"),
    "ERROR_CONFIG": ("ConfigurationError", "ValueError"),
    "ERROR_MPI": ("MpiError", "RuntimeError"),
    "ERROR_TIMEOUT": ("DeadlineError", "TimeoutError"),
    "ERROR_TRUNCATED": ("TruncatedError", "BufferError"),
    "ERROR_EVICTED": ("EvictedError", "RuntimeError"),
    "ERROR_MISMATCH": ("MismatchError", "ValueError"),
    "ERROR_PEER_LOST": ("PeerLostError", "ConnectionError"),
    "ERROR_AUTHENTICATION": ("AuthenticationError", "PermissionError"),
    "ERROR_VERSION": ("VersionError", "ConnectionError"),
    "ERROR_PROTOCOL": ("ProtocolError", "ConnectionError"),
    "ERROR_SYSTEM": ("SystemCallError", "OSError"),
    "ERROR_NO_SPACE": ("NoSpaceError", "OSError"),
    "ERROR_HUB_LOST": ("HubLostError", "ConnectionError"),
    "ERROR_INTERNAL": ("InternalError", "RuntimeError"),
}
# Codes without a class of their own: answers and, for INTERRUPTED, what the signal handler has raised.
RESULTS = {"OK", "NOT_YET", "END", "RESTARTED", "INTERRUPTED"}
FULL = "There is no room, and nothing was done: a reader has not read (put, claim), or a queue is full (submit)."

OPENING = '''"""The exceptions: one class for each error code, each also a fitting built-in exception.

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
'''
# A child of ArgumentError without a code of its own: only Python has arguments of a wrong type.
ARGUMENT_TYPE = '''

class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a type that the call does not take; the text says which types it takes."""
'''
CLOSING = '''

_BY_CODE: dict[int, type[Error]] = {kind.code: kind for kind in Error.__subclasses__()}


def error_for(code: int, text: str) -> Error:
    """The exception of a status; the extension calls this."""
    kind = _BY_CODE.get(code, Error)
    return kind(text or kind.status)
'''


def errors(headers: list[Header]) -> str:
    """The module couplet.errors."""
    found = [each for header in headers if header.name == "couplet_status.h" for each in header.constants]
    group = found[0].group
    text = OPENING
    for constant in found:
        name = constant.name.removeprefix("COUPLET_")
        if name in RESULTS:
            continue
        text += "\n\n"
        if constant.group != group and constant.group.startswith("errors: "):
            group = constant.group
            text += f"# {sentence(group.removeprefix('errors: '))}\n"
        text += exception(constant, *CLASSES[name])
        if name == "ERROR_ARGUMENT":
            text += ARGUMENT_TYPE
    return text + CLOSING


def exception(constant: Constant, name: str, built_in: str) -> str:
    note = "  # noqa: N818  an answer, as queue.Full is" if constant.value > 0 else ""
    words = FULL if constant.value > 0 else sentence(constant.comment)
    return (
        f"class {name}(Error, {built_in}):{note}\n"
        f'    """{words}"""\n\n    code = {constant.value}\n    status = "{constant.name}"\n'
    )


def sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
