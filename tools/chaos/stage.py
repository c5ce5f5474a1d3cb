"""The stage of one run: directories, secret, hub, relays and actors as processes."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from chaos import jobs
from chaos.histories import SECOND, Life, read_history
from chaos.network import Network
from chaos.plan import Plan, Program
from chaos.tree import BuiltTree

# Looks like a directory of a run, and belongs to another user.
INNOCENT = "0123456789abcdef"


@dataclass
class Actor:
    """One rank of a program. Each of its processes is a life."""

    number: int
    program: Program
    rank: int
    process: subprocess.Popen[bytes] | None = None
    lives: list[Life] = field(default_factory=list)
    due_s: float | None = None  # when it is started (again)

    @property
    def name(self) -> str:
        return f"{self.program.name}/{self.rank}"


class Stage:
    """The processes and files of one run, below one directory."""

    def __init__(self, tree: BuiltTree, plan: Plan, network: Network, directory: Path) -> None:
        self.tree, self.plan, self.network, self.directory = tree, plan, network, directory
        self.actors = [Actor(number, program, rank) for number, program, rank in plan.actors()]
        self.jobs = jobs.jobs_of(plan.programs)
        self.begun_s = 0.0
        self.hub: subprocess.Popen[bytes] | None = None
        self.hub_port = 0
        self.hub_ended_ns: int | None = None
        self.mounted: list[Path] = []
        self.clock_works = False
        self.notes: list[str] = []
        self.secret = directory / "secret"
        self.secret.touch(mode=0o600)
        self.secret.write_text(secrets.token_hex(32) + "\n")
        self.run_id = ""  # what the hub has printed; a hub that is started again resumes it
        for node in ("a", "b"):
            self.prepare_node(node)

    def memory(self, node: str) -> Path:
        """Returns the root of the shared memory of a node, which a fault may fill."""
        return self.directory / node

    def run_directory(self, node: str) -> Path:
        """Returns the run directory. No file of a fault is in it: the library leaves a directory with foreign files."""
        return self.memory(node) / "run"

    def prepare_node(self, node: str) -> None:
        path = self.memory(node)
        path.mkdir(mode=0o700)
        if self.plan.memory_mib:
            options = ["-t", "tmpfs", "-o", f"size={self.plan.memory_mib}m,mode=0700", "tmpfs"]
            done = subprocess.run(["mount", *options, str(path)], capture_output=True, text=True)
            if done.returncode == 0:
                self.mounted.append(path)
            else:
                self.notes.append(f"SKIPPED a small shared memory: {done.stderr.strip()}")
        self.run_directory(node).mkdir(mode=0o700)
        if self.plan.neighbours:
            innocent = self.run_directory(node) / INNOCENT
            innocent.mkdir(mode=0o700)
            (innocent / "thesis").write_text("of somebody else\n")

    def environment(self, node: str, extra: dict[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COUPLET_")}
        return {
            **kept,
            "COUPLET_HUB": f"{self.network.hub_address(node)}:{self.hub_port}",
            "COUPLET_SECRET_FILE": str(self.secret),
            "COUPLET_RUN_DIR": str(self.run_directory(node)),
            "COUPLET_NODE": node,
            **({"COUPLET_FILE_DIRECTORY": str(self.directory / "files")} if self.plan.uses_files() else {}),
            **self.plan.settings,
            **extra,
        }

    def start_hub(self) -> None:
        """Starts the hub, at first and again at the same address."""
        programs = ",".join(f"{each.name}:{each.ranks}" + ("" if each.required else "?") for each in self.plan.programs)
        address = "0.0.0.0" if self.network.real else "127.0.0.1"
        command = [*self.network.prefix("hub"), str(self.tree.program("couplet-hub")), "--programs", programs]
        command += ["--listen", f"{address}:{self.hub_port}", "--secret-file", str(self.secret)]
        if self.run_id:
            command += ["--resume", self.run_id]
        with (self.directory / "hub.log").open("ab") as log:
            environment = self.environment("a", {}) | {"COUPLET_RUN_DIR": str(self.directory)}
            self.hub = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)
        assert self.hub.stdout is not None
        line = self.hub.stdout.readline().decode().strip()
        if not line.startswith("COUPLET_HUB="):
            self.notes.append(f"the hub did not start: {(self.directory / 'hub.log').read_text()[-300:]}")
            return
        if self.tree.hub_has("--resume "):
            self.run_id = self.hub.stdout.readline().decode().strip().removeprefix("COUPLET_RUN=")
        self.hub_ended_ns = None
        self.hub_port = int(line.rsplit(":", 1)[1])

    def start_actor(self, actor: Actor) -> None:
        program = actor.program
        command, life = self.next_life(actor)
        with (self.directory / "actors.log").open("ab") as log:
            actor.process = subprocess.Popen(
                [*self.network.prefix(program.node), *self.clock(program.node), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env=self.environment(program.node, program.environment),
            )
        life.started_ns = time.monotonic_ns()

    def start_job(self, job: jobs.Job) -> None:
        """Starts all its ranks with one launcher. Each rank has the settings of its program."""
        node = job.programs[0].node
        commands, job.ranks, job.again_after_s = [], [], None
        started_ns = time.monotonic_ns()
        for actor in self.actors:
            if actor.program.mpi == job.mpi:
                command, life = self.next_life(actor)
                own = [f"{name}={value}" for name, value in actor.program.environment.items()]
                commands.append(["env", *own, *command])
                life.started_ns = started_ns
                job.ranks.append(jobs.Rank(life, self.history(actor, life.life)))
        with (self.directory / "actors.log").open("ab") as log:
            job.launcher = subprocess.Popen(
                [*self.network.prefix(node), *self.clock(node), *job.command(commands)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env=self.environment(node, job.environment(self.directory)),
            )
        job.launches += 1

    def next_life(self, actor: Actor) -> tuple[list[str], Life]:
        """Returns the command of the next process of an actor, and its life, which is yet without a time."""
        life, program = len(actor.lives), actor.program
        script = self.directory / f"{actor.number}.script"
        script.write_text("\n".join(program.lines(actor.rank)) + "\n")
        words = [program.name, actor.rank, program.ranks, life, self.plan.seed, actor.number, script]
        command = [str(self.tree.actor(program.mpi)), *map(str, words), str(self.history(actor, life))]
        actor.lives.append(Life(program.name, actor.rank, actor.number, life, program.node))
        return command, actor.lives[-1]

    def clock(self, node: str) -> list[str]:
        """Returns the words before a command of a node whose clock differs. Every machine counts from its own start."""
        ahead = str(self.plan.clock_ahead_s)
        prefix = ["unshare", "--time", "--monotonic", ahead, "--boottime", ahead, "--"]
        if node == "a" or not self.plan.clock_ahead_s:
            return []
        if not self.clock_works:
            done = subprocess.run([*prefix, "true"], capture_output=True, text=True)
            self.clock_works = done.returncode == 0
            if not self.clock_works:
                self.notes.append(f"SKIPPED a clock that differs: {done.stderr.strip()}")
                return []
        return prefix

    def history(self, actor: Actor, life: int) -> Path:
        return self.directory / f"{actor.program.name}-{actor.rank}-{life}.jsonl"

    def look(self) -> bool:
        """Notes which processes have ended. Returns True while an actor runs or is to be started."""
        busy = False
        if self.hub is not None and self.hub_ended_ns is None and self.hub.poll() is not None:
            self.hub_ended_ns = time.monotonic_ns()
        for actor in self.actors:
            if actor.process is not None:
                code = actor.process.poll()
                if code is not None:
                    actor.lives[-1].ended_ns, actor.lives[-1].exit_code = time.monotonic_ns(), code
                    actor.process = None
            busy = busy or actor.process is not None or actor.due_s is not None
        for job in self.jobs.values():
            job.look(time.monotonic() - self.begun_s)
            busy = busy or job.launcher is not None or job.due_s is not None
        return busy

    def job_of(self, target: str) -> jobs.Job | None:
        """Returns the job that is meant by a target, or to which this rank belongs."""
        named = target.removeprefix(jobs.PREFIX)
        mpi = named if named != target else next((a.program.mpi for a in self.actors if a.name == target), "")
        return self.jobs.get(mpi)

    def starting(self, target: str) -> bool:
        """Says whether this target is a process, or a job, that has been started and has not begun its history."""
        if (job := self.job_of(target)) is not None:
            return job.starting(target)
        return any(
            actor.name == target
            and actor.process is not None
            and jobs.pid_in(self.history(actor, actor.lives[-1].life)) is None
            for actor in self.actors
        )

    def pids_of(self, target: str) -> list[int]:
        """Returns the processes of an actor, "hub" or "relay:NODE" (the process that serves, not its keeper)."""
        if target == "hub":
            return [self.hub.pid] if self.hub is not None and self.hub.poll() is None else []
        if target.startswith("relay:"):
            return self.relays(target.split(":")[1])
        if (job := self.job_of(target)) is not None:
            return job.alive(target) if job.launcher is not None else []
        return [a.process.pid for a in self.actors if a.name == target and a.process is not None]

    def relays(self, node: str | None = None) -> list[int]:
        """Returns the relays of this run, or those that serve one node (a keeper has a child)."""
        found: dict[int, int] = {}
        directories = [self.run_directory(node)] if node else [self.run_directory("a"), self.run_directory("b")]
        ours = [f"COUPLET_RUN_DIR={path}".encode() for path in directories]
        for each in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (each / "comm").read_text() != "couplet-relay\n":
                    continue
                environment = (each / "environ").read_bytes().split(b"\0")
                if any(one in environment for one in ours):
                    found[int(each.name)] = int((each / "stat").read_text().rsplit(")", 1)[1].split()[1])
        keepers = set(found.values()) if node else set()
        return sorted(set(found) - keepers)

    def listening(self, target: str) -> tuple[str, int] | None:
        """Returns host, as seen from the node of the attacker, and port of the hub or of a member."""
        if target == "hub":
            return (self.network.hub_address("b"), self.hub_port)
        pids = self.pids_of(target)
        sockets = set()
        for pid in pids[:1]:
            with contextlib.suppress(OSError):
                for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                    with contextlib.suppress(OSError):
                        sockets.add(str(descriptor.readlink()))
                for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
                    row = line.split()
                    if row[3] == "0A" and f"socket:[{row[9]}]" in sockets:
                        host, port = row[1].split(":")
                        return socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16)
        return None

    def end_by_force(self) -> None:
        """Ends the processes that still run, and notes where each of their threads was."""
        for actor in self.actors:
            if actor.process is None:
                continue
            life = actor.lives[-1]
            life.ended_at_deadline = life.killed_ns is None
            life.stacks = stacks_of(actor.process.pid)
            actor.process.send_signal(signal.SIGKILL)
            actor.process.wait(20)
        for job in self.jobs.values():
            for rank in job.ranks if job.launcher is not None else ():
                if rank.life.ended_ns is None and not job.harms:
                    rank.life.ended_at_deadline = True
                    rank.life.stacks = stacks_of(rank.pid)
            job.kill_all()
        self.look()

    def histories(self) -> list[Life]:
        lives = []
        for actor in self.actors:
            for life in actor.lives:
                ahead_s = self.plan.clock_ahead_s if self.clock_works and life.node == "b" else 0
                read_history(self.history(actor, life.life), life, ahead_s * SECOND)
                lives.append(life)
        return lives

    def wait_for_hub(self, seconds: float) -> bool:
        """Says whether the hub ends by itself."""
        if self.hub is None:
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.hub.wait(seconds)
            return True
        self.hub.kill()
        self.hub.wait(20)
        return False

    def wait_for_relays(self, seconds: float) -> list[str]:
        """Returns the relays that do not end by themselves."""
        end = time.monotonic() + seconds
        while (left := self.relays()) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return [f"couplet-relay (pid {pid})" for pid in left]

    def left_files(self, clean: bool) -> list[str]:
        """Returns the files in the run directories, after couplet-clean if processes have been killed."""
        left: list[str] = []
        for node in ("a", "b"):
            path = self.run_directory(node)
            end = time.monotonic() + 5
            while True:
                if clean:
                    command = [str(self.tree.program("couplet-clean"))]
                    subprocess.run(command, env=self.environment(node, {}), capture_output=True, timeout=30)
                found = [one for one in path.rglob("*") if INNOCENT not in one.parts]
                # The lock of the base stays as long as another user may use it.
                if self.plan.neighbours:
                    found = [one for one in found if one != path / "lock"]
                if not found or time.monotonic() > end:
                    break
                time.sleep(0.1)
            left += [str(one.relative_to(self.directory)) for one in found]
        return left

    def removed_innocents(self) -> list[str]:
        if not self.plan.neighbours:
            return []
        paths = [self.run_directory(node) / INNOCENT / "thesis" for node in ("a", "b")]
        return [str(path.relative_to(self.directory)) for path in paths if not path.exists()]

    def close(self) -> None:
        self.end_by_force()
        self.wait_for_hub(0)
        self.wait_for_relays(0)
        for path in self.mounted:
            subprocess.run(["umount", "-l", str(path)], capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)


def stacks_of(pid: int | None) -> str:
    """Returns where a process is in the system."""
    with contextlib.suppress(OSError):
        base = Path(f"/proc/{pid}")
        return f"{(base / 'wchan').read_text()} {(base / 'syscall').read_text().split()[0]}"
    return ""
