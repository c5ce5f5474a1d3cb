"""The hub is killed and started again: members find it, and it knows again what they know."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest
from best_of import best_of
from launching import WATCHDOG_S, World, read_line
from members import Member
from quartet import Guest

MakeWorld = Callable[..., World]
TOLD_WITHIN_S = 20.0  # a hub that calls where its members were tells a death within 4 s, else it takes 31 s
PATIENT = {"COUPLET_HUB_RETURN_PATIENCE_S": "100"}


def start(world: World, **sizes: int) -> list[Member]:
    members = [Member(world, name, rank, size, **PATIENT) for name, size in sizes.items() for rank in range(size)]
    for member in members:
        member.joined()
    return members


def start_apart(world: World) -> tuple[Member, Member]:
    """Starts ocean and nowcast, each alone on its node."""
    ocean = Member(world, "ocean", 0, 1, COUPLET_NODE="left", **PATIENT)
    nowcast = Member(world, "nowcast", 0, 1, COUPLET_NODE="right", **PATIENT)
    for member in (ocean, nowcast):
        member.joined()
    return ocean, nowcast


def ask_until(member: Member, question: str, answer: str) -> None:
    """Asks until the news has arrived. A call to the hub lets the member receive what the hub has sent."""
    deadline = time.monotonic() + WATCHDOG_S
    while not (heard := member.ask(question)).startswith(answer):
        assert time.monotonic() < deadline, f"{question}: {heard}, not {answer}"
        member.ask("find nothing 0")


def end_together(world: World, again: Member, nowcast: Member) -> None:
    """Lets both leave, once nowcast knows the ocean that was started again. The hub ends with them."""
    ask_until(nowcast, "alive 0", "alive ok")
    for member in (again, nowcast):
        member.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0


def test_a_series_that_is_opened_after_the_hub_was_killed_works(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1,follower:1?")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    assert ocean.ask("announce eta") == "announced 0"
    assert nowcast.ask("opened eta") == "opened ok"
    for _ in range(2):  # twice in a row
        world.kill_hub()
        world.resume_hub()
        nowcast.say("find eta 100")  # it waits until a member that knows the series returns to the hub
        ask_until(ocean, "find nothing 0", "COUPLET_NOT_YET COUPLET_NOT_YET")
        assert nowcast.hear() == "found eta of ocean"
    follower = Member(world, "follower", 0, 1)
    assert follower.joined().peer == 2
    assert follower.ask("find eta 100") == "found eta of ocean"
    assert follower.ask("opened eta") == "opened ok"
    assert ocean.ask("written eta") == "written ok"
    assert follower.ask("find eta 100") == "found eta of ocean closed"
    for member in (ocean, nowcast, follower):
        member.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0, "it ends with the universe"


def test_who_makes_no_call_while_the_hub_is_away_finds_it_afterwards(make_world: MakeWorld) -> None:
    """It had noticed the loss before, and its patience had passed without a single attempt to dial."""
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Member(world, name, 0, 1) for name in ("ocean", "nowcast"))
    for member in (ocean, nowcast):
        member.joined()
    world.kill_hub()
    assert nowcast.ask("hub").startswith("hub COUPLET_ERROR_HUB_LOST")
    world.resume_hub()
    time.sleep(6)  # longer than the patience: it computes, and makes no call
    assert nowcast.ask("find nothing 0").startswith("COUPLET_NOT_YET ")  # ocean has not come back, which it may say
    for member in (ocean, nowcast):
        member.leave()


def test_requests_that_wait_are_asked_again(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    nowcast.say("find eta 100")
    time.sleep(0.1)  # it has mostly been asked by then
    world.kill_hub()
    world.resume_hub()
    assert ocean.ask("announce eta").startswith("announced ")
    assert nowcast.hear() == "found eta of ocean"
    for member in (ocean, nowcast):
        member.leave()


def test_a_rank_that_died_while_there_was_no_hub_is_known(make_world: MakeWorld) -> None:
    world = make_world("ocean:2,nowcast:1")
    first, second, nowcast = start(world, ocean=2, nowcast=1)
    world.kill_hub()
    second.kill()
    world.resume_hub()
    ask_until(nowcast, "find nothing 0", "COUPLET_NOT_YET")
    answer = nowcast.ask("lost")
    assert answer.startswith("lost 1 program 'ocean' rank 1") and "ended without leaving" in answer, answer
    again = Member(world, "ocean", 1, 2)
    assert again.joined().incarnation > 0
    for member in (first, again, nowcast):
        ask_until(member, "alive 1", "alive ok")
    for member in (first, again, nowcast):
        member.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0


def test_a_program_alone_on_its_node_dies_with_the_hub_and_is_started_again(make_world: MakeWorld) -> None:
    """Fault: it was never admitted again, since no process that the hub asked could see its predecessor's lock."""
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start_apart(world)
    world.kill_hub()
    ocean.kill()
    world.resume_hub()
    again = Member(world, "ocean", 0, 1, COUPLET_NODE="left", **PATIENT)  # before the other one has come back
    ask_until(nowcast, "find nothing 0", "COUPLET_NOT_YET")
    assert again.joined().incarnation == 1
    end_together(world, again, nowcast)


