"""Fits: known parameters come back from noisy cells, the data choose the breakpoint, bad designs say what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
from synthetic import TACHYON, document, hinge, measurement

from couplet.cost import CostError, DesignError, Measurement, Model, Options, fit_measurement, load_model
from couplet.cost.curves import fit_curve
from couplet.cost.measurement import Points
from couplet.cost.model import KINDS, ORDERS, Fit
from couplet.cost.plots import fit_figure, svg
from couplet.cost.regression import regress
from couplet.cost.tables import fitted as fitted_lines

COEFFICIENTS = ("alpha", "beta", "gamma")


def assert_near(found: Fit, wanted: Fit, tolerance: float) -> None:
    assert len(found.pieces) == len(wanted.pieces)
    for one, truth in zip(found.pieces, wanted.pieces, strict=True):
        for name in COEFFICIENTS:
            assert getattr(one, name) == pytest.approx(getattr(truth, name), abs=tolerance), name


@pytest.mark.parametrize("method", ["least_squares", "robust"])
@pytest.mark.parametrize("kind", ["plane", "split"])
def test_the_published_coefficients_come_back(kind: str, method: str) -> None:
    model = fit_measurement(measurement(kind, noise_s=2e-5), Options(method=method)).model
    for order in ORDERS:
        assert model.orders[order].kind == kind
        fit = model.orders[order].fit()
        assert_near(fit, TACHYON.orders[order].fit(kind), 1e-4)
        assert fit.r_squared is not None and fit.r_squared > 0.999
        if kind == "split":
            assert fit.breakpoint == 2.0
            assert fit.breakpoint_interval == (2.0, 2.0)


@pytest.mark.parametrize("at", [1.5, 2.0, 2.7, 4.3])
def test_a_hinge_comes_back_with_its_breakpoint(at: float) -> None:
    truth = hinge(at, 0.0038, 0.0045, 0.0066, 0.0058)
    model = fit_measurement(measurement(truth, noise_s=2e-5)).model
    for order in ORDERS:
        assert model.orders[order].kind == "hinge"
        fit = model.orders[order].fit()
        assert fit.breakpoint == pytest.approx(at, abs=0.02)
        low, high = fit.breakpoint_interval or (0.0, 0.0)
        assert low <= fit.breakpoint <= high
        assert_near(fit, truth, 2e-4)
        first, second = fit.pieces
        meeting = [piece.alpha * first.max_pa + piece.gamma for piece in (first, second)]
        assert meeting[0] == pytest.approx(meeting[1], abs=1e-12)


def test_disturbed_cells_bend_least_squares_and_not_the_robust_fit() -> None:
    measured = measurement("split", noise_s=2e-5, disturbed=6)
    wanted = TACHYON.orders["intra_first"].fit("split")
    robust = fit_measurement(measured, Options("split", "robust")).model.orders["intra_first"].fit()
    assert_near(robust, wanted, 1e-4)
    plain = fit_measurement(measured, Options("split")).model.orders["intra_first"].fit()
    errors = [abs(getattr(plain.pieces[0], name) - getattr(wanted.pieces[0], name)) for name in COEFFICIENTS]
    assert max(errors) > 1e-3
    minimum = fit_measurement(measured, Options("split", statistic="minimum")).model.orders["intra_first"].fit()
    assert_near(minimum, wanted, 1e-3)


@pytest.mark.parametrize("method", ["least_squares", "robust"])
def test_intervals_hold_the_truth_as_often_as_they_say(method: str) -> None:
    chance = numpy.random.default_rng(5)
    pa, pe = (one.ravel().astype(float) for one in numpy.meshgrid(numpy.arange(5), numpy.arange(5)))
    design, truth = numpy.stack([pa, pe, numpy.ones(25)], axis=1), numpy.array([0.0072, 0.0066, 0.0057])
    runs, inside = 200, numpy.zeros(3)
    for _ in range(runs):
        found = regress(design, design @ truth + chance.normal(size=25) * 3e-4, method, 0.9)
        inside += (found.intervals[:, 0] <= truth) & (truth <= found.intervals[:, 1])
    # 180 of 200 are expected, and fewer than 160 would be five standard deviations away.
    assert all(inside >= 160) and all(inside < runs), inside


def test_a_fitted_model_is_read_back(tmp_path: Any) -> None:
    from couplet.cost import load_model

    measured = measurement("split", noise_s=1e-5)
    model = fit_measurement(measured).model
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json") == model
    assert model.hosts == ("invented0", "invented1")


def only(keep: Any) -> Measurement:
    """A measurement with the cells that ``keep(pa, pe)`` accepts."""
    content = document("split")
    content["cells"] = [cell for cell in content["cells"] if keep(cell["intra_in"], cell["inter_in"])]
    return Measurement.from_json(content, "synthetic")


@pytest.mark.parametrize(
    ("keep", "says"),
    [
        (lambda pa, pe: pa == 0, "all cells have 0 intra-node pairs .pa., so alpha cannot be told; measure"),
        (lambda pa, pe: pe == 3, "all cells have 3 inter-node pairs .pe., so beta cannot be told; measure"),
        (lambda pa, pe: pa == pe, "pa and pe lie on one line"),
        (lambda pa, pe: pa + pe < 2, "at least 4 cells with messages, and there are 2; measure more"),
        (lambda pa, pe: pa + pe == 0, "order intra_first: only the cell without messages was measured"),
        (lambda pa, pe: False, "no cells at all"),
    ],
)
def test_a_design_that_determines_no_plane_is_refused(keep: Any, says: str) -> None:
    with pytest.raises(DesignError, match=says):
        fit_measurement(only(keep))


def test_too_few_cells_for_two_pieces_leave_the_plane_and_a_reason() -> None:
    measured = only(lambda pa, pe: pa < 3 and pe < 2)
    fitted = fit_measurement(measured)
    assert {order.kind for order in fitted.model.orders.values()} == {"plane"}
    assert any("a split needs" in reason for reason in fitted.left_out)
    assert any("a hinge needs" in reason for reason in fitted.left_out)
    for kind in ("split", "hinge"):
        with pytest.raises(DesignError, match=f"a {kind} needs"):
            fit_measurement(measured, Options(kind))


def test_a_posting_order_without_cells_is_named() -> None:
    content = document("split")
    content["cells"] = [cell for cell in content["cells"] if cell["order"] == "intra_first"]
    with pytest.raises(DesignError, match="no cells of the posting order inter_first"):
        fit_measurement(Measurement.from_json(content, "synthetic"))


def test_off_diagonal_cells_count_as_half_pairs() -> None:
    content = document("plane")
    for cell in content["cells"]:
        cell["intra_in"] += 1
        cell["intra_out"] = max(0, cell["intra_out"] - 1)
    fit = (
        fit_measurement(Measurement.from_json(content, "synthetic"), Options("plane")).model.orders["intra_first"].fit()
    )
    assert fit.pieces[0].beta == pytest.approx(0.006617, rel=1e-2)


def with_an_empty_cell_of(seconds: float) -> Measurement:
    """Small messages: whether there is one at all costs more than each further pair does."""
    content = document(hinge(9.0, 2e-7, 0.0, 9e-7, 6e-6))
    for cell in content["cells"]:
        if cell["intra_in"] == cell["inter_in"] == 0:
            cell["median_s"] = cell["minimum_s"] = seconds
    return Measurement.from_json(content, "synthetic")


@pytest.mark.parametrize("method", ["least_squares", "robust"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_cell_without_messages_does_not_bend_the_fit(kind: str, method: str) -> None:
    """It has no start-up, and made alpha of small messages up to 30 times too large."""
    found = fit_measurement(with_an_empty_cell_of(3e-8), Options(kind, method)).model
    same = fit_measurement(with_an_empty_cell_of(1.0), Options(kind, method)).model
    assert found == same
    fit = found.orders["intra_first"].fit()
    assert (fit.pieces[0].alpha, fit.pieces[0].beta) == (pytest.approx(2e-7), pytest.approx(9e-7))
    assert fit.pieces[0].gamma == pytest.approx(6e-6)  # the start-up
    assert sum(piece.cells or 0 for piece in fit.pieces) == 63


def test_it_is_said_that_the_cell_without_messages_is_not_fitted() -> None:
    says = "the cell without messages (pa = pe = 0) is not fitted: gamma is the start-up of an exchange"
    assert says in fitted_lines(fit_measurement(with_an_empty_cell_of(3e-8)))
    assert says not in fitted_lines(fit_measurement(only(lambda pa, pe: pa + pe > 0)))


def test_the_cell_without_messages_stays_in_the_picture() -> None:
    measured = with_an_empty_cell_of(3e-8)
    picture = svg(fit_figure(measured, fit_measurement(measured).model))
    assert picture.count('id="not-fitted') == 4  # in the surface and the comparison of both orders


def test_several_message_sizes_have_to_be_chosen_from() -> None:
    content = document("plane")
    content["cells"] += [{**cell, "message_bytes": 1024} for cell in document("split")["cells"]]
    measured = Measurement.from_json(content, "synthetic")
    with pytest.raises(CostError, match="choose one of them: 1024, 4194304"):
        fit_measurement(measured)
    with pytest.raises(CostError, match="no cells with messages of 7 bytes"):
        fit_measurement(measured, Options(message_bytes=7))
    model: Model = fit_measurement(measured, Options(message_bytes=1024)).model
    assert (model.message_bytes, model.orders["intra_first"].kind) == (1024, "split")


@pytest.mark.parametrize(
    "options", [Options("cube"), Options(method="magic"), Options(statistic="mean"), Options(confidence=1.0),
                Options(confidence=float("nan"))],
)  # fmt: skip
def test_bad_options_are_refused(options: Options) -> None:
    with pytest.raises(CostError):
        fit_measurement(measurement(), options)


def curve_points(latency_s: list[float], rate: list[float], cut: int, noise: float = 0.0) -> Points:
    chance = numpy.random.default_rng(3)
    sizes = tuple(2**power for power in range(3, 25))
    which = [int(size >= cut) for size in sizes]
    exact = [latency_s[one] + size / rate[one] for size, one in zip(sizes, which, strict=True)]
    seconds = tuple(value * (1 + noise * float(chance.normal())) for value in exact)
    return Points("intra", sizes, seconds, seconds)


def test_a_curve_finds_its_segments_latency_and_bandwidth() -> None:
    curve = fit_curve(curve_points([1e-6, 1e-5], [1e9, 5e9], 16384, noise=0.01))
    assert [segment.min_bytes for segment in curve.segments] == [0, 16384]
    small, large = curve.segments
    assert small.latency_s == pytest.approx(1e-6, rel=0.05)
    assert 1 / large.s_per_byte == pytest.approx(5e9, rel=0.05)
    assert curve.seconds(1 << 20) == pytest.approx(1e-5 + (1 << 20) / 5e9, rel=0.05)


def test_one_straight_line_is_one_segment() -> None:
    assert len(fit_curve(curve_points([1e-6, 1e-6], [1e9, 1e9], 1, noise=0.01)).segments) == 1


def test_a_curve_is_no_further_below_the_points_than_above() -> None:
    """The square of (predicted / measured - 1) is at most 1 for any underestimate, so that lines lay far too low."""
    sizes = (8, 4096, 65536, 1048576)
    times = (1e-6, 1e-6, 8.5e-5, 1.07e-3)  # too few points for two lines
    curve = fit_curve(Points("x", sizes, times, times))
    ratios = [curve.seconds(size) / time for size, time in zip(sizes, times, strict=True)]
    assert all(1 / 3 < ratio < 3 for ratio in ratios), ratios  # it was a seventh of what was measured


def test_a_curve_of_one_size_is_refused() -> None:
    with pytest.raises(DesignError, match='curve "tcp".*let the probe measure a list of sizes'):
        fit_curve(Points("tcp", (8,), (1e-6,), (1e-6,)))


def of_noise() -> Measurement:
    """Times that have nothing to do with the numbers of messages."""
    chance = numpy.random.default_rng(3)
    content = document("plane", half_star=4)
    for cell in content["cells"]:
        cell["median_s"] = cell["minimum_s"] = 1e-5 * float(chance.uniform(1, 5))
    return Measurement.from_json(content, "synthetic")


def test_a_fit_that_says_nothing_is_doubted() -> None:
    model = fit_measurement(of_noise(), Options("plane")).model
    fit = model.orders["intra_first"].fit()
    assert fit.r_squared is not None and fit.r_squared < 0.3
    first, *others = model.doubts
    cells = [cell for cell in of_noise().select("intra_first", 4194304) if cell.has_messages]
    piece = fit.pieces[0]
    residuals = {(cell.pa, cell.pe): cell.median_s - piece.alpha * cell.pa - piece.beta * cell.pe - piece.gamma
                 for cell in cells}  # fmt: skip
    pa, pe = max(residuals, key=lambda one: abs(residuals[one]))
    assert first.startswith(f"intra_first: R^2 of the plane is {100 * fit.r_squared:.1f} %, less than 90 %; ")
    assert f"the largest residual is at pa = {pa:g}, pe = {pe:g}: measured " in first and " us, fitted " in first
    assert any(one.startswith("inter_first: R^2 of the plane is ") for one in others)
    assert any(one.startswith("intra_first: the interval of alpha for 0 <= pa <= 3 (") for one in others)
    assert all(one.startswith(("intra_first: ", "inter_first: ")) for one in model.doubts)


def test_a_good_fit_is_not_doubted() -> None:
    for kind in KINDS:
        assert (
            fit_measurement(measurement(hinge(3.0, 0.0038, 0.0045, 0.0066, 0.0058)), Options(kind)).model.doubts == ()
        )


def test_an_interval_with_0_is_doubted_though_the_fit_is_good() -> None:
    model = fit_measurement(measurement(hinge(9.0, 1e-9, 0.0, 1e-3, 1e-3), noise_s=1e-5), Options("plane")).model
    assert len(model.doubts) == 2
    assert model.doubts[0].startswith("intra_first: the interval of alpha for 0 <= pa <= 7 (-")
    assert model.doubts[0].endswith("contains 0: the cells do not show what a pair inside a node costs")


def test_a_cost_below_0_is_doubted_though_its_interval_is_not_known() -> None:
    model = fit_measurement(measurement(hinge(3.0, 0.0038, -0.0045, 0.0066, 0.0058)), Options("hinge")).model
    assert "intra_first: alpha is -700 us for 3 <= pa <= 7, and a pair inside a node cannot cost less than nothing" in (
        model.doubts
    )


def test_doubts_are_kept_in_the_file_and_repeated_by_predictions(
    couplet: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.json").write_text(json.dumps(of_noise().document))
    fitted = couplet("fit", "m.json", "-o", "model.json")
    assert fitted.exit_code == 0
    assert "couplet: warning: intra_first: R^2 of the " in fitted.stderr
    assert "measure again with more --repetitions" in fitted.stderr
    kept = load_model("model.json").doubts
    assert json.loads(Path("model.json").read_text())["doubts"] == list(kept)
    for command in ("predict", "place"):
        words = (command, "--model", "model.json", "--tiles", "2x2", "--nodes", "2,2", "--machine", "invented")
        text = couplet(*words).stdout
        assert text.count("note: the model is doubtful: intra_first: R^2 of the ") == 1
        assert f"(and {len(kept) - 1} more reasons, which model.json lists)\n" in text
        assert json.loads(couplet(*words, "--json").stdout)["model_doubts"] == list(kept)
