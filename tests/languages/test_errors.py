"""Each error code in each language: provoked where that is possible, else through a double of couplet_join."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import BUILD, LANGUAGES, PROJECT, World, command_for

HEADER = PROJECT / "include" / "couplet" / "couplet.h"
ERRORS = {name: int(value) for name, value in re.findall(r"(COUPLET_ERROR_\w+) = (-\d+)", HEADER.read_text())}

# What each provoked case has to answer, and the words that its sentence needs: what, and where.
EXPECTED: dict[str, tuple[int, tuple[str, ...]]] = {
    "not_found": (-3, ("nobody",)),
    "authentication": (-202, ("secret",)),
    "hub_lost": (-303, ("127.0.0.1:1",)),
    "config": (-13, ("nonsense",)),
    "exists": (-4, ("eta",)),
    "no_space": (-302, ("ocean",)),
    "state": (-2, ("publish", "eta")),
    "type": (-5, ("eta",)),
    "shape": (-6, ("eta",)),
    "timeout": (-101, ("never",)),
    "argument": (-1, ()),
    "limit": (-8, ("eta", "2")),
    "not_yet": (1, ()),
    "step": (-7, ("eta", "10")),
    "full": (2, ()),
    "end": (3, ()),
    "truncated": (-102, ("96", "40")),
    "forked": (-10, ()),
}


def cases(output: str) -> list[tuple[str, int, str]]:
    rows = [line.split("\t", 2) for line in output.splitlines()]
    return [(name, int(code), sentence) for name, code, sentence in rows]


@pytest.mark.parametrize("language", LANGUAGES)
def test_provoked_errors(make_world: Callable[..., World], tmp_path: Path, language: str) -> None:
    wrong = tmp_path / "wrong-secret"
    wrong.touch(mode=0o600)
    wrong.write_text("00" * 32 + "\n")
    world = make_world("solo:1")
    (ended,) = world.run_together([*command_for("errors", language), "provoke", str(wrong)])
    found = cases(ended.output)
    assert {name for name, _, _ in found} == set(EXPECTED)
    problems = []
    for name, code, sentence in found:
        expected, words = EXPECTED[name]
        missing = [word for word in words if word not in sentence]
        if code != expected or missing or (code < 0 and len(sentence) < 10):
            problems.append(f"{name}: {code} {sentence!r}; expected {expected} with the words {words}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_is_mapped(make_world: Callable[..., World], language: str) -> None:
    codes = sorted(ERRORS.values())
    world = make_world("solo:1")
    double = BUILD / "tests" / "double" / "libstatus_double.so"
    command = [*command_for("errors", language), "mapping", *(str(code) for code in codes)]
    ended = world.finish(world.start(command, LD_PRELOAD=str(double))).check()
    wanted = [(str(code), code, f"program 'double' on host 'nowhere', status {code}") for code in codes]
    assert cases(ended.output) == wanted


def test_fortran_stops_without_ierr(make_world: Callable[..., World]) -> None:
    world = make_world("solo:1")
    ended = world.finish(world.start([*command_for("errors", "fortran"), "stop"]))
    assert ended.status != 0
    assert "went on" not in ended.output
    assert "couplet: COUPLET_ERROR_HUB_LOST: " in ended.errors
    assert "127.0.0.1:1" in ended.errors


def test_fortran_knows_every_code() -> None:
    module = (PROJECT / "fortran" / "couplet_errors.f90").read_text()
    codes = {name.upper(): int(value) for name, value in re.findall(r"(couplet_error_\w+) = (-\d+)", module)}
    assert codes == ERRORS


def test_python_knows_every_code() -> None:
    from couplet import errors

    kinds = {kind.status: kind.code for kind in errors.Error.__subclasses__() if kind.code < 0}
    assert kinds == ERRORS
    assert all(len(kind.__bases__) == 2 for kind in errors.Error.__subclasses__())
