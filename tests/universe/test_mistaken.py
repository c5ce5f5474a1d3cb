"""Mistaken, hostile and foreign processes beside two pairs that exchange checked steps and messages.

A process that is wrong is told by name or dropped, and the pairs lose nothing.
"""

from __future__ import annotations

import errno
import random
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import WATCHDOG_S, World
from members import Member
from quartet import NAMES, PROGRAMS, Guest, quartet
from strangers import listening_ports, open_connections

MakeWorld = Callable[..., World]
GUEST = len(NAMES)  # universe rank of the guest
HUNG_UP = {
    errno.ECONNRESET,
    errno.EPIPE,
    errno.ENOTCONN,
}  # what a call on the socket returns after the other side has closed it


def hello(claimed_bytes: int, sent_bytes: int) -> bytes:
    """Returns the first message of a handshake (docs/formats/handshake.md), with a hash made up without a secret."""
    prefix = struct.pack("<4sBBH", b"\xc7CPL", 1, 1, claimed_bytes)
    fields = struct.pack("<BBHHHQQIIH6x", 1, 1, 1, 1, 0, 0, 0, GUEST, 0, 0xFFFF)
    return (prefix + fields + random.Random(2).randbytes(64)).ljust(sent_bytes, b"x")[:sent_bytes]


STRANGERS = {
    "http": b"GET / HTTP/1.1\r\n\r\n",
    "zeros": bytes(4096),
    "magic and no more": b"\xc7CPL",
    "random": random.Random(1).randbytes(65536),
    "wrong hash": hello(112, 112),
    "cut hello": hello(112, 60),
    "oversized hello": hello(0xFFFF, 70000),
}


def call(port: int, said: bytes) -> None:
    """Sends it, closes the sending side, and reads until the other side closes too, which may be at any time."""
    with socket.create_connection(("127.0.0.1", port), timeout=WATCHDOG_S) as connection:
        try:
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
        except OSError as error:
            if error.errno not in HUNG_UP:
                raise


@pytest.mark.parametrize("links", ["self,shm,tcp", "self,tcp"])
def test_strangers_on_the_ports_of_members(make_world: MakeWorld, links: str) -> None:
    world = make_world(PROGRAMS)
    with quartet(world, COUPLET_LINKS=links) as four:
        ports = {name: listening_ports(four.pid(name)) for name in NAMES}
        assert all(ports.values()), f"each member listens: {ports}"
        for said in STRANGERS.values():
            for each in ports.values():
                for port in each:
                    call(port, said)
        four.go_on()


def test_silent_strangers_keep_nobody_out(make_world: MakeWorld) -> None:
    """There are more of them than may wait unproven, at a member that another process wants to reach by tcp."""
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world) as four:
        (port,) = listening_ports(four.pid("ping"))
        with open_connections(port, 80) as silent:
            four.go_on()
            assert silent[0].recv(1) == b"", "who proves nothing is hung up on"
            assert silent[79].recv(1) == b""
        member = Member(world, "guest", 0, 1)
        member.joined()
        assert member.ask(f"nonsense {NAMES.index('ping')} garbage") == "nonsense ended"  # it was let in to send it
        member.leave()


NONSENSE = (
    "garbage",
    "cut-header",
    "cut-payload",
    "oversized",
    "not-its-length",
    "endless-message",
    "no-envelope",
    "data-of-nothing",
    "unknown-family",
    "no-subscription",
)


@pytest.mark.parametrize("links", ["self,shm,tcp", "self,tcp"])
def test_a_member_that_talks_nonsense_ends_only_its_own_connection(make_world: MakeWorld, links: str) -> None:
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world, COUPLET_LINKS=links) as four:
        for kind in NONSENSE:
            guest = Member(world, "guest", 0, 1)
            guest.joined()
            for rank in range(len(NAMES)):
                assert guest.ask(f"nonsense {rank} {kind}") == "nonsense ended", kind
            guest.leave()
        four.go_on()


