"""Processes that do not belong to the universe, at the ports of its members."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

from launching import WATCHDOG_S


def listening_ports(pid: int) -> set[int]:
    """Returns the TCP ports on which a process listens."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            sockets.add(str(descriptor.readlink()))
    rows = (line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:])
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


@contextlib.contextmanager
def open_connections(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Opens so many silent connections to a port of this host."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WATCHDOG_S)) for _ in range(count)
        ]
