"""Two ranks make rounds. Rank 1 sends rank 0 a signal just before it makes the call for which rank 0 waits.

Usage: interrupted_rounds.py RANK ROUNDS. The exception takes the place of the end of the call, which the next such
call has to tell.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

import numpy as np

import couplet


class OwnError(Exception):
    """What the handler of SIGUSR1 raises."""


def raise_own_error(*_: object) -> None:
    raise OwnError


class Pair:
    """The two ranks, and what one has to know of the other."""

    def __init__(self, universe: couplet.Universe) -> None:
        self.group = universe.group
        self.rank = universe.group.rank
        self.pid = int(self.group.allgather(np.array([os.getpid()]))[0, 0])
        self.signals = 0

    def together(
        self,
        call: Callable[[], object],
        begin: Callable[[], object],
        again: Callable[[], object] | None = None,
    ) -> None:
        """Makes both calls on both ranks. After the signal, rank 0 calls `again`, or makes the call once more."""
        if self.rank == 1:
            self.group.recv(0, 1, timeout=60)
            time.sleep(0.02)  # rank 0 waits by then; it looks for signals ten times in a second
            self.signals += 1
            os.kill(self.pid, signal.SIGINT if self.signals % 2 else signal.SIGUSR1)
            begin()
            call()
            return
        begin()
        try:
            self.group.send("waits", 1, 1)
            call()
            time.sleep(60)  # the signal comes now at the latest
            raise AssertionError("the signal was not raised")
        except (KeyboardInterrupt, OwnError):
            (again or call)()


def until_done(test: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not test():
        assert time.monotonic() < end, "the round does not end"


def exchange(pair: Pair, rounds: int) -> None:
    here, there = np.zeros(3), np.zeros(3)
    with pair.group.create_exchange("rounds") as made:
        made.send(here, 1 - pair.rank)
        made.receive(there, 1 - pair.rank)
        made.freeze()
        for number in range(rounds):
            here[:] = number + pair.rank
            pair.together(lambda: made.wait(60), made.start, None if number % 2 else lambda: until_done(made.test))
            assert (there == number + 1 - pair.rank).all(), there
        made.start()
        made.wait(60)  # nothing is left of an earlier signal


def halo(pair: Pair, rounds: int) -> None:
    values = np.zeros(4)
    own, other = slice(1, 3), [0, 3]
    with pair.group.create_halo("rounds", couplet.Grid((4,), 2, periodic=(True,))) as made:
        made.add(values, width=1)
        made.freeze()
        for number in range(rounds):
            values[own] = number + pair.rank
            pair.together(lambda: made.end(60), made.begin, None if number % 2 else lambda: until_done(made.test))
            assert (values[other] == number + 1 - pair.rank).all(), values
        made.begin()
        made.end(60)


def main(rank: int, rounds: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    signal.signal(signal.SIGUSR1, raise_own_error)
    with couplet.join("pair", rank=rank, size=2) as universe:
        pair = Pair(universe)
        for kind in (exchange, halo):
            kind(pair, rounds)
    print("done", flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
