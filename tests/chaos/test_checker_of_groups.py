"""The checker of chaos runs judges groups: a good run has no finding, and each rule has runs that break it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from histories_of_chaos import MS, call, kinds

from chaos.check import check
from chaos.histories import Call, Harm, Life, Run
from chaos.plan import Plan, Program

NAMES = ("ring0", "ring1", "ring2")
MEMBERS = [f"{name}/0" for name in NAMES]
LOST = "rank 1 is lost: program 'ring1' rank 0 (universe rank 1) has left the universe"


def group_call(
    begin_ms: int, kind: str, number: int, status: str = "OK", text: str = "", end_ms: int = 0, **facts: object
) -> Call:
    all_facts: dict[str, object] = {"k": "all", "kind": kind, "round": number, "root": number % 3, "timeout": 5.0}
    if status == "OK" and kind != "barrier":
        sources = [number % 3] if kind == "broadcast" else range(3)
        all_facts |= {"seen": [[source, 0, number] for source in sources], "wrong": 0}
    return call("group_call", begin_ms, end_ms or begin_ms + 5, status, text, **(all_facts | facts))


def calls_of_a_member() -> list[Call]:
    kinds_of_rounds = ("agree", "barrier", "broadcast", "gather", "reduce")
    return [group_call(100 + 10 * index, kind, index) for index, kind in enumerate(kinds_of_rounds)]


def member(name: str, number: int) -> Life:
    life = Life(name, 0, number, 0, "a", 1 * MS, 9000 * MS, 0)
    made = call("make_group", 20, 21, k="all")
    life.calls = [call("join", 2, 10, timeout=20.0), made, *calls_of_a_member(), call("leave", 8000, 8001)]
    return life


def group_run() -> Run:
    script = ("join", f"meet groups=all:{','.join(MEMBERS)}", "leave")
    programs = tuple(Program(name, 1, "a", script) for name in NAMES)
    run = Run(Plan(1, programs, ()), [member(name, number) for number, name in enumerate(NAMES)], [])
    run.actors_ended_ns = 9100 * MS
    return run


def call_of(run: Run, index: int, kind: str) -> Call:
    return next(each for each in run.lives[index].calls if each.facts.get("kind") == kind)


def add(run: Run, index: int, *calls: Call) -> None:
    run.lives[index].calls[-1:-1] = calls


def give_what_another_has_given(run: Run) -> None:
    call_of(run, 1, "gather").facts["seen"][2] = [0, 0, 3]


def give_an_earlier_round(run: Run) -> None:
    call_of(run, 1, "broadcast").facts["seen"] = [[2, 0, 0]]


def give_a_life_that_never_was(run: Run) -> None:
    call_of(run, 1, "reduce").facts["seen"][0] = [0, 1, 4]


def succeed_alone(run: Run) -> None:
    add(run, 0, group_call(200, "barrier", 5))


def end_before_all_have_begun(run: Run) -> None:
    late = call_of(run, 2, "barrier")
    late.begin_ns += 100 * MS
    late.end_ns = late.begin_ns + MS


def get_what_the_root_has_not_sent(run: Run) -> None:
    for index in (0, 1):
        add(run, index, group_call(200, "broadcast", 5))


def fail_without_reason(run: Run) -> None:
    for index in range(3):
        add(run, index, group_call(1000, "barrier", 5, "ERROR_MISMATCH", "the members disagree"))


def give_up_though_all_are_there(run: Run) -> None:
    for index in range(3):
        add(run, index, group_call(1000, "barrier", 5, "ERROR_TIMEOUT", end_ms=6000))
        run.lives[index].calls[-2].begin_ns += index * MS


def fail_for_an_old_loss(run: Run) -> None:
    """ring1 has left and come back. Long after that the group is created, and fails for this loss."""
    back = run.lives[1]
    back.calls = [*back.calls[:-1], call("leave", 200, 201), call("join", 300, 310, timeout=20.0)]
    back.calls += [call("make_group", 12_000, 12_001, k="all"), call("leave", 15_000, 15_001)]
    for index in (0, 2):
        run.lives[index].calls[-1].begin_ns = 15_000 * MS
        run.lives[index].calls[-1].end_ns = 15_001 * MS
        add(run, index, call("make_group", 12_000, 12_001, k="all"))
        add(run, index, group_call(12_002, "agree", 5, "ERROR_PEER_LOST", LOST))
    end_at(run, 16_000)


def end_at(run: Run, ms: int) -> None:
    for life in run.lives:
        if life.killed_ns is not None:
            continue
        life.ended_ns = ms * MS
        life.calls[-1].begin_ns = life.calls[-1].end_ns = (ms - 100) * MS
    run.actors_ended_ns = ms * MS


def wait_for_one_that_has_left(run: Run) -> None:
    run.lives[1].ended_ns = 1000 * MS
    run.lives[1].calls[-1].begin_ns, run.lives[1].calls[-1].end_ns = 900 * MS, 901 * MS
    for index in (0, 2):
        add(run, index, group_call(1000, "barrier", 5, "ERROR_PEER_LOST", LOST, 19_000, timeout=30.0))
        run.lives[index].calls[-1].begin_ns = run.lives[index].calls[-1].end_ns = 19_100 * MS
        run.lives[index].ended_ns = 19_200 * MS
    run.actors_ended_ns = 20_000 * MS


def find_no_way_back(run: Run) -> None:
    """After the loss of ring1, which comes back at once, no call succeeds any more."""
    first, again = run.lives[1], member("ring1", 1)
    first.killed_ns = first.ended_ns = 500 * MS
    first.calls = first.calls[:-1]
    again.life, again.started_ns = 1, 600 * MS
    again.calls = [call("join", 700, 800, timeout=20.0), call("leave", 39_000, 39_001)]
    run.lives.append(again)
    run.harms.append(Harm("kill", "ring1/0", 500 * MS, 600 * MS))
    for index in (0, 2, 3):
        add(run, index, call("make_group", 850, 851, k="all"))
        for begin in range(900, 36_900, 2000):
            failed = group_call(begin, "agree", 5, "ERROR_TIMEOUT", end_ms=begin + 1990, timeout=2.0)
            add(run, index, failed)
    end_at(run, 40_000)


BREAKS: dict[str, list[Callable[[Run], None]]] = {
    "group-mixed": [give_what_another_has_given, give_an_earlier_round, give_a_life_that_never_was],
    "group-alone": [succeed_alone, end_before_all_have_begun, get_what_the_root_has_not_sent],
    "group-failed": [fail_without_reason, give_up_though_all_are_there, fail_for_an_old_loss],
    "group-stuck": [find_no_way_back],
    "death-unnoticed": [wait_for_one_that_has_left],
}


def test_a_good_run_has_no_finding() -> None:
    assert not check(group_run())


@pytest.mark.parametrize(("kind", "spoil"), [(kind, each) for kind, all_ in BREAKS.items() for each in all_])
def test_what_must_not_happen_is_found(kind: str, spoil: Callable[[Run], None]) -> None:
    run = group_run()
    spoil(run)
    assert kinds(check(run)) == {kind}


def test_damaged_contents_are_found() -> None:
    run = group_run()
    call_of(run, 1, "gather").facts["wrong"] = 2
    assert kinds(check(run)) == {"wrong-contents"}


def test_a_broadcast_may_end_at_its_root_before_others_have_begun() -> None:
    run = group_run()
    late = call_of(run, 0, "broadcast")
    late.begin_ns, late.end_ns = 126 * MS, 127 * MS
    assert not check(run)


@pytest.mark.parametrize(("harm", "accused"), [("reset", False), ("kill", True)])
def test_one_that_has_given_up_has_given_its_part_before(harm: str, accused: bool) -> None:
    """Chaos seed 40040019: a late member got the part over the connection that was made again, and what failed after
    it.
    """
    run = group_run()
    for index in (0, 1):
        add(run, index, group_call(1000, "gather", 5, "ERROR_TIMEOUT", end_ms=3000))
    add(run, 2, group_call(4000, "gather", 5))
    run.harms.append(Harm(harm, "a" if harm == "reset" else "hub", 1500 * MS, 1500 * MS))
    assert ("group-alone" in kinds(check(run))) == accused


@pytest.mark.parametrize(("ended", "accused"), [(False, False), (True, True)])
def test_one_that_was_killed_in_a_call_has_given_its_part_before(ended: bool, accused: bool) -> None:
    """Chaos seed 40310081: the others began the call 0.1 s after one had been killed in it."""
    run = group_run()
    for index in (0, 2):
        add(run, index, group_call(1000, "gather", 5))
    victim = run.lives[1]
    last = group_call(800, "gather", 5)
    if not ended:
        last.status, last.end_ns = "", None
    victim.calls[-1:] = [last]
    victim.killed_ns = victim.ended_ns = 900 * MS
    victim.exit_code = -9
    run.harms.append(Harm("kill", "ring1/0", 900 * MS, 900 * MS))
    assert ("group-alone" in kinds(check(run))) == accused


@pytest.mark.parametrize("kind", ["stop", "cut", "reset"])
def test_a_fault_is_a_reason(kind: str) -> None:
    run = group_run()
    fail_without_reason(run)
    target = {"stop": "ring2/0", "cut": "hub-a", "reset": "a"}[kind]
    run.harms.append(Harm(kind, target, 900 * MS, 950 * MS))
    assert not check(run)


def test_a_member_that_is_late_is_a_reason_for_a_timeout() -> None:
    run = group_run()
    for index in (0, 1):
        add(run, index, group_call(1000, "barrier", 5, "ERROR_TIMEOUT", end_ms=6000))
    add(run, 2, group_call(5000, "barrier", 5, "ERROR_TIMEOUT", end_ms=6001))
    assert not check(run)


def test_a_member_that_leaves_is_a_reason() -> None:
    run = group_run()
    for index in (0, 2):
        add(run, index, group_call(1000, "barrier", 5, "ERROR_PEER_LOST", LOST))
    leave = run.lives[1].calls[-1]
    leave.begin_ns, leave.end_ns = 990 * MS, 995 * MS
    assert not check(run)


def test_the_member_that_tells_of_a_failure_is_not_its_reason() -> None:
    """Chaos seed 40100012: a member that was back long before told the others of one that had left for good."""
    run = group_run()
    fail_for_an_old_loss(run)
    gone = run.lives[2]
    gone.calls = [*gone.calls[:-3], call("leave", 11_000, 11_001)]
    gone.ended_ns = 11_002 * MS
    failed = run.lives[0].calls[-2]
    failed.text = (
        "revoked by rank 1 (program 'ring1' rank 0 (universe rank 1) on host a): call 0 of group 'all' (allreduce): "
        "rank 2 (program 'ring2' rank 0 (universe rank 2) on host a) has left, and has not made this call"
    )
    assert not check(run)
    failed.text = failed.text.replace("ring2", "ring1")
    assert kinds(check(run)) == {"group-failed"}
