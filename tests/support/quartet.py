"""Two pairs that must not notice what happens beside them, and guests that make mistakes.

ocean writes a series that nowcast holds and checks. ping and pong exchange messages and check them
(tests/universe/programs/endure.cpp).
"""

from __future__ import annotations

import contextlib
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from enduring import Process, goes_on
from launching import BUILD, WATCHDOG_S, World, read_line

NAMES = ("ocean", "nowcast", "ping", "pong")
PROGRAMS = ",".join(f"{name}:1" for name in NAMES)
OBEDIENT = Path(__file__).parent / "obedient.py"


class Quartet:
    """The four programs at work, with the universe ranks 0 to 3 in the order of NAMES."""

    def __init__(self, world: World, elsewhere: str = "", **extra: str) -> None:
        """elsewhere: the one that counts as on another node."""
        program = str(BUILD / "tests" / "programs" / "endure")
        self.world = world
        self.processes = {
            name: Process(
                world.start(
                    [program, name, "hold"],
                    standard_input=True,
                    **extra,
                    **({"COUPLET_NODE": "elsewhere"} if name == elsewhere else {}),
                )
            )
            for name in NAMES
        }
        self.go_on()

    def go_on(self) -> None:
        """Each of them makes another turn."""
        for name, each in self.processes.items():
            answer = goes_on(each, time.monotonic() + WATCHDOG_S)
            assert not answer, f"{name} was disturbed: {answer}"

    def stop(self) -> None:
        """All end in good order, with nothing lost."""
        for name in ("ocean", "ping"):
            self.processes[name].say("stop")
        for name, each in self.processes.items():
            while (line := each.hear(WATCHDOG_S)).startswith("count "):
                pass
            assert line == "stopped", f"{name}: {each.said}"
            assert each.process.wait(WATCHDOG_S) == 0, name

    def pid(self, name: str) -> int:
        return self.processes[name].process.pid


@contextlib.contextmanager
def quartet(world: World, elsewhere: str = "", **extra: str) -> Iterator[Quartet]:
    """The four at work. At the end they have neither lost nor seen anything wrong, and the hub ends with them."""
    four = Quartet(world, elsewhere, **extra)
    try:
        yield four
        four.go_on()
        four.stop()
        assert world.processes[0].wait(WATCHDOG_S) == 0, "the hub ends with the universe"
    except BaseException:
        world.kill()
        raise
    finally:
        for each in four.processes.values():
            each.close()


def start_guests(world: World, *programs: str) -> list[Guest]:
    """Starts programs of one rank each, and waits until all have joined."""
    guests = [Guest(world, program, 0, 1) for program in programs]
    for guest in guests:
        guest.ready()
    return guests


def start_tasks(world: World) -> tuple[Guest, Guest, Guest]:
    """A coupler that is in run(), a worker with its `jobs`, and a requester `r`; all of tasks 't'."""
    coupler, worker, requester = start_guests(world, "coupler", "worker", "requester")
    coupler.get("c = universe.coupler('t', requesters='requester', workers='worker')")
    coupler.say("c.run(timeout=60)")
    worker.get("jobs = iter(universe.worker('t'))")
    requester.get("r = universe.requester('t')")
    return coupler, worker, requester


class Guest:
    """A process of tests/support/obedient.py."""

    def __init__(self, world: World, *words: object, prefix: Sequence[str] = (), **extra: str) -> None:
        command = [*prefix, sys.executable, str(OBEDIENT), *(str(word) for word in words)]
        self.process: subprocess.Popen[str] = world.start(command, standard_input=True, **extra)

    def hear(self) -> str:
        return read_line(self.process).rstrip("\n")

    def has_answered(self) -> bool:
        """Says whether a line can be heard without waiting. Each line that it has said before must have been heard."""
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], 0)[0])

    def ready(self) -> Guest:
        line = self.hear()
        assert line == "ready", line
        return self

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line: str) -> str:
        self.say(line)
        return self.hear()

    def get(self, line: str) -> str:
        """Returns the value of an expression."""
        answer = self.ask(line)
        assert answer.startswith("is "), f"{line}: {answer}"
        return answer.removeprefix("is ")

    def refused(self, line: str, status: str, *parts: str) -> None:
        """The line ends with this error, whose text names all the parts."""
        answer = self.ask(line)
        assert answer.startswith(f"error COUPLET_ERROR_{status} "), f"{line}: {answer}"
        missing = [part for part in parts if part not in answer]
        assert not missing, f"{line}: {answer} does not name {missing}"

    def begin_to_leave(self) -> None:
        """From here on it does what ends it in good order; leave() waits for that."""
        if self.process.stdin is not None:
            self.process.stdin.close()
            self.process.stdin = None  # for communicate

    def leave(self, *others: Guest) -> None:
        """Ends in good order, with others at the same time."""
        for each in (self, *others):
            each.begin_to_leave()
        for process in (each.process for each in (self, *others)):
            output, errors = process.communicate(timeout=WATCHDOG_S)
            assert process.returncode == 0, f"{output}{errors}"
