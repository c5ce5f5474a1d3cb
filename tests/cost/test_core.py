"""The pair model of src/cost/ gives the same numbers as Python, on the shipped model and on fits of a measurement."""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from launching import BUILD, PROJECT
from needs import built

from couplet.cost.model import Model, load_model

SHIPPED = PROJECT / "python" / "couplet" / "cost" / "models" / "tachyon1.json"
HINGED = {"kind": "hinge", "fits": {"hinge": {"pieces": [
    {"min_pa": 0, "max_pa": 2.5, "alpha": 0.0021, "beta": 0.0061, "gamma": 0.0031},
    {"min_pa": 2.5, "max_pa": 7, "alpha": 0.0083, "beta": 0.0061, "gamma": -0.0124},
]}}}  # fmt: skip


def compare(file: Path, model: Model, order: str, kind: str) -> int:
    """Compares every cell; returns how many there were."""
    program = built(BUILD / "tests" / "programs" / "cost_model", "cpp")
    command = [program, str(file), order, kind, "12", "15"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for line in lines:
        pa, pe, seconds = line.split()
        exact = model.orders[order].fit(kind).cost(Fraction(pa), Fraction(pe))
        assert float(seconds) == pytest.approx(float(exact), rel=1e-14, abs=1e-18), line
    return len(lines)


@pytest.mark.parametrize("order", ["intra_first", "inter_first"])
@pytest.mark.parametrize("kind", ["plane", "split"])
def test_the_published_model_is_the_same_in_both_languages(order: str, kind: str) -> None:
    assert compare(SHIPPED, load_model("tachyon1.json"), order, kind) == 25 * 31


def test_a_hinge_is_the_same_in_both_languages(tmp_path: Path) -> None:
    document = json.loads(SHIPPED.read_text())
    document["orders"]["intra_first"] = HINGED
    file = tmp_path / "hinge.json"
    file.write_text(json.dumps(document))
    assert compare(file, load_model(file), "intra_first", "hinge") == 25 * 31
