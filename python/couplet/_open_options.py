"""The options of Universe.open_series that are plain values.

Written by tools/generate from include/couplet/couplet_series.h: do not edit (make generate).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

from couplet._arguments import count, flag, positive, real_number, seconds, word


class OpenOptions(TypedDict, total=False):
    """Keyword options of `Universe.open_series`.

    Attributes
    ----------
    mode : Literal["hold", "follow"]
        "hold" (default): the writer waits for this reader; "follow": it never does.
    local : bool
        False (default): reads are collective over the group; True: every rank reads for itself.
    timeout : float
        How long the series may take to exist; default 60; 0: it has to exist.
    buffer_bytes : int
        Size of the local slots for a series of another node; 0 (default): 256 MiB.
    every : int
        n: the first step and then every n-th is delivered, the others are skipped; default 1.
    latest : bool
        True: a read gives the at_least newest steps, skips older ones; only with "follow".
    torn : bool
        True: torn steps are delivered with a mark; False (default): they are withheld and count as lost.
    interval : float
        Of physical time: the first step of each is delivered, the others are skipped; 0 (default): all.
    beyond_newest : Literal["wait", "error"]
        Of Reader.read_at: "wait" (default), "error".
    up_to_bytes : int
        Size of a batch, all fields together, but at least one step; 0 (default): any size.
    """

    mode: Literal["hold", "follow"]
    local: bool
    timeout: float
    buffer_bytes: int
    every: int
    latest: bool
    torn: bool
    interval: float
    beyond_newest: Literal["wait", "error"]
    up_to_bytes: int


# The name of the C member for each option, what checks its value, and the words that stand for constants.
_MEMBERS = {
    "mode": "mode",
    "local": "local",
    "timeout": "timeout_s",
    "buffer_bytes": "buffer_bytes",
    "every": "every",
    "latest": "latest",
    "torn": "torn",
    "interval": "interval",
    "beyond_newest": "beyond_newest",
    "up_to_bytes": "up_to_bytes",
}
_CHECKS: dict[str, Callable[[Any, str, str], Any]] = {
    "local": flag,
    "timeout": seconds,
    "buffer_bytes": count,
    "every": positive,
    "latest": flag,
    "torn": flag,
    "interval": real_number,
    "up_to_bytes": count,
}
_WORDS: dict[str, dict[str, int]] = {
    "mode": {"hold": 0, "follow": 1},
    "beyond_newest": {"wait": 0, "error": 1},
}


def members_of(call: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values by the names of the C members. `call` is named in error texts."""
    members: dict[str, Any] = {}
    for option, value in options.items():
        if option not in _MEMBERS:
            known = ", ".join(_MEMBERS)
            raise TypeError(
                f"open_series() got an unexpected keyword argument '{option}'; "
                f"besides box, fields, start, dtype, group and weights there are {known}"
            )
        if option in _WORDS:
            members[_MEMBERS[option]] = word(value, option, call, _WORDS[option])
        else:
            members[_MEMBERS[option]] = _CHECKS[option](value, option, call)
    return members
