"""Starts a hub and programs in several languages, each as a process of its own, under a watchdog."""

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
WATCHDOG_S = 120.0  # bounds every wait for which no time is promised: a loaded machine may stall for long


def command_for(program: str, language: str) -> list[str]:
    """Returns the command of a program of tests/languages/programs. Skips the test if its compiler is missing."""
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
        """Fails with the process's output, if the process has failed."""
        assert self.status == 0, f"{' '.join(self.command)} ended with {self.status}\n{self.output}{self.errors}"
        return self


@dataclass
class World:
    """The universe of one test: a hub, a secret, a fresh run directory, and the programs that the test starts in it."""

    directory: Path
    run_directory: Path
    environment: dict[str, str]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    hub: subprocess.Popen[str] | None = None
    hub_command: list[str] = field(default_factory=list)
    run: str = ""  # the number of the run, as the hub has printed it

    def start_hub(
        self,
        programs: str,
        *options: str,
        address: str = "127.0.0.1",
        port: int = 0,
        prefix: Sequence[str] = (),
        libexec: Path = BUILD / "libexec" / "couplet",
    ) -> None:
        """Starts couplet-hub for programs like "writer:1,reader:1". prefix: words before its command."""
        hub = libexec / "couplet-hub"
        command = [*prefix, str(hub), "--programs", programs, "--listen", f"{address}:{port}"]
        self.hub_command = [*command, "--secret-file", self.environment["COUPLET_SECRET_FILE"], *options]
        self._start_hub(self.hub_command)

    def _start_hub(self, command: Sequence[str]) -> None:
        self.hub = self.start(command)
        line = read_line(self.hub)
        assert line.startswith("COUPLET_HUB="), f"the hub said {line!r}"
        self.environment["COUPLET_HUB"] = line.strip().removeprefix("COUPLET_HUB=")
        self.run = read_line(self.hub).strip().removeprefix("COUPLET_RUN=")

    def kill_hub(self) -> None:
        """Kills the hub with SIGKILL."""
        assert self.hub is not None
        self.hub.kill()
        self.hub.wait(WATCHDOG_S)

    def resume_hub(self) -> None:
        """Starts it again with the same options, at the same address, for the same run."""
        command = list(self.hub_command)
        command[command.index("--listen") + 1] = self.environment["COUPLET_HUB"]
        self._start_hub([*command, "--resume", self.run])

    def start(self, command: Sequence[str], standard_input: bool = False, **extra: str) -> subprocess.Popen[str]:
        """Starts a process of this universe."""
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
        """Waits for the end of a process. A process that does not end fails the test."""
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            raise AssertionError(f"{process.args} did not end within {timeout} s\n{output}{errors}") from None
        return Ended([str(word) for word in process.args], process.returncode, output, errors)

    def run_together(self, *commands: Sequence[str]) -> list[Ended]:
        """Starts all commands, waits for all, and fails if one fails."""
        started = [self.start(command) for command in commands]
        return [ended.check() for ended in [self.finish(process) for process in started]]

    def kill(self) -> None:
        """Ends what still runs, at once."""
        for process in self.processes:
            process.kill()
            process.wait(WATCHDOG_S)

    def relays(self) -> list[int]:
        """Returns the processes of couplet-relay that work for this universe. Writers start them in the background."""
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
        """The relays end by themselves once the universe has ended."""
        deadline = time.monotonic() + WATCHDOG_S
        while relays := self.relays():
            if time.monotonic() > deadline:
                for each in relays:
                    os.kill(each, signal.SIGKILL)
                raise AssertionError(f"relays do not end: {relays}")
            time.sleep(0.02)

    def clean(self) -> None:
        """Removes what no process is left to remove after a crash. A killed process has its locks for a moment
        longer.
        """
        command = [str(BUILD / "libexec" / "couplet" / "couplet-clean")]
        deadline = time.monotonic() + WATCHDOG_S
        while any(self.run_directory.iterdir()) and time.monotonic() < deadline:
            subprocess.run(command, env=self.environment, check=True, capture_output=True, timeout=WATCHDOG_S)
            time.sleep(0.02)

    def close(self) -> None:
        """Ends what still runs. Afterwards nothing may be left."""
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
                process.send_signal(signal.SIGCONT)  # one that a failed test has left stopped ends, too
            try:
                process.communicate(timeout=WATCHDOG_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            except ValueError:  # its pipes were read already
                process.wait()
        self.wait_for_relays()


def read_line(process: subprocess.Popen[str], timeout: float = WATCHDOG_S) -> str:
    """Returns the next line of the output, or "" if the process ends, or prints nothing in time."""
    watchdog = threading.Timer(timeout, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        return process.stdout.readline()
    finally:
        watchdog.cancel()


def mpi_environment(flavour: str) -> dict[str, str]:
    """The wheel of mpi4py is told which MPI to use. It looks for MPICH under another name than Debian's."""
    abi = PROJECT / ".venv" / "lib" / "mpich-abi"
    extra = {"MPI4PY_MPIABI": flavour}
    return {**extra, "LD_LIBRARY_PATH": str(abi)} if flavour == "mpich" and abi.is_dir() else extra
