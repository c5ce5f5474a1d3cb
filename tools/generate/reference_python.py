"""Writes docs/reference/python.md: what the package couplet exports, with its docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

NOTE = "<!-- Written by tools/generate from the docstrings in python/couplet: do not edit (make generate). -->"
# The modules of the package in the order in which a reader wants them.
CHAPTERS = {
    "The universe": ("_universe", "_groups"),
    "Series": ("_series", "_open_options", "weights"),
    "Messages and collective calls": ("_requests", "_collectives"),
    "Exchanges and halos": ("_exchanges", "_halos"),
    "Coalesced communication": ("_coalesce",),
    "Tasks and areas": ("_tasks", "_areas"),
    "Waiting for any of several things": ("_waiting",),
    "Errors": ("errors",),
}
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def python_reference(root: Path) -> str:
    """The page of the Python interface."""
    package = root / "python" / "couplet"
    exported = set(names_in(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))))
    lines = [NOTE, "", "# The Python interface", ""]
    lines += ["`import couplet` gives all of this. The guide is [here](../guide/python.md).", ""]
    for title, modules in CHAPTERS.items():
        lines += [f"## {title}", ""]
        for module in modules:
            for node in ast.parse((package / f"{module}.py").read_text(encoding="utf-8")).body:
                if isinstance(node, Definition) and node.name in exported:
                    lines += described(node, 3, "")
    return "\n".join(lines).rstrip() + "\n"


def names_in(module: ast.Module) -> Iterator[str]:
    """The names in __all__."""
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            yield from ast.literal_eval(node.value)


def described(node: Definition, level: int, owner: str) -> list[str]:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases if not ast.unparse(base).startswith("_"))
        head = f"class {node.name}({bases})" if bases else f"class {node.name}"
        lines = [f"{'#' * level} `{head}`", "", *text_of(node)]
        lines += attributes(node)
        for child in node.body:
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or child.name.startswith("_"):
                continue
            if not is_setter(child) and ast.get_docstring(child):
                lines += described(child, level + 1, node.name)
        return lines
    if "property" in [ast.unparse(each) for each in node.decorator_list]:
        returned = f": `{ast.unparse(node.returns)}`" if node.returns is not None else ""
        return [f"{'#' * level} `{owner}.{node.name}`", "", f"A property{returned}.", "", *text_of(node)]
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    name = f"{owner}.{node.name}" if owner else node.name
    return [f"{'#' * level} `{name}`", "", "```python", f"{prefix}{signature(node)}", "```", "", *text_of(node)]


def is_setter(node: ast.stmt) -> bool:
    return any(".setter" in ast.unparse(each) for each in getattr(node, "decorator_list", []))


def attributes(node: ast.ClassDef) -> list[str]:
    """The annotated members of a class, such as the fields of a dataclass."""
    found = [child for child in node.body if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name)]
    public = [child for child in found if not ast.unparse(child.target).startswith("_")]
    if not public or "Attributes" in (ast.get_docstring(node) or ""):
        return []
    return [*(f"- `{ast.unparse(child.target)}`: `{ast.unparse(child.annotation)}`" for child in public), ""]


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The signature without self, a parameter on each line if it is long."""
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))
    returned = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    line = f"{node.name}({arguments}){returned}"
    if len(line) <= 100:
        return line
    parts = re.split(r", (?![^\[(]*[\])])", arguments)
    return "\n".join([f"{node.name}(", *(f"    {part}," for part in parts), f"){returned}"])


def text_of(node: Definition) -> list[str]:
    """The docstring, with a list for each section of numpydoc."""
    lines: list[str] = []
    section = before = ""
    for line in (ast.get_docstring(node) or "").splitlines():
        if re.fullmatch(r"-{3,}", line.strip()) and lines:
            section = before
            lines[-1:] = [f"**{section}**", ""]
        elif section and line and not line.startswith(" "):
            lines.append(f"- `{line}`:")
        else:
            lines.append(f"  {line.strip()}" if section and line.strip() else line)
        before = line
    return [*lines, ""] if lines else []
