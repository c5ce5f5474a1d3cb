"""The cost model on simulated clusters: the probe, its fit, and node sets by predicted and by simulated seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from platforms import EXACT, Cluster, write_hosts
from simgrid import HERE, PROJECT, Machine, compile_program, simulate

from couplet.cost.loggp import LogGP
from couplet.cost.measurement import Measurement
from couplet.cost.probe import Setting, collect

EXAMPLE = PROJECT / "examples" / "tile-io"
# Eight nodes that hold 16 processes. The order of the numbers matters: it tells who has which part of the file.
NODE_SETS = (
    (2, 2, 2, 2, 2, 2, 2, 2), (4, 4, 2, 2, 1, 1, 1, 1), (1, 1, 1, 1, 2, 2, 4, 4), (1, 4, 1, 4, 1, 2, 1, 2),
    (4, 2, 2, 1, 1, 2, 2, 2), (2, 1, 1, 2, 2, 4, 2, 2), (3, 1, 3, 1, 3, 1, 3, 1), (1, 1, 1, 4, 4, 3, 1, 1),
    (1, 3, 2, 2, 2, 2, 3, 1), (1, 1, 2, 1, 4, 3, 3, 1),
)  # fmt: skip


@dataclass(frozen=True)
class Probing:
    """What the probe is told; a short version measures less of the same."""

    nodes: int
    half_star: int
    message_bytes: int
    repetitions: int


LONG = Probing(nodes=8, half_star=8, message_bytes=4 << 20, repetitions=3)
SHORT = Probing(nodes=2, half_star=6, message_bytes=1 << 20, repetitions=1)


def machine_of(folder: Path, cluster: Cluster, hosts: Sequence[str]) -> Machine:
    folder.mkdir(parents=True, exist_ok=True)
    cluster.write(folder / "platform.xml")
    write_hosts(folder / "hosts", hosts)
    return Machine(folder / "platform.xml", folder / "hosts", EXACT)


def probe_program(folder: Path) -> Path:
    """The sources of couplet-probe, compiled for SimGrid."""
    return compile_program(folder / "couplet-probe-simgrid", sorted((PROJECT / "src/probe/mpi").glob("*.cpp")))


def two_phase_program(folder: Path) -> Path:
    sources = [HERE / "programs" / "two_phase.cpp", EXAMPLE / "two_phase.cpp", EXAMPLE / "options.cpp"]
    return compile_program(folder / "two_phase", sources, (f"-I{EXAMPLE}",))


def probe(folder: Path, cluster: Cluster, program: Path, probing: Probing) -> Measurement:
    """The measurement that couplet-probe makes of a simulated cluster; it follows its schema."""
    places = [(node, core) for node in range(probing.nodes) for core in range(cluster.cores)]
    machine = machine_of(folder, cluster, [cluster.host(node, core) for node, core in places])
    words = ["--node-of-rank", ",".join(str(node) for node, _ in places), "--half-star", str(probing.half_star)]
    words += ["--bytes", str(probing.message_bytes), "--repetitions", str(probing.repetitions), "--warm-up", "1"]
    words += ["--curve-bytes", "8,512,8192,65536,1048576"]
    document = collect(simulate(machine, len(places), program, words).output.splitlines(), Setting(cluster.name))
    return Measurement.from_json(document, cluster.name)


def probe_one_way(
    folder: Path, cluster: Cluster, program: Path, send_s: float, receive_s: float
) -> tuple[LogGP, LogGP]:
    """What single messages cost inside a node and between nodes, if each call that sends or receives takes so long."""
    # As in every MPI, a short message is on its way before its receiver calls.
    settings = ("smpi/async-small-thresh:65536", f"smpi/os:0:{send_s}:0", f"smpi/ois:0:{send_s}:0")
    settings += (f"smpi/or:0:{receive_s}:0",)
    machine = machine_of(folder, cluster, [cluster.host(0, 0), cluster.host(0, 1), cluster.host(1, 0)])
    words = ["--node-of-rank", "0,0,1", "--half-star", "1", "--bytes", "8", "--repetitions", "1", "--warm-up", "1"]
    machine = replace(machine, settings=(*machine.settings, *settings))
    printed = simulate(machine, 3, program, [*words, "--curve-bytes", "8,65536,1048576"]).output
    document = collect(printed.splitlines(), Setting(cluster.name))
    intra, inter = Measurement.from_json(document, cluster.name).loggp
    return intra, inter


def exchange_seconds(
    folder: Path, cluster: Cluster, program: Path, node_set: Sequence[int], message_bytes: int, order: str
) -> float:
    """The simulated seconds of a two-phase exchange on a node set, with messages of this size."""
    hosts = [cluster.host(node, core) for node, count in enumerate(node_set) for core in range(count)]
    machine = machine_of(folder, cluster, hosts)
    # Each of the eight file domains has half of each of four tiles.
    rows = 2 * message_bytes // 8 // 256
    words = ["--node-set", ",".join(map(str, node_set)), "--tile", f"{rows}x256", "--order", order]
    words += ["--cb-buffer-size", str(1 << 30)]
    printed = simulate(machine, sum(node_set), program, words).output
    return float(printed.split()[1])
