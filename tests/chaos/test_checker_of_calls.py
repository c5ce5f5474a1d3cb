"""The checker of chaos runs judges what calls say of other processes."""

from __future__ import annotations

import pytest
from histories_of_chaos import MS, call, good_run, kinds, life_of, message_stuck, read, reading, replace_reads

from chaos.check import check
from chaos.histories import Harm

CLOSED = "program 'pong' rank 0 (universe rank 3) on host a, the coupler, has closed before the task was done"


@pytest.mark.parametrize(("closes_ms", "accused"), [(240, False), (260, True), (None, True)])
def test_a_process_that_closes_its_tasks_answers_none(closes_ms: int | None, accused: bool) -> None:
    """Chaos seed 1501086: the coupler's time was over while the requester waited, and it lived on."""
    run = good_run()
    waiting = call("task_wait", 200, 250, "ERROR_PEER_LOST", CLOSED, timeout=5.0)
    life_of(run, "ping").calls.insert(-1, waiting)
    pong = life_of(run, "pong")
    if closes_ms is not None:
        pong.calls.insert(-1, call("close_tasks", closes_ms, closes_ms + 1))
    assert all(each.begin_ns > 260 * MS for each in pong.calls if each.name == "leave")
    assert ("living-declared-dead" in kinds(check(run))) == accused


@pytest.mark.parametrize("short", [True, False])
def test_a_process_without_memory_may_give_up_a_connection(short: bool) -> None:
    """Chaos seed 37000125: it said so, and neither side of the connection had ended."""
    run = good_run()
    if short:
        run.harms.append(Harm("memory", "pong/0", 210 * MS, 220 * MS))
    pong = "program 'pong' rank 0 (universe rank 3) on host a"
    text = f"{pong} gave up the connection: there is no memory for a task message of 56 bytes"
    life_of(run, "ping").calls.insert(-1, call("task_next", 200, 250, "ERROR_PEER_LOST", text, timeout=1.0))
    assert ("living-declared-dead" in kinds(check(run))) == (not short)


@pytest.mark.parametrize(("killed", "accused"), [("ocean", False), ("ping", True), ("", True)])
def test_a_writer_or_its_relay_is_gone_if_the_writer_was_killed(killed: str, accused: bool) -> None:
    """Chaos seed 40020022: a rank passed on what another rank of its reader had been told."""
    run = good_run()
    text = (
        "series 'eta': a writer that another rank of this reader reads, or its relay, is gone, 2 steps were published"
    )
    replace_reads(run, read(50, 60, status="ERROR_PEER_LOST", text=text))
    if killed:
        victim = life_of(run, killed)
        victim.calls = victim.calls[:2]
        victim.killed_ns = victim.ended_ns = 45 * MS
        run.harms.append(Harm("kill", f"{killed}/0", 45 * MS, 45 * MS))
    else:
        life_of(run, "ocean").calls[-1].begin_ns = 45 * MS  # it leaves in good order
    assert ("living-declared-dead" in kinds(check(run))) == accused


@pytest.mark.parametrize(("ended_ms", "accused"), [(None, True), (7100, False), (6000, False)])
def test_the_last_process_that_leaves_and_joins_again_meets_a_hub_that_ends(
    ended_ms: int | None, accused: bool
) -> None:
    """Chaos seed 24100016: the hub said that all had left a moment before its process ended."""
    run = good_run()
    run.hub_ended_ns = None if ended_ms is None else ended_ms * MS
    text = "the hub at 10.78.2.1:41677 has ended: every program has ended"
    life_of(run, "ping").calls.append(call("join", 6900, 7000, "ERROR_HUB_LOST", text))
    assert ("join-failed" in kinds(check(run))) == accused


@pytest.mark.parametrize("has_left", [True, False])
def test_a_rank_that_comes_back_after_the_others_of_its_program_have_left_waits_for_them(has_left: bool) -> None:
    """Chaos seed 36100002: other programs went on joining, so that the universe was not over."""
    run = good_run()
    other = reading(1)
    other.number = 9
    if not has_left:
        other.calls = [each for each in other.calls if each.name != "leave"]
    run.lives.append(other)
    text = "joining took longer than 1.0 s: waiting for rank 1 of 'reader'"
    life_of(run, "reader").calls.append(call("join", 6900, 7900, "ERROR_TIMEOUT", text))
    assert ("join-failed" in kinds(check(run))) == (not has_left)


@pytest.mark.parametrize(("other_s", "accused"), [(1.0, True), (0.1, False)])
def test_the_shortest_timeout_of_the_ranks_ends_their_read(other_s: float, accused: bool) -> None:
    """Chaos seed 26200069: a rank that was started again was in an earlier part of its script than the others."""
    run = good_run()
    early = read(2000, 2180, status="NOT_YET")
    replace_reads(run, early)
    other = reading(1)
    other.number = 9
    other.calls = [*other.calls[:2], read(2000, 2180, status="NOT_YET")]
    early.facts["timeout"], other.calls[-1].facts["timeout"] = 1.0, other_s
    run.lives.append(other)
    assert ("gave-up-early" in kinds(check(run))) == accused


def test_a_message_whose_sender_makes_no_call_may_stay_on_its_way() -> None:
    """Chaos seed 36600042: the rest of the message waited in the sender until its next call."""
    for idle_ms, excused in ((5_000, False), (15_000, True)):
        run = good_run()
        message_stuck(run)
        ping = life_of(run, "ping")
        ping.calls[-1:] = [call("idle", 1000, 1000 + idle_ms), call("leave", 19_000, 19_001)]
        ping.ended_ns = 19_500 * MS
        assert ("message-stuck" not in kinds(check(run))) == excused, idle_ms
