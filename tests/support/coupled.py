"""A coupled run on a cluster of cluster.py: programs under Open MPI and MPICH, and a coupled.toml for them."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from cluster import OPENMPI, UCX, WATCHDOG_S, Cluster
from launching import mpi_environment

COUPLET = str(Path(sys.executable).parent / "couplet")
MPI = {"openmpi": "pmix", "mpich": "pmi2"}
STEPS = 20

OCEAN = """\
import os, socket
from mpi4py import MPI
import numpy as np
import couplet

comm = MPI.COMM_WORLD
with couplet.join("ocean", comm) as universe:
    rows = slice(2 * comm.rank, 2 * comm.rank + 2)
    shape = (2 * comm.size, 6)
    with universe.create_series("eta", shape, box=[rows, (0, 6)], slots=4, required_readers="nowcast") as eta:
        for step in range({steps}):
            eta.put(np.full((2, 6), float(step)), step)
    told = np.zeros(1)
    universe.group.Recv(told, source=universe.find_rank("nowcast", comm.rank), tag=3)
    links = {{peer["link"] for peer in universe.explain()["peers"] if "nowcast" in peer["name"]}}
    universe.group.Send(told, universe.find_rank("nowcast", comm.rank), tag=4)
    hosts = comm.gather(socket.gethostname(), root=0)
    if comm.rank == 0:
        print("ocean on", *sorted(hosts), "told", int(told[0]), "by", *sorted(links), flush=True)
"""
NOWCAST = """\
import os, socket
from mpi4py import MPI
import couplet
import numpy as np

comm = MPI.COMM_WORLD
with couplet.join("nowcast", comm) as universe:
    columns = slice(3 * comm.rank, 3 * comm.rank + 3)
    steps = lost = 0
    with universe.open_series("eta", box=[(0, 4), columns]) as eta:
        for batch in eta.batches(up_to=8):
            assert (batch.data == batch.steps[:, None, None]).all()
            steps, lost = steps + len(batch), lost + batch.lost
        route = eta.describe().route
    told = np.array([float(steps)])
    ocean = universe.find_rank("ocean", comm.rank)
    universe.group.Send(told, ocean, tag=3)
    universe.group.Recv(told, source=ocean, tag=4)  # explain() of the ocean tells of connections that have not ended
    hosts = comm.gather(socket.gethostname(), root=0)
    if comm.rank == 0:
        print("nowcast on", *sorted(hosts), "steps", steps, "lost", lost, "by", route, flush=True)
"""


def entry(name: str, command: list[str], environment: dict[str, str] | None = None, **keys: object) -> str:
    """Returns a [[program]] table."""
    lines = ["[[program]]", f'name = "{name}"', f"command = {json.dumps(command)}"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in (environment or {}).items())
    return "\n".join([*lines, f"environment = {{ {table} }}", ""])


def on_slurm(name: str, file: str, ranks: int, flavour: str | None = None, *options: str, **keys: object) -> str:
    """Returns a [[program]] table for a Python program that Slurm starts, with this MPI if one is given."""
    environment: dict[str, str] = {}
    words = list(options)
    if flavour is not None:
        environment = {**mpi_environment(flavour), **UCX, **(OPENMPI if flavour == "openmpi" else {})}
        words.append(f"--mpi={MPI[flavour]}")
    return entry(
        name, [sys.executable, file], environment, launcher="slurm", ranks=ranks, launcher_options=words, **keys
    )


def check_coupled(output: str) -> tuple[set[str], set[str]]:
    """Checks what the ocean and the nowcast print. Returns their nodes."""
    ocean = re.search(r"ocean on ((?:\S+ )+)told (\d+) by (\S+)\n", output)
    nowcast = re.search(r"nowcast on ((?:\S+ )+)steps (\d+) lost (\d+) by (\S+)\n", output)
    assert ocean and nowcast, output
    assert (ocean[2], ocean[3]) == (str(STEPS), "tcp"), output
    assert (nowcast[2], nowcast[3], nowcast[4]) == (str(STEPS), "0", "relay"), output
    return set(ocean[1].split()), set(nowcast[1].split())


@dataclass
class Site:
    """A folder that all nodes of the cluster share, with programs and a coupled.toml."""

    cluster: Cluster
    folder: Path
    texts: list[str] = field(default_factory=list)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def describe(self, *tables: str) -> None:
        """Writes coupled.toml."""
        self.write("coupled.toml", "\n".join(tables))

    def ocean_and_nowcast(self, *options: str) -> None:
        """Two ranks of each, on two nodes of each; one under Open MPI, the other under MPICH."""
        self.write("ocean.py", OCEAN.format(steps=STEPS))
        self.write("nowcast.py", NOWCAST)
        self.describe(
            on_slurm("ocean", "ocean.py", 2, "openmpi", *options, nodes=2),
            on_slurm("nowcast", "nowcast.py", 2, "mpich", *options, nodes=2),
        )

    def run(self, *command: str, **extra: str) -> tuple[int, str]:
        return self.cluster.run(*command, directory=self.folder, **extra)

    def couplet(self, *words: str, **extra: str) -> tuple[int, str]:
        return self.run(COUPLET, *words, **extra)

    def wait_for_job(self, job: str) -> tuple[str, str]:
        """Waits for the end of a batch job. Returns its state and its exit status, as Slurm says them."""
        deadline = time.monotonic() + WATCHDOG_S
        while time.monotonic() < deadline:
            shown = self.cluster.check("scontrol", "show", "job", job, "--oneliner").splitlines()[0]
            facts = dict(word.split("=", 1) for word in shown.split() if "=" in word)
            if facts["JobState"] not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
                return facts["JobState"], facts["ExitCode"]
            time.sleep(0.1)
        raise AssertionError(f"job {job} did not end: {shown}")

    def left(self) -> list[str]:
        """Returns the jobs, files and processes that are left in the cluster."""
        jobs = self.cluster.check("squeue", "--noheader", "--format=%i %j %T").splitlines()
        files = [path.name for path in self.folder.glob(".couplet-run-*")]
        if jobs or files:
            return jobs + files
        look = (
            "find /dev/shm /tmp -mindepth 1; ps -e -o comm=,args= | grep -E '^couplet-|[o]cean.py|[n]owcast.py' || true"
        )
        found = self.cluster.check("srun", f"--nodes={self.cluster.nodes}", "sh", "-c", look).splitlines()
        return [line for line in found if line.strip()]
