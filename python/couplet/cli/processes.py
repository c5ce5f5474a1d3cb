"""Starts programs, keeps their output, and ends all of them."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO

from couplet.cli.configuration import Program
from couplet.cli.launch import command_line, environment, start_of, starts

TAIL_LINES = 20
ERROR_SIGN = "couplet: COUPLET_ERROR_"
LOSS_SIGNS = ("couplet: COUPLET_ERROR_PEER_LOST", "couplet.errors.PeerLostError")
"""The beginnings of the error of a program that failed because another one is gone: the library's, and Python's."""
LAST_OUTPUT_S = 0.5
"""For the output of a program that has ended: one of its children may keep the pipe open."""


def survivors(marker: str) -> list[int]:
    """Returns the processes whose environment has ``marker``: a launcher may start ranks in sessions of their own."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if marker.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return [process for process in found if process != os.getpid()]


def session(process: int) -> int:
    """Returns the session of a process, or 0 if it has ended."""
    try:
        return os.getsid(process)
    except OSError:
        return 0


class Running:
    """One start of a program: a process group of its own, and its output line by line."""

    def __init__(self, program: Program, rank: int | None, universe: dict[str, str]) -> None:
        self.program = program
        self.rank = rank
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.error = ""  # the last line in which the library told of an error that ended a process
        self.tells_of_loss = False  # the last error that it has printed says that another process is lost
        self.was_read = False  # after its end
        self.partial = b""
        self.command = command_line(program)
        executable, words = start_of(program.launcher, self.command)
        self.process = subprocess.Popen(
            words,
            executable=executable,
            cwd=program.directory,
            env=environment(program, universe, rank),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def title(self) -> str:
        return self.program.name if self.rank in (None, 0) else f"{self.program.name}.{self.rank}"

    def signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class Log:
    """A program's log file. Lines that do not fit on a full disk are left out and counted; the run goes on."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = path.open("wb", buffering=0)
        self._bytes = 0  # bytes of whole lines
        self._left_out = 0
        self._reason = ""

    def write(self, line: str) -> str:
        """Writes a line. Returns a sentence for the user if lines begin or end to be left out, else ""."""
        before = self._left_out
        note = (
            f"[{before} {'line was' if before == 1 else 'lines were'} left out here: {self._reason}]\n"
            if before
            else ""
        )
        data = (note + line + "\n").encode()
        try:
            written = 0
            while written < len(data):
                written += self._file.write(data[written:]) or 0
        except OSError as error:
            self._take_back()
            self._left_out += 1
            self._reason = error.strerror or str(error)
            return "" if before else f"{self._path}: {self._reason}: lines are left out of this log"
        self._bytes += len(data)
        self._left_out = 0
        return (
            f"{self._path}: goes on after {before} {'line that was' if before == 1 else 'lines that were'} left out"
            if before
            else ""
        )

    def _take_back(self) -> None:
        """Removes a line that was not written as a whole."""
        with contextlib.suppress(OSError):
            self._file.truncate(self._bytes)
            self._file.seek(self._bytes)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


class Processes:
    """All programs of a run.

    ``write(title, line)`` gets every line of output. ``marker`` (NAME=value) is in the environment of every process of
    this run and of no other process.
    """

    def __init__(self, write: Callable[[str, str], None], marker: str) -> None:
        self._write = write
        self._marker = marker
        self._selector = selectors.DefaultSelector()
        self._logs: dict[str, Log] = {}
        self.running: list[Running] = []
        self.spared: set[int] = set()  # sessions with the marker that are not ended with these programs

    def start(self, program: Program, universe: dict[str, str]) -> None:
        """Starts all processes of one program. Raises OSError if the command cannot be executed."""
        if program.log is not None and program.name not in self._logs:
            self._logs[program.name] = Log(program.log)
        for rank in starts(program):
            one = Running(program, rank, universe)
            os.set_blocking(one.output.fileno(), False)
            self._selector.register(one.output, selectors.EVENT_READ, one)
            self.running.append(one)

    def pump(self, timeout_s: float) -> None:
        """Moves output that has arrived. Waits at most ``timeout_s`` for some."""
        if not self._selector.get_map():
            time.sleep(timeout_s)
            return
        for key, _ in self._selector.select(timeout_s):
            self._read(key.data)

    def _read(self, one: Running) -> None:
        try:
            data = os.read(one.output.fileno(), 65536)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(one.output)
            if one.partial:
                self._line(one, one.partial)
                one.partial = b""
            return
        *lines, one.partial = (one.partial + data).split(b"\n")
        for line in lines:
            self._line(one, line)

    def _line(self, one: Running, raw: bytes) -> None:
        line = raw.decode("utf-8", "replace").rstrip("\r")
        one.tail.append(line)
        if line.startswith(ERROR_SIGN):
            one.error = line
        if line.startswith((ERROR_SIGN, "couplet.errors.")):
            one.tells_of_loss = line.startswith(LOSS_SIGNS)
        log = self._logs.get(one.program.name)
        if log is not None and (note := log.write(line)):
            self._write("couplet", note)
        self._write(one.title, line)

    def ended(self) -> bool:
        """Says whether every program has ended."""
        return all(one.process.poll() is not None for one in self.running)

    def failed(self) -> list[Running]:
        """Returns the programs that have ended with an error. All that they have printed was read."""
        found = [one for one in self.running if one.process.poll() not in (None, 0)]
        for one in found:
            if not one.was_read:
                one.was_read = True
                deadline = time.monotonic() + LAST_OUTPUT_S
                while self._is_open(one) and time.monotonic() < deadline:
                    self.pump(0.02)
        return found

    def _is_open(self, one: Running) -> bool:
        return any(key.data is one for key in self._selector.get_map().values())

    def ended_well(self) -> dict[str, list[Running]]:
        """Returns the programs of which all processes have ended with 0."""
        programs: dict[str, list[Running]] = {}
        for one in self.running:
            programs.setdefault(one.program.name, []).append(one)
        return {name: all_ for name, all_ in programs.items() if all(one.process.poll() == 0 for one in all_)}

    def end_all(self, grace_s: float = 5.0) -> None:
        """Asks all programs that are left to end, and kills them if they do not."""
        for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
            for one in self.running:
                if one.process.poll() is None:
                    one.signal_group(number)
            deadline = time.monotonic() + patience_s
            while not self.ended() and time.monotonic() < deadline:
                self.pump(0.05)
            if self.ended():
                break
        deadline = time.monotonic() + 5.0
        while (left := self._survivors()) and time.monotonic() < deadline:
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self.pump(0.02)

    def _survivors(self) -> list[int]:
        return [process for process in survivors(self._marker) if session(process) not in self.spared]

    def close(self) -> None:
        """Reads the last output and closes everything."""
        deadline = time.monotonic() + 1.0
        while self._selector.get_map() and time.monotonic() < deadline:
            self.pump(0.05)
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
        for one in self.running:
            one.output.close()
        for log in self._logs.values():
            log.close()
