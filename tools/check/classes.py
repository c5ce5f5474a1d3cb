"""Classes have at most 25 methods and 15 data members; a larger one is in classes-allowed.toml and may only shrink.

Constructors, destructors and what is defaulted or deleted are not counted as methods. A struct without methods is a
record (options, a message, a line of a table) and may have as many members as it describes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from tree import Tree

MAX_METHODS = 25
MAX_MEMBERS = 15
ALLOWED = Path("tools/check/classes-allowed.toml")
CLASS_NODES = ("class_specifier", "struct_specifier")
# Declarators that wrap the declarator of a function.
WRAPPERS = ("pointer_declarator", "reference_declarator")
FIELDS = ("field_identifier", "array_declarator", "function_declarator", *WRAPPERS)


@dataclass(frozen=True)
class ClassSize:
    """The size of one class, and the line on which it begins."""

    name: str
    line: int
    methods: int
    members: int


def check(tree: Tree) -> list[str]:
    allowed: dict[str, dict[str, int]] = tomllib.loads(tree.read(ALLOWED)) if (tree.root / ALLOWED).exists() else {}
    problems = []
    seen: set[str] = set()
    for path in tree.select([".hpp", ".cpp", ".h"], ["src", "include", "compat", "python", "bench", "tests"]):
        for size in classes(tree.read(path)):
            key = f"{path}:{size.name}"
            limits = allowed.get(key, {})
            seen.add(key)
            problems += compare(path, size, "methods", size.methods, MAX_METHODS, limits.get("methods", 0))
            problems += compare(path, size, "members", size.members, MAX_MEMBERS, limits.get("members", 0))
    problems += [f"{ALLOWED}:1: {key} does not exist: remove it" for key in allowed if key not in seen]
    return problems


def compare(path: Path, size: ClassSize, what: str, found: int, limit: int, allowed: int) -> list[str]:
    """Returns a problem if a class is larger than allowed, or smaller than the list of exceptions says."""
    if found > max(limit, allowed):
        return [f"{path}:{size.line}: {size.name} has {found} {what}, at most {max(limit, allowed)} are allowed"]
    if allowed and found < allowed:
        return [f"{ALLOWED}:1: {path}:{size.name} has {found} {what} now: write that, or remove it (limit {limit})"]
    return []


def classes(text: str) -> Iterator[ClassSize]:
    """Finds every class and struct with a body, nested ones too."""
    parser = Parser(Language(tree_sitter_cpp.language()))
    waiting = [parser.parse(text.encode()).root_node]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        body = node.child_by_field_name("body")
        name = node.child_by_field_name("name")
        if node.type in CLASS_NODES and body is not None and name is not None:
            yield measure((name.text or b"").decode(), node, body)


def measure(name: str, node: Node, body: Node) -> ClassSize:
    methods: set[bytes] = set()
    members = 0
    for child in body.children:
        if child.type == "template_declaration":
            child = child.children[-1]
        if child.type not in ("field_declaration", "function_definition", "declaration"):
            continue
        function = function_name(child)
        if function is None:
            static = any(part.text == b"static" for part in child.children)
            fields = sum(part.type in FIELDS for part in child.children)
            members += 0 if static else fields
        elif not is_special(child, function, name):
            methods.add(function)
    is_record = node.type == "struct_specifier" and not methods
    return ClassSize(name, node.start_point[0] + 1, len(methods), 0 if is_record else members)


def function_name(declaration: Node) -> bytes | None:
    """Returns the name of the declared function, or nothing if it is a data member."""
    declarator = declaration.child_by_field_name("declarator")
    while declarator is not None and declarator.type in WRAPPERS:
        declarator = next((child for child in declarator.children if child.type.endswith("declarator")), None)
    if declarator is None or declarator.type != "function_declarator":
        return None
    inner = declarator.child_by_field_name("declarator")
    # A pointer to a function is a data member, and its declarator is in parentheses.
    return None if inner is None or inner.type == "parenthesized_declarator" else inner.text


def is_special(declaration: Node, function: bytes, class_name: str) -> bool:
    """Says whether it is a constructor or destructor, or defaulted or deleted."""
    if function.lstrip(b"~").decode() == class_name:
        return True
    return any(child.type in ("default_method_clause", "delete_method_clause") for child in declaration.children)
