"""Starts WaitIO's programs (tests/compat/waitio/programs): each parallel block is a launch of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from jobs import FLAVOURS, environment, prefix
from launching import BUILD, WATCHDOG_S, Ended, World
from needs import built, launcher

LANGUAGES = {"pingpong": "c", "convert": "c", "mistake": "c", "talk": "fortran", "second": "fortran"} | {
    "module": "fortran"
}


def free_port() -> int:
    """Returns a port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """Gives a port at which nobody listens, and which no other process gets meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


def variables(block: int, blocks: int, port: int, **extra: str) -> dict[str, str]:
    """Returns what a job script exports for a parallel block."""
    named = {"WAITIO_PBID": str(block), "WAITIO_NPB": str(blocks), "WAITIO_COMM_TYPE": "socket"}
    return named | {"WAITIO_MASTER_HOST": "127.0.0.1", "WAITIO_MASTER_PORT": str(port)} | extra


def file_variables(world: World, job: str = "7") -> dict[str, str]:
    """Returns the variables of the type file. Each block is a node of its own, so that no memory is shared."""
    scratch = world.directory / "scratch"
    scratch.mkdir(exist_ok=True)
    return {"WAITIO_COMM_TYPE": "file", "WAITIO_SCRATCH_DIR": str(scratch), "COUPLER_JOB_ID": job}


def start_block(
    world: World,
    flavour: str,
    ranks: int,
    program: str,
    words: Sequence[object] = (),
    errors: Path | None = None,
    before: Sequence[str] = (),
    **extra: str,
) -> subprocess.Popen[str]:
    """Starts one parallel block. extra: its variables. ranks: 0 starts one process without a launcher. before: words
    before the launcher, such as those that enter a namespace.
    """
    path = BUILD / "tests" / "compat" / flavour / f"waitio_{program}"
    start = [launcher(flavour), "-n", str(ranks)] if ranks else []
    command = [*before, *start, *prefix(errors), built(path, LANGUAGES[program], flavour)]
    return world.start([*command, *(str(word) for word in words)], **environment(world, flavour, errors), **extra)


def start_blocks(
    world: World,
    ranks: Sequence[int],
    programs: Sequence[str],
    words: Sequence[object] = (),
    first: int = 0,
    errors: Path | None = None,
    **extra: str,
) -> list[subprocess.Popen[str]]:
    """Starts a parallel block for each entry of ranks, the last one first, under Open MPI and MPICH by turns."""
    port = free_port()
    started = []
    for block in reversed(range(len(ranks))):
        named = variables(block, len(ranks), port, **{"COUPLET_NODE": f"n{block}"} if extra.get("APART") else {})
        own = {name: value for name, value in extra.items() if name != "APART"}
        flavour = FLAVOURS[(first + block) % 2]
        program = programs[block % len(programs)]
        started.append(start_block(world, flavour, ranks[block], program, words, errors, **(named | own)))
    return started[::-1]


def finish(world: World, started: Sequence[subprocess.Popen[str]], timeout: float = WATCHDOG_S) -> list[Ended]:
    """Waits for all."""
    return [world.finish(process, timeout) for process in started]


def nothing_left(world: World) -> None:
    """The hub ends by itself, and removes the run's files, also those of the scratch directory."""
    scratch = world.directory / "scratch"
    deadline = time.monotonic() + WATCHDOG_S
    while left := [*world.run_directory.rglob("*"), *scratch.rglob("*")]:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)
