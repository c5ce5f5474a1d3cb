"""The example of docs/guide/from-waitio.md, built and started as the page says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from jobs import environment
from launching import BUILD, PROJECT, World
from needs import installed
from waitio import free_port, nothing_left

EXAMPLE = PROJECT / "examples" / "waitio"
HEADERS = (PROJECT / "compat" / "waitio", BUILD / "compat" / "waitio" / "include")


def build(directory: Path, flavour: str, wrapper: str, source: str, program: str) -> None:
    library = BUILD / "lib" / "couplet" / flavour
    command = [installed(f"{wrapper}.{flavour}"), str(EXAMPLE / source), "-o", program]
    command += [f"-I{folder}" for folder in HEADERS] + ["-L", str(library), f"-Wl,-rpath,{library}", "-lwaitio"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def energy() -> float:
    """Returns the energy after three steps: two ocean ranks and one of the air."""
    surface, wind = [0.0] * 10, [0.0] * 10
    for step in range(1, 4):
        surface, wind = [step + each / 2 for each in wind], [2 * surface[i] + i for i in range(10)]
    return sum(wind) + 0 + 1 + 2


def test_two_job_scripts(make_world: Callable[..., World], tmp_path: Path) -> None:
    """Only the port is another one, since 7100 may be in use here."""
    build(tmp_path, "openmpi", "mpifort", "ocean.f90", "ocean")
    build(tmp_path, "mpich", "mpicc", "air.c", "air")
    world = make_world("")
    port = free_port()
    for name in ("pb0.sh", "pb1.sh"):
        (tmp_path / name).write_text((EXAMPLE / name).read_text().replace("7100", str(port)))
    path = f"{PROJECT / 'compat' / 'waitio'}:{os.environ['PATH']}"
    started = [
        world.start(["sh", f"pb{block}.sh"], **environment(world, flavour), PATH=path)
        for block, flavour in enumerate(("openmpi", "mpich"))
    ]
    outputs = [world.finish(process).check().output for process in started]
    expected = f"energy {energy():7.3f}\n"
    assert outputs == [f"ocean: {expected}", f"air: {expected}"]
    assert f"energy {energy():7.3f}" in (PROJECT / "docs" / "guide" / "from-waitio.md").read_text()
    nothing_left(world)
