"""bench/run steps: writing and reading steps of a mapped series in samples of a few milliseconds.

It is for comparisons of two builds (bench/against --suite steps), which need many short samples on a busy machine.
The programs are started anew several times, since what they copy is faster or slower by where its pages are.
bench/run series has the baselines and limits. `us` is the time of one call: of a put of 900 x 900 integers, of a claim
with its publish, of a read of k boxes of 600 x 600, or of a question for the newest step.
"""

from __future__ import annotations

from pathlib import Path

from common.arena import Arena
from common.measure import Case
from common.suite import run_suite

COMMANDS = {"put": ("W", 0), "claim": ("C", 0), "newest": ("N", 0)}
COMMANDS |= {f"read/k={count}": ("R", count) for count in (1, 8, 64, 128)}
CASES = list(COMMANDS)


def restarts(case: str) -> int:
    """How often bench/against starts the programs. It takes one ratio from each start."""
    return 12


def missing(build: Path, _case: str) -> Path | None:
    """Returns the program, if a build does not have it, as an older commit may not."""
    program = build / "bench" / "steps" / "steps"
    return None if program.exists() else program


def make_case(arena: Arena, name: str) -> Case:
    command, steps = COMMANDS[name]
    return Case(name=name, unit="us", command=command, size=steps, ours=arena.programs_of("steps", ["left", "right"]))


def main(arguments: list[str]) -> int:
    return run_suite("steps", __doc__, CASES, make_case, arguments)
