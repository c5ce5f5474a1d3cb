"""The methods of exchange, and coalesced rounds, on a simulated cluster: patterns, placements, results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from platforms import EXACT, write_hosts
from simgrid import HERE, PROJECT, Machine, compile_program, simulate

# A rank that waits looks so often, in seconds: each look is work for the simulator.
POLL = "1e-7"
POLL_OF_MANY = "5e-7"  # with more than MANY ranks
MANY = 256
# What a processor spends on a message, at either side, whatever its size.
PER_MESSAGE = "0:2e-7:0"
SPEED = "2Gf"
SETTINGS = (
    *EXACT, "smpi/grow-injected-times:no", f"smpi/os:{PER_MESSAGE}", f"smpi/ois:{PER_MESSAGE}",
    f"smpi/or:{PER_MESSAGE}", "smpi/coll-selector:mpich", f"smpi/host-speed:{SPEED}", "contexts/stack-size:512",
)  # fmt: skip
# A node like those of the poster: 48 cores, and an adapter of 6.8 GB/s in each direction, which its processes share.
CLUSTER = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="n" suffix="" radical="0-{last}" speed="{speed}" core="48" bw="6.8GBps" lat="0.25us"
           sharing_policy="SPLITDUPLEX" loopback_bw="20GBps" loopback_lat="0.2us"/>
</platform>
"""
POINT_TO_POINT = ("isend", "persistent")
ONE_SIDED = ("put_fence", "put_pscw", "put_lock", "put_flag")
METHODS = POINT_TO_POINT + ONE_SIDED  # neighbor is missing: SimGrid has no communicators with a graph
MERGES = ("nothing", "waits", "messages")


@dataclass(frozen=True)
class Case:
    """One method on one pattern and placement."""

    method: str
    pattern: str
    ranks: int
    per_node: int
    neighbors: int
    doubles: str = "100,100"
    rounds: int = 5


def machine_of(folder: Path, ranks: int, per_node: int) -> Machine:
    folder.mkdir(parents=True, exist_ok=True)
    nodes = -(-ranks // per_node)
    (folder / "platform.xml").write_text(CLUSTER.format(last=nodes - 1, speed=SPEED))
    write_hosts(folder / "hosts", [f"n{rank // per_node}" for rank in range(ranks)])
    poll = POLL if ranks <= MANY else POLL_OF_MANY
    settings = (*SETTINGS, f"smpi/test:{poll}", f"smpi/iprobe:{poll}")
    return Machine(folder / "platform.xml", folder / "hosts", settings)


def methods_program(folder: Path) -> Path:
    """The methods of src/exchange/mpi with what they need of the core, compiled for SimGrid."""
    sources = [HERE / "programs" / "methods.cpp", *sorted((PROJECT / "src/exchange/mpi").glob("*.cpp"))]
    sources += [PROJECT / "src" / name for name in ("base/status.cpp", "os/host.cpp", "os/error.cpp")]
    gaps = HERE / "programs" / "simgrid_gaps.hpp"
    options = ("-include", str(gaps), f"-I{HERE / 'programs'}")
    return compile_program(folder / "methods", sources, options, ("-lfmt",))


def coalesce_program(folder: Path) -> Path:
    return compile_program(folder / "coalesce", [HERE / "programs" / "coalesce.cpp"], (f"-I{HERE / 'programs'}",))


def run_case(folder: Path, program: Path, case: Case) -> dict[str, Any]:
    """The case with the simulated seconds of a round, and those of a processor that the simulation took."""
    words = ["--pattern", case.pattern, "--neighbors", str(case.neighbors), "--doubles", case.doubles]
    words += ["--rounds", str(case.rounds), "--warm-up", "1", "--methods", case.method]
    simulated = simulate(machine_of(folder, case.ranks, case.per_node), case.ranks, program, words)
    printed = simulated.output.split()
    if printed[:2] != ["method", case.method]:
        raise RuntimeError(f"{case}: {' '.join(printed)}")
    return asdict(case) | {"round_s": float(printed[2]), "cpu_s": simulated.cpu_s}


def run_coalesce(
    folder: Path, program: Path, ranks: int, per_node: int, rounds: int, period: int
) -> list[dict[str, Any]]:
    """For each way of merging: messages, synchronisation points and seconds of a round, averages over the ranks."""
    simulated = simulate(machine_of(folder, ranks, per_node), ranks, program, [str(rounds), str(period)])
    lines = simulated.output.splitlines()
    common = {"ranks": ranks, "per_node": per_node, "rounds": rounds, "period": period}
    found = []
    for line in lines:
        words = line.split()
        numbers = {name: float(value) for name, value in zip(words[2::2], words[3::2], strict=True)}
        found.append(common | {"merged": words[1]} | numbers)
    if tuple(one["merged"] for one in found) != MERGES:
        raise RuntimeError(f"coalesce printed: {lines}")
    return [one | {"cpu_s": simulated.cpu_s} for one in found]


def one_dimension(ranks: int = 128, methods: Sequence[str] = METHODS) -> list[Case]:
    """The poster's 1-D case: 128 ranks, four on each node, 100 doubles to each of 2 to 32 neighbours."""
    return [Case(method, "1d", ranks, 4, count) for count in (2, 4, 8, 16, 32) for method in methods]


def three_dimensions() -> list[Case]:
    """The poster's 3-D case: 1,000 ranks, four on each node, 10 to 100 doubles to each of 6 to 26 neighbours."""
    return [Case("isend", "3d", 1000, 4, count, "10,100", 2) for count in (6, 26)]


def three_dimensions_one_sided() -> list[Case]:
    """The same pattern with 128 ranks, for all methods."""
    return [Case(method, "3d", 128, 4, count, "10,100", 3) for count in (6, 14, 26) for method in METHODS]


def per_node_1d() -> list[Case]:
    """128 ranks in 1-D with 32 neighbours, 1 to 48 of them on a node."""
    methods = ("isend", "put_fence", "put_flag")
    return [Case(method, "1d", 128, count, 32, rounds=2) for count in (1, 4, 16, 48) for method in methods]


def per_node_3d() -> list[Case]:
    """9 x 9 x 9 ranks with eight neighbours along each axis, 10 to 100 doubles, 1 to 48 ranks on a node."""
    return [Case("isend", "axes", 729, count, 24, "10,100", 2) for count in (1, 4, 16, 48)]
