"""Several threads of one process: closing beside calls, dropped requests, and the end of the interpreter."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest
from launching import World

MakeWorld = Callable[..., World]

# Each round makes one object, lets four threads call it until an error, and closes it meanwhile. The first argument
# says what is called. A call that comes too late raises StateError, whatever it was about to do.
CALLS = """
import json, random, sys, threading
import numpy as np
import couplet

ROUNDS = 60

def reader(universe, number):
    return universe.open_series("sky", local=True, mode="follow", start="newest")

def writer(universe, number):
    made = universe.create_series(f"own{number}", (4,), slots=4)
    steps = iter(range(1 << 30))
    def put():
        try:
            made.put(np.zeros(4), next(steps))
        except couplet.StepError:
            pass  # another thread was faster with a later step
    made.call = put
    return made

def area(universe, number):
    return universe.open_area("held", universe.find_rank("holder"))

def group(universe, number):
    made = universe.create_group(f"g{number}", [universe.rank])
    def free():
        # It is refused while another thread's receive is pending.
        refused = True
        while refused:
            try:
                made.free()
                refused = False
            except couplet.StateError as error:
                if "not complete" not in str(error):
                    raise
    made.close = free
    return made

def patient(call):
    def until_closed():
        try:
            call()
        except couplet.DeadlineError:
            pass
    return until_closed

def into(eta):
    return lambda: eta.read(1, 1, timeout=0, out=np.empty((1, 4)))

SCENES = {
    "read": (reader, lambda eta: patient(lambda: eta.read(timeout=0))),
    "read into an array": (reader, lambda eta: patient(into(eta))),
    "describe": (reader, lambda eta: lambda: eta.describe()),
    "statistics": (reader, lambda eta: lambda: eta.statistics),
    "put": (writer, lambda eta: eta.call),
    "read of an area": (area, lambda area: lambda: area.read(timeout=5)),
    "description of an area": (area, lambda area: lambda: area.info),
    "receive": (group, lambda group: patient(lambda: group.Recv(np.zeros(1), 0, 3, timeout=0))),
    "rank of a group": (group, lambda group: lambda: group.rank),
}

make, call_of = SCENES[sys.argv[1]]
sys.setswitchinterval(1e-5)
said = {}
with couplet.join("caller", multiple_threads=True) as universe:
    for number in range(ROUNDS):
        thing = make(universe, number)
        call = call_of(thing)
        started = threading.Barrier(5)
        def until_error():
            started.wait()
            try:
                for _ in range(3000):
                    call()
                said["None"] = "it had no turn to be refused"
            except Exception as error:
                said[type(error).__name__] = str(error)
        threads = [threading.Thread(target=until_error) for _ in range(4)]
        for thread in threads:
            thread.start()
        started.wait()
        for _ in range(random.randrange(2000)):
            pass
        thing.close()
        for thread in threads:
            thread.join()
    universe.group.send("end", universe.find_rank("holder"), 9)
said.pop("None", None)
print(json.dumps(said), flush=True)
"""

HOLDER = """
import numpy as np
import couplet
with couplet.join("holder") as universe:
    sky = universe.create_series("sky", (4,), slots=8)
    area = universe.create_area("held", (4,))
    step = 0
    request = universe.group.irecv(universe.find_rank("caller"), 9)
    while not request.test()[0]:
        sky.put(np.zeros(4), step)
        step += 1
    area.close()
    sky.close()
"""


@pytest.mark.parametrize(
    "call",
    [
        "read",
        "read into an array",
        "describe",
        "statistics",
        "put",
        "read of an area",
        "description of an area",
        "receive",
        "rank of a group",
    ],
)
def test_a_call_beside_close_raises_state_error(make_world: MakeWorld, call: str) -> None:
    """Fault: the call used memory that the closing thread had freed: a crash, or a shape that made no sense."""
    world = make_world("caller:1,holder:1")
    holder = world.start([sys.executable, "-c", HOLDER])
    caller = world.finish(world.start([sys.executable, "-c", CALLS, call])).check()
    world.finish(holder).check()
    said = json.loads(caller.output)
    assert set(said) == {"StateError"}, said


# One thread waits again and again; another makes receives and drops them at once.
DROPS = """
import sys, threading, time
import numpy as np
import couplet

with couplet.join("dropper", multiple_threads=True) as universe:
    ended = threading.Event()
    def drop():
        for _ in range(50):
            universe.group.Irecv(np.zeros(4), 0, 9)  # stays pending
        end = time.monotonic() + 3
        while time.monotonic() < end:
            universe.group.Irecv(np.zeros(4), 0, 8)
            universe.group.Send(np.zeros(4), 0, 8)  # the dropped receive takes it
        ended.set()
        universe.group.Send(np.zeros(4), 0, 7)
    thread = threading.Thread(target=drop)
    thread.start()
    while not ended.is_set():
        try:
            universe.group.Recv(np.zeros(4), 0, 7, timeout=30)
        except couplet.DeadlineError:
            pass
    thread.join()
    print("all dropped", flush=True)
"""


def test_dropped_requests_do_not_stop_a_waiting_thread(make_world: MakeWorld) -> None:
    """Fault: a thread that tested dropped requests held the GIL while it waited for its turn, and the thread that had
    the turn waited for the GIL."""
    world = make_world("dropper:1")
    dropper = world.start([sys.executable, "-c", DROPS])
    assert world.finish(dropper).check().output == "all dropped\n"


# Threads are in calls while the interpreter ends, which takes 0.3 s.
ENDS = """
import sys, threading, time
import numpy as np
import couplet

universe = couplet.join("ender", multiple_threads=True)
eta = universe.create_series("eta", (4,), slots=4)
reader = universe.open_series("eta", local=True, mode="follow")
group = universe.group
lock = threading.Lock()

def reopen():
    with lock:
        universe.open_series("eta", local=True, mode="follow").close()

CALLS = {
    "a long wait": lambda: reader.read(timeout=60),
    "short calls": lambda: reader.read(timeout=0.0001),
    "wait_any": lambda: couplet.wait_any([reader, group.Arrival(0, 3)], 0.001),
    "a receive": lambda: group.Recv(np.zeros(3), 0, 5, timeout=0.001),
    "close": reopen,
    "describe": lambda: reader.describe(),
}
begun = threading.Semaphore(0)

def call_for_ever():
    begun.release()
    while True:
        try:
            CALLS[sys.argv[1]]()
        except couplet.DeadlineError:
            pass

class Slow:
    def __del__(self):
        time.sleep(0.3)

sys.modules["slow"] = Slow()
for _ in range(4):
    threading.Thread(target=call_for_ever, daemon=True).start()
for _ in range(4):
    begun.acquire()
time.sleep(0.01)
print("ends", flush=True)
"""


@pytest.mark.parametrize("call", ["a long wait", "short calls", "wait_any", "a receive", "close", "describe"])
def test_the_interpreter_ends_while_daemon_threads_are_in_calls(make_world: MakeWorld, call: str) -> None:
    """Fault: Python ended the threads by unwinding them, which ended the process: SIGABRT, 60 times of 60."""
    world = make_world("ender:1")
    ender = world.start([sys.executable, "-c", ENDS, call])
    assert world.finish(ender).check().output == "ends\n"
