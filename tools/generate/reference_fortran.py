"""Writes docs/reference/fortran.md: the types and procedures of module couplet, with the comments above them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from header import Header

NOTE = "<!-- Written by tools/generate from the comments in fortran/: do not edit (make generate). -->"
HEAD = re.compile(
    r"^\s*(?:(?:logical|integer|pure|type\(\w+\)) )*(subroutine|function) (WITH_KIND\((\w+)\)|\w+)\((.*)$"
)
TYPE = re.compile(r"^  type(?:, (?:extends\(\w+\)|abstract))* :: (couplet_\w+)(?:\s*! (.*))?$")
COMPONENT = re.compile(r"^    ([a-z]\S.*?) :: (.*?)(?:\s+! (.*))?$")
BOUND = re.compile(r"^    procedure(?:, [\w, ()]+)? :: (\w+)(?: => (\w+))?$")
GENERIC = re.compile(r"^    generic :: ([\w()=/*+-]+) => (.*)$")


@dataclass
class Procedure:
    """A subroutine or function: its arguments, those that may be left out, and the comment above it."""

    kind: str
    arguments: list[str]
    optional: set[str]
    comment: str


@dataclass
class Type:
    """A public type, with what its components mean and how its procedures are called."""

    name: str
    comment: str
    components: list[tuple[str, str, str]] = field(default_factory=list)
    calls: dict[str, list[str]] = field(default_factory=dict)  # the procedures behind each name
    remarks: dict[str, list[str]] = field(default_factory=dict)  # what the comments inside the type say of a call


def fortran_reference(root: Path, headers: list[Header]) -> str:
    """The page of the Fortran interface. A procedure without a comment has the first sentence of its C function."""
    c_comments = {
        each.name.replace("couplet_", "c_", 1): each.comment for header in headers for each in header.functions
    }
    sources = {path.name: joined(path) for path in sorted((root / "fortran").glob("*")) if path.suffix in SUFFIXES}
    procedures: dict[str, Procedure] = {}
    types: dict[str, Type] = {}
    for name, lines in sources.items():
        if not name.startswith("couplet_binding"):
            template = re.match(r"(\w+)_of_kind\.inc", name)
            prefix = f"{template[1]}:" if template else ""
            procedures |= {prefix + each: found for each, found in procedures_of(lines, c_comments)}
            types |= {each.name: each for each in types_of(lines, sources)}
    lines = [
        NOTE,
        "",
        "# The Fortran interface",
        "",
        "`use couplet` gives all of this, and so does `use couplet_mpi` in programs with MPI. The guide is",
        "[here](../guide/fortran.md). `ierr` is always the last argument, and optional: without it, an error is",
        "printed and ends the run. Arguments in brackets may be left out. The constants are those of [C](c.md), in",
        "lower case.",
        "",
    ]
    for name in exported(sources["couplet.f90"]):
        if name in types:
            lines += described(types[name], procedures)
        elif name in INTERFACES or name in procedures:
            lines += call_text(name, procedures[INTERFACES.get(name, name)])
    return "\n".join(lines).rstrip() + "\n"


SUFFIXES = (".f90", ".F90", ".inc")
INTERFACES = {"couplet_join": "join"}


def joined(path: Path) -> list[str]:
    """The lines of a file, with continued ones in one."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"&(?:\s*!.*)?\n\s*", "", text).splitlines()


def exported(lines: list[str]) -> Iterator[str]:
    for line in lines:
        found = re.match(r"^  use \w+, only: (.*)$", line)
        if found:
            yield from (name.strip() for name in found[1].split(","))


def procedures_of(lines: list[str], c_comments: dict[str, str]) -> Iterator[tuple[str, Procedure]]:
    for at, line in enumerate(lines):
        found = HEAD.match(line)
        if found is None or line.strip().startswith("end "):
            continue
        inside = re.sub(r"^\s*#include \"(\w+)\"", r"<\1>", found[4])
        inside = inside.split(")")[0]
        arguments = [each.strip() for each in inside.split(",") if each.strip()]
        body = lines[at + 1 : at + 1 + next((i for i, each in enumerate(lines[at + 1 :]) if "end " in each), 0)]
        optional = {
            name.split("(")[0].strip()
            for each in body
            if re.search(r"\boptional\b", each) and "::" in each
            for name in re.split(r",(?![^(]*\))", each.split("::")[1].split("!")[0])
        }
        called = next((name for each in body for name in re.findall(r"\bc_\w+(?=\()", each) if name in c_comments), "")
        comment = comment_above(lines, at) or first_sentence(c_comments.get(called, ""))
        yield found[3] or found[2], Procedure(found[1], arguments, optional, comment)


