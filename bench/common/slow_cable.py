"""Two network namespaces joined by a cable of a stated speed (`tc tbf`), in which programs count as on two hosts."""

from __future__ import annotations

import shutil
import subprocess

from common.left_out import LeftOutError

NAME = "cable0"
ADDRESSES = {"left": "10.78.1.1", "right": "10.78.1.2"}


class SlowCable:
    """The sides "left" and "right". The namespaces end with this process, for any reason."""

    def __init__(self, rate: str = "1gbit", burst: str = "256kb") -> None:
        """rate, burst: as `tc` writes them. The burst is at least what the rate carries in 2 ms."""
        for program in ("ip", "tc", "unshare", "nsenter"):
            if shutil.which(program) is None:
                raise LeftOutError(f"a slow cable needs the program {program} (packages iproute2, util-linux)")
        self._keepers: dict[str, subprocess.Popen[bytes]] = {}
        try:
            for side in ADDRESSES:
                self._keepers[side] = keep()
            right = str(self._keepers["right"].pid)
            self._run("left", "ip", "link", "add", NAME, "type", "veth", "peer", "name", NAME, "netns", right)
            for side, address in ADDRESSES.items():
                self._run(side, "ip", "address", "add", f"{address}/24", "dev", NAME)
                self._run(side, "ip", "link", "set", NAME, "up")
                self._run(side, "ip", "link", "set", "lo", "up")
                limit = ["rate", rate, "burst", burst, "latency", "50ms"]
                self._run(side, "tc", "qdisc", "add", "dev", NAME, "root", "tbf", *limit)
        except LeftOutError:
            self.close()
            raise

    def address(self, side: str) -> str:
        return ADDRESSES[side]

    def prefix(self, side: str) -> list[str]:
        """Returns the words before a command that is to run on this side."""
        return ["nsenter", "-t", str(self._keepers[side].pid), "-n", "--"]

    def _run(self, side: str, *command: str) -> None:
        done = subprocess.run([*self.prefix(side), *command], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise LeftOutError(f"a slow cable cannot be made here: {' '.join(command)}: {done.stderr.strip()}")

    def close(self) -> None:
        for keeper in self._keepers.values():
            keeper.communicate()
        self._keepers.clear()


def keep() -> subprocess.Popen[bytes]:
    """Starts a process in a namespace of its own. It ends with this process, since its input does."""
    keeper = subprocess.Popen(
        ["unshare", "-n", "sh", "-c", "echo ready; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert keeper.stdout is not None
    if keeper.stdout.readline() != b"ready\n":
        _, errors = keeper.communicate()
        raise LeftOutError(f"network namespaces may not be made here: {errors.decode().strip()}")
    return keeper
