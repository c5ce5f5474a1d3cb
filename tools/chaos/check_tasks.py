"""Checks of tasks: a worker gets only what was submitted, once, and not what was given up before; what ended with OK
was done; no task waits while all wait for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from chaos.evidence import Evidence
from chaos.histories import SECOND, Call, Finding, Life

Label = tuple[int, int, int]  # number and life of the requester, and its number of the task
Span = tuple[int, int]

STUCK_S = 10.0  # requester, coupler and workers have waited so long, and no fault hit them
# A coupler that makes a call so soon after a request was given up may have taken it before it heard that.
GIVING_UP_NS = SECOND // 2
NOT_HEARD = ("cut", "reset", "files", "memory", "fill")  # the message that a request is withdrawn may come late


@dataclass
class Given:
    """A task that a rank of a worker got."""

    life: Life
    call: Call
    complete: Call | None = None


@dataclass
class Task:
    """A task as its requester sees it, and the ranks that got it."""

    requester: Life
    submit: Call
    waits: list[Call] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"task {self.submit.facts['seq']} of {self.requester.name}"


def check_tasks(evidence: Evidence) -> Iterator[Finding]:
    tasks = submitted(evidence)
    for life in evidence.run.lives:
        for given in given_to(life):
            task = tasks.get(label_of(given.call))
            if task is None or task.submit.begin_ns > evidence.end_of(life, given.call):
                text = f"{life.name} got a task that nobody has submitted: {label_of(given.call)}"
                yield Finding("task-invented", text, place_of(given))
            else:
                task.given.append(given)
    for task in tasks.values():
        yield from check_once(evidence, task)
        yield from check_given_up(evidence, task)
        yield from check_outcome(evidence, task)
        yield from check_stuck(evidence, task)
    yield from check_groups(evidence)


def label_of(call: Call) -> Label:
    return call.facts["sender"], call.facts["life"], call.facts["seq"]


def place_of(given: Given) -> str:
    return f"{given.life.name} life {given.life.life}, task_next at {given.call.begin_ns}"


def submitted(evidence: Evidence) -> dict[Label, Task]:
    tasks: dict[Label, Task] = {}
    for life in evidence.run.lives:
        for call in life.calls:
            if call.name == "submit":
                tasks[life.number, life.life, call.facts["seq"]] = Task(life, call)
            elif call.name == "task_wait" and (task := tasks.get((life.number, life.life, call.facts.get("seq", -1)))):
                task.waits.append(call)
    return tasks


def given_to(life: Life) -> list[Given]:
    found: list[Given] = []
    for call in life.calls:
        if call.name == "task_next" and call.status == "OK" and not call.facts["wrong"]:
            found.append(Given(life, call))
        elif call.name == "task_complete" and found and found[-1].complete is None:
            found[-1].complete = call
    return found


def opened(life: Life) -> list[Call]:
    return [call for call in life.calls if call.name == "open_tasks" and call.status == "OK"]


def lives_with_role(evidence: Evidence, role: str) -> list[Life]:
    return [life for life in evidence.run.lives if any(call.facts["role"] == role for call in opened(life))]


def check_once(evidence: Evidence, task: Task) -> Iterator[Finding]:
    """A task is done once, unless a coupler died while it was offered, or a worker has not completed it. A coupler
    without memory gives up a worker that lives.
    """
    end_ns = evidence.end_of(task.requester, task.submit)
    if evidence.harmed(("memory",), task.submit.begin_ns, evidence.end_ns):
        return
    for life in lives_with_role(evidence, "coupler"):
        if life.killed_ns is not None and task.submit.begin_ns - SECOND < life.killed_ns < end_ns + SECOND:
            return
    firsts: dict[tuple[str, int], Given] = {}
    for given in sorted(task.given, key=lambda each: each.call.end_ns or 0):
        group = evidence.group_of(given.life)
        before = firsts.get(group)
        again = before is not None and before.life.name == given.life.name
        undone = [one for one in task.given if one is not given and not is_done(one)]
        if (again or (firsts and before is None)) and not undone:
            text = f"{task.title} was done by {next(iter(firsts.values())).life.name}, and by {given.life.name}"
            yield Finding("task-twice", text, place_of(given))
        firsts.setdefault(group, given)


def is_done(given: Given) -> bool:
    """Says whether the worker has told that it has done the task. If it was killed then, that may not have arrived."""
    if given.complete is None or given.complete.status != "OK":
        return False
    return given.life.killed_ns is None or given.life.killed_ns > (given.complete.end_ns or 0) + SECOND


def calls_within(life: Life, begin_ns: int, end_ns: int) -> bool:
    """Says whether the process made a call of the library between two times."""
    return any(
        call.name != "idle" and call.begin_ns < end_ns and (call.end_ns or end_ns) > begin_ns for call in life.calls
    )


def check_given_up(evidence: Evidence, task: Task) -> Iterator[Finding]:
    """What was given up while no coupler made a call is not done."""
    submit = task.submit
    if submit.status != "ERROR_TIMEOUT" or not task.given or submit.end_ns is None:
        return
    couplers = lives_with_role(evidence, "coupler")
    if any(calls_within(life, submit.begin_ns, submit.end_ns + GIVING_UP_NS) for life in couplers):
        return
    done_ns = evidence.end_of(task.given[0].life, task.given[0].call)
    if task.requester.killed_ns is None and not evidence.harmed(NOT_HEARD, submit.begin_ns, done_ns):
        text = f"{task.title} was given up after {submit.seconds:.1f} s, and {task.given[0].life.name} got it"
        yield Finding("task-given-up", text, place_of(task.given[0]))


def check_outcome(evidence: Evidence, task: Task) -> Iterator[Finding]:
    """A task that has ended well was done before."""
    for wait in task.waits:
        if wait.status == "OK" and not any(
            each.complete is not None and each.complete.begin_ns <= (wait.end_ns or 0) for each in task.given
        ):
            text = f"{task.title} ended with OK, and no worker had completed it"
            yield Finding("task-not-done", text, f"{task.requester.name}, task_wait at {wait.begin_ns}")


def common(first: Iterable[Span], second: list[Span]) -> list[Span]:
    """Returns the times that are in both lists."""
    pairs = [(max(a, c), min(b, d)) for a, b in first for c, d in second]
    return [(begin, end) for begin, end in pairs if begin < end]


def spans_of(evidence: Evidence, life: Life, names: tuple[str, ...]) -> list[Span]:
    return [(call.begin_ns, evidence.end_of(life, call)) for call in life.calls if call.name in names]


def check_stuck(evidence: Evidence, task: Task) -> Iterator[Finding]:
    """The requester waits, a coupler runs, and all workers wait for a task: it was lost."""
    if task.given or not task.waits or task.waits[-1].status not in ("ERROR_TIMEOUT", ""):
        return
    couplers, workers = lives_with_role(evidence, "coupler"), lives_with_role(evidence, "worker")
    if not workers or any(life.life for life in couplers + workers):
        return  # after a death the task has an error, which the requester may hear late
    waiting = [(call.begin_ns, evidence.end_of(task.requester, call)) for call in task.waits]
    workers = [life for life in workers if not life.has_closed_tasks(waiting[0][0])]
    if not workers:
        return
    for life in workers:
        waiting = common(waiting, spans_of(evidence, life, ("task_next",)))
    for life in couplers:
        waiting = common(waiting, spans_of(evidence, life, ("task_run",)))
    names = {life.name for life in (task.requester, *couplers, *workers)}
    seconds = sum(evidence.calm_s(begin, end, names) for begin, end in waiting)
    if seconds > STUCK_S:
        text = f"{task.title} was not given to any worker for {seconds:.1f} s, in which all waited for a task"
        yield Finding("task-stuck", text, f"{task.requester.name}, task_wait at {task.waits[0].begin_ns}")


def check_groups(evidence: Evidence) -> Iterator[Finding]:
    """All ranks of a group get the same tasks in the same order, if none was lost."""
    groups: dict[tuple[str, int], list[Life]] = {}
    for life in lives_with_role(evidence, "worker"):
        groups.setdefault(evidence.group_of(life), []).append(life)
    for lives in groups.values():
        calm = all(
            life.life == 0
            and life.killed_ns is None
            and not life.ended_at_deadline
            and not any(call.name.startswith("task_") and call.status.startswith("ERROR") for call in life.calls)
            for life in lives
        )
        if not calm:
            continue
        first = [label_of(each.call) for each in given_to(lives[0])]
        for life in lives[1:]:
            other = [label_of(each.call) for each in given_to(life)]
            if first != other:
                number = next((at for at, pair in enumerate(zip(first, other, strict=False)) if pair[0] != pair[1]), -1)
                text = f"{lives[0].name} got {len(first)} tasks, and {life.name} {len(other)}"
                text += f"; number {number} differs: {first[number]}, {other[number]}" if number >= 0 else ""
                yield Finding("task-ranks-differ", text, f"{life.name} life 0")
