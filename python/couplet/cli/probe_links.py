"""``couplet probe --save``: measures Couplet's own ways on this host, and writes the machine's cost file.

Each run is a universe of its own, with the settings that force the way which is measured.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from couplet.cli.interrupts import uninterrupted
from couplet.cli.outputs import say

if TYPE_CHECKING:
    from couplet.cost.machine import Collector

MAX_MEMBERS = 16
MAX_SHOWN_DOUBTS = 6
MAX_REPETITIONS = 10_000  # of couplet-probe-links
PIECES = (64 << 10, 256 << 10, 1 << 20)
_MESSAGES = [8, 512, 4096, 16384, 65536, 262144, 1048576]
_LARGE = [1 << 20, 2 << 20, 4 << 20, 8 << 20]
_METHODS = [8, 4096, 16384, 65536, 262144, 1048576]
_COPIES = [1 << power for power in range(20, 27, 2)]
_ALL = str(1 << 40)  # an eager limit that every message is below
_RUN_TIMEOUT_S = 600.0
_HUB_TIMEOUT_S = 20.0
# Settings of the user that say where things are. Others would change what is measured.
_KEPT = {"COUPLET_LIBEXEC", "COUPLET_RUN_DIR", "COUPLET_INTERFACE", "COUPLET_LOG"}


@dataclass(frozen=True)
class Run:
    """One start of couplet-probe-links: what it measures, by how many ranks, in a universe with these settings."""

    what: str
    ranks: int
    sizes: list[int]
    name: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    def words(self, repetitions: int) -> list[str]:
        name = [self.name] if self.name else []
        return [self.what, *name, "--repetitions", str(repetitions), "--bytes", ",".join(map(str, self.sizes))]

    @property
    def title(self) -> str:
        return self.name or self.what

    @property
    def programs(self) -> list[tuple[str, int]]:
        """Name and ranks of each program of the universe. Messages go from one program to another."""
        if self.what == "messages" and self.ranks == 2:
            return [("first", 1), ("second", 1)]
        return [("probe", self.ranks)]

    def identities(self) -> list[dict[str, str]]:
        """What each process has to be told of itself; one process without a universe is told nothing."""
        if self.ranks == 0:
            return [{}]
        return [
            {"COUPLET_PROGRAM": name, "COUPLET_RANK": str(rank), "COUPLET_SIZE": str(size)}
            for name, size in self.programs
            for rank in range(size)
        ]


def all_runs(members: int, file_directory: Path) -> list[Run]:
    """Returns the runs that make a cost file, with collective calls of so many members."""
    runs = []
    for link, ranks in (("self", 1), ("shm", 2), ("tcp", 2), ("file", 2)):
        settings = {} if link == "self" else {"COUPLET_LINKS": link}
        if link == "file":
            settings["COUPLET_FILE_DIRECTORY"] = str(file_directory)
        sizes = [size for size in _MESSAGES if link != "file" or size <= 64 << 10]
        for way, limit in (("eager", _ALL), ("announced", "0")):
            runs.append(Run("messages", ranks, sizes, f"{link}:{way}", {**settings, "COUPLET_EAGER_BYTES": limit}))
    for piece in PIECES:
        settings = {"COUPLET_LINKS": "tcp", "COUPLET_EAGER_BYTES": "0", "COUPLET_PIECE_BYTES": str(piece)}
        runs.append(Run("messages", 2, _LARGE, f"tcp:pieces:{piece}", settings))
    runs.append(Run("methods", members, _METHODS))
    runs.append(Run("copies", 0, _COPIES))
    return runs


def measure(ranks: int, repetitions: int) -> Collector:
    """Carries out all runs; CostError says which one has failed, and why."""
    from couplet.cli.installation import executable
    from couplet.cost.doubts import doubts_of_load, runnable_processes
    from couplet.cost.errors import CostError
    from couplet.cost.machine import Collector

    members = min(max(ranks, 2), MAX_MEMBERS)
    collector = Collector(doubts=doubts_of_load(runnable_processes(), members))
    try:
        programs = executable("couplet-hub"), executable("couplet-probe-links")
    except FileNotFoundError as error:
        raise CostError(str(error)) from error
    with tempfile.TemporaryDirectory(prefix="couplet-probe-") as folder:
        shared = Path(folder) / "shared"
        shared.mkdir(mode=0o700)
        runs = all_runs(members, shared)
        for run in _watched(runs):
            # The link `file` looks for news only now and then, so its messages take milliseconds.
            times = max(2, repetitions // 4) if run.name.startswith("file") else repetitions
            collector.take(_output(run, run.words(times), programs, Path(folder)), run.title)
    return collector


def save(ranks: int, repetitions: int, machine: str | None, path: Path) -> None:
    """Measures, writes the cost file, and says so."""
    from couplet.cost.machine import count_of_curves, save_costs
    from couplet.cost.tables import aligned, link_rows

    host = socket.gethostname()
    document = measure(ranks, repetitions).document(machine or host, [host])
    doubts = document.get("doubts", [])
    before = _keep(path) if doubts else None
    save_costs(document, path)
    warn(doubts, path)
    if before is not None:
        say(
            f"couplet: warning: the file that was there is kept as {before}; to use it again: mv {before} {path}",
            file=sys.stderr,
        )
    counted = count_of_curves(document)
    shown = ", ".join(f"{number} of {name}" for name, number in counted.items())
    say(f"written: {path} (curves: {shown})")
    if document["links"]:
        say(*aligned(link_rows(document), indent=""))


def before_of(path: Path) -> Path:
    """Returns where the file at ``path`` is kept if a doubtful one replaces it."""
    return path.with_name(f"{path.name}.before")


def _keep(path: Path) -> Path | None:
    """Copies the file that a doubtful one is to replace; returns where it is, or None if there was none.

    A copy of an earlier time is not replaced by a file that is itself doubtful.
    """
    from couplet.cost.documents import write_bytes
    from couplet.cost.errors import DocumentError
    from couplet.cost.machine import load_costs

    before = before_of(path)
    if not path.exists():
        return None
    try:
        is_doubtful = "doubts" in load_costs(path)
    except DocumentError:
        is_doubtful = True
    if not (is_doubtful and before.exists()):
        write_bytes(before, path.read_bytes())
    return before


def warn(doubts: list[str], path: Path) -> None:
    """Says on standard error why the file may not tell what the ways cost."""
    for text in doubts[:MAX_SHOWN_DOUBTS]:
        say(f"couplet: warning: {text}", file=sys.stderr)
    if len(doubts) > MAX_SHOWN_DOUBTS:
        say(f"couplet: warning: and {len(doubts) - MAX_SHOWN_DOUBTS} more, in the file", file=sys.stderr)
    if doubts:
        say(
            f"couplet: warning: {path} may make the library choose slow ways; measure again when the host has nothing "
            "else to do, or remove the file",
            file=sys.stderr,
        )


def _watched(runs: list[Run]) -> Iterator[Run]:
    """The same runs; on a terminal a bar shows how far it is."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if not console.is_terminal:
        yield from runs
        return
    yield from track(runs, description="links and methods", console=console, transient=True)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COUPLET_") or name in _KEPT}
    return kept | {"COUPLET_COST_FILE": "none"}


