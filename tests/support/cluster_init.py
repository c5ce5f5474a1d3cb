"""The first process of a cluster of cluster.py: it makes the nodes, starts Slurm on them, and takes all of it along
when it ends.

usage: cluster_init.py FOLDER NODES     as process 1 of a process namespace, in namespaces of its own for mounts,
network, host name and System V IPC. It prints "ready", and ends when its standard input does. It then removes the
folder. Exit status 3: this machine does not allow the namespaces or the network.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PREFIX = "10.78.0"
LOGIN = f"{PREFIX}.254"
CORES = 4  # Slurm believes that each node has so many; the machine may have fewer
EXIT_NOT_ALLOWED = 3
START_S = 90.0  # bounds the start on a loaded machine
PROJECT = Path(__file__).resolve().parents[2]

# A node: its own host name, /tmp and /dev/shm, and a cable to the bridge. The shell becomes the node's slurmd.
NODE = r"""
set -e
echo made
read -r _
hostname "$1"
ip link set lo up
ip address add "$2/24" dev eth0
ip link set eth0 up
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
if [ -n "$4" ]; then mount --bind "$4" /tmp; fi
exec slurmd -D -N "$1" -f "$3"
"""

CONFIGURATION = """\
ClusterName=couplet
SlurmctldHost=login({login})
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/%n
TmpFS={folder}/tmp/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=5
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=2
EnforcePartLimits=ALL
ReturnToService=2
NodeName=node[1-{nodes}] NodeAddr={prefix}.[1-{nodes}] CPUs={cores} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=YES State=UP
"""


class StartError(Exception):
    """The cluster cannot be started."""


class NotAllowedError(StartError):
    """The machine does not allow the namespaces or the network."""


def run(*command: str, **options: str) -> str:
    """Returns what a command prints. Its failure is a StartError with its text."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_S, env={**os.environ, **options})
    if done.returncode != 0:
        raise StartError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Cluster:
    """The daemons and the nodes."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder = folder
        self.nodes = nodes
        self.configuration = folder / "slurm.conf"
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}

    def names(self) -> list[str]:
        return [f"node{number}" for number in range(1, self.nodes + 1)]

    def write(self) -> None:
        """Writes all files and folders that the daemons need."""
        for name in ("munge", "state", "spool", "run", "log", "tmp"):
            (self.folder / name).mkdir(mode=0o755)
        for name in self.names():
            (self.folder / "spool" / name).mkdir(mode=0o755)
            (self.folder / "tmp" / name).mkdir()
            (self.folder / "tmp" / name).chmod(0o1777)
        values = {"folder": self.folder, "login": LOGIN, "nodes": self.nodes, "prefix": PREFIX, "cores": CORES}
        self.configuration.write_text(CONFIGURATION.format(**values))
        hosts = [f"{PREFIX}.{number} node{number}" for number in range(1, self.nodes + 1)]
        (self.folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", f"{LOGIN} login", *hosts, ""]))
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))

    def network(self) -> None:
        """Makes the host that users log in to, and the bridge."""
        try:
            socket.sethostname("login")
            run("mount", "--make-rprivate", "/")
            run("mount", "--bind", str(self.folder / "hosts"), "/etc/hosts")
            run("ip", "link", "set", "lo", "up")
            run("ip", "link", "add", "bridge0", "type", "bridge")
            run("ip", "address", "add", f"{LOGIN}/24", "dev", "bridge0")
            run("ip", "link", "set", "bridge0", "up")
        except (StartError, OSError) as error:
            raise NotAllowedError(str(error)) from error

    def daemon(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """Starts a daemon in a session of its own, so that no signal for others reaches it."""
        log = (self.folder / "log" / f"{name}.out").open("wb")
        with log:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        self.daemons[name] = process
        return process

    def services(self) -> None:
        """Starts munge and the controller."""
        munge = self.folder / "munge"
        paths = [f"--{kind}={munge / name}" for kind, name in (
            ("socket", "socket"), ("key-file", "key"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed")
        )]  # fmt: skip
        self.daemon("munged", "munged", "--foreground", "--force", *paths)
        self.wait("munge", lambda: (munge / "socket").exists())
        self.daemon("slurmctld", "slurmctld", "-D", "-f", str(self.configuration))
        self.wait("the controller", lambda: "UP" in self.asked("scontrol", "ping"))

    def start_nodes(self) -> None:
        """Makes each node, connects it, and lets its shell become slurmd."""
        # If the project is below /tmp, the nodes have to share that.
        shared = PROJECT.is_relative_to("/tmp") or Path(sys.prefix).is_relative_to("/tmp")
        for number, name in enumerate(self.names(), 1):
            place = "" if shared else str(self.folder / "tmp" / name)
            words = ["sh", "-c", NODE, "node", name, f"{PREFIX}.{number}", str(self.configuration), place]
            self.daemon(name, "unshare", "--net", "--uts", "--ipc", "--mount", *words)
        for number, name in enumerate(self.names(), 1):
            node = self.daemons[name]
            assert node.stdin is not None and node.stdout is not None
            if node.stdout.readline() != b"made\n":
                raise NotAllowedError(f"{name} cannot be made: {self.said(name)}")
            run("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", str(node.pid))
            run("ip", "link", "set", f"port{number}", "master", "bridge0", "up")
            node.stdin.write(b"go\n")
            node.stdin.close()
        idle = f"idle {self.nodes}"
        self.wait("all nodes", lambda: self.asked("sinfo", "--noheader", "--format=%T %D").strip() == idle)

    def asked(self, *command: str) -> str:
        """Returns the answer of Slurm, "" if there is none yet."""
        with contextlib.suppress(StartError, subprocess.TimeoutExpired):
            return run(*command)
        return ""

    def said(self, name: str) -> str:
        """Returns the last lines of a daemon."""
        texts = [path.read_text(errors="replace") for path in sorted((self.folder / "log").glob(f"{name}*"))]
        return "\n".join("\n".join(text.splitlines()[-12:]) for text in texts if text.strip())

    def wait(self, what: str, ready: object) -> None:
        """Polls until it is ready. A daemon that has ended, or too much time, is an error with its last lines."""
        assert callable(ready)
        deadline = time.monotonic() + START_S
        while not ready():
            for name, process in self.daemons.items():
                if process.poll() is not None:
                    raise StartError(f"{name} ended with status {process.returncode}: {self.said(name)}")
            if time.monotonic() > deadline:
                last = self.said("slurmctld") + "\n" + self.said("node1")
                raise StartError(f"{what} did not come within {START_S:.0f} s: {last}")
            time.sleep(0.05)

    def start(self) -> None:
        self.write()
        self.network()
        self.services()
        self.start_nodes()


def reap(daemons: dict[str, subprocess.Popen[bytes]]) -> None:
    """Takes in the processes whose parents have ended: that is the duty of process 1."""
    ours = {process.pid for process in daemons.values()}
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None:
            return
        if found.si_pid in ours:
            next(process for process in daemons.values() if process.pid == found.si_pid).poll()
        else:
            os.waitpid(found.si_pid, 0)


def end_all() -> None:
    """Kills every process of the namespace but this one, and waits until the kernel has ended them."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def serve(cluster: Cluster) -> None:
    """Reaps until standard input ends."""
    told, tell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(tell)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    print("ready", flush=True)
    while True:
        reap(cluster.daemons)
        ready, _, _ = select.select([sys.stdin, told], [], [])
        if sys.stdin in ready:
            return
        os.read(told, 4096)


def main() -> int:
    folder, nodes = Path(sys.argv[1]), int(sys.argv[2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the end of standard input is the only way
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    cluster = Cluster(folder, nodes)
    try:
        cluster.start()
        serve(cluster)
    except (StartError, OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return EXIT_NOT_ALLOWED if isinstance(error, NotAllowedError) else 1
    finally:
        end_all()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
