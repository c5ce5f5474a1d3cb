"""Writes how the options of a reader look in C++, Fortran and Python, from the members of couplet_series_open_options.

An option that is a number, a flag or one of several constants is described in the C header only. Those that each
language gives in a form of its own (the box, fields, weights, the group, and in Python the start and the type) are
written by hand.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from header import Header, Variable

STRUCT = "couplet_series_open_options"
BY_HAND = {"struct_bytes", "start", "stop", "dimensions", "group", "fields", "field_count", "weights"}
# Python combines `from` and `from_step` to start, and calls the type dtype. C++ takes the type from the template
# argument.
BY_HAND_IN_PYTHON = {"from", "from_step", "type"}
POSITIVE_IN_PYTHON = {"every"}
BY_HAND_IN_CPP = {"type"}
CPP_ENUMS = {"mode": "Mode", "from": "From", "beyond_newest": "BeyondNewest"}
NOTE = "Written by tools/generate from include/couplet/couplet_series.h: do not edit (make generate)."
MAX_COLUMNS = 120


@dataclass(frozen=True)
class Option:
    """An option with a plain value. `words` are the constants to choose from, by the word that stands for each."""

    member: str
    base: str
    comment: str
    words: tuple[tuple[str, int], ...] = ()

    @property
    def is_flag(self) -> bool:
        return self.base == "int32_t" and not self.words

    @property
    def name(self) -> str:
        """The name in Fortran and Python, where times are in seconds without saying so."""
        return self.member.removesuffix("_s")

    @property
    def default(self) -> str:
        """The default, if it is not 0."""
        found = re.search(r"default:? (-?\d+)\b|(-?\d+) \(default\)", self.comment)
        return (found[1] or found[2]) if found else "0"


def options(headers: list[Header]) -> list[Option]:
    """The plain options, in the order of the struct."""
    header = next(each for each in headers if each.name == "couplet_series.h")
    struct = next(each for each in header.structs if each.name == STRUCT)
    constants = {each.name: each.value for each in header.constants}
    plain = [each for each in struct.members if each.name not in BY_HAND and not each.name.startswith("reserved")]
    return [option(each, constants) for each in plain]


def option(member: Variable, constants: dict[str, int]) -> Option:
    words: tuple[tuple[str, int], ...] = ()
    named = re.search(r"COUPLET_\w+", member.comment)
    if member.base == "int32_t" and "1: " not in member.comment and named:
        prefix = named[0][: named[0].rindex("_") + 1] if member.name != "mode" else "COUPLET_SERIES_"
        alike = [(name, value) for name, value in constants.items() if name.startswith(prefix)]
        if member.name == "mode":
            alike = [(name, value) for name, value in alike if name.count("_") == 2]
        words = tuple((name.removeprefix(prefix).lower(), value) for name, value in alike)
    return Option(member.name, member.base, member.comment, words)


def wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, MAX_COLUMNS - 4, initial_indent=indent, subsequent_indent=indent)


# ---- Fortran ----


def fortran_names(headers: list[Header]) -> str:
    names = [each.name for each in options(headers)]
    lines = textwrap.wrap(", ".join(names) + ",", MAX_COLUMNS - 30)
    return "".join(f"                         {line} &\n" for line in lines)


def fortran_declarations(headers: list[Header]) -> str:
    lines = [f"    ! {NOTE}"]
    for each in options(headers):
        lines += wrap(f"{each.name}: {sentence(each, '.true.', '.false.')}", "    ! ")
        lines.append(f"    {fortran_type(each)}, intent(in), optional :: {each.name}")
    return "\n".join([*lines, ""])


def fortran_type(option: Option) -> str:
    if option.is_flag:
        return "logical"
    if option.base == "couplet_type":
        return "integer(c_int32_t)"
    if option.base == "double":
        return "real(real64)"
    return "integer(int64)" if option.member.endswith(("_bytes", "_step")) else "integer"


def fortran_values(headers: list[Header]) -> str:
    lines = [f"    ! {NOTE}"]
    for each in options(headers):
        value = f"merge(1, 0, {each.name})" if each.is_flag else each.name
        lines.append(f"    if (present({each.name})) options%{each.member} = {value}")
    return "\n".join([*lines, ""])


# ---- C++ ----


def cpp(headers: list[Header]) -> str:
    plain = [each for each in options(headers) if each.member not in BY_HAND_IN_CPP]
    lines = [
        "// Part of couplet.hpp, which programs include: the options of a reader.",
        f"// {NOTE}",
        "#ifndef COUPLET_COUPLET_OPEN_OPTIONS_HPP",
        "#define COUPLET_COUPLET_OPEN_OPTIONS_HPP",
        "",
        "#include <couplet/couplet_series_options.hpp>",
        "#include <cstdint>",
        "#include <optional>",
        "",
        "namespace couplet {",
        "",
        "/// Says how a series is opened. The members are those of couplet_series_open_options.",
        "struct OpenOptions {",
        "  /// This rank's box; none: the whole array.",
        "  std::optional<Box> box = std::nullopt;",
        *(line for each in plain for line in cpp_member(each)),
        "  /// The readers; empty: all ranks of the program.",
        "  Group group = {};",
        "  /// Used instead of a box; for float and double; copied.",
        "  std::optional<Weights> weights = std::nullopt;",
        "};",
        "",
        "namespace detail {",
        "",
        "/// Sets those options of the C call that are plain values.",
        "inline void set_plain(couplet_series_open_options& c, const OpenOptions& options) noexcept {",
        *(f"  c.{each.member} = {cpp_value(each)};" for each in plain),
        "}",
        "",
        "}  // namespace detail",
        "}  // namespace couplet",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def cpp_member(option: Option) -> Iterator[str]:
    yield from wrap(sentence(option, "true", "false"), "  /// ")
    if option.words:
        enum = CPP_ENUMS[option.member]
        yield f"  {enum} {option.member} = {enum}::{option.words[0][0]};"
    elif option.is_flag:
        yield f"  bool {option.member} = false;"
    else:
        base = option.base if option.base == "double" else f"std::{option.base}"
        yield f"  {base} {option.member} = {option.default};"


def cpp_value(option: Option) -> str:
    if option.words:
        return f"static_cast<std::int32_t>(options.{option.member})"
    return f"options.{option.member} ? 1 : 0" if option.is_flag else f"options.{option.member}"


def sentence(option: Option, true: str = "1", false: str = "0") -> str:
    """The comment as a sentence, with the language's words for 1 and 0 if the option is a flag."""
    text = option.comment
    if option.is_flag:
        text = re.sub(r"\b1: ", f"{true}: ", text).replace("0 (default): ", f"{false} (default): ")
    elif text[1:2] != ":":  # not "n: the first step and then every n-th"
        text = text[:1].upper() + text[1:]
    return f"{text}."


