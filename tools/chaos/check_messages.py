"""Checks of messages: what arrives was sent, in order, once; what was sent arrives; no process waits for a dead one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from chaos.evidence import Evidence
from chaos.histories import SECOND, Call, Finding, Life

STUCK_S = 10.0  # both have waited for each other so long, and no fault hit them
UNNOTICED_S = 12.0  # 5 s are promised
# Without the hub: a heartbeat that stands still for 30 s, and then connection_patience_s (docs/guide/links.md).
UNNOTICED_OVER_FILES_S = 102.0


@dataclass
class Pending:
    """One request: the calls that have waited for it, in order."""

    life: Life
    sequence: int
    calls: list[Call] = field(default_factory=list)

    @property
    def begin_ns(self) -> int:
        return self.calls[0].begin_ns

    @property
    def status(self) -> str:
        return self.calls[-1].status


def check_messages(evidence: Evidence) -> Iterator[Finding]:
    for life in evidence.run.lives:
        yield from check_received(evidence, life)
        for pending in requests(life):
            yield from check_death(evidence, pending)
    yield from check_arrival(evidence)


def peer_of(call: Call) -> tuple[str, str]:
    """Returns the name of the other process, and the tag."""
    program, rank, tag = call.facts["f"][1:].split("/")
    return f"{program}/{rank}", tag


def requests(life: Life) -> list[Pending]:
    """Returns the requests of this process. One that ended with an error, and the next one, have the same number."""
    found: list[Pending] = []
    open_ones: dict[str, Pending] = {}
    for call in life.calls:
        if call.name not in ("sent", "received"):
            continue
        flow = call.facts["f"]
        pending = open_ones.get(flow)
        if pending is None:
            pending = open_ones[flow] = Pending(life, call.facts["seq"])
            found.append(pending)
        pending.calls.append(call)
        if call.status not in ("ERROR_TIMEOUT", "INTERRUPTED"):
            del open_ones[flow]
    return found


def check_received(evidence: Evidence, life: Life) -> Iterator[Finding]:
    numbers = {f"{program.name}/{rank}": number for number, program, rank in evidence.run.plan.actors()}
    newest: dict[tuple[str, int], int] = {}
    for call in life.calls:
        if call.name != "received" or call.status != "OK":
            continue
        place = f"{life.name} life {life.life}, {call.facts['f']} at {call.begin_ns}"
        if "bad" in call.facts:
            yield Finding("message-damaged", f"{call.facts['bad']} of {call.facts['words']} words", place)
            continue
        name, _ = peer_of(call)
        if call.facts["sender"] != numbers[name]:
            text = f"it came from number {call.facts['sender']}, received from {name} ({numbers[name]})"
            yield Finding("message-misrouted", text, place)
            continue
        key = (call.facts["f"], call.facts["life"])
        got, expected = call.facts["got"], newest.get(key, -1) + 1
        if got < expected:
            yield Finding("message-twice", f"number {got} after number {expected - 1}", place)
        elif got > expected and life.life == 0 and not failed_before(life, call):
            yield Finding("message-lost", f"number {got} came, number {expected} never did", place)
        newest[key] = got


def failed_before(life: Life, call: Call) -> bool:
    """Says whether a request of the flow ended with an error before: what it would have received is unknown."""
    return any(
        each.name in ("received", "irecv")
        and each.facts.get("f") == call.facts["f"]
        and each.begin_ns < call.begin_ns
        and each.status not in ("OK", "ERROR_TIMEOUT", "INTERRUPTED")
        for each in life.calls
    )


def check_death(evidence: Evidence, pending: Pending) -> Iterator[Finding]:
    """A process that waits for one that is gone is told within the promised time."""
    name, _ = peer_of(pending.calls[0])
    gone_ns = evidence.gone_for_good_ns(name)
    if gone_ns is None:
        return
    waited_s, own = 0.0, pending.life.name
    for call in pending.calls:
        end_ns = evidence.end_of(pending.life, call)
        since_ns = max(call.begin_ns, gone_ns)
        if end_ns > since_ns:
            waited_s += calm_for_death_s(evidence, own, name, since_ns, end_ns)
    hub_was_away = any(harm.target == "hub" and harm.kind == "kill" for harm in evidence.run.harms)
    over_files = hub_was_away and evidence.run.plan.uses_files()
    if waited_s > (UNNOTICED_OVER_FILES_S if over_files else UNNOTICED_S):
        text = f"{own} waited for {waited_s:.1f} s for {name}, which had been gone; at last: {pending.status}"
        yield Finding("death-unnoticed", text, f"{pending.calls[0].facts['f']} at {pending.begin_ns}")


def calm_for_death_s(evidence: Evidence, own: str, name: str, begin_ns: int, end_ns: int) -> float:
    """Returns what calm_s returns, but a death is no excuse here, and neither is a dead hub."""
    hurts = [harm for harm in evidence.harms_to([own, name]) if harm.kind != "kill"]
    busy = sum(
        max(0, min((harm.until_ns or evidence.end_ns) + 3 * SECOND, end_ns) - max(harm.from_ns, begin_ns))
        for harm in hurts
    )
    return max(0.0, (end_ns - begin_ns - busy) / SECOND)


def check_arrival(evidence: Evidence) -> Iterator[Finding]:
    """What was sent to a process that waits for it arrives, if no fault hit the two."""
    names = {life.name for life in evidence.run.lives}
    for sender in names:
        for receiver in names:
            senders, receivers = evidence.lives(sender), evidence.lives(receiver)
            if sender != receiver and len(senders) == len(receivers) == 1:
                yield from check_pair(evidence, senders[0], receivers[0])


def check_pair(evidence: Evidence, sender: Life, receiver: Life) -> Iterator[Finding]:
    sent: dict[tuple[str, int], list[Pending]] = {}
    for pending in requests(sender):
        name, tag = peer_of(pending.calls[0])
        if pending.calls[0].name == "sent" and name == receiver.name:
            sent.setdefault((tag, pending.sequence), []).append(pending)
    for pending in requests(receiver):
        name, tag = peer_of(pending.calls[0])
        if pending.calls[0].name != "received" or name != sender.name or pending.status == "OK":
            continue
        for other in sent.get((tag, pending.sequence), []):
            yield from check_missing(evidence, other, pending)


def check_missing(evidence: Evidence, sent: Pending, wanted: Pending) -> Iterator[Finding]:
    """The sender has sent a message, or still wants to, for which the receiver has waited without success until the
    end.
    """
    sender, receiver = sent.life, wanted.life
    place = f"{wanted.calls[0].facts['f']} of {receiver.name} at {wanted.begin_ns}"
    pair = [sender.name, receiver.name]
    if sent.status == "OK":
        begin_ns = max(wanted.begin_ns, sent.calls[-1].end_ns or 0)
        # Of a short message, what the connection did not take at once moves in later calls of the sender.
        idle = [(call.begin_ns, evidence.end_of(sender, call)) for call in sender.calls if call.name == "idle"]
        waited_s = sum(
            evidence.calm_s(max(call.begin_ns, begin_ns), evidence.end_of(receiver, call), pair, idle)
            for call in wanted.calls
        )
        what = f"number {sent.sequence} of {sender.name} to {receiver.name} was sent"
        if wanted.status == "ERROR_PEER_LOST" and sender.left_ns():
            yield Finding(
                "message-lost", f"{what}, {sender.name} left in good order, then: {wanted.calls[-1].text}", place
            )
        elif waited_s > STUCK_S:
            yield Finding(
                "message-stuck", f"{what}, and not received in {waited_s:.1f} s; last: {wanted.status}", place
            )
        return
    waited_s = 0.0
    for one in sent.calls:
        for other in wanted.calls:
            begin_ns = max(one.begin_ns, other.begin_ns)
            end_ns = min(evidence.end_of(sender, one), evidence.end_of(receiver, other))
            waited_s += evidence.calm_s(begin_ns, end_ns, pair)
    if waited_s > STUCK_S:
        text = f"{sender.name} and {receiver.name} waited {waited_s:.1f} s for number {sent.sequence} between them"
        yield Finding("message-stuck", f"{text}: {sent.status} and {wanted.status}", place)
