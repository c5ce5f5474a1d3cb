"""Programs that work until they are told to stop or another one dies (tests/universe/programs/endure.cpp)."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import threading
import time
from dataclasses import dataclass, field

from launching import WATCHDOG_S


@dataclass
class Process:
    """A program of the round. A thread collects its output, each line with its time."""

    process: subprocess.Popen[str]
    lines: queue.Queue[str] = field(default_factory=queue.Queue)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listener = threading.Thread(target=self.listen)
        self.listener.start()

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put("")  # the end

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already, and has said why
            os.write(self.process.stdin.fileno(), f"{line}\n".encode())

    def hear(self, within: float) -> str:
        """Returns the next line that is not "running", or "" at the end of the output."""
        deadline = time.monotonic() + within
        try:
            while True:
                line = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
                self.said.append(line)
                if line != "running":
                    return line
        except queue.Empty:
            raise AssertionError(f"{self.process.args} says nothing within {within} s; before: {self.said}") from None

    def close(self) -> None:
        self.process.wait(WATCHDOG_S)
        self.listener.join(WATCHDOG_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def ask(process: Process, deadline: float) -> str:
    process.say("count")
    return process.hear(deadline - time.monotonic())


def goes_on(process: Process, deadline: float) -> str:
    """Returns "" once the process has made a turn after now, else the error with which it ends."""
    first = answer = ask(process, deadline)
    while answer.startswith("count "):
        answer = ask(process, deadline)
        if answer != first and answer.startswith("count "):
            return ""
        assert time.monotonic() < deadline, f"{process.process.args} stands still: {process.said}"
    return answer


def error_of(process: Process, deadline: float) -> str:
    """Returns the error with which the process ends. It may first read what the victim has left."""
    while (answer := ask(process, deadline)).startswith("count "):
        assert time.monotonic() < deadline, f"{process.process.args} goes on: {process.said}"
    return answer
