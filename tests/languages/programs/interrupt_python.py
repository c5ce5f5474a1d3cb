"""Presses Ctrl-C while a call of the kind CASE is blocked; see test_python.py. Usage: interrupt_python.py CASE"""

import os
import signal
import sys
import threading
import time
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
        "send": lambda: universe.group.Send(np.zeros(1_000_000), 0, 98),
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
    """The call never ends by itself. It makes no difference whether it is blocked already when the signal comes."""
    pressed: list[float] = []
    threading.Timer(0.3, lambda: (pressed.append(time.monotonic()), press_control_c())).start()
    try:
        call()
    except KeyboardInterrupt:
        print("interrupted" if time.monotonic() - pressed[0] < 1 else "interrupted late")
    else:
        print("went on")


def use(universe: couplet.Universe) -> None:
    """An interrupted object still works, and has taken nothing."""
    group = universe.group
    for tag in (0, 5):
        group.Isend(np.full(3, 7.0), 0, tag)
    got = np.zeros(3)
    assert group.Recv(got, 0, 5, timeout=30).count == 3 and got[0] == 7
    assert group.Recv(got, 0, 0, timeout=30).count == 3
    sent = group.isend("a word", 0)
    assert group.recv(timeout=30) == "a word"
    sent.wait(30)
    with universe.create_series("after", (3,), slots=2) as series, universe.series("after") as reader:
        series.put(got, 1)
        assert reader.read(timeout=30).steps.tolist() == [1]


case = sys.argv[1]
if case == "join":  # the other program never comes
    interrupt(lambda: couplet.join("solo", timeout=1000))
    interrupt(lambda: couplet.join("solo", timeout=1000))  # its place is free again
else:
    universe = couplet.join("solo")
    calls = blocked_calls(universe)
    interrupt(calls[case])
    use(universe)
    if case in ("put", "claim", "read", "batches"):  # the same object, once more
        interrupt(calls[case])
    universe.leave()
sys.stdout.flush()
os._exit(0)