def first_sentence(comment: str) -> str:
    words = " ".join(comment.split())
    return re.split(r"(?<=[.:]) (?=[A-Z`])", words)[0] if words else ""


def comment_above(lines: list[str], at: int) -> str:
    words: list[str] = []
    while at > 0 and re.match(r"^\s*! ", lines[at - 1]):
        at -= 1
        words.insert(0, lines[at].strip().removeprefix("! "))
    return "" if words and words[0].startswith("Part of ") else " ".join(words)


def types_of(lines: list[str], sources: dict[str, list[str]]) -> Iterator[Type]:
    found: Type | None = None
    for at, line in enumerate(lines):
        head = TYPE.match(line)
        if head:
            found = Type(head[1], comment_above(lines, at) or head[2] or "")
        elif found and line.strip() == "end type":
            yield found
            found = None
        elif found:
            remark = re.match(r"^\s+! call \w+%(\w+)\(.*?\)\s*: (.*)$", with_following(lines, at))
            if remark:
                found.remarks.setdefault(remark[1], []).append(" ".join(remark[2].split()))
            template = re.match(r'^#define TEMPLATE "(\w+_bindings\.inc)"', line)
            prefix = template[1].removesuffix("_bindings.inc") + ":" if template else ""
            for each in sources.get(template[1], []) if template else [line]:
                take(found, each, prefix)


def with_following(lines: list[str], at: int) -> str:
    """A line of a comment with those that continue it."""
    words = lines[at]
    while at + 1 < len(lines) and re.match(r"^\s+! (?!call )", lines[at + 1]) and words.lstrip().startswith("! call"):
        at += 1
        words += " " + lines[at].strip().removeprefix("! ")
    return words


def take(found: Type, line: str, prefix: str) -> None:
    component, bound, generic = COMPONENT.match(line), BOUND.match(line), GENERIC.match(line)
    if bound and "private" not in line:
        found.calls.setdefault(bound[1], []).append(bound[2] or bound[1])
    elif generic:
        names = [re.sub(r"WITH_KIND\((\w+)\)", rf"{prefix}\1", each.strip()) for each in generic[2].split(",")]
        found.calls.setdefault(generic[1], []).extend(names)
    elif component and "private" not in component[1] and "c_ptr" not in component[1] and not bound:
        found.components.append((component[2].split(" = ")[0], component[1].split(", alloc")[0], component[3] or ""))


def described(found: Type, procedures: dict[str, Procedure]) -> list[str]:
    lines = [f"## `type({found.name})`", ""]
    variable = found.name.rsplit("_", 1)[-1]
    if found.comment:
        lines += [sentence(found.comment), ""]
    if found.components:
        lines += ["| component | type | meaning |", "|---|---|---|"]
        lines += [f"| `{name}` | `{kind}` | {comment} |" for name, kind, comment in found.components] + [""]
    for name, behind in found.calls.items():
        known = [procedures[each] for each in behind if each in procedures]
        usages = dict.fromkeys(usage(f"{variable}%{name}", each, bound=True) for each in known)
        comments = dict.fromkeys(each.comment for each in known if each.comment)
        remarks = found.remarks.get(name, [])
        lines += [f"### `{variable}%{name}`", "", *(f"    {each}" for each in usages), ""]
        lines += [line for each in (remarks or comments) for line in (sentence(each), "")]
    return lines


def call_text(name: str, procedure: Procedure) -> list[str]:
    lines = [f"## `{name}`", "", f"    {usage(name, procedure, bound=False)}", ""]
    return [*lines, sentence(procedure.comment), ""] if procedure.comment else lines


def usage(name: str, procedure: Procedure, *, bound: bool) -> str:
    arguments = procedure.arguments[1:] if bound else procedure.arguments
    words = [f"[{each}]" if each in procedure.optional else each for each in arguments]
    call = "call " if procedure.kind == "subroutine" else ""
    return f"{call}{name}({', '.join(words)})"


def sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", ":")) else f"{text}."