def _output(run: Run, words: list[str], programs: tuple[Path, Path], folder: Path) -> list[str]:
    """Starts one run, and returns the lines of its rank 0."""
    hub, program = programs
    environment = _environment() | run.settings
    with contextlib.ExitStack() as ends:
        if run.ranks:
            environment |= ends.enter_context(_hub(hub, run, folder))
        started = [
            ends.enter_context(_process([str(program), *words], environment | identity))
            for identity in run.identities()
        ]
        return _first_lines(started, run)


def _first_lines(started: list[subprocess.Popen[str]], run: Run) -> list[str]:
    from couplet.cost.errors import CostError

    deadline = time.monotonic() + _RUN_TIMEOUT_S
    outputs = []
    for process in started:
        try:
            output, errors = process.communicate(timeout=max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired as error:
            raise CostError(f"couplet-probe-links: {run.title}: was not done after {_RUN_TIMEOUT_S:g} s") from error
        if process.returncode != 0:
            said = errors.strip().splitlines()
            why = said[-1] if said else f"exit status {process.returncode}"
            raise CostError(f"couplet-probe-links: {run.title}: {why}")
        outputs.append(output)
    return outputs[0].splitlines()


@contextlib.contextmanager
def _process(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive the block."""
    process = None
    pipe = subprocess.PIPE
    try:
        with uninterrupted():
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True,
                errors="replace",
            )  # fmt: skip
        yield process
    finally:
        if process is not None:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@contextlib.contextmanager
def _hub(hub: Path, run: Run, folder: Path) -> Iterator[dict[str, str]]:
    """A hub for one run; gives what its ranks need to join."""
    from couplet.cost.errors import CostError

    secret = folder / "secret"
    secret.write_text(secrets.token_hex(32) + "\n")
    secret.chmod(0o600)
    programs = ",".join(f"{name}:{size}" for name, size in run.programs)
    command = [str(hub), "--programs", programs, "--listen", "127.0.0.1:0", "--secret-file", str(secret)]
    with _process(command, _environment()) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(2)]
        told = dict(line.split("=", 1) for line in lines if "=" in line)
        if told.keys() != {"COUPLET_HUB", "COUPLET_RUN"}:
            process.terminate()
            _, errors = process.communicate(timeout=_HUB_TIMEOUT_S)
            raise CostError(f"the hub did not start: {errors.strip() or 'it said nothing'}")
        yield told | {"COUPLET_SECRET_FILE": str(secret)}
