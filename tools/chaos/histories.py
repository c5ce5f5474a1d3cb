"""The results of a run for the checker: the life of each process, the faults as they happened, and what was left."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.plan import Plan

SECOND = 1_000_000_000


@dataclass
class Call:
    """One call of an actor. end_ns is None if it had not returned before the process ended."""

    name: str
    begin_ns: int
    end_ns: int | None = None
    status: str = ""
    text: str = ""
    cpu_us: int = 0
    delay_us: int = 0  # for which it was ready to run and had no core
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return ((self.end_ns or self.begin_ns) - self.begin_ns) / SECOND


@dataclass
class Life:
    """One process of an actor, from its start to its end."""

    program: str
    rank: int
    number: int
    life: int
    node: str
    started_ns: int = 0
    ended_ns: int | None = None
    exit_code: int | None = None  # negative: a signal
    killed_ns: int | None = None  # by a fault of the plan
    ended_at_deadline: bool = False  # it still ran when the run was ended by force
    stacks: str = ""
    calls: list[Call] = field(default_factory=list)
    stopped_itself: str = ""  # why the actor gave up, if it did

    @property
    def name(self) -> str:
        return f"{self.program}/{self.rank}"

    def left_ns(self) -> int | None:
        """Returns when it had left for the last time in good order, if it did and did not join again."""
        for call in reversed(self.calls):
            if call.name == "leave" and call.status == "OK":
                return call.end_ns
            if call.name in ("join", "leave"):
                return None
        return None

    def has_closed_tasks(self, by_ns: int) -> bool:
        """Says whether it had begun to close its tasks by then: it may live on, and answers no request any more."""
        return any(call.name == "close_tasks" and call.begin_ns <= by_ns for call in self.calls)

    def gone_ns(self) -> int | None:
        """Returns when the process ended."""
        return self.ended_ns


@dataclass
class Harm:
    """A fault as it happened. until_ns is None if it lasted to the end of the run. returns: the process that was killed
    is started again at until_ns, or would have been if the run had lasted that long.
    """

    kind: str
    target: str
    from_ns: int
    until_ns: int | None = None
    note: str = ""
    returns: bool = False

    def overlaps(self, begin_ns: int, end_ns: int, after_ns: int = 0) -> bool:
        """Says whether it was in force between two times. after_ns: so long after its end still counts."""
        return self.from_ns <= end_ns and (self.until_ns is None or self.until_ns + after_ns >= begin_ns)


@dataclass
class Run:
    """Everything that the checker gets."""

    plan: Plan
    lives: list[Life]
    harms: list[Harm]
    begun_ns: int = 0
    actors_ended_ns: int = 0
    hub_ended: bool = True  # by itself, within its time after the last actor
    # When it was found to have ended by itself, if that was before the last actor.
    hub_ended_ns: int | None = None
    left_processes: list[str] = field(default_factory=list)
    left_files: list[str] = field(default_factory=list)
    removed_innocents: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what could not be done here

    def lives_of(self, name: str) -> list[Life]:
        return [life for life in self.lives if life.name == name]


@dataclass(frozen=True)
class Finding:
    """An event that must not happen. `kind` says what is broken, in a word that stays the same while a plan shrinks."""

    kind: str
    text: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" + (f" [{self.where}]" if self.where else "")


def parse_history(text: str, ahead_ns: int = 0) -> tuple[list[Call], str]:
    """Returns the calls of one process, whose clock may be ahead, and why it stopped itself ("" if it did not)."""
    calls: list[Call] = []
    why = ""
    for line in text.splitlines():
        try:
            facts = json.loads(line)
        except ValueError:  # the line was cut by a kill
            continue
        time_ns, event, name = facts.pop("t") - ahead_ns, facts.pop("e"), facts.pop("c")
        facts.pop("n", None)
        if event == "b":
            calls.append(Call(name, time_ns, facts=facts))
        elif event == "e" and calls:
            call = calls[-1]
            call.end_ns = time_ns
            call.status, call.text = facts.pop("s"), facts.pop("text", "")
            call.cpu_us, call.delay_us = facts.pop("cpu_us", 0), facts.pop("delay_us", 0)
            call.facts.update(facts)
        elif event == "o" and name == "stop":
            why = facts.get("why", "")
    return calls, why


def read_history(path: Path, life: Life, ahead_ns: int = 0) -> None:
    if path.exists():
        life.calls, life.stopped_itself = parse_history(path.read_text(errors="replace"), ahead_ns)


def stopped_in_good_order(path: Path) -> bool:
    """Says whether the actor of this history came to the end of its script."""
    return path.exists() and '"c":"stop"}' in path.read_text(errors="replace")
