"""Checks of single calls: none lasts too long or gives up early; no error is unexpected, or names a live peer as
lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chaos.evidence import SETTLE_NS, Evidence
from chaos.histories import SECOND, Call, Finding, Life

# A call may exceed its timeout by this, since the machine may be busy.
MARGIN_S = 8.0
# The same for the processor time of the call, which does not depend on how busy the machine is.
MARGIN_CPU_S = 2.0
# The ranks of a team wait for each other by this longer than the timeout of their call.
RANK_DELAY_S = 60.0
UNTIMED_S = {"isend": 5.0, "irecv": 5.0, "count": 5.0, "close": 40.0, "leave": 40.0, "create": 40.0}
JOIN_SLOW_S = 6.0
ANSWER_S = 10.0  # a request that does not wait for room waits so long for the coupler's answer
ALWAYS_STRANGE = (
    *("ERROR_ARGUMENT", "ERROR_TYPE", "ERROR_SHAPE", "ERROR_STEP", "ERROR_FORKED", "ERROR_THREAD", "ERROR_CONFIG"),
    *("ERROR_MPI", "ERROR_TRUNCATED", "ERROR_AUTHENTICATION", "ERROR_VERSION", "ERROR_PROTOCOL", "ERROR_INTERNAL"),
)
SHORTAGE = ("ERROR_MEMORY", "ERROR_LIMIT", "ERROR_NO_SPACE", "ERROR_SYSTEM")


def check_calls(evidence: Evidence) -> Iterator[Finding]:
    for life in evidence.run.lives:
        yield from check_end(life)
        for call in life.calls:
            yield from check_time(evidence, life, call)
            yield from check_status(evidence, life, call)


def where(life: Life, call: Call) -> str:
    return f"{life.name} life {life.life}, {call.name} at {call.begin_ns}"


def check_end(life: Life) -> Iterator[Finding]:
    code = life.exit_code
    if life.killed_ns is not None or life.ended_at_deadline or code in (0, None):
        return
    if code == 3:  # there is no memory for its own buffers: the fault hit the actor, not the library
        return
    last = f" in {life.calls[-1].name}" if life.calls and life.calls[-1].end_ns is None else ""
    what = f"ended by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
    yield Finding("crash", f"{life.name} {what}{last}", f"life {life.life}")


def allowed_s(life: Life, call: Call) -> float | None:
    if call.name == "put":
        wait = float(call.facts.get("wait", 0))
        return wait if wait >= 0 else None
    if "timeout" in call.facts:
        timeout = float(call.facts["timeout"])
        if call.name == "submit" and timeout == 0:
            return ANSWER_S
        return timeout if 0 <= timeout < 1e6 else None
    if call.name == "idle":
        return None
    return UNTIMED_S.get(call.name, 40.0)


def check_time(evidence: Evidence, life: Life, call: Call) -> Iterator[Finding]:
    allowed = allowed_s(life, call)
    timeout = call.facts.get("timeout", call.facts.get("wait", 0))
    waits = call.status in ("NOT_YET", "ERROR_TIMEOUT") and timeout > 0.05 and not is_required_timeout(call)
    if call.name == "task_next" and not evidence.leads_group(life):
        waits = False  # the timeout of the first rank ends the call for the group
    if call.name == "group_call":
        waits = False  # the timeout of any member does
    if waits:  # only then it is asked who took part, which takes long
        enough_s = 0.9 * min(evidence.shortest_timeout_s(life, call, timeout), 1e6) - 0.05
        if call.seconds < enough_s and evidence.seconds_together(life, call) < enough_s:
            text = f"{call.name} with a timeout of {timeout} s: {call.status} after {call.seconds:.3f} s: {call.text}"
            yield Finding("gave-up-early", text, where(life, call))
    if allowed is None:
        return
    end_ns = evidence.end_of(life, call)
    seconds = (end_ns - call.begin_ns) / SECOND - evidence.stopped_s(life.name, call.begin_ns, end_ns)
    outcome = f"returned {call.status}" if call.end_ns else f"had not returned when it was killed ({life.stacks})"
    late = seconds > allowed + MARGIN_S or call.cpu_us / 1e6 > allowed + MARGIN_CPU_S
    if late:  # only then it is asked whom it waited for, which takes long
        allowed += evidence.held_up_by_job_s(life, call) + evidence.held_up_by_group_s(life, call)
    if seconds > allowed + MARGIN_S and seconds > allowed + MARGIN_S + min(RANK_DELAY_S, evidence.alone_s(life, call)):
        text = f"{call.name} {call.facts.get('k') or call.facts.get('h') or call.facts.get('f') or ''}"
        yield Finding("hang", f"{text} took {seconds:.1f} s, allowed are {allowed} s; it {outcome}", where(life, call))
    elif call.cpu_us / 1e6 > allowed + MARGIN_CPU_S:
        text = f"{call.name} computed for {call.cpu_us / 1e6:.1f} s, its timeout is {allowed} s; it {outcome}"
        yield Finding("hang", text, where(life, call))


def is_required_timeout(call: Call) -> bool:
    return call.name == "put" and "required reader" in call.text


def check_status(evidence: Evidence, life: Life, call: Call) -> Iterator[Finding]:
    status, end_ns = call.status, evidence.end_of(life, call)
    if call.name == "join":
        yield from check_join(evidence, life, call)
        return
    dying = status == "ERROR_MPI" and any(
        one.killed_ns is not None and one.killed_ns <= end_ns + SETTLE_NS for one in evidence.fellows_in_job(life)
    )
    if status in ALWAYS_STRANGE and not dying:
        yield Finding("strange-error", f"{call.name} of {life.name}: {status}: {call.text}", where(life, call))
    short = evidence.run.plan.memory_mib or evidence.harmed(("files", "memory", "fill"), life.started_ns, end_ns)
    if status in SHORTAGE and not short:
        yield Finding("strange-error", f"{call.name} of {life.name}: {status}: {call.text}", where(life, call))
    if status == "ERROR_PEER_LOST" or (call.name in ("received", "sent") and "is lost" in call.text):
        yield from check_culprit(evidence, life, call)
    if status == "ERROR_HUB_LOST":
        yield from check_hub_lost(evidence, life, call)
    if call.facts.get("wrong"):
        yield Finding("wrong-contents", f"{call.name}: {call.facts['wrong']} words are wrong", where(life, call))


def check_culprit(evidence: Evidence, life: Life, call: Call) -> Iterator[Finding]:
    """A peer that is named as lost must have ended or left, or one side must say that it has no memory for what came.
    A relay must have been killed, or if the text leaves open which of the two is gone, a writer must have been killed.
    """
    end_ns = evidence.end_of(life, call)
    if "there is no memory for a task message" in call.text and (
        evidence.run.plan.memory_mib or evidence.harmed(("memory",), life.started_ns, end_ns)
    ):
        return
    named = [name for name in evidence.named_in(call.text) if evidence.lives(name)]
    closed = "has closed" in call.text and any(
        one.has_closed_tasks(end_ns) for name in named for one in evidence.lives(name)
    )
    if named and not closed and not any(evidence.was_gone(name, end_ns) for name in named):
        text = f"{call.name} of {life.name} says that {named[0]} is lost, which lives: {call.text}"
        yield Finding("living-declared-dead", text, where(life, call))
    elif not named and "relay" in call.text:
        killed = any(harm.kind == "kill" and harm.target.startswith("relay") for harm in evidence.run.harms)
        if "a writer that" in call.text:
            killed = killed or writer_was_killed(evidence, series_in(call.text), end_ns)
        if not killed:
            text = f"{call.name} of {life.name} says that a relay is lost, which nobody has killed: {call.text}"
            yield Finding("living-declared-dead", text, where(life, call))


def series_in(text: str) -> str:
    """The name of the series that an error names; "" if there is none."""
    found = re.search(r"series '([^']*)'", text)
    return found.group(1) if found else ""


def writer_was_killed(evidence: Evidence, series: str, until_ns: int) -> bool:
    """Says whether a process that had created the series was killed by then."""
    return any(
        life.killed_ns is not None
        and life.killed_ns <= until_ns
        and any(call.name == "create" and call.facts.get("k") == series for call in life.calls)
        for life in evidence.run.lives
    )


def check_hub_lost(evidence: Evidence, life: Life, call: Call) -> Iterator[Finding]:
    """A hub that is alive and can be reached again must be found again. One that was killed for good stays away, also
    if the plan wants it to be killed once more and to come back after that.
    """
    end_ns = evidence.end_of(life, call)
    for harm in evidence.run.harms:
        if harm.target == "hub" and harm.kind == "kill":
            gone = not harm.returns and harm.from_ns <= end_ns
            if gone or harm.overlaps(call.begin_ns, end_ns, 2 * 8 * SECOND):
                return
    if evidence.harmed(("cut",), call.begin_ns, end_ns, "hub-") or evidence.harmed(("reset",), call.begin_ns, end_ns):
        return
    if evidence.harmed(("stop", "slow", "files", "memory"), call.begin_ns, end_ns, "hub"):
        return
    killed = any(harm.target == "hub" and harm.kind == "kill" for harm in evidence.run.harms)
    text = f"{call.name} of {life.name}, though the hub {'is back' if killed else 'lives'}: {call.text}"
    yield Finding("hub-not-found-again", text, where(life, call))


def check_join(evidence: Evidence, life: Life, call: Call) -> Iterator[Finding]:
    """No process is kept out while the hub and all for which it waits are well."""
    end_ns = evidence.end_of(life, call)
    begin_ns = evidence.run.begun_ns
    hurt = any(
        harm.kind not in ("flood", "idle_sockets", "busy") and harm.overlaps(begin_ns, end_ns)
        for harm in evidence.run.harms
        if harm.kind != "kill" or harm.target != life.name
    )
    over_ns = evidence.run.hub_ended_ns  # a program that is started again after all others have ended finds no hub
    is_over = over_ns is not None and (over_ns < end_ns or "every program has ended" in call.text)
    fellows = {one.name for one in evidence.run.lives if one.program == life.program and one.name != life.name}
    left_ns = [evidence.lives(name)[-1].left_ns() for name in fellows]
    is_alone = bool(fellows) and all(ns is not None and ns <= end_ns for ns in left_ns)  # a program joins as a whole
    if hurt or call.status == "ERROR_EXISTS" or is_over or (is_alone and call.status == "ERROR_TIMEOUT"):
        return
    others = [one.calls[0].begin_ns for one in evidence.run.lives if one.calls and one.life == 0]
    if len(others) < sum(1 for _ in evidence.run.plan.actors()):
        return  # a process was not started yet
    since_ns = max(call.begin_ns, *others)
    seconds = (end_ns - since_ns) / SECOND - evidence.stopped_s(life.name, since_ns, end_ns)
    if call.status == "OK" and seconds > JOIN_SLOW_S:
        yield Finding(
            "join-slow", f"{life.name} joined after {seconds:.1f} s, when all others were there", where(life, call)
        )
    elif call.status not in ("OK", "") and end_ns > max(others):
        yield Finding("join-failed", f"{life.name}: {call.status}: {call.text}", where(life, call))
