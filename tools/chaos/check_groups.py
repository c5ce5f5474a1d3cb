"""Checks of groups and their collective calls: what a call gives came from the same call of each member; no call fails
without a reason; members that all call find each other again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from chaos.evidence import SETTLE_NS, Evidence
from chaos.histories import SECOND, Call, Finding, Life

NEEDS_ALL = ("agree", "barrier", "gather", "reduce")  # kinds of calls that no member ends before all have begun
STUCK_S = 15.0  # all members have called for so long, and no fault hit them
PAUSE_NS = 2 * SECOND  # a member that is so long in no call has ended its calls
CAUSE_NS = 20 * SECOND  # for so long a failed call of a member is the reason for others
UNNOTICED_S = 12.0  # 5 s are promised
# The beginning of a text that names the member which has told of a failure.
REVOKED_BY = re.compile(r"revoked by rank \d+ \(program '[^']*' rank \d+ \(universe rank \d+\) on host [^)]*\)")


@dataclass
class Circle:
    """A group: its members, and what each life of them has called."""

    name: str
    members: list[str]
    calls: dict[str, list[tuple[Life, Call]]] = field(default_factory=dict)
    same: dict[tuple[str, str, int], list[tuple[Life, Call]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, life: Life, call: Call) -> None:
        self.calls.setdefault(life.name, []).append((life, call))
        self.same[life.name, *what(call)].append((life, call))

    def all_calls(self) -> Iterator[tuple[Life, Call]]:
        for calls in self.calls.values():
            yield from calls

    def others(self, name: str) -> list[str]:
        return [member for member in self.members if member != name]


def what(call: Call) -> tuple[str, int]:
    """Returns what members must have in common in one call. Each agrees on a round from the one that it is in."""
    return call.facts["kind"], -1 if call.facts["kind"] == "agree" else call.facts["round"]


def check_groups(evidence: Evidence) -> Iterator[Finding]:
    for circle in circles(evidence):
        for life, call in circle.all_calls():
            if call.status == "OK":
                yield from check_result(evidence, circle, life, call)
            elif call.status:
                yield from check_loss(evidence, circle, life, call)
            yield from check_death(evidence, circle, life, call)
        yield from check_reasons(evidence, circle)
        yield from check_progress(evidence, circle)


def circles(evidence: Evidence) -> list[Circle]:
    """Returns the groups that the scripts name."""
    found: dict[str, Circle] = {}
    for program in evidence.run.plan.programs:
        for line in program.script:
            for word in line.split(" "):
                if word.startswith("groups="):
                    for text in word[len("groups=") :].split(";"):
                        name, members = text.split(":")
                        found.setdefault(name, Circle(name, members.split(",")))
    for circle in found.values():
        for name in circle.members:
            lives = sorted(evidence.lives(name), key=lambda life: life.life)
            circle.calls[name] = []
            for life in lives:
                for call in life.calls:
                    if call.name == "group_call" and call.facts["k"] == circle.name:
                        circle.add(life, call)
    return list(found.values())


def where(circle: Circle, life: Life, call: Call) -> str:
    return f"{life.name} life {life.life}, {circle.name} at {call.begin_ns}"


def check_result(evidence: Evidence, circle: Circle, life: Life, call: Call) -> Iterator[Finding]:
    """Each member's part is of that member and of this round, and each member was in this call at the same time. If
    their connection was disturbed, one may have given up the call before: that is told after its part has come.
    """
    kind, number = call.facts["kind"], call.facts["round"]
    numbers = {f"{program.name}/{rank}": number for number, program, rank in evidence.run.plan.actors()}
    sources = [circle.members[call.facts["root"]]] if kind == "broadcast" else circle.members
    for name, (sender, sender_life, of_round) in zip(sources, call.facts.get("seen", []), strict=False):
        stale = sender_life not in [one.life for one in evidence.lives(name)]
        if sender != numbers[name] or stale or (kind != "agree" and of_round != number):
            text = f"{kind} of round {number} has number {sender} life {sender_life} round {of_round} of {name}"
            yield Finding("group-mixed", text, where(circle, life, call))
    needed = circle.others(life.name) if kind in NEEDS_ALL else [name for name in sources if name != life.name]
    for name in needed:
        if not any(
            one.begin_ns <= evidence.end_of(life, call)
            and (
                kind == "broadcast"
                or one.end_ns is None  # it was killed in it, and its part had been sent
                or evidence.end_of(other, one) >= call.begin_ns
                or (fails(one) and was_disturbed(evidence, [life.name, name], one, call))
            )
            for other, one in circle.same[name, *what(call)]
        ):
            text = f"{kind} of round {number} has succeeded, and {name} was not in it"
            yield Finding("group-alone", text, where(circle, life, call))


def was_disturbed(evidence: Evidence, names: list[str], first: Call, last: Call) -> bool:
    """Says whether a fault hit the connection of these processes between the beginnings of two calls."""
    harms = evidence.harms_to(names)
    return any(harm.kind != "kill" and harm.overlaps(first.begin_ns, last.begin_ns, SETTLE_NS) for harm in harms)


def check_reasons(evidence: Evidence, circle: Circle) -> Iterator[Finding]:
    """The first of some calls that fail has a reason: a fault, or a member that is gone, lately was so, or is late."""
    failed = sorted(
        ((evidence.end_of(life, call), life.name, call) for life, call in circle.all_calls() if fails(call)),
        key=lambda one: one[0],
    )
    last_ns = -CAUSE_NS
    for end_ns, name, call in failed:
        if end_ns - last_ns >= CAUSE_NS and not has_reason(evidence, circle, name, call):
            text = f"{call.facts['kind']} of {circle.name}: {call.status}: {call.text}"
            yield Finding("group-failed", text, f"{name}, {circle.name} at {call.begin_ns}")
        last_ns = end_ns


def has_reason(evidence: Evidence, circle: Circle, own: str, call: Call) -> bool:
    since_ns, end_ns = call.begin_ns - CAUSE_NS, call.end_ns or evidence.end_ns
    if any(harm.overlaps(since_ns, end_ns, SETTLE_NS) for harm in evidence.harms_to(circle.members)):
        return True
    for name in circle.members:
        lost = [ns for life in evidence.lives(name) for ns in losses(life) if ns <= end_ns + SECOND]
        joined = [ns for life in evidence.lives(name) for ns in joins(life) if ns <= end_ns]
        if lost and (max(lost) >= since_ns or not joined or max(joined) < max(lost)):
            return True
    return call.status == "ERROR_TIMEOUT" and any(
        is_late(evidence, circle, name, call, end_ns) for name in circle.others(own)
    )


def check_loss(evidence: Evidence, circle: Circle, life: Life, call: Call) -> Iterator[Finding]:
    """A group that is created again does not fail for the loss of a process whose next life was there before."""
    made_ns = [one.begin_ns for one in life.calls if one.name == "make_group" and one.facts["k"] == circle.name]
    made_ns = [ns for ns in made_ns if ns <= call.begin_ns]
    if call.status != "ERROR_PEER_LOST" or not made_ns:
        return
    since_ns, end_ns = made_ns[-1] - SETTLE_NS, evidence.end_of(life, call)
    if any(harm.kind != "kill" and harm.overlaps(since_ns, end_ns, SETTLE_NS) for harm in evidence.run.harms):
        return
    reason = REVOKED_BY.sub("", call.text).rpartition(" is lost")[2]
    for name in set(evidence.named_in(reason)) & set(circle.members):
        joined = [ns for one in evidence.lives(name) for ns in joins(one) if ns < since_ns]
        lost = [ns for one in evidence.lives(name) for ns in losses(one) if ns <= end_ns]
        if lost and joined and max(lost) < max(joined):
            text = f"{call.facts['kind']} of {circle.name} fails for a loss of {name}, which was back long before"
            yield Finding("group-failed", f"{text}: {call.text}", where(circle, life, call))


def joins(life: Life) -> list[int]:
    return [call.end_ns for call in life.calls if call.name == "join" and call.status == "OK" and call.end_ns]


def losses(life: Life) -> list[int]:
    ends = [life.ended_ns] if life.ended_ns is not None else []
    return ends + [call.begin_ns for call in life.calls if call.name == "leave"]


def fails(call: Call) -> bool:
    return call.status not in ("OK", "")


def is_late(evidence: Evidence, circle: Circle, name: str, call: Call, end_ns: int) -> bool:
    """Says whether this member was in no call of the group for half of the shortest timeout of a member, or more."""
    meanwhile = [
        (life, one)
        for life, one in circle.all_calls()
        if evidence.end_of(life, one) >= call.begin_ns and one.begin_ns <= end_ns
    ]
    at_ns, longest = call.begin_ns, 0
    for life, one in meanwhile:
        if life.name == name:
            longest = max(longest, one.begin_ns - at_ns)
            at_ns = evidence.end_of(life, one)
    shortest_s = min(float(one.facts["timeout"]) for _, one in meanwhile)
    return max(longest, end_ns - at_ns) >= shortest_s / 2 * SECOND


def check_death(evidence: Evidence, circle: Circle, life: Life, call: Call) -> Iterator[Finding]:
    """A member that waits for one that was killed, and did not come back, is told within the promised time."""
    end_ns = evidence.end_of(life, call)
    if end_ns - call.begin_ns <= UNNOTICED_S * SECOND:
        return
    for name in circle.others(life.name):
        gone_ns = evidence.gone_for_good_ns(name)
        if gone_ns is None or gone_ns + UNNOTICED_S * SECOND >= end_ns:
            continue
        hurts = [harm for harm in evidence.harms_to([life.name, name]) if harm.kind != "kill"]
        since_ns = max(call.begin_ns, gone_ns)
        excused = sum(
            max(0, min((harm.until_ns or evidence.end_ns) + SETTLE_NS, end_ns) - max(harm.from_ns, since_ns))
            for harm in hurts
        )
        waited_s = (end_ns - since_ns - excused) / SECOND
        if waited_s > UNNOTICED_S:
            text = f"{call.facts['kind']} has waited for {waited_s:.1f} s for {name}, which was gone"
            yield Finding("death-unnoticed", f"{text}: {call.status}", where(circle, life, call))


def check_progress(evidence: Evidence, circle: Circle) -> Iterator[Finding]:
    """While all members call, and no fault hits them, calls succeed."""
    together = [(0, evidence.end_ns)]
    for name in circle.members:
        together = common(together, list(busy_spans(evidence, circle, name)))
    harms = evidence.harms_to(circle.members)
    hurt = [(harm.from_ns, (harm.until_ns or evidence.end_ns) + SETTLE_NS) for harm in harms]
    succeeded = [evidence.end_of(life, call) for life, call in circle.all_calls() if call.status == "OK"]
    for begin_ns, end_ns in together:
        for first_ns, last_ns in without(begin_ns, end_ns, hurt):
            marks = [first_ns, *sorted(ns for ns in succeeded if first_ns <= ns <= last_ns), last_ns]
            longest = max((later - earlier) / SECOND for earlier, later in zip(marks, marks[1:], strict=False))
            if longest > STUCK_S:
                text = f"all members of {circle.name} have called for {longest:.1f} s, and no call has succeeded"
                yield Finding("group-stuck", text, f"{circle.name} from {first_ns} to {last_ns}")


def busy_spans(evidence: Evidence, circle: Circle, name: str) -> Iterator[tuple[int, int]]:
    """Returns the times in which one process of this name makes one call of the group after the other."""
    span: tuple[Life, int, int] | None = None
    for life, call in circle.calls[name]:
        end_ns = evidence.end_of(life, call)
        if span is not None and span[0] is life and call.begin_ns - span[2] < PAUSE_NS:
            span = life, span[1], end_ns
            continue
        if span is not None:
            yield span[1], span[2]
        span = life, call.begin_ns, end_ns
    if span is not None:
        yield span[1], span[2]


def common(spans: list[tuple[int, int]], others: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the times that are in both."""
    pairs = [(max(one[0], other[0]), min(one[1], other[1])) for one in spans for other in others]
    return [pair for pair in pairs if pair[0] < pair[1]]


def without(begin_ns: int, end_ns: int, excluded: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Returns the parts of a time that are in none of the others."""
    for first, last in sorted(excluded):
        if first >= end_ns or last <= begin_ns:
            continue
        if first > begin_ns:
            yield begin_ns, first
        begin_ns = max(begin_ns, last)
    if begin_ns < end_ns:
        yield begin_ns, end_ns
