"""Subjects of commits: `area: verb object`, at most 72 characters."""

from __future__ import annotations

import re

from tree import Tree, run

NEWEST = 50  # earlier commits cannot be changed
MAX_CHARACTERS = 72
SUBJECT = re.compile(r"[a-z0-9][\w+./, -]*: [a-z]\S* \S")


def check(tree: Tree) -> list[str]:
    """The newest commits say in one line what they do."""
    code, output = run(["git", "log", f"-{NEWEST}", "--no-merges", "--format=%h %s"], tree.root)
    if code != 0:
        print("  SKIPPED: this is no checkout of git")
        return []
    problems = []
    for line in output.splitlines():
        commit, _, subject = line.partition(" ")
        if not SUBJECT.match(subject):
            problems.append(f"commit {commit}: is not called `area: verb object`: {subject}")
        if len(subject) > MAX_CHARACTERS:
            problems.append(f"commit {commit}: its subject has {len(subject)} characters, at most {MAX_CHARACTERS}")
    return problems
