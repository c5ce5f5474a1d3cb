"""bench/run message: messages between two separately started programs, compared with MPI, ZeroMQ and the machine's
limits.

Everything is measured side by side in one run, by many short samples in rounds (ours, each baseline, the limit, ours,
...). The programs are kept alive, and block in read() while another pair is measured. `us` is half a round trip. `GB/s`
is a ping-pong over shm and a stream over tcp, ucx and files. `ratio` is ours to theirs, the median over the rounds:
for us below 1 is better, for GB/s above 1. `file` goes through a shared directory, and is compared with our own tcp,
since no baseline works without a network. `ucx` is UCX over shared memory (`+tcp`: over its own tcp), and is compared
with our own shm and tcp. `+50peers` and `+250peers` have that many other peers that sleep, each with an open
connection; `no_other_peers` is the same without them.
"""

from __future__ import annotations

from common.arena import Arena
from common.contender import Contender
from common.measure import Case
from common.suite import run_suite

KIB, MIB = 1024, 1024 * 1024
SHM_SIZES = {"8B": 8, "128B": 128, "64KiB": 64 * KIB, "1MiB": MIB, "16MiB": 16 * MIB}
TCP_SIZES = {"8B": 8, "64KiB": 64 * KIB, "1MiB": MIB}
CASES = [
    *("shm/8B", "shm/8B+tcp", "shm/8B+50peers", "shm/128B", "shm/64KiB", "shm/1MiB", "shm/16MiB"),
    *("tcp/8B", "tcp/8B+250peers", "tcp/64KiB", "tcp/1MiB", "tcp/8B+encrypted", "tcp/1MiB+encrypted"),
    *("file/8B", "file/1MiB"),
    *("ucx/8B", "ucx/64KiB", "ucx/1MiB", "ucx/8B+tcp", "ucx/1MiB+tcp"),
]


def ours_of(arena: Arena, link: str, variant: str) -> Contender:
    if link == "file":
        return arena.couplet(
            "couplet-file", COUPLET_LINKS="self,file", COUPLET_FILE_DIRECTORY=str(arena.directory / "file")
        )
    if link == "ucx":
        over = "tcp" if variant == "tcp" else "posix,cma"
        return arena.couplet(f"couplet-ucx-{over}", COUPLET_LINKS="self,ucx", COUPLET_UCX_TLS=over)
    if link == "tcp":
        if variant == "encrypted":
            return arena.couplet("couplet-tcp-encrypted", encrypt=True, COUPLET_LINKS="self,tcp")
        if variant == "250peers":
            return arena.couplet("couplet-tcp-250", others=250, COUPLET_LINKS="self,tcp")
        return arena.couplet("couplet-tcp", COUPLET_LINKS="self,tcp")
    if variant == "tcp":
        return arena.couplet("couplet-shm-tcp", others=1, other_node=True)
    if variant == "50peers":
        return arena.couplet("couplet-shm-50", others=50)
    return arena.couplet("couplet-shm")


def make_case(arena: Arena, name: str) -> Case:
    link, rest = name.split("/")
    size_name, _, variant = rest.partition("+")
    size = (SHM_SIZES if link == "shm" else TCP_SIZES)[size_name]
    if link in ("file", "ucx"):
        own = {"tcp": ours_of(arena, "tcp", "")} | ({"shm": ours_of(arena, "shm", "")} if link == "ucx" else {})
        return Case(
            name=name,
            unit="us" if size <= 128 else "GB/s",
            command="P" if size <= 128 else "S",
            size=size,
            ours=ours_of(arena, link, variant),
            baselines={key: one for key, one in own.items() if one is not None},
        )
    baselines = {"openmpi": arena.openmpi(link), "mpich": arena.mpich(link)}
    if link == "shm":
        baselines["openmpi_connect"] = arena.openmpi_connect()
        limit = arena.raw("flag" if size <= 128 else "read")
    else:
        limit = arena.raw("tcp")
    baselines["zeromq"] = arena.zeromq(link)
    if variant.endswith("peers"):
        baselines["no_other_peers"] = ours_of(arena, link, "")
    return Case(
        name=name,
        unit="us" if size <= 128 else "GB/s",
        command="S" if link == "tcp" and size > 128 else "P",
        size=size,
        ours=ours_of(arena, link, variant),
        baselines={key: one for key, one in baselines.items() if one is not None},
        limit=limit,
    )


def main(arguments: list[str]) -> int:
    return run_suite("message", __doc__, CASES, make_case, arguments)
