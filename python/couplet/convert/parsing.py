"""Loads the grammars, and says what to install if they are not there. Tests: tests/convert."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from couplet.convert.errors import ConvertError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_parsers: dict[str, Parser] = {}


def parser_for(language: str) -> Parser:
    """Returns the parser of "fortran" or "c"."""
    if language not in _parsers:
        try:
            tree_sitter = importlib.import_module("tree_sitter")
            grammar = importlib.import_module(f"tree_sitter_{language}")
        except ImportError as error:
            raise ConvertError(
                f"couplet convert needs the packages tree-sitter and tree-sitter-{language}, and {error.name} is not "
                "installed: pip install '.[convert]' in the source folder of Couplet"
            ) from error
        _parsers[language] = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    return _parsers[language]


def walk(node: Node) -> Iterator[Node]:
    """Yields the node and everything below it, in the order of the text."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed(found.children))


def leaves(node: Node) -> Iterator[Node]:
    """Yields the nodes without children."""
    return (each for each in walk(node) if each.child_count == 0)
