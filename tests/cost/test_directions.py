"""What in and out cost by themselves, and where the throughput saturates."""

from __future__ import annotations

import numpy
import pytest
from synthetic import document, measurement

from couplet.cost import Measurement, fit_measurement
from couplet.cost.directions import NAMES, fit_directions, saturation
from couplet.cost.measurement import Cell
from couplet.cost.tables import fitted

TRUTH = {"intra_in": 0.003, "intra_out": 0.002, "inter_in": 0.005, "inter_out": 0.001}


def off_diagonal(noise_s: float) -> list[Cell]:
    """Cells like those of the probe: equal numbers in and out, and one more of either."""
    chance = numpy.random.default_rng(2)
    counts = {(pa, pa, pe, pe) for pa in range(4) for pe in range(4)}
    for pa, _, pe, _ in list(counts):
        if pa and pe:
            counts |= {(pa, pa - 1, pe, pe), (pa - 1, pa, pe, pe), (pa, pa, pe, pe - 1), (pa, pa, pe - 1, pe)}
    cells = []
    for one in sorted(counts):
        seconds = 0.006 + sum(TRUTH[name] * count for name, count in zip(NAMES, one, strict=True))
        seconds += float(chance.normal()) * noise_s
        cells.append(Cell("intra_first", 1024, *one, minimum_s=seconds, median_s=seconds))
    return cells


@pytest.mark.parametrize("method", ["least_squares", "robust"])
def test_directions_come_back(method: str) -> None:
    found = fit_directions(off_diagonal(1e-5), method, "median", 0.95)
    assert found is not None and found.r_squared > 0.999
    for name, (value, low, high) in found.seconds.items():
        assert value == pytest.approx(TRUTH[name], abs=5e-5)
        assert low <= value <= high
    assert tuple(found.seconds) == NAMES


def test_equal_numbers_in_and_out_tell_no_direction() -> None:
    cells = [cell for cell in off_diagonal(0.0) if cell.intra_in == cell.intra_out and cell.inter_in == cell.inter_out]
    assert fit_directions(cells, "least_squares", "median", 0.95) is None
    assert fit_directions([], "least_squares", "median", 0.95) is None
    assert fit_measurement(measurement("split")).directions == {}


def test_the_throughput_saturates_where_the_slope_changes() -> None:
    content = document("plane")
    for cell in content["cells"]:
        pairs = cell["intra_in"]
        cell["node_bytes_per_s"] = 1e9 * min(pairs, 3) / 3 if pairs else 0
    result = fit_measurement(Measurement.from_json(content, "synthetic"))
    assert result.saturation == {"intra_first": 3.0, "inter_first": 3.0}
    assert "  throughput of the node: hardly rises from pa = 3 on" in fitted(result)


def test_a_throughput_that_still_rises_or_was_not_measured_has_no_saturation() -> None:
    cells = [Cell("intra_first", 1, pa, pa, 0, 0, 1.0, 1.0, None, 1e6 * pa) for pa in range(5)]
    assert saturation(cells) is None
    assert saturation([]) is None
    assert saturation([Cell("intra_first", 1, 1, 1, 0, 0, 1.0, 1.0)]) is None
