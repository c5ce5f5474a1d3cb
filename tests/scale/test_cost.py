"""couplet-probe and a two-phase exchange under SimGrid: what is fitted and predicted agrees with what is simulated."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import cost_cases
import simgrid
from platforms import CLUSTERS, TACHYON_1, Cluster
from typer.testing import CliRunner

from couplet.cli import app
from couplet.cost import Measurement, Model, Options, Tiles, fit_measurement, load_measurement, predict
from couplet.cost.model import ORDERS

BLOCK = re.compile(r"<!-- (save|shell|output): (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
IS_LONG = os.environ.get("COUPLET_SCALE") == "1"  # make scale
if (reason := simgrid.missing()) is not None:
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scale")


@pytest.fixture(scope="module", params=CLUSTERS if IS_LONG else (TACHYON_1,), ids=lambda cluster: cluster.name)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    one: Cluster = request.param
    return one


@pytest.fixture(scope="module")
def measurement(folder: Path, cluster: Cluster) -> Measurement:
    probing = cost_cases.LONG if IS_LONG else cost_cases.SHORT
    return cost_cases.probe(
        folder / cluster.folder / "probe", cluster, cost_cases.probe_program(simgrid.PROGRAMS), probing
    )


def model_of(measurement: Measurement, kind: str) -> Model:
    return fit_measurement(measurement, Options(kind=kind)).model


def test_couplet_probe_reads_the_lines_of_a_simulated_cluster(
    folder: Path, cluster: Cluster, measurement: Measurement
) -> None:
    """The simulated run has said its options."""
    output, page = folder / "measurement.json", folder / "report.html"
    lines = folder / cluster.folder / "probe" / "output"
    words = ["probe", "--lines", lines, "--machine", cluster.name, "-o", output, *(["--report", page] * IS_LONG)]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    document = load_measurement(output).document
    assert {**document, "created": ""} == {**measurement.document, "created": ""}
    assert (document["nodes"], document["warm_up"]) == ("simulated", 1)
    assert not IS_LONG or page.read_text().count("<svg") == 2


@pytest.mark.skipif(not IS_LONG, reason="compiles the probe once more: make scale does it")
def test_the_page_about_a_cluster_of_one_s_own(tmp_path: Path) -> None:
    printed = ""
    for kind, name, text in BLOCK.findall((simgrid.PROJECT / "docs" / "scale.md").read_text()):
        if kind == "save":
            (tmp_path / name).write_text(text)
        elif kind == "output":
            assert printed == text
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            environment = {**os.environ, "PATH": path, "COUPLET_SOURCE": str(simgrid.PROJECT)}
            done = subprocess.run(
                ["bash", "-euc", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            printed = done.stdout
    assert printed
    assert load_measurement(tmp_path / "planned.json").document["nodes"] == "simulated"


@pytest.mark.parametrize("kind", ["split", "hinge"])
@pytest.mark.parametrize("order", ORDERS)
def test_alpha_and_beta_are_the_bandwidths_of_the_platform(
    cluster: Cluster, measurement: Measurement, kind: str, order: str
) -> None:
    """The first partners are in the socket of the hot spot, the others are not: so the slope changes behind them."""
    model = model_of(measurement, kind)
    fit = model.orders[order].fit()
    pair = 2 * model.message_bytes
    assert fit.breakpoint is not None
    in_socket = cluster.cores_per_socket - 1
    assert in_socket - 0.1 <= fit.breakpoint <= in_socket + 1
    crossings = (cluster.crossings.same_socket, cluster.crossings.other_socket)
    for piece, crossing in zip(fit.pieces, crossings, strict=True):
        assert piece.r_squared is not None and piece.r_squared >= 0.98
        assert pair / piece.alpha == pytest.approx(cluster.rate(crossing), rel=0.1)
        assert pair / piece.beta == pytest.approx(cluster.rate(cluster.crossings.other_node), rel=0.1)
        # The adapter moves as much in each direction at the same time.
        assert model.message_bytes / piece.beta == pytest.approx(cluster.adapter_bytes_per_s, rel=0.1)


def test_the_data_choose_two_pieces(measurement: Measurement) -> None:
    for order in model_of(measurement, "auto").orders.values():
        assert order.kind in ("split", "hinge")
        assert all(piece.r_squared >= 0.98 for piece in order.fit().pieces)


def test_one_message_has_the_latency_and_the_bandwidth_of_its_way(cluster: Cluster, measurement: Measurement) -> None:
    inside, between = model_of(measurement, "auto").curves
    assert (inside.name, between.name) == ("intra", "inter")
    size = 1 << 20
    assert size / inside.seconds(size) == pytest.approx(cluster.rate(cluster.crossings.same_socket), rel=0.1)
    slowest = min(cluster.adapter_bytes_per_s, cluster.rate(cluster.crossings.other_node))
    assert size / between.seconds(size) == pytest.approx(slowest, rel=0.1)
    assert between.seconds(8) > cluster.network_latency_s > inside.seconds(8)


def test_the_gap_per_byte_is_the_bandwidth_of_the_way(cluster: Cluster, measurement: Measurement) -> None:
    intra, inter = measurement.loggp
    assert 1 / intra.gap_per_byte_s == pytest.approx(cluster.rate(cluster.crossings.same_socket), rel=0.1)
    slowest = min(cluster.adapter_bytes_per_s, cluster.rate(cluster.crossings.other_node))
    assert 1 / inter.gap_per_byte_s == pytest.approx(slowest, rel=0.1)


@pytest.mark.parametrize(("send_s", "receive_s"), [(0.0, 0.0), (2e-6, 5e-6), (4e-6, 1e-6)])
def test_latency_overhead_and_gap_are_told_apart(
    folder: Path, cluster: Cluster, send_s: float, receive_s: float
) -> None:
    """The simulated calls take a known time. Messages follow each other as fast as the slower side makes its calls."""
    program = cost_cases.probe_program(simgrid.PROGRAMS)
    ways = cost_cases.probe_one_way(folder / cluster.folder / "one_way", cluster, program, send_s, receive_s)
    inside_s = cluster.crossings.same_socket * cluster.memory_latency_s
    between_s = 2 * cluster.crossings.other_node * cluster.memory_latency_s + cluster.network_latency_s
    for one, latency_s in zip(ways, (inside_s, between_s), strict=True):
        assert one.send_overhead_s == pytest.approx(send_s, rel=0.05, abs=1e-8)
        assert one.receive_overhead_s == pytest.approx(receive_s, rel=0.05, abs=1e-8)
        # The simulated clock takes 10 ns at each look.
        assert one.latency_s == pytest.approx(latency_s, rel=0.1, abs=2e-8)
        if send_s > 0.0:
            assert one.gap_s == pytest.approx(max(send_s, receive_s), rel=0.1)


@pytest.mark.parametrize("order", ORDERS if IS_LONG else ORDERS[:1])
def test_node_sets_rank_as_predicted(folder: Path, cluster: Cluster, measurement: Measurement, order: str) -> None:
    from scipy.stats import spearmanr

    model = model_of(measurement, "auto")
    program = cost_cases.two_phase_program(simgrid.PROGRAMS)
    predicted, simulated = [], []
    for node_set in cost_cases.NODE_SETS:
        predicted.append(float(predict(model, Tiles(4, 4), node_set).orders[order].cost))
        simulated.append(
            cost_cases.exchange_seconds(
                folder / cluster.folder / "exchange", cluster, program, node_set, model.message_bytes, order
            )
        )
    for node_set, one, other in zip(cost_cases.NODE_SETS, predicted, simulated, strict=True):
        print(f"{','.join(map(str, node_set))}: predicted {one:.6f} s, simulated {other:.6f} s")
    assert len({f"{cost:.6f}" for cost in predicted}) >= 6
    assert spearmanr(predicted, simulated).statistic >= 0.9
