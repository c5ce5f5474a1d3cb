"""Memory that Python gives to the library stays where it is until the library does not need it any more, and memory
that the library gives to Python stays for as long as an array of it.
"""

from __future__ import annotations

import array
import sys
import textwrap
import time
from collections.abc import Callable

import pytest
from launching import World
from quartet import Guest

import couplet

MakeWorld = Callable[..., World]


def filled_array() -> array.array[int]:
    return array.array("B", bytes(64))


@pytest.mark.parametrize("make", [lambda: bytearray(64), filled_array], ids=["bytearray", "array"])
@pytest.mark.parametrize("viewed", [False, True], ids=["itself", "its memoryview"])
def test_memory_of_a_request_stays(
    solo: couplet.Universe, make: Callable[[], bytearray | array.array[int]], viewed: bool
) -> None:
    """Fault: SIGSEGV, since a request kept the object or the view, and not the memory."""
    memory = make()
    given = memoryview(memory) if viewed else memory
    request = solo.group.Irecv(given, 0)
    if isinstance(given, memoryview):
        given.release()
    with pytest.raises(BufferError):
        memory.append(1)
    solo.group.Send(bytes(range(64)), 0)
    request.wait()
    assert bytes(memory) == bytes(range(64))
    memory.append(1)


def test_memory_of_an_exchange_stays(solo: couplet.Universe) -> None:
    sent, received = bytearray(64), bytearray(64)
    with solo.group.create_exchange("kept") as exchange:
        exchange.send(sent, 0)
        exchange.receive(received, 0)
        for memory in (sent, received):
            with pytest.raises(BufferError):
                memory.append(1)


def test_a_dropped_request_costs_later_calls_nothing(solo: couplet.Universe) -> None:
    """Fault: each call looked at all requests that Python had dropped: 16,000 calls took 20 s."""
    memory = bytearray(8)

    def seconds() -> float:
        before = time.process_time()
        for _ in range(1000):
            solo.group.Irecv(memory, 0, 7)
        return time.process_time() - before

    times = [seconds() for _ in range(8)]
    assert times[-1] < 4 * times[0] + 0.1


AREA = "area = universe.create_area('z', (1000,)); array = area.memory; array[...] = 1"
SERIES = "series = universe.create_series('eta', (1000,), slots=2)"
PUBLISHED = f"""
{SERIES}
with series.claim(0) as array:
    array[...] = 1
"""
ABANDONED = f"""
{SERIES}
claim = series.claim(0)
array = claim.__enter__()
array[...] = 1
series.abandon()
"""
FIELDS = """
series = universe.create_series("eta", fields=dict(t=("f8", (10,)), eta=("f8", (1000,))), slots=2)
with series.claim(0) as slot:
    slot["t"][...] = 1
    slot["eta"][...] = 1
array = slot.pop("eta")
"""
# What makes an array over memory of the library, and what then gives the memory back.
GIVEN_BACK = {
    "area-close": (AREA, "area.close()"),
    "area-leave": (AREA, "universe.leave()"),
    "area-dropped-and-leave": (AREA, "del area; universe.leave()"),
    "area-block": ("with universe.create_area('z', (1000,)) as area: array = area.memory; array[...] = 1", ""),
    "view-of-area": (AREA, "array = array[10:].reshape(3, -1)[:, ::2]; area.close()"),
    "exposed-area": (
        "area = universe.expose_area('z', np.ones(1000)); array = area.memory",
        "area.close(); del area; universe.leave()",
    ),
    "published-close": (PUBLISHED, "series.close()"),
    "published-leave": (PUBLISHED, "universe.leave()"),
    "abandoned-close": (ABANDONED, "series.close()"),
    "several-fields-close": (FIELDS, "series.close()"),
}
USE_AFTERWARDS = """
import gc
import sys
import numpy as np
import couplet

def mappings():
    return [line for line in open("/proc/self/maps") if "/area-" in line or "/series-" in line]

universe = couplet.join("solo")
{make}
{give_back}
assert (array == 1).all(), array
if array.flags.writeable:
    array[...] = 2
    assert (array == 2).all(), array
universe.leave()
assert (array != 0).all(), array
array = slot = claim = None
gc.collect()
assert not mappings(), mappings()
print("all is well")
"""


@pytest.mark.parametrize("case", GIVEN_BACK)
def test_an_array_keeps_the_memory_of_the_library(make_world: MakeWorld, case: str) -> None:
    """Fault: SIGSEGV, since the memory was unmapped when the area or series was closed."""
    make, give_back = (textwrap.dedent(part).strip() for part in GIVEN_BACK[case])
    world = make_world("solo:1")
    script = USE_AFTERWARDS.format(make=make, give_back=give_back)
    ended = world.finish(world.start([sys.executable, "-c", script])).check()
    assert ended.output.strip() == "all is well"


def test_an_array_of_a_mapped_area_outlives_its_owner(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Guest(world, name, 0, 1) for name in ("ocean", "nowcast"))
    ocean.ready()
    nowcast.ready()
    ocean.get("area = universe.create_area('z', (1000,), 'f8')")
    ocean.get("area.write(np.ones(1000))")
    ocean.say("universe.group.Recv(np.zeros(1), 1, 1)")  # the owner answers in a call
    nowcast.get("area = universe.open_area('z', 0)")
    nowcast.get("universe.group.Send(np.zeros(1), 0, 1)")
    assert ocean.hear().startswith("is ")
    assert nowcast.get("area.info.route") == "'mapped'"
    nowcast.get("array = area.memory")
    ocean.get("area.close()")
    ocean.leave()
    nowcast.get("area.close()")
    assert nowcast.get("float(array.sum())") == "1000.0"
    nowcast.leave()
