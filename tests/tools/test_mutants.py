"""The mutants of the simulator fit the sources of today. `make sim-mutants` builds and plays them."""

from __future__ import annotations

import importlib.util
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "world" / "mutants"
MUTANTS = tomllib.loads((FOLDER / "mutants.toml").read_text())["mutant"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=[each["name"] for each in MUTANTS])
def test_a_mutant_can_be_made(mutant: dict[str, Any], tmp_path: Path) -> None:
    """Fault: since the layers are targets of their own, no source was found, and nobody noticed."""
    found = importlib.util.spec_from_file_location("check_mutants", FOLDER / "check_mutants.py")
    assert found is not None and found.loader is not None
    check_mutants = importlib.util.module_from_spec(found)
    found.loader.exec_module(check_mutants)
    source = check_mutants.ROOT / mutant["file"]
    assert source.read_text().count(mutant["old"]) == 1
    entry, compiled = check_mutants.find_compilation(
        Path(os.environ["COUPLET_BUILD_DIR"]), source, tmp_path / source.name, tmp_path
    )
    assert str(tmp_path / source.name) in compiled.read_text() if compiled.exists() else compiled.name == source.name
    assert "-o" in entry["command"]
