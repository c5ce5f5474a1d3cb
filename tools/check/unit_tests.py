"""Tests: each folder of sources has unit tests, they have one scheme of names, and those that comments name exist."""

from __future__ import annotations

import re

from tree import Tree

# src/probe is two programs, which tests/cost and tests/scale run.
WITHOUT_UNIT_TESTS = {"probe"}
NAMED = re.compile(r"\btests/[\w./-]*\w")
FOLDERS = ("src", "include", "compat")


def check(tree: Tree) -> list[str]:
    """The unit tests mirror the sources: src/<folder>/ has tests/unit/<folder>/<what>_test.cpp."""
    tests = [path for path in tree.select([".cpp"], ["tests/unit"]) if len(path.parts) > 3]
    tested = {path.parts[2] for path in tests if path.stem.endswith("_test")}
    sources = set(tree.source_folders())
    problems = [
        f"src/{folder}:1: has no tests in tests/unit/{folder}/" for folder in sources - tested - WITHOUT_UNIT_TESTS
    ]
    problems += [f"tests/unit/{folder}:1: there is no src/{folder}/" for folder in tested - sources]
    for path in tests:
        is_test = re.search(r"^(TEST|TEST_F|TEST_P|TYPED_TEST)\(", tree.read(path), re.MULTILINE) is not None
        if is_test != path.stem.endswith("_test"):
            problems.append(f"{path}:1: a file of unit tests, and no other, is called <what>_test.cpp")
    for path in tree.select([".hpp", ".h", ".cpp"], FOLDERS):
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            for name in NAMED.findall(line) if "//" in line or " * " in line else []:
                if not (tree.root / name).exists():
                    problems.append(f"{path}:{number}: there is no {name}")
    return sorted(problems)
