"""One thread waits in a call on a handle; another thread closes the handle. The wait ends first, and says why.

Fault: the handle was freed while the other call waited in it, and the process died.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from launching import BUILD, World

MakeWorld = Callable[..., World]

# Prints how the waiting call has ended, and then how the close did. The thread waits if it sleeps again and again while
# it has nothing else to do. Should it be late nevertheless, then the handle is closed before its call, and all is
# tried once more.
TOOLS = """
import sys, threading, time
from pathlib import Path
import numpy as np
import couplet

def sleeps(thread):
    state = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    return state.rpartition(")")[2].split()[0] == "S"

def run(call):
    try:
        return f"{call()}"
    except couplet.Error as error:
        return f"{type(error).__name__}: {error}"

def close_while_it_waits(call, close):
    said = []
    waiting = threading.Thread(target=lambda: said.append(run(call)))
    waiting.start()
    seen = 0
    while seen < 20 and waiting.is_alive():
        seen += sleeps(waiting)
        time.sleep(0.001)
    closed = run(close)
    waiting.join()
    return said[0], closed
"""

SCENE = (
    TOOLS
    + """
def series(universe, number, wait):
    writer = universe.create_series(f"eta{number}", (4,), slots=2)
    reader = universe.open_series(f"eta{number}", local=True)
    return (lambda: wait(reader)), reader.close

def put(universe, number):
    writer = universe.create_series(f"eta{number}", (4,), slots=2, required_readers="waiter")
    reader = universe.open_series(f"eta{number}", local=True)
    writer.put(np.zeros(4), 1)
    writer.put(np.zeros(4), 2)
    return (lambda: writer.put(np.zeros(4), 3)), writer.close

def group(universe, number):
    group = universe.create_group(f"g{number}", [universe.rank])
    return (lambda: couplet.wait_any([group.Arrival()])), group.free

def watched(universe, number):
    request = universe.group.Irecv(np.zeros(1), universe.rank, number)
    return (lambda: couplet.wait_any([request])), request.test

def completed(universe, number):
    request = universe.group.Irecv(np.zeros(1), universe.rank, number)
    def test_and_send():
        try:
            return request.test()
        finally:
            universe.group.Send(np.ones(1), universe.rank, number)
    return request.wait, test_and_send

def coupler(universe, number):
    coupler = universe.coupler(f"jobs{number}", requesters="waiter", workers="waiter")
    return coupler.next, coupler.close

def area(universe, number):
    area = universe.open_area("held", universe.find_rank("holder"))
    return area.read, area.close

SCENES = {
    "read": lambda universe, number: series(universe, number, lambda reader: reader.read()),
    "wait_any of a series": lambda universe, number: series(universe, number, lambda eta: couplet.wait_any([eta])),
    "put": put,
    "wait_any of a group": group,
    "wait_any of a request": watched,
    "wait of a request": completed,
    "next of tasks": coupler,
    "read of an area": area,
}

with couplet.join("waiter", multiple_threads=True) as universe:
    for number in range(20):
        said = close_while_it_waits(*SCENES[sys.argv[1]](universe, number))
        if "thread of this process" in "".join(said):
            break
    universe.group.send("end", universe.find_rank("holder"), 9)
    print(*said, sep="\\n", flush=True)
"""
)

# Both ranks have read one step together, and wait for the next one. One of them closes.
TOGETHER = (
    TOOLS
    + """
with couplet.join("waiter", multiple_threads=True) as universe:
    eta = universe.open_series("eta")
    eta.read()
    if universe.program_rank == 0:
        print(*close_while_it_waits(eta.read, eta.close), sep="\\n", flush=True)
    else:
        said = "[]"
        while "Error" not in said:
            said = run(lambda: list(eta.read(timeout=0.1)))
        print(said, flush=True)
        eta.close()
"""
)

WRITER = """
import sys
import numpy as np
import couplet
with couplet.join("holder") as universe:
    eta = universe.create_series("eta", (4,), slots=2, required_readers="waiter")
    eta.put(np.zeros(4), 1)
    sys.stdin.readline()
    eta.close()
"""

HOLDER = """
import couplet
with couplet.join("holder") as universe:
    area = universe.create_area("held", (4,), stamped=True)
    area.begin()
    universe.group.recv(universe.find_rank("waiter"), 9)
    area.end()
    area.close()
"""

WAITS = ["read", "wait_any of a series", "put", "wait_any of a group", "next of tasks", "read of an area"]


def play(make_world: MakeWorld, wait: str) -> tuple[str, str]:
    world = make_world("waiter:1,holder:1")
    _, waited = world.run_together([sys.executable, "-c", HOLDER], [sys.executable, "-c", SCENE, wait])
    ended, closed = waited.check().output.splitlines()
    return ended, closed


@pytest.mark.parametrize("wait", WAITS)
def test_closing_ends_the_wait_of_another_thread(make_world: MakeWorld, wait: str) -> None:
    ended, closed = play(make_world, wait)
    assert ended.startswith("StateError: ")
    assert "was closed by another thread of this process" in ended
    assert closed == "None"


def test_a_test_ends_the_wait_any_of_another_thread(make_world: MakeWorld) -> None:
    ended, tested = play(make_world, "wait_any of a request")
    assert "another thread of this process completes the request" in ended
    assert tested == "(False, None)"


def test_a_request_for_which_a_thread_waits_is_not_tested_by_another(make_world: MakeWorld) -> None:
    ended, tested = play(make_world, "wait of a request")
    assert tested.startswith("StateError: ")
    assert "is in a call that completes the request" in tested
    assert "Error" not in ended


def test_closing_tells_the_other_ranks_that_read_together(make_world: MakeWorld) -> None:
    world = make_world("waiter:2,holder:1")
    writer = world.start([sys.executable, "-c", WRITER], standard_input=True)
    ranks = [
        world.start([sys.executable, "-c", TOGETHER], COUPLET_RANK=str(rank), COUPLET_SIZE="2") for rank in range(2)
    ]
    ended, closed = world.finish(ranks[0]).check().output.splitlines()
    assert "was closed by another thread of this process" in ended
    assert closed == "None"
    assert "closed" in world.finish(ranks[1]).check().output
    assert writer.stdin is not None
    writer.stdin.write("end\n")
    writer.stdin.flush()
    world.finish(writer).check()


def test_calls_that_begin_while_a_handle_is_closed(make_world: MakeWorld) -> None:
    """Each call succeeds or is refused. MALLOC_PERTURB_ overwrites freed memory, so a call that used it would fail."""
    world = make_world("closer:1")
    program = str(BUILD / "tests" / "programs" / "closing_c")
    closer = world.start([program, "60"], MALLOC_PERTURB_="165")
    assert world.finish(closer).check().output == "60 closed, some calls were refused\n"
