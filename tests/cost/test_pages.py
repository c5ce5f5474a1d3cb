"""The commands of the guide on costs are run, in order, in a fresh folder; what they print is what the page shows."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from launching import PROJECT
from needs import launcher

from couplet.cli.probe_links import all_runs
from couplet.cost.machine import load_costs

BLOCK = re.compile(r"<!-- (shell|output|save): ([^>]+?) -->\n```\w+\n(.*?)```\n", re.DOTALL)
PAGES = ("measuring-a-machine.md", "predicting-and-placing.md")


def check_saved(folder: Path) -> None:
    """What the page has saved has every curve, and the library reads it."""
    path = folder / "config" / "couplet" / "cost.json"
    made = load_costs(path)
    assert made["machine"] == {"name": "rehearsal", "hosts": [socket.gethostname()]}
    ways = {(entry["link"], entry["way"], entry.get("piece_bytes")) for entry in made["links"]}
    runs = {tuple(run.name.split(":")) for run in all_runs(2, folder) if run.what == "messages"}
    assert ways == {(name[0], name[1], int(name[2]) if len(name) > 2 else None) for name in runs}
    assert {entry["way"] for entry in made["copies"]} == {"cached", "streaming"}
    assert {entry["method"] for entry in made["exchanges"]} == {"mapped", "two_sided"}
    assert {entry["call"] for entry in made["collectives"]} >= {"broadcast", "allreduce", "gather", "scan"}
    command = [str(Path(sys.executable).parent / "couplet"), "explain"]
    environment = {**os.environ, "COUPLET_COST_FILE": str(path), "COLUMNS": "300"}
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert f"cost file {path} of machine 'rehearsal'" in shown
    for text in ("eager limit of shm", "pieces of a 4 MiB message over tcp", "copies stream", "allreduce of 8 bytes",
                 "methods of an exchange", "measured"):  # fmt: skip
        assert text in shown


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(tmp_path: Path, page: str) -> None:
    launcher("openmpi")
    blocks = BLOCK.findall((PROJECT / "docs" / "guide" / page).read_text())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = {}
    for kind, name, text in blocks:
        if kind == "save":
            (tmp_path / name).write_text(text)
        elif kind == "shell":
            done = subprocess.run(
                ["bash", "-ec", text], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            errors = done.stderr.splitlines()
            if name in ("save", "fit", "use"):  # a host with other load is warned of, and so is a fit of its times
                errors = [line for line in errors if not line.startswith("couplet: warning: ")]
            assert (done.returncode, errors) == (0, []), name
            if name == "save":  # a warning, and a doubt in the file, or neither
                assert bool(done.stderr) == ("doubts" in load_costs(tmp_path / "config" / "couplet" / "cost.json"))
            printed[name] = done.stdout
        else:
            assert printed[name] == text, name
    assert len(printed) >= 3
    if "save" in printed:
        check_saved(tmp_path)
