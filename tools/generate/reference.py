"""Writes docs/reference/c.md: every constant, struct and function of the C interface, with its description."""

from __future__ import annotations

import re

from header import Constant, Function, Header, Struct

NOTE = "<!-- Written by tools/generate from the headers in include/couplet: do not edit (make generate). -->"
TITLES = {"types": "Version, limits and element types", "status": "Status, errors and interrupts"}
TITLES |= {
    "datatype": "Types of items with gaps",
    "universe": "Universe and groups",
    "message": "Messages",
    "collective": "Collective calls",
    "exchange": "Exchanges",
    "halo": "Halos",
    "coalesce": "Coalesced communication",
    "series": "Series",
    "task": "Tasks",
    "area": "Areas",
    "wait": "Waiting for any of several things",
}
# A line of a description that says when a status is returned, or that begins with one of the fixed words.
RESULT = re.compile(r"^((?:COUPLET_\w+(?:, )?)+): (.*)$", re.DOTALL)
WORDS = ("Blocking", "Collective", "Ownership")
BEGINS = re.compile(r"^(COUPLET_\w+(, COUPLET_\w+)*: |Blocking[: ]|Collective |Ownership: )")


def c_reference(headers: list[Header]) -> str:
    """The page of the C interface."""
    lines = [NOTE, "", "# The C interface", "", "`#include <couplet/couplet.h>` declares all of this.", ""]
    for header in headers:
        name = header.name.removeprefix("couplet_").removesuffix(".h")
        lines += [f"## {TITLES[name]}", "", f"`couplet/{header.name}`: {unwrapped(header.comment)}", ""]
        for item in header.order:
            lines += described(item)
    return "\n".join(lines).rstrip() + "\n"


def described(item: Struct | Function | list[Constant]) -> list[str]:
    if isinstance(item, Function):
        return function(item)
    if isinstance(item, Struct):
        return struct(item) if item.members else []
    return constants(item)


def constants(found: list[Constant]) -> list[str]:
    lines = ["| constant | value | meaning |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {each.value} | {cell(each.comment)} |" for each in found]
    return [*lines, ""]


def struct(found: Struct) -> list[str]:
    lines = [f"### `{found.name}`", ""]
    if found.comment:
        lines += [unwrapped(found.comment), ""]
    lines += ["| member | type | meaning |", "|---|---|---|"]
    for each in found.members:
        type_of = f"{'const ' if each.is_const else ''}{each.base}{'*' * each.stars}"
        length = f"[{each.length}]" if each.length else ""
        comment = "0" if each.name.startswith("reserved") else cell(each.comment)
        if each.name == "struct_bytes" and not comment:
            comment = "set by the `_init` function"
        lines.append(f"| `{each.name}{length}` | `{type_of}` | {comment} |")
    return [*lines, ""]


def function(found: Function) -> list[str]:
    lines = [f"### `{found.name}`", "", "```c", *wrapped(found), "```", ""]
    results: list[tuple[str, str]] = []
    for part in parts_of(found.comment):
        match = RESULT.match(part)
        if match:
            results.append((match[1], match[2]))
        else:
            head, colon, rest = part.partition(":")
            lines += [f"*{head}*:{rest}" if colon and head in WORDS else part, ""]
    if results:
        lines += ["| returns | if |", "|---|---|"]
        for names, condition in results:
            code = ", ".join(f"`{name.strip()}`" for name in names.split(","))
            lines.append(f"| {code} | {cell(condition)} |")
        lines.append("")
    return lines


def parts_of(comment: str) -> list[str]:
    """The paragraphs of a description: one for each line that begins with a status or a fixed word."""
    parts: list[str] = []
    for line in comment.splitlines():
        if not parts or not line or BEGINS.match(line):
            parts.append(line)
        else:
            parts[-1] = f"{parts[-1]} {line}".strip()
    return [part for part in parts if part]


def wrapped(found: Function) -> list[str]:
    """The declaration, a parameter on each line if it is long."""
    if len(found.text) <= 100:
        return [found.text]
    head, rest = found.text.split("(", 1)
    parameters = [part.strip() for part in rest.removesuffix(");").split(",")]
    return [f"{head}(", *(f"    {part}," for part in parameters[:-1]), f"    {parameters[-1]});"]


def unwrapped(comment: str) -> str:
    paragraphs = [" ".join(part.split()) for part in comment.split("\n\n")]
    return "\n\n".join(paragraphs)


def cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")
