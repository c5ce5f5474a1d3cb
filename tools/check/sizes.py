"""Functions have at most 70 lines and files 600. Longer ones are in sizes-allowed.toml and may only shrink."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tree import CPP, Tree

FUNCTION_LINES = 70
FILE_LINES = 600
ALLOWED = Path("tools/check/sizes-allowed.toml")
SUFFIXES = (*CPP, ".py", ".f90", ".F90", ".inc", ".cmake", ".sh", ".pyi")


def check(tree: Tree) -> list[str]:
    allowed: dict[str, int] = tomllib.loads(tree.read(ALLOWED)) if (tree.root / ALLOWED).exists() else {}
    found: dict[str, tuple[int, int, int]] = {}
    for path in tree.select(SUFFIXES):
        text = tree.read(path)
        if tree.is_generated(path):
            continue
        found[str(path)] = (text.count("\n"), FILE_LINES, 1)
        for name, first, last in functions(path, text):
            key = f"{path}:{name}"
            found[key] = max(found.get(key, (0, 0, 0)), (last - first + 1, FUNCTION_LINES, first))
    problems = []
    for key, (lines, limit, first) in found.items():
        most = max(limit, allowed.get(key, 0))
        if lines > most:
            problems.append(f"{key.split(':')[0]}:{first}: {key} has {lines} lines, at most {most} are allowed")
    for key, lines in allowed.items():
        now, limit, _ = found.get(key, (0, 0, 0))
        if now < lines:
            problems.append(f"{ALLOWED}:1: {key} has {now} lines now: write that, or remove it (limit {limit})")
    return problems


def functions(path: Path, text: str) -> Iterator[tuple[str, int, int]]:
    """Iterates over name, first line and last line of each function."""
    if path.suffix in CPP:
        return cpp_functions(text)
    if path.suffix in (".py", ".pyi"):
        return python_functions(text)
    if path.suffix in (".f90", ".F90", ".inc"):
        return fortran_functions(text)
    return iter(())


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, node.end_lineno or node.lineno


FORTRAN_START = re.compile(r"^\s*(?!end\b)(?:[a-z0-9_()=,* ]+\s)?(subroutine|function|program)\s+(\w+)", re.IGNORECASE)
FORTRAN_END = re.compile(r"^\s*end\s*(subroutine|function|program|procedure)\b", re.IGNORECASE)


def fortran_functions(text: str) -> Iterator[tuple[str, int, int]]:
    open_units: list[tuple[str, int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("!")[0]
        start = FORTRAN_START.match(code)
        if FORTRAN_END.match(code):
            if open_units:
                name, first = open_units.pop()
                yield name, first, number
        elif start:
            open_units.append((start[2], number))


# Comments, raw strings, strings, characters and lines of the preprocessor are blanked. Their line ends are kept.
NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r"|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*",
    re.DOTALL | re.MULTILINE,
)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b[^()]*$|\bextern\s*$")
ATTRIBUTE = re.compile(r"\balignas\s*\([^()]*\)|__attribute__\s*\(\(.*?\)\)|\[\[.*?\]\]")
# The brace after a member in a constructor's list, `: size_{0}`, does not open a body.
MEMBER_INITIALIZER = re.compile(r"\)\s*(noexcept\s*)?:[^:].*[\w>]\s*$", re.DOTALL)
FUNCTION_NAME = re.compile(r"(operator\s*(?:\(\)|[^\s(]+)|~?[A-Za-z_]\w*)\s*\(")
BEFORE_HEAD = re.compile(r"(?:\s|\b(?:public|private|protected)\s*:(?!:))*")


def cpp_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Finds bodies by matching braces: a brace at namespace or class scope whose head has a parameter list."""
    code = NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    head_start, position = 0, 0
    while position < len(code):
        character = code[position]
        if character in ";}":
            head_start = position + 1
        elif character == "{":
            head = ATTRIBUTE.sub("", code[head_start:position])
            name = FUNCTION_NAME.search(head)
            if not SCOPE.search(head):
                end = matching_brace(code, position)
                if name and not head.rstrip().endswith(("=", ",")) and not MEMBER_INITIALIZER.search(head):
                    start = BEFORE_HEAD.match(code, head_start)
                    first = code.count("\n", 0, start.end() if start else head_start) + 1
                    yield name[1], first, code.count("\n", 0, end) + 1
                    head_start = end + 1
                position = end
            else:
                head_start = position + 1
        position += 1


def matching_brace(code: str, position: int) -> int:
    depth = 0
    for index in range(position, len(code)):
        depth += {"{": 1, "}": -1}.get(code[index], 0)
        if depth == 0:
            return index
    return len(code) - 1
