"""Every block of TOML on a page is a coupled.toml, or tables of one, in which `couplet check` finds no mistake."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from launching import PROJECT

from couplet.cli.configuration import load

BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
BLOCKS = [(page, text) for page in PAGES for text in BLOCK.findall(page.read_text())]
PROGRAM = '[[program]]\nname = "ocean"\ncommand = ["./ocean"]\n'


def executable(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("page", "text"), [pytest.param(*one, id=f"{one[0].stem}-{number}") for number, one in enumerate(BLOCKS)]
)
def test_the_block_has_no_mistake(page: Path, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a block starts is replaced by files of the same names, and every launcher counts as installed."""
    folder = tmp_path / "one" / "two" / "three"  # programs may be in folders above that of the file
    folder.mkdir(parents=True)
    content = tomllib.loads(text)
    if "program" not in content:
        text = PROGRAM + text
    for program in tomllib.loads(text)["program"]:
        directory = folder / program.get("directory", ".")
        directory.mkdir(parents=True, exist_ok=True)
        command = program["command"][0]
        executable(directory / command if "/" in command else tmp_path / "bin" / command)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setattr("couplet.cli.launch.launcher_executable", lambda _: "/usr/bin/launcher")
    (folder / "coupled.toml").write_text(text)
    assert load(folder / "coupled.toml").programs


def test_there_are_blocks() -> None:
    assert len(BLOCKS) > 12
