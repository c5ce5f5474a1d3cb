"""The public C interface as a model: constants, structs and functions with their comments, in order.

The headers in include/couplet are the one description of the interface; everything that this folder writes comes from
here. They are parsed with tree-sitter, so that their layout does not matter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

# The order in which a reader wants them; couplet_mpi.h belongs to the libraries for each MPI.
HEADERS = (
    "types",
    "status",
    "datatype",
    "universe",
    "message",
    "collective",
    "exchange",
    "halo",
    "coalesce",
    "series",
    "task",
    "area",
    "wait",
)
DEFINED = re.compile(r"^#define (COUPLET_\w+) \(?(-?\d+)\)?(?:\s*/\*\s*(.*?)\s*\*/)?$", re.MULTILINE)


@dataclass(frozen=True)
class Constant:
    """An enumerator or a macro with an integer value."""

    name: str
    value: int
    comment: str
    group: str  # the comment that heads its part of the enumeration, such as "errors: the peer is lost"


@dataclass(frozen=True)
class Variable:
    """A member of a struct, or a parameter of a function; `base` is its type without const and stars."""

    name: str
    base: str
    is_const: bool
    stars: int
    length: str = ""  # the number of elements, if it is an array
    comment: str = ""


@dataclass(frozen=True)
class Struct:
    """A struct whose members are public; an opaque handle has none."""

    name: str
    comment: str
    members: tuple[Variable, ...]


@dataclass(frozen=True)
class Function:
    """An exported function."""

    name: str
    comment: str
    returns: Variable
    parameters: tuple[Variable, ...]
    text: str  # the declaration, on one line


@dataclass
class Header:
    """One header: its opening comment, and what it declares in order."""

    name: str
    comment: str
    constants: list[Constant] = field(default_factory=list)
    structs: list[Struct] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    order: list[Struct | Function | list[Constant]] = field(default_factory=list)


def read_headers(root: Path) -> list[Header]:
    return [read_header(root / "include" / "couplet" / f"couplet_{name}.h") for name in HEADERS]


def read_header(path: Path) -> Header:
    source = path.read_text(encoding="utf-8")
    header = Header(path.name, plain(source[: source.index("*/") + 2]))
    defined = [
        Constant(name, int(value), comment or "", "")
        for name, value, comment in DEFINED.findall(source)
        if not name.startswith("COUPLET_VERSION")
    ]
    if defined:
        header.constants += defined
        header.order.append(defined)
    root = Parser(Language(tree_sitter_cpp.language())).parse(source.encode()).root_node
    for node in declarations(root):
        take(header, node)
    return header


def declarations(node: Node) -> list[Node]:
    """The declarations of a header, out of its include guard and its extern "C"."""
    found: list[Node] = []
    for child in node.children:
        if child.type in ("declaration", "type_definition", "enum_specifier"):
            found.append(child)
        elif child.type.startswith("preproc_if") or child.type in ("linkage_specification", "declaration_list"):
            found += declarations(child)
    return found


def take(header: Header, node: Node) -> None:
    comment = comment_before(node)
    enum = node if node.type == "enum_specifier" else first(node, "enum_specifier")
    struct = first(node, "struct_specifier")
    function = first(node, "function_declarator", "pointer_declarator")
    if enum is not None:
        constants = enumerators(enum)
        header.constants += constants
        header.order.append(constants)
    elif node.type == "type_definition" and struct is not None:
        body = struct.child_by_field_name("body")
        name = text(struct.child_by_field_name("name"))
        found = Struct(name, comment, members(body) if body is not None else ())
        header.structs.append(found)
        header.order.append(found)
    elif node.type == "declaration" and function is not None and "COUPLET_API" in text(node):
        taken = function_of(node, comment)
        header.functions.append(taken)
        header.order.append(taken)


def enumerators(enum: Node) -> list[Constant]:
    body = enum.child_by_field_name("body")
    if body is None:
        return []
    found: list[Constant] = []
    group = pending = ""
    for child in body.children:
        if child.type == "enumerator":
            value = int(text(child.child_by_field_name("value")).strip("()"))
            found.append(Constant(text(child.child_by_field_name("name")), value, pending, group))
            pending = ""
        elif child.type == "comment":
            words = plain(text(child))
            if found and child.start_point[0] == last_line(found, body, child):
                found[-1] = Constant(found[-1].name, found[-1].value, words, found[-1].group)
            elif re.match(r"(answers|errors)\b", words):
                group = words
            else:
                pending = words
    return found


def last_line(found: list[Constant], body: Node, comment: Node) -> int:
    """The line of the enumerator that is before a comment."""
    before = [node for node in body.children if node.type == "enumerator" and node.end_byte < comment.start_byte]
    lines = [node.end_point[0] for node in before]
    return lines[-1] if found and lines else -1


def members(body: Node) -> tuple[Variable, ...]:
    fields = [child for child in body.children if child.type == "field_declaration"]
    return tuple(variable(child, comment_after(child)) for child in fields)


def function_of(node: Node, comment: str) -> Function:
    declaration = re.sub(r"\s+", " ", text(node)).replace("COUPLET_API ", "")
    head, _, rest = declaration.partition("(")
    returned, name = re.match(r"(.*?)(\w+)$", head.strip()).groups()  # type: ignore[union-attr]
    inner = rest.rsplit(")", 1)[0].strip()
    parameters = () if inner in ("void", "") else tuple(parse(part) for part in inner.split(","))
    return Function(name, comment, parse(f"{returned} result"), parameters, declaration)


def variable(node: Node, comment: str) -> Variable:
    found = parse(re.sub(r"\s+", " ", text(node)).rstrip(";"))
    return Variable(found.name, found.base, found.is_const, found.stars, found.length, comment)


def parse(words: str) -> Variable:
    """A declaration such as `const int64_t* start` or `int64_t shape[COUPLET_MAX_DIMENSIONS]`."""
    match = re.fullmatch(r"\s*(const )?\s*(\w+)\s*(\**)\s*(\w+)(?:\[(\w+)\])?\s*", words)
    if match is None:
        raise ValueError(f"tools/generate does not understand the declaration '{words}'")
    return Variable(match[4], match[2], match[1] is not None, len(match[3]), match[5] or "")


def comment_before(node: Node) -> str:
    above = node.prev_sibling
    if above is None or above.type != "comment" or node.start_point[0] - above.end_point[0] > 1:
        return ""
    before = above.prev_sibling
    if before is not None and before.end_point[0] == above.start_point[0]:
        return ""  # it follows something else on its line, and belongs to that
    words = text(above)
    return "" if words.startswith("/* ----") else plain(words)


def comment_after(node: Node) -> str:
    below = node.next_sibling
    if below is not None and below.type == "comment" and below.start_point[0] == node.end_point[0]:
        return plain(text(below))
    return comment_before(node)


def plain(comment: str) -> str:
    """The words of a comment; its lines are kept, since they separate results from each other."""
    lines = comment.removeprefix("/*").removesuffix("*/").strip().splitlines()
    return "\n".join(line.strip().removeprefix("*").strip() for line in lines)


def first(node: Node, *kinds: str) -> Node | None:
    return next((child for child in node.children if child.type in kinds), None)


def text(node: Node | None) -> str:
    return (node.text or b"").decode() if node is not None else ""
