"""Programs find each other through couplet-hub, or are told by name what is wrong."""

from __future__ import annotations

import json
import random
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import BUILD, WATCHDOG_S, World, read_line
from members import Member
from namespaces import make_namespaces
from needs import installed

MakeWorld = Callable[..., World]


def join_and_leave(world: World) -> None:
    member = Member(world, "ocean", 0, 1)
    member.joined()
    member.leave()


def test_everybody_joins_and_nothing_is_left(make_world: MakeWorld, tmp_path: Path) -> None:
    events = tmp_path / "events"
    world = make_world("ocean:2,nowcast:1", "--events", str(events))
    members = [Member(world, "ocean", 0, 2), Member(world, "ocean", 1, 2), Member(world, "nowcast", 0, 1)]
    joined = [member.joined() for member in members]
    assert [each.peer for each in joined] == [0, 1, 2]
    assert {each.size for each in joined} == {3}
    assert {each.node for each in joined} == {0}
    assert joined[0].directory.stat().st_mode & 0o777 == 0o700
    for member in members:
        member.leave()
    world.finish(world.processes[0]).check()  # the hub ends with the universe
    names = [json.loads(line)["event"] for line in events.read_text().splitlines()]
    assert names == ["joined"] * 3 + ["complete"] + ["left"] * 3 + ["over"]


def test_the_deadline_names_what_is_missing(make_world: MakeWorld) -> None:
    world = make_world("ocean:2,nowcast:1,follower:1?")
    ocean = Member(world, "ocean", 0, 2, "--timeout", 5)
    assert ocean.hear() == (
        "error COUPLET_ERROR_TIMEOUT joining took longer than 5.0 s: "
        "waiting for rank 1 of 'ocean' and program 'nowcast' (0 of 1 rank)"
    )
    assert ocean.process.wait(WATCHDOG_S) == 1


def test_mistakes_are_told_and_the_others_go_on(make_world: MakeWorld) -> None:
    world = make_world("ocean:2,nowcast:1")
    ocean = Member(world, "ocean", 1, 2)
    unknown = Member(world, "oecan", 0, 1).hear()
    assert unknown == (
        "error COUPLET_ERROR_NOT_FOUND the universe has no program 'oecan'; it has 'ocean' and 'nowcast'"
    )
    size = Member(world, "nowcast", 0, 3).hear()
    assert size.startswith(
        "error COUPLET_ERROR_MISMATCH program 'nowcast' has 1 rank, as the hub was told, but its rank 0"
    )
    others = [Member(world, "ocean", 0, 2), Member(world, "nowcast", 0, 1)]
    for member in (ocean, *others):
        member.joined()
    again = Member(world, "ocean", 0, 2).hear()
    assert again.startswith("error COUPLET_ERROR_EXISTS rank 0 of program 'ocean' is in the universe already, on host")
    for member in (ocean, *others):
        member.leave()


