"""A member of a group that is interrupted. Usage: interrupted.py PROGRAM RANK SIZE (steps COUNT | operation)

steps: makes calls in a loop, as docs/guide/collectives.md says, while Ctrl-C comes at any moment.
operation: Ctrl-C comes in an operation of user code.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

import numpy as np
from numpy.typing import NDArray

import couplet


class Interrupts:
    """When Ctrl-C is raised. A mask of signals would not do: another thread of the process may get the signal."""

    def __init__(self) -> None:
        self.are_raised = False
        self.has_come = False
        signal.signal(signal.SIGINT, self.come)

    def come(self, _number: int, _frame: FrameType | None) -> None:
        self.has_come = True
        if self.are_raised:
            self.raise_it()

    def begin(self) -> None:
        """From here on Ctrl-C is raised, once; also one that has come before."""
        self.are_raised = True
        if self.has_come:
            self.raise_it()

    def end(self) -> None:
        self.are_raised = False

    def raise_it(self) -> None:
        self.are_raised = self.has_come = False
        raise KeyboardInterrupt


INTERRUPTS = Interrupts()


def run_steps(universe: couplet.Universe, count: int) -> int:
    """Returns how often the group was created. After an error or Ctrl-C, it is created again, and the members agree on
    the next step.
    """
    created = 0
    step = agreed = 0
    group: couplet.Group | None = None
    while step < count:
        try:
            INTERRUPTS.end()
            if group is None:
                group = universe.create_group("steps", range(universe.size))
                created += 1
                agreed = 0
            INTERRUPTS.begin()
            if agreed == 0:
                step = int(group.allreduce(np.array([step]), op="max")[0])
                agreed = 1
            total = int(group.allreduce(np.array([step]))[0])
            if total != step * universe.size:
                sys.exit(f"rank {universe.rank}: the sum in step {step} is {total}")
            step += 1
        except couplet.PeerLostError:
            break  # the others had ended the last step before this member was interrupted in it
        except (KeyboardInterrupt, couplet.Error):
            INTERRUPTS.end()
            if group is not None:
                group.free()
            group = None
    return created


def interrupt(_left: NDArray[np.float64], _right: NDArray[np.float64]) -> NDArray[np.float64]:
    raise KeyboardInterrupt


def main(program: str, rank: str, size: str, mode: str, *words: str) -> None:
    with couplet.join(program, rank=int(rank), size=int(size)) as universe:
        print("ready", flush=True)
        if mode == "steps":
            created = run_steps(universe, int(words[0]))
            INTERRUPTS.end()
            print(f"created {created}", flush=True)
            return
        operation = universe.create_operation("interrupt", interrupt)
        try:
            INTERRUPTS.begin()
            universe.group.allreduce(np.ones(2), op=operation)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        except couplet.Error:
            print("revoked", flush=True)  # before it came to its own operation


if __name__ == "__main__":
    main(*sys.argv[1:])