# ---- Python ----


def python(headers: list[Header]) -> str:
    plain = [each for each in options(headers) if each.member not in BY_HAND_IN_PYTHON]
    lines = [
        '"""The options of Universe.open_series that are plain values.',
        "",
        NOTE,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Callable, Mapping",
        "from typing import Any, Literal, TypedDict",
        "",
        f"from couplet._arguments import {', '.join(sorted({check_of(each) for each in plain} | {'word'}))}",
        "",
        "",
        "class OpenOptions(TypedDict, total=False):",
        '    """Keyword options of `Universe.open_series`.',
        "",
        "    Attributes",
        "    ----------",
        *(line for each in plain for line in python_entry(each)),
        '    """',
        "",
        *(f"    {each.name}: {python_type(each)}" for each in plain),
        "",
        "",
        "# The name of the C member for each option, what checks its value, and the words that stand for constants.",
        "_MEMBERS = {",
        *(f'    "{each.name}": "{each.member}",' for each in plain),
        "}",
        "_CHECKS: dict[str, Callable[[Any, str, str], Any]] = {",
        *(f'    "{each.name}": {check_of(each)},' for each in plain if not each.words),
        "}",
        "_WORDS: dict[str, dict[str, int]] = {",
        *(f'    "{each.name}": {{{", ".join(words_of(each))}}},' for each in plain if each.words),
        "}",
        "",
        "",
        "def members_of(call: str, options: Mapping[str, Any]) -> dict[str, Any]:",
        '    """Returns the values by the names of the C members. `call` is named in error texts."""',
        "    members: dict[str, Any] = {}",
        "    for option, value in options.items():",
        "        if option not in _MEMBERS:",
        '            known = ", ".join(_MEMBERS)',
        "            raise TypeError(",
        "                f\"open_series() got an unexpected keyword argument '{option}'; \"",
        '                f"besides box, fields, start, dtype, group and weights there are {known}"',
        "            )",
        "        if option in _WORDS:",
        "            members[_MEMBERS[option]] = word(value, option, call, _WORDS[option])",
        "        else:",
        "            members[_MEMBERS[option]] = _CHECKS[option](value, option, call)",
        "    return members",
        "",
    ]
    return "\n".join(lines)


