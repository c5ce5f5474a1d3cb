"""Finds the OpenMP parallel regions of a file. Tests: tests/convert/test_openmp.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from couplet.convert.parsing import walk
from couplet.convert.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_LOOPS = ("do", "sections", "workshare", "loop")


def parallel_regions(source: Source) -> list[tuple[int, int]]:
    """Returns the beginnings and ends of the regions, as offsets in what the parser has seen."""
    return _fortran(source) if source.language == "fortran" else _c(source)


def _directive(text: str) -> list[str]:
    """Returns the words of an OpenMP directive, or none."""
    words = text.lower().replace("(", " (").split()
    return words[1:] if words and words[0] in ("!$omp", "c$omp", "*$omp") else []


def _next_statement(node: Node) -> Node | None:
    found = node.next_sibling
    while found is not None and found.type in ("comment", "preproc_call", "\n"):
        found = found.next_sibling
    return found


def _fortran(source: Source) -> list[tuple[int, int]]:
    regions: list[tuple[int, int]] = []
    open_regions: list[int] = []
    for node in walk(source.tree.root_node):
        if node.type != "comment":
            continue
        words = _directive(source.text_of(node))
        if "parallel" not in words and "task" not in words[:1]:
            continue
        if words[0] == "end":
            if open_regions:
                regions.append((open_regions.pop(), node.start_byte))
        elif any(word in _LOOPS for word in words[1:3]):
            following = _next_statement(node)
            if following is not None:
                regions.append((node.end_byte, following.end_byte))
        else:
            open_regions.append(node.end_byte)
    return regions + [(start, source.tree.root_node.end_byte) for start in open_regions]


def _c(source: Source) -> list[tuple[int, int]]:
    regions = []
    for node in walk(source.tree.root_node):
        if node.type != "preproc_call" or not source.text_of(node).lstrip().startswith("#pragma"):
            continue
        words = source.text_of(node).replace("(", " (").split()
        if words[1:2] == ["omp"] and ("parallel" in words or words[2:3] == ["task"]):
            following = _next_statement(node)
            if following is not None:
                regions.append((following.start_byte, following.end_byte))
    return regions
