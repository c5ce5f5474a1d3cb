"""The probe inside the cluster, and a placement by ``couplet place``."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from cluster import OPENMPI, UCX
from coupled import MPI, Site

NODE_SET = (4, 4, 2, 2, 1, 1, 1, 1)


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
        assert ways["inter"] > ways["intra"] > 0.0
