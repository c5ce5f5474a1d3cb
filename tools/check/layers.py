"""Includes go down the list of src/layers.toml or stay in their folder. MPI stays in the mpi/ folders."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tree import CPP, Tree

INCLUDE_LINE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
# Folders whose implementations (their subfolders) only runtime/ may name.
CONCRETE = ("link",)


def check(tree: Tree) -> list[str]:
    order = tomllib.loads(tree.read(Path("src/layers.toml")))["order"]
    level = {folder: number for number, folders in enumerate(order) for folder in folders}
    unknown = [folder for folder in tree.source_folders() if folder not in level]
    problems = [f"src/layers.toml:1: src/{folder}/ is not listed" for folder in unknown]
    for path in tree.select(CPP, ["src"]):
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            match = INCLUDE_LINE.match(line)
            if match:
                problem = judge(path, match[1] == '"', Path(match[2]), level)
                if problem:
                    problems.append(f"{path}:{number}: {problem}")
    return problems


def judge(path: Path, quoted: bool, included: Path, level: dict[str, int]) -> str | None:
    """Returns what is wrong with one include, if anything."""
    folder, target = path.parts[1], included.parts[0]
    in_mpi = "mpi" in path.parts[2:-1]
    if str(included) in ("mpi.h", "couplet/couplet_mpi.h"):
        return None if in_mpi else f"{included} is included outside of an mpi/ folder"
    if not quoted or target == "couplet":
        return None
    if len(included.parts) == 1:
        return f'"{included}" does not name its folder'
    if target not in level:
        return f'"{included}" is not in a folder that src/layers.toml lists'
    if "mpi" in included.parts[1:-1] and not in_mpi:
        return f'"{included}" needs MPI, this file is part of libcouplet'
    if target == folder or folder not in level:
        return None
    if level[target] <= level[folder]:
        direction = "sideways" if level[target] == level[folder] else "up"
        return f'{folder}/ includes "{included}": that goes {direction} in src/layers.toml'
    if target in CONCRETE and len(included.parts) > 2 and folder != "runtime":
        return f'"{included}" is one implementation of {target}/; only runtime/ names those'
    return None
