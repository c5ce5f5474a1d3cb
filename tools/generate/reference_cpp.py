"""Writes docs/reference/cpp.md: the classes and functions of couplet.hpp, with the comments above them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

NOTE = "<!-- Written by tools/generate from the comments in include/couplet/*.hpp: do not edit (make generate). -->"
# The headers in the order in which a reader wants them.
CHAPTERS = {
    "The universe": ("couplet.hpp", "couplet_mpi.hpp"),
    "Messages": ("couplet_message.hpp", "couplet_datatype.hpp"),
    "Collective calls": ("couplet_collective.hpp",),
    "Series": ("couplet_series.hpp", "couplet_series_options.hpp", "couplet_open_options.hpp", "couplet_fields.hpp"),
    "Exchanges": ("couplet_exchange.hpp",),
    "Halos": ("couplet_halo.hpp",),
    "Coalesced communication": ("couplet_coalesce.hpp",),
    "Tasks and areas": ("couplet_task.hpp",),
    "Waiting for any of several things": ("couplet_wait.hpp",),
}
TYPES = ("class_specifier", "struct_specifier", "enum_specifier")


def cpp_reference(root: Path) -> str:
    """The page of the C++ interface."""
    lines = [NOTE, "", "# The C++ interface", ""]
    lines += ["`#include <couplet/couplet.hpp>` gives all of this, in the namespace `couplet`. Each function blocks,",
              "is collective and fails under the same conditions as its [C function](c.md). The guide is",
              "[here](../guide/cpp.md).", ""]  # fmt: skip
    parser = Parser(Language(tree_sitter_cpp.language()))
    for title, names in CHAPTERS.items():
        lines += [f"## {title}", ""]
        for name in names:
            source = (root / "include" / "couplet" / name).read_bytes()
            for node in public_nodes(parser.parse(source).root_node):
                lines += described(node, 3, "")
    return "\n".join(lines).rstrip() + "\n"


def public_nodes(node: Node) -> Iterator[Node]:
    """The declarations of namespace couplet, without those of its namespace detail."""
    for child in node.children:
        if child.type == "namespace_definition":
            name = child.child_by_field_name("name")
            if name is None or text(name) != "detail":
                yield from public_nodes(child)
        elif child.type in ("declaration_list", "linkage_specification") or child.type.startswith("preproc_if"):
            yield from public_nodes(child)
        else:
            yield child


def described(node: Node, level: int, owner: str) -> list[str]:
    comment = comment_of(node)
    inner = next((each for each in node.children if each.type in (*TYPES, "function_definition")), node)
    if node.type == "template_declaration" and inner.type in TYPES:
        return described_type(inner, comment, level)
    if node.type in TYPES:
        return described_type(node, comment, level)
    named = node.type in ("function_definition", "template_declaration", "alias_declaration", "declaration")
    if not named or not comment:
        return []
    name = name_of(node)
    title = f"{owner}::{name}" if owner else name
    return [f"{'#' * level} `{title}`", "", "```cpp", *declaration(node), "```", "", *paragraphs(comment)]


def described_type(node: Node, comment: str, level: int) -> list[str]:
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name is None or body is None or not comment:
        return []
    title = f"{node.type.removesuffix('_specifier')} {text(name)}"
    lines = [f"{'#' * level} `{title}`", "", *paragraphs(comment)]
    if node.type == "enum_specifier":
        return [*lines, "```cpp", *textwrap.wrap(" ".join(text(node).split()), 110), "```", ""]
    public = node.type == "struct_specifier"
    members: list[str] = []
    functions: list[str] = []
    for child in body.children:
        if child.type == "access_specifier":
            public = text(child).startswith("public")
        elif public and child.type == "field_declaration" and "(" not in text(child).split("=")[0]:
            meaning = comment_of(child) or comment_after(child)
            members.append(f"| `{' '.join(text(child).rstrip(';').split())}` | {' '.join(meaning.split())} |")
        elif public and child.type in (
            "function_definition",
            "template_declaration",
            "declaration",
            "field_declaration",
        ):
            functions += described(child if child.type != "field_declaration" else child, level + 1, text(name))
    if members:
        lines += ["| member | meaning |", "|---|---|", *(line.replace("||", "\\|\\|") for line in members), ""]
    return lines + functions


def declaration(node: Node) -> list[str]:
    """The declaration without the body and without what only the compiler needs."""
    words = text(node)
    body = next((each for each in walk(node) if each.type in ("compound_statement", "field_initializer_list")), None)
    if body is not None:
        words = words.encode()[: body.start_byte - node.start_byte].decode()
    words = re.sub(r"\[\[nodiscard\]\] |\binline\b |\bnoexcept\b", "", " ".join(words.split()))
    words = words.rstrip(" {;:")
    return textwrap.wrap(words, 100, subsequent_indent="    ", break_long_words=False)


def name_of(node: Node) -> str:
    kinds = ("function_declarator", "operator_cast")
    found = next((each for each in walk(node) if each.type in kinds), None)
    if found is None:
        name = node.child_by_field_name("name")
        return text(name) if name is not None else " ".join(text(node).split())[:60]
    inner = found.child_by_field_name("declarator")
    return text(inner if inner is not None else found)


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from walk(child)


def comment_of(node: Node) -> str:
    """The comment of three slashes above a declaration."""
    lines: list[str] = []
    above: Node | None = node.prev_sibling
    below = node
    while above is not None and above.type == "comment" and text(above).startswith("///"):
        if text(above).startswith("///<") or below.start_point[0] - above.end_point[0] > 1:
            break
        lines.insert(0, text(above).removeprefix("///").strip())
        below = above
        above = above.prev_sibling
    return "\n".join(lines)


def comment_after(node: Node) -> str:
    after = node.next_sibling
    if after is not None and after.type == "comment" and after.start_point[0] == node.end_point[0]:
        return text(after).removeprefix("///<").removeprefix("//").strip()
    return ""


def paragraphs(comment: str) -> list[str]:
    return [*textwrap.wrap(comment, 118), ""] if comment else []


def text(node: Node) -> str:
    return (node.text or b"").decode()
