"""kill -9 at random moments: the others answer by name within 5 seconds or go on, and nothing stays behind.

Each round has a seed of its own, which its name shows: COUPLET_KILLS_SEED=<it> COUPLET_KILLS=1 repeats one.
COUPLET_KILLS is the number of rounds: some in make test, 200 in make stress.
"""

from __future__ import annotations

import contextlib
import os
import queue
import random
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from launching import BUILD, World

MakeWorld = Callable[..., World]
ROUNDS = int(os.environ.get("COUPLET_KILLS", "40"))
SEED = int(os.environ.get("COUPLET_KILLS_SEED", str(random.SystemRandom().randrange(10**6) * 1000)))
PROGRAMS = ("ocean", "nowcast", "ping", "pong")
VICTIMS = (*PROGRAMS, "hub", "everything")
PARTNER = {"ocean": "nowcast", "nowcast": "ocean", "ping": "pong", "pong": "ping"}
WITHIN_S = 5.0  # the contract
JOIN_S = 3.0
CLEAN = BUILD / "libexec" / "couplet" / "couplet-clean"


@dataclass
class Process:
    """A program of the round; what it says is collected by a thread, each line with its time."""

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
        """The next line but "running"; empty at its end."""
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
        self.process.wait(30)
        self.listener.join(30)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def ask(process: Process, deadline: float) -> str:
    process.say("count")
    return process.hear(deadline - time.monotonic())


def goes_on(process: Process, deadline: float) -> str:
    """Empty once it has made a turn after now; else the error that it ends with."""
    first = answer = ask(process, deadline)
    while answer.startswith("count "):
        answer = ask(process, deadline)
        if answer != first and answer.startswith("count "):
            return ""
        assert time.monotonic() < deadline, f"{process.process.args} stands still: {process.said}"
    return answer


def error_of(process: Process, deadline: float) -> str:
    """The error that it ends with; it may first read on what the victim has left."""
    while (answer := ask(process, deadline)).startswith("count "):
        assert time.monotonic() < deadline, f"{process.process.args} goes on: {process.said}"
    return answer


def check(name: str, process: Process, victim: str, deadline: float) -> None:
    """Whoever needs the victim names it; the others go on. Before all had joined, all are told who is missing."""
    needed = PARTNER.get(victim) == name and name != "ocean"  # ocean releases a dead holder
    answer = error_of(process, deadline) if needed else goes_on(process, deadline)
    if answer.startswith(("error COUPLET_ERROR_TIMEOUT joining", "error COUPLET_ERROR_HUB_LOST")):
        missing = ("the hub", "no hub at") if victim == "hub" else (f"'{victim}'",)
        assert any(each in answer for each in missing), f"{name}: {answer}"
    elif answer.startswith("error COUPLET_ERROR_TIMEOUT"):
        assert needed and "series 'eta'" in answer, f"{name}: {answer}"  # it was never there
    elif needed:
        assert answer.startswith("error COUPLET_ERROR_PEER_LOST"), f"{name}: {answer}"
        assert f"program '{victim}' rank 0" in answer, f"{name}: {answer}"
    else:
        assert not answer, f"{name}: {answer}"


def clean(world: World) -> None:
    subprocess.run([str(CLEAN)], env=world.environment, check=True, capture_output=True, timeout=30)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_kill(make_world: MakeWorld, seed: int) -> None:
    choose = random.Random(seed)
    victim = choose.choice(VICTIMS)
    mode = choose.choice(["hold", "follow"])
    delay_s = choose.choice([0.04, 0.4, 0.4]) * choose.random()  # a third while they join and open
    world = make_world("ocean:1,nowcast:1,ping:1,pong:1")
    hub = world.processes[0]
    program = str(BUILD / "tests" / "programs" / "endure")
    environment = {"COUPLET_JOIN_TIMEOUT": str(JOIN_S)}
    processes = {
        name: Process(world.start([program, name, mode], standard_input=True, **environment)) for name in PROGRAMS
    }
    time.sleep(delay_s)  # the moment is the point of it
    for name in [victim] if victim != "everything" else [*choose.sample(PROGRAMS, 4), "hub"]:
        (hub if name == "hub" else processes[name].process).kill()
    others = {name: each for name, each in processes.items() if victim not in (name, "everything")}
    try:
        killed = time.monotonic()
        for name, each in others.items():
            check(name, each, victim, killed + WITHIN_S + JOIN_S)
        for each in others.values():
            each.say("stop")
        for name, each in others.items():
            each.process.wait(20)
            assert each.process.returncode == 0, f"{name}: {each.said}"
        if victim in PROGRAMS and not any("running" in each.said for each in others.values()):
            hub.terminate()  # the universe was never complete: the hub would wait for somebody to come again
        hub.wait(20)
    finally:
        world.kill()
        for each in processes.values():
            each.close()
    if victim == "everything":
        clean(world)
    left = [str(path) for path in world.run_directory.rglob("*")]
    assert not left, f"left behind after the death of {victim}: {left}"
