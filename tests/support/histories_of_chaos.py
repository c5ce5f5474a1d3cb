"""Handmade histories of a chaos run, for tests of the checker: a good run, and the parts from which others are made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from chaos.histories import SECOND, Call, Finding, Harm, Life, Run
from chaos.plan import Plan, Program

MS = SECOND // 1000
STEPS = 6


def call(name: str, begin_ms: int, end_ms: int | None, status: str = "OK", text: str = "", **facts: Any) -> Call:
    end_ns = None if end_ms is None else end_ms * MS
    return Call(name, begin_ms * MS, end_ns, status if end_ms is not None else "", text, facts=facts)


def put(step: int, begin_ms: int, end_ms: int, status: str = "OK", text: str = "") -> Call:
    return call("put", begin_ms, end_ms, status, text, k="eta", step=step, wait=2.0)


def step(number: int, ordinal: int, life: int = 0, **facts: Any) -> dict[str, Any]:
    return {"step": number, "ordinal": ordinal, "life": life, **facts}


def read(
    begin_ms: int, end_ms: int | None, *steps: dict[str, Any], status: str = "OK", text: str = "", lost: int = 0
) -> Call:
    facts: dict[str, Any] = {"h": "eta", "timeout": 1.0, "at_least": 1}
    if status == "OK":
        facts |= {"count": len(steps), "lost": lost, "steps": list(steps)}
    return call("read", begin_ms, end_ms, status, text, **facts)


def count(
    begin_ms: int, delivered: int, lost: int = 0, published: int = STEPS, pending: int = 0, skipped: int = 0
) -> Call:
    sums = {"delivered": delivered, "lost": lost, "published": published, "pending": pending, "skipped": skipped}
    return call("count", begin_ms, begin_ms, h="eta", first=0, **sums)


def writing() -> Life:
    life = Life("ocean", 0, 0, 0, "a", 1 * MS, 5000 * MS, 0)
    create = call("create", 20, 21, k="eta", life=0, slots=4, required="reader", evict=-1.0)
    puts = [put(10 * index, 100 + 100 * index, 101 + 100 * index) for index in range(STEPS)]
    life.calls = [call("join", 2, 10, timeout=20.0), create, *puts]
    life.calls += [call("close", 4000, 4001, h="eta"), call("leave", 4002, 4003)]
    return life


def reading(rank: int = 0) -> Life:
    life = Life("reader", rank, 1 + rank, 0, "b", 1 * MS, 6000 * MS, 0)
    opened = {"k": "eta", "h": "eta", "mode": "hold", "every": 1, "latest": 0, "from": "oldest", "local": 0}
    life.calls = [call("join", 2, 10, timeout=20.0), call("open", 30, 40, **opened, timeout=10.0, route="mapped")]
    life.calls += [read(50 + 100 * index, 110 + 100 * index, step(10 * index, index)) for index in range(STEPS)]
    life.calls += [read(4000, 4010, status="END"), count(4011, STEPS)]
    life.calls += [call("close", 4012, 4013, h="eta"), call("leave", 4014, 4015)]
    return life


def talking() -> tuple[Life, Life]:
    """ping/0 sends three messages to pong/0."""
    ping = Life("ping", 0, 2, 0, "a", 1 * MS, 5000 * MS, 0)
    pong = Life("pong", 0, 3, 0, "a", 1 * MS, 6000 * MS, 0)
    ping.calls, pong.calls = [call("join", 2, 10, timeout=20.0)], [call("join", 2, 10, timeout=20.0)]
    for index in range(3):
        at = 100 + 10 * index
        ping.calls += [
            call("isend", at, at, f=">pong/0/1", seq=index),
            call("sent", at, at + 1, f=">pong/0/1", seq=index, timeout=2.0),
        ]
        label = {"sender": 2, "life": 0, "got": index, "last": 0, "words": 1}
        pong.calls += [call("irecv", at, at, f="<ping/0/1", seq=index)]
        pong.calls += [call("received", at, at + 2, f="<ping/0/1", seq=index, timeout=2.0, **label)]
    ping.calls.append(call("leave", 300, 301))
    pong.calls.append(call("leave", 400, 401))
    return ping, pong


def good_run() -> Run:
    programs = tuple(Program(name, 1, "a", ("join",)) for name in ("ocean", "reader", "ping", "pong"))
    run = Run(Plan(1, programs, ()), [writing(), reading(), *talking()], [])
    run.actors_ended_ns = 7000 * MS
    return run


def life_of(run: Run, program: str) -> Life:
    return next(life for life in run.lives if life.program == program)


def calls_of(run: Run, program: str, name: str) -> list[Call]:
    return [each for each in life_of(run, program).calls if each.name == name]


def replace_reads(run: Run, *reads: Call, counted: int | None = None) -> None:
    """Other reads after opening; the count fits them if it is told."""
    life = life_of(run, "reader")
    tail = [] if counted is None else [count(60_000, counted)]
    life.calls = [*life.calls[:2], *reads, *tail]
    life.ended_ns = max(each.end_ns or 0 for each in life.calls) + MS
    run.actors_ended_ns = max(run.actors_ended_ns, life.ended_ns)


def kinds(findings: list[Finding]) -> set[str]:
    return {finding.kind for finding in findings}


def follow_in_vain(run: Run) -> None:
    """200 steps of 8 MB, one every 10 ms, in 8 slots: of each second a follower at 1 GB/s could copy 125."""
    writer, reader = life_of(run, "ocean"), life_of(run, "reader")
    writer.calls[2:-2] = [put(index, 100 + 10 * index, 101 + 10 * index) for index in range(200)]
    calls_of(run, "ocean", "create")[0].facts.update(slots=8, required="")
    calls_of(run, "reader", "open")[0].facts.update(mode="follow", bytes=8_000_000)
    waits = [read(100 + 1000 * index, 1100 + 1000 * index, status="NOT_YET") for index in range(2)]
    reader.calls = [*reader.calls[:2], *waits, read(2200, 2300, step(199, 199), lost=199)]


def end_unevenly(run: Run) -> None:
    """A second rank of the writer puts one step more, and the reader of the whole array is told of the end only."""
    twin = writing()
    twin.rank, twin.number = 1, 4
    twin.calls.insert(-2, put(10 * STEPS, 3000, 3001))
    run.lives.append(twin)
    calls_of(run, "reader", "open")[0].facts["whole"] = 1


def invent_an_uneven_end(run: Run) -> None:
    reader = life_of(run, "reader")
    reader.calls.insert(-4, read(3900, 3901, status="ERROR_MISMATCH", text="they have ended it unevenly"))


def make_different_calls(run: Run) -> None:
    reader = life_of(run, "reader")
    text = "reader rank 0 reads the series, and another rank makes another call"
    reader.calls.insert(-4, read(3900, 3901, status="ERROR_MISMATCH", text=text))


def restart_unnoticed(run: Run) -> None:
    first, again = life_of(run, "ocean"), writing()
    first.calls, first.killed_ns, first.ended_ns = first.calls[:-2], 900 * MS, 900 * MS
    again.life, again.started_ns, again.ended_ns = 1, 1000 * MS, 40_000 * MS
    again.calls = [call("join", 1001, 1010, timeout=20.0)]
    again.calls.append(call("create", 1020, 1021, k="eta", life=1, slots=4, required="", evict=-1.0))
    again.calls += [put(10 * index, 1100 + 100 * index, 1101 + 100 * index) for index in range(STEPS)]
    run.lives.append(again)
    run.harms.append(Harm("kill", "ocean/0", 900 * MS, 900 * MS))
    waits = [read(1000 + 1000 * index, 2000 + 1000 * index, status="NOT_YET") for index in range(11)]
    replace_reads(run, read(50, 700, *(step(10 * index, index) for index in range(STEPS))), *waits)


def message_stuck(run: Run) -> None:
    """The last message that was sent does not arrive while its receiver waits."""
    pong = life_of(run, "pong")
    pong.calls = pong.calls[:-2]
    for index in range(8):
        at = 1000 + 2000 * index
        pong.calls.append(call("received", at, at + 2000, "ERROR_TIMEOUT", f="<ping/0/1", seq=2, timeout=2.0))
    pong.ended_ns = run.actors_ended_ns = 20_000 * MS
