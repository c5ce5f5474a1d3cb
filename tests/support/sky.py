"""Starts the programs "sky" and "eye" (tests/universe/programs/mpi/sky.cpp), and reads what the eyes have counted."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from jobs import environment, prefix
from launching import BUILD, World
from needs import built, launcher

Grid = tuple[int, int]  # ranks in each dimension


def writes(
    flavour: str, grid: Grid, steps: int, extent: int = 61, pause_us: int = 0, errors: Path | None = None
) -> list[str]:
    """Returns a part of a launcher's command."""
    words = [*map(str, grid), str(extent), str(steps), str(pause_us)]
    return [*ranks(grid), *prefix(errors), program(flavour), "write", *words]


def reads(
    flavour: str,
    grid: Grid,
    route: str,
    mode: str,
    extent: int = 61,
    every: int = 1,
    torn: bool = False,
    at_once: int = 0,
    errors: Path | None = None,
) -> list[str]:
    """Returns the readers' part of a launcher's command.

    mode: hold or follow. at_once: how many steps each read returns; 0: one to five.
    """
    words = [*map(str, grid), str(extent), route, mode, str(every), str(int(torn)), str(at_once)]
    return [*ranks(grid), *prefix(errors), program(flavour), "read", *words]


def program(flavour: str) -> str:
    return built(BUILD / "tests" / "programs" / f"sky.{flavour}", "cpp", flavour)


def ranks(grid: Grid) -> list[str]:
    return ["-n", str(grid[0] * grid[1])]


def start(
    world: World, flavour: str, *parts: Sequence[str], errors: Path | None = None, **settings: str
) -> subprocess.Popen[str]:
    """Starts one job."""
    command = [launcher(flavour)]
    for part in parts:
        command += [":", *part] if len(command) > 1 else part
    return world.start(command, **environment(world, flavour, errors), **settings)


def counts(output: str) -> list[dict[str, int]]:
    """Returns what each reader rank has counted, after it has checked the equation."""
    found = []
    for line in output.splitlines():
        if line.startswith("eye "):
            values = {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", line)}
            accounted = values["delivered"] + values["lost"] + values["skipped"] + values["pending"]
            assert values["published"] - values["first"] == accounted, line
            found.append(values)
            print(line)
    return found
