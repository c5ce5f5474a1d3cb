"""Says why a name of MPI is left in a program that is to have no MPI. Tests: tests/convert/test_report.py."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from couplet.convert.calls import PROCESS_CALLS, ROLES, why_not
from couplet.convert.model import Call, Facts, Symbol
from couplet.convert.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_DECLARATIONS = ("variable_declaration", "declaration", "parameter_declaration", "field_declaration")


def reason_left(facts: Facts, source: Source, node: Node, is_call: bool) -> str:
    """Returns the reason for the report. node: the name that is left, of a call or of something else."""
    name = source.text_of(node).lower()
    if not is_call:
        return _reason_of_declaration(facts, _declared_with(facts, source, node))
    if name not in ROLES:
        return f"it would be left of MPI: {why_not(name)}"
    if "comm" in ROLES[name]:
        return "it would be left of MPI: its communicator is none of the chosen ones (--communicator)"
    return "it would be left of MPI: its request is that of a call which is not converted"


def is_gone(facts: Facts, source: Source, node: Node) -> bool:
    """Whether an edit removes a name of MPI. A list that is written anew may still have it, for what stays in it."""
    start, name = source.start_of(node), re.compile(rf"\b{re.escape(source.text_of(node))}\b")
    texts = [text for first, last, text in source.edits if first <= start < last]
    if not texts or any(name.search(text) is None for text in texts):
        return bool(texts)
    return any(_changes(symbol) for symbol in _declared_with(facts, source, node))


def _changes(symbol: Symbol) -> bool:
    return symbol.is_couplet and not symbol.is_mixed


def _reason_of_declaration(facts: Facts, declared: list[Symbol]) -> str:
    declared = [symbol for symbol in declared if not _changes(symbol)] or declared
    users = [(symbol, call) for symbol in declared for call in facts.calls if _uses(call, symbol)]
    for symbol, call in users:
        if not _is_converted(call):
            return (
                f"'{symbol.name}' is used by {call.written} at {call.source.path}:{call.line}, which is not converted: "
                "change its declaration with that call"
            )
    if not declared or users:
        return "it would be left of MPI; remove it, or convert by hand what uses it"
    names = " and ".join(f"'{symbol.name}'" for symbol in declared)
    many = len(declared) > 1
    verb, whose = ("are", "their") if many else ("is", "its")
    return f"{names} {verb} used by no converted call: remove {whose} declaration"


def _uses(call: Call, symbol: Symbol) -> bool:
    return any(each.symbol is not None and each.symbol.root() is symbol.root() for each in call.arguments)


def _is_converted(call: Call) -> bool:
    return call.name in PROCESS_CALLS or (call.chosen and call.problem is None)


def _declared_with(facts: Facts, source: Source, node: Node) -> list[Symbol]:
    """Returns what a declaration declares with a name of MPI as the type or as an extent; none for a first value."""
    below, place = node, node.parent
    while place is not None and place.type not in _DECLARATIONS:
        if place.type == "init_declarator" and below in (
            place.child_by_field_name("right"),
            place.child_by_field_name("value"),
        ):
            return []
        below, place = place, place.parent
    if place is None:
        return []
    declarators = place.children_by_field_name("declarator")
    around = [each for each in declarators if each.start_byte <= node.start_byte < each.end_byte]
    found = around or declarators or [place]
    return [symbol for symbol in facts.symbols if any(each in found for each in symbol.declared_in(source))]
