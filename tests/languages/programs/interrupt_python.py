"""Presses Ctrl-C while a call of the kind CASE is blocked; see test_python.py. Usage: interrupt_python.py CASE"""

import os
import pickle
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

import couplet

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored


def blocked_calls(universe: couplet.Universe) -> dict[str, Callable[[], object]]:
    writer = universe.create_series("full", (3,), slots=2)
    holder = universe.open_series("full")
    writer.put(np.zeros(3), 1)
    writer.put(np.zeros(3), 2)
    empty = universe.create_series("empty", (3,), slots=2)
    reader = universe.open_series("empty")
    request = universe.group.Irecv(np.zeros(3), 0, 99)
    keep = [holder, empty]
    return {
        "send": lambda: universe.group.Send(np.zeros(1_000_000), 0, 98),
        "put": lambda: writer.put(np.zeros(3), 3),
        "claim": lambda: writer.claim(3).__enter__(),
        "read": lambda: (reader.read(), keep),
        "batches": lambda: list(reader.batches(reuse=True)),
        "open": lambda: universe.open_series("never"),
        "recv": lambda: universe.group.recv(),
        "Recv": lambda: universe.group.Recv(np.zeros(3)),
        "wait": lambda: request.wait(),
        "waitall": lambda: couplet.waitall([request]),
        "waitany": lambda: couplet.waitany([request]),
    }


def interrupt_half_an_object(universe: couplet.Universe) -> None:
    """The envelope of an object has come when Ctrl-C is pressed, its pickle comes later. The next receive gets it."""
    pickled = np.frombuffer(pickle.dumps("x" * 100_000), np.uint8)
    envelope = np.frombuffer(struct.pack("<Qi", len(pickled), 77), np.uint8)
    universe.create_group("universe:envelopes", [0]).Isend(envelope, 0, 6)
    interrupt(lambda: universe.group.recv(0, 6))
    universe.create_group("universe:payloads", [0]).Isend(pickled, 0, 77)
    assert universe.group.recv(0, 6, timeout=100) == "x" * 100_000


def press_control_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupt(call: Callable[[], object]) -> None:
    """Prints how the call, which never ends by itself, ends at Ctrl-C.

    A stall of the machine may delay the end, so the call is late only if it is late three times.
    """
    for _ in range(3):
        said = interrupt_once(call)
        if said != "interrupted late":
            break
    print(said)


def interrupt_once(call: Callable[[], object]) -> str:
    """It makes no difference whether the call is blocked already when the signal comes."""
    pressed: list[float] = []
    try:
        threading.Timer(0.3, lambda: (pressed.append(time.monotonic()), press_control_c())).start()
        call()
    except KeyboardInterrupt:
        return "interrupted" if time.monotonic() - pressed[0] < 1 else "interrupted late"
    return "went on"


def use(universe: couplet.Universe) -> None:
    """An interrupted object still works, and has taken nothing."""
    group = universe.group
    for tag in (0, 5):
        group.Isend(np.full(3, 7.0), 0, tag)
    got = np.zeros(3)
    assert group.Recv(got, 0, 5, timeout=100).count == 3 and got[0] == 7
    assert group.Recv(got, 0, 0, timeout=100).count == 3
    sent = group.isend("a word", 0)
    assert group.recv(timeout=100) == "a word"
    sent.wait(100)
    with universe.create_series("after", (3,), slots=2) as series, universe.open_series("after") as reader:
        series.put(got, 1)
        assert reader.read(timeout=100).steps.tolist() == [1]


case = sys.argv[1]
if case == "join":  # the other program never comes
    interrupt(lambda: couplet.join("solo", timeout=1000))
    interrupt(lambda: couplet.join("solo", timeout=1000))  # its place is free again
else:
    universe = couplet.join("solo")
    calls = blocked_calls(universe)
    interrupt(calls[case])
    use(universe)
    if case == "recv":
        interrupt_half_an_object(universe)
    if case in ("put", "claim", "read", "batches"):  # the same object, once more
        interrupt(calls[case])
    universe.leave()
sys.stdout.flush()
os._exit(0)
