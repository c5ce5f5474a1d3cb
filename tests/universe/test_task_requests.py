"""Requests for which there is no room, no worker, or no way to tell a worker: none of them waits for ever."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launching import World
from quartet import Guest, start_guests

MakeWorld = Callable[..., World]
Trio = Callable[[], tuple[Guest, Guest, Guest]]


@pytest.fixture
def trio(make_world: MakeWorld) -> Trio:
    """Starts a coupler, a requester and a worker that have not opened the tasks."""

    def start() -> tuple[Guest, Guest, Guest]:
        world = make_world("coupler:1,requester:1,worker:1")
        coupler, requester, worker = start_guests(world, "coupler", "requester", "worker")
        return coupler, requester, worker

    return start


@contextlib.contextmanager
def no_descriptor_left(guest: Guest) -> Iterator[None]:
    """Lets a process open no further file."""
    pid = guest.process.pid
    used = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(set(range(len(used) + 1)) - used), before[1]))
    yield
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def submit(number: int) -> str:
    return f"t{number} = r.submit(couplet.ANY_WORKER, [{number}], timeout=20)"


def open_with_room_for_one(coupler: Guest, requester: Guest) -> None:
    coupler.get("c = universe.coupler('t', workers='worker', queue_limit=1)")
    requester.get("r = universe.requester('t')")


def accept(coupler: Guest, requester: Guest, line: str) -> None:
    """Lets the requester submit a task while the coupler makes short calls only."""
    requester.say(line)
    while not requester.has_answered():
        coupler.get("universe.progress()")
    assert requester.hear().startswith("is")


def do_the_last_task(coupler: Guest, requester: Guest, worker: Guest) -> None:
    """The worker does one task, and all end: the coupler is in run(), and the worker completes what next() gives."""
    requester.get(submit(1))
    requester.get("t1.wait(20)")
    assert worker.hear().startswith("is")
    requester.get("r.close()")
    assert coupler.hear() == "is True"
    requester.leave(coupler, worker)


def test_a_request_waits_for_room_at_a_coupler_that_takes_each_itself(trio: Trio) -> None:
    """Fault: it was accepted only when a worker was idle."""
    coupler, requester, worker = trio()
    open_with_room_for_one(coupler, requester)
    requester.say(submit(1))
    coupler.get("first = c.next(timeout=20)")
    assert requester.hear().startswith("is")
    accept(coupler, requester, submit(2))
    requester.say(submit(3))
    time.sleep(0.3)
    coupler.get("universe.progress()")
    coupler.get("second = c.next(timeout=20)")
    coupler.get("[each.complete() for each in (first, second)]")
    coupler.get("c.next(timeout=20).complete()")
    assert requester.hear().startswith("is")
    requester.get("[each.wait(20) for each in (t1, t2, t3)]")
    requester.leave(coupler, worker)


def test_a_request_waits_for_room_until_the_only_worker_is_killed(trio: Trio) -> None:
    """Fault: it waited on, and was told that the queue was full."""
    coupler, requester, worker = trio()
    open_with_room_for_one(coupler, requester)
    coupler.say("c.run(timeout=60)")
    worker.get("w = universe.worker('t')")
    worker.say("w.next(timeout=20) and time.sleep(100)")
    for number in (1, 2):
        requester.get(submit(number))
        time.sleep(0.3)
    requester.say(submit(3))
    time.sleep(0.3)
    worker.process.kill()
    answer = requester.hear()
    assert "PEER_LOST" in answer and "no group of workers is left" in answer
    for number in (1, 2):
        requester.refused(f"t{number}.wait(20)", "PEER_LOST")
    requester.get("r.close()")
    assert coupler.hear() == "is True"
    requester.leave(coupler)


def test_a_request_waits_for_room_that_a_wrong_one_takes(trio: Trio) -> None:
    """Fault: run refused the wrong one, and never took the other."""
    coupler, requester, worker = trio()
    open_with_room_for_one(coupler, requester)
    worker.get("w = universe.worker('t')")
    time.sleep(0.3)
    coupler.get("universe.progress()")
    accept(coupler, requester, "t9 = r.submit(9, [9], timeout=20)")
    requester.say(submit(2))
    worker.say("w.next(timeout=20).complete()")
    time.sleep(0.3)
    coupler.say("c.run(timeout=60)")
    assert requester.hear().startswith("is")
    assert worker.hear().startswith("is")
    requester.refused("t9.wait(20)", "NOT_FOUND", "no workers have the id 9")
    requester.get("t2.wait(20)")
    requester.get("r.close()")
    assert coupler.hear() == "is True"
    requester.leave(coupler, worker)


def test_a_worker_that_died_before_the_coupler_opened_gets_no_task(trio: Trio) -> None:
    """Fault: its hello was kept, the request was given to it, and waited for ever."""
    coupler, requester, worker = trio()
    worker.get("w = universe.worker('t')")
    time.sleep(0.3)
    worker.process.kill()
    time.sleep(1)
    coupler.get("universe.progress()")
    coupler.get("c = universe.coupler('t', workers='worker')")
    coupler.say("c.run(timeout=60)")
    requester.get("r = universe.requester('t')")
    answer = requester.ask(submit(1))
    assert "PEER_LOST" in (requester.ask("t1.wait(20)") if answer.startswith("is") else answer)
    requester.get("r.close()")
    assert coupler.hear() == "is True"
    requester.leave(coupler)


def test_a_requester_without_descriptors_is_told_that_nobody_heard_it_close(trio: Trio) -> None:
    """Fault: close was fine, and the coupler waited on without a word."""
    coupler, requester, worker = trio()
    coupler.get("c = universe.coupler('t', workers='worker')")
    requester.get("r = universe.requester('t')")
    with no_descriptor_left(requester):
        requester.refused("r.close()", "LIMIT", "program 'coupler' rank 0", "until this rank leaves the universe")
    coupler.say("c.run(timeout=60)")
    requester.leave(worker)
    assert coupler.hear() == "is True"
    coupler.leave()


def test_a_worker_without_descriptors_says_hello_later(trio: Trio) -> None:
    """Fault: it could not say hello, next gave the end, and no task ever came."""
    coupler, requester, worker = trio()
    coupler.get("c = universe.coupler('t', workers='worker')")
    coupler.say("c.run(timeout=60)")
    with no_descriptor_left(worker):
        worker.get("w = universe.worker('t')")
        worker.refused("w.next(timeout=0.3)", "TIMEOUT")
    worker.say("w.next(timeout=20).complete()")
    requester.get("r = universe.requester('t')")
    do_the_last_task(coupler, requester, worker)


TAKE_TWO = "[w.next(timeout=30).complete() for number in range(2)]"


def start_pair_of_workers(world: World, **extra: str) -> tuple[Guest, Guest, Guest, Guest]:
    """A coupler that is in run(), a requester `r`, and a worker group `w` of two ranks, which have the settings."""
    coupler, requester = Guest(world, "coupler", 0, 1), Guest(world, "requester", 0, 1)
    leader, other = (Guest(world, "worker", rank, 2, **extra) for rank in range(2))
    for each in (coupler, requester, leader, other):
        each.ready()
    coupler.get("c = universe.coupler('t', workers='worker', requesters='requester')")
    coupler.say("c.run(60)")
    requester.get("r = universe.requester('t')")
    for each in (leader, other):
        each.say("w = universe.worker('t')")
    for each in (leader, other):
        each.hear()
    return coupler, requester, leader, other


def request_until_workers_are_back(requester: Guest, number: int) -> None:
    """Until the coupler has heard of the return, which no message of another rank brings, it may refuse the task."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        answer = requester.ask(submit(number))
        if answer.startswith("is "):
            answer = requester.ask(f"t{number}.wait(20)")
        if answer.startswith("is "):
            return
        assert "no group of workers" in answer, answer
    pytest.fail("the coupler has not heard within 20 s that the workers are back")


