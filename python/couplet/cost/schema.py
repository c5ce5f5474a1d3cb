"""Checks a document against a JSON Schema: the part of draft 2020-12 that the schemas of this package use.

The schemas in ``schemas/`` are the only description of the formats. A keyword that is not known here is an error of the
schema, so that no rule of a schema is silently left out.
"""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "object": ("an object", (dict,)),
    "array": ("a list", (list,)),
    "string": ("a text", (str,)),
    "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
}
_NOT_RULES = {"$schema", "$defs", "title", "description"}
Document = dict[str, Any]


def first_mistake(value: object, schema: Document) -> str | None:
    """Returns a sentence about the first place where ``value`` breaks ``schema``, or None if it follows it."""
    return _Check(schema).value(value, schema, "")


def _is(value: object, kind: str) -> bool:
    return isinstance(value, _TYPES[kind][1]) and not isinstance(value, bool)


class _Check:
    """One pass over a document; a method for each group of rules."""

    def __init__(self, root: Document) -> None:
        self._root = root

    def value(self, value: object, schema: Document, where: str) -> str | None:
        if "$ref" in schema:
            return self.value(value, self._root["$defs"][schema["$ref"].removeprefix("#/$defs/")], where)
        name = where or "the document"
        for rule, limit in schema.items():
            if rule in _NOT_RULES:
                continue
            if mistake := self.rule(rule, limit, value, where, name):
                return mistake
        return None

    def rule(self, rule: str, limit: Any, value: Any, where: str, name: str) -> str | None:
        """The mistake of one rule; a rule of another type than the value's says nothing, as in JSON Schema."""
        if rule == "type":
            return None if _is(value, limit) else f"{name} has to be {_TYPES[limit][0]}, not {_shown(value)}"
        if rule == "const":
            return None if value == limit else f"{name} has to be {_shown(limit)}, not {_shown(value)}"
        if rule == "enum":
            known = ", ".join(_shown(one) for one in limit)
            return None if value in limit else f"{name} has to be one of {known}, not {_shown(value)}"
        if rule in ("required", "properties"):
            return self.members(rule, limit, value, where, name) if isinstance(value, dict) else None
        if rule in ("items", "minItems", "maxItems", "minLength"):
            return self.length(rule, limit, value, where, name) if isinstance(value, list | str) else None
        return self.bound(rule, limit, value, name)

    def members(self, rule: str, limit: Any, value: Document, where: str, name: str) -> str | None:
        if rule == "required":
            missing = [key for key in limit if key not in value]
            return f'{name} has no "{missing[0]}"' if missing else None
        for key, schema in limit.items():
            if key in value and (mistake := self.value(value[key], schema, f"{where}.{key}" if where else key)):
                return mistake
        return None

    def length(self, rule: str, limit: Any, value: list[Any] | str, where: str, name: str) -> str | None:
        if rule == "items" and isinstance(value, list):
            found = (self.value(one, limit, f"{where}[{index}]") for index, one in enumerate(value))
            return next((mistake for mistake in found if mistake), None)
        unit = "entries" if isinstance(value, list) else "characters"
        if rule.startswith("min") and len(value) < limit:
            return f"{name} needs at least {limit} {unit}, and has {len(value)}"
        if rule == "maxItems" and len(value) > limit:
            return f"{name} may have {limit} {unit}, and has {len(value)}"
        return None

    def bound(self, rule: str, limit: float, value: Any, name: str) -> str | None:
        holds = {
            "minimum": lambda: value >= limit,
            "maximum": lambda: value <= limit,
            "exclusiveMinimum": lambda: value > limit,
            "exclusiveMaximum": lambda: value < limit,
        }
        words = {
            "minimum": "at least",
            "maximum": "at most",
            "exclusiveMinimum": "greater than",
            "exclusiveMaximum": "less than",
        }
        if rule not in holds:
            raise NotImplementedError(f"the schema uses {rule!r}, which is not known here")
        if not _is(value, "number"):
            return None
        return None if holds[rule]() else f"{name} has to be {words[rule]} {limit}, not {value}"


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        text = f'"{value}"'
    else:
        text = {"None": "null", "True": "true", "False": "false"}.get(str(value), str(value))
    return text if len(text) <= 60 else text[:57] + "..."
