"""Three network namespaces, a hub and two nodes. Each pair is joined by a cable of its own that can be cut."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field

CABLES = ("hub-a", "hub-b", "a-b")
PLACES = ("hub", "a", "b")
SUBNET = {"hub-a": "10.78.1", "hub-b": "10.78.2", "a-b": "10.78.3"}
# The address of a place for the others. Members publish the one that reaches the hub.
ADDRESS = {"hub": {"a": "10.78.1.1", "b": "10.78.2.1"}, "a": "10.78.1.2", "b": "10.78.2.2"}

SMALL_BUFFER_BYTES = 16384  # the most that a socket holds in each direction after small_buffers()


def ends(cable: str) -> tuple[str, str]:
    first, second = cable.split("-")
    return first, second


def host_number(cable: str, place: str) -> int:
    return 1 + ends(cable).index(place)


class NamespacesError(Exception):
    """Namespaces may not be made here. The text says why."""


@dataclass
class Network:
    """The places of a run. Without namespaces all places are this host, and cables cannot be cut."""

    keepers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def real(self) -> bool:
        return bool(self.keepers)

    def prefix(self, place: str) -> list[str]:
        return ["nsenter", "-t", str(self.keepers[place].pid), "-n", "--"] if self.real else []

    def hub_address(self, place: str) -> str:
        return str(ADDRESS["hub"][place]) if self.real else "127.0.0.1"  # type: ignore[index]

    def command(self, place: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.prefix(place), *words], capture_output=True, text=True, timeout=20)

    def need(self, place: str, *words: str) -> None:
        done = self.command(place, *words)
        if done.returncode != 0:
            raise NamespacesError(f"{' '.join(words)}: {done.stderr.strip()}")

    def open(self) -> None:
        for program in ("ip", "unshare", "nsenter", "ss"):
            if shutil.which(program) is None:
                raise NamespacesError(f"there is no program {program} (packages iproute2, util-linux)")
        if os.geteuid() != 0:
            raise NamespacesError("network namespaces and cables need root")
        for place in PLACES:
            self.keepers[place] = keeper = subprocess.Popen(
                ["unshare", "-n", "sh", "-c", "echo ready; exec cat"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            assert keeper.stdout is not None
            if keeper.stdout.readline() != b"ready\n":
                _, errors = keeper.communicate()
                self.close()
                raise NamespacesError(errors.decode().strip())
        for cable in CABLES:
            left, right = ends(cable)
            other = str(self.keepers[right].pid)
            self.need(left, "ip", "link", "add", cable, "type", "veth", "peer", "name", cable, "netns", other)
            for place in (left, right):
                self.need(
                    place, "ip", "address", "add", f"{SUBNET[cable]}.{host_number(cable, place)}/24", "dev", cable
                )
        for place in PLACES:
            self.need(place, "ip", "link", "set", "lo", "up")
            for name in ("all", "default"):
                self.need(place, "sh", "-c", f"echo 0 >/proc/sys/net/ipv4/conf/{name}/rp_filter")
        for cable in CABLES:
            self.heal(cable)

    def small_buffers(self) -> None:
        """Makes sockets hold little, as on a system with little memory."""
        for place in PLACES if self.real else ():
            for name in ("tcp_rmem", "tcp_wmem"):
                self.command(place, "sh", "-c", f"echo 4096 8192 {SMALL_BUFFER_BYTES} >/proc/sys/net/ipv4/{name}")

    def cut(self, cable: str) -> None:
        for place in ends(cable):
            self.command(place, "ip", "link", "set", cable, "down")

    def heal(self, cable: str) -> None:
        for place in ends(cable):
            self.need(place, "ip", "link", "set", cable, "up")
        if cable == "a-b":  # the addresses that the nodes publish are those of their cables to the hub
            self.need("a", "ip", "route", "replace", "10.78.2.2/32", "via", "10.78.3.2", "src", "10.78.1.2")
            self.need("b", "ip", "route", "replace", "10.78.1.2/32", "via", "10.78.3.1", "src", "10.78.2.2")

    def reset(self, place: str) -> int:
        """Resets every established connection from a place to another place, and returns how many."""
        done = self.command(place, "ss", "-K", "-t", "state", "established", "dst", "10.78.0.0/16")
        return sum("10.78." in line for line in done.stdout.splitlines())

    def close(self) -> None:
        for keeper in self.keepers.values():
            keeper.communicate()
        self.keepers.clear()
