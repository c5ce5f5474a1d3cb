"""Turns fixed-form Fortran into free form for the parser, with the place of each character in the original.

Only the parser sees the result; edits are made in the original text. Tests: tests/convert/test_fixed_form.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LAST_COLUMN = 72
_SUFFIXES = (".f", ".for", ".ftn", ".f77", ".fpp")


def is_fixed_form(name: str) -> bool:
    """Compilers take these suffixes for fixed form."""
    return name.lower().endswith(_SUFFIXES)


def last_column(line: str) -> int:
    """Returns how many characters of a line are in the columns 1 to 72. A tab among the first six fills these."""
    tab = line.find("\t")
    if not 0 <= tab < 6:
        return LAST_COLUMN
    return tab + 1 + LAST_COLUMN - (5 if _is_continuation_digit(line[tab + 1 : tab + 2]) else 6)


def _is_continuation_digit(letter: str) -> bool:
    return letter.isdigit() and letter != "0"


@dataclass
class Normalised:
    """Free form, and for each of its characters the offset in the original."""

    text: str = ""
    offsets: list[int] = field(default_factory=list)

    def put(self, text: str, offset: int) -> None:
        """Adds text that begins at an offset in the original."""
        self.offsets.extend(range(offset, offset + len(text)))
        self.text += text


@dataclass
class _Line:
    start: int
    text: str  # without the end of the line
    kind: str  # comment, directive, first or continuation
    code_from: int = 0
    last_column: int = LAST_COLUMN


def _classify(start: int, text: str) -> _Line:
    if not text.strip() or text[0] in "cC*!":
        return _Line(start, text, "comment")
    if text[0] == "#":
        return _Line(start, text, "directive")
    tab = text.find("\t")
    if 0 <= tab < 6:
        continues = _is_continuation_digit(text[tab + 1 : tab + 2])
        kind = "continuation" if continues else "first"
        return _Line(start, text, kind, tab + (2 if continues else 1), last_column(text))
    if text.strip().startswith("!") and text.find("!") != 5:
        return _Line(start, text, "comment")
    if len(text) > 5 and text[5] not in " 0" and not text[:5].strip():
        return _Line(start, text, "continuation", 6)
    return _Line(start, text, "first", 6)


def _code_end(line: _Line, quote: str) -> tuple[int, str]:
    """Returns where the code of a line ends (a comment or column 72), and the quote that is open there."""
    end = min(len(line.text), line.last_column)
    for place in range(line.code_from, end):
        letter = line.text[place]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "!":
            return place, ""
    return end, quote


def _word_rest(line: _Line, end: int, following: _Line) -> int:
    """Returns how many characters of the next line belong to a word that column 72 has cut."""
    if end != last_column(line.text) or not _in_word(line.text[end - 1]):
        return 0
    rest = following.text[following.code_from :]
    return next((place for place, letter in enumerate(rest) if not _in_word(letter)), len(rest))


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def normalise(original: str, unlimited: frozenset[str] = frozenset()) -> Normalised:
    """Returns free form that means the same. The lines `unlimited` have code beyond column 72, to be broken."""
    lines, start = [], 0
    for text in original.split("\n"):
        lines.append(_classify(start, text))
        lines[-1].last_column = len(text) if text in unlimited else lines[-1].last_column
        start += len(text) + 1
    result = Normalised()
    quote, moved = "", 0
    for number, line in enumerate(lines):
        if line.kind == "comment":
            text = ("!" + line.text[1:]) if line.text.strip() and line.text[0] in "cC*" else line.text
            result.put(text, line.start)
        elif line.kind == "directive":
            result.put(line.text, line.start)
        else:
            following = next((each for each in lines[number + 1 :] if each.kind not in ("comment", "directive")), None)
            quote, moved = _put_code(result, line, following, quote if line.kind == "continuation" else "", moved)
        result.put("\n", line.start + len(line.text))
    result.text = result.text[:-1]
    result.offsets = [*result.offsets[: len(result.text)], len(original)]
    return result


def _put_code(result: Normalised, line: _Line, following: _Line | None, quote: str, moved: int) -> tuple[str, int]:
    """Adds a line of code. `moved`: how many of its characters the line before has taken already."""
    end, quote = _code_end(line, quote)
    head = line.text[: line.code_from]
    if line.kind == "continuation":
        head = " " * (len(head) - 1) + "&"
    elif len(head) == 6 and head[5] == "0":
        head = head[:5] + " "
    result.put(head + " " * moved + line.text[line.code_from + moved : end], line.start)
    taken = 0
    if following is not None and following.kind == "continuation":
        taken = 0 if quote else _word_rest(line, end, following)
        result.put(following.text[following.code_from :][:taken], following.start + following.code_from)
        result.put("&", line.start + end)
    rest = line.text[end:]
    result.put("!" + rest[1:] if rest else "", line.start + end)
    return quote, taken
