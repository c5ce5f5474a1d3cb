"""Programs on Slurm: where their steps run, the relays beside them, and the address at which nodes reach the hub.

Outside a job, each program with ``launcher = "slurm"`` gets a job of its own (salloc), which ends with this process. In
a heterogeneous job, program i gets component i. In any other job the programs share its nodes: each has nodes of its
own if there are enough for all of them.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from couplet.cli.configuration import Configuration, Program

ANSWER_S = 30.0  # for one answer of Slurm's commands
END_S = 10.0  # for salloc to give a job back
MAX_NODES_ASKED = 8  # until one tells by which address this host is reached

# Options of srun that belong to the allocation, not to a step in it. salloc and sbatch know them, too.
ALLOCATION_OPTIONS = {
    *("-A", "--account", "-p", "--partition", "-t", "--time", "--time-min", "-C", "--constraint", "-q", "--qos"),
    *("--reservation", "--mem", "--mem-per-cpu", "--mem-per-gpu", "--gres", "-G", "--gpus", "--gpus-per-node"),
    *("--gpus-per-task", "-L", "--licenses", "-w", "--nodelist", "-x", "--exclude", "--begin", "-d", "--dependency"),
    *("--comment", "-s", "--oversubscribe", "--exclusive", "--contiguous", "--switches", "--tmp", "--nice", "--power"),
    *("--cluster-constraint", "-M", "--clusters", "--mincpus", "--deadline", "--mail-type", "--mail-user", "--wckey"),
    *("--priority", "--hint", "--sockets-per-node", "--cores-per-socket", "--threads-per-core", "-B"),
}
# Options that the allocation and the step both need.
SHARED_OPTIONS = {"--ntasks-per-node", "--ntasks-per-core", "--ntasks-per-socket"}
# What has a key of its own, and what `couplet run` says itself.
_KEYS = {
    **{"-n": "ranks", "--ntasks": "ranks", "-N": "nodes", "--nodes": "nodes"},
    **{"-c": "threads", "--cpus-per-task": "threads"},
}
_OURS = {"-J", "--job-name", "--jobid", "--het-group"}
_NAMES_NODES = ("-w", "--nodelist", "-r", "--relative", "-x", "--exclude", "-m", "--distribution")
_JOB_LINE = re.compile(r"couplet-job (\d+) (\d+) (\S+)")


class SlurmError(Exception):
    """Slurm has refused something, or does not answer. The text says what was asked and what it said."""


def slurm_programs(configuration: Configuration) -> list[Program]:
    """Returns the programs with ``launcher = "slurm"``, in the order of the file."""
    return [program for program in configuration.programs if program.launcher == "slurm"]


def split_options(options: list[str]) -> tuple[list[str], list[str]]:
    """Divides options of srun into those of the allocation and those of the step; some belong to both."""
    allocation: list[str] = []
    step: list[str] = []
    chosen: tuple[list[str], ...] = (step,)
    for word in options:
        if word.startswith("-"):
            name = word.split("=", 1)[0] if word.startswith("--") else word[:2]
            chosen = (allocation,) if name in ALLOCATION_OPTIONS else (step,)
            chosen = (allocation, step) if name in SHARED_OPTIONS else chosen
        for words in chosen:
            words.append(word)
    return allocation, step


def mistaken_option(options: list[str]) -> tuple[str, str] | None:
    """Returns what is wrong with the first option that a program may not have, and what to do; None if all are good."""
    for word in options:
        name = word.split("=", 1)[0] if word.startswith("--") else word[:2]
        if not word.startswith("-"):
            continue
        if name in _KEYS:
            return f"{name} in launcher_options is the key {_KEYS[name]}", f"{_KEYS[name]} = N"
        if name in _OURS:
            return f"{name} in launcher_options is set by couplet run", "leave it out"
        full = sorted(one for one in {*ALLOCATION_OPTIONS, *SHARED_OPTIONS, *_KEYS, *_OURS} if one.startswith(name))
        if word.startswith("--") and len(name) > 2 and full and name not in full:
            text = f"{name} in launcher_options is not written in full, so the job of the program would not get it"
            return text, " or ".join(full)
    return None


def only_options(options: list[str], names: set[str]) -> list[str]:
    """Returns the options with one of these names, with their values."""
    found: list[str] = []
    taken = False
    for word in options:
        if word.startswith("-"):
            taken = (word.split("=", 1)[0] if word.startswith("--") else word[:2]) in names
        found += [word] if taken else []
    return found


def salloc_words(program: Program, universe: str) -> list[str]:
    """Returns the command by which a program gets a job of its own, without what runs in it."""
    allocation = split_options(program.launcher_options)[0]
    return ["salloc", f"--job-name={universe}.{program.name}", *size_words(program), *allocation]


def size_words(program: Program) -> list[str]:
    """Returns the words by which salloc, sbatch and srun are told how large a program is."""
    words = [f"--ntasks={program.ranks}"]
    words += [f"--nodes={program.nodes}"] if program.nodes is not None else []
    words += [f"--cpus-per-task={program.threads}"] if program.threads is not None else []
    return words


def ask(*command: str) -> str:
    """Returns what one of Slurm's commands prints. Raises SlurmError with its text if it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=ANSWER_S,
            check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise SlurmError(f"{command[0]} is not installed here") from error
    except subprocess.TimeoutExpired as error:
        raise SlurmError(f"{' '.join(command)} has not answered within {ANSWER_S:.0f} s") from error
    if done.returncode != 0:
        raise SlurmError(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _local_address_towards(address: str) -> str | None:
    """Returns this host's address on the way to another one. No packet is sent."""
    with contextlib.suppress(OSError):
        for family, kind, _, _, target in socket.getaddrinfo(address, 9, type=socket.SOCK_DGRAM):
            with contextlib.suppress(OSError), socket.socket(family, kind) as one:
                one.connect(target)
                return str(one.getsockname()[0])
    return None


def address_for(node_list: str) -> str:
    """Returns the address of this host at which the nodes reach it.

    Raises SlurmError if none of the first nodes of the list has an address to which a way leads.
    """
    names = ask("scontrol", "show", "hostnames", node_list).split()[:MAX_NODES_ASKED]
    loopback = None
    for name in names:
        found = re.search(r"\bNodeAddr=(\S+)", ask("scontrol", "show", "node", name, "--oneliner"))
        address = _local_address_towards(found[1]) if found else None
        if address is not None and not address.startswith("127.") and address != "::1":
            return address
        loopback = loopback or address
    if loopback is not None:
        return loopback  # every node is this host
    raise SlurmError(
        f"no way leads from this host to the nodes {node_list}; set listen in [universe] to an address of this host "
        'that the nodes reach, as in listen = "10.0.0.1:0"'
    )


@dataclass(frozen=True)
class Place:
    """Where the steps of one program run: words for srun, and the nodes."""

    words: tuple[str, ...]
    node_count: int
    node_list: str


class Job:
    """A job of its own for one program: salloc, with a command that ends when this process does."""

    def __init__(self, program: Program, universe: str, write: Callable[[str, str], None]) -> None:
        salloc = shutil.which("salloc")
        if salloc is None:
            raise SlurmError(f'salloc is not installed here; program "{program.name}" needs it to get its nodes')
        self.program = program
        self.number = ""
        self.place: Place | None = None
        self._write = write
        self._partial = b""
        self._said: list[str] = []
        command = [salloc, *salloc_words(program, universe)[1:]]
        told = 'echo "couplet-job $SLURM_JOB_ID $SLURM_JOB_NUM_NODES $SLURM_JOB_NODELIST"; exec cat'
        self._process = subprocess.Popen(
            [*command, "sh", "-c", told],
            cwd=program.directory,
            # salloc would check the number of lines of this file, which is for srun.
            env={name: value for name, value in os.environ.items() if name != "SLURM_HOSTFILE"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        os.set_blocking(self.output.fileno(), False)

    @property
    def output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def pump(self) -> None:
        """Takes the lines that salloc has printed. Raises SlurmError with them if it has refused the job."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.output.fileno(), 65536):
                *lines, self._partial = (self._partial + data).split(b"\n")
                for line in lines:
                    self._line(line.decode("utf-8", "replace"))
            if self.place is None:
                self._process.wait(ANSWER_S)
                raise SlurmError(f'no nodes for program "{self.program.name}": ' + "; ".join(self._said))

    def _line(self, line: str) -> None:
        if found := _JOB_LINE.fullmatch(line):
            self.number = found[1]
            self.place = Place((f"--jobid={found[1]}",), int(found[2]), found[3])
        else:
            self._said.append(line)
            self._write(self.program.name, line)

    def end(self) -> None:
        """Gives the job back, with everything that still runs in it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self.place is None:
            self._process.terminate()  # it still waits for the nodes
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.output.close()


def components() -> int:
    """Returns the number of components of the heterogeneous job in which this process runs; 0 if it is in none."""
    return int(os.environ.get("SLURM_HET_SIZE", "0"))


def places_inside(programs: list[Program]) -> list[Place]:
    """Returns the places of the programs in the job in which this process runs."""
    if count := components():
        if count != len(programs):
            raise SlurmError(
                f"this heterogeneous job has {count} components, and {len(programs)} programs have "
                'launcher = "slurm"; it has to have one component for each of them, in the order of the file'
            )
        variables = [f"_HET_GROUP_{component}" for component in range(count)]
        return [
            Place(
                (f"--het-group={component}",),
                int(os.environ[f"SLURM_JOB_NUM_NODES{variable}"]),
                os.environ[f"SLURM_JOB_NODELIST{variable}"],
            )
            for component, variable in enumerate(variables)
        ]
    nodes, node_list = int(os.environ["SLURM_JOB_NUM_NODES"]), os.environ["SLURM_JOB_NODELIST"]
    wanted = [program.nodes or 0 for program in programs]
    named = any(word.startswith(_NAMES_NODES) for program in programs for word in program.launcher_options)
    if not named and all(wanted) and sum(wanted) <= nodes:
        starts = [sum(wanted[:index]) for index in range(len(wanted))]
        return [Place(("--exact", f"--relative={start}"), nodes, node_list) for start in starts]
    return [Place(("--exact",), nodes, node_list) for _ in programs]


class Site:
    """The places of all programs with ``launcher = "slurm"`` in one run. Without such programs it does nothing."""

    def __init__(self, configuration: Configuration, write: Callable[[str, str], None]) -> None:
        self._configuration = configuration
        self._write = write
        self._programs = slurm_programs(configuration)
        self._inside = "SLURM_JOB_ID" in os.environ
        self._jobs: list[Job] = []
        self._places: dict[str, Place] = {}
        self._step_suffix = ""

    @property
    def used(self) -> bool:
        return bool(self._programs)

    def allocate(self, interrupted: Callable[[], bool]) -> bool:
        """Waits until every program has its nodes, however long the queue is.

        Returns False if the user has interrupted it. Raises SlurmError if Slurm refuses a job.
        """
        if self._inside:
            places = places_inside(self._programs) if self._programs else []
            self._places = {program.name: place for program, place in zip(self._programs, places, strict=True)}
            return True
        for program in self._programs:
            self._jobs.append(Job(program, self._configuration.name, self._write))
        while waiting := [job for job in self._jobs if job.place is None]:
            if interrupted():
                return False
            select.select([job.output for job in waiting], [], [], 0.1)
            for job in waiting:
                job.pump()
        self._places = {job.program.name: job.place for job in self._jobs if job.place is not None}
        return True

    def scratch_parent(self) -> Path | None:
        """Returns the folder for files that the nodes have to see; None: it need not be shared."""
        return self._configuration.path.resolve().parent if self.used else None

    def listen(self) -> str | None:
        """Returns the address at which the hub has to listen; None: nothing follows from Slurm."""
        if not self.used or self._configuration.listen is not None:
            return None
        address = address_for(next(iter(self._places.values())).node_list)
        return f"[{address}]:0" if ":" in address else f"{address}:0"

    def placed(self, program: Program, run: str) -> Program:
        """Returns the program with the words for srun that say where it runs."""
        if program.launcher != "slurm":
            return program
        self._step_suffix = f".{run}"
        step = split_options(program.launcher_options)[1]
        if self._inside:  # whole nodes are the affair of the job
            step = [word for word in program.launcher_options if not word.startswith("--exclusive")]
        words = [*self._places[program.name].words, f"--job-name={program.name}{self._step_suffix}"]
        ours = {"COUPLET_RELAY": "external"} if self._starts_relays(program) else {}
        return replace(program, launcher_options=[*words, *step], environment={**ours, **program.environment})

    def _starts_relays(self, program: Program) -> bool:
        chosen = {"COUPLET_RELAY"} & {*os.environ, *program.environment}
        return not chosen and "relay" not in self._configuration.settings

    def relays(self) -> list[Program]:
        """Returns the relays, as programs: one process on each node, in steps of their own.

        If a writer started its relay itself, Slurm would end the relay with the writer's step, although readers on
        other nodes may want more steps.
        """
        from couplet.cli.installation import executable

        found: dict[tuple[str, ...], Program] = {}
        for program in self._programs:
            place = self._places[program.name]
            where = tuple(word for word in place.words if not word.startswith(("--relative", "--exact")))
            if self._starts_relays(program) and where not in found:
                options = [*where, f"--job-name=relay{self._step_suffix}", "--overlap", "--ntasks-per-node=1"]
                found[where] = Program(
                    name=f"relay-{program.name}",
                    command=[str(executable("couplet-relay"))],
                    launcher="slurm",
                    ranks=place.node_count,
                    nodes=place.node_count,
                    directory=program.directory,
                    launcher_options=[*options, "--mpi=none"],
                )
        return list(found.values())

    def end(self) -> None:
        """Ends what is left of the steps, and gives back the jobs."""
        if self._inside and self._step_suffix and self._programs:
            with contextlib.suppress(SlurmError):
                self._cancel_steps()
        for job in self._jobs:
            job.end()

    def _cancel_steps(self) -> None:
        """A step whose srun was killed lives on in a job that is not ours."""
        count = components()
        variables = [f"SLURM_JOB_ID_HET_GROUP_{i}" for i in range(count)] or ["SLURM_JOB_ID"]
        jobs = ",".join(os.environ[name] for name in variables)
        deadline = time.monotonic() + END_S
        while time.monotonic() < deadline:
            lines = ask("squeue", "--steps", f"--jobs={jobs}", "--noheader", "--Format=StepID:64,StepName:128")
            left = [line.split()[0] for line in lines.splitlines() if line.rstrip().endswith(self._step_suffix)]
            if not left:
                return
            ask("scancel", *left)
            time.sleep(0.2)
