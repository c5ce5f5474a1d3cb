"""tile-io: contents and counts, on a few node sets; smaller than make demo-tile-io."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from needs import built, launcher

from couplet.cost import Tiles, load_model, predict

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "tile-io"
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))


def run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "COUPLET_BUILD_DIR": str(BUILD),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "OMPI_MCA_orte_tmpdir_base": str(folder),
        "OMPI_MCA_btl_vader_backing_directory": str(folder),
    }
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=250, check=False
    )


def program(flavour: str) -> str:
    return built(BUILD / "examples" / "tile-io" / f"tile_io.{flavour}", "cpp", flavour)


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the results of a short run, in which every count was as predicted."""
    launcher("openmpi")
    program("openmpi")
    folder = tmp_path_factory.mktemp("tile") / "tile-io"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("output"))
    done = run([folder / "run", "quick"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rank correlation" in done.stdout
    return folder / "output"


def test_a_run_is_summarised(output: Path) -> None:
    assert (output / "tile_io.png").read_bytes().startswith(b"\x89PNG")
    one = json.loads((output / "sets" / "4,4,2,2,1,1,1,1.json").read_text())
    assert one["ca"] == [4, 0, 0, 0, 0, 0, 1, 1]  # by hand: rows of four tiles, two domains for each row
    assert one["ce"] == [4, 12, 8, 8, 6, 6, 4, 4]
    assert (one["iterations"], one["messages"]) == (2, 64)


def test_a_wrong_count_is_noticed(output: Path) -> None:
    specification = importlib.util.spec_from_file_location("tile_io_summary", EXAMPLE / "summarise.py")
    assert specification is not None and specification.loader is not None
    summary = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(summary)
    one = json.loads((output / "sets" / "4,4,2,2,1,1,1,1.json").read_text())
    predicted = predict(load_model("tachyon1.json"), Tiles(4, 4), one["node_set"]).to_json()
    predicted["iterations"] = {"count": 2}
    assert summary.check(one, predicted) == []
    one["ce"][1] -= 1
    one["iterations"] += 1
    problems = summary.check(one, predicted)
    assert len(problems) == 2
    assert "[4, 4, 2, 2, 1, 1, 1, 1]: ce was counted as [4, 11," in problems[0]
    assert "3 iterations, and 2 were predicted" in problems[1]


def test_the_file_has_each_element_at_its_place(tmp_path: Path) -> None:
    """Under MPICH, whose MPI-IO is another one; the value of an element is its place."""
    words = ["-n", "4", program("mpich"), "--tiles", "2x2", "--tile", "3x5", "--node-set", "3,1", "--repetitions", "1"]
    done = run([launcher("mpich"), *words, "--cb-buffer-size", "104"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["iterations"] == 3  # domains of 30 elements, 13 at a time
    from array import array

    for name in ("two_phase.dat", "mpi_io.dat"):
        assert array("d", (tmp_path / name).read_bytes()).tolist() == list(range(60)), name


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--tiles", "4x4"], "there are 1 ranks, and 16 tiles: start one rank for each"),
        (["--node-set", "4,4"], "the node set holds 8 ranks, and there are 16 tiles: the numbers have to add up"),
        (["--tiles", "0x4"], "option --tiles 0x4 makes no sense"),
        (["--cb-buffer-size", "12"], "option --cb-buffer-size 12 makes no sense"),
        (["--order"], "option --order has no value"),
        (["--tiles", "1x1", "--node-set", "1", "--folder", "/nowhere"], "MPI_File_open of /nowhere/two_phase.dat"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, words: list[str], says: str) -> None:
    done = run([launcher("mpich"), "-n", "1", program("mpich"), *words], tmp_path)
    assert done.returncode != 0
    assert says in done.stderr
