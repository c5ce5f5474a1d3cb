"""Writes what follows from the public interface, or says what is not up to date.

Usage: generate.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fortran
import options
import python_errors
import reference
import reference_cpp
import reference_fortran
import reference_python
from header import Header, read_headers

ROOT = Path(__file__).resolve().parent.parent.parent

# Each generated file, and what writes it.
FILES: dict[str, Callable[[list[Header]], str]] = {
    "fortran/couplet_constants.f90": fortran.constants,
    "fortran/couplet_binding.f90": fortran.binding,
    "python/couplet/errors.py": python_errors.errors,
    "docs/reference/c.md": reference.c_reference,
    "docs/reference/cpp.md": lambda headers: reference_cpp.cpp_reference(ROOT),
    "docs/reference/fortran.md": lambda headers: reference_fortran.fortran_reference(ROOT, headers),
    "docs/reference/python.md": lambda headers: reference_python.python_reference(ROOT),
    "fortran/open_options_names.inc": options.fortran_names,
    "fortran/open_options_declarations.inc": options.fortran_declarations,
    "fortran/open_options_values.inc": options.fortran_values,
    "include/couplet/couplet_open_options.hpp": options.cpp,
    "python/couplet/_open_options.py": options.python,
    "python/extension/open_options.hpp": options.extension,
}


def outdated(root: Path) -> list[str]:
    """The generated files that are not what the headers say now."""
    headers = read_headers(root)
    return [name for name, write in FILES.items() if not is_file(root / name, write(headers))]


def is_file(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def main(arguments: list[str]) -> int:
    root = ROOT
    changed = outdated(root)
    if arguments == ["--check"]:
        for name in changed:
            print(f"{name} does not follow from include/couplet: make generate")
        return 1 if changed else 0
    headers = read_headers(root)
    for name in changed:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(FILES[name](headers), encoding="utf-8")
        print(f"generate: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
