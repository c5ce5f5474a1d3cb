"""A source file: its text, its syntax tree, and the edits that are made in it.

Files are read as Latin-1, so that a byte is a character and what is not touched stays what it is. Lines that end with
a carriage return, too, are read without it. Tests: tests/convert.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from couplet.convert.errors import ConvertError
from couplet.convert.fixed_form import is_fixed_form, last_column, normalise
from couplet.convert.parsing import parser_for, walk

if TYPE_CHECKING:
    from tree_sitter import Node

FORTRAN_SUFFIXES = (".f90", ".f95", ".f03", ".f08", ".f18", ".f", ".for", ".ftn", ".f77", ".fpp", ".inc", ".fh")
C_SUFFIXES = (".c", ".h")


class Source:
    """One file."""

    def __init__(self, path: Path, text: str | None = None, unlimited: frozenset[str] = frozenset()) -> None:
        self.path = path
        if path.is_dir():
            raise ConvertError(f"{path} is a folder; name the files")
        suffix = path.suffix.lower()
        if suffix not in FORTRAN_SUFFIXES + C_SUFFIXES:
            raise ConvertError(
                f"{path}: {suffix or 'no suffix'} is not one of Fortran or C, such as .f90, .f, .c or .h"
            )
        self.language = "c" if suffix in C_SUFFIXES else "fortran"
        self.fixed = is_fixed_form(path.name)
        try:
            self.text = path.read_bytes().decode("latin-1") if text is None else text
        except OSError as error:
            raise ConvertError(f"{path}: {error.strerror}") from error
        if "\0" in self.text:
            raise ConvertError(f"{path} is no text: it has a zero byte at offset {self.text.index(chr(0))}")
        self.has_carriage_returns = "\r\n" in self.text
        self.text = self.text.replace("\r\n", "\n")
        self.edits: list[tuple[int, int, str]] = []
        self._offsets: list[int] | None = None
        parsed = self.text
        if self.fixed:
            normalised = normalise(self.text, unlimited)
            parsed, self._offsets = normalised.text, normalised.offsets
        self.parsed = parsed
        self.tree = parser_for(self.language).parse(parsed.encode("latin-1"))

    # ---- places ----

    def start_of(self, node: Node) -> int:
        """Returns the offset in the original text at which a node begins."""
        return node.start_byte if self._offsets is None else self._offsets[node.start_byte]

    def end_of(self, node: Node) -> int:
        """Returns the offset in the original text behind the last character of a node."""
        if self._offsets is None:
            return node.end_byte
        return self._offsets[max(node.end_byte - 1, node.start_byte)] + 1

    def text_of(self, node: Node) -> str:
        return self.parsed[node.start_byte : node.end_byte]

    def line_of(self, node: Node) -> int:
        return self.text.count("\n", 0, self.start_of(node)) + 1

    def lines_around(self, node: Node) -> str:
        """Returns the lines of a node, and the one before and behind them, without blanks."""
        first = self.line_start(max(self.line_start(self.start_of(node)) - 1, 0))
        return "".join(self.text[first : self.line_end(self.line_end(self.end_of(node)))].split())

    def line_start(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """Returns the offset behind the end of the line, with its newline."""
        found = self.text.find("\n", offset)
        return len(self.text) if found < 0 else found + 1

    def indent_of(self, node: Node) -> str:
        """Returns the blanks before the first word of the line of a node."""
        start = self.line_start(self.start_of(node))
        line = self.text[start : self.line_end(start)]
        blanks = line[: len(line) - len(line.lstrip())]
        return blanks if not self.fixed or len(blanks.expandtabs(8)) >= 6 else "      "

    def errors(self) -> Iterator[Node]:
        """Yields the places at which the parser found no grammar."""
        return (node for node in walk(self.tree.root_node) if node.type == "ERROR" or node.is_missing)

    # ---- edits ----

    def replace(self, node: Node, text: str) -> None:
        self.edit(self.start_of(node), self.end_of(node), text)

    def edit(self, start: int, end: int, text: str) -> None:
        if (start, end, text) in self.edits:
            return
        self.edits.append((start, end, text))
        if self.fixed and end > start:  # what is behind column 72 would move into the code, or out of sight
            line, tail = self.line_start(end - 1), self.line_end(end - 1)
            tail -= self.text[tail - 1 : tail] == "\n"
            limit = line + last_column(self.text[line:tail])
            if end <= limit < tail:
                code_end = line + len(self.text[line:limit].rstrip())
                self.edits.append((max(code_end, end), tail, ""))

    def insert_after(self, node: Node, line: str) -> None:
        """Adds a statement behind a node: a line with the same indent, or beside it if the line goes on with others."""
        end = self.end_of(node)
        place = self.line_end(end - 1)
        line_start = self.line_start(end - 1)
        stop = min(place, line_start + last_column(self.text[line_start:place])) if self.fixed else place
        rest = self.text[end:stop].strip()
        if rest and not rest.startswith(("!", "//", "/*")):
            self.edit(end, end, f"; {line}" if self.language == "fortran" else f" {line}")
            return
        ended = "" if self.text[place - 1 : place] == "\n" else "\n"
        self.edit(place, place, f"{ended}{self.indent_of(node)}{line}\n")

    def insert_before(self, node: Node, line: str) -> None:
        """Adds a statement before a node: a line with the same indent, or beside it if the line begins with others."""
        start = self.start_of(node)
        if self.text[self.line_start(start) : start].strip():
            self.edit(start, start, f"{line}; " if self.language == "fortran" else f"{line} ")
        else:
            self.insert_line_before(node, line)

    def insert_line_before(self, node: Node, line: str) -> None:
        """Adds a line before the one on which a node begins: a comment, or what has to be a line of its own."""
        place = self.line_start(self.start_of(node))
        self.edit(place, place, f"{self.indent_of(node)}{line}\n")

    def edited(self) -> str:
        """Returns the text with all edits. What is put in comes before what is replaced at the same place.

        An edit inside another one is dropped: the outer one has its effect.
        """
        result, place = [], 0
        different = dict.fromkeys(self.edits)
        for start, end, text in sorted(different, key=lambda each: (each[0], each[1] > each[0], -each[1])):
            if start < place and end <= place:
                continue
            assert start >= place, f"{self.path}: edits overlap at {self.text[start:end]!r}"
            result += [self.text[place:start], text]
            place = end
        return "".join([*result, self.text[place:]])


def unified_diff(name: str, before: str, after: str) -> str:
    """Returns what `diff -u` and `git diff` would show."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
