"""Starting a hub and programs in several languages, each a process of its own, under a watchdog."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from needs import built

TESTS = Path(__file__).resolve().parent.parent
PROJECT = TESTS.parent
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", PROJECT / "build" / "release"))
LANGUAGES = ("c", "cpp", "fortran", "python")
WATCHDOG_S = 60.0


def command_for(program: str, language: str) -> list[str]:
    """How to start a program of tests/languages/programs; skips aloud where its compiler is missing."""
    if language == "python":
        return [sys.executable, str(TESTS / "languages" / "programs" / f"{program}_python.py")]
    return [built(BUILD / "tests" / "programs" / f"{program}_{language}", language)]


@dataclass
class Ended:
    """A process that has ended."""

    command: Sequence[str]
    status: int
    output: str
    errors: str

    def check(self) -> Ended:
        """Fail with what it said, where it failed."""
        assert self.status == 0, f"{' '.join(self.command)} ended with {self.status}\n{self.output}{self.errors}"
        return self


@dataclass
class World:
    """A universe of one test: a hub, a secret, a fresh run directory; and the programs that the test starts in it."""

    directory: Path
    run_directory: Path
    environment: dict[str, str]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    hub: subprocess.Popen[str] | None = None
    hub_command: list[str] = field(default_factory=list)
    run: str = ""  # the number of the run, as the hub has printed it

    def start_hub(self, programs: str, *options: str, address: str = "127.0.0.1", prefix: Sequence[str] = ()) -> None:
        """Start couplet-hub for programs like "writer:1,reader:1"; prefix: words before its command."""
        hub = BUILD / "libexec" / "couplet" / "couplet-hub"
        command = [*prefix, str(hub), "--programs", programs, "--listen", f"{address}:0"]
        self.hub_command = [*command, "--secret-file", self.environment["COUPLET_SECRET_FILE"], *options]
        self._start_hub(self.hub_command)

    def _start_hub(self, command: Sequence[str]) -> None:
        self.hub = self.start(command)
        line = read_line(self.hub, 10.0)
        assert line.startswith("COUPLET_HUB="), f"the hub said {line!r}"
        self.environment["COUPLET_HUB"] = line.strip().removeprefix("COUPLET_HUB=")
        self.run = read_line(self.hub, 10.0).strip().removeprefix("COUPLET_RUN=")

    def kill_hub(self) -> None:
        """kill -9."""
        assert self.hub is not None
        self.hub.kill()
        self.hub.wait(20)

    def resume_hub(self) -> None:
        """Start it again with the same options, at the same address, for the same run."""
        command = list(self.hub_command)
        command[command.index("--listen") + 1] = self.environment["COUPLET_HUB"]
        self._start_hub([*command, "--resume", self.run])

    def start(self, command: Sequence[str], standard_input: bool = False, **extra: str) -> subprocess.Popen[str]:
        """Start a process of this universe."""
        environment = {**self.environment, **extra}
        process = subprocess.Popen(
            command,
            cwd=self.directory,
            env=environment,
            stdin=subprocess.PIPE if standard_input else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def finish(self, process: subprocess.Popen[str], timeout: float = WATCHDOG_S) -> Ended:
        """Wait for its end; a process that does not end fails the test."""
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            raise AssertionError(f"{process.args} did not end within {timeout} s\n{output}{errors}") from None
        return Ended([str(word) for word in process.args], process.returncode, output, errors)

    def run_together(self, *commands: Sequence[str]) -> list[Ended]:
        """Start all, wait for all, fail where one fails."""
        started = [self.start(command) for command in commands]
        return [ended.check() for ended in [self.finish(process) for process in started]]

    def kill(self) -> None:
        """End what still runs, at once."""
        for process in self.processes:
            process.kill()
            process.wait(20)

    def relays(self) -> list[int]:
        """Processes of couplet-relay that work for this universe; writers start them in the background."""
        ours = f"COUPLET_RUN_DIR={self.run_directory}".encode()
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            try:
                if (each / "comm").read_text() == "couplet-relay\n" and ours in (each / "environ").read_bytes():
                    found.append(int(each.name))
            except OSError:  # it has ended meanwhile
                continue
        return found

    def wait_for_relays(self) -> None:
        """They end by themselves once the universe is over."""
        deadline = time.monotonic() + 15
        while relays := self.relays():
            if time.monotonic() > deadline:
                for each in relays:
                    os.kill(each, signal.SIGKILL)
                raise AssertionError(f"relays do not end: {relays}")
            time.sleep(0.02)

    def clean(self) -> None:
        """After a crash: what nobody is left to remove; a process that was killed has its locks for a moment more."""
        command = [str(BUILD / "libexec" / "couplet" / "couplet-clean")]
        deadline = time.monotonic() + 5
        while any(self.run_directory.iterdir()) and time.monotonic() < deadline:
            subprocess.run(command, env=self.environment, check=True, capture_output=True, timeout=30)
            time.sleep(0.02)

    def close(self) -> None:
        """End what still runs; afterwards nothing may be left behind."""
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            except ValueError:  # its pipes were read already
                process.wait()
        self.wait_for_relays()


def read_line(process: subprocess.Popen[str], timeout: float) -> str:
    """The next line of its output; empty when it ends, or says nothing in time."""
    watchdog = threading.Timer(timeout, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        return process.stdout.readline()
    finally:
        watchdog.cancel()


def mpi_environment(flavour: str) -> dict[str, str]:
    """The wheel of mpi4py is told which MPI to take; it looks for MPICH under another name than Debian's."""
    abi = PROJECT / ".venv" / "lib" / "mpich-abi"
    extra = {"MPI4PY_MPIABI": flavour}
    return {**extra, "LD_LIBRARY_PATH": str(abi)} if flavour == "mpich" and abi.is_dir() else extra
