"""Presses Ctrl-C while a call of the kind CASE is blocked; see test_python.py. Usage: interrupt_python.py CASE"""

import os
import signal
import sys
import threading
from collections.abc import Callable

import numpy as np

import couplet

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored


def blocked_calls(universe: couplet.Universe) -> dict[str, Callable[[], object]]:
    writer = universe.create_series("full", (3,), slots=2)
    holder = universe.series("full")
    writer.put(np.zeros(3), 1)
    writer.put(np.zeros(3), 2)
    empty = universe.create_series("empty", (3,), slots=2)
    reader = universe.series("empty")
    request = universe.group.Irecv(np.zeros(3), 0, 99)
    keep = [holder, empty]
    return {
        "put": lambda: writer.put(np.zeros(3), 3),
        "claim": lambda: writer.claim(3).__enter__(),
        "read": lambda: (reader.read(), keep),
        "batches": lambda: list(reader.batches(reuse=True)),
        "open": lambda: universe.series("never"),
        "recv": lambda: universe.group.recv(),
        "Recv": lambda: universe.group.Recv(np.zeros(3)),
        "wait": lambda: request.wait(),
        "waitall": lambda: couplet.waitall([request]),
        "waitany": lambda: couplet.waitany([request]),
    }


def press_control_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupt(call: Callable[[], object]) -> None:
    """The call never ends by itself; whether it is blocked already when the signal comes makes no difference."""
    threading.Timer(0.3, press_control_c).start()
    try:
        call()
    except KeyboardInterrupt:
        print("interrupted")
    else:
        print("went on")


case = sys.argv[1]
if case == "join":  # the other program never comes
    interrupt(lambda: couplet.join("solo", timeout=1000))
else:
    universe = couplet.join("solo")
    interrupt(blocked_calls(universe)[case])
    if case != "open":  # what was interrupted is still looked for, on a thread of its own
        assert universe.group.size == 1
        universe.leave()
sys.stdout.flush()
os._exit(0)
