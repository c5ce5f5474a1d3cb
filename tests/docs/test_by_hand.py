"""The commands by which docs/guide/universe.md starts a universe by hand, run as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from launching import PROJECT
from needs import launcher

BLOCK = re.compile(r"<!-- (save|shell): (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
PAGE = PROJECT / "docs" / "guide" / "universe.md"


def test_a_universe_that_is_started_by_hand(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COUPLET_")}
    environment |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environment["PATH"] = f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{environment['PATH']}"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpirun").symlink_to(launcher("openmpi"))  # the system's mpirun may be that of MPICH
    output = ""
    for kind, name, text in BLOCK.findall(PAGE.read_text()):
        if kind == "save":
            (tmp_path / name).write_text(text)
        else:
            command = ["bash", "-euc", text]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
            output += done.stdout
    ranks = sorted(line for line in output.splitlines() if line.startswith("rank "))
    assert ranks == ["rank 0 of 3 sends 0", "rank 1 of 3 sends 1"]
