"""Provokes errors in Python and prints "case<TAB>code<TAB>sentence"; see test_errors.py.

Usage: errors_python.py provoke WRONG_SECRET | errors_python.py join PROGRAM... | errors_python.py meet CASE
"""

import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import couplet

# The built-in class as which each class must be caught, besides couplet.Error.
BUILT_IN = {
    ValueError: (-1, -4, -6, -7, -13, -104),
    RuntimeError: (-2, -8, -10, -11, -14, -103, -304),
    LookupError: (-3,),
    TypeError: (-5,),
    NotImplementedError: (-9,),
    MemoryError: (-12,),
    TimeoutError: (-101,),
    BufferError: (-102,),
    ConnectionError: (-201, -203, -204, -303),
    PermissionError: (-202,),
    OSError: (-301, -302),
    BlockingIOError: (2,),
}
ANSWERS = {"ok": 0, "not yet": 1, "end": 3, "restarted": 4}


def provoke(name: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except couplet.Error as error:
        assert any(isinstance(error, kind) and error.code in codes for kind, codes in BUILT_IN.items()), type(error)
        assert error.code == 2 or error.status.startswith("COUPLET_ERROR_")
        print(name, error.code, error, sep="\t", flush=True)
    else:
        print(name, 0, "", sep="\t", flush=True)


def provoke_series(universe: couplet.Universe) -> None:
    shape = (4, 3)
    eta = np.zeros(shape)
    writer = universe.create_series("eta", shape, slots=2, wait_timeout=0)
    provoke("exists", lambda: universe.create_series("eta", shape, slots=2))
    provoke("no_space", lambda: universe.create_series("ocean", (1_000_000_000, 1_000_000), slots=2))
    provoke("state", lambda: writer._handle.publish())
    provoke("type", lambda: universe.open_series("eta", dtype=np.int32))
    provoke("type", lambda: writer.put(eta.astype(np.float32), 10))
    provoke("shape", lambda: universe.open_series("eta", box=[(0, 5), (0, 3)]))
    provoke("shape", lambda: writer.put(eta[:3], 10))
    provoke("timeout", lambda: universe.open_series("never", timeout=0.2))
    reader = universe.open_series("eta")
    provoke("argument", lambda: reader.read(at_least=5, up_to=2, timeout=0))
    provoke("limit", lambda: reader.read(at_least=3, up_to=3, timeout=0))
    print("not_yet", ANSWERS[reader.read(timeout=0).status], "", sep="\t")
    writer.put(eta, 10)
    provoke("step", lambda: writer.put(eta, 10))
    writer.put(eta, 20)
    provoke("full", lambda: writer.put(eta, 30))
    writer.close()
    assert len(reader.read(timeout=0)) == 2
    print("end", ANSWERS[reader.read(timeout=0).status], "", sep="\t")
    with universe.create_series("eta", shape, slots=2):
        # Each look for the new series lasts for at most 0.2 s.
        looks = (reader.read(timeout=20).status for _ in range(100))
        print("restarted", ANSWERS[next(status for status in looks if status != "end")], "", sep="\t")
    reader.close()


def provoke_eviction(universe: couplet.Universe) -> None:
    with (
        universe.create_series("tides", (4, 3), slots=2, evict_after_held=0.05) as writer,
        universe.open_series("tides") as reader,
    ):
        for step in (1, 2, 3):
            writer.put(np.zeros((4, 3)), step)
        provoke("evicted", lambda: reader.read(timeout=0))


def provoke_memory(universe: couplet.Universe) -> None:
    """Limits the memory to what the process has now, and 16 MiB."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), before[1]))
    provoke("memory", lambda: universe.create_series("ocean", (2048, 1024), slots=2))
    resource.setrlimit(resource.RLIMIT_AS, before)


def provoke_thread(universe: couplet.Universe) -> None:
    """The thread that comes second gets the error. The other one asks again, so that it is the first in the end."""
    request = universe.group.Irecv(np.zeros(1), 0, 99)

    def wait() -> None:
        while True:
            try:
                request.wait(1)
            except couplet.ThreadError:
                continue
            except couplet.DeadlineError:
                return

    def go_on() -> None:
        while other.is_alive():
            universe.progress()

    other = threading.Thread(target=wait)
    other.start()
    provoke("thread", go_on)
    other.join()


def provoke_interrupt(group: couplet.Group) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        group.Recv(np.zeros(1), 0, 98)
    except KeyboardInterrupt:  # the answer in this language
        print("interrupted", 5, "", sep="\t")


def meet(name: str) -> None:
    """Exchanges messages with a program that is lost, or that cannot be reached."""
    with couplet.join("solo") as universe:

        def talk() -> None:
            universe.group.Send(np.zeros(1), 1, 1)
            universe.group.Recv(np.zeros(1), 1, 1)

        provoke(name, talk)


def provoke_message(group: couplet.Group) -> None:
    request = group.Isend(np.zeros(12), 0, 7)
    provoke("truncated", lambda: group.Recv(np.zeros(5), 0, 7))
    request.wait(10)
    provoke("argument", lambda: group.Irecv(np.frombuffer(b"12345678"), 0, 7))  # read-only


def provoke_fork(universe: couplet.Universe) -> None:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        provoke("forked", lambda: universe.rank)
        os._exit(0)
    os.waitpid(child, 0)


def main() -> None:
    if sys.argv[1] == "join":
        for code in sys.argv[2:]:
            provoke(code, lambda code=code: couplet.join(code))
        return
    if sys.argv[1] == "meet":
        meet(sys.argv[2])
        return
    provoke("not_found", lambda: couplet.join("nobody", timeout=60))
    provoke("authentication", lambda: couplet.join("solo", secret_file=sys.argv[2], timeout=60))
    provoke("hub_lost", lambda: couplet.join("solo", hub="127.0.0.1:1", timeout=2))
    provoke("config", lambda: couplet.join("solo", hub="nonsense", timeout=2))
    with couplet.join("solo") as universe:
        provoke_series(universe)
        provoke_eviction(universe)
        provoke_memory(universe)
        provoke_message(universe.group)
        provoke_thread(universe)
        provoke_interrupt(universe.group)
        provoke_fork(universe)


main()
