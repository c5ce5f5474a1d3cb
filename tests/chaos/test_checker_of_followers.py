"""The checker of chaos runs asks of followers what they can do: a fair part of the steps that stay long enough."""

from __future__ import annotations

from dataclasses import replace

import pytest
from histories_of_chaos import (
    MS,
    STEPS,
    calls_of,
    follow_in_vain,
    good_run,
    kinds,
    life_of,
    put,
    read,
    replace_reads,
    restart_unnoticed,
    step,
)

from chaos.check import check
from chaos.histories import Harm
from chaos.plan import Plan

BROKEN_UP = (
    "team 'eta': program 'reader' rank 1 (universe rank 9) on host b is lost: its process has died; "
    "all members have to close, and to open again together with its next life"
)


def test_a_follower_of_writer_ranks_that_are_far_apart_need_not_get_a_step() -> None:
    """Chaos seed 31009: rank 1 is 20 steps ahead, so that no step is ever in the 8 slots of both ranks at once."""
    run = good_run()
    follow_in_vain(run)
    ocean = life_of(run, "ocean")
    other = replace(ocean, rank=1, number=9, calls=[*ocean.calls[:2], *ocean.calls[-2:]])
    other.calls[2:2] = [put(index, 110 + 10 * (index - 20), 111 + 10 * (index - 20)) for index in range(20, 220)]
    other.calls[2:2] = [put(index, 70 + index, 71 + index) for index in range(20)]
    run.lives.append(other)
    assert "follower-starved" not in kinds(check(run))


@pytest.mark.parametrize(("relay", "delay_s", "starved"), [("spawn", 0, 1), ("in_calls", 0, 0), ("spawn", 2, 0)])
def test_a_follower_has_the_time_of_cores_and_of_puts(relay: str, delay_s: int, starved: int) -> None:
    """Seed 920076: 258 puts, in which alone a writer sent, lasted 0.6 s. Seed 1501025: the reader got 5 % of a core."""
    run = good_run()
    follow_in_vain(run)
    run.plan = Plan(1, run.plan.programs, (), settings={"COUPLET_RELAY": relay})
    for read_call in calls_of(run, "reader", "read"):
        read_call.cpu_us, read_call.delay_us = 80_000, delay_s * 1_000_000
    assert ("follower-starved" in kinds(check(run))) == starved


@pytest.mark.parametrize(("route", "starved"), [("mapped", True), ("relay", False)])
def test_a_follower_gets_no_step_that_is_gone_before_it_can_look(route: str, starved: bool) -> None:
    """Chaos seed 1100001: two slots and a step every 0.3 ms, to be read over a relay. Here 8 slots, a step each ms."""
    run = good_run()
    follow_in_vain(run)
    writer = life_of(run, "ocean")
    writer.calls[2:-2] = [put(index, 100 + index, 101 + index) for index in range(2000)]
    calls_of(run, "reader", "open")[0].facts.update(bytes=512, route=route)
    assert ("follower-starved" in kinds(check(run))) == starved


def test_the_ranks_of_a_team_wait_for_each_other_at_each_step() -> None:
    """Chaos seed 1100025: a step stays for 80 ms, and the other rank of the team has no core for 50 ms of each read."""
    run = good_run()
    follow_in_vain(run)
    reader = life_of(run, "reader")
    other = replace(reader, rank=1, number=9, calls=[replace(one) for one in reader.calls])
    run.lives.append(other)
    assert "follower-starved" in kinds(check(run))
    for one in other.calls:
        one.delay_us = 50_000
    assert "follower-starved" not in kinds(check(run))


@pytest.mark.parametrize(
    ("route", "small_buffers", "timeout", "step_bytes", "unnoticed"),
    [
        ("relay", True, 0, 16_000_000, False),
        ("relay", True, 0, 64, True),
        ("relay", True, 1, 16_000_000, True),
        ("relay", False, 0, 16_000_000, True),
        ("mapped", True, 0, 16_000_000, True),
    ],
)
def test_reads_that_do_not_wait_take_what_small_sockets_hold(
    route: str, small_buffers: bool, timeout: int, step_bytes: int, unnoticed: bool
) -> None:
    """Chaos seed 29700046: a thousand reads, each of which took 16 KiB of a step of 16 MB out of its socket."""
    run = good_run()
    restart_unnoticed(run)
    run.plan = Plan(1, run.plan.programs, (), small_buffers=small_buffers)
    calls_of(run, "reader", "open")[0].facts.update(bytes=step_bytes, route=route)
    for read_call in calls_of(run, "reader", "read"):
        read_call.facts["timeout"] = timeout
    assert ("restart-unnoticed" in kinds(check(run))) == unnoticed


@pytest.mark.parametrize(("step_bytes", "unnoticed"), [(64, True), (16_000_000, False)])
def test_a_reader_may_still_take_steps_of_a_writer_that_is_gone(step_bytes: int, unnoticed: bool) -> None:
    """Chaos seed 40200128: reads that did not wait took 16 KiB each of steps of 16 MiB, which a relay had kept."""
    run = good_run()
    waits = [read(1000 + 1000 * index, 1001 + 1000 * index, status="NOT_YET") for index in range(30)]
    writer = life_of(run, "ocean")
    writer.calls, writer.ended_ns, writer.killed_ns = writer.calls[:-2], 900 * MS, 900 * MS
    run.harms.append(Harm("kill", "ocean/0", 900 * MS, 900 * MS))
    replace_reads(run, read(50, 700, *[step(10 * index, index) for index in range(STEPS)]), *waits)
    run.plan = Plan(1, run.plan.programs, (), small_buffers=True)
    calls_of(run, "reader", "open")[0].facts.update(bytes=step_bytes, route="relay")
    for each in calls_of(run, "reader", "read"):
        each.facts["timeout"] = 0
    assert ("death-unnoticed" in kinds(check(run))) == unnoticed


@pytest.mark.parametrize(
    ("begin_ms", "end_ms", "unnoticed"), [(10, 11, True), (1500, 1501, False), (900, 1200, False), (1022, 1023, False)]
)
def test_who_opens_after_the_restart_is_not_told_of_it(begin_ms: int, end_ms: int, unnoticed: bool) -> None:
    """Chaos seeds 26100026, 40100028 and 40600140: followers with copies that took longer than all slots last."""
    run = good_run()
    restart_unnoticed(run)
    reader = life_of(run, "reader")
    reader.calls = [each for each in reader.calls if each.name != "read" or each.status == "NOT_YET"]
    opened = calls_of(run, "reader", "open")[0]
    opened.facts["mode"], opened.facts["latest"] = "follow", 1
    opened.begin_ns, opened.end_ns = begin_ms * MS, end_ms * MS
    assert ("restart-unnoticed" in kinds(check(run))) == unnoticed


@pytest.mark.parametrize(("text", "unnoticed"), [("", True), (BROKEN_UP, False)])
def test_a_reader_that_has_lost_a_rank_is_told_of_that_until_it_closes(text: str, unnoticed: bool) -> None:
    """Chaos seed 40030053: the other ranks were told for 12 s, as long as their script read on."""
    run = good_run()
    restart_unnoticed(run)
    run.lives.append(replace(life_of(run, "reader"), rank=1, number=9, calls=[], killed_ns=1 * MS, ended_ns=1 * MS))
    for waiting in calls_of(run, "reader", "read"):
        if waiting.status == "NOT_YET" and text:
            waiting.status, waiting.text = "ERROR_PEER_LOST", text
    assert ("restart-unnoticed" in kinds(check(run))) == unnoticed
