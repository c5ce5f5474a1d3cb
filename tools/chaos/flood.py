"""Opens connections and sends nothing.   usage: python3 flood.py HOST PORT PER_SECOND SECONDS

With PER_SECOND 0 and a further argument COUNT it holds so many at once. Prints how many were accepted.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import sys
import time


def main(host: str, port: int, per_second: float, seconds: float, count: int = 0) -> int:
    held: list[socket.socket] = []
    selector = selectors.DefaultSelector()
    end = time.monotonic() + seconds
    opened = 0
    while (now := time.monotonic()) < end:
        wanted = count if per_second == 0 else int((now - end + seconds) * per_second) + 1
        while opened < wanted and len(held) < 2000:
            one = socket.socket()
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect((host, port))
            held.append(one)
            selector.register(one, selectors.EVENT_READ)
            opened += 1
        for key, _ in selector.select(timeout=0.01):  # the other side has closed these
            selector.unregister(key.fileobj)
            one = key.fileobj  # type: ignore[assignment]
            one.close()
            held.remove(one)
    for one in held:
        one.close()
    print(opened)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), *map(int, sys.argv[5:6])))
