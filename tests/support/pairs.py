"""Starts one program under an MPI or none (tests/universe/programs/coupled.hpp)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence

from jobs import session
from launching import BUILD, World
from needs import built, launcher

KINDS = ("openmpi", "mpich", "none")
ANYWHERE: Mapping[str, Sequence[str]] = {"left": (), "right": ()}


def start_program(
    world: World,
    kind: str,
    ranks: int,
    words: Sequence[str],
    name: str = "coupled",
    prefix: Sequence[str] = (),
    **extra: str,
) -> list[subprocess.Popen[str]]:
    """Makes one launch under an MPI, or without one a process for each rank. Skips the test if the MPI is missing."""
    flavour = None if kind == "none" else kind
    path = built(BUILD / "tests" / "programs" / (f"{name}.{flavour}" if flavour else name), "cpp", flavour)
    if kind != "none":
        return [world.start([*prefix, launcher(kind), "-n", str(ranks), path, *words], **session(world), **extra)]
    of_rank = [{"COUPLET_RANK": str(rank), "COUPLET_SIZE": str(ranks)} for rank in range(ranks)]
    return [world.start([*prefix, path, *words], **extra, **each) for each in of_rank]


def run_pair(
    world: World,
    left: tuple[str, int],
    right: tuple[str, int],
    what: str,
    prefix: Mapping[str, Sequence[str]] = ANYWHERE,
    nodes: Mapping[str, str] | None = None,
    **extra: str,
) -> None:
    """Starts both and waits for both. Every rank has reported that all was right."""
    sides = {"left": left, "right": right}
    places = {name: {"COUPLET_NODE": nodes[name]} if nodes else {} for name in sides}
    started = {
        name: start_program(world, kind, ranks, [name, what], prefix=prefix[name], **extra, **places[name])
        for name, (kind, ranks) in sides.items()
    }
    for name, processes in started.items():
        ended = [world.finish(process) for process in processes]
        said = sorted(line for each in ended for line in each.check().output.splitlines())
        assert said == [f"{name} {rank}: done" for rank in range(sides[name][1])]


def links(world: World, program: str) -> set[str]:
    """Returns the links over which the ranks of a program have met the other program."""
    found: set[str] = set()
    for path in world.directory.glob(f"explain-{program}-*.json"):
        peers = json.loads(path.read_text())["peers"]
        found |= {peer["link"] for peer in peers if f"'{program}'" not in peer["name"]}
    return found
