"""How parallel blocks find each other: late ones, hubs that were started by hand, and what earlier runs have left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cotocoa import hubs
from launching import WATCHDOG_S, World, read_line
from waitio import file_variables, finish, free_port, nothing_left, start_block, start_blocks, variables

MakeWorld = Callable[..., World]


def test_a_block_comes_much_later(make_world: MakeWorld) -> None:
    """PB 1 starts before PB 0, and looks for the port until it is there. One attempt to join takes 5 s."""
    world = make_world("")
    port = free_port()
    early = start_block(world, "mpich", 1, "pingpong", **variables(1, 2, port))
    with pytest.raises(subprocess.TimeoutExpired):
        early.wait(5.3)
    late = start_block(world, "openmpi", 1, "pingpong", **variables(0, 2, port))
    assert [ended.check().output.split()[-1] for ended in finish(world, [late, early])] == ["right", "right"]
    nothing_left(world)


def test_a_hub_by_hand_is_used(make_world: MakeWorld) -> None:
    """It listens at WAITIO_MASTER_HOST:PORT, and PB 0 starts none."""
    world = make_world("pb0,pb1:2")
    host, port = world.environment.pop("COUPLET_HUB").split(":")
    started = [
        start_block(world, "openmpi", 2, "convert", **variables(0, 2, int(port), WAITIO_MASTER_HOST=host)),
        start_block(world, "mpich", 2, "convert", **variables(1, 2, int(port), WAITIO_MASTER_HOST=host)),
    ]
    for ended in finish(world, started):
        assert ended.check().output.count(", 0 wrong") == 2
    assert world.hub is not None
    assert world.hub.wait(WATCHDOG_S) == 0
    nothing_left(world)


def test_as_couplet_run_starts_them(make_world: MakeWorld) -> None:
    """COUPLET_HUB and COUPLET_PROGRAM say all. The hub serves a program that is no block, and has another order."""
    world = make_world("pb1:1,watcher:1?,pb0:2")
    started = [
        start_block(world, "mpich", 1, "convert", COUPLET_PROGRAM="pb1"),
        start_block(world, "openmpi", 2, "convert", COUPLET_PROGRAM="pb0"),
    ]
    lines = sorted(line for ended in finish(world, started) for line in ended.check().output.splitlines())
    assert [line.split(":")[0] for line in lines] == [
        "PB 0 rank 0 is 0 of 3",
        "PB 0 rank 1 is 1 of 3",
        "PB 1 rank 0 is 2 of 3",
    ]
    assert all(line.endswith(", 0 wrong") for line in lines)


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ({"COUPLET_PROGRAM": "ocean"}, "WAITIO_PBID is not set; it has to be the id of this parallel block"),
        ({"COUPLET_PROGRAM": "pb2"}, "this is PB 2, and the hub at 127.0.0.1:"),
        ({"COUPLET_PROGRAM": "pb0", "WAITIO_NPB": "2"}, "WAITIO_NPB is 2 here, and the hub at 127.0.0.1:"),
        ({"WAITIO_PBID": "1"}, "the universe has no program 'pb1'; it has 'pb0' and 'pb2'"),
    ],
)
def test_the_hub_has_other_blocks(make_world: MakeWorld, tmp_path: Path, extra: dict[str, str], sentence: str) -> None:
    world = make_world("pb0:1?,pb2:1?")
    errors = tmp_path / "errors"
    ended = world.finish(start_block(world, "openmpi", 1, "mistake", errors=errors, **extra))
    assert ended.output == "init failed\n"
    (said,) = errors.read_text().splitlines()
    assert sentence in said
    assert world.hub is not None
    world.hub.terminate()


@pytest.mark.parametrize("kind", ["socket", "file"])
def test_a_run_after_one_that_was_killed(make_world: MakeWorld, kind: str) -> None:
    """All processes of a run are killed, its hub too. The next one uses the same port, or the same directory and job;
    PB 1 comes first.
    """
    world = make_world("")
    port = free_port()
    extra = file_variables(world) if kind == "file" else {}
    own = [variables(block, 2, port) | extra for block in range(2)]
    killed = [start_block(world, "openmpi", 1, "mistake", ["waits to be killed"], **each) for each in own]
    assert [read_line(process) for process in killed] == ["joined\n"] * 2
    for pid in hubs(world):
        os.kill(pid, signal.SIGKILL)
    for process in killed:
        process.kill()
        process.wait(WATCHDOG_S)
    second = start_block(world, "mpich", 1, "convert", **own[1])
    first = start_block(world, "openmpi", 1, "convert", **own[0])
    for ended in finish(world, [first, second]):
        assert ended.check().output.endswith(", 0 wrong\n")
    world.clean()


def test_a_directory_that_the_script_has_made(make_world: MakeWorld) -> None:
    """Job scripts make it for all to read. It becomes private, and is removed at the end."""
    world = make_world("")
    extra = file_variables(world, "42") | {"APART": "1"}
    directory = Path(extra["WAITIO_SCRATCH_DIR"]) / ".waitio-file-42"
    directory.mkdir(mode=0o755)
    for ended in finish(world, start_blocks(world, (1, 1), ["pingpong"], [100000], **extra)):
        assert ended.check().output.endswith(": right\n")
    nothing_left(world)


def test_no_finalize(make_world: MakeWorld) -> None:
    """The programs end without waitio_finalize. The hub ends, too."""
    world = make_world("")
    for ended in finish(world, start_blocks(world, (1, 1), ["mistake"], ["no finalize"])):
        assert ended.check().output.endswith(" of the hub\n")
    deadline = time.monotonic() + WATCHDOG_S
    while hubs(world):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    world.clean()


@pytest.mark.parametrize("answers", [True, False], ids=["another protocol", "silence"])
def test_the_port_belongs_to_another_program(make_world: MakeWorld, tmp_path: Path, answers: bool) -> None:
    """The error says that the port is taken, and that what has it is no hub."""
    world = make_world("")
    errors = tmp_path / "errors"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        own = variables(0, 1, port, COUPLET_JOIN_TIMEOUT="1")
        process = start_block(world, "openmpi", 1, "mistake", errors=errors, **own)
        if answers:
            connection, _ = taken.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 8)
            connection.close()
        assert world.finish(process).output == "init failed\n"
    (said,) = errors.read_text().splitlines()
    assert f"cannot start a hub at 127.0.0.1:{port} (WAITIO_MASTER_HOST, WAITIO_MASTER_PORT): couplet-hub: " in said
    assert "; and what is there cannot be joined: " in said
    nothing_left(world)
