"""The example of docs/guide/from-cotocoa.md, built as the page says, in one job and by couplet run."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cotocoa import nothing_left
from jobs import FLAVOURS
from launching import BUILD, PROJECT, World, mpi_environment
from needs import installed, launcher

EXAMPLE = PROJECT / "examples" / "cotocoa"
PLATE = ["mpifort", "plate.f90", "plate", "-lctca", "-lctca_f", "-lctca_mod"]
CONTROL = ["mpicc", "control.c", "control", "-lctca"]
LOOK = ["mpicc", "look.c", "look", "-lctca"]


def mean() -> float:
    near = [(i, j) for i in range(-2, 3) for j in range(-2, 3)]
    return sum(math.exp(-(i * i + j * j) / 50) for i, j in near) / 25


def build(directory: Path, flavour: str, wrapper: str, source: str, program: str, *libraries: str) -> None:
    compiler = installed(f"{wrapper}.{flavour}")
    library = BUILD / "lib" / "couplet" / flavour
    cotocoa = PROJECT / "compat" / "cotocoa"
    modules = BUILD / "compat" / "cotocoa" / "modules" / flavour
    command = [compiler, str(EXAMPLE / source), "-o", program, "-I", str(cotocoa), "-I", str(modules)]
    command += ["-L", str(library), f"-Wl,-rpath,{library}", *libraries]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def expected() -> list[str]:
    return [f"rank {rank}:" + "".join(f"{step * mean():7.3f}" for step in range(1, 7)) for rank in range(2)]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_one_job(make_world: Callable[..., World], tmp_path: Path, flavour: str) -> None:
    for one in (PLATE, CONTROL, LOOK):
        build(tmp_path, flavour, *one)
    world = make_world("")
    command = [launcher(flavour), "-n", "2", "./plate", ":", "-n", "1", "./control", ":", "-n", "1", "./look"]
    command += [":", "-n", "2", sys.executable, str(EXAMPLE / "look.py")]
    assert (
        sorted(world.finish(world.start(command, **mpi_environment(flavour))).check().output.splitlines()) == expected()
    )
    nothing_left(world)


def test_separate_launches(make_world: Callable[..., World], tmp_path: Path) -> None:
    """The page's coupled.toml is run by couplet run: Open MPI and MPICH at the same time."""
    for flavour, one in (("openmpi", PLATE), ("mpich", CONTROL), ("mpich", LOOK)):
        build(tmp_path, flavour, *one)
    for name in ("look.py", "coupled.toml"):
        shutil.copy(EXAMPLE / name, tmp_path)
    world = make_world("")
    couplet = Path(sys.executable).parent / "couplet"
    path = f"{couplet.parent}:{os.environ['PATH']}"
    process = world.start([str(couplet), "run", "--plain", "coupled.toml"], PATH=path, MPI4PY_MPIABI="openmpi")
    output = world.finish(process).check().output
    for line in expected():
        assert line in output
    nothing_left(world)
