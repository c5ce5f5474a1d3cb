"""The checker: finds everything that must not happen in the histories of one run. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from chaos.check_calls import check_calls
from chaos.check_groups import check_groups
from chaos.check_messages import check_messages
from chaos.check_series import check_series
from chaos.check_tasks import check_tasks
from chaos.evidence import SETTLE_NS, Evidence
from chaos.histories import Finding, Run

MAX_OF_A_KIND = 3


def check(run: Run) -> list[Finding]:
    """Returns the findings. Only the first one of a kind in one place is returned."""
    evidence = Evidence(run)
    found: dict[Finding, None] = {}
    seen: Counter[tuple[str, str]] = Counter()
    checks = (check_calls, check_messages, check_series, check_tasks, check_groups)
    for finding in chain(*(each(evidence) for each in checks), check_left(run)):
        key = (finding.kind, finding.where.split(" at ")[0])
        seen[key] += 1
        if seen[key] <= MAX_OF_A_KIND:
            found.setdefault(finding)
    return list(found)


def complete(run: Run) -> bool:
    """Says whether every required rank has joined. A hub waits for those that have not."""
    joined = {life.name for life in run.lives for call in life.calls if call.name == "join" and call.status == "OK"}
    return all(f"{program.name}/{rank}" in joined for _, program, rank in run.plan.actors() if program.required)


def left_unseen(run: Run) -> bool:
    """Says whether all members of a node ended while the hub was away or just coming back. No member, lock or refused
    call may tell the next hub of it: then that waits for them for `hub.rejoin_patience_s`.
    """
    evidence = Evidence(run)
    for harm in run.harms:
        if (harm.target, harm.kind, harm.returns) != ("hub", "kill", True):
            continue
        there_ns = (harm.until_ns or evidence.end_ns) + SETTLE_NS
        members = [life for life in run.lives if (evidence.joined_ns(life) or there_ns) <= harm.from_ns]
        lived = [life for life in members if (life.ended_ns or evidence.end_ns) >= harm.from_ns]
        if {life.node for life in lived if (life.ended_ns or evidence.end_ns) <= there_ns} - {
            life.node for life in run.lives if (life.ended_ns or evidence.end_ns) > there_ns
        }:
            return True
    return False


def check_left(run: Run) -> Iterator[Finding]:
    """Finds what is left behind, and what was removed although it was not ours."""
    for text in run.left_processes:
        yield Finding("left-behind", f"process {text}")
    if run.left_files:
        yield Finding("left-behind", f"files {', '.join(run.left_files[:4])} ({len(run.left_files)} in all)")
    if not run.hub_ended and complete(run) and not left_unseen(run):
        yield Finding("left-behind", "the hub does not end, though every process of the universe has")
    for text in run.removed_innocents:
        yield Finding("removed-of-others", f"{text}, which belonged to nobody of this universe")