def python_entry(option: Option) -> Iterator[str]:
    yield f"    {option.name} : {python_type(option)}"
    text = sentence(option, "True", "False").replace("couplet_series_read_at", "Reader.read_at")
    text = re.sub(r"(?:COUPLET_SERIES|\.\.\.)_(?:BEYOND_|FROM_)?(\w+)", lambda found: f'"{found[1].lower()}"', text)
    yield from wrap(text, "        ")


def python_type(option: Option) -> str:
    if option.words:
        return f"Literal[{', '.join(repr(word) for word, _ in option.words)}]".replace("'", '"')
    return "bool" if option.is_flag else "float" if option.base == "double" else "int"


def check_of(option: Option) -> str:
    """The function of couplet._arguments that checks a value."""
    if option.words:
        return "word"
    if option.is_flag:
        return "flag"
    if option.base == "double":
        return "seconds" if option.member.endswith("_s") else "real_number"
    if option.member in POSITIVE_IN_PYTHON:
        return "positive"
    return "count" if option.base == "uint64_t" else "whole_number"


def words_of(option: Option) -> Iterator[str]:
    return (f'"{word}": {value}' for word, value in option.words)


def extension(headers: list[Header]) -> str:
    plain = options(headers)
    lines = [
        "// The options of Universe.open_series that are plain values, from a dict with the names of the C members.",
        f"// {NOTE}",
        "#pragma once",
        "",
        "#include <couplet/couplet.h>",
        "#include <nanobind/nanobind.h>",
        "",
        "#include <string>",
        "",
        "namespace couplet_python {",
        "",
        "// Gives `member` the value of this name, if there is one. Throws TypeError if it is of another type.",
        "template <class T, class Member>",
        "void set_member(const nanobind::dict& given, const char* name, Member& member) {",
        "  if (!given.contains(name)) {",
        "    return;",
        "  }",
        "  T value{};",
        "  if (!nanobind::try_cast(nanobind::object(given[name]), value)) {",
        '    const std::string text = "open_series: " + std::string(name) + " has a value of the wrong type";',
        "    throw nanobind::type_error(text.c_str());",
        "  }",
        "  member = static_cast<Member>(value);",
        "}",
        "",
        "inline void set_plain(couplet_series_open_options& c, const nanobind::dict& given) {",
        *(f'  set_member<{extension_type(each)}>(given, "{each.member}", c.{each.member});' for each in plain),
        "}",
        "",
        "}  // namespace couplet_python",
        "",
    ]
    return "\n".join(lines)


def extension_type(option: Option) -> str:
    return "bool" if option.is_flag else option.base
