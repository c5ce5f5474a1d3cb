"""Each code of the C interface in each language, from a real cause; only an internal error has none.

The tables say which case answers which code. If the cause is in one process, the programs provoke it (mode provoke). If
it is in the environment, or in a process that is not a hub, they only join (mode join). If another program is needed,
they exchange messages with it (mode meet). MPI's own code needs a program that is linked with an MPI: test_mpi.py.
"""

from __future__ import annotations

import contextlib
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launching import BUILD, LANGUAGES, PROJECT, World, command_for

HEADER = PROJECT / "include" / "couplet" / "couplet_status.h"
ERRORS = {name: int(value) for name, value in re.findall(r"(COUPLET_ERROR_\w+) = (-\d+)", HEADER.read_text())}
ANSWERS = {name: int(value) for name, value in re.findall(r"(COUPLET_[A-Z_]+) = ([1-9]\d*),", HEADER.read_text())}

# The code of each case of the mode provoke, and the words that its sentence needs: what, and where.
PROVOKED: dict[str, tuple[int, tuple[str, ...]]] = {
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
    "restarted": (4, ()),
    "interrupted": (5, ()),
    "evicted": (-103, ("tides",)),
    "memory": (-12, ("ocean",)),
    "truncated": (-102, ("96", "40")),
    "thread": (-11, ("universe",)),
    "forked": (-10, ()),
}
# The mode join: the mistake is in the surroundings of the program.
JOINED: dict[str, tuple[int, tuple[str, ...]]] = {
    "mismatch": (-104, ("solo", "3")),
    "system": (-301, ("occupied", "directory")),
    "version": (-203, ("layout",)),
    "protocol": (-204, ("hub",)),
}
MET: dict[str, tuple[int, tuple[str, ...]]] = {
    "unsupported": (-9, ("other", "tcp")),
    "peer_lost": (-201, ("other",)),
}
ELSEWHERE = {-14: "test_mpi.py: test_joining_before_mpi_is_there"}
WITHOUT_CAUSE = {-304: "a mistake of Couplet itself; test_every_code_is_mapped shows what it becomes"}
NOT_IN = {"fortran": {"interrupted"}}  # Fortran has no interrupts of its own


def test_no_code_is_without_a_case() -> None:
    shown = {code for table in (PROVOKED, JOINED, MET) for code, _ in table.values()} | {*ELSEWHERE, *WITHOUT_CAUSE}
    assert shown == {*ERRORS.values(), *ANSWERS.values()}


def compare(found: list[tuple[str, int, str]], expected: dict[str, tuple[int, tuple[str, ...]]]) -> None:
    """Checks that each case was answered with its code, and with a sentence that has its words."""
    assert {name for name, _, _ in found} == set(expected)
    problems = []
    for name, code, sentence in found:
        wanted, words = expected[name]
        missing = [word for word in words if word not in sentence]
        if code != wanted or missing or (code < 0 and len(sentence) < 10):
            problems.append(f"{name}: {code} {sentence!r}; expected {wanted} with the words {words}")
    assert not problems, "\n".join(problems)


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
    without = NOT_IN.get(language, set())
    compare(cases(ended.output), {name: wanted for name, wanted in PROVOKED.items() if name not in without})


@pytest.fixture
def false_hub() -> Iterator[Callable[[bytes], str]]:
    """Gives false_hub(bytes), which returns the address of a process that sends these bytes to every caller."""
    listeners: list[socket.socket] = []

    def serve(listener: socket.socket, words: bytes) -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            with caller, contextlib.suppress(OSError):
                caller.sendall(words)
                caller.shutdown(socket.SHUT_WR)
                while caller.recv(4096):
                    pass

    def start(words: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=serve, args=(listener, words), daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_errors_of_joining(
    make_world: Callable[..., World], false_hub: Callable[[bytes], str], tmp_path: Path, language: str
) -> None:
    world = make_world("solo:1")
    occupied = tmp_path / "occupied"
    occupied.touch()
    around = {
        "mismatch": {"COUPLET_RANK": "0", "COUPLET_SIZE": "3"},
        "system": {"COUPLET_RUN_DIR": str(occupied)},
        "version": {"COUPLET_HUB": false_hub(b"\xc7CPL\x09\x02\x90\x00" + bytes(136))},
        "protocol": {"COUPLET_HUB": false_hub(b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(100))},
    }
    assert set(around) == set(JOINED)
    found = []
    for name, environment in around.items():
        ended = world.finish(world.start([*command_for("errors", language), "join", "solo"], **environment)).check()
        ((_, code, sentence),) = cases(ended.output)
        found.append((name, code, sentence))
    compare(found, JOINED)


COMPANION = """
import os, sys
import numpy as np
import couplet
with couplet.join("other") as universe:
    if sys.argv[1] == "peer_lost":
        universe.group.Recv(np.zeros(1), 0, 1)
        os._exit(9)
    try:  # nothing can arrive: until the other has left
        universe.group.Recv(np.zeros(1), 0, 1)
    except couplet.Error:
        pass
"""


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("case", MET)
def test_errors_of_talking(make_world: Callable[..., World], language: str, case: str) -> None:
    world = make_world("solo:1,other:1")
    links = {"COUPLET_LINKS": "shm"} if case == "unsupported" else {}
    apart = {"COUPLET_NODE": "elsewhere"} if case == "unsupported" else {}
    other = world.start([sys.executable, "-c", COMPANION, case], **links, **apart)
    ended = world.finish(world.start([*command_for("errors", language), "meet", case], **links)).check()
    world.finish(other)
    compare(cases(ended.output), {case: MET[case]})


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_is_mapped(make_world: Callable[..., World], language: str) -> None:
    codes = sorted(ERRORS.values())
    world = make_world("solo:1")
    double = BUILD / "tests" / "double" / "libstatus_double.so"
    command = [*command_for("errors", language), "join", *(str(code) for code in codes)]
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
    module = (PROJECT / "fortran" / "couplet_constants.f90").read_text()
    codes = {name.upper(): int(value) for name, value in re.findall(r"(couplet_error_\w+) = (-\d+)", module)}
    assert codes == ERRORS


def test_python_knows_every_code() -> None:
    from couplet import errors

    kinds = {kind.status: kind.code for kind in errors.Error.__subclasses__() if kind.code < 0}
    assert kinds == ERRORS
    assert all(len(kind.__bases__) == 2 for kind in errors.Error.__subclasses__())
