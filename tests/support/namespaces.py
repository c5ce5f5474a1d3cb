"""Two network namespaces joined by two cables (veth). They end with this process, for any reason."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

import pytest
from launching import WATCHDOG_S

ADDRESSES = {"left": ("10.77.1.1", "10.77.2.1"), "right": ("10.77.1.2", "10.77.2.2")}


@dataclass
class Namespaces:
    """Sides "left" and "right"; cable n (0, 1) is interface cableN on both sides, with ADDRESSES[side][n]."""

    keepers: dict[str, subprocess.Popen[bytes]]
    user: tuple[str, ...]

    def prefix(self, side: str) -> list[str]:
        """Returns the words before a command that is to run on this side."""
        return ["nsenter", "-t", str(self.keepers[side].pid), *self.user, "-n", "--"]

    def run(self, side: str, *command: str) -> str:
        done = subprocess.run(
            [*self.prefix(side), *command], capture_output=True, text=True, timeout=WATCHDOG_S, check=True
        )
        return done.stdout

    def received(self, side: str, cable: int) -> int:
        """Returns the bytes that an interface has received."""
        for line in self.run(side, "cat", "/proc/net/dev").splitlines():
            if line.strip().startswith(f"cable{cable}:"):
                return int(line.split(":")[1].split()[0])
        raise AssertionError(f"no interface cable{cable} on the {side}")

    def close(self) -> None:
        """The namespaces are removed with the processes that keep them."""
        for keeper in self.keepers.values():
            keeper.communicate()


def keep(*prefix: str) -> subprocess.Popen[bytes]:
    """Starts a process in a namespace of its own. It ends with this process, since its input does."""
    keeper = subprocess.Popen(
        [*prefix, "sh", "-c", "echo ready; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert keeper.stdout is not None
    if keeper.stdout.readline() != b"ready\n":
        _, errors = keeper.communicate()
        pytest.skip(f"network namespaces may not be made here: {errors.decode().strip()}")
    return keeper


def make_namespaces() -> Namespaces:
    """Makes the namespaces. Skips the test with a message if they may not be made."""
    for program in ("ip", "unshare", "nsenter"):
        if shutil.which(program) is None:
            pytest.skip(f"network namespaces need the program {program} (packages iproute2, util-linux)")
    root = os.geteuid() == 0
    user = () if root else ("-U", "--preserve-credentials")
    left = keep("unshare", *(() if root else ("-U", "-r")), "-n")
    inside = () if root else ("nsenter", "-t", str(left.pid), *user, "--")
    spaces = Namespaces({"left": left}, user)
    try:
        spaces.keepers["right"] = keep(*inside, "unshare", "-n")
        for cable in (0, 1):
            name, right = f"cable{cable}", str(spaces.keepers["right"].pid)
            spaces.run("left", "ip", "link", "add", name, "type", "veth", "peer", "name", name, "netns", right)
            for side in spaces.keepers:
                spaces.run(side, "ip", "address", "add", f"{ADDRESSES[side][cable]}/24", "dev", name)
                spaces.run(side, "ip", "link", "set", name, "up")
        for side in spaces.keepers:
            spaces.run(side, "ip", "link", "set", "lo", "up")
    except subprocess.CalledProcessError as error:
        spaces.close()
        pytest.skip(f"network namespaces may not be joined here: {error.stderr.strip()}")
    except BaseException:
        spaces.close()
        raise
    return spaces
