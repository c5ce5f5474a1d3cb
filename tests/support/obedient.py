"""A program in Python that joins and then evaluates the lines that it gets.

usage: obedient.py PROGRAM RANK SIZE. It prints "ready" or "error NAME TEXT", and answers each line with "is VALUE" or
"error NAME TEXT". Variables that a line assigns (NAME = ...) stay. It leaves and ends at the end of its input.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import couplet


def allow_more_memory(more_bytes: int) -> None:
    """From here on this process gets so much more memory than it has now; -1: no limit."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more_bytes if more_bytes >= 0 else -1, -1))


def say(text: str) -> None:
    print(" ".join(text.split()), flush=True)


def words(error: Exception) -> str:
    return f"error {error.status if isinstance(error, couplet.Error) else type(error).__name__} {error}"


def outcome(call: Callable[[], object]) -> str:
    """Returns what the call has returned, or the words of its error."""
    try:
        return repr(call())
    except Exception as error:
        return words(error)


def obey(universe: couplet.Universe) -> None:
    names: dict[str, Any] = {
        "universe": universe,
        "couplet": couplet,
        "np": np,
        "time": time,
        "outcome": outcome,
        "allow_more_memory": allow_more_memory,
    }
    for line in sys.stdin:
        try:
            name, equals, rest = line.strip().partition(" = ")
            value = eval(rest if equals else name, names)
            if equals:
                names[name] = value
            say(f"is {value!r}")
        except Exception as error:
            say(words(error))


def main() -> int:
    program, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    try:
        with couplet.join(program, rank=rank, size=size) as universe:
            say("ready")
            obey(universe)
    except couplet.Error as error:
        say(words(error))
        return 1
    return 0


sys.exit(main())
