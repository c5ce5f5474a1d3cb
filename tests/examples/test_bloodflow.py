"""The blood flow, in a smaller vessel and with fewer rounds than in make demo-bloodflow."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from needs import built, launcher

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "bloodflow"
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))
SOLVER = BUILD / "examples" / "bloodflow" / "solver.openmpi"
ROUNDS = 200


def run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "COUPLET_BUILD_DIR": str(BUILD),
        "OMPI_MCA_orte_tmpdir_base": str(folder),
        "OMPI_MCA_btl_vader_backing_directory": str(folder),
    }
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400, check=False
    )


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the results of all runs."""
    built(SOLVER, "cpp", "openmpi")
    launcher("openmpi")
    folder = tmp_path_factory.mktemp("blood")
    command = [sys.executable, EXAMPLE / "demo.py", "--rounds", str(ROUNDS), "--radius", "3", "--pairs", "1"]
    done = run([*command, "--output", folder / "output"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "output"


def summarise(output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, EXAMPLE / "summarise.py", output, *options], output)


def test_all_runs_have_the_same_bits(output: Path) -> None:
    done = summarise(output)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 runs of the same flow have the same bits" in done.stdout
    for name in ("film.png", "checks.png", "flow/live.png", f"flow/frame-{ROUNDS // 2:06}.png"):
        assert (output / name).read_bytes().startswith(b"\x89PNG")
    assert len(list((output / "flow").glob("frame-*.png"))) == 40
    states = {path.name for path in (output / "killed" / "states").iterdir()}
    assert states == {f"round-{number}.rank-{rank}" for number in (150, 200) for rank in (0, 1)}


def test_coalesced_rounds_have_one_wait_and_one_message(output: Path) -> None:
    runs = [json.loads(line) for line in (output / "table" / "table.jsonl").read_text().splitlines()]
    assert {(each["frames"], each["merged"]) for each in runs} == {(n, on) for n in (10, 100, 200) for on in (0, 1)}
    for each in runs:
        waits = each["rank_0"]["phases"][0]["synchronisation_points"]
        (peer,) = each["rank_0"]["peers"]
        if each["merged"]:
            assert (waits, peer["sent_messages"]) == (ROUNDS, ROUNDS)
        else:
            assert waits == 6 * ROUNDS  # the kernel, two pictures, two reductions of the monitor, the commands
            assert peer["sent_messages"] > ROUNDS


def run_again(output: Path, folder: Path, *changes: tuple[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Runs the flow of one rank with changes in its file, and returns what both runs have recorded."""
    toml = (output / "one-rank" / "coupled.toml").read_text()
    for old, new in ((str(output / "one-rank"), str(folder)), *changes):
        assert toml.count(old) == 1, (old, toml)
        toml = toml.replace(old, new)
    (folder / "coupled.toml").write_text(toml)
    done = run([Path(sys.executable).parent / "couplet", "run", "--plain", "coupled.toml"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "run.json").read_text()), json.loads((output / "one-rank" / "run.json").read_text())


def test_another_mpi_gives_the_same_bits(output: Path, tmp_path: Path) -> None:
    launcher("mpich")
    here, there = run_again(
        output,
        tmp_path,
        (str(SOLVER), built(SOLVER.with_suffix(".mpich"), "cpp", "mpich")),
        ('launcher = "openmpi"', 'launcher = "mpich"'),
        ("ranks = 1", "ranks = 2"),
        ("launcher_options = ['--oversubscribe', '--bind-to', 'none']", ""),
    )
    assert (here["digest"], here["frames"]) == (there["digest"], there["frames"])


def test_a_damaged_state_is_not_taken(output: Path, tmp_path: Path) -> None:
    """The state of round 150, of two ranks, is taken in place of it, by one rank."""
    shutil.copytree(output / "killed" / "states", tmp_path / "states")
    damaged = tmp_path / "states" / "round-200.rank-1"
    image = bytearray(damaged.read_bytes())
    image[len(image) // 2] ^= 1
    damaged.write_bytes(image)
    here, there = run_again(output, tmp_path, ("'viewer=0'", "'viewer=0', 'restart=1'"))
    assert here["first_round"] == 150
    assert here["digest"] == there["digest"]


def test_differences_are_noticed(output: Path, tmp_path: Path) -> None:
    """In a copy of the results, something is wrong in each of several files."""
    copy = tmp_path / "output"
    shutil.copytree(output, copy)

    def change(name: str, apply: Callable[[Any], object]) -> None:
        record = json.loads((copy / name).read_text())
        apply(record)
        (copy / name).write_text(json.dumps(record))

    change("four-ranks/run.json", lambda record: record.update(digest="0"))
    change("one-rank/run.json", lambda record: record["frames"].update({"100": "0"}))
    change("separate-waits/run.json", lambda record: record["frames"].pop("100"))
    change("killed/viewer.json", lambda record: record["lives"].pop())
    change("closed/run.json", lambda record: record["checks"][1].__setitem__(1, record["checks"][0][1] + 1e-6))
    with (copy / "tube" / "profile.txt").open("a") as file:
        file.write("0 0 0.0615\n")
    (copy / "killed" / "frame-000100.png").write_bytes(b"")
    done = summarise(copy, "--no-pictures")
    assert done.returncode == 1, done.stdout + done.stderr
    wrong = [line.removeprefix("WRONG: ") for line in done.stdout.splitlines() if line.startswith("WRONG: ")]
    for beginning in (
        "one-rank: the frame of round 100 is not that of flow",
        "four-ranks: at the end the values are not those of flow",
        "separate-waits: 39 frames, and flow has 40",
        "killed: frame-000100.png differs",
        "killed: the viewer has seen lives from [0] on",
        "closed: the mass changes",
        "tube: the profile differs",
    ):
        assert sum(line.startswith(beginning) for line in wrong) == 1, (beginning, wrong)
    assert len(wrong) == 7, wrong


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("radius=1", "radius must be 2 to 64"),
        ("colour=red", "the options are name=value, with one of the names check_every commands"),
        ("rounds=many", "rounds=many: it is no number"),
        ("commands=100:0.04", "a command must be round:inflow:angle, not 100:0.04"),
        ("save_every=15", "save_every must be a multiple of frame_every and of check_every"),
    ],
)
def test_a_wrong_option_is_named(tmp_path: Path, word: str, text: str) -> None:
    done = run([built(SOLVER, "cpp", "openmpi"), word], tmp_path)
    assert done.returncode == 2
    assert text in done.stderr


def test_a_flow_that_is_not_stable_ends_all_ranks(tmp_path: Path) -> None:
    built(SOLVER, "cpp", "openmpi")
    (tmp_path / "coupled.toml").write_text(
        f'[[program]]\nname = "solver"\ncommand = ["{SOLVER}", "radius=3", "inflow=0.5", "rounds=300"]\n'
        'launcher = "openmpi"\nranks = 2\nlauncher_options = ["--oversubscribe", "--bind-to", "none"]\n'
    )
    done = run([Path(sys.executable).parent / "couplet", "run", "--plain", "coupled.toml"], tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the flow was not stable in round" in done.stdout + done.stderr
