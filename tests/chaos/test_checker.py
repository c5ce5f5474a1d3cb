"""The checker of chaos runs finds nothing in handmade histories of a good run, and each thing that is made wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from histories_of_chaos import (
    MS,
    STEPS,
    call,
    calls_of,
    count,
    end_unevenly,
    follow_in_vain,
    good_run,
    invent_an_uneven_end,
    kinds,
    life_of,
    make_different_calls,
    message_stuck,
    put,
    read,
    reading,
    replace_reads,
    restart_unnoticed,
    step,
    writing,
)

from chaos.check import check
from chaos.histories import Harm, Run, parse_history
from chaos.plan import Fault, Plan

Mutation = Callable[[Run], None]


def make_a_job(run: Run, *names: str, direct: int) -> None:
    settings = {"COUPLET_MPI_WINDOW_DIRECT": str(direct)}
    programs = [replace(p, mpi="mpich", environment=settings) if p.name in names else p for p in run.plan.programs]
    run.plan = replace(run.plan, programs=tuple(programs))
    calls_of(run, "ocean", "create")[0].facts["window"] = 1
    calls_of(run, "reader", "open")[0].facts["route"] = "window"


def fetch_while_the_writer_computes(run: Run, direct: int) -> None:
    make_a_job(run, "ocean", "reader", direct=direct)
    for each in [*calls_of(run, "ocean", "close"), *calls_of(run, "ocean", "leave")]:
        each.begin_ns, each.end_ns = each.begin_ns + 20_000 * MS, (each.end_ns or 0) + 20_000 * MS
    reads = [read(50 + 100 * index, 110 + 100 * index, step(10 * index, index)) for index in range(STEPS)]
    replace_reads(run, *reads, read(700, 20_800, status="NOT_YET"))
    life_of(run, "ocean").ended_ns = 25_000 * MS


def leave_with_the_job(run: Run) -> None:
    """Its ranks leave together: one waits for 60 s until the other one leaves."""
    make_a_job(run, "ocean", "reader", direct=1)
    for each in [*calls_of(run, "ocean", "leave")]:
        each.begin_ns, each.end_ns = 61_000 * MS, 61_001 * MS
    calls_of(run, "reader", "leave")[0].end_ns = 61_001 * MS
    life_of(run, "ocean").ended_ns = life_of(run, "reader").ended_ns = 61_100 * MS


def die_with_the_job(run: Run) -> None:
    """MPI fails in a rank of which another one was killed."""
    make_a_job(run, "ocean", "reader", direct=0)
    replace_reads(run, read(50, 110, step(0, 0)), read(150, 160, status="ERROR_MPI", text="MPI_Win_flush"))
    life_of(run, "ocean").calls = life_of(run, "ocean").calls[:-2]
    for name in ("ocean", "reader"):
        life = life_of(run, name)
        life.killed_ns = life.ended_ns = 1000 * MS
        run.harms.append(Harm("kill", f"{name}/0", 140 * MS, 1000 * MS))


JOBS: list[Mutation] = [
    lambda run: make_a_job(run, "ocean", "reader", direct=1),
    lambda run: fetch_while_the_writer_computes(run, direct=0),
    leave_with_the_job,
    die_with_the_job,
]


@pytest.mark.parametrize("change", JOBS)
def test_what_a_job_must_do_is_no_finding(change: Mutation) -> None:
    run = good_run()
    change(run)
    assert check(run) == []


def test_a_leave_that_no_rank_of_the_job_holds_up_is_too_long() -> None:
    run = good_run()
    leave_with_the_job(run)
    for each in calls_of(run, "ocean", "leave"):
        each.begin_ns = 4014 * MS
    assert kinds(check(run)) == {"hang"}


def crash(run: Run) -> None:
    life_of(run, "reader").exit_code = -11


def hang(run: Run) -> None:
    calls_of(run, "reader", "read")[2].end_ns = 300_000 * MS


def hang_to_the_end(run: Run) -> None:
    life = life_of(run, "pong")
    life.calls[-1].end_ns, life.calls[-1].status = None, ""
    life.ended_at_deadline, life.ended_ns = True, 75_000 * MS


def compute_in_read(run: Run) -> None:
    calls_of(run, "reader", "read")[2].cpu_us = 4_000_000


def give_up_early(run: Run) -> None:
    replace_reads(run, read(50, 60, status="NOT_YET"))


def strange(run: Run) -> None:
    replace_reads(run, read(50, 60, status="ERROR_INTERNAL", text="impossible"))


def accuse_the_living(run: Run) -> None:
    text = "series 'eta': program 'ocean' rank 0 (universe rank 0) on host a is lost"
    replace_reads(run, read(50, 60, status="ERROR_PEER_LOST", text=text))


def accuse_the_relay(run: Run) -> None:
    replace_reads(run, read(50, 60, status="ERROR_PEER_LOST", text="the relay of node a over tcp: receiving failed"))


def lose_the_hub(run: Run) -> None:
    calls_of(run, "reader", "open")[0].status = "ERROR_HUB_LOST"


def join_slowly(run: Run) -> None:
    join = calls_of(run, "reader", "join")[0]
    join.end_ns = 12_000 * MS


def join_never(run: Run) -> None:
    join = calls_of(run, "reader", "join")[0]
    join.status = "ERROR_TIMEOUT"
    join.end_ns = 20_010 * MS


def wrong_contents(run: Run) -> None:
    bad = {"step": 20, "place": 5, "value": "00ff", "life": 0, "of_step": 60}
    calls_of(run, "reader", "read")[2].facts["steps"][0]["bad"] = bad


def invent(run: Run) -> None:
    replace_reads(run, read(50, 110, step(0, 0)), read(150, 210, step(70, 1)))


def invent_before_put(run: Run) -> None:
    replace_reads(run, read(50, 60, step(0, 0)))


def other_order(run: Run) -> None:
    replace_reads(run, read(50, 310, step(10, 0)))


def twice(run: Run) -> None:
    replace_reads(run, read(50, 110, step(0, 0)), read(150, 210, step(0, 0)))


def gap(run: Run) -> None:
    replace_reads(run, read(50, 110, step(0, 0)), read(150, 410, step(30, 3)))


def holder_loses(run: Run) -> None:
    replace_reads(run, read(50, 110, step(0, 0)), read(150, 410, step(30, 3), lost=2))


def required_begins_late(run: Run) -> None:
    replace_reads(run, read(50, 410, step(30, 3)))


def wrong_sum(run: Run) -> None:
    calls_of(run, "reader", "count")[0].facts["pending"] = 1


def wrong_number_delivered(run: Run) -> None:
    calls_of(run, "reader", "count")[0].facts.update(delivered=5, lost=0, pending=1)


def end_early(run: Run) -> None:
    replace_reads(run, read(50, 110, step(0, 0)), read(900, 910, status="END"))
    life_of(run, "reader").calls.append(count(950, 1, published=1))


def empty(run: Run) -> None:
    replace_reads(run, read(50, 110))


def starve(run: Run) -> None:
    waits = [read(1000 + 1000 * index, 2000 + 1000 * index, status="NOT_YET") for index in range(30)]
    writer = life_of(run, "ocean")
    writer.calls, writer.ended_ns = writer.calls[:-2], 60_000 * MS
    replace_reads(run, read(50, 110, step(0, 0)), *waits)


def follow_in_vain_after_a_fast_part(run: Run) -> None:
    """Steps of the fast part are gone after 4 ms, those of the slow part stay for 80 ms."""
    follow_in_vain(run)
    calls_of(run, "ocean", "create")[0].facts["slots"] = 4
    writer = life_of(run, "ocean")
    fast = [put(index, 100 + index, 101 + index) for index in range(900)]
    slow = [put(900 + index, 1000 + 20 * index, 1001 + 20 * index) for index in range(150)]
    writer.calls[2:-2] = [*fast, *slow]
    waits = [read(100 + 1000 * index, 1100 + 1000 * index, status="NOT_YET") for index in range(4)]
    reader = life_of(run, "reader")
    reader.calls = [*reader.calls[:2], *waits, read(4200, 4300, step(1049, 1049), lost=1049)]


def writer_dies_unnoticed(run: Run) -> None:
    waits = [read(1000 + 1000 * index, 2000 + 1000 * index, status="NOT_YET") for index in range(30)]
    writer = life_of(run, "ocean")
    writer.calls, writer.ended_ns, writer.killed_ns = writer.calls[:-2], 900 * MS, 900 * MS
    run.harms.append(Harm("kill", "ocean/0", 900 * MS, 900 * MS))
    steps = [step(10 * index, index) for index in range(STEPS)]
    replace_reads(run, read(50, 700, *steps), *waits)


def evict_without_reason(run: Run) -> None:
    calls_of(run, "ocean", "create")[0].facts["evict"] = 1.0
    replace_reads(run, read(50, 110, step(0, 0)), read(3000, 3010, status="ERROR_EVICTED"))


def hold_up_for_nobody(run: Run) -> None:
    reader, writer = life_of(run, "reader"), life_of(run, "ocean")
    text = "program 'reader' rank 0 holds"
    writer.calls[-2:-2] = [put(60, 18_000 + at, 20_000 + at, "ERROR_TIMEOUT", text) for at in (0, 2000)]
    writer.ended_ns = reader.ended_ns = 30_000 * MS
    reader.calls = reader.calls[:-4]
    reader.calls += [read(20_000 - 500 + 1000 * i, 20_500 + 1000 * i, status="NOT_YET") for i in range(4)]
    run.actors_ended_ns = 30_000 * MS


def read_from_outside(run: Run) -> None:
    """The series is in the window of a job, and the reader is not of the job."""
    make_a_job(run, "ocean", direct=1)
    calls_of(run, "reader", "open")[0].facts["route"] = "window"


def read_beside_the_window(run: Run) -> None:
    make_a_job(run, "ocean", "reader", direct=1)
    calls_of(run, "reader", "open")[0].facts["route"] = "mapped"


def no_call_waits_so_long(run: Run) -> None:
    """The slots are mapped, so no read may wait until the writer has computed."""
    fetch_while_the_writer_computes(run, direct=1)


def ranks_differ(run: Run) -> None:
    other = reading(1)
    other.number = 9
    next(each for each in other.calls if each.name == "read").facts["steps"] = [step(10, 1)]
    run.lives.append(other)


def damage_message(run: Run) -> None:
    calls_of(run, "pong", "received")[1].facts["bad"] = "word 1"


def misroute_message(run: Run) -> None:
    calls_of(run, "pong", "received")[1].facts["sender"] = 1


def message_twice(run: Run) -> None:
    calls_of(run, "pong", "received")[1].facts["got"] = 0


def message_overtakes(run: Run) -> None:
    calls_of(run, "pong", "received")[1].facts["got"] = 2


def message_lost_after_leave(run: Run) -> None:
    last = calls_of(run, "pong", "received")[2]
    last.status, last.text = "ERROR_PEER_LOST", "program 'ping' rank 0 (universe rank 2) on host a has left"


def both_wait(run: Run) -> None:
    ping = life_of(run, "ping")
    message_stuck(run)
    ping.calls = ping.calls[:-2]
    for index in range(8):
        at = 1000 + 2000 * index
        ping.calls.append(call("sent", at, at + 2000, "ERROR_TIMEOUT", f=">pong/0/1", seq=2, timeout=2.0))
    ping.ended_ns = 20_000 * MS


def death_unnoticed(run: Run) -> None:
    ping = life_of(run, "ping")
    message_stuck(run)
    ping.calls, ping.killed_ns, ping.ended_ns, ping.exit_code = ping.calls[:3], 150 * MS, 150 * MS, -9
    run.harms.append(Harm("kill", "ping/0", 150 * MS, 150 * MS))


def area_torn(run: Run) -> None:
    life_of(run, "pong").calls.insert(1, call("read_area", 20, 21, k="board", timeout=2.0, wrong=3))


def leave_files(run: Run) -> None:
    run.left_files = ["a/run/x"]


def leave_a_process(run: Run) -> None:
    run.left_processes = ["couplet-relay"]


def hub_stays(run: Run) -> None:
    run.hub_ended = False


def remove_a_thesis(run: Run) -> None:
    run.removed_innocents = ["a/run/thesis"]


MUTANTS: dict[Mutation, str] = {
    **{crash: "crash", hang: "hang", hang_to_the_end: "hang", compute_in_read: "hang"},
    **{give_up_early: "gave-up-early", strange: "strange-error", lose_the_hub: "hub-not-found-again"},
    **{accuse_the_living: "living-declared-dead", accuse_the_relay: "living-declared-dead"},
    **{
        join_slowly: "join-slow",
        join_never: "join-failed",
        wrong_contents: "wrong-contents",
        area_torn: "wrong-contents",
    },
    **{
        invent: "invented-step",
        invent_before_put: "invented-step",
        other_order: "wrong-order",
        twice: "delivered-twice",
    },
    **{gap: "silent-gap", holder_loses: "holder-lost", required_begins_late: "holder-lost", wrong_sum: "accounting"},
    **{wrong_number_delivered: "accounting", end_early: "end-too-early", empty: "empty-ok", starve: "reader-starved"},
    **{follow_in_vain: "follower-starved", follow_in_vain_after_a_fast_part: "follower-starved"},
    **{restart_unnoticed: "restart-unnoticed"},
    **{end_unevenly: "uneven-end-untold", invent_an_uneven_end: "uneven-end-invented"},
    **{make_different_calls: "out-of-step"},
    **{writer_dies_unnoticed: "death-unnoticed", evict_without_reason: "evicted-wrongly"},
    **{hold_up_for_nobody: "held-for-nobody", ranks_differ: "ranks-differ", damage_message: "message-damaged"},
    **{misroute_message: "message-misrouted", message_twice: "message-twice", message_overtakes: "message-lost"},
    **{message_lost_after_leave: "message-lost", message_stuck: "message-stuck", both_wait: "message-stuck"},
    **{death_unnoticed: "death-unnoticed", leave_files: "left-behind", leave_a_process: "left-behind"},
    **{read_from_outside: "wrong-route", read_beside_the_window: "wrong-route", no_call_waits_so_long: "hang"},
    **{hub_stays: "left-behind", remove_a_thesis: "removed-of-others"},
}


def test_a_good_run_has_no_findings() -> None:
    assert check(good_run()) == []


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_each_thing_that_is_wrong_is_found(mutate: Mutation) -> None:
    run = good_run()
    mutate(run)
    findings = check(run)
    assert MUTANTS[mutate] in kinds(findings), findings


def test_what_a_fault_explains_is_no_finding() -> None:
    """The writer was killed: its readers may say so. A process that was stopped is late."""
    run = good_run()
    writer = life_of(run, "ocean")
    writer.calls, writer.killed_ns, writer.ended_ns, writer.exit_code = writer.calls[:-2], 900 * MS, 900 * MS, -9
    text = "series 'eta': program 'ocean' rank 0 (universe rank 0) on host a is lost"
    steps = [step(10 * index, index) for index in range(STEPS)]
    late = read(1000, 21_000, status="ERROR_PEER_LOST", text=text)
    replace_reads(run, read(50, 700, *steps), late, counted=STEPS)
    run.harms = [Harm("kill", "ocean/0", 900 * MS, 900 * MS), Harm("stop", "reader/0", 1000 * MS, 20_000 * MS)]
    assert check(run) == []


def test_an_uneven_end_that_is_told_of_is_no_finding() -> None:
    run = good_run()
    end_unevenly(run)
    reader = life_of(run, "reader")
    reader.calls.insert(-4, read(3900, 3901, status="ERROR_MISMATCH", text="they have ended it unevenly"))
    reader.calls[-3] = count(4011, STEPS, lost=1, published=STEPS + 1)
    assert check(run) == []


def test_what_a_rank_publishes_after_an_uneven_end_was_told_is_not_told_again() -> None:
    """Chaos seed 34000108: a rank waited for a slot that a holder released after it had been told of the uneven end."""
    run = good_run()
    end_unevenly(run)
    run.lives[-1].calls.insert(-2, put(10 * STEPS + 10, 3950, 3951))
    reader = life_of(run, "reader")
    reader.calls.insert(-4, read(3900, 3901, status="ERROR_MISMATCH", text="they have ended it unevenly"))
    reader.calls[-3] = count(4011, STEPS, lost=1, published=STEPS + 1)
    assert check(run) == []


def test_ranks_of_which_one_was_started_again_may_make_different_calls() -> None:
    run = good_run()
    make_different_calls(run)
    run.harms.append(Harm("kill", "reader/1", 3000 * MS, 3000 * MS))
    assert "out-of-step" not in {finding.kind for finding in check(run)}


@pytest.mark.parametrize(("again", "held_for_nobody"), [(True, False), (False, True)])
def test_a_writer_waits_for_a_required_reader_that_was_started_again(again: bool, held_for_nobody: bool) -> None:
    """Chaos seed 920084: the reader was killed before it had opened the series, and started again."""
    run = good_run()
    hold_up_for_nobody(run)
    reader = life_of(run, "reader")
    reader.calls, reader.killed_ns, reader.ended_ns = reader.calls[:1], 900 * MS, 900 * MS
    if again:
        reader = replace(reader, life=1, ended_ns=30_000 * MS, killed_ns=None)
        run.lives.append(replace(reader, started_ns=2000 * MS, calls=[call("join", 2010, 2020)]))
    assert ("held-for-nobody" in kinds(check(run))) == held_for_nobody


@pytest.mark.parametrize(("ended_ms", "left"), [(29_000, True), (2000, False)])
def test_a_hub_that_comes_back_may_wait_for_a_node_whose_members_left_meanwhile(ended_ms: int, left: bool) -> None:
    """Chaos seed 1100072: nobody can tell the hub that they have left, so that it waits for them."""
    run = good_run()
    hub_stays(run)
    run.harms = [Harm("kill", "hub", 1500 * MS, 2500 * MS, returns=True)]
    for life in run.lives:
        life.ended_ns = 30_000 * MS
    for life in run.lives_of("reader/0"):
        life.node, life.ended_ns = "b", ended_ms * MS
    assert ("left-behind" in kinds(check(run))) == left


@pytest.mark.parametrize(("ahead", "starved"), [(0, True), (8, False)])
def test_a_follower_starves_only_if_all_writer_ranks_have_the_same_steps(ahead: int, starved: bool) -> None:
    """Chaos seed 910062: the ranks stayed apart by as many steps as there are slots, while a holder waited for one."""
    run = good_run()
    starve(run)
    calls_of(run, "ocean", "create")[0].facts["required"] = ""
    calls_of(run, "reader", "open")[0].facts["mode"] = "follow"
    more = [put(10 * (STEPS + index), 900 + index, 901 + index) for index in range(ahead)]
    run.lives.append(replace(run.lives[0], rank=1, number=9, calls=[*run.lives[0].calls, *more]))
    assert ("reader-starved" in kinds(check(run))) == starved


def test_a_writer_rank_may_wait_for_a_reader_that_waits_for_another_rank() -> None:
    """Seed 100004: one of two ranks had put its last step, and the other one wanted to put more than the slots."""
    run = good_run()
    hold_up_for_nobody(run)
    slower = writing()
    slower.rank, slower.number = 1, 8
    slower.calls = [call for call in slower.calls if call.name != "put" or call.facts["step"] < 10 * (STEPS - 4)]
    run.lives.append(slower)
    assert "held-for-nobody" not in kinds(check(run))
    slower.calls.insert(-2, put(10 * (STEPS - 4), 15_000, 15_001))
    assert "held-for-nobody" in kinds(check(run))
    # Chaos seed 24200106: the reader asks for two steps at least, and has one.
    for each in calls_of(run, "reader", "read"):
        each.facts["at_least"] = 2
    assert "held-for-nobody" not in kinds(check(run))


@pytest.mark.parametrize(("mode", "kills", "excused"), [("follow", 1, True), ("follow", 0, False), ("hold", 1, False)])
def test_living_writer_ranks_may_overwrite_steps_beside_a_dead_one(mode: str, kills: int, excused: bool) -> None:
    """Seed 140019: of two writer ranks one was killed, and the relay was stopped just then. The other rank went on."""
    run = good_run()
    starve(run)
    other = writing()
    other.rank, other.number = 1, 8
    run.lives.append(other)
    calls_of(run, "reader", "open")[0].facts["mode"] = mode
    for waiting in calls_of(run, "reader", "read")[1:]:
        waiting.status = "ERROR_PEER_LOST"
    run.harms += [Harm("kill", "ocean/0", 900 * MS, 900 * MS)] * kills
    assert ("reader-starved" not in kinds(check(run))) == excused


@pytest.mark.parametrize(
    ("relay", "node", "calls_every_ms", "excused"),
    [
        ("in_calls", "a", None, True),
        ("auto", "a", None, False),
        ("in_calls", "b", None, False),
        ("in_calls", "a", 500, False),
    ],
)
def test_a_writer_sends_in_its_calls_only(relay: str, node: str, calls_every_ms: int | None, excused: bool) -> None:
    """Seed 140021: a writer with relay=in_calls put 200 steps, and idled. A reader on another node got none of them."""
    run = good_run()
    run.plan = replace(run.plan, settings={"COUPLET_RELAY": relay})
    starve(run)
    writer = life_of(run, "ocean")
    writer.node = node
    if calls_every_ms is None:
        writer.calls.append(call("idle", 1000, 59_000, seconds=58))
    else:
        writer.calls += [call("count", at, at, h="eta") for at in range(1000, 59_000, calls_every_ms)]
    assert ("reader-starved" not in kinds(check(run))) == excused


def test_a_writer_that_has_left_is_not_silent() -> None:
    """Its last steps are sent before it leaves, also with relay=in_calls."""
    run = good_run()
    run.plan = replace(run.plan, settings={"COUPLET_RELAY": "in_calls"})
    starve(run)
    life_of(run, "ocean").calls.append(call("leave", 700, 701))
    assert "reader-starved" in kinds(check(run))


def test_a_rank_may_wait_for_another_one_that_reads_later() -> None:
    """Seed 110004: a rank read for 14 s, since the other one had been started again and did not read. It may take 60 s
    longer than its timeout, if the other one is outside, and no longer if it is inside.
    """
    for outside, inside, excused in ((14_000, 0, True), (1, 14_000, False), (80_000, 0, False)):
        run = good_run()
        replace_reads(run, read(50, 50 + outside + inside, status="NOT_YET"))
        other = reading(1)
        other.number = 9
        other.calls = [*other.calls[:2], read(50 + outside, 60 + outside + inside, status="NOT_YET")]
        other.ended_ns = 100_000 * MS
        run.lives.append(other)
        assert ("hang" not in kinds(check(run))) == excused, (outside, inside)


def test_the_timeout_of_one_rank_ends_the_read_of_all() -> None:
    """Seed 100034: the other rank had begun to read 0.09 s before."""
    for earlier_ms in (0, 900):
        run = good_run()
        replace_reads(run, read(2000, 2100, status="NOT_YET"))
        other = reading(1)
        other.number = 9
        other.calls = [*other.calls[:2], read(2000 - earlier_ms, 2100, status="NOT_YET")]
        run.lives.append(other)
        assert ("gave-up-early" in kinds(check(run))) == (earlier_ms == 0)


def test_a_stuck_message_is_excused_while_the_cable_is_cut() -> None:
    run = good_run()
    message_stuck(run)
    ping = life_of(run, "ping")
    ping.node, ping.calls, ping.ended_ns = "b", ping.calls[:-1], 20_000 * MS
    life_of(run, "pong").node = "b"
    assert "message-stuck" in kinds(check(run))
    run.harms = [Harm("cut", "a-b", 900 * MS, 12_000 * MS)]
    assert "message-stuck" in kinds(check(run)), "both are on one node"
    life_of(run, "pong").node = "a"
    assert "message-stuck" not in kinds(check(run))


def test_a_hub_that_was_killed_may_be_missed_until_it_is_back() -> None:
    run = good_run()
    lose_the_hub(run)
    run.harms = [Harm("kill", "hub", 20 * MS, 20 * MS)]
    assert "hub-not-found-again" not in kinds(check(run))
    run.harms = [Harm("kill", "hub", 20 * MS, 220 * MS, returns=True)]
    assert "hub-not-found-again" not in kinds(check(run))
    opened = calls_of(run, "reader", "open")[0]
    opened.begin_ns, opened.end_ns = 30_000 * MS, 30_001 * MS
    assert "hub-not-found-again" in kinds(check(run))


def test_a_dead_hub_that_the_plan_kills_once_more_does_not_come_back() -> None:
    """Chaos seed 80032: the second fault hit nothing, so that it was not carried out, and no hub was started."""
    run = good_run()
    lose_the_hub(run)
    opened = calls_of(run, "reader", "open")[0]
    opened.begin_ns, opened.end_ns = 30_000 * MS, 30_001 * MS
    run.plan = Plan(1, run.plan.programs, (Fault("kill", "hub", 0.02), Fault("kill", "hub", 6.0, 2.0, again=True)))
    run.harms = [Harm("kill", "hub", 20 * MS, 20 * MS)]
    assert "hub-not-found-again" not in kinds(check(run))


def test_a_history_that_a_kill_has_cut_is_read_to_its_last_whole_line() -> None:
    lines = (
        '{"t":1,"e":"o","n":0,"c":"start"}\n{"t":2,"e":"b","n":1,"c":"join","timeout":20.0}\n'
        '{"t":5,"e":"e","n":1,"c":"join","s":"OK","cpu_us":7}\n{"t":9,"e":"b","n":2,"c":"leave"}\n{"t":12,"e":"e","n":'
    )
    calls, why = parse_history(lines)
    found = [(each.name, each.end_ns, each.status) for each in calls]
    assert (found, why) == ([("join", 5, "OK"), ("leave", None, "")], "")
    assert parse_history(lines, ahead_ns=1)[0][0].begin_ns == 1, "its clock was ahead"


def test_a_busy_machine_excuses_what_is_slow() -> None:
    run = good_run()
    hang(run)
    run.harms = [Harm("busy", "machine", 5000 * MS, 299_000 * MS)]
    assert "hang" not in kinds(check(run))
    message_stuck(run)
    assert "message-stuck" not in kinds(check(run))