WAITER = """
import couplet, numpy as np
universe = couplet.join("nowcast")
ocean = universe.find_rank("ocean")
universe.group.Recv(np.zeros(1), ocean, 7)
print("waits", flush=True)
try:
    universe.group.Recv(np.zeros(1), ocean, 7, timeout=60)
except couplet.Error as error:
    print(type(error).__name__, error, flush=True)
"""
OCEAN = """
import couplet, numpy as np, time
universe = couplet.join("ocean")
universe.group.Send(np.zeros(1), universe.find_rank("nowcast"), 7)
time.sleep(1000)
"""


def test_who_dies_alone_on_its_node_with_the_hub_is_told(make_world: MakeWorld) -> None:
    """The hub is back before anybody else could find out."""
    told_after_s = best_of(lambda: seconds_until_it_is_told(make_world), lambda seconds: seconds < TOLD_WITHIN_S)
    assert told_after_s < TOLD_WITHIN_S


def seconds_until_it_is_told(make_world: MakeWorld) -> float:
    world = make_world("ocean:1,nowcast:1")
    nowcast = world.start([sys.executable, "-c", WAITER], COUPLET_NODE="elsewhere")
    ocean = world.start([sys.executable, "-c", OCEAN])
    assert read_line(nowcast) == "waits\n"
    ocean.kill()
    world.kill_hub()
    world.resume_hub()
    resumed = time.monotonic()
    told = read_line(nowcast)
    told_after_s = time.monotonic() - resumed
    assert told.startswith("PeerLostError") and "program 'ocean' rank 0" in told, told
    world.finish(nowcast).check()
    world.kill()  # the hub would wait for another ocean
    world.clean()
    return told_after_s


@pytest.mark.parametrize("call", ["group.recv(1)", "create_group('pair', [0, 1]).barrier()"], ids=["receive", "group"])
def test_who_waits_for_a_far_rank_that_died_while_the_hub_was_away_is_told(make_world: MakeWorld, call: str) -> None:
    """Fault: it had no connection to that rank and did not dial it, since the hub was back, which waited for it."""
    world = make_world("one:1,two:1")
    one, two = [Guest(world, name, 0, 1, COUPLET_NODE=f"of-{name}") for name in ("one", "two")]
    one.ready()
    two.ready()
    one.say(f"universe.{call}")
    time.sleep(0.5)  # it waits
    world.kill_hub()
    two.process.kill()
    two.process.wait()
    world.resume_hub()
    resumed = time.monotonic()
    told = one.hear()
    assert told.startswith("error COUPLET_ERROR_PEER_LOST ") and "'two'" in told, told
    assert time.monotonic() - resumed < 20
    one.leave()
    world.kill()  # the hub would wait for another process of two
    world.clean()


