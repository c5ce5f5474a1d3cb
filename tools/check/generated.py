"""The files that tools/generate writes follow from the public headers as they are now."""

from __future__ import annotations

import re
import sys

from tree import Tree, run


def check(tree: Tree) -> list[str]:
    code, output = run([sys.executable, "tools/generate/generate.py", "--check"], tree.root)
    return [re.sub(r"^(\S+) ", r"\1:1: ", line) for line in output.splitlines()] if code else []
