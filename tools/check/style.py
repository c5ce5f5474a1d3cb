"""Formatting and linting: clang-format, clang-tidy, ruff, mypy. Unchanged files are not checked again."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tree import CPP, Tree, run

PYTHON_WITH_TYPES = "python/couplet"
SOURCES_TOGETHER = 10  # as with COUPLET_UNITY


def check_clang_format(tree: Tree) -> list[str]:
    program = shutil.which("clang-format-15")
    if program is None:
        print("  SKIPPED clang-format: version 15 formats this tree, and it is not installed (package clang-format-15)")
        return []

    def job(path: Path) -> list[str]:
        code, _ = run([str(program), "--dry-run", "-Werror", str(path)], tree.root)
        return [f"{path}:1: not formatted (make format)"] if code else []

    jobs = {tree.digest([path, Path(".clang-format")]): partial(job, path) for path in tree.select(CPP)}
    return tree.check_each("clang-format", jobs)


def check_clang_tidy(tree: Tree) -> list[str]:
    program = shutil.which("clang-tidy", path=str(Path(sys.executable).parent))
    if program is None:
        return ["tools/requirements.txt:1: clang-tidy is not beside Python in .venv (tools/bootstrap check)"]
    code, output = run(["cmake", "--preset", "tidy"], tree.root)  # or it would pass over sources that are new
    if code:
        return [f"CMakePresets.json:1: cmake --preset tidy failed: {output[-300:]}"]
    database = tree.root / "build" / "tidy" / "compile_commands.json"
    compiled = {
        os.path.relpath(entry["file"], tree.root): entry["command"] for entry in json.loads(database.read_text())
    }

    def job(path: Path) -> list[str]:
        options = ["--quiet", "--warnings-as-errors=*", "--extra-arg=-w"]
        code, output = run([program, *options, f"-p={database.parent}", str(path)], tree.root)
        problems = [line.replace(f"{tree.root}/", "") for line in output.splitlines() if ": error: " in line]
        return problems or [f"{path}:1: clang-tidy failed: {output[-300:]}"] if code else []

    keys = {}
    for path in tree.select([".cpp"], ["src", "compat"]):
        if str(path) in compiled:
            keys[tree.digest([*tree.with_headers(path), Path(".clang-tidy"), Path("tools/requirements.txt")])] = path
    tidy_together(tree, program, keys, compiled)
    return tree.check_each("clang-tidy", {key: partial(job, path) for key, path in keys.items()})


def tidy_together(tree: Tree, program: str, keys: dict[str, Path], commands: dict[str, str]) -> None:
    """Looks at the sources of a folder as at one source, which reads their headers once: five times as fast.

    Those in which nothing is found are remembered as good. The others are looked at one by one afterwards.
    """
    good = tree.found_good("clang-tidy")
    folders: dict[tuple[Path, str], list[str]] = {}
    for key, path in keys.items():
        if key not in good:
            command = commands[str(path)].replace(str(tree.root / path), "")
            folders.setdefault((path.parent, re.sub(r"( -o \S+?\.dir)/\S+", r"\1", command)), []).append(key)
    place = tree.root / "build" / "tidy" / "together"
    place.mkdir(exist_ok=True)
    batches = []
    for (folder, flags), waiting in folders.items():
        for first in range(0, len(waiting), SOURCES_TOGETHER):
            batch = waiting[first : first + SOURCES_TOGETHER]
            if len(batch) > 1:
                source = place / f"{str(folder).replace('/', '_')}_{first}.cpp"
                source.write_text("".join(f'#include "{tree.root / keys[key]}"\n' for key in batch))
                batches.append((source, flags, batch))
    database = [
        {"directory": str(place), "file": str(source), "command": f"{flags} {source}"} for source, flags, _ in batches
    ]
    (place / "compile_commands.json").write_text(json.dumps(database))
    options = ["--quiet", "--warnings-as-errors=*", "--extra-arg=-w", "--checks=-bugprone-suspicious-include"]

    def look(batch: tuple[Path, str, list[str]]) -> None:
        code, _ = run([program, *options, f"-p={place}", str(batch[0])], tree.root)
        if code == 0:
            tree.remember("clang-tidy", batch[2])

    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        list(pool.map(look, batches))


def check_ruff(tree: Tree) -> list[str]:
    problems = []
    for arguments in (["format", "--check"], ["check", "--output-format=concise"]):
        code, output = run(["ruff", *arguments, "--quiet", "."], tree.root)
        if code:
            problems += [f"ruff {arguments[0]}: {line}" for line in output.splitlines() if line.strip()]
    return problems


def check_mypy(tree: Tree) -> list[str]:
    problems = []
    for folder, extra in (
        (PYTHON_WITH_TYPES, []),
        ("tools/check", ["--exclude-gitignore"]),
        ("tools/chaos", []),
        ("tools/generate", []),
    ):
        if (tree.root / folder).is_dir() and tree.select([".py"], [folder]):
            code, output = run(["mypy", "--strict", "--no-error-summary", *extra, folder], tree.root)
            problems += output.splitlines() if code else []
    return problems
