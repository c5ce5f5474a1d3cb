"""Includes go along the edges of src/layers.toml or stay in their folder; MPI stays in the mpi/ folders."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tree import CPP, Tree

LAYERS = Path("src/layers.toml")
INCLUDE_LINE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
# Folders whose implementations (their subfolders) are named by runtime/ only.
CONCRETE = ("link",)

Edges = dict[str, list[str]]


def check(tree: Tree) -> list[str]:
    edges = read_edges(tree)
    folders = tree.source_folders()
    problems = [f"{LAYERS}:1: src/{folder}/ is not listed" for folder in folders if folder not in edges]
    return problems + check_order(edges) + check_includes(tree) + check_unused(tree)


def read_edges(tree: Tree) -> Edges:
    edges: Edges = tomllib.loads(tree.read(LAYERS))["edges"]
    return edges


def check_includes(tree: Tree) -> list[str]:
    """Each include goes along an edge."""
    edges = read_edges(tree)
    problems = []
    for path, number, quoted, included in includes(tree):
        problem = judge(path, quoted, included, edges)
        if problem:
            problems.append(f"{path}:{number}: {problem}")
    return problems


def check_unused(tree: Tree) -> list[str]:
    """Edges between layers that exist, along which nothing is included."""
    folders = tree.source_folders()
    used = {(path.parts[1], included.parts[0]) for path, _, _, included in includes(tree)}
    return [
        f"{LAYERS}:1: nothing in {folder} includes {target} any longer: remove the edge"
        for folder in folders
        for target in read_edges(tree).get(folder, [])
        if target in folders and (folder, target) not in used
    ]


def includes(tree: Tree) -> Iterator[tuple[Path, int, bool, Path]]:
    """File, line, whether it is in quotes, and what is included."""
    for path in tree.select(CPP, ["src"]):
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            match = INCLUDE_LINE.match(line)
            if match:
                yield path, number, match[1] == '"', Path(match[2])


def check_order(edges: Edges) -> list[str]:
    """Each edge leads to a layer further down the list, so that there is no cycle."""
    place = {folder: number for number, folder in enumerate(edges)}
    problems = []
    for folder, targets in edges.items():
        for target in targets:
            if target not in place:
                problems.append(f"{LAYERS}:1: {folder} may include {target}, which is not a layer")
            elif place[target] <= place[folder]:
                problems.append(f"{LAYERS}:1: the edge from {folder} to {target} does not lead down")
    return problems


def judge(path: Path, quoted: bool, included: Path, edges: Edges) -> str | None:
    """What is wrong with one include, if anything."""
    folder, target = path.parts[1], included.parts[0]
    in_mpi = "mpi" in path.parts[2:-1]
    if str(included) in ("mpi.h", "couplet/couplet_mpi.h"):
        return None if in_mpi else f"{included} is included outside of an mpi/ folder"
    if not quoted or target == "couplet":
        return None
    if len(included.parts) == 1:
        return f'"{included}" does not name its folder'
    if target not in edges:
        return f'"{included}" is not in a folder that {LAYERS} lists'
    if "mpi" in included.parts[1:-1] and not in_mpi:
        return f'"{included}" needs MPI, this file is part of libcouplet'
    if target == folder or folder not in edges:
        return None
    if target not in edges[folder]:
        return f'{folder}/ includes "{included}": {LAYERS} has no edge from {folder} to {target}'
    if target in CONCRETE and len(included.parts) > 2 and folder != "runtime":
        return f'"{included}" is one implementation of {target}/; only runtime/ names those'
    return None
