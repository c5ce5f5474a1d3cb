"""Runs the checks of this folder and prints one line for each. Exit status 1 if one found a problem.

Usage: main.py [CHECK...]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import binary
import classes
import documents
import generated
import language
import layers
import sizes
import style
import subjects
import unit_tests
from tree import Tree

CHECKS = {
    "layers": layers.check,
    "sizes": sizes.check,
    "classes": classes.check,
    "opening-comments": documents.check_opening_comments,
    "architecture": documents.check_architecture,
    "words": documents.check_words,
    "unit-tests": unit_tests.check,
    "subjects": subjects.check,
    "language": language.check,
    "clang-format": style.check_clang_format,
    "generated": generated.check,
    "ruff": style.check_ruff,
    "mypy": style.check_mypy,
    "headers": binary.check_headers,
    "symbols": binary.check_symbols,
    "clang-tidy": style.check_clang_tidy,
}


def main(names: list[str]) -> int:
    tree = Tree(Path(__file__).resolve().parent.parent.parent)
    failed = 0
    for name in names or CHECKS:
        start = time.monotonic()
        problems = CHECKS[name](tree)
        for problem in problems:
            print(f"  {problem}")
        failed += bool(problems)
        outcome = f"{len(problems)} problems" if problems else "ok"
        print(f"check {name}: {outcome} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"check: {failed} of {len(names or CHECKS)} checks failed" if failed else "check: all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
