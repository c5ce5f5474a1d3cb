"""Compiles MPI programs for SimGrid, and runs them on simulated machines: rank by rank in one process."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
PROGRAMS = PROJECT / "build" / "scale" / "programs"  # where compiled programs stay
# Ranks are threads of one process with a copy of the program's variables each; a GNU unique symbol, as of a
# function-local static in a header, would be shared by all of them.
FLAGS = ("-std=c++20", "-O1", "-fno-gnu-unique", f"-I{PROJECT / 'src'}", f"-I{PROJECT / 'include'}")
# Time passes only in calls of MPI: the result does not depend on the machine that simulates.
ALWAYS = ("smpi/simulate-computation:no", "smpi/display-timing:no")


def missing() -> str | None:
    """Says why nothing can be simulated here; None if it can."""
    for name in ("smpicxx", "smpirun"):
        if shutil.which(name) is None:
            return f"{name} is not installed (Debian's package libsimgrid-dev)"
    return None


def compile_program(
    target: Path, sources: Sequence[Path], options: Sequence[str] = (), libraries: Sequence[str] = ()
) -> Path:
    """Compiles a program, unless it is newer than its sources and their neighbours. Returns its path."""
    inputs = [Path(__file__), *(one for source in sources for one in source.parent.iterdir())]
    if target.exists() and target.stat().st_mtime > max(one.stat().st_mtime for one in inputs):
        return target
    folder = target.with_name(f"{target.name}.objects")
    folder.mkdir(parents=True, exist_ok=True)
    objects = [folder / f"{source.parent.name}-{source.stem}.o" for source in sources]

    def compile_one(source: Path, compiled: Path) -> None:
        _call(["smpicxx", *FLAGS, *options, "-c", str(source), "-o", str(compiled)])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, sources, objects))
    _call(["smpicxx", *map(str, objects), *libraries, "-o", str(target)])
    return target


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


@dataclass(frozen=True)
class Machine:
    """A described platform, the host of each rank, and how SimGrid simulates it."""

    platform: Path
    hosts: Path
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Simulated:
    """What a program has printed, and the seconds of a processor that simulating it took."""

    output: str
    cpu_s: float


def simulate(machine: Machine, ranks: int, program: Path, words: Sequence[str], timeout_s: int = 7200) -> Simulated:
    """Runs a program on a simulated machine; RuntimeError if it fails. No path may have a blank."""
    folder = machine.platform.parent
    command = ["timeout", str(timeout_s), "smpirun", "-np", str(ranks)]
    command += ["-platform", str(machine.platform), "-hostfile", str(machine.hosts)]
    command += [f"--cfg={setting}" for setting in (*ALWAYS, *machine.settings)]
    command += ["--log=root.thres:warning", "--log=smpi_mpi.thres:error", str(program), *words]
    printed, complaints = folder / "output", folder / "errors"
    with printed.open("wb") as output, complaints.open("wb") as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | {"TMPDIR": str(folder)}, stdin=subprocess.DEVNULL, stdout=output,
            stderr=errors,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        ends = printed.read_text()[-2000:] + complaints.read_text()[-4000:]
        raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}\n{ends}")
    return Simulated(printed.read_text(), usage.ru_utime + usage.ru_stime)
