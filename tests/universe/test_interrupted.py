"""Ctrl-C takes the place of what a call in Python has just got. The next call gives that, and nothing is lost."""

from __future__ import annotations

import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import BUILD, World, read_line
from quartet import Guest, start_guests

MakeWorld = Callable[..., World]
ROUNDS = str(Path(__file__).parent / "programs" / "interrupted_rounds.py")
RESULTS = str(Path(__file__).parent / "programs" / "interrupted_results.py")

# Takes tasks until the end. Each signal raises an exception, except while the last one is handled.
TAKER = """
import signal, sys
import couplet

runs = sys.argv[2:] == ["runs"]
finish = {"worker": lambda work: work.complete(), "coupler": lambda work: work.dispatch()}[sys.argv[1]]
count = interrupts = 0
work = None
armed = has_ended = False

def interrupt(*_):
    global armed, interrupts
    if armed:
        armed = False
        interrupts += 1
        raise KeyboardInterrupt

def take():
    global count, work
    while True:
        if work is None:
            work = taker.next()
            if work is None:
                return
            count += 1
        finish(work)
        work = None

signal.signal(signal.SIGINT, interrupt)
with couplet.join(sys.argv[1], rank=0, size=1) as universe:
    taker = universe.worker("t") if sys.argv[1] == "worker" else universe.coupler("t", workers="worker")
    print("opened", flush=True)
    while not has_ended:
        try:
            armed = True
            if interrupts and runs and work is None:  # it does what the interrupted call of next has taken, too
                taker.run(timeout=0)
            take()
            has_ended = True
            armed = False
        except KeyboardInterrupt:
            pass
        except couplet.StateError as error:
            armed = False
            if "in hand" not in str(error):
                raise
            work = None  # Ctrl-C came when it was finished
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(count, "tasks,", "interrupted" if interrupts > 50 else f"interrupted only {interrupts} times", flush=True)
"""

# Presses Ctrl-C at the taker just before it submits each task, so that the taker gets the task with the exception. (A
# signal that comes just after the call has ended may take the task with it: see docs/guide/python.md.)
SUBMIT = (
    "[r.submit(couplet.ANY_WORKER, [k], timeout=50).wait(50) for k in range(300)"
    " if time.sleep(0.002 * (k % 5)) is None and __import__('os').kill({pid}, 2) is None]"
    " and r.close()"
)


def test_the_next_call_gives_what_an_interrupted_one_has_got(make_world: MakeWorld) -> None:
    world = make_world("solo:1")
    assert world.finish(world.start([sys.executable, RESULTS, "5"])).check().output == "done\n"


def test_a_round_that_ended_when_a_signal_came_is_told_by_the_next_call(make_world: MakeWorld) -> None:
    world = make_world("pair:2")
    started = [world.start([sys.executable, ROUNDS, str(rank), "6"]) for rank in range(2)]
    for each in started:
        assert world.finish(each).check().output == "done\n"


@pytest.mark.parametrize("words", ["worker", "coupler", "coupler runs"])
def test_no_task_is_lost_by_control_c(make_world: MakeWorld, words: str) -> None:
    interrupted = words.split()[0]
    world = make_world("coupler:1,requester:1,worker:1")
    taker = world.start([sys.executable, "-c", TAKER, *words.split()])
    requester, other = start_guests(world, "requester", "coupler" if interrupted == "worker" else "worker")
    if interrupted == "worker":
        other.get("c = universe.coupler('t', workers='worker')")
        other.say("c.run()")
    else:
        other.get("w = universe.worker('t')")
        other.say("sum(1 for work in w if work.complete() is None)")
    assert read_line(taker) == "opened\n"
    requester.get("r = universe.requester('t')")
    answer = requester.ask(SUBMIT.format(pid=taker.pid))
    assert answer == "is None", f"{answer}: {world.finish(taker)}"
    said = world.finish(taker).check().output
    assert said.endswith("tasks, interrupted\n") and (words == "coupler runs" or said.startswith("300 ")), said
    assert other.hear().startswith("is")
    requester.leave(other)


def test_bytes_stay_bytes_at_a_coupler_in_python(make_world: MakeWorld) -> None:
    """An array does not tell bytes from integers of one byte: the worker would refuse what the coupler gives on."""
    world = make_world("coupler:1,requester:1,worker:1")
    program = str(BUILD / "tests" / "programs" / "task_of_bytes")
    requester, worker = (
        world.start([program, name], standard_input=name == "requester", COUPLET_RANK="0", COUPLET_SIZE="1")
        for name in ("requester", "worker")
    )
    coupler = Guest(world, "coupler", 0, 1).ready()
    coupler.get("s = __import__('signal').signal(10, lambda *_: [].pop())")
    coupler.get("c = universe.coupler('t', workers='worker', requesters='requester')")
    assert requester.stdin is not None

    def submit() -> None:
        requester.stdin.write("\n")  # type: ignore[union-attr]
        requester.stdin.flush()  # type: ignore[union-attr]

    def is_done() -> None:
        while not select.select([requester.stdout], [], [], 0)[0]:
            coupler.get("c.run(0.1)")
        assert read_line(requester) == "done\n"

    for payload in ("", "payload=work.payload"):
        submit()
        coupler.get("work = c.next(timeout=60)")
        coupler.get(f"work.dispatch({payload})")
        is_done()
    for _ in range(3):
        coupler.say("c.next(timeout=60)")
        time.sleep(0.2)
        coupler.process.send_signal(signal.SIGUSR1)
        submit()
        assert coupler.hear().startswith("error IndexError")
        is_done()  # run does what the interrupted call has taken, too
    requester.stdin.close()
    requester.stdin = None  # for communicate
    coupler.get("c.run(60)")
    assert world.finish(requester).check().output == ""
    assert world.finish(worker).check().output == ""
    coupler.leave()
