"""Carries out a plan: starts everything, causes the faults, and collects the results for the checker."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from chaos.histories import Harm, Life, Run
from chaos.network import NamespacesError, Network
from chaos.plan import Fault, Plan
from chaos.stage import Stage
from chaos.tree import BuiltTree

TICK_S = 0.01
# The limit for the actors. Their scripts take much less.
DEADLINE_S = 75.0
RELAYS_END_S = 20.0
HUB_ENDS_S = 20.0
MEGABYTE = 1 << 20
BUSY_NS = 500_000_000


def ended_without_leaving(life: Life) -> bool:
    """Says whether a process may leave files: it was killed, or gave up for lack of memory."""
    return bool(life.killed_ns or life.ended_at_deadline or life.stopped_itself)


class Performance:
    """One run."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.plan, self.network = stage, stage.plan, stage.network
        self.harms: list[Harm] = []
        self.due: list[tuple[float, Callable[[], None]]] = []
        self.begun_s = 0.0
        self.late_s = 0.0  # by which faults come later than the plan says, since a target was slow to start
        self.helpers: list[subprocess.Popen[bytes]] = []
        self.force_clean = False
        self.over = False  # all actors have ended, and every fault ends with them

    def now_s(self) -> float:
        return time.monotonic() - self.begun_s

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self.due.append((self.now_s() + seconds, action))

    def perform(self) -> Run:
        self.begun_s = self.stage.begun_s = time.monotonic()
        begun_ns = time.monotonic_ns()
        self.stage.start_hub()
        for actor in self.stage.actors:
            actor.due_s = None if actor.program.mpi else actor.program.start_s
        for job in self.stage.jobs.values():
            job.due_s = job.programs[0].start_s
        faults = sorted(self.plan.faults, key=lambda fault: fault.at_s)
        while self.stage.look() and self.now_s() < DEADLINE_S:
            for actor in self.stage.actors:
                if actor.due_s is not None and actor.due_s <= self.now_s():
                    actor.due_s = None
                    self.stage.start_actor(actor)
            for job in self.stage.jobs.values():
                if job.due_s is not None and job.due_s <= self.now_s():
                    job.due_s = None
                    self.stage.start_job(job)
            self.cause(faults)
            self.run_due(self.now_s())
            self.sleep_a_tick()
        ended_ns = time.monotonic_ns()
        self.end_faults()
        self.stage.end_by_force()
        return self.collect(begun_ns, ended_ns)

    def cause(self, faults: list[Fault]) -> None:
        """Causes the faults that are due. While a target is being started, which takes seconds on a busy machine, this
        fault and all later ones wait: without a target it would be none, or hit what is not yet the library's.
        """
        while faults and faults[0].at_s + self.late_s <= self.now_s():
            if self.stage.starting(faults[0].target):
                self.late_s = self.now_s() - faults[0].at_s
                return
            self.happen(faults.pop(0))

    def sleep_a_tick(self) -> None:
        """Sleeps for a tick. If it takes much longer, the machine is busy, and what is slow meanwhile is excused."""
        before_ns = time.monotonic_ns()
        time.sleep(TICK_S)
        after_ns = time.monotonic_ns()
        if after_ns - before_ns > BUSY_NS:
            self.harms.append(Harm("busy", "machine", before_ns, after_ns))

    def run_due(self, until_s: float) -> None:
        ready = [entry for entry in self.due if entry[0] <= until_s]
        self.due = [entry for entry in self.due if entry[0] > until_s]
        for _, action in sorted(ready, key=lambda entry: entry[0]):
            action()

    def end_faults(self) -> None:
        self.over = True
        self.run_due(float("inf"))

    def collect(self, begun_ns: int, ended_ns: int) -> Run:
        for helper in self.helpers:
            helper.kill()
            helper.wait()
        hub_ended = self.stage.wait_for_hub(HUB_ENDS_S)
        left_processes = self.stage.wait_for_relays(RELAYS_END_S)
        lives = self.stage.histories()
        clean = self.force_clean or any(ended_without_leaving(life) for life in lives)
        clean = clean or bool(left_processes) or not hub_ended
        return Run(
            plan=self.plan,
            lives=lives,
            harms=self.harms,
            begun_ns=begun_ns,
            actors_ended_ns=ended_ns,
            hub_ended=hub_ended,
            hub_ended_ns=self.stage.hub_ended_ns,
            left_processes=left_processes,
            left_files=self.stage.left_files(clean),
            removed_innocents=self.stage.removed_innocents(),
            notes=self.stage.notes,
        )

    def happen(self, fault: Fault) -> None:
        harm = Harm(fault.kind, fault.target, time.monotonic_ns())
        done: Callable[[], None] | None = getattr(self, f"begin_{fault.kind}")(fault, harm)
        if done is None:
            return
        self.harms.append(harm)

        def end() -> None:
            done()
            harm.until_ns = time.monotonic_ns()

        if fault.for_s > 0:
            self.later(fault.for_s, end)
        else:
            end()

    def signal_all(self, target: str, number: signal.Signals) -> list[int]:
        reached = []
        for pid in self.stage.pids_of(target):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                reached.append(pid)
        return reached

    def begin_kill(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        pids = self.signal_all(fault.target, signal.SIGKILL)
        if not pids:
            return None
        harm.note, harm.returns = f"pid {pids}", fault.again
        self.force_clean = True
        if fault.target == "hub":
            assert self.stage.hub is not None
            self.stage.hub.wait(20)
            return self.stage.start_hub if fault.again else self.nothing
        if (job := self.stage.job_of(fault.target)) is not None:
            self.harms += job.doom(harm, fault.for_s if fault.again else None)
            if fault.target == job.name:
                job.kill_all()
            self.stage.look()
            return self.nothing
        for actor in self.stage.actors:
            if actor.name == fault.target and actor.process is not None:
                actor.lives[-1].killed_ns = harm.from_ns
                actor.process.wait(20)
                self.stage.look()
                if fault.again:
                    actor.due_s = self.now_s() + fault.for_s
        return self.nothing

    def nothing(self) -> None:
        pass

    def begin_stop(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        pids = self.signal_all(fault.target, signal.SIGSTOP)
        if not pids:
            return None
        harm.note = f"pid {pids}"
        return lambda: self.go_on(pids)

    def go_on(self, pids: list[int]) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def begin_slow(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        if not self.stage.pids_of(fault.target):
            return None
        end_s = self.now_s() + fault.for_s

        def hold_up() -> None:
            if self.now_s() < end_s and not self.over:
                pids = self.signal_all(fault.target, signal.SIGSTOP)
                self.later(0.09, lambda: self.go_on(pids))
                self.later(0.1, hold_up)

        hold_up()
        return self.nothing

    def begin_cut(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        if not self.network.real:
            return None
        self.network.cut(fault.target)
        return lambda: self.network.heal(fault.target)

    def begin_reset(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        if not self.network.real:
            return None
        harm.note = f"{self.network.reset(fault.target)} connections"
        return self.nothing

    def attack(self, fault: Fault, per_second: int, count: int) -> Callable[[], None] | None:
        address = self.stage.listening(fault.target)
        if address is None:
            return None
        place = "b" if fault.target == "hub" else self.node_of(fault.target)
        words = [*address, per_second, max(fault.for_s, 0.5), *([count] if count else [])]
        program = str(Path(__file__).parent / "flood.py")
        self.helpers.append(
            subprocess.Popen(
                [*self.network.prefix(place), sys.executable, program, *map(str, words)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        return self.nothing

    def node_of(self, target: str) -> str:
        return next((a.program.node for a in self.stage.actors if a.name == target), "a")

    def begin_flood(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        return self.attack(fault, fault.amount, 0)

    def begin_idle_sockets(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        return self.attack(fault, 0, fault.amount)

    def limit(self, target: str, what: int, value: int, harm: Harm) -> Callable[[], None] | None:
        pids = self.stage.pids_of(target)
        if not pids:
            return None
        before = resource.prlimit(pids[0], what)
        resource.prlimit(pids[0], what, (value, before[1]))

        def restore() -> None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                resource.prlimit(pids[0], what, before)

        return restore

    def begin_files(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        for pid in self.stage.pids_of(fault.target):
            with contextlib.suppress(OSError):
                used = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
                free = next(number for number in range(len(used) + 1) if number not in used)
                return self.limit(fault.target, resource.RLIMIT_NOFILE, free + fault.amount, harm)
        return None

    def begin_memory(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        for pid in self.stage.pids_of(fault.target):
            with contextlib.suppress(OSError):
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
                most = pages * resource.getpagesize() + fault.amount * MEGABYTE
                return self.limit(fault.target, resource.RLIMIT_AS, most, harm)
        return None

    def begin_fill(self, fault: Fault, harm: Harm) -> Callable[[], None] | None:
        path = self.stage.memory(fault.target)
        if path not in self.stage.mounted:
            return None
        filler = path / "filler"
        facts = os.statvfs(path)
        room = facts.f_bavail * facts.f_frsize - fault.amount * 1024
        if room <= 0:
            return None
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, room)
        return lambda: filler.unlink(missing_ok=True)


def perform(tree: BuiltTree, plan: Plan, keep: Path | None = None) -> Run:
    """Carries out a plan. Histories and logs are copied to `keep`."""
    directory = Path(tempfile.mkdtemp(prefix="couplet-chaos-", dir="/dev/shm"))
    network = Network()
    notes = []
    try:
        network.open()
        if plan.small_buffers:
            network.small_buffers()
    except NamespacesError as error:
        network.close()
        notes.append(f"SKIPPED cut, reset: {error}")
    stage = Stage(tree, plan, network, directory)
    stage.notes += notes
    try:
        run = Performance(stage).perform()
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / "plan.json").write_text(plan.to_json() + "\n")
            for path in [*directory.glob("*.jsonl"), *directory.glob("*.log")]:
                (keep / path.name).write_bytes(path.read_bytes())
        return run
    finally:
        stage.close()
        network.close()
