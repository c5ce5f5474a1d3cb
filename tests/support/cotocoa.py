"""Starts CoToCoA's programs (tests/compat/cotocoa/programs), in one MPMD job or as separate launches."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs import environment, prefix
from launching import BUILD, TESTS, WATCHDOG_S, Ended, World
from needs import built, launcher

PROGRAMS = TESTS / "compat" / "cotocoa" / "programs"


@dataclass
class Client:
    """One program: its name at the hub, its number of ranks, and its command."""

    name: str
    ranks: int
    program: str
    language: str
    words: Sequence[object] = ()

    def command(self, flavour: str) -> list[str]:
        """Returns the command. Skips the test with a message if that MPI is missing."""
        words = [str(word) for word in self.words]
        if self.language == "python":
            return [sys.executable, str(PROGRAMS / f"{self.program}.py"), *words]
        path = BUILD / "tests" / "compat" / flavour / f"{self.program}_{self.language}"
        return [built(path, self.language, flavour), *words]


def start_job(
    world: World, flavour: str, clients: Sequence[Client], errors: Path | None = None, **extra: str
) -> subprocess.Popen[str]:
    """Starts all of them in one job: mpiexec -n ... : -n ..."""
    command = [launcher(flavour)]
    for client in clients:
        command += [":"] if len(command) > 1 else []
        command += ["-n", str(client.ranks), *prefix(errors), *client.command(flavour)]
    return world.start(command, **environment(world, flavour, errors), **extra)


def start_apart(
    world: World, flavour: str, client: Client, errors: Path | None = None, **extra: str
) -> subprocess.Popen[str]:
    """Starts one of them as a launch of its own."""
    command = [launcher(flavour), "-n", str(client.ranks), *prefix(errors), *client.command(flavour)]
    return world.start(command, **environment(world, flavour, errors), **extra)


def hub_list(clients: Sequence[Client]) -> str:
    """Returns the list for couplet-hub --programs."""
    return ",".join(f"{client.name}:{client.ranks}" for client in clients)


def processes(world: World, name: str) -> list[int]:
    """Returns the processes of this world that run a program of that name."""
    ours = f"COUPLET_RUN_DIR={world.run_directory}".encode()
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if (each / "comm").read_text() == f"{name}\n" and ours in (each / "environ").read_bytes():
                found.append(int(each.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


def hubs(world: World) -> list[int]:
    """Returns the processes of couplet-hub that a job has started for itself."""
    return processes(world, "couplet-hub")


def processor_time(pids: Sequence[int]) -> int:
    """Returns the time of these processes so far, in ticks of the system (usually hundredths of a second)."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields)


def nothing_left(world: World) -> None:
    """The hub ends by itself, and removes the run's files."""
    deadline = time.monotonic() + WATCHDOG_S
    while hubs(world) or list(world.run_directory.rglob("*")):
        assert time.monotonic() < deadline, (hubs(world), list(world.run_directory.rglob("*")))
        time.sleep(0.02)


def failed(ended: Ended) -> Ended:
    """Checks that the process has ended with a status that is not 0."""
    assert ended.status != 0, f"{ended.command} ended with 0\n{ended.output}{ended.errors}"
    return ended
