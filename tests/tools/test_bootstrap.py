"""`make build` installs nothing: it says what is missing, and which command installs it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with the scripts only, in which nothing is missing but .venv."""
    shutil.copytree(PROJECT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tools" / "packages").write_text("bash must all cmd:bash\n")
    return tmp_path


def report(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [str(tree / "tools" / "bootstrap"), "build", "--report"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_report_names_the_package_and_make_setup(tree: Path) -> None:
    with (tree / "tools" / "packages").open("a") as packages:
        packages.write("libnowhere-dev must all cmd:a-command-that-is-nowhere\n")
    done = report(tree)
    assert done.returncode == 1
    assert "libnowhere-dev. 'make setup' installs them" in done.stderr
    assert not (tree / ".venv").exists()


def test_report_names_the_missing_environment(tree: Path) -> None:
    done = report(tree)
    assert done.returncode == 1
    assert "in .venv. 'make setup' installs them" in done.stderr
    assert not (tree / ".venv").exists()


def test_what_is_only_wanted_is_named_and_left_out(tree: Path) -> None:
    with (tree / "tools" / "packages").open("a") as packages:
        packages.write("libwanted-dev want all cmd:a-command-that-is-nowhere\n")
    assert "what needs them is left out: libwanted-dev" in report(tree).stderr


def test_an_unknown_option_is_refused(tree: Path) -> None:
    command = [str(tree / "tools" / "bootstrap"), "build", "--no-such-option"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "usage: tools/bootstrap" in done.stderr
