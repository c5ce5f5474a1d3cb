"""Ctrl-C takes the place of what a call in Python has just got. The next call gives that, and nothing is lost."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World, read_line
from quartet import Guest

MakeWorld = Callable[..., World]
RESULTS = str(Path(__file__).parent / "programs" / "interrupted_results.py")

# Takes tasks for as long as it is asked to, with Ctrl-C at any moment.
TAKER = """
import contextlib, signal, sys
import couplet

runs = sys.argv[2:] == ["runs"]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
finish = {"worker": lambda work: work.complete(), "coupler": lambda work: work.dispatch()}[sys.argv[1]]
with couplet.join(sys.argv[1], rank=0, size=1) as universe:
    taker = universe.worker("t") if sys.argv[1] == "worker" else universe.coupler("t", workers="worker")
    print("opened", flush=True)
    count = interrupts = 0
    work = None
    while True:
        try:
            if work is None:
                work = taker.next()
                if work is None:
                    break
                count += 1
            finish(work)
            work = None
        except KeyboardInterrupt:
            interrupts += 1
            if runs and work is None:  # it does what the interrupted call of next has taken, too
                with contextlib.suppress(KeyboardInterrupt):
                    taker.run(timeout=0)
        except couplet.StateError as error:
            if "in hand" not in str(error):
                raise
            work = None  # Ctrl-C came when it was finished
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(count, "tasks,", "interrupted" if interrupts > 10 else f"interrupted only {interrupts} times", flush=True)
"""


def test_the_next_call_gives_what_an_interrupted_one_has_got(make_world: MakeWorld) -> None:
    world = make_world("solo:1")
    assert world.finish(world.start([sys.executable, RESULTS, "5"])).check().output == "done\n"


@pytest.mark.parametrize("words", ["worker", "coupler"])
def test_no_task_is_lost_by_control_c(make_world: MakeWorld, words: str) -> None:
    interrupted = words.split()[0]
    world = make_world("coupler:1,requester:1,worker:1")
    taker = world.start([sys.executable, "-c", TAKER, *words.split()])
    requester = Guest(world, "requester", 0, 1)
    other = Guest(world, "coupler" if interrupted == "worker" else "worker", 0, 1)
    for guest in (requester, other):
        guest.ready()
    if interrupted == "worker":
        other.get("c = universe.coupler('t', workers='worker')")
        other.say("c.run()")
    else:
        other.get("w = universe.worker('t')")
        other.say("sum(1 for work in w if work.complete() is None)")
    assert read_line(taker) == "opened\n"
    requester.get("r = universe.requester('t')")
    requester.say(
        "[r.submit(couplet.ANY_WORKER, [k], timeout=50).wait(50) for k in range(1000) if time.sleep(0.002) is None]"
        " and r.close()"
    )
    while not requester.has_answered():
        time.sleep(0.05)
        taker.send_signal(signal.SIGINT)
    answer = requester.hear()
    assert answer == "is None", f"{answer}: {world.finish(taker)}"
    said = world.finish(taker).check().output
    assert said.endswith("tasks, interrupted\n") and (words == "coupler runs" or said.startswith("1000 ")), said
    assert other.hear().startswith("is")
    requester.leave(other)
