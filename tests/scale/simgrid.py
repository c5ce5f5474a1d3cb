"""Compiles MPI programs for SimGrid, and runs them on simulated machines: rank by rank in one process."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
# Ranks are threads of one process with a copy of the program's variables each; a GNU unique symbol, as of a
# function-local static in a header, would be shared by all of them.
FLAGS = ("-std=c++20", "-O2", "-fno-gnu-unique", f"-I{PROJECT / 'src'}", f"-I{PROJECT / 'include'}")
# Time passes only in calls of MPI: the result does not depend on the machine that simulates.
ALWAYS = ("smpi/simulate-computation:no", "smpi/display-timing:no")


def missing() -> str | None:
    """Says why nothing can be simulated here; None if it can."""
    for name in ("smpicxx", "smpirun"):
        if shutil.which(name) is None:
            return f"{name} is not installed (Debian's package libsimgrid-dev)"
    return None


def compile_program(target: Path, sources: Sequence[Path], *options: str) -> Path:
    """Compiles a program, unless it is newer than its sources and their neighbours. Returns its path."""
    newest = max(one.stat().st_mtime for source in sources for one in source.parent.iterdir())
    if target.exists() and target.stat().st_mtime > newest:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    command = ["smpicxx", *FLAGS, *options, *map(str, sources), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"smpicxx failed:\n{done.stdout}{done.stderr}")
    return target


@dataclass(frozen=True)
class Machine:
    """A described platform, the host of each rank, and how SimGrid simulates it."""

    platform: Path
    hosts: Path
    settings: tuple[str, ...] = ()


def simulate(machine: Machine, ranks: int, program: Path, words: Sequence[str], timeout_s: float = 600.0) -> str:
    """Runs a program on a simulated machine. Returns what it prints; RuntimeError if it fails."""
    command = ["smpirun", "-np", str(ranks), "-platform", str(machine.platform), "-hostfile", str(machine.hosts)]
    command += [f"--cfg={setting}" for setting in (*ALWAYS, *machine.settings)]
    command += ["--log=root.thres:warning", str(program), *words]
    environment = os.environ | {"TMPDIR": str(machine.platform.parent)}
    done = subprocess.run(
        command, cwd=machine.platform.parent, env=environment, capture_output=True, text=True, timeout=timeout_s,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    return done.stdout
