"""What a coupler knows of a group of workers whose ranks leave, die, close, or are cut off from it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from launching import World
from quartet import Guest, start_guests

MakeWorld = Callable[..., World]
LOOK = "[universe.progress() or time.sleep(0.01) for _ in range(40)] and 0"
NEXT = "outcome(lambda: w.next(timeout=0.5))"


def start_group(make_world: MakeWorld, others: str = "") -> tuple[World, Guest, Guest, list[Guest]]:
    """A coupler, a requester, and the two ranks of a program of workers. All have joined, and have opened nothing."""
    world = make_world("coupler:1,requester:1,worker:2" + others)
    group = [Guest(world, "worker", rank, 2) for rank in range(2)]
    coupler, requester = start_guests(world, "coupler", "requester")
    for each in group:
        each.ready()
    return world, coupler, requester, group


def open_both(coupler: Guest, requester: Guest, options: str = "") -> None:
    coupler.get(f"c = universe.coupler('t', requesters='requester'{options})")
    requester.get("r = universe.requester('t')")


def do_task(requester: Guest, group: list[Guest]) -> None:
    """The group does a task that the requester submits now."""
    for each in group:
        each.say("w.next(timeout=50).complete()")
    requester.get("r.submit(couplet.ANY_WORKER, [1], timeout=20).wait(20)")
    for each in group:
        assert each.hear() == "is None"


def take(group: list[Guest]) -> None:
    """Both ranks take the next task `x`."""
    for each in group:
        each.say("x = w.next(timeout=20)")
    for each in group:
        assert each.hear().startswith("is "), each


def end(coupler: Guest, requester: Guest, *others: Guest) -> None:
    requester.get("r.close()")
    coupler.hear()
    requester.leave(coupler, *others)


def test_a_group_whose_missing_rank_had_left_does_tasks_when_it_is_back(make_world: MakeWorld) -> None:
    """Fault: the group had reported that it could not do a task, and the coupler gave it none for ever."""
    world, coupler, requester, group = start_group(make_world)
    open_both(coupler, requester, ", workers='worker'")
    group[0].get("w = universe.worker('t')")
    coupler.get("c.run(0.2)")
    group[1].leave()
    coupler.say("c.run(100)")
    requester.get("first = r.submit(couplet.ANY_WORKER, [1], timeout=10)")
    for _ in range(3):
        assert "PEER_LOST" in group[0].get(NEXT) or "TIMEOUT" in group[0].get(NEXT)
    group[1] = Guest(world, "worker", 1, 2).ready()
    group[1].get("w = universe.worker('t')")
    group[0].get(LOOK)
    for each in group:
        each.say("[w.next(timeout=50).complete() for _ in range(2)]")
    requester.get("first.wait(20)")
    requester.get("r.submit(couplet.ANY_WORKER, [2], timeout=20).wait(20)")
    for each in group:
        assert each.hear() == "is [None, None]"
    end(coupler, requester, *group)


@pytest.mark.parametrize("on_lost", ["fail", "retry"])
def test_a_group_keeps_its_task_when_its_second_rank_is_cut_off_from_the_coupler(
    make_world: MakeWorld, on_lost: str
) -> None:
    """Fault: the task failed, or was done twice, though only the first rank speaks with the coupler."""
    _, coupler, requester, group = start_group(make_world)
    open_both(coupler, requester, f", on_lost='{on_lost}'")
    coupler.get("c2 = universe.coupler('t2', requesters='worker')")
    for each in group:
        each.get("w = universe.worker('t')")
    group[1].get("q = universe.requester('t2')")
    coupler.say("c.run(1)")
    requester.get("task = r.submit(couplet.ANY_WORKER, [1], timeout=10)")
    take(group)
    coupler.hear()
    coupler.get("allow_more_memory(100_000_000)")
    coupler.say("c.run(100)")
    group[1].refused("q.submit(-1, [], np.zeros(400_000_000, np.uint8), timeout=20)", "PEER_LOST", "no memory")
    for each in group:
        each.say("x.complete()")
    for each in group:
        assert each.hear() == "is None"
    requester.get("task.wait(20)")
    requester.get("other = r.submit(couplet.ANY_WORKER, [2], timeout=10)")
    take(group)
    assert [each.get("x.parameters") for each in group] == ["(2,)", "(2,)"]
    for each in group:
        each.say("x.complete()")
    for each in group:
        each.hear()
    requester.get("other.wait(20)")
    group[1].begin_to_leave()  # it may say that it could not close the tasks 't2'
    end(coupler, requester, group[0])
    group[1].process.communicate(timeout=60)


@pytest.mark.parametrize("leader", ["leaves", "dies"])
def test_requests_do_not_wait_for_a_rank_that_has_closed_and_whose_leader_is_gone(
    make_world: MakeWorld, leader: str
) -> None:
    """Fault: nobody told the coupler that the rank had opened the tasks, so that they waited for it for ever."""
    _, coupler, requester, group = start_group(make_world)
    open_both(coupler, requester, ", workers='worker'")
    if leader == "leaves":
        group[0].leave()
    else:
        group[0].process.kill()
        group[0].process.wait()
    group[1].get("w = universe.worker('t')")
    assert "PEER_LOST" in group[1].get("outcome(lambda: w.next(timeout=20))")
    group[1].get("w.close()")
    coupler.say("c.run(100)")
    answer = requester.get("outcome(lambda: r.submit(couplet.ANY_WORKER, [1], timeout=20).wait(20))")
    assert ("NOT_FOUND" if leader == "leaves" else "PEER_LOST") in answer
    end(coupler, requester, group[1])


def test_a_coupler_that_opens_again_gives_no_task_to_a_group_that_has_lost_a_rank(make_world: MakeWorld) -> None:
    """Fault: the hello named the next process of the lost rank, which was not in the group."""
    world, coupler, requester, group = start_group(make_world)
    open_both(coupler, requester, ", workers='worker'")
    for each in group:
        each.get("w = universe.worker('t')")
    coupler.say("c.run(3)")
    do_task(requester, group)
    coupler.hear()
    group[1].process.kill()
    group[1].process.wait()
    time.sleep(0.3)
    assert "PEER_LOST" in group[0].get(NEXT)
    coupler.get("c.close()")
    coupler.get("c = universe.coupler('t', requesters='requester', workers='worker')")
    group[0].get(LOOK)
    group[1] = Guest(world, "worker", 1, 2).ready()
    group[0].get(LOOK)
    coupler.say("c.run(100)")
    requester.get("task = r.submit(couplet.ANY_WORKER, [2], timeout=20)")
    assert "PEER_LOST" in group[0].get(NEXT)
    group[1].get("w = universe.worker('t')")
    group[0].get("w.close()")
    group[0].get("w = universe.worker('t')")
    for each in group:
        each.say("w.next(timeout=50).complete()")
    requester.get("task.wait(20)")
    for each in group:
        assert each.hear() == "is None"
    end(coupler, requester, *group)


def test_another_group_does_what_one_with_a_rank_that_has_left_cannot(make_world: MakeWorld) -> None:
    """Fault: the coupler gave tasks to the group of which a rank had left, and they failed or waited there."""
    world, coupler, requester, group = start_group(make_world, ",other:1?")
    (other,) = start_guests(world, "other")
    open_both(coupler, requester)
    for each in group:
        each.get("w = universe.worker('t')")
    coupler.get("c.run(0.2)")
    other.get("w = universe.worker('t')")
    group[1].leave()
    for each in (coupler, group[0]):
        each.get(LOOK)
    coupler.say("c.run(100)")
    other.say("[w.next(timeout=50).complete() for _ in range(3)]")
    requester.get("[r.submit(couplet.ANY_WORKER, [k], timeout=20).wait(20) for k in range(3)]")
    assert other.hear() == "is [None, None, None]"
    end(coupler, requester, other, group[0])


def test_a_group_that_was_told_the_end_gets_tasks_after_a_rank_of_it_was_started_again(make_world: MakeWorld) -> None:
    """Fault: the coupler that had told the end got no second hello, so that it took the group for broken."""
    world, coupler, requester, group = start_group(make_world)
    coupler.get("c = universe.coupler('t', workers='worker', requesters='requester')")
    for each in group:
        each.get("w = universe.worker('t')")
    requester.get("universe.requester('t').close()")
    coupler.get("c.run(50)")
    group[1].process.kill()
    group[1].process.wait()
    group[1] = Guest(world, "worker", 1, 2).ready()
    group[1].get("w = universe.worker('t')")
    requester.get("r = universe.requester('t')")
    coupler.say("[(c.run(0.1), time.sleep(0.1)) for _ in range(80)] and 0")
    for each in group:
        each.say("next(work for _ in iter(int, 1) if (work := w.next(timeout=50))).complete()")
    requester.get("r.submit(couplet.ANY_WORKER, [1], timeout=20).wait(20)")
    requester.get("r.close()")
    for each in (coupler, *group):
        assert each.hear().startswith("is"), each
    requester.leave(coupler, *group)
