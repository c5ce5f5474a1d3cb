"""MPI jobs of a run: programs that one launcher starts as ranks of one job. They start and die together."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from chaos.histories import Harm, Life, stopped_in_good_order
from chaos.plan import Program

PREFIX = "job:"  # begins the name of a job as a target of a fault


@dataclass
class Rank:
    """One process of a job."""

    life: Life
    history: Path
    pid: int | None = None

    def alive(self) -> bool:
        """Says whether it still runs. A process that has ended may be waiting for the launcher as a zombie."""
        if self.pid is None:
            self.pid = pid_in(self.history)
        return self.pid is not None and state_of(self.pid) not in ("", "Z", "X")


@dataclass
class Job:
    """All programs of a plan that name the same MPI. Each of its launches is a life of all its ranks."""

    mpi: str
    programs: list[Program] = field(default_factory=list)
    launcher: subprocess.Popen[bytes] | None = None
    ranks: list[Rank] = field(default_factory=list)  # those that were launched last
    launches: int = 0
    due_s: float | None = None
    again_after_s: float | None = None  # once it has ended
    harms: list[Harm] = field(default_factory=list)  # that end this launch, until it has ended

    @property
    def name(self) -> str:
        return PREFIX + self.mpi

    def command(self, actors: list[list[str]]) -> list[str]:
        """Returns the launcher's command. Each actor, with its environment, is one rank."""
        words = [f"mpiexec.{self.mpi}"]
        if self.mpi == "mpich":
            words += ["-hosts", "localhost", "-launcher", "fork", "-iface", "lo"]
        for index, actor in enumerate(actors):
            words += ([":"] if index else []) + ["-n", "1", *actor]
        return words

    def environment(self, directory: Path) -> dict[str, str]:
        """Returns settings of the MPI: its files are below the directory, and its connections are on the node."""
        own = directory / f"{self.mpi}-{self.launches}"
        own.mkdir()
        names = ("orte_tmpdir_base", "btl_vader_backing_directory", "osc_sm_backing_directory")
        tied = {f"OMPI_MCA_{name}": "lo" for name in ("oob_tcp_if_include", "btl_tcp_if_include")}
        rest = {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_orte_abort_print_stack": "0"}
        return {f"OMPI_MCA_{name}": str(own) for name in names} | tied | rest

    def alive(self, name: str) -> list[int]:
        """Returns the process of a rank, or those of all ranks if it is the name of the job."""
        found = [rank for rank in self.ranks if name in (rank.life.name, self.name)]
        return [rank.pid for rank in found if rank.alive() and rank.pid is not None]

    def starting(self, name: str) -> bool:
        """Says whether the launcher has yet to start this rank, or any rank if it is the name of the job."""
        found = [rank for rank in self.ranks if name in (rank.life.name, self.name)]
        return self.launcher is not None and not any(rank.alive() or rank.pid is not None for rank in found)

    def kill_all(self) -> None:
        if self.launcher is not None:
            for pid in [self.launcher.pid, *descendants(self.launcher.pid), *self.alive(self.name)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.launcher.wait(20)

    def doom(self, harm: Harm, again_after_s: float | None) -> list[Harm]:
        """Notes that this fault kills ranks: the launcher ends those that are left. Returns the harm of each rank."""
        self.again_after_s = again_after_s
        mine = [
            Harm("kill", rank.life.name, harm.from_ns, None, f"dies with {harm.target}", harm.returns)
            for rank in self.ranks
            if rank.life.name != harm.target
        ]
        self.harms += [harm, *mine]
        return mine

    def look(self, now_s: float) -> None:
        """Notes which ranks have ended, and what the launcher says about it."""
        if self.launcher is None:
            return
        code, now_ns = self.launcher.poll(), time.monotonic_ns()
        for rank in self.ranks:
            gone = rank.pid is not None and not rank.alive()
            if rank.life.ended_ns is None and (gone or code is not None):
                rank.life.ended_ns = now_ns
                rank.life.killed_ns = rank.life.ended_ns if self.harms else None
        if code is None:
            return
        self.launcher = None
        good = [stopped_in_good_order(rank.history) for rank in self.ranks]
        for rank, well in zip(self.ranks, good, strict=True):
            rank.life.exit_code = 0 if well and not all(good) else code
        for harm in self.harms:
            harm.until_ns = now_ns
        self.harms = []
        if self.again_after_s is not None:
            self.due_s = now_s + self.again_after_s


def jobs_of(programs: tuple[Program, ...]) -> dict[str, Job]:
    """Returns the jobs of a plan by the name of their MPI."""
    jobs: dict[str, Job] = {}
    for program in programs:
        if program.mpi:
            jobs.setdefault(program.mpi, Job(program.mpi)).programs.append(program)
    return jobs


def pid_in(history: Path) -> int | None:
    """Returns the process that writes this history. Its first line says it."""
    with contextlib.suppress(OSError, ValueError, IndexError, KeyError):
        return int(json.loads(history.read_text(errors="replace").splitlines()[0])["pid"])
    return None


def state_of(pid: int) -> str:
    """Returns the letter of the state of a process, or "" if there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return ""


def descendants(pid: int) -> list[int]:
    """Returns the processes that a process has started, and those that these have."""
    parents: dict[int, int] = {}
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(each.name)] = int((each / "stat").read_text().rsplit(")", 1)[1].split()[1])
    found, last = [], [pid]
    while last:
        last = [child for child, parent in parents.items() if parent in last]
        found += last
    return found
