"""The checker of chaos runs judges tasks: a good run has no finding, and each rule has runs that break it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from histories_of_chaos import MS, call, kinds

from chaos.check import check
from chaos.histories import Call, Harm, Life, Run
from chaos.plan import Plan, Program

ROLES = ("requester", "coupler", "worker")


def opened(role: str) -> Call:
    return call("open_tasks", 20, 21, k="jobs", role=role)


def given(begin_ms: int, number: int, sender: int = 0, life: int = 0, status: str = "OK") -> list[Call]:
    """A worker gets a task of the requester, and completes it."""
    facts = {"wrong": 0, "id": number, "sender": sender, "life": life, "seq": number}
    next_ = call("task_next", begin_ms, begin_ms + 5, timeout=1.0, **facts)
    return [next_, call("task_complete", begin_ms + 6, begin_ms + 7, status, id=number)]


def asked(begin_ms: int, number: int, status: str = "OK", end_ms: int | None = None) -> Call:
    return call("submit", begin_ms, end_ms or begin_ms + 1, status, timeout=5.0, seq=number)


def waited(begin_ms: int, number: int, status: str = "OK", end_ms: int | None = None) -> Call:
    return call("task_wait", begin_ms, end_ms or begin_ms + 20, status, timeout=2.0, seq=number)


def ran(begin_ms: int, end_ms: int) -> Call:
    return call("task_run", begin_ms, end_ms, "NOT_YET", timeout=(end_ms - begin_ms) / 1000)


def task_run() -> Run:
    """Two tasks are submitted and done by a group of two ranks."""
    programs = [Program(name, 1, "a", ("join", f"open_tasks role={name}", "leave")) for name in ROLES]
    programs[2] = Program("worker", 2, "b", ("join", "open_tasks role=worker group=2", "leave"))
    lives = [Life(name, 0, number, 0, "a", 1 * MS, 9000 * MS, 0) for number, name in enumerate(ROLES)]
    lives.append(Life("worker", 1, 3, 0, "a", 1 * MS, 9000 * MS, 0))
    work: dict[str, list[Call]] = {
        "requester": [asked(100, 0), waited(101, 0), asked(200, 1), waited(201, 1)],
        "coupler": [ran(50, 1050)],
        "worker": [*given(105, 0), *given(205, 1)],
    }
    for life in lives:
        calls = [call("join", 2, 10, timeout=20.0), opened(life.program), *work[life.program]]
        life.calls = [*calls, call("close_tasks", 8000, 8001), call("leave", 8002, 8003)]
    run = Run(Plan(1, tuple(programs), ()), lives, [])
    run.actors_ended_ns = 9100 * MS
    return run


def life_of(run: Run, name: str) -> Life:
    return next(life for life in run.lives if life.name == name)


def insert(run: Run, name: str, *calls: Call) -> None:
    """Adds calls before the last two of the first life."""
    life = life_of(run, name)
    life.calls[-2:-2] = calls


def remove(run: Run, name: str, number: int) -> None:
    """The worker never gets this task."""
    life = life_of(run, name)
    at = next(
        index for index, each in enumerate(life.calls) if each.name == "task_next" and each.facts["seq"] == number
    )
    del life.calls[at : at + 2]


def invent(run: Run) -> None:
    for rank in ("worker/0", "worker/1"):
        insert(run, rank, *given(300, 7))


def take_one_of_an_earlier_life(run: Run) -> None:
    for rank in ("worker/0", "worker/1"):
        insert(run, rank, *given(300, 1, life=1))


def do_twice(run: Run) -> None:
    for rank in ("worker/0", "worker/1"):
        insert(run, rank, *given(300, 1))


def do_in_two_groups(run: Run) -> None:
    other = Life("helper", 0, 4, 0, "a", 1 * MS, 9000 * MS, 0)
    other.calls = [call("join", 2, 10, timeout=20.0), opened("worker"), *given(220, 1), call("leave", 8002, 8003)]
    run.lives.append(other)
    helper = Program("helper", 1, "a", ("join", "open_tasks role=worker group=0", "leave"))
    run.plan = Plan(1, (*run.plan.programs, helper), ())


def do_what_was_given_up(run: Run) -> None:
    """The coupler makes no call from 1.05 s on until the request was given up."""
    insert(run, "requester/0", asked(2000, 2, "ERROR_TIMEOUT", 7000))
    insert(run, "coupler/0", ran(7600, 7900))
    for rank in ("worker/0", "worker/1"):
        insert(run, rank, *given(7700, 2))


def end_without_work(run: Run) -> None:
    for rank in ("worker/0", "worker/1"):
        remove(run, rank, 1)


def end_before_the_work(run: Run) -> None:
    for rank in ("worker/0", "worker/1"):
        remove(run, rank, 1)
        insert(run, rank, *given(300, 1))


def wait_for_ever(run: Run) -> None:
    for life in run.lives:
        life.calls = life.calls[:-2]
        life.ended_ns = 30_000 * MS
    run.actors_ended_ns = 31_000 * MS
    requester = life_of(run, "requester/0")
    requester.calls += [
        asked(1100, 2),
        *(waited(begin, 2, "ERROR_TIMEOUT", begin + 2000) for begin in range(2000, 14000, 2000)),
    ]
    life_of(run, "coupler/0").calls += [ran(begin, begin + 1000) for begin in range(2000, 14000, 1000)]
    for rank in ("worker/0", "worker/1"):
        waits = [call("task_next", begin, begin + 1000, "NOT_YET", timeout=1.0) for begin in range(2000, 14000, 1000)]
        life_of(run, rank).calls += waits


def differ(run: Run) -> None:
    remove(run, "worker/1", 0)


BREAKS: dict[str, list[Callable[[Run], None]]] = {
    "task-invented": [invent, take_one_of_an_earlier_life],
    "task-twice": [do_twice, do_in_two_groups],
    "task-given-up": [do_what_was_given_up],
    "task-not-done": [end_without_work, end_before_the_work],
    "task-stuck": [wait_for_ever],
    "task-ranks-differ": [differ],
}


def test_a_good_run_has_no_finding() -> None:
    assert not check(task_run())


@pytest.mark.parametrize(("kind", "spoil"), [(kind, each) for kind, all_ in BREAKS.items() for each in all_])
def test_what_must_not_happen_is_found(kind: str, spoil: Callable[[Run], None]) -> None:
    run = task_run()
    spoil(run)
    assert kinds(check(run)) == {kind}


def test_a_request_may_be_done_twice_if_its_coupler_died_before_it_had_answered() -> None:
    run = task_run()
    do_in_two_groups(run)
    coupler = life_of(run, "coupler/0")
    coupler.calls, coupler.killed_ns, coupler.ended_ns = coupler.calls[:-2], 205 * MS, 205 * MS
    run.harms.append(Harm("kill", "coupler/0", 205 * MS, 205 * MS))
    assert not check(run)


def test_a_task_may_be_given_to_another_group_if_the_first_one_has_not_completed_it() -> None:
    run = task_run()
    do_in_two_groups(run)
    for rank in ("worker/0", "worker/1"):
        remove(run, rank, 1)
        insert(run, rank, *given(205, 1, status="ERROR_STATE"))
    assert not check(run)


@pytest.mark.parametrize(("killed_ms", "accused"), [(300, False), (3000, True)])
def test_what_a_worker_says_just_before_it_is_killed_may_not_arrive(killed_ms: int, accused: bool) -> None:
    run = task_run()
    do_in_two_groups(run)
    for rank in ("worker/0", "worker/1"):
        life = life_of(run, rank)
        life.calls, life.killed_ns, life.ended_ns = life.calls[:-2], killed_ms * MS, killed_ms * MS
        run.harms.append(Harm("kill", rank, killed_ms * MS, killed_ms * MS))
    assert ("task-twice" in kinds(check(run))) == accused


@pytest.mark.parametrize(
    ("begin_ms", "accused"), [(6900, False), (7400, False), (7600, True)], ids=["meanwhile", "at once", "later"]
)
def test_a_coupler_may_take_a_request_at_the_moment_at_which_it_is_given_up(begin_ms: int, accused: bool) -> None:
    run = task_run()
    do_what_was_given_up(run)
    coupler = life_of(run, "coupler/0")
    coupler.calls[-3] = ran(begin_ms, 7900)
    assert ("task-given-up" in kinds(check(run))) == accused


def test_a_withdrawal_may_come_late_over_a_cable_that_was_cut() -> None:
    run = task_run()
    do_what_was_given_up(run)
    run.harms.append(Harm("cut", "a-b", 6500 * MS, 7500 * MS))
    assert not check(run)


@pytest.mark.parametrize("name", ["requester/0", "coupler/0", "worker/1"])
def test_a_task_is_not_stuck_while_one_of_its_processes_makes_no_call(name: str) -> None:
    run = task_run()
    wait_for_ever(run)
    life = life_of(run, name)
    life.calls = [each for each in life.calls if not 4000 * MS <= each.begin_ns < 8000 * MS]
    assert not check(run)


@pytest.mark.parametrize(("other_s", "accused"), [(3.0, True), (15.0, False)])
def test_the_ranks_of_a_group_wait_for_each_other(other_s: float, accused: bool) -> None:
    run = task_run()
    insert(run, "worker/0", call("task_next", 1000, 16_000, "NOT_YET", timeout=1.0))
    insert(run, "worker/1", call("task_next", round(other_s * 1000), 16_100, "NOT_YET", timeout=1.0))
    for life in run.lives:
        life.calls, life.ended_ns = life.calls[:-2], 20_000 * MS
    assert ("hang" in {each.kind for each in check(run) if each.where.startswith("worker/0")}) == accused