@pytest.mark.parametrize("opens_again", ["before", "after"])
@pytest.mark.parametrize("place", ["near", "far"])
def test_a_group_of_which_a_rank_was_started_again(make_world: MakeWorld, opens_again: str, place: str) -> None:
    """Fault: if its leader opened before the other rank was back, the coupler took the group for gone for ever."""
    world = make_world("coupler:1,requester:1,worker:2")
    extra = {"COUPLET_NODE": "far"} if place == "far" else {}
    coupler, requester, leader, other = start_pair_of_workers(world, **extra)
    leader.say("w.next(timeout=30)")
    other.process.kill()
    assert leader.hear().startswith("error COUPLET_ERROR_PEER_LOST")
    leader.get("w.close()")
    if opens_again == "before":
        leader.get("w = universe.worker('t')")
    other = Guest(world, "worker", 1, 2, **extra).ready()
    other.get("w = universe.worker('t')")
    if opens_again == "after":
        leader.get("w = universe.worker('t')")
    for each in (leader, other):
        each.say(TAKE_TWO)
    for number in (1, 2):
        request_until_workers_are_back(requester, number)
    for each in (leader, other):
        assert each.hear().startswith("is")
    requester.get("r.close()")
    assert coupler.hear().startswith("is")
    requester.leave(coupler, leader, other)


