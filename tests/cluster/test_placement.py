"""Tests on a cluster of eight nodes: the probe, a placement by ``couplet place``, and the example tile_io."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

import pytest
from cluster import OPENMPI, UCX
from coupled import MPI, Site
from launching import BUILD
from needs import built

NODE_SET = (4, 4, 2, 2, 1, 1, 1, 1)
# With the one above, node sets of 16 processes on eight nodes; the order of the numbers matters.
NODE_SETS = (NODE_SET, (2, 2, 2, 2, 2, 2, 2, 2), (1, 1, 1, 1, 2, 2, 4, 4), (4, 1, 2, 1, 1, 2, 1, 4),
             (3, 1, 3, 1, 3, 1, 3, 1))  # fmt: skip
RANKS = 16
REPETITIONS = 10


def test_place_is_used_by_srun_for_an_uneven_node_set(site: Site) -> None:
    """The processes of each node are counted; times would say nothing, since the nodes share the processors."""
    site.write("hosts", "".join(f"node{number} {count}\n" for number, count in enumerate(NODE_SET, 1)))
    words = ["place", "--model", "tachyon1.json", "--tiles", "4x4", "--hosts", "hosts", "--json"]
    words += ["--write", "placement"]
    status, output = site.couplet(*words)
    assert status == 0, output
    told = json.loads(output)
    best = told["orders"][told["chosen"]]
    order = best["order_of_nodes"]
    assert sorted(order) == list(range(8)) and order != list(range(8)), best
    hosts = (site.folder / "placement" / "slurm.hosts").read_text().split()
    started = site.cluster.check(
        "srun", "--distribution=arbitrary", "--ntasks=16", "sh", "-c", "echo $SLURM_PROCID $(hostname)",
        SLURM_HOSTFILE=str(site.folder / "placement" / "slurm.hosts"),
    )  # fmt: skip
    placed = [line.split()[1] for line in sorted(started.splitlines(), key=lambda line: int(line.split()[0]))]
    assert placed == hosts
    assert Counter(placed) == {f"node{number}": count for number, count in enumerate(NODE_SET, 1)}
    assert list(dict.fromkeys(placed)) == [f"node{number + 1}" for number in order]


@pytest.mark.cluster
@pytest.mark.parametrize(("flavour", "ranks"), [("openmpi", 4), ("mpich", 2)])
def test_the_probe_measures_messages_inside_and_between_nodes(site: Site, flavour: str, ranks: int) -> None:
    words = ["probe", "-n", str(ranks), "--launcher", "slurm", "--mpi", flavour, "--bytes", "4K", "--repetitions", "2"]
    words += ["--warm-up", "1", "--half-star", "2", *(["--no-curves"] if flavour == "mpich" else [])]
    words += [
        f"--launcher-option={word}" for word in (f"--mpi={MPI[flavour]}", "-N2", f"--ntasks-per-node={ranks // 2}")
    ]
    status, output = site.couplet(*words, **UCX, **OPENMPI)
    assert status == 0, output
    measured = json.loads((site.folder / "measurement.json").read_text())
    processes = measured["processes"]
    assert Counter(process["node"] for process in processes) == {0: ranks // 2, 1: ranks // 2}, processes
    assert len({process["host"] for process in processes}) == 2
    cells = {(cell["intra_in"], cell["inter_in"]) for cell in measured["cells"]}
    assert {(0, 1)} <= cells, measured["cells"][:2]
    assert ((1, 1) in cells) == (ranks == 4)
    if flavour == "openmpi":
        ways = {one["name"]: one["measured"]["half_round_trip"]["minimum_s"] for one in measured["loggp"]}
        # On two cores, the load decides which of them is more.
        assert set(ways) == {"intra", "inter"} and min(ways.values()) > 0.0


def exchange_tiles(site: Site, node_set: Sequence[int], repetitions: int) -> dict[str, Any]:
    """What tile_io has counted and timed with the tiles of the paper, on a node set as it is."""
    names = [f"node{number}" for number, count in enumerate(node_set, 1) for _ in range(count)]
    site.write("tiles.hosts", "".join(f"{name}\n" for name in names))
    program = built(BUILD / "examples" / "tile-io" / "tile_io.openmpi", "cpp", "openmpi")
    words = ["--tiles", "4x4", "--tile", "64x128", "--node-set", ",".join(map(str, node_set)), "--folder", "."]
    status, output = site.run(
        *("srun", "--distribution=arbitrary", f"--ntasks={RANKS}", f"--mpi={MPI['openmpi']}"),
        *(program, *words, "--repetitions", str(repetitions)),
        SLURM_HOSTFILE=str(site.folder / "tiles.hosts"), **UCX, **OPENMPI,
    )  # fmt: skip
    assert status == 0, output
    result: dict[str, Any] = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    return result


def predicted(site: Site, model: str, node_set: Sequence[int]) -> dict[str, Any]:
    words = ("--tiles", "4x4", "--nodes", ",".join(map(str, node_set)), "--machine", "namespaces", "--json")
    status, output = site.couplet("predict", "--model", model, *words)
    assert status == 0, output
    found, _ = json.JSONDecoder().raw_decode(output[output.index("{") :])  # warnings may precede and follow it
    order: dict[str, Any] = found["orders"]["intra_first"]
    return order


@pytest.mark.cluster
@pytest.mark.parametrize("node_set", NODE_SETS, ids=lambda one: ",".join(map(str, one)))
def test_the_messages_of_the_tiles_are_those_that_are_predicted(site: Site, node_set: tuple[int, ...]) -> None:
    """Reading has the messages of writing in the other direction."""
    counted = exchange_tiles(site, node_set, 1)
    nodes = predicted(site, "tachyon1.json", node_set)["nodes"]
    assert counted["ca"] == counted["read_ca"] == [2 * node["pa"] for node in nodes]
    assert counted["ce"] == counted["read_ce"] == [2 * node["pe"] for node in nodes]
    assert counted["messages"] == sum(counted["ca"]) + sum(counted["ce"]) / 2


@pytest.mark.cluster
def test_the_times_of_the_tiles_are_in_the_order_that_is_predicted(site: Site) -> None:
    """Only a machine with a core for each rank tells: otherwise most of each time is waiting for a core."""
    from scipy.stats import spearmanr

    cores = len(os.sched_getaffinity(0))
    if cores < RANKS:
        pytest.skip(f"times of {RANKS} ranks say nothing on {cores} cores; the messages are counted in any case")
    words = ["-n", str(RANKS), "--launcher", "slurm", "--bytes", "32K", "--machine", "namespaces", "--no-curves"]
    words += ["--half-star", "4", f"--launcher-option=--mpi={MPI['openmpi']}", "--launcher-option=-N4"]
    status, output = site.couplet("probe", *words, "--launcher-option=--ntasks-per-node=4", **UCX, **OPENMPI)
    assert status == 0, output
    status, output = site.couplet("fit", "measurement.json", "-o", "model.json")
    assert status == 0, output
    expected = [predicted(site, "model.json", node_set)["cost"] for node_set in NODE_SETS]
    timed = [median(exchange_tiles(site, node_set, REPETITIONS)["write_exchange_s"]) for node_set in NODE_SETS]
    assert spearmanr(expected, timed).statistic > 0.0, list(zip(NODE_SETS, expected, timed, strict=True))
