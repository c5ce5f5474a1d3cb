"""The page docs/guide/first-run.md, as a reader follows it: its files, its commands, one after the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", PROJECT / "build" / "release"))
BLOCK = re.compile(r"<!-- (save|shell): (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)


def sh(command: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_first_run(tmp_path: Path) -> None:
    prefix = tmp_path / "couplet"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COUPLET_")}
    environment |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "COUPLET_SOURCE": str(PROJECT)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    sh(f"cmake --install {BUILD} --prefix {prefix}", tmp_path, environment)
    libraries = next(prefix.glob("lib*/**/pkgconfig"))
    environment |= {"PKG_CONFIG_PATH": str(libraries)}
    folder = tmp_path
    output = {}
    for kind, name, text in BLOCK.findall((PROJECT / "docs" / "guide" / "first-run.md").read_text()):
        if kind == "save":
            (folder / name).write_text(text)
        else:
            output[name] = sh(text, folder, environment)
            folder = tmp_path / "first"
    assert "100 steps, highest 1.000" in output["run"]
    assert (folder / "ocean").exists()
    others = (folder / "coupled.toml").read_text().replace("ocean_fortran", "ocean_cpp")
    (folder / "coupled.toml").write_text(others.replace('"python", "nowcast.py"', '"build/nowcast_c"'))
    assert "100 steps, highest 1.000" in sh("couplet run coupled.toml", folder, environment)
