"""Questions that the checks ask about a run: which process was alive when, and for how long no fault hit it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from chaos.histories import SECOND, Call, Harm, Life, Run

SETTLE_NS = 8 * SECOND  # for this long after a fault its consequences are excused
NAMED = re.compile(r"program '(\w+)' rank (\d+)")
HURTS_A_PROCESS = ("kill", "stop", "slow", "files", "memory")


def settle_ns(harm: Harm) -> int:
    return SECOND if harm.kind == "busy" else SETTLE_NS


def union_s(spans: Iterable[tuple[int, int]], begin_ns: int, end_ns: int) -> float:
    """Returns the seconds between two times that are in at least one of the spans."""
    total, at = 0, begin_ns
    for first, last in sorted(spans):
        first, last = max(first, at), min(last, end_ns)
        if last > first:
            total, at = total + last - first, last
    return total / SECOND


class Evidence:
    """A run, and the questions about it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.end_ns = max([run.actors_ended_ns, *(life.ended_ns or 0 for life in run.lives)])
        self.node_of = {life.name: life.node for life in run.lives}
        self.program_of = {program.name: program for program in run.plan.programs}
        # A process may have made a hundred thousand calls.
        self._opens = {id(life): [call for call in life.calls if call.name == "open"] for life in run.lives}

    def lives(self, name: str) -> list[Life]:
        return [life for life in self.run.lives if life.name == name]

    def end_of(self, life: Life, call: Call) -> int:
        """Returns when the call returned, or when its process ended without that."""
        return call.end_ns or life.ended_ns or self.end_ns

    def fellow_was_killed(self, name: str, time_ns: int) -> bool:
        """Says whether another rank of the same program was killed by then."""
        return self.rank_was_killed(name.split("/")[0], time_ns, besides=name)

    def rank_was_killed(self, program: str, time_ns: int, besides: str = "") -> bool:
        """Says whether a rank of this program was killed by then."""
        return any(
            harm.kind == "kill" and harm.target != besides and harm.target.split("/")[0] == program
            for harm in self.run.harms
            if harm.from_ns < time_ns
        )

    def harms_to(self, names: Iterable[str]) -> Iterator[Harm]:
        """Returns faults that may excuse something between these actors: faults of them, between them, or of their
        nodes.
        """
        wanted = set(names)
        nodes = {self.node_of.get(name, "a") for name in wanted}
        for harm in self.run.harms:
            if harm.kind == "busy" or harm.target in wanted and harm.kind in HURTS_A_PROCESS:
                yield harm
            elif harm.kind == "cut":
                if set(harm.target.split("-")) <= nodes | {"hub"}:
                    yield harm
            elif harm.kind in ("reset", "fill"):
                if harm.target in nodes:
                    yield harm
            elif harm.target.startswith(("hub", "relay:")) and harm.kind in HURTS_A_PROCESS:
                yield harm

    def calm_s(
        self, begin_ns: int, end_ns: int, names: Iterable[str], excused: Iterable[tuple[int, int]] = ()
    ) -> float:
        """Returns the seconds between two times in which no fault was in force among them, nor had been shortly
        before. excused: other times (begin and end) that do not count.
        """
        spans = [(max(first, begin_ns), min(last, end_ns)) for first, last in excused if first < end_ns]
        spans += [
            (max(harm.from_ns, begin_ns), min((harm.until_ns or self.end_ns) + settle_ns(harm), end_ns))
            for harm in self.harms_to(names)
            if harm.overlaps(begin_ns, end_ns, settle_ns(harm))
        ]
        calm, at = 0, begin_ns
        for first, last in sorted(spans):
            calm += max(0, first - at)
            at = max(at, last)
        return max(0, calm + end_ns - at) / SECOND if end_ns > begin_ns else 0.0

    def stopped_s(self, name: str, begin_ns: int, end_ns: int) -> float:
        """Returns the seconds between two times in which a process was (mostly) stopped, or the machine was busy."""
        total = 0
        for harm in self.run.harms:
            stopped = harm.target == name and harm.kind in ("stop", "slow")
            if (stopped or harm.kind == "busy") and harm.overlaps(begin_ns, end_ns):
                total += min(harm.until_ns or self.end_ns, end_ns) - max(harm.from_ns, begin_ns)
        return total / SECOND

    def silent_spans(self, life: Life) -> Iterator[tuple[int, int]]:
        """Returns the times between join and leave in which a process made no call of the library for over a second."""
        since_ns: int | None = None  # the end of its last call, while it is a member
        for call in life.calls:
            if call.name == "idle" or (since_ns is None and (call.name, call.status) != ("join", "OK")):
                continue
            if since_ns is not None and call.begin_ns - since_ns > SECOND:
                yield since_ns, call.begin_ns
            since_ns = None if call.name == "leave" else self.end_of(life, call)
        if since_ns is not None:
            yield since_ns, life.ended_ns or self.end_ns

    def fellows_in_job(self, life: Life) -> list[Life]:
        """Returns the other processes of its launch, if it is a rank of an MPI job."""
        mpi = self.mpi_of(life.program)
        if not mpi:
            return []
        return [
            one
            for one in self.run.lives
            if one.name != life.name and one.life == life.life and self.mpi_of(one.program) == mpi
        ]

    def mpi_of(self, program: str) -> str:
        return self.program_of[program].mpi if program in self.program_of else ""

    def fetches(self, program: str) -> bool:
        """Says whether this program of a job reads the window with calls of MPI, which may need the target's."""
        found = self.program_of.get(program)
        return bool(found and found.mpi and found.environment.get("COUPLET_MPI_WINDOW_DIRECT") == "0")

    def held_up_by_job_s(self, life: Life, call: Call) -> float:
        """Returns the seconds of a call in which a rank of an MPI job waited for another one, as it must: in join and
        leave for those that are in no such call, and in whatever fetches for those that are in no call at all.
        """
        fellows = self.fellows_in_job(life)
        together, end_ns = call.name in ("join", "leave"), self.end_of(life, call)
        if not fellows or not (together or self.fetches(life.program)):
            return 0.0
        spans: list[tuple[int, int]] = []
        for fellow in fellows:
            if together:
                spans += self.outside(fellow, call.name)
            else:
                spans += self.silent_spans(fellow)
            for harm in self.run.harms:
                if harm.target == fellow.name and harm.kind in ("stop", "slow"):
                    spans.append((harm.from_ns, harm.until_ns or self.end_ns))
        return union_s(spans, call.begin_ns, end_ns)

    def group_size(self, program: str) -> int:
        """Returns how many consecutive ranks of the program do a task together."""
        lines = [line for line in self.program_of[program].script if "open_tasks" in line]
        sizes = [int(word[6:]) for line in lines for word in line.split() if word.startswith("group=")]
        return sizes[0] if sizes and sizes[0] else self.program_of[program].ranks

    def group_of(self, life: Life) -> tuple[str, int]:
        """Returns the program, and the number of the group that does a task together."""
        return life.program, life.rank // self.group_size(life.program) if life.program in self.program_of else 0

    def leads_group(self, life: Life) -> bool:
        return life.program not in self.program_of or life.rank % self.group_size(life.program) == 0

    def held_up_by_group_s(self, life: Life, call: Call) -> float:
        """Returns the seconds of a call of a group of workers in which another rank of the group, which lived, was
        outside such calls, or was stopped: the ranks wait for each other.
        """
        if call.name not in ("task_next", "task_complete"):
            return 0.0
        end_ns = self.end_of(life, call)
        spans: list[tuple[int, int]] = []
        for fellow in self.run.lives:
            if self.group_of(fellow) == self.group_of(life) and fellow.rank != life.rank:
                spans += self.outside(fellow, "task_next", "task_complete")
                for harm in self.run.harms:
                    if harm.target == fellow.name and harm.kind in ("stop", "slow"):
                        spans.append((harm.from_ns, harm.until_ns or self.end_ns))
        return union_s(spans, call.begin_ns, end_ns)

    def outside(self, life: Life, *names: str) -> Iterator[tuple[int, int]]:
        """Returns the times in which a process was in no call of one of these names."""
        since_ns = life.started_ns
        for call in life.calls:
            if call.name in names:
                yield since_ns, call.begin_ns
                since_ns = self.end_of(life, call)
        yield since_ns, life.ended_ns or self.end_ns

    def alone_s(self, life: Life, call: Call) -> float:
        """Returns the seconds of a collective read or open in which another rank of its program, which lived, was in
        no such call: the ranks wait for each other (decision 25).
        """
        if not self.is_collective(life, call):
            return 0.0
        end_ns = self.end_of(life, call)
        alone: dict[str, int] = {}
        for fellow in self.run.lives:
            if fellow.program != life.program or fellow.rank == life.rank:
                continue
            began_ns, ended_ns = max(fellow.started_ns, call.begin_ns), min(fellow.ended_ns or self.end_ns, end_ns)
            outside = max(0, ended_ns - began_ns)
            for one in fellow.calls:
                if one.name == call.name and one.facts.get("h") == call.facts.get("h"):
                    outside -= max(0, min(self.end_of(fellow, one), ended_ns) - max(one.begin_ns, began_ns))
            alone[fellow.name] = alone.get(fellow.name, 0) + outside
        return max(alone.values(), default=0) / SECOND

    def seconds_together(self, life: Life, call: Call) -> float:
        """Returns the seconds of a call. If other ranks of its program are in the same collective call, they count from
        the first one that began, since the timeout of one rank ends the call for all.
        """
        begin_ns = call.begin_ns
        if self.is_collective(life, call):
            for fellow in self.run.lives:
                if fellow.program == life.program and fellow.rank != life.rank:
                    for one in fellow.calls:
                        together = one.begin_ns < call.begin_ns <= self.end_of(fellow, one)
                        if together and one.name == call.name and one.facts.get("h") == call.facts.get("h"):
                            begin_ns = min(begin_ns, one.begin_ns)
        return (self.end_of(life, call) - begin_ns) / SECOND

    def shortest_timeout_s(self, life: Life, call: Call, timeout_s: float) -> float:
        """Returns the shortest timeout of the ranks that are in this collective call together: it ends the call."""
        if not self.is_collective(life, call):
            return timeout_s
        fellows = [one for one in self.run.lives if one.program == life.program and one.rank != life.rank]
        others = [
            float(one.facts["timeout"])
            for fellow in fellows
            for one in fellow.calls
            if one.name == call.name
            and one.facts.get("h") == call.facts.get("h")
            and one.begin_ns < self.end_of(life, call)
            and self.end_of(fellow, one) > call.begin_ns
        ]
        return min([timeout_s, *(other for other in others if other >= 0)])

    def is_collective(self, life: Life, call: Call) -> bool:
        if call.name not in ("open", "read"):
            return False
        opened = [one for one in self._opens.get(id(life), []) if one.begin_ns <= call.begin_ns]
        opened = [one for one in opened if one.facts.get("h") == call.facts.get("h")]
        return bool(opened) and not opened[-1].facts.get("local")

    def was_gone(self, name: str, until_ns: int) -> bool:
        """Says whether a process of this name had ended, or had begun to leave, by then."""
        for life in self.lives(name):
            if life.ended_ns is not None and life.ended_ns <= until_ns + SECOND:
                return True
            if life.killed_ns is not None and life.killed_ns <= until_ns:
                return True
            if any(call.name == "leave" and call.begin_ns <= until_ns for call in life.calls):
                return True
        return False

    def joined_ns(self, life: Life) -> int | None:
        return next((call.end_ns for call in life.calls if call.name == "join" and call.status == "OK"), None)

    def gone_for_good_ns(self, name: str) -> int | None:
        """Returns when the last process of this name died or left, if that was before the end of the run and for
        good.
        """
        lives = self.lives(name)
        if not lives or lives[-1].ended_at_deadline:
            return None
        last = lives[-1]
        return last.left_ns() or last.killed_ns or last.ended_ns

    def named_in(self, text: str) -> list[str]:
        return [f"{program}/{rank}" for program, rank in NAMED.findall(text)]

    def harmed(self, kinds: Iterable[str], begin_ns: int, end_ns: int, target: str = "") -> bool:
        """Says whether such a fault was in force between two times, or shortly before."""
        return any(
            harm.kind in kinds and harm.target.startswith(target) and harm.overlaps(begin_ns, end_ns, SETTLE_NS)
            for harm in self.run.harms
        )
