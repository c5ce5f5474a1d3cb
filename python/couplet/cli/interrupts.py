"""Turns signals that would end this process at once into an exit that cleans up."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

# Ctrl-C, a batch system or kill, and a terminal that is closed.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _nothing(number: int, frame: FrameType | None) -> None:
    pass


@dataclass
class _Deferred:
    """Signals that came in a block of ``uninterrupted``."""

    depth: int = 0
    number: int = 0


_deferred = _Deferred()


@contextlib.contextmanager
def orderly_end() -> Iterator[None]:
    """Within the block, the first of the signals ENDING raises SystemExit with 128 + its number.

    So ``finally`` and ``with`` end what was started and remove what was made. Further signals are ignored meanwhile. A
    signal that this process was told to ignore, as by nohup, stays ignored.
    """
    watched = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]

    def end(number: int, frame: FrameType | None) -> None:
        for one in watched:
            signal.signal(one, _nothing)  # a process that is started now would inherit SIG_IGN
        if _deferred.depth:
            _deferred.number = number
        else:
            sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in watched}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Within the block, ``orderly_end`` waits for its end: a process that is being started is not yet known."""
    _deferred.depth += 1
    try:
        yield
    finally:
        _deferred.depth -= 1
        if _deferred.number and not _deferred.depth:
            number, _deferred.number = _deferred.number, 0
            sys.exit(128 + number)
