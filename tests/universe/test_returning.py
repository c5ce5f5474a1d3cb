"""A program that is killed and started again meets the others again, and what it sends at once arrives."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import BUILD, WATCHDOG_S, World, read_line
from needs import require_ucx

LIVES = int(os.environ.get("COUPLET_LIVES", "12"))
PLACES = {"shm": {}, "tcp": {"COUPLET_NODE": "elsewhere"}}


@pytest.mark.parametrize("link", PLACES)
@pytest.mark.parametrize("first", ["host", "guest"])
def test_messages_of_each_life(make_world: Callable[..., World], link: str, first: str) -> None:
    """The host waits for an answer while the guest is killed. `first` has the lower rank, and its dial is used."""
    world = make_world(f"{first}:1,{'guest' if first == 'host' else 'host'}:1")
    program = str(BUILD / "tests" / "programs" / "come_again")
    host = world.start([program, "host", str(LIVES)])
    for life in range(LIVES):
        guest = world.start([program, "guest", str(life), str(LIVES)], **PLACES[link])
        if life < LIVES - 1:
            for each in (host, guest):
                line = read_line(each)
                assert line == f"life {life}\n", f"{each.args[1]}: {line}"
            guest.kill()
            guest.wait(WATCHDOG_S)
    for each in (host, guest):
        assert world.finish(each).check().output == "done\n"


@pytest.mark.parametrize("link", PLACES)
@pytest.mark.parametrize("first", ["host", "guest"])
def test_a_guest_that_comes_again_while_the_host_computes(
    make_world: Callable[..., World], link: str, first: str
) -> None:
    """The host reads both messages of the hub in one call: that the guest is lost, and that it is there again."""
    lives = 4
    world = make_world(f"{first}:1,{'guest' if first == 'host' else 'host'}:1")
    program = str(BUILD / "tests" / "programs" / "come_again")
    host = world.start([program, "host", str(lives), "computing"], standard_input=True)
    for life in range(lives):
        guest = world.start([program, "guest", str(life), str(lives), "computing"], True, **PLACES[link])
        assert read_line(guest) == "here\n"
        if life > 0:
            tell(host)
            time.sleep(1.5)  # in which the host must not be told again and again that the guest is lost
        tell(guest)
        if life < lives - 1:
            for each in (host, guest):
                assert read_line(each) == f"life {life}\n"
            guest.kill()
            guest.wait(WATCHDOG_S)
    for each in (host, guest):
        assert world.finish(each).check().output == "done\n"


# Links over which the lives of a guest are counted, and what each needs.
COUNTED = {
    "shm": {},
    "tcp": {"COUPLET_LINKS": "self,tcp"},
    "file": {"COUPLET_LINKS": "self,file"},
    "ucx": {"COUPLET_LINKS": "self,ucx", "COUPLET_UCX_TLS": "posix,cma"},
}


@pytest.mark.parametrize("link", COUNTED)
def test_the_lives_of_a_guest_leave_nothing_behind(make_world: Callable[..., World], tmp_path: Path, link: str) -> None:
    """The host has as many descriptors and mappings after many lives as after a few, and there are as many files."""
    if link == "ucx":
        require_ucx()
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o700)
    extra = {**COUNTED[link], "COUPLET_FILE_DIRECTORY": str(shared)}
    world = make_world("host:1,guest:1")
    program = str(BUILD / "tests" / "programs" / "come_again")
    host = world.start([program, "host", str(LIVES)], **extra)
    seen: list[dict[str, int]] = []
    for life in range(LIVES):
        guest = world.start([program, "guest", str(life), str(LIVES)], **extra)
        if life < LIVES - 1:
            for each in (host, guest):
                line = read_line(each)
                assert line == f"life {life}\n", f"{each.args[1]}: {line}"
            process = Path(f"/proc/{host.pid}")
            seen.append(
                {
                    "descriptors": len(list((process / "fd").iterdir())),
                    **mappings(process),
                    "files": len(list(world.run_directory.rglob("*"))) + len(list(shared.rglob("*"))),
                }
            )
            guest.kill()
            guest.wait(WATCHDOG_S)
    for each in (host, guest):
        assert world.finish(each).check().output == "done\n"
    half = len(seen) // 2  # what goes up and down, does so at least once in it
    for what in seen[0]:
        counts = [each[what] for each in seen]
        # malloc takes and returns anonymous memory as it likes; what each life leaves behind adds up to more.
        slack = 4 if what == "anonymous mappings" else 2
        assert max(counts[half:]) <= max(counts[:half]) + slack, f"{what} over {link}: {counts}"


def mappings(process: Path) -> dict[str, int]:
    """Count the mappings of files and of anonymous memory in a process, whose folder in /proc is given."""
    lines = (process / "maps").read_text().splitlines()
    of_files = sum("/" in line for line in lines)
    return {"mappings of files": of_files, "anonymous mappings": len(lines) - of_files}


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go on\n")
    process.stdin.flush()


def test_ranks_that_come_again_together(make_world: Callable[..., World]) -> None:
    """The host is greeted by one rank of the guest, and calls another one, which the hub has let in just now."""
    world = make_world("host:1,guest:2")
    program = str(BUILD / "tests" / "programs" / "return_together")
    host = world.start([program, "host", str(LIVES)])
    for life in range(LIVES):
        guests = [world.start([program, "guest", str(rank), str(life), str(LIVES)]) for rank in (0, 1)]
        for each in (host, *guests):
            line = read_line(each)
            assert line == f"life {life}\n", f"{each.args[1]}: {line}"
        for guest in guests if life < LIVES - 1 else ():
            guest.kill()
            guest.wait(WATCHDOG_S)
    assert read_line(host) == "done\n"
    for each in (host, *guests):
        world.finish(each).check()
