"""Builds the simulator of whole universes with each old fault of mutants.toml, and plays seeds until one finds it.

usage: check_mutants.py [--build build/release] [--seeds 4000] [--only TEXT]

The simulator must be built (make sim). Only the changed file is compiled. Exit status: 0 if every fault was found, 1 if
one was not, 2 if a mutant does not fit the source.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SEEDS_AT_ONCE = 250


def find_compilation(build: Path, source: Path, changed: Path, folder: Path) -> tuple[dict[str, str], Path]:
    """Returns how the source is compiled, and the file to compile instead.

    In a unity build that is a file that includes the changed source and the others of its batch.
    """
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        if "CMakeFiles/couplet_layer_" not in entry["command"]:
            continue
        if entry["file"] == str(source):
            return entry, changed
        batch = Path(entry["file"])
        if batch.name.startswith("unity_") and f'"{source}"' in (text := batch.read_text()):
            compiled = folder / batch.name
            compiled.write_text(text.replace(f'"{source}"', f'"{changed}"'))
            return entry, compiled
    print(f"{source} is not compiled in {build}", file=sys.stderr)
    sys.exit(2)


def compile_mutant(build: Path, mutant: dict[str, Any], folder: Path) -> tuple[str, Path]:
    """Returns the object of the unchanged file, as the link command names it, and that of the mutant."""
    source = ROOT / mutant["file"]
    text = source.read_text()
    if text.count(mutant["old"]) != 1:
        print(f"{mutant['file']}: not exactly once: {mutant['old']}", file=sys.stderr)
        sys.exit(2)
    changed = folder / source.name
    changed.write_text(text.replace(mutant["old"], mutant["new"]))
    entry, compiled = find_compilation(build, source, changed, folder)
    words = shlex.split(entry["command"])
    original = words[words.index("-o") + 1]
    made = folder / "mutant.o"
    words[words.index("-o") + 1] = str(made)
    words[words.index("-c") + 1] = str(compiled)
    words = [word for word in words if word != "-Werror"]
    subprocess.run([*words, f"-I{source.parent}", "-w"], cwd=entry["directory"], check=True)
    return original, made


def link_mutant(build: Path, original: str, made: Path, folder: Path) -> Path:
    """Links the simulator. The object of the mutant comes before the archive that holds the original."""
    commands = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", "play-worlds"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    linking = next(line for line in reversed(commands) if "-o tests/play-worlds" in line)
    words = shlex.split(linking.removeprefix(": && ").removesuffix(" && :"))
    player = folder / "play-worlds"
    words[words.index("-o") + 1] = str(player)
    if original in words:
        words[words.index(original)] = str(made)
    else:
        words.insert(words.index("-o"), str(made))
    subprocess.run(words, cwd=build, check=True)
    return player


def first_finding(player: Path, begin: int, seeds: int) -> str:
    """Returns what the first seed that finds something says, or an empty text."""
    for first in range(begin, begin + seeds, SEEDS_AT_ONCE):
        played = subprocess.run(
            [str(player), "--first", str(first), "--seeds", str(SEEDS_AT_ONCE), "--shrink", "0"],
            capture_output=True,
            text=True,
            check=False,
        )
        if played.returncode != 0:
            return next(line for line in played.stdout.splitlines() if line.startswith("seed "))
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--seeds", type=int, default=4000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    mutants = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text())["mutant"]
    missed = 0
    for mutant in mutants:
        if options.only not in mutant["name"]:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            original, made = compile_mutant(options.build, mutant, folder)
            finding = first_finding(
                link_mutant(options.build, original, made, folder), mutant.get("first", 1), options.seeds
            )
        print(f"{mutant['name']}: {finding or 'NOT FOUND'}", flush=True)
        missed += not finding
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
