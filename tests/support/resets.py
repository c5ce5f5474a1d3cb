"""Resets established TCP connections (`ss -K`), as a firewall or a switch that forgets them does."""

from __future__ import annotations

import functools
import shutil
import socket
import subprocess
from collections.abc import Iterable, Sequence

import pytest
from launching import WATCHDOG_S


def reset_connections(ports: Iterable[int], prefix: Sequence[str] = ()) -> int:
    """Reset all connections that have one of these ports at either end; returns how many ends there were."""
    each = " or ".join(f"sport = :{port} or dport = :{port}" for port in ports)
    command = [*prefix, "ss", "-K", "-t", "-n", "-H", "state", "established", f"( {each} )"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG_S, check=True)
    return len(done.stdout.splitlines())


def need_resets() -> None:
    """Skips aloud if connections may not be reset here."""
    if missing := missing_for_resets():
        pytest.skip(missing)


@functools.cache
def missing_for_resets() -> str:
    """Returns why connections cannot be reset here, or ""."""
    if shutil.which("ss") is None:
        return "resetting connections needs the program ss (package iproute2)"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as caller, listener.accept()[0]:
            reset_connections([port])
            caller.settimeout(20)
            try:
                caller.recv(1)
            except ConnectionError:
                return ""
            except TimeoutError:
                pass
    return "resetting connections (ss -K) needs root and a kernel with INET_DIAG_DESTROY"
