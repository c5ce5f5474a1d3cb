"""The simulated machines: what is known of each, and its description for SimGrid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HEAD = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="machine" routing="Full">
"""
TAIL = "  </zone>\n</platform>\n"
# Transfers go at exactly the rates of the links: without the factors of an Ethernet that SimGrid has by default,
# without the window of TCP, and without a load on the way back.
EXACT = (
    "network/bandwidth-factor:1.0", "network/latency-factor:1.0", "network/TCP-gamma:0", "network/crosstraffic:no",
    "network/weight-S:0", "smpi/bw-factor:0:1.0", "smpi/lat-factor:0:1.0",
)  # fmt: skip


@dataclass(frozen=True)
class Crossings:
    """How often a message crosses the memory path of each socket that it touches."""

    same_socket: int
    other_socket: int
    other_node: int


@dataclass(frozen=True)
class Cluster:
    """A cluster whose sockets each have a path to memory that all messages of the socket share.

    A message crosses that path several times (it is read, written, and read again), so a kind of message has at most
    the bandwidth of the path divided by its crossings. A socket is a host of SimGrid, so the nodes are told to the
    probe as groups of ranks.
    """

    name: str
    nodes: int
    sockets: int
    cores_per_socket: int
    memory_bytes_per_s: float
    crossings: Crossings
    adapter_bytes_per_s: float
    memory_latency_s: float
    network_latency_s: float

    @property
    def folder(self) -> str:
        """The name without blanks, which smpirun takes for the end of a path."""
        return self.name.replace(" ", "_")

    @property
    def cores(self) -> int:
        return self.sockets * self.cores_per_socket

    def rate(self, crossings: int) -> float:
        """The bytes per second that messages with so many crossings have together, in both directions."""
        return self.memory_bytes_per_s / crossings

    def host(self, node: int, core: int) -> str:
        return f"n{node}s{core // self.cores_per_socket}"

    def _sockets(self) -> list[tuple[int, int]]:
        return [(node, socket) for node in range(self.nodes) for socket in range(self.sockets)]

    def _route(self, source: tuple[int, int], target: tuple[int, int]) -> Iterator[str]:
        at_source, at_target = (f"memory{node}s{socket}" for node, socket in (source, target))
        if source == target:
            yield from [at_source] * self.crossings.same_socket
        elif source[0] == target[0]:
            yield from [at_source] * self.crossings.other_socket + [at_target] * self.crossings.other_socket
        else:
            yield from [at_source] * self.crossings.other_node
            yield from (f"out{source[0]}", f"in{target[0]}")
            yield from [at_target] * self.crossings.other_node

    def write(self, path: Path) -> None:
        """Writes the description."""
        lines = [
            f'    <host id="n{node}s{socket}" speed="1Gf" core="{self.cores_per_socket}"/>'
            for node, socket in self._sockets()
        ]
        # A latency counts for each crossing.
        for node, socket in self._sockets():
            lines.append(_link(f"memory{node}s{socket}", self.memory_bytes_per_s, self.memory_latency_s))
        for node in range(self.nodes):
            lines += [
                _link(f"{way}{node}", self.adapter_bytes_per_s, self.network_latency_s / 2) for way in ("out", "in")
            ]
        for source in self._sockets():
            for target in self._sockets():
                names = "".join(f'<link_ctn id="{name}"/>' for name in self._route(source, target))
                hosts = 'src="n{}s{}" dst="n{}s{}"'.format(*source, *target)
                lines.append(f'    <route {hosts} symmetrical="NO">{names}</route>')
        path.write_text(HEAD + "\n".join(lines) + "\n" + TAIL)


def _link(name: str, bytes_per_s: float, latency_s: float) -> str:
    return f'    <link id="{name}" bandwidth="{bytes_per_s:.6g}Bps" latency="{latency_s:.6g}s"/>'


# 4 sockets x 4 cores, 8 GB/s from socket to socket, InfiniBand 4x DDR (1.3 GB/s reach a program).
TACHYON_1 = Cluster("Tachyon I", 8, 4, 4, 8e9, Crossings(2, 4, 3), 8e9 / 6, 0.1e-6, 3e-6)
# 2 sockets x 4 cores, 25.6 GB/s, InfiniBand QDR (3.2 GB/s reach a program through PCIe 2.0 x8).
TACHYON_2 = Cluster("Tachyon II", 8, 2, 4, 25.6e9, Crossings(2, 3, 4), 3.2e9, 0.05e-6, 1.5e-6)
CLUSTERS = (TACHYON_1, TACHYON_2)


def write_hosts(path: Path, hosts: Sequence[str]) -> None:
    """Writes the host of each rank, in the order of the ranks."""
    path.write_text("".join(f"{host}\n" for host in hosts))
