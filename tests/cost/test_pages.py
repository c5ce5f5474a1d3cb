"""The commands of the guide on costs are run, in order, in a fresh folder; what they print is what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from launching import PROJECT
from needs import launcher

BLOCK = re.compile(r"<!-- (shell|output|save): ([^>]+?) -->\n```\w+\n(.*?)```\n", re.DOTALL)
PAGES = ("measuring-a-machine.md", "predicting-and-placing.md")


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
            printed[name] = done.stdout
        else:
            assert printed[name] == text, name
    assert len(printed) >= 3
