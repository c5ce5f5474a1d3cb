"""A set of programs that is kept alive and takes one sample on command; control.h is the other side."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO


class ContenderError(RuntimeError):
    """A contender could not be started, or has stopped answering."""


class Contender:
    """Programs with two roles, each controlled through a pair of named pipes.

    If there are several pairs, the numbers of their roles are 2, 3; 4, 5; and so on.
    """

    def __init__(self, name: str, directory: Path, log: IO[str], pairs: int = 1) -> None:
        self.name = name
        self.stem = directory / name.replace("/", "_").replace(" ", "_").replace("+", "_")
        self.log = log
        self.processes: list[subprocess.Popen[bytes]] = []
        self.inputs: dict[int, int] = {}
        self.outputs: dict[int, int] = {}
        self.rest: dict[int, bytes] = {}
        self.at_end: list[Callable[[], None]] = []
        for role in range(2 * pairs):
            self.add_role(role, answers=True)

    def add_role(self, role: int, *, answers: bool) -> None:
        for end, table in (("in", self.inputs), ("out", self.outputs)):
            if end == "out" and not answers:
                continue
            path = f"{self.stem}.{role}.{end}"
            os.mkfifo(path)
            table[role] = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.rest[role] = b""

    def start(self, command: list[str], **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            env={**os.environ, **environment},
        )
        self.processes.append(process)
        return process

    def line(self, role: int, timeout_s: float) -> str:
        """Returns the next line of the role's answers."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self.rest[role]:
            if any(process.poll() not in (None, 0) for process in self.processes):
                raise ContenderError(f"{self.name}: a program has ended")
            left = deadline - time.monotonic()
            if left <= 0:
                raise ContenderError(f"{self.name}: no answer of role {role} within {timeout_s:.0f} s")
            if select.select([self.outputs[role]], [], [], min(left, 0.5))[0]:
                self.rest[role] += os.read(self.outputs[role], 4096)
        line, self.rest[role] = self.rest[role].split(b"\n", 1)
        return line.decode()

    def wait_ready(self) -> None:
        timeout_s = 40.0 + len(self.processes)
        for role in self.outputs:
            if self.line(role, timeout_s) != "ready":
                raise ContenderError(f"{self.name}: unexpected answer")

    def sample(self, command: str, size: int, count: int) -> float:
        """Returns the seconds that `count` operations of `size` bytes took; the longest time of all pairs."""
        for role in sorted(self.outputs, key=lambda role: -(role % 2)):
            os.write(self.inputs[role], f"{command} {size} {count}\n".encode())
        seconds = {role: float(self.line(role, 60)) for role in self.outputs}
        return max(time for role, time in seconds.items() if role % 2 == 0)

    def stop(self) -> None:
        for role, descriptor in self.inputs.items():
            if role in self.outputs:
                os.write(descriptor, b"Q\n")
        for descriptor in [*self.inputs.values()]:
            os.close(descriptor)  # programs that only wait for the end of their pipe end now
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for descriptor in self.outputs.values():
            os.close(descriptor)
        for action in self.at_end:
            action()
