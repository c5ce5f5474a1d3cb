"""Members of a universe that obey a test, line by line (tests/universe/programs/core/member.cpp)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from launching import BUILD, WATCHDOG_S, World, read_line

PROGRAM = BUILD / "tests" / "programs" / "member"


class Member:
    """One process. say() sends a line, hear() waits for one."""

    def __init__(self, world: World, *words: object, launcher: Sequence[str] = (), **extra: str) -> None:
        command = [*launcher, str(PROGRAM), *(str(word) for word in words)]
        environment = {**world.environment, **extra}
        self.process = subprocess.Popen(
            command,
            cwd=world.directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        world.processes.append(self.process)
        self.notes: list[str] = []

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self, timeout: float = WATCHDOG_S) -> str:
        """Returns the next line that is not a note."""
        while True:
            line = read_line(self.process, timeout).rstrip("\n")
            if not line.startswith("note "):
                return line
            self.notes.append(line.removeprefix("note "))

    def ask(self, line: str, timeout: float = WATCHDOG_S) -> str:
        self.say(line)
        return self.hear(timeout)

    def ask_until(self, question: str, answer: str) -> None:
        """Asks until the news has arrived. A call to the hub lets the member receive what the hub has sent."""
        deadline = time.monotonic() + WATCHDOG_S
        while (heard := self.ask(question)) != answer:
            assert time.monotonic() < deadline, f"{question}: {heard}, not {answer}"
            self.ask("find nothing 0")

    def joined(self) -> Joined:
        """Waits until it has joined."""
        line = self.hear()
        assert line.startswith("joined "), line
        return Joined(line)

    def leave(self) -> None:
        answer = self.ask("leave")
        assert answer == "left ok", answer
        assert self.process.wait(WATCHDOG_S) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(WATCHDOG_S)


class Joined:
    """What a member reports about itself once it has joined."""

    def __init__(self, line: str) -> None:
        _, peer, size, incarnation, node, directory = line.split()
        self.peer = int(peer)
        self.size = int(size)
        self.incarnation = int(incarnation)
        self.node = int(node)
        self.directory = Path(directory)