def test_a_group_hears_at_once_that_a_rank_was_lost_while_it_waits(make_world: MakeWorld) -> None:
    """Fault: its first rank waited for a task for ever, since the coupler gives such a group none."""
    world = make_world("coupler:1,requester:1,worker:3")
    coupler, requester = Guest(world, "coupler", 0, 1), Guest(world, "requester", 0, 1)
    group = [Guest(world, "worker", rank, 3) for rank in range(3)]
    for each in (coupler, requester, *group):
        each.ready()
    coupler.get("c = universe.coupler('t', workers='worker', requesters='requester')")
    coupler.say("c.run(60)")
    for each in group:
        each.say("w = universe.worker('t')")
    for each in group:
        each.hear()
    for each in group:
        each.say("w.next()")
    time.sleep(0.3)
    group[2].process.kill()
    began = time.monotonic()
    for each in group[:2]:
        assert each.hear().startswith("error COUPLET_ERROR_PEER_LOST")
    assert time.monotonic() - began < 5
    for each in group[:2]:
        each.say("w.next()")
    for each in group[:2]:
        answer = each.hear()
        assert answer.startswith("error COUPLET_ERROR_PEER_LOST"), answer
        assert "program 'worker' rank 2" in answer
    requester.get("r = universe.requester('t')")
    requester.get("r.close()")
    assert coupler.hear() == "is True"
    requester.leave(coupler, *group[:2])


def test_a_group_of_which_a_rank_has_left_and_is_back_is_told_that_it_has_to_open_again(make_world: MakeWorld) -> None:
    """Fault: its first rank waited quietly with the next life of the other one, and the coupler gave them nothing."""
    world = make_world("coupler:1,requester:1,worker:2")
    coupler, requester, leader, other = start_pair_of_workers(world)
    for each in (leader, other):
        each.say("w.next(timeout=20).complete()")
    requester.get(submit(1))
    for each in (leader, other):
        assert each.hear().startswith("is")
    other.leave()
    leader.refused("w.next(timeout=20)", "STATE", "rank 1", "has closed them")
    other = Guest(world, "worker", 1, 2).ready()
    other.get("w = universe.worker('t')")
    for _ in range(3):
        leader.refused("w.next(timeout=1)", "PEER_LOST", "program 'worker' rank 1", "has left")
    for each in (leader, other):
        each.get("w.close()")
        each.say("w = universe.worker('t')")
    for each in (leader, other):
        each.hear()
        each.say("w.next(timeout=20).complete()")
    requester.get(submit(2))
    for each in (leader, other):
        assert each.hear().startswith("is")
    requester.get("r.close()")
    assert coupler.hear() == "is True"
    requester.leave(coupler, leader, other)