OCEAN_WITH_A_REQUIRED_READER = """
import couplet, numpy as np
universe = couplet.join("ocean")
series = universe.create_series("eta", (4,), slots=2, required_readers="nowcast")
for step in range(6):
    if step == 2:
        print("full", flush=True)
    series.put(np.full(4, float(step)), step)
series.close()
universe.leave()
"""
NOWCAST_THAT_OPENS_LATE = """
import couplet, sys
universe = couplet.join("nowcast")
print("joined", flush=True)
sys.stdin.readline()
for batch in universe.open_series("eta").batches(up_to=1):
    for step, array in batch:
        print(step, array, flush=True)
universe.leave()
"""


def test_a_required_reader_opens_after_the_hub_was_away(make_world: MakeWorld) -> None:
    """Fault: the writer gave the reader up 2 s after the hub had gone, although calls wait for a hub for 4 s."""
    world = make_world("ocean:1,nowcast:1")
    nowcast = world.start([sys.executable, "-c", NOWCAST_THAT_OPENS_LATE], standard_input=True, **PATIENT)
    ocean = world.start([sys.executable, "-c", OCEAN_WITH_A_REQUIRED_READER], **PATIENT)
    assert read_line(nowcast) == "joined\n" and read_line(ocean) == "full\n"
    world.kill_hub()
    time.sleep(2.6)  # the fault is a patience of 2 s
    world.resume_hub()
    assert nowcast.stdin is not None
    nowcast.stdin.write("open\n")
    nowcast.stdin.flush()
    world.finish(ocean).check()
    output = world.finish(nowcast).check().output
    assert [int(line.split()[0]) for line in output.splitlines()] == list(range(6)), output
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0


OCEAN_THAT_ONLY_PUTS = """
import couplet, numpy as np, time
universe = couplet.join("ocean")
series = universe.create_series("eta", (4,), slots=4)
print("puts", flush=True)
for step in range(1_000_000):
    series.put(np.zeros(4), step)
    time.sleep(0.02)
"""


def test_who_only_puts_comes_back_to_the_hub(make_world: MakeWorld) -> None:
    """Fault: on a node without a relay, a writer that never waited never looked for the hub again."""
    world = make_world("ocean:1,nowcast:1")
    nowcast = Member(world, "nowcast", 0, 1, **PATIENT)
    ocean = world.start([sys.executable, "-c", OCEAN_THAT_ONLY_PUTS], **PATIENT)
    nowcast.joined()
    assert read_line(ocean) == "puts\n"
    world.kill_hub()
    world.resume_hub()
    assert nowcast.ask("find eta 100") == "found eta of ocean", "only the ocean can tell the hub of it"
    world.kill()
    world.clean()


