"""The heat cubes: three programs in four forms, and one cube that two programs solve together; smaller than make
demo-heat-cube.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from needs import compiler, launcher

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "heat-cube"
HERE = Path(__file__).parent
BUILD = os.environ.get("COUPLET_BUILD_DIR", str(ROOT / "build" / "release"))


def run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "COUPLET_BUILD_DIR": BUILD,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "OMPI_MCA_orte_tmpdir_base": str(folder),
        "OMPI_MCA_btl_vader_backing_directory": str(folder),
    }
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400, check=False
    )


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the results of a short run."""
    for flavour in ("openmpi", "mpich"):
        compiler("fortran", flavour)
        launcher(flavour)
    folder = tmp_path_factory.mktemp("heat") / "heat-cube"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("output"))
    for name in ("s2.dat", "s3.dat", "cube.dat"):
        text = (folder / name).read_text()
        for old, new in (("cells = 20", "cells = 10"), ("steps = 40", "steps = 5"), ("steps = 20", "steps = 5")):
            text = text.replace(old, new)
        assert "cells = 10" in text and "steps = 5" in text
        (folder / name).write_text(text)
    done = run([folder / "run", "1"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "messages, by couplet convert" in done.stdout
    return folder / "output"


def summarise(output: Path) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, EXAMPLE / "summarise.py", "."], output)


def test_the_forms_agree(output: Path) -> None:
    """The run has compared them; this looks at what it has compared."""
    assert (output / "heat_cube.png").read_bytes().startswith(b"\x89PNG")
    listing = (output / "messages" / "s3.out").read_text().split()
    assert len(listing) == 5 * (2 + 11 * 11)
    assert listing[2 + 11 * 11] == "8.0000000000000000E+000"  # the time of the second step
    lines = (output / "split" / "cube.out").read_text().splitlines()
    assert lines[0].split()[-1] == "3"  # two of five parts of 11 planes
    assert len(lines) == 6


@pytest.mark.parametrize(
    ("file", "word", "changed", "mistake"),
    [
        ("messages/s3.out", -1, lambda word: f"{float(word) * (1 + 3e-16):.16E}", "messages: s3.out differs"),
        ("converted/s1.out", 1, lambda word: f"{float(word) * (1 + 3e-16):.16E}", "converted: s1.out differs"),
        ("split/cube.out", -2, lambda word: str(int(word) + 1), "split: the numbers of iterations differ"),
        ("laws/cube.out", -1, lambda word: f"{float(word) * (1 + 2e-12):.16E}", "laws: warmest differs"),
        ("split/cube.cut", 50, lambda word: f"{float(word) + 1e-9:.16E}", "split: cut differs"),
    ],
)
def test_a_difference_is_noticed(output: Path, file: str, word: int, changed, mistake: str) -> None:
    path = output / file
    right = path.read_text()
    words = right.split(" ")
    numbers = [index for index, each in enumerate(words) if each.strip() and each.strip()[0].isdigit()]
    at = numbers[word]
    words[at] = words[at].replace(words[at].strip(), changed(words[at].strip()))
    try:
        path.write_text(" ".join(words))
        done = summarise(output)
    finally:
        path.write_text(right)
    assert done.returncode == 1
    assert f"WRONG: {mistake}" in done.stderr


@pytest.mark.parametrize("ranks", [1, 3])
def test_the_elements(tmp_path: Path, ranks: int) -> None:
    """Volumes, a linear field, and a body that takes the temperature of its top face."""
    sources = [EXAMPLE / f"{name}.f90" for name in ("slab", "elements", "constant_material", "conduction")]
    command = [compiler("fortran", "openmpi"), *sources, HERE / "heat_cube_elements.f90", "-o", "elements"]
    compiled = run(command, tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    done = run([launcher("openmpi"), "--oversubscribe", "-n", str(ranks), "./elements"], tmp_path)
    assert done.returncode == 0, done.stderr
    volume, inside, flow, distance = (abs(float(word)) for word in done.stdout.split())
    assert max(volume, inside, flow) < 1e-12
    assert distance < 1e-6