def test_a_worker_that_was_started_again_before_it_opened_is_waited_for(make_world: MakeWorld) -> None:
    """Fault: NOT_FOUND, with an empty list of ids."""
    world = make_world("coupler:1,requester:1,worker:1")
    coupler, requester, worker = start_guests(world, "coupler", "requester", "worker")
    coupler.get("c = universe.coupler('t', workers='worker', requesters='requester')")
    coupler.say("c.run(60)")
    requester.get("r = universe.requester('t')")
    worker.process.kill()
    worker.process.wait()
    requester.refused("r.submit(couplet.ANY_WORKER, [0], timeout=20).wait(20)", "PEER_LOST", "no group of workers")
    worker = Guest(world, "worker", 0, 1).ready()
    requester.get(submit(1))
    worker.get("w = universe.worker('t')")
    worker.get("w.next(timeout=20).complete()")
    requester.get("t1.wait(20)")
    requester.get("r.close()")
    assert coupler.hear().startswith("is")
    requester.leave(coupler, worker)


@pytest.mark.parametrize("computes", ["leader", "coupler"])
def test_another_group_does_what_a_broken_one_cannot(make_world: MakeWorld, computes: str) -> None:
    """Fault: a group of which a rank had been started again got tasks, and its leader refused one with each call.

    If the coupler computed while a rank with a task in hand died, it heard that the task had failed before it heard of
    the death.
    """
    world = make_world("coupler:1,requester:1,worker:4")
    coupler, requester = Guest(world, "coupler", 0, 1), Guest(world, "requester", 0, 1)
    workers = [Guest(world, "worker", rank, 4) for rank in range(4)]
    for each in (coupler, requester, *workers):
        each.ready()
    coupler.get("c = universe.coupler('t', workers='worker', requesters='requester', on_lost='retry')")
    requester.get("r = universe.requester('t')")
    for each in workers:
        each.say("w = universe.worker('t', worker_id=5, group_size=2)")
    for each in workers:
        each.hear()
    coupler.say("c.run(1)")
    requester.get(submit(0))
    for each in workers[:2]:
        each.say("task = w.next(timeout=20)")
    for each in workers[:2]:
        each.hear()
    if computes == "leader":
        for each in workers[:2]:
            each.say("task.complete()")
        for each in workers[:2]:
            each.hear()
        requester.get("t0.wait(20)")
    coupler.hear()
    workers[1].process.kill()
    workers[1].process.wait()
    if computes == "coupler":
        assert workers[0].ask("task.complete()").startswith("error COUPLET_ERROR_PEER_LOST")
    again = Guest(world, "worker", 1, 4).ready()
    coupler.say("c.run(60)")
    for each in workers[2:]:
        each.say("[w.next(timeout=20).complete() for number in range(3)]")
    numbers = (1, 2, 3) if computes == "leader" else (0, 1, 2)
    for number in numbers:
        if number > 0:
            requester.get(submit(number))
    if computes == "leader":
        workers[0].ask("w.next(timeout=20)")
    for number in numbers:
        requester.get(f"t{number}.wait(20)")
    for each in workers[2:]:
        assert each.hear().startswith("is")
    requester.get("r.close()")
    assert coupler.hear().startswith("is")
    for each in (workers[0], workers[2], workers[3]):
        each.get("w.close()")
    requester.leave(coupler, workers[0], again, *workers[2:])


def test_a_coupler_without_memory_to_give_a_task_to_a_worker_says_so(trio: Trio) -> None:
    """Fault: it forgot the task, whose requester waited for ever, and the group of workers never got another one."""
    coupler, requester, worker = trio()
    coupler.get("c = universe.coupler('t', workers='worker', requesters='requester')")
    worker.get("w = universe.worker('t')")
    requester.get("r = universe.requester('t')")
    coupler.get("c.run(0.5)")
    coupler.get("allow_more_memory(38 << 20)")
    coupler.say("c.run(60)")
    worker.say("w.next(timeout=30).complete()")
    requester.get("t0 = r.submit(couplet.ANY_WORKER, [1], np.zeros(32 << 20, np.uint8), timeout=20)")
    requester.refused("t0.wait(20)", "MEMORY", "program 'coupler' rank 0", "no memory to give the task to a worker")
    do_the_last_task(coupler, requester, worker)


