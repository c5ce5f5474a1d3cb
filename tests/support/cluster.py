"""A Slurm cluster on this machine: every node is a set of namespaces (network, host name, mounts, IPC) on a bridge.

The nodes share the processors, the file system and nothing else: each has its own /tmp, /dev/shm and address. All of it
lives in namespaces of one process, so that nothing is left behind when that ends, also if the test is killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from cluster_init import CORES, EXIT_NOT_ALLOWED, START_S

__all__ = ["CORES", "Cluster", "UnavailableError"]

WATCHDOG_S = 120.0
# program -> package that has it
NEEDED = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "srun": "slurm-client",
    "munged": "munge",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
}
# Open MPI 4.1's own TCP transport ends about one start in a hundred with a segmentation fault if the machine is busy.
OPENMPI = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_osc": "ucx",
    "OMPI_MCA_pml_ucx_tls": "any",
    "OMPI_MCA_pml_ucx_devices": "any",
}
UCX = {"UCX_NET_DEVICES": "eth0", "UCX_TLS": "tcp,self"}


class UnavailableError(Exception):
    """This machine cannot have such a cluster. The text says what is missing."""


def check_available() -> None:
    """Raises UnavailableError if something that a cluster needs is missing."""
    places = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = sorted({package for program, package in NEEDED.items() if shutil.which(program, path=places) is None})
    if missing:
        raise UnavailableError(f"a Slurm cluster in namespaces needs the packages {', '.join(missing)}")
    if os.geteuid() != 0:
        raise UnavailableError("a Slurm cluster in namespaces needs root: slurmd starts the programs of any user")


def child_of(process: int) -> int:
    """Returns the only child of a process."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                return int(path.parent.name)
        except (OSError, IndexError):
            continue
    raise AssertionError(f"process {process} has no child")


class Cluster:
    """Nodes node1, node2, ... with CORES cores each, and the host "login", on which commands are run."""

    def __init__(self, nodes: int) -> None:
        check_available()
        # Not below /tmp, which each node has for itself. The folder is what all of them share.
        self.folder = Path(tempfile.mkdtemp(prefix="couplet-cluster-", dir="/var/tmp"))
        self.nodes = nodes
        names = ["--mount", "--net", "--uts", "--ipc", "--mount-proc"]
        init = str(Path(__file__).with_name("cluster_init.py"))
        environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
        self._process = subprocess.Popen(
            ["unshare", "--fork", "--pid", "--kill-child", *names, sys.executable, init, str(self.folder), str(nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        watchdog = threading.Timer(START_S + WATCHDOG_S, self._process.kill)
        watchdog.start()
        try:
            ready = self._process.stdout.readline() == "ready\n"
        finally:
            watchdog.cancel()
        if not ready:
            _, said = self._process.communicate()
            shutil.rmtree(self.folder, ignore_errors=True)
            # unshare itself ends with 1 if it may not make the namespaces.
            if self._process.returncode == EXIT_NOT_ALLOWED or said.startswith("unshare:"):
                raise UnavailableError(f"namespaces may not be made here: {said.strip()}")
            raise AssertionError(f"the cluster did not start: {said}")
        self._init = child_of(self._process.pid)

    def command(self, command: Sequence[str], directory: Path | None = None) -> list[str]:
        """Returns the command line that runs a command on the host "login", which sees no process of the nodes."""
        enter = ["nsenter", "--target", str(self._init), "--pid", "--mount", "--net", "--uts", "--ipc", "--"]
        apart = ["unshare", "--fork", "--pid", "--kill-child", "--mount", "--mount-proc"]
        return [*enter, *apart, "env", "-C", str(directory or self.folder), *command]

    def environment(self, **extra: str) -> dict[str, str]:
        """The environment of a command: no variable of another universe, of another Slurm or of a launcher."""
        foreign = ("COUPLET_", "SLURM", "OMPI_", "PMI")
        own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        own["PATH"] = f"{Path(sys.executable).parent}:{own.get('PATH', '')}:/usr/sbin:/sbin"
        return {**own, "SLURM_CONF": str(self.folder / "slurm.conf"), "PYTHONDONTWRITEBYTECODE": "1", **extra}

    def start(self, *command: str, directory: Path | None = None, **extra: str) -> subprocess.Popen[str]:
        """Starts a command on the host "login". Its output and its errors come together."""
        return subprocess.Popen(
            self.command(command, directory),
            env=self.environment(**extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str, directory: Path | None = None, **extra: str) -> tuple[int, str]:
        """Runs a command on the host "login" under a watchdog, and returns its status and its output."""
        process = self.start(*command, directory=directory, **extra)
        try:
            output, _ = process.communicate(timeout=WATCHDOG_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            raise AssertionError(f"{' '.join(command)} did not end within {WATCHDOG_S} s:\n{output}") from None
        return process.returncode, output

    def check(self, *command: str, directory: Path | None = None, **extra: str) -> str:
        """Runs a command that has to end well, and returns its output."""
        status, output = self.run(*command, directory=directory, **extra)
        assert status == 0, f"{' '.join(command)} ended with {status}:\n{output}"
        return output

    def close(self) -> None:
        """Ends everything in the cluster, and waits for the end."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait(WATCHDOG_S)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