def test_who_left_while_there_was_no_hub_is_not_waited_for(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    world.kill_hub()
    ocean.leave()
    world.resume_hub()
    ask_until(nowcast, "find nothing 0", "COUPLET_NOT_YET")
    ask_until(nowcast, "alive 0", "alive COUPLET_ERROR_PEER_LOST program 'ocean' rank 0")
    nowcast.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0


def test_who_left_alone_on_its_node_while_there_was_no_hub_is_not_waited_for(make_world: MakeWorld) -> None:
    """Fault: the mark of its leaving went with the directory of its node, and its port was known to members only."""
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start_apart(world)
    world.kill_hub()
    ocean.leave()
    world.resume_hub()
    nowcast.say("find eta 100")  # so that it hears the hub
    again = Member(world, "ocean", 0, 1, COUPLET_NODE="left", **PATIENT)
    assert again.joined().incarnation == 1
    assert again.ask("announce eta").startswith("announced ")
    assert nowcast.hear() == "found eta of ocean"
    end_together(world, again, nowcast)


def test_a_hub_to_which_nobody_comes_back_finds_out_that_all_have_left(make_world: MakeWorld) -> None:
    """Chaos seed 180056: both computed while the hub was started again, and left while it was cut off. It waited for
    600 s. Its node and theirs are different hosts, as far as their directories know.
    """
    world = make_world("ocean:1,nowcast:1")
    apart = {"COUPLET_RUN_DIR": str(make_world("").run_directory), **PATIENT}
    ocean, nowcast = (Guest(world, name, 0, 1, **apart) for name in ("ocean", "nowcast"))
    ocean.ready()
    nowcast.ready()
    roster = next(world.run_directory.glob("*/roster"))
    deadline = time.monotonic() + WATCHDOG_S
    while "reached " not in roster.read_text():
        assert time.monotonic() < deadline, roster.read_text()
        time.sleep(0.02)
    world.kill_hub()
    ocean.leave()
    nowcast.leave()
    world.resume_hub()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0


def test_who_makes_no_call_keeps_its_place_if_a_process_joins_on_its_node(make_world: MakeWorld) -> None:
    """Fault: the hub gave the node of the newcomer another number, and refused its earlier processes for ever."""
    world = make_world("ocean:1,nowcast:1,follower:1?")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    world.kill_hub()
    world.resume_hub()
    follower = Member(world, "follower", 0, 1, **PATIENT)
    time.sleep(7)  # the others compute; after 5 s, the hub gives numbers to nodes
    ask_until(ocean, "find nothing 0", "COUPLET_NOT_YET")
    assert follower.joined().peer == 2
    ask_until(nowcast, "find nothing 0", "COUPLET_NOT_YET")
    for member in (ocean, nowcast, follower):
        member.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0


def test_two_hubs_in_a_row_that_hear_of_nobody_give_no_number_twice(make_world: MakeWorld) -> None:
    """Fault: the second hub gave the number of a node to another one, and refused the process on the first for ever."""
    world = make_world("ocean:1,first:1?,second:1?")
    ocean = Member(world, "ocean", 0, 1, COUPLET_NODE="a", **PATIENT)
    ocean.joined()
    world.kill_hub()
    world.resume_hub()
    ask_until(ocean, "find nothing 0", "COUPLET_NOT_YET")
    first = Member(world, "first", 0, 1, COUPLET_NODE="b", **PATIENT)
    number = first.joined().node
    world.kill_hub()
    world.resume_hub()
    second = Member(world, "second", 0, 1, COUPLET_NODE="c", **PATIENT)
    time.sleep(7)  # the others compute; after 5 s, the hub gives numbers to nodes
    ask_until(ocean, "find nothing 0", "COUPLET_NOT_YET")
    assert second.joined().node != number
    ask_until(first, "find nothing 0", "COUPLET_NOT_YET")
    for member in (ocean, first, second):
        member.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0


@pytest.mark.parametrize("joined", range(3))
def test_the_hub_is_killed_while_programs_join(make_world: MakeWorld, joined: int) -> None:
    world = make_world("ocean:2,nowcast:1")
    words = [("ocean", 0, 2), ("ocean", 1, 2), ("nowcast", 0, 1)]
    members = [Member(world, *each, **PATIENT) for each in words[:joined]]
    time.sleep(0.2)  # joining mostly takes so long, and the time of the kill is what matters
    world.kill_hub()
    world.resume_hub()
    members += [Member(world, *each, **PATIENT) for each in words[joined:]]
    assert sorted(member.joined().peer for member in members) == [0, 1, 2]
    for member in members:
        member.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0


def repeat(guest: Guest, line: str) -> None:
    """Repeats a line until it ends without an error: only in a call does a process hear of what has happened."""
    deadline = time.monotonic() + 20
    while not (answer := guest.ask(line)).startswith("is"):
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)