@pytest.mark.parametrize("how", ["open", "its leader is killed", "closed without a call", "a refused call"])
def test_a_request_does_not_wait_for_a_rank_that_has_opened_after_its_leader(make_world: MakeWorld, how: str) -> None:
    """Fault: the first rank had said hello while the other one was dead, and nobody named the next life later."""
    world = make_world("coupler:1,requester:1,worker:2")
    coupler, requester = Guest(world, "coupler", 0, 1), Guest(world, "requester", 0, 1)
    first, second = group = [Guest(world, "worker", rank, 2) for rank in range(2)]
    for each in (coupler, requester, *group):
        each.ready()
    coupler.get("c = universe.coupler('t', workers='worker', requesters='requester')")
    requester.get("r = universe.requester('t')")
    second.process.kill()
    second.process.wait()
    time.sleep(0.5)
    first.get("[universe.progress() or time.sleep(0.01) for _ in range(50)] and 0")
    first.get("w = universe.worker('t')")
    second = Guest(world, "worker", 1, 2).ready()
    second.get("w = universe.worker('t')")
    coupler.say("c.run(100)")
    if how in ("closed without a call", "a refused call"):
        if how == "a refused call":
            second.say("outcome(lambda: w.next(timeout=50))")
            first.get("outcome(lambda: w.next(parameters='x'))")
            second.hear()
        for each in (first, second):
            each.get("w.close()")
    else:
        for each in (first, second):
            each.say("w.next(timeout=50).complete()")
        requester.get("r.submit(couplet.ANY_WORKER, [1], timeout=50).wait(50)")
        for each in (first, second):
            each.hear()
    if how == "open":
        requester.refused("r.submit(99, [1], timeout=50).wait(50)", "NOT_FOUND", "no workers have the id 99")
    else:
        if how == "its leader is killed":
            first.process.kill()
            first.process.wait()
            second.refused("w.next(timeout=50)", "PEER_LOST")
            second.get("w.close()")
            time.sleep(1)
        requester.refused("r.submit(couplet.ANY_WORKER, [1], timeout=50).wait(50)", "PEER_LOST", "no group of workers")
    requester.get("r.close()")
    coupler.hear()
    living = [second] if how == "its leader is killed" else [first, second]
    requester.leave(coupler, *living)


@pytest.mark.parametrize("computes", [False, True])
def test_a_request_does_not_wait_for_ranks_that_have_closed(make_world: MakeWorld, computes: bool) -> None:
    """Fault: it did, if the coupler heard of the goodbye of a rank's next life before it knew that life."""
    world = make_world("coupler:1,requester:1,worker:2")
    coupler, requester = Guest(world, "coupler", 0, 1), Guest(world, "requester", 0, 1)
    group = [Guest(world, "worker", rank, 2) for rank in range(2)]
    for each in (coupler, requester, *group):
        each.ready()
    coupler.get("c = universe.coupler('t', workers='worker', requesters='requester')")
    requester.get("r = universe.requester('t')")
    for line in ("w = universe.worker('t')", "w.close()"):
        for each in group:
            each.get(line)
        coupler.get("c.run(0.3)")
    group[1].process.kill()
    group[1].process.wait()
    group[1] = Guest(world, "worker", 1, 2).ready()
    group[0].get("[universe.progress() or time.sleep(0.01) for _ in range(50)] and 0")
    if not computes:
        coupler.get("c.run(0.3)")
    for line in ("w = universe.worker('t')", "outcome(lambda: w.next(timeout=0.2))", "w.close()"):
        for each in group:
            each.say(line)
        for each in group:
            each.hear()
    coupler.say("c.run(50)")
    requester.refused("r.submit(couplet.ANY_WORKER, [1], timeout=50).wait(50)", "PEER_LOST", "no group of workers")
    requester.get("r.close()")
    coupler.hear()
    requester.leave(coupler, *group)
