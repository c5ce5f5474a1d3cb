"""MPI jobs of the chaos tool: what is read from the system, and who dies with whom."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

from chaos.histories import Harm, Life
from chaos.jobs import Job, Rank, descendants, jobs_of, pid_in, state_of
from chaos.perform import Performance
from chaos.plan import Fault, Program
from chaos.stage import Stage

PATIENCE_S = 60.0


def test_the_first_line_of_a_history_says_which_process_writes_it(tmp_path: Path) -> None:
    history = tmp_path / "history"
    assert pid_in(history) is None
    history.write_text('{"t":1,"e":"o"')
    assert pid_in(history) is None
    history.write_text('{"t":1,"e":"o","n":0,"c":"start","pid":4711}\n{"t":')
    assert pid_in(history) == 4711


def test_children_of_children_are_found() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        child = int(shell.stdout.readline())
        assert descendants(shell.pid) == [child]
        assert child in descendants(os.getpid())
        for pid in (child, shell.pid):
            os.kill(pid, 9)


def test_a_process_that_has_ended_has_no_state_or_that_of_a_zombie() -> None:
    assert state_of(os.getpid()) == "R"
    with subprocess.Popen(["true"]) as process:
        end = time.monotonic() + PATIENCE_S
        while state_of(process.pid) not in ("Z", "") and time.monotonic() < end:
            time.sleep(0.01)
        assert state_of(process.pid) == "Z"
    assert state_of(process.pid) == ""


def test_programs_of_one_mpi_are_one_job() -> None:
    programs = [Program("a", 2, "a", (), mpi="mpich"), Program("b", 1, "a", ()), Program("c", 1, "a", (), mpi="mpich")]
    jobs = jobs_of((*programs, Program("d", 1, "a", (), mpi="openmpi")))
    assert {mpi: [program.name for program in job.programs] for mpi, job in jobs.items()} == {
        "mpich": ["a", "c"],
        "openmpi": ["d"],
    }
    command = jobs["openmpi"].command([["x", "0"], ["x", "1"]])
    assert command == ["mpiexec.openmpi", "-n", "1", "x", "0", ":", "-n", "1", "x", "1"]


def launch(tmp_path: Path, code: int) -> Job:
    """A job of two ranks whose launcher ends at once; only the first rank has carried out its script."""
    job = Job("openmpi", launcher=subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"]))
    for rank in range(2):
        history = tmp_path / f"{rank}"
        history.write_text('{"t":1,"e":"o","n":0,"c":"stop"}\n' if rank == 0 else "")
        job.ranks.append(Rank(Life("ocean", rank, rank, 0, "a"), history))
    return job


def look_until_it_has_ended(job: Job) -> None:
    end = time.monotonic() + PATIENCE_S
    while job.launcher is not None and time.monotonic() < end:
        job.look(5.0)
        time.sleep(0.01)
    assert job.launcher is None


def test_the_rank_that_did_not_come_to_its_end_has_failed(tmp_path: Path) -> None:
    job = launch(tmp_path, 139)
    look_until_it_has_ended(job)
    assert [rank.life.exit_code for rank in job.ranks] == [0, 139]
    assert [rank.life.killed_ns for rank in job.ranks] == [None, None]
    assert job.due_s is None


def test_all_ranks_are_killed_with_one_and_start_again(tmp_path: Path) -> None:
    job = launch(tmp_path, 137)
    harm = Harm("kill", "ocean/1", 7, returns=True)
    (other,) = job.doom(harm, 2.0)
    assert (other.kind, other.target, other.from_ns, other.returns) == ("kill", "ocean/0", 7, True)
    look_until_it_has_ended(job)
    assert all(rank.life.killed_ns == rank.life.ended_ns is not None for rank in job.ranks)
    assert job.due_s == 7.0
    assert harm.until_ns == other.until_ns is not None


def test_a_job_is_starting_until_a_rank_has_begun_its_history(tmp_path: Path) -> None:
    job = Job("openmpi", launcher=subprocess.Popen(["sleep", "60"]))
    assert job.launcher is not None
    for rank in range(2):
        job.ranks.append(Rank(Life("ocean", rank, rank, 0, "a"), tmp_path / f"{rank}"))
    assert job.starting("ocean/0") and job.starting("ocean/1") and job.starting("job:openmpi")
    job.ranks[1].history.write_text(f'{{"t":1,"e":"o","n":0,"c":"start","pid":{os.getpid()}}}\n')
    assert job.starting("ocean/0") and not job.starting("ocean/1") and not job.starting("job:openmpi")
    job.launcher.kill()
    look_until_it_has_ended(job)
    assert not job.starting("ocean/0")


class OneFault(Performance):
    """A performance whose target is still being started, and which only counts what it causes."""

    def __init__(self) -> None:
        self.late_s, self.begun_s, self.launcher_works, self.caused = 0.0, time.monotonic(), True, 0
        self.stage = cast("Stage", self)

    def starting(self, target: str) -> bool:
        return self.launcher_works and target == "job:openmpi"

    def happen(self, fault: Fault) -> None:
        self.caused += 1


def test_faults_wait_for_a_launcher_that_is_slow() -> None:
    """On a busy machine a job needed 1.8 s to start. Its kill hit nobody then, and the test of the plan failed."""
    run = OneFault()
    faults = [Fault("kill", "job:openmpi", 0.0, again=True), Fault("stop", "reader/0", 0.3)]
    time.sleep(0.4)
    run.cause(faults)
    assert (run.caused, len(faults)) == (0, 2)
    run.launcher_works = False
    run.cause(faults)  # the second fault comes as long after the first one as the plan says
    assert (run.caused, len(faults)) == (1, 1)
    time.sleep(0.35)
    run.cause(faults)
    assert (run.caused, len(faults)) == (2, 0)
