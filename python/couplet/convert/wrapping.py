"""Breaks lines that have become too long for Fortran, at a comma or an operator. Tests: tests/convert."""

from __future__ import annotations

from pathlib import Path

from couplet.convert.fixed_form import last_column
from couplet.convert.parsing import leaves
from couplet.convert.source import Source

FREE_COLUMNS = 120
_BREAKS = {",", "+", "-", "*", "/", ".and.", ".or.", "==", "//", "="}


def _places(source: Source) -> dict[int, list[int]]:
    """Returns for each line, by its start, the offsets behind commas and operators, and -1 last if code follows."""
    found: dict[int, list[int]] = {}
    for leaf in leaves(source.tree.root_node):
        if leaf.type.lower() in _BREAKS and leaf.end_byte > leaf.start_byte:
            end = source.end_of(leaf)
            found.setdefault(source.line_start(end - 1), []).append(end)
    return found


def _code_length(source: _Commented, start: int, end: int) -> int:
    """Returns the length of a line without a comment at its end."""
    comments = source.comment_starts
    for place in comments.get(start, ()):
        end = min(end, place)
    return len(source.text[start:end].rstrip())


def wrap(path: Path, text: str, before: str) -> str:
    """Returns the text with continuation lines where an edit has made a line too long."""
    known = set(before.split("\n"))
    for _ in range(8):
        source = _Commented(path, text, frozenset(text.split("\n")) - known)
        places = _places(source)
        pieces, place, changed = [], 0, False
        while place < len(text):
            end = source.line_end(place)
            line = text[place:end].rstrip("\n")
            limit = last_column(line) if source.fixed else FREE_COLUMNS
            length = _code_length(source, place, place + len(line))
            if length > limit and line not in known and not line.lstrip().startswith(("#", "!")):
                allowed = limit if source.fixed else limit - 2
                breaks = [each for each in places.get(place, ()) if each - place <= allowed]
                if breaks:
                    changed = True
                    pieces.append(_broken(line, breaks[-1] - place, source.fixed) + text[place + len(line) : end])
                    place = end
                    continue
            pieces.append(text[place:end])
            place = end
        text = "".join(pieces)
        if not changed:
            break
    return text


def _broken(line: str, at: int, fixed: bool) -> str:
    head, rest = line[:at].rstrip(), line[at:].lstrip()
    if fixed:
        return f"{head}\n     &  {rest}"
    indent = line[: len(line) - len(line.lstrip(" &"))].replace("&", " ")
    return f"{head} &\n{indent}  {rest}"


class _Commented(Source):
    """A source that knows where comments begin."""

    def __init__(self, path: Path, text: str, unlimited: frozenset[str]) -> None:
        super().__init__(path, text, unlimited)
        self.comment_starts: dict[int, list[int]] = {}
        for leaf in leaves(self.tree.root_node):
            if leaf.type == "comment":
                start = self.start_of(leaf)
                self.comment_starts.setdefault(self.line_start(start), []).append(start)
