"""No command of the cost model writes over a file that it reads, or writes two results into one file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from synthetic import document
from test_probe import LINES

from couplet.cost.fit import fit_measurement
from couplet.cost.measurement import load_measurement

Couplet = Callable[..., Any]
TILES = ("--tiles", "4x4", "--nodes", "4,4,4,4")
HOSTS = ("--tiles", "4x4", "--hosts", "out/mpich.hosts")


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Path, bytes]:
    """A folder with a measurement, its model, a matrix, a record, hosts and lines; and what is in these files."""
    monkeypatch.chdir(tmp_path)
    Path("m.json").write_text(json.dumps(document("split", noise_s=1e-5)))
    fit_measurement(load_measurement("m.json")).model.save(Path("model.json"))
    Path("model.svg").write_text(Path("model.json").read_text())
    Path("model.html").write_text(Path("model.json").read_text())
    Path("matrix.svg").write_text("0 1\n1 0\n")
    Path("link.svg").symlink_to("model.json")
    Path("out").mkdir()
    Path("out/mpich.hosts").write_text("a 8\nb 8\n")
    Path("record").mkdir()
    Path("record/exchanges.0.jsonl").write_text("{}\n")
    Path("kept").write_text("{}")
    Path("kept.before").mkdir()
    Path("half/slurm.hosts").mkdir(parents=True)
    Path("lines").write_text(LINES)
    Path("lines.html").write_text(LINES)
    return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("fit", "m.json", "-o", "m.json"), "--output m.json: is the measurement that is read"),
        (("fit", "m.json", "-o", "./out/../m.json"), "is the measurement that is read"),
        (("fit", "model.svg", "--plot", "model.svg"), "--plot model.svg: is the measurement that is read"),
        (("fit", "m.json", "-o", "new.svg", "--plot", "new.svg"), "--plot new.svg: is the file of --output, too"),
        (("predict", "--model", "model.svg", *TILES, "--plot", "model.svg"), "--plot model.svg: is the file of"),
        (("predict", "--model", "model.json", *TILES, "--plot", "link.svg"), "--plot link.svg: is the file of --model"),
        (("predict", "--model", "model.json", "--matrix", "matrix.svg", "--nodes", "2", "--plot", "matrix.svg"),
         "--plot matrix.svg: is the file of --matrix"),
        (("place", "--model", "model.html", *TILES, "--report", "model.html"), "--report model.html: is the file of"),
        (("place", "--model", "model.json", *HOSTS, "--write", "out"), "out/mpich.hosts: is the file of --hosts"),
        (("place", "--model", "model.json", *TILES, "--plot", "x.svg", "--report", "x.svg"), "has to end with .html"),
        (("place", "--model", "model.json", *TILES, "--report", "r.pdf"), "--report r.pdf: a report is one HTML page"),
        (("probe", "--report", "r.pdf"), "--report r.pdf: a report is one HTML page"),
        (("probe", "--lines", "lines", "-o", "lines"), "--output lines: is the file of --lines"),
        (("probe", "--lines", "lines.html", "-o", "m2.json", "--report", "lines.html"), "is the file of --lines"),
        (("probe", "--save", "-o", "c.json", "--cost-file", "c.json"), "--cost-file c.json: is the file of --output"),
        (("probe", "--save", "-o", "model.json.before", "--cost-file", "model.json"),
         "--save model.json.before: is the file of --output, too"),
        (("probe", "--save", "--cost-file", "kept"), "kept.before: cannot be written: it is a folder"),
        (("place", "--model", "model.json", *HOSTS, "--write", "matrix.svg", "--plot", "new.svg"),
         "--write matrix.svg: is a file, and a folder is needed"),
        (("place", "--model", "model.json", *HOSTS, "--write", "half", "--plot", "new.svg"),
         "half/slurm.hosts: cannot be written: it is a folder"),
    ],
)  # fmt: skip
def test_an_output_that_is_an_input_or_another_output_is_refused(
    couplet: Couplet, inputs: dict[Path, bytes], words: tuple[str, ...], says: str
) -> None:
    result = couplet(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr and result.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in Path.cwd().rglob("*") if path.is_file()} == inputs


def test_nothing_is_written_if_one_of_several_outputs_cannot_be(couplet: Couplet) -> None:
    result = couplet("fit", "m.json", "-o", "new.json", "--plot", "nowhere/x.svg")
    assert result.exit_code == 2 and "there is no folder nowhere" in result.stderr
    assert not Path("new.json").exists()


def test_each_file_that_was_written_is_named(couplet: Couplet) -> None:
    result = couplet("fit", "m.json", "-o", "new.json", "--plot", "new.svg")
    assert result.stdout.endswith("written: new.json\nwritten: new.svg\n")
    words = ("--model", "model.json", "--machine", "invented", *TILES)
    for command in ("predict", "place"):
        assert couplet(command, *words, "--plot", "p.svg").stdout.endswith("written: p.svg\n")
    placed = json.loads(couplet("place", *words, "--plot", "p.svg", "--report", "p.html", "--json").stdout)
    assert placed["written"] == ["p.svg", "p.html"]


def test_names_that_are_not_utf_8_are_shown_by_number(couplet: Couplet) -> None:
    """A terminal and a page cannot have the byte; printing it was a traceback."""
    odd = os.fsdecode(b"odd\xff")
    shown = "odd\\udcff"
    Path(odd).mkdir()
    Path("lines").write_text(LINES.replace("curve inter 8 1e-6 3e-6\n", ""))
    result = couplet("probe", "--lines", "lines", "-o", f"{odd}/m.json", "--report", f"{odd}/r.html")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"written: {shown}/m.json (" in result.stdout and f"written: {shown}/r.html\n" in result.stdout
    Path(f"{odd}/model.json").write_bytes(Path("model.json").read_bytes())
    words = ("--model", f"{odd}/model.json", "--machine", "other", *HOSTS)
    for command in (words, (*words, "--json")):
        result = couplet("place", *command, "--write", f"{odd}/out", "--report", f"{odd}/p.html")
        assert result.exit_code == 0, result.exception
        assert f"{shown}/out/slurm.hosts" in result.stdout
        assert result.stderr.startswith(f"couplet: warning: {shown}/model.json: was measured on machine")
    assert f"model {shown}/model.json of invented" in Path(f"{odd}/p.html").read_text()


def test_hints_of_an_earlier_placement_are_told(couplet: Couplet) -> None:
    words = ("place", "--model", "model.json", "--machine", "invented", "--hosts", "hosts", "--write", "again")
    Path("hosts").write_text("a 1\nb 1\n")
    Path("matrix").write_text("0 1\n1 0\n")
    assert "note:" not in couplet(*words, "--tiles", "1x2").stdout
    assert "note: again/romio.hints is of an earlier placement" in couplet(*words, "--matrix", "matrix").stdout
