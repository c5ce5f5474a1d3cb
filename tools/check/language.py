"""Plain English: lines of at most 120 columns, comments included, and none of the phrases in phrases.toml.

Problems that remain are counted in language-debt.toml for each file, and their number may only shrink. Phrases are
searched in comments, docstrings and Markdown. Code fences, tables and links may have longer lines.
"""

from __future__ import annotations

import io
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tree import CPP, Tree

MAX_COLUMNS = 120
PHRASES = Path("tools/check/phrases.toml")
DEBT = Path("tools/check/language-debt.toml")
FORTRAN = (".f90", ".F90", ".inc")
SLASHES = re.compile(r'"(?:\\.|[^"\\])*"|//(?P<comment>.*)')
EXCLAMATION = re.compile(r"""'[^']*'|"[^"]*"|!(?P<comment>.*)""")
FENCE = re.compile(r"^\s*(```|~~~)")


@dataclass(frozen=True)
class Phrase:
    """Words that are not to be used, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str
    # The suffixes of the files in which it is searched; empty: all files.
    suffixes: tuple[str, ...]


def check(tree: Tree) -> list[str]:
    allowed: dict[str, int] = tomllib.loads(tree.read(DEBT)) if (tree.root / DEBT).exists() else {}
    phrases = read_phrases(tree)
    problems = []
    found: Counter[str] = Counter()
    for path in tree.select((*CPP, *FORTRAN, ".py", ".pyi", ".md", ".sh", ".cmake")):
        here = [] if tree.is_generated(path) else list(problems_in(path, tree.read(path), phrases))
        found[str(path)] = len(here)
        if len(here) > allowed.get(str(path), 0):
            problems += [f"{path}:{line}: {text}" for line, text in here]
    for name, count in allowed.items():
        if found[name] < count:
            problems.append(f"{DEBT}:1: {name} has {found[name]} places now: write that, or remove it at 0")
    return problems


def read_phrases(tree: Tree) -> list[Phrase]:
    entries = tomllib.loads(tree.read(PHRASES))["phrase"]
    return [Phrase(re.compile(each["pattern"]), each["instead"], tuple(each.get("in", ()))) for each in entries]


def problems_in(path: Path, text: str, phrases: list[Phrase]) -> Iterator[tuple[int, str]]:
    """Iterates over line and sentence of each problem of one file."""
    for number, line in lines_for_width(path, text):
        if len(line) > MAX_COLUMNS:
            yield number, f"has {len(line)} columns, at most {MAX_COLUMNS} are read with ease"
    for number, prose in prose_of(path, text):
        for phrase in phrases:
            if (not phrase.suffixes or path.suffix in phrase.suffixes) and (match := phrase.pattern.search(prose)):
                yield number, f'"{match[0].strip()}": {phrase.instead}'


def lines_for_width(path: Path, text: str) -> Iterator[tuple[int, str]]:
    if path.suffix != ".md":
        yield from enumerate(text.splitlines(), 1)
        return
    for number, line in markdown_prose(text):
        if not line.lstrip().startswith("|") and " " in line.strip()[MAX_COLUMNS // 2 :]:
            yield number, line


def prose_of(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Iterates over the parts of a file that are written for people, by line."""
    if path.suffix == ".md":
        return markdown_prose(text)
    if path.suffix in CPP:
        return cpp_comments(text)
    if path.suffix in FORTRAN:
        return line_comments(text, EXCLAMATION)
    if path.suffix in (".py", ".pyi"):
        return python_comments(text)
    return ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("#"))


def markdown_prose(text: str) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def cpp_comments(text: str) -> Iterator[tuple[int, str]]:
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if inside or line.lstrip().startswith("/*"):
            yield number, line.strip().lstrip("/*").strip()
            inside = "*/" not in line
        elif "/*" in line:
            yield number, line.split("/*", 1)[1].strip()
            inside = "*/" not in line
        else:
            yield from ((number, comment.lstrip("/<").strip()) for comment in comments_of(line, SLASHES))


def line_comments(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, comment.strip()) for comment in comments_of(line, pattern))


def comments_of(line: str, pattern: re.Pattern[str]) -> list[str]:
    return [match["comment"] for match in pattern.finditer(line) if match["comment"] is not None]


def python_comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#").strip()
        elif token.type == tokenize.STRING and token.string.startswith('"""'):
            for offset, line in enumerate(token.string.strip('"').splitlines()):
                yield token.start[0] + offset, line.strip()