def test_a_wrong_secret_is_refused(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("ocean:1")
    wrong = tmp_path / "wrong"
    wrong.touch(mode=0o600)
    wrong.write_text("00" * 32)
    answer = Member(world, "ocean", 0, 1, COUPLET_SECRET_FILE=str(wrong)).hear()
    assert answer.startswith("error COUPLET_ERROR_AUTHENTICATION"), answer
    assert "secret" in answer and world.environment["COUPLET_HUB"] in answer
    join_and_leave(world)


def test_a_member_makes_no_secret_where_a_name_is_wrong(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("ocean:1")
    mistyped = tmp_path / "sceret"
    answer = Member(world, "ocean", 0, 1, COUPLET_SECRET_FILE=str(mistyped)).hear()
    assert answer.startswith(f"error COUPLET_ERROR_CONFIG the secret file {mistyped} does not exist"), answer
    assert not mistyped.exists()
    join_and_leave(world)


def test_a_secret_that_others_can_read_is_refused(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("ocean:1")
    loose = tmp_path / "loose"
    loose.write_text("00" * 32)
    loose.chmod(0o644)
    answer = Member(world, "ocean", 0, 1, COUPLET_SECRET_FILE=str(loose)).hear()
    assert answer.startswith("error COUPLET_ERROR_AUTHENTICATION") and str(loose) in answer, answer


GARBAGE = {
    "http": b"GET / HTTP/1.1\r\n\r\n",
    "zeros": bytes(4096),
    "magic and no more": b"\xc7CPL" + b"\xff" * 600,
    "random": random.Random(1).randbytes(65536),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_on_the_port_ends_only_itself(make_world: MakeWorld, kind: str) -> None:
    world = make_world("ocean:1,nowcast:1")
    host, port = world.environment["COUPLET_HUB"].rsplit(":", 1)
    ocean = Member(world, "ocean", 0, 1)
    with socket.create_connection((host, int(port)), timeout=WATCHDOG_S) as connection:
        try:
            connection.sendall(GARBAGE[kind])
            while connection.recv(4096):
                pass
        except ConnectionError:
            pass
    nowcast = Member(world, "nowcast", 0, 1)
    for member in (ocean, nowcast):
        member.joined()
    for member in (ocean, nowcast):
        member.leave()


def test_silent_connections_do_not_keep_members_out(make_world: MakeWorld) -> None:
    world = make_world("ocean:1")
    host, port = world.environment["COUPLET_HUB"].rsplit(":", 1)
    silent = [socket.create_connection((host, int(port)), timeout=WATCHDOG_S) for _ in range(100)]
    join_and_leave(world)
    assert silent[0].recv(1) == b"", "a connection that proves nothing is closed"
    for connection in silent:
        connection.close()


def test_nobody_at_the_hub_address(make_world: MakeWorld) -> None:
    world = make_world("ocean:1")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # it does not listen, and nobody else does so at its port
        port = nobody.getsockname()[1]
        answer = Member(world, "ocean", 0, 1, "--timeout", 0.5, COUPLET_HUB=f"127.0.0.1:{port}").hear()
    assert answer.startswith(f"error COUPLET_ERROR_HUB_LOST no hub at 127.0.0.1:{port}"), answer


def test_who_comes_before_the_hub_does_not_connect_to_itself(make_world: MakeWorld) -> None:
    """The system chooses the port of a connection among 32, and one of these is the hub's."""
    spaces = make_namespaces()
    try:
        spaces.run("left", "sh", "-c", "echo 40000 40063 > /proc/sys/net/ipv4/ip_local_port_range")
        prefix, port = spaces.prefix("left"), 40032
        world = make_world("")
        names = ("ocean", "nowcast", "ice")
        members = [Member(world, name, 0, 1, launcher=prefix, COUPLET_HUB=f"127.0.0.1:{port}") for name in names]
        time.sleep(3)  # each has called the hub some fifty times
        world.start_hub(",".join(f"{name}:1" for name in names), port=port, prefix=prefix)
        for member in members:
            member.joined()
        for member in members:
            member.leave()
        assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0
    finally:
        spaces.close()


def test_a_hub_of_another_universe_is_not_joined(make_world: MakeWorld) -> None:
    """An address may be that of another universe's hub by now. Such a hub was joined without an error."""
    world = make_world("ocean:1")
    hub = world.environment["COUPLET_HUB"]
    run = world.run
    answer = Member(world, "ocean", 0, 1, COUPLET_RUN="00000000000000ff").hear()
    assert answer.startswith(f"error COUPLET_ERROR_MISMATCH the hub at {hub} serves another run"), answer
    assert "00000000000000ff" in answer and run in answer, answer
    answer = Member(world, "ocean", 0, 1, COUPLET_RUN="mine").hear()
    assert answer.startswith("error COUPLET_ERROR_CONFIG COUPLET_RUN is 'mine'"), answer
    answer = Member(world, "ocean", 0, 1, COUPLET_RUN="abc").hear()
    assert answer.startswith("error COUPLET_ERROR_CONFIG COUPLET_RUN is 'abc'; it must be the 16"), answer
    ocean = Member(world, "ocean", 0, 1, COUPLET_RUN=run)
    ocean.joined()
    ocean.leave()


def test_a_late_program_is_let_in(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,follower:2?")
    ocean = Member(world, "ocean", 0, 1)
    assert ocean.joined().size == 3
    followers = [Member(world, "follower", rank, 2) for rank in range(2)]
    assert [each.joined().peer for each in followers] == [1, 2]
    assert ocean.ask("alive 2") == "alive ok"
    for member in [ocean, *followers]:
        member.leave()


def test_the_first_rank_says_the_size(make_world: MakeWorld) -> None:
    world = make_world("ocean,nowcast:1")
    members = [Member(world, "nowcast", 0, 1), Member(world, "ocean", 1, 3), Member(world, "ocean", 0, 3)]
    members.append(Member(world, "ocean", 2, 3))
    assert [each.joined().peer for each in members] == [3, 1, 0, 2]
    for member in members:
        member.leave()


def test_named_nodes_on_one_host_are_apart(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean = Member(world, "ocean", 0, 1, COUPLET_NODE="left")
    nowcast = Member(world, "nowcast", 0, 1, COUPLET_NODE="right")
    here, there = ocean.joined(), nowcast.joined()
    assert here.node != there.node
    assert here.directory.name.endswith("-left") and there.directory.name.endswith("-right")
    nowcast.kill()
    assert ocean.ask("lost").startswith("lost 1 program 'nowcast' rank 0 (universe rank 1) on host right is lost")
    ocean.leave()


def test_a_relay_joins_its_node(make_world: MakeWorld) -> None:
    world = make_world("ocean:1")
    ocean = Member(world, "ocean", 0, 1)
    ocean.joined()
    assert ocean.ask("relay_of 0").startswith("COUPLET_ERROR_TIMEOUT")
    relay = Member(world, "--relay")
    assert relay.joined().peer == 1 << 31
    assert ocean.ask("relay_of 0 60") == f"relay {1 << 31}"
    assert ocean.ask("relay_of 9 60").startswith("COUPLET_ERROR_NOT_FOUND")
    second = Member(world, "--relay").hear()
    assert second.startswith("error COUPLET_ERROR_EXISTS node ")
    relay.leave()
    ocean.leave()


def test_a_look_for_a_relay_without_time_does_not_wait_for_the_hub(make_world: MakeWorld) -> None:
    """A reader that polls goes over to a newer incarnation of a series while the hub is stopped: each look took 5 s."""
    world = make_world("ocean:1")
    ocean = Member(world, "ocean", 0, 1)
    ocean.joined()
    relay = Member(world, "--relay")
    relay.joined()
    world.processes[0].send_signal(signal.SIGSTOP)
    try:
        assert ocean.ask("relay_of 0 0 100").startswith("COUPLET_ERROR_TIMEOUT")
    finally:
        world.processes[0].send_signal(signal.SIGCONT)
    assert ocean.ask("relay_of 0 60") == f"relay {1 << 31}"
    relay.leave()
    ocean.leave()


def test_who_is_started_again_while_the_hub_has_much_to_hear_gets_its_place(make_world: MakeWorld) -> None:
    """The hub had not yet heard that the process of before has ended: EXISTS."""
    world = make_world("ocean:1,nowcast:1")
    members = [Member(world, name, 0, 1) for name in ("ocean", "nowcast")]
    for member in members:
        member.joined()
    world.processes[0].send_signal(signal.SIGSTOP)
    try:
        assert members[0].ask("babble 4000") == "babbled"
        members[0].kill()
        again = Member(world, "ocean", 0, 1)
    finally:
        world.processes[0].send_signal(signal.SIGCONT)
    assert again.joined().incarnation == 1
    for member in (again, members[1]):
        member.leave()


def test_a_place_whose_process_talks_all_the_time_is_refused_by_name(make_world: MakeWorld) -> None:
    world = make_world("ocean:1")
    ocean = Member(world, "ocean", 0, 1)
    ocean.joined()
    second = Member(world, "ocean", 0, 1)
    while second.process.poll() is None:
        assert ocean.ask("babble 300") == "babbled"
        time.sleep(0.02)  # the hub can answer all of it
    assert second.hear().startswith("error COUPLET_ERROR_EXISTS rank 0 of program 'ocean' is in the universe already")
    ocean.leave()


def test_the_end_of_a_process_that_read_nothing_is_heard(make_world: MakeWorld) -> None:
    """The hub read nothing further of it, not even its end: its place was taken, and the hub stayed, for ever."""
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Member(world, name, 0, 1) for name in ("ocean", "nowcast"))
    for member in (ocean, nowcast):
        member.joined()
    for _ in range(3):  # so much that more than 1 MiB of answers waits for it at the hub
        ocean.say("babble 400000")
    time.sleep(4)  # it sends
    ocean.process.send_signal(signal.SIGSTOP)
    time.sleep(1)  # the hub answers
    ocean.kill()
    again = Member(world, "ocean", 0, 1)
    assert again.joined().incarnation == 1
    for member in (again, nowcast):
        member.leave()


def test_settings_reach_every_member(make_world: MakeWorld, tmp_path: Path) -> None:
    config = tmp_path / "settings.json"
    config.write_text(json.dumps({"series": {"eta": {"slots": 64}}, "encrypt": True}))
    world = make_world("ocean:1,nowcast:1", "--config", str(config))
    ocean = Member(world, "ocean", 0, 1)
    nowcast = Member(world, "nowcast", 0, 1, COUPLET_SERIES_ETA_SLOTS="8")
    ocean.joined()
    nowcast.joined()
    assert ocean.ask("setting series.eta.slots") == "setting 64"
    assert nowcast.ask("setting series.eta.slots") == "setting 8"
    assert ocean.ask("setting encrypt") == "setting true"
    for member in (ocean, nowcast):
        member.leave()


def test_series_are_found_by_name(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = Member(world, "ocean", 0, 1), Member(world, "nowcast", 0, 1)
    ocean.joined()
    nowcast.joined()
    assert nowcast.ask("find eta 0") == "COUPLET_NOT_YET COUPLET_NOT_YET"
    assert nowcast.ask("find eta 0.2") == "COUPLET_NOT_YET COUPLET_NOT_YET"
    nowcast.say("find eta 100")
    assert ocean.ask("announce eta") == "announced 0"
    assert nowcast.hear() == "found eta of ocean"
    assert nowcast.ask("announce eta").startswith(
        "COUPLET_ERROR_EXISTS series 'eta' is being written by program 'ocean'"
    )
    assert nowcast.ask("opened eta") == "opened ok"
    assert ocean.ask("written eta") == "written ok"
    assert nowcast.ask("news eta 0") == "news ok"
    assert nowcast.ask("find eta 0") == "found eta of ocean closed"
    assert ocean.ask("announce eta") == "announced 1"
    assert nowcast.ask("news eta 1") == "news ok"
    for member in (ocean, nowcast):
        member.leave()


LAUNCHERS = {
    "Open MPI": ("mpirun.openmpi", ["-n", "2", "--oversubscribe", "--allow-run-as-root"]),
    "MPICH": ("mpiexec.mpich", ["-n", "2"]),
}


@pytest.mark.parametrize("name", LAUNCHERS)
def test_rank_and_size_come_from_the_launcher(make_world: MakeWorld, name: str) -> None:
    program, options = LAUNCHERS[name]
    path = installed(program)
    world = make_world("ocean:2,nowcast:1")
    nowcast = Member(world, "nowcast", 0, 1)
    launched = Member(world, "ocean", launcher=[path, *options])
    assert sorted(launched.joined().peer for _ in range(2)) == [0, 1]
    nowcast.joined()
    launched.process.terminate()  # its launcher ends both
    lost = {nowcast.ask("lost"), nowcast.ask("lost")}
    assert {line.split()[1] for line in lost} == {"0", "1"}
    nowcast.leave()
    launched.process.wait(WATCHDOG_S)


def test_a_hub_that_does_not_outlive_its_starter(make_world: MakeWorld, tmp_path: Path) -> None:
    """--until-input-ends: it ends at once if no process is connected, else with the last one. No other process
    comes.
    """
    world = make_world("")
    hub = BUILD / "libexec" / "couplet" / "couplet-hub"
    command = [str(hub), "--programs", "ocean:1,nowcast:1", "--until-input-ends"]
    alone = world.start(command, standard_input=True)
    assert read_line(alone).startswith("COUPLET_HUB=")
    world.finish(alone).check()  # this closes its input

    events = tmp_path / "events"
    orphan = world.start([*command, "--events", str(events)], standard_input=True)
    assert orphan.stdin is not None
    world.environment["COUPLET_HUB"] = read_line(orphan).strip().removeprefix("COUPLET_HUB=")
    ocean = Member(world, "ocean", 0, 1)
    deadline = time.monotonic() + WATCHDOG_S
    while '"joined"' not in events.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    orphan.stdin.close()
    orphan.stdin = None
    assert "COUPLET_ERROR_NOT_FOUND" in Member(world, "oecan", 0, 1).hear()  # it still answers
    ocean.process.kill()
    world.finish(orphan).check()
