"""A plan: which programs run on which node, what each does, and which faults happen when. Only the timing varies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

FAULT_KINDS = (
    # Target: a process, "hub" or "relay:NODE". It is started again after for_s, if the fault says so.
    "kill",
    # SIGSTOP, and SIGCONT after for_s.
    "stop",
    # The process is stopped most of the time, for for_s.
    "slow",
    # Target: a cable ("a-b", "hub-a", "hub-b"), which is healed after for_s.
    "cut",
    # Target: a node, whose connections are reset.
    "reset",
    # Target: a process or "hub", which gets `amount` silent connections a second for for_s.
    "flood",
    # Target: a process or "hub", which gets `amount` silent connections that are held for for_s.
    "idle_sockets",
    # Target: a process, which has only `amount` more descriptors for for_s.
    "files",
    # Target: a process, which has only `amount` more MiB of address space for for_s.
    "memory",
    # Target: a node, whose shared memory is filled up to `amount` KiB for for_s.
    "fill",
)


@dataclass(frozen=True)
class Fault:
    """One fault. Times are seconds after the start of the first program."""

    kind: str
    target: str
    at_s: float
    for_s: float = 0.0
    amount: int = 0
    again: bool = False


@dataclass(frozen=True)
class Program:
    """A program. Each rank is an actor that carries out the script. A line that begins with @n is for rank n only."""

    name: str
    ranks: int
    node: str
    script: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    start_s: float = 0.0
    required: bool = True
    # openmpi or mpich: all programs of the plan that name the same one are one MPI job. "job:MPI" is then a target of
    # the fault kill, which starts the whole job again, as does the kill of one of its ranks.
    mpi: str = ""

    def lines(self, rank: int) -> list[str]:
        """Returns the lines of one rank."""
        found = []
        for line in self.script:
            if line.startswith("@"):
                mark, line = line.split(" ", 1)
                if int(mark[1:]) != rank:
                    continue
            found.append(line)
        return found


@dataclass(frozen=True)
class Plan:
    """A whole run."""

    seed: int
    programs: tuple[Program, ...]
    faults: tuple[Fault, ...]
    settings: dict[str, str] = field(default_factory=dict)
    small_buffers: bool = False
    memory_mib: int = 0  # size of the shared memory of each node; 0: as much as there is
    # The monotonic clock of node b is ahead by this, as if the node had been started so much earlier.
    clock_ahead_s: int = 0
    # Directories of another user are beside those of the run.
    neighbours: bool = False

    def actors(self) -> Iterator[tuple[int, Program, int]]:
        """Iterates over number, program and rank of each actor."""
        number = 0
        for program in self.programs:
            for rank in range(program.ranks):
                yield number, program, rank
                number += 1

    def mpis(self) -> list[str]:
        """Returns the MPIs of its jobs."""
        return sorted({program.mpi for program in self.programs if program.mpi})

    def uses_files(self) -> bool:
        """Says whether its programs reach each other by files of a directory that they share."""
        return "file" in self.settings.get("COUPLET_LINKS", "").split(",")

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Plan:
        facts: dict[str, Any] = json.loads(text)
        programs = tuple(Program(**{**each, "script": tuple(each["script"])}) for each in facts.pop("programs"))
        faults = tuple(Fault(**each) for each in facts.pop("faults"))
        return Plan(programs=programs, faults=faults, **facts)

    def describe(self) -> str:
        """Describes the plan for people."""
        lines = [f"seed {self.seed}  settings {self.settings or 'none'}"]
        if self.small_buffers or self.memory_mib:
            lines[0] += f"  small socket buffers: {self.small_buffers}  shared memory: {self.memory_mib or 'all'} MiB"
        if self.clock_ahead_s:
            lines[0] += f"  clock of node b ahead: {self.clock_ahead_s} s"
        for program in self.programs:
            extra = f" {program.environment}" if program.environment else ""
            extra += f" in a job of {program.mpi}" if program.mpi else ""
            lines.append(
                f"{program.name}: {program.ranks} ranks on node {program.node} from {program.start_s} s{extra}"
            )
            lines += [f"    {line}" for line in program.script]
        for fault in self.faults:
            words = f"{fault.at_s:6.2f} s  {fault.kind} {fault.target}"
            words += f" for {fault.for_s} s" if fault.for_s else ""
            words += f" amount {fault.amount}" if fault.amount else ""
            lines.append(words + (", then started again" if fault.again else ""))
        return "\n".join(lines)


@dataclass(frozen=True)
class Piece:
    """A part of a plan that may be left out: a fault, a program, or a line of a script (not its join or leave)."""

    kind: str
    first: int
    second: int = 0


def pieces_of(plan: Plan) -> list[Piece]:
    found = [Piece("fault", index) for index in range(len(plan.faults))]
    found += [Piece("program", index) for index in range(len(plan.programs))]
    for index, program in enumerate(plan.programs):
        for line, text in enumerate(program.script):
            if text.split(" ")[0] not in ("join", "leave"):
                found.append(Piece("line", index, line))
    return found


def without(plan: Plan, left_out: set[Piece]) -> Plan:
    """Returns the plan without some of its pieces. Faults of programs that are not in it are left out, too."""
    programs = []
    for index, program in enumerate(plan.programs):
        if Piece("program", index) in left_out:
            continue
        kept = tuple(text for line, text in enumerate(program.script) if Piece("line", index, line) not in left_out)
        programs.append(replace(program, script=kept))
    names = {program.name for program in programs}
    faults = [
        fault
        for index, fault in enumerate(plan.faults)
        if Piece("fault", index) not in left_out and ("/" not in fault.target or fault.target.split("/")[0] in names)
    ]
    return replace(plan, programs=tuple(programs), faults=tuple(faults))