def test_who_may_not_join_is_told_why(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(f"{PROGRAMS},guest:2?")
    wrong = tmp_path / "wrong"
    wrong.touch(mode=0o600)
    wrong.write_text("00" * 32)
    hub = world.environment["COUPLET_HUB"]
    with quartet(world) as four:
        refusals = [
            (Member(world, "guest", 0, 2, COUPLET_SECRET_FILE=str(wrong)), "AUTHENTICATION", ("secret", hub)),
            (Member(world, "gest", 0, 1), "NOT_FOUND", ("no program 'gest'", "'guest'", "'ocean'")),
            (Member(world, "ocean", 0, 1), "EXISTS", ("rank 0 of program 'ocean'",)),
            (Member(world, "ocean", 1, 2), "MISMATCH", ("'ocean'", "2")),
            (Member(world, "guest", 5, 2), "ARGUMENT", ("guest", "5", "2")),
            (Member(world, "guest", 0, 2, "--version", 7), "VERSION", ("7", "1", hub)),
            (Member(world, "guest", 0, 2, "--timeout", 5), "TIMEOUT", ("rank 1 of 'guest'",)),
        ]
        for member, status, parts in refusals:
            answer = member.hear()
            assert answer.startswith(f"error COUPLET_ERROR_{status} "), answer
            assert all(part in answer for part in parts), (answer, parts)
            assert member.process.wait(WATCHDOG_S) == 1
        four.go_on()


def test_a_member_that_makes_every_mistake(make_world: MakeWorld) -> None:
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world) as four:
        guest = Guest(world, "guest", 0, 1).ready()
        series = "universe.open_series('eta', timeout=100, mode='follow'"
        guest.refused("universe.create_series('eta', (4,), 'i8')", "EXISTS", "'eta'", "'ocean'")
        guest.refused(f"{series}, box=[(0, 5000)])", "SHAPE", "'eta'", "5000", "4096")
        guest.refused(f"{series}, box=[(0, 5), (0, 5)])", "SHAPE", "'eta'", "2", "1")
        guest.refused(f"{series}, dtype='f4')", "TYPE", "'eta'", "int64")
        guest.refused("universe.open_series('zeta', timeout=0.1)", "TIMEOUT", "'zeta'")
        for name, length in (("'x' * 128", "128"), ("''", "0"), (r"'a\nb'", "3")):  # the hub would drop the member
            guest.refused(f"universe.open_series({name}, timeout=0.1)", "ARGUMENT", "127", length)
        guest.get("eta = universe.open_series('eta', start='next')")
        guest.refused("eta.read(at_least=9, up_to=9)", "LIMIT", "'eta'", "9", "8")
        guest.get("eta.close()")
        guest.refused("universe.create_series('own', (4,), 'i8', box=[(2, 7)])", "SHAPE", "'own'", "7", "4")
        guest.get("own = universe.create_series('own', (4,), 'i8', slots=2)")
        guest.get("own.put(np.zeros(4, 'i8'), 10)")
        guest.refused("own.put(np.zeros(4, 'i8'), 10)", "STEP", "'own'", "10")
        guest.refused("own.put(np.zeros(4, 'i8'), 9)", "STEP", "'own'", "9", "10")
        guest.refused("own.put(np.zeros(4, 'f8'), 11)", "TYPE", "'own'", "int64", "float64")
        guest.refused("own.put(np.zeros(5, 'i8'), 11)", "SHAPE", "'own'", "5", "4")
        guest.refused("universe.group.Send(np.zeros(1), 99)", "ARGUMENT", "99")
        guest.refused("universe.group.Send(np.zeros(1), 0, tag=-3)", "ARGUMENT", "-3")
        guest.refused("universe.find_rank('ocaen', 0)", "NOT_FOUND", "'ocaen'")
        guest.refused("universe.find_rank('ocean', 1)", "NOT_FOUND", "'ocean'", "1")
        four.go_on()
        guest.leave()


def test_a_full_table_of_readers_is_a_limit_and_has_room_again(make_world: MakeWorld) -> None:
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world) as four:
        guest = Guest(world, "guest", 0, 1).ready()
        entries = 64 - 1  # nowcast has one; followers need none
        one = "universe.open_series('eta', start='next')"
        guest.get(f"many = [{one} for n in range({entries})]")
        guest.refused(one, "LIMIT", "'eta'", "64")
        guest.get("many.pop().close()")
        guest.get(f"many.append({one})")
        guest.get("[each.close() for each in many]")
        four.go_on()
        guest.leave()
