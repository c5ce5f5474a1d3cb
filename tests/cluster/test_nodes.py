"""The cluster itself: its nodes are apart, and nothing is left of it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster import OPENMPI, UCX, WATCHDOG_S, Cluster
from coupled import MPI, Site
from launching import mpi_environment


@pytest.mark.cluster
def test_nodes_share_the_file_system_but_no_memory_address_or_name(site: Site) -> None:
    script = "hostname; ip -4 -o address show eth0 | cut -d' ' -f7; touch /dev/shm/$(hostname); ls /dev/shm | wc -l"
    script += "; rm /dev/shm/$(hostname); ls coupled.toml"
    script += "; readlink /proc/self/ns/net /proc/self/ns/ipc /proc/self/ns/mnt"
    site.write("coupled.toml", "")
    told = site.cluster.check("srun", "--nodes=8", f"--chdir={site.folder}", "sh", "-c", script).split()
    for start in ("node", "10.78.0.", "net:", "ipc:", "mnt:"):
        assert len({word for word in told if word.startswith(start)}) == 8, told
    assert told.count("1") == 8 and told.count("coupled.toml") == 8


@pytest.mark.cluster
@pytest.mark.parametrize(("flavour", "ranks"), [("openmpi", 4), ("mpich", 2)])
def test_srun_starts_a_program_of_each_mpi(site: Site, flavour: str, ranks: int) -> None:
    """With more than two ranks, MPI_Finalize of MPICH 4.0.2 with UCX over TCP may hang on a busy machine."""
    program = "from mpi4py import MPI; c = MPI.COMM_WORLD; print(c.allreduce(c.rank), MPI.Get_processor_name())"
    words = ["srun", f"--mpi={MPI[flavour]}", "-N2", f"-n{ranks}", sys.executable, "-c", program]
    output = site.cluster.check(*words, **mpi_environment(flavour), **UCX, **OPENMPI)
    lines = [line for line in output.splitlines() if re.fullmatch(r"\d+ node\d", line)]  # UCX may warn at the end
    assert [line.split()[0] for line in lines] == [str(sum(range(ranks)))] * ranks, lines
    assert len({line.split()[1] for line in lines}) == 2, lines


def facts() -> tuple[set[str], set[str], set[str]]:
    """Returns the network interfaces, the mounts, and the folders of clusters."""
    mounts = set(Path("/proc/self/mounts").read_text().splitlines())
    interfaces = {path.name for path in Path("/sys/class/net").iterdir()}
    return interfaces, mounts, {path.name for path in Path("/var/tmp").glob("couplet-cluster-*")}


def users_of(folder: Path) -> list[str]:
    """Returns the command lines of the processes that name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text().replace("\0", " ")
        except OSError:
            continue
        if str(folder) in words:
            found.append(words)
    return found


def test_nothing_is_left_of_a_cluster_with_a_running_job(cluster: Cluster) -> None:
    before = facts()
    with Cluster(2) as small:
        sleeper = small.start("srun", "-N2", "sh", "-c", "echo runs; sleep 1000")
        assert sleeper.stdout is not None
        assert sleeper.stdout.readline() == "runs\n"
        assert users_of(small.folder)
    assert sleeper.wait(WATCHDOG_S) != 0
    sleeper.stdout.close()
    assert facts() == before
    assert not users_of(small.folder)


KILLED = """\
import sys
sys.path.insert(0, {support!r})
from cluster import Cluster
print(Cluster(1).folder, flush=True)
sys.stdin.read()
"""


@pytest.mark.cluster
def test_nothing_is_left_of_a_cluster_whose_test_was_killed(cluster: Cluster) -> None:
    before = facts()
    support = str(Path(__file__).resolve().parents[1] / "support")
    owner = subprocess.Popen(
        [sys.executable, "-c", KILLED.format(support=support)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    assert folder.is_dir() and users_of(folder)
    owner.kill()
    owner.communicate()
    deadline = time.monotonic() + WATCHDOG_S
    while (folder.exists() or users_of(folder)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert facts() == before
    assert not users_of(folder)