def test_ranks_that_have_not_come_back_to_the_hub_are_not_taken_for_gone(make_world: MakeWorld) -> None:
    """Fault: a process that was started again with the hub took the node of a rank that it had not heard of for its
    own, found no page of it there, and said until its end that it had left.
    """
    world = make_world("a:1,b:1,c:1")
    first = Guest(world, "a", 0, 1, COUPLET_NODE="na")  # its node has the number 0
    time.sleep(0.5)
    others = [Guest(world, name, 0, 1, COUPLET_NODE=f"n{name}") for name in ("b", "c")]
    for each in (first, *others):
        each.ready()
    first.process.kill()
    first.process.wait(WATCHDOG_S)
    world.kill_hub()
    world.resume_hub()
    first = Guest(world, "a", 0, 1, COUPLET_NODE="na").ready()
    for rank in (1, 2):
        first.refused(f"universe.group.Recv(np.zeros(1), {rank}, tag=5, timeout=6)", "TIMEOUT")
    for rank, each in enumerate(others, 1):
        first.say(f"universe.group.Recv(np.zeros(1), {rank}, tag=5, timeout=20)")
        repeat(each, "universe.group.Send(np.ones(1), 0, tag=5)")
        assert first.hear().startswith("is")
    first.leave(*others)


def test_a_required_rank_that_had_closed_before_the_hub_was_killed_counts_as_opened(make_world: MakeWorld) -> None:
    """Fault: only open readers told the hub that came back of themselves. It waited for this one for ever, and held up
    the writer once the other rank of the program had opened.
    """
    world = make_world("writer:1,reader:2")
    writer = Guest(world, "writer", 0, 1, COUPLET_NODE="n0")
    readers = [Guest(world, "reader", rank, 2, COUPLET_NODE=f"n{rank + 1}") for rank in range(2)]
    for each in (writer, *readers):
        each.ready()
    writer.get("s = universe.create_series('eta', (4,), slots=4, required_readers='reader', wait_timeout=20)")
    for step in range(2):
        writer.get(f"s.put(np.zeros(4), {step})")
    readers[0].get("b = universe.open_series('eta', local=True)")
    readers[0].get("b.close()")
    world.kill_hub()
    world.resume_hub()
    for each in (writer, *readers):
        each.refused("universe.open_series('nothing', timeout=0.5)", "TIMEOUT")  # it has heard the hub by then
    readers[1].get("b = universe.open_series('eta', local=True)")
    for step in range(2, 10):
        writer.get(f"s.put(np.zeros(4), {step})")
        readers[1].get("b.read(up_to=4, timeout=5)")
    writer.leave(*readers)


def test_a_required_reader_closes_before_the_writer_is_back_at_the_hub(make_world: MakeWorld) -> None:
    """Fault: the writer waited for ever for a reader to open that had opened and closed the series."""
    world = make_world("writer:1,reader:1")
    writer, reader = (Guest(world, name, 0, 1) for name in ("writer", "reader"))
    for each in (writer, reader):
        each.ready()
    writer.get("s = universe.create_series('eta', (4,), slots=2, required_readers='reader', wait_timeout=20)")
    reader.get("b = universe.open_series('eta')")
    world.kill_hub()
    world.resume_hub()
    repeat(reader, "b.close()")
    for step in range(5):
        writer.get(f"s.put(np.zeros(4), {step})")
    writer.leave(reader)


