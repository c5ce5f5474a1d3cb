"""What is generated follows from the C headers, and a change of a header that was not carried over is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import fortran
import generate
import header
import python_errors
import reference

PROJECT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The headers and what was generated from them."""
    shutil.copytree(PROJECT / "include", tmp_path / "include")
    for name in generate.FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    return tmp_path


def change(tree: Path, name: str, old: str, new: str) -> list[header.Header]:
    path = tree / "include" / "couplet" / f"couplet_{name}.h"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return header.read_headers(tree)


def test_what_is_committed_follows_from_the_headers(tree: Path) -> None:
    assert generate.outdated(tree) == []


def test_a_changed_header_is_found(tree: Path) -> None:
    change(tree, "series", "uint64_t every; ", "uint64_t new_bytes; /* a bound */\n  uint64_t every; ")
    assert generate.outdated(tree) == [
        "fortran/couplet_binding.f90",
        "docs/reference/c.md",
        "fortran/open_options_names.inc",
        "fortran/open_options_declarations.inc",
        "fortran/open_options_values.inc",
        "include/couplet/couplet_open_options.hpp",
        "python/couplet/_open_options.py",
        "python/extension/open_options.hpp",
    ]


def test_a_new_member_is_in_the_binding_and_in_the_reference(tree: Path) -> None:
    headers = change(tree, "series", "uint64_t every; ", "uint64_t new_bytes; /* a bound */\n  uint64_t every; ")
    assert "    integer(c_int64_t) :: new_bytes\n    integer(c_int64_t) :: every\n" in fortran.binding(headers)
    assert "| `new_bytes` | `uint64_t` | a bound |" in reference.c_reference(headers)


def test_a_new_function_is_in_the_binding_and_in_the_reference(tree: Path) -> None:
    new = """/* Tries it.
 * COUPLET_FULL: there is no room. */
COUPLET_API couplet_status couplet_series_try(couplet_series* series, const int64_t* start, uint64_t* count,
                                              couplet_request** request);

/* Ends writing"""
    headers = change(tree, "series", "/* Ends writing", new)
    binding = fortran.binding(headers)
    assert 'function c_series_try(series, start, count, request) bind(c, name="couplet_series_try")' in binding
    for declared in (
        "type(c_ptr), value :: series",
        "integer(c_int64_t), intent(in) :: start(*)",
        "integer(c_int64_t), intent(inout) :: count",
        "type(c_ptr), intent(inout) :: request",
    ):
        assert f"      {declared}\n" in binding.partition("c_series_try(")[2]
    page = reference.c_reference(headers).partition("### `couplet_series_try`")[2]
    assert "Tries it.\n\n| returns | if |\n|---|---|\n| `COUPLET_FULL` | there is no room. |" in page


def test_a_new_error_needs_a_class(tree: Path) -> None:
    headers = change(tree, "status", "COUPLET_ERROR_MPI = -14,", "COUPLET_ERROR_NEW = -15,\n  COUPLET_ERROR_MPI = -14,")
    assert "integer, parameter :: couplet_error_new = -15" in fortran.constants(headers)
    with pytest.raises(KeyError, match="ERROR_NEW"):
        python_errors.errors(headers)


def test_a_declaration_that_is_not_understood_is_named(tree: Path) -> None:
    with pytest.raises(ValueError, match=r"does not understand the declaration .*names"):
        change(tree, "series", "uint64_t every; ", "const char *const *names[4][2]; uint64_t every; ")
