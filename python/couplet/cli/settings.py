"""The values that the tables [settings], [universe] and [series.NAME] of coupled.toml may have.

The library checks the same when a program joins (``src/runtime/settings.cpp``); here it is found before anything runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Mistaken = tuple[str, str]  # a key, and what is wrong with its value

LINKS = ("self", "shm", "tcp", "file", "ucx")
HYBRID_LINKS = ("tcp", "file", "ucx")
MIN_PIECE_BYTES = 4096
MAX_TCP_STREAMS = 16
MAX_MACHINE_BYTES = 256

_Check = Callable[[Any], bool]
_Rule = tuple[_Check, str]


def _number(low: float, high: float = math.inf, what: str = "a number") -> _Rule:
    if high == math.inf:
        return lambda value: low <= value < math.inf, f"{what} of at least {low:g}"
    return lambda value: low <= value <= high, f"{what} from {low:g} to {high:g}"


def _one_of(*words: str) -> _Rule:
    return lambda value: value in words, "one of " + ", ".join(words)


def _patience(value: Any) -> bool:
    if not isinstance(value, str):
        return 0 <= float(value) < math.inf
    return value == "inf" or re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", value) is not None


def _threshold(value: Any) -> bool:
    return value >= 0 if isinstance(value, int) else value.isascii() and value.isdigit()


def _streams(value: Any) -> bool:
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    return isinstance(number, int) and 1 <= number <= MAX_TCP_STREAMS


_BYTES = _number(0, what="a number of bytes")
_SECONDS = _number(0, what="a number of seconds")
_RULES: dict[str, dict[str, _Rule]] = {
    "settings": {
        "relay": _one_of("auto", "external", "in_calls", "none"),
        "check": _one_of("header", "full"),
        "cost_file": (lambda value: value == "none" or value.startswith("/"), 'an absolute path, or "none"'),
        "file_directory": (lambda value: value.startswith("/"), "an absolute path"),
        "machine": (
            lambda value: 0 < len(value.encode("utf-8", "replace")) <= MAX_MACHINE_BYTES,
            f"a name of 1 to {MAX_MACHINE_BYTES} bytes",
        ),
        "eager_bytes": _BYTES,
        "piece_bytes": _number(MIN_PIECE_BYTES, what="a number of bytes"),
        "ring_bytes": _BYTES,
        "streaming_bytes": _BYTES,
        "cma": _number(0, 1),
        "spin_us": _number(0, what="a number of microseconds"),
        "connection_patience_s": (_patience, 'a number of seconds of at least 0, or "inf"'),
        "hybrid_threshold": (_threshold, "a number of bytes of at least 0"),
        "tcp_streams": (_streams, f"a number from 1 to {MAX_TCP_STREAMS}"),
    },
    "settings.exchange": {
        "method": (lambda value: value != "", "the name of a method of exchanges"),
        "cache": (lambda value: value.startswith("/"), "the absolute path of a file"),
        "record": (lambda value: value.startswith("/"), "the absolute path of a folder"),
    },
    "settings.hub": {
        "return_patience_s": _SECONDS,
        "rejoin_grace_s": _SECONDS,
        "rejoin_patience_s": _SECONDS,
        "reset_patience_s": _SECONDS,
        "max_told_contacts": _number(0),
    },
    "series": {
        "slots": _number(1),
        "memory_bytes": _number(1, what="a number of bytes"),
        "holders": _number(1),
        "linger_s": _SECONDS,
        "streaming_bytes": _BYTES,
        "window": _number(0, 1),
        "steps": _number(1),
    },
    "universe": {"linger": _SECONDS},
}


def mistaken_values(table: str, content: dict[str, Any]) -> Iterator[Mistaken]:
    """Yields each key of ``content`` whose value is out of range, with what it has to be."""
    for key, value in content.items():
        rule = _RULES.get(table, {}).get(key)
        if rule is not None and not rule[0](value):
            yield key, f"{key} has to be {rule[1]}, not {value!r}"


def list_of_links(value: str | Iterable[str]) -> list[str]:
    """Returns the names of ``"self,tcp"`` or ``["self", "tcp"]``."""
    return value.split(",") if isinstance(value, str) else list(value)


def unknown_link(links: Iterable[str]) -> str | None:
    """Returns what is wrong with a list of links, or None."""
    wrong = next((name for name in links if name not in LINKS), None)
    return None if wrong is None else f'no link "{wrong}" for links; there are {", ".join(LINKS)}'


def mistaken_lanes(settings: dict[str, Any], links: list[str], has_directory: bool) -> Iterator[Mistaken]:
    """Yields what is wrong with ``hybrid``, and where a link needs another setting.

    ``links``: the allowed ones, empty for the default. ``has_directory``: a directory for the link file is named here
    or in a variable.
    """
    if "file" in links and not has_directory:
        yield "links", 'links names "file", which needs file_directory: a directory that all processes share'
    pair = settings.get("hybrid")
    if pair is None:
        if "hybrid_threshold" in settings:
            yield "hybrid_threshold", "hybrid_threshold needs hybrid, which is not set"
        return
    names = pair.split("+")
    if len(names) != 2 or names[0] == names[1] or not set(names) <= set(HYBRID_LINKS):
        yield "hybrid", f"hybrid has to be two of {', '.join(HYBRID_LINKS)}, such as tcp+file, not {pair!r}"
        return
    used = links or ["self", "shm", "tcp", "file"]
    for name in names:
        if name not in used:
            yield "hybrid", f'hybrid is "{pair}", and links does not name "{name}"'
    if "file" in names and not has_directory:
        yield "hybrid", f'hybrid is "{pair}", and the link file needs file_directory'