@pytest.mark.parametrize("call", ["s.put(np.zeros(2), {step})", "universe.progress()"])
def test_who_calls_seldom_is_soon_back_at_the_hub(make_world: MakeWorld, call: str) -> None:
    """Fault: each call of a writer made one step of its way back. After four puts, the series could be opened.

    One call is enough for that, except on a busy machine.
    """
    world = make_world("writer:1,reader:1")
    writer, reader = (Guest(world, name, 0, 1, COUPLET_NODE=f"n{name}") for name in ("writer", "reader"))
    for each in (writer, reader):
        each.ready()
    writer.get("s = universe.create_series('eta', (2,), slots=6)")
    writer.get("s.put(np.zeros(2), 0)")
    world.kill_hub()
    world.resume_hub()
    reader.say("b = universe.open_series('eta', timeout=20)")
    for step in (1, 2):
        time.sleep(3)  # the writer computes
        writer.get(call.format(step=step))
    assert reader.hear().startswith("is")
    writer.leave(reader)


def test_a_required_reader_opens_what_was_closed_before_the_hub_was_killed(make_world: MakeWorld) -> None:
    """Fault: the hub that came back did not know the series, and its steps were lost."""
    world = make_world("writer:1,reader:1")
    writer, reader = (Guest(world, name, 0, 1) for name in ("writer", "reader"))
    for each in (writer, reader):
        each.ready()
    writer.get("s = universe.create_series('eta', (4,), slots=4, required_readers='reader')")
    for step in range(3):
        writer.get(f"s.put(np.zeros(4), {step})")
    writer.get("s.close()")
    world.kill_hub()
    world.resume_hub()
    reader.say("b = universe.open_series('eta', timeout=20)")
    writer.refused("universe.open_series('nothing', timeout=0.5)", "TIMEOUT")  # it is back then
    assert reader.hear().startswith("is")
    assert reader.get("b.read(at_least=3, timeout=5).steps.tolist()") == "[0, 1, 2]"
    reader.get("b.close()")
    writer.leave(reader)


def test_a_coupler_that_comes_back_with_the_hub_is_found_by_submit(make_world: MakeWorld) -> None:
    """Fault: a requester that only submitted was told for ever that no coupler was left, since it heard of nothing."""
    world = make_world("coupler:1,worker:1,requester:1")
    coupler, worker, requester = (Guest(world, name, 0, 1) for name in ("coupler", "worker", "requester"))
    for each in (coupler, worker, requester):
        each.ready()
    create = "c = universe.coupler('t', requesters='requester', workers='worker')"
    coupler.get(create)
    coupler.say("c.run(timeout=100)")
    worker.get("w = universe.worker('t')")
    requester.get("r = universe.requester('t')")
    coupler.process.kill()
    coupler.process.wait(WATCHDOG_S)
    world.kill_hub()
    world.resume_hub()
    requester.refused("r.submit(-1, [1], timeout=1)", "PEER_LOST")
    coupler = Guest(world, "coupler", 0, 1).ready()
    coupler.get(create)
    coupler.say("c.run(timeout=100)")
    repeat(requester, "r.submit(-1, [1], timeout=5)")
    requester.get("r.close()")
    repeat(worker, "w.next(timeout=20).complete()")
    assert coupler.hear() == "is True"
    coupler.leave(worker, requester)


def test_a_requester_closes_for_a_coupler_whose_return_it_has_not_heard_of(make_world: MakeWorld) -> None:
    """Fault: the coupler that was started again waited for the requester's end for ever."""
    world = make_world("coupler:1,worker:1,requester:1")
    coupler, worker, requester = (Guest(world, name, 0, 1) for name in ("coupler", "worker", "requester"))
    for each in (coupler, worker, requester):
        each.ready()
    create = "c = universe.coupler('t', requesters='requester', workers='worker')"
    coupler.get(create)
    coupler.say("c.run(timeout=100)")
    worker.get("w = universe.worker('t')")
    requester.get("r = universe.requester('t')")
    coupler.process.kill()
    coupler.process.wait(WATCHDOG_S)
    time.sleep(1)
    coupler = Guest(world, "coupler", 0, 1).ready()
    coupler.get(create)
    coupler.say("c.run(timeout=20)")
    time.sleep(0.5)
    requester.get("r.close()")
    assert coupler.hear() == "is True"
    coupler.leave(worker, requester)
