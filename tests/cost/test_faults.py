"""Faults that a review found: each input was answered with a traceback, or with a wrong number."""

from __future__ import annotations

import json
import xml.etree.ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from synthetic import TACHYON, document

from couplet.cost import DesignError, DocumentError, Measurement, Options, Tiles, fit_measurement, load_model, place
from couplet.cost.patterns import read_matrix
from couplet.cost.plots import fit_figure, svg


def test_thousands_of_equal_nodes_are_placed() -> None:
    result = place(TACHYON, Tiles(64, 64), (2,) * 2048)
    assert result.orders["intra_first"].search.proven


def test_cells_that_took_no_time_are_fitted() -> None:
    content = document("plane")
    for cell in content["cells"]:
        cell["median_s"] = cell["minimum_s"] = 0.0
    model = fit_measurement(Measurement.from_json(content, "synthetic")).model
    assert model.orders["intra_first"].fit().pieces[0].alpha == pytest.approx(0.0, abs=1e-12)


def test_a_hinge_that_inter_node_pairs_imitate_is_passed_over() -> None:
    content = document("plane")
    content["cells"] = [cell for cell in content["cells"] if cell["inter_in"] == max(0, cell["intra_in"] - 2)]
    fitted = fit_measurement(Measurement.from_json(content, "synthetic"), Options("plane"))
    found = fitted.model.orders["intra_first"].fit("plane").pieces[0]
    assert (found.alpha, found.beta) == (pytest.approx(0.007242), pytest.approx(0.006617))


def test_a_negative_edge_is_refused_though_the_sum_is_not_negative(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('{"processes": 2, "edges": [[0, 1, -3], [0, 1, 5]]}')
    with pytest.raises(DocumentError, match=r"edges\[0\]: its amount must be a number of at least 0"):
        read_matrix(tmp_path / "m.json")


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-" + "9" * 30])
def test_numbers_without_bound_are_refused(tmp_path: Path, number: str) -> None:
    (tmp_path / "m.json").write_text(f"[[{number}]]")
    with pytest.raises(DocumentError, match="too large"):
        read_matrix(tmp_path / "m.json")
    text = json.dumps(TACHYON.to_json()).replace("4194304", number)
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(DocumentError, match="too large"):
        load_model(tmp_path / "model.json")


def test_coefficients_without_bound_are_refused(tmp_path: Path) -> None:
    content: dict[str, Any] = TACHYON.to_json()
    content["orders"]["intra_first"]["fits"]["split"]["pieces"][0]["alpha"] = 1e308
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(DocumentError, match="alpha has to be at most"):
        load_model(tmp_path / "model.json")


def test_names_are_drawn_as_they_are() -> None:
    content = document("split")
    content["machine"]["name"] = "cost in $ or $_{x \x01 <b>"
    measured = Measurement.from_json(content, "synthetic")
    picture = svg(fit_figure(measured, fit_measurement(measured).model))
    assert "cost in $ or $_{x ? <b>" in "".join(xml.etree.ElementTree.fromstring(picture).itertext())


def test_a_matrix_is_placed_without_aggregators(
    couplet: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m").write_text("0 1 0\n0 0 1\n1 0 0\n")
    result = couplet("place", "--model", "tachyon1.json", "--matrix", "m", "--nodes", "2,1", "--json")
    assert {order["aggregators"] for order in json.loads(result.stdout)["orders"].values()} == {None}


def test_a_design_error_is_told_and_not_a_traceback() -> None:
    content = document("plane")
    content["cells"] = content["cells"][:1] + content["cells"][64:65]
    with pytest.raises(DesignError):
        fit_measurement(Measurement.from_json(content, "synthetic"))
