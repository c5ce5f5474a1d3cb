"""bench/run message: messages between two separately started programs, compared with MPI, ZeroMQ and the machine's
limits.

Everything is measured side by side in one run, by many short samples in rounds (ours, each baseline, the limit, ours,
...). The programs are kept alive, and block in read() while another pair is measured. `us` is half a round trip. `GB/s`
is a ping-pong over shm and a stream over tcp, ucx, files and hybrid connections. `ratio` is ours to theirs, the
median over the rounds: for us below 1 is better, for GB/s above 1. `file` goes through a shared directory, and is
compared with our own tcp, since no baseline works without a network. `ucx` is UCX over shared memory (`+tcp`: over
its own tcp), and is compared with our own shm and tcp. `hybrid` joins two network namespaces by a cable that is
slowed to 1 Gbit/s, and is compared with each of its two parts; the directory of its long messages is local memory.
`+50peers` and `+250peers` have that many other peers that sleep, each with an open connection; `no_other_peers` is
the same without them. `+4pairs` are so many pairs of processes that communicate at the same time: `us` is half a
round trip of one of them, and `GB/s` the sum of all. `+4streams` are so many connections over tcp; `one_stream` is
the same over one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from common.arena import Arena
from common.contender import Contender
from common.measure import Case
from common.suite import run_suite

KIB, MIB = 1024, 1024 * 1024
SHM_SIZES = {"8B": 8, "128B": 128, "64KiB": 64 * KIB, "1MiB": MIB, "16MiB": 16 * MIB}
TCP_SIZES = {"8B": 8, "64KiB": 64 * KIB, "1MiB": MIB, "16MiB": 16 * MIB}
CASES = [
    *("shm/8B", "shm/8B+tcp", "shm/8B+50peers", "shm/128B", "shm/64KiB", "shm/1MiB", "shm/16MiB"),
    *("tcp/8B", "tcp/8B+250peers", "tcp/64KiB", "tcp/1MiB", "tcp/8B+encrypted", "tcp/1MiB+encrypted"),
    *("file/8B", "file/1MiB", "file/16MiB"),
    *("ucx/8B", "ucx/64KiB", "ucx/1MiB", "ucx/8B+tcp", "ucx/1MiB+tcp"),
    *("hybrid/8B", "hybrid/64KiB", "hybrid/1MiB", "hybrid/16MiB"),
]
COUNTS = (2, 4, 8)


class MessageVariants:
    """The cases of several pairs and of several streams."""

    cases: Sequence[str] = [
        *(f"{link}/{size}+{count}pairs" for link in ("shm", "tcp") for size in TCP_SIZES for count in COUNTS),
        *(f"tcp/{size}+{count}streams" for size in TCP_SIZES for count in COUNTS),
    ]

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        for what, where in (("pairs", "over shm and tcp"), ("streams", "over tcp")):
            text = f"measure the plain cases {where} with so many {what}, such as 1,2,4,8"
            parser.add_argument(f"--{what}", type=numbers, metavar="N,N", default=[], help=text)

    def expand(self, options: argparse.Namespace, cases: Sequence[str]) -> Sequence[str]:
        if not options.pairs and not options.streams:
            return cases
        names = [
            (case if count == 1 else f"{case}+{count}{what}")
            for case in cases
            for what in ("pairs", "streams")
            for count in getattr(options, what)
        ]
        return [name for name in dict.fromkeys(names) if name in self.cases or name in cases]


def restarts(case: str) -> int:
    """How often bench/against starts the programs. It takes one ratio from each start."""
    return 1 if case.endswith("peers") or case.startswith(("file", "hybrid")) else 12


def numbers(text: str) -> list[int]:
    counts = [int(word) for word in text.split(",")]
    if any(count not in (1, *COUNTS) for count in counts):
        raise argparse.ArgumentTypeError(f"'{text}' has to be a list of the numbers 1, 2, 4 and 8")
    return counts


def across_the_cable(arena: Arena, kind: str) -> Contender:
    links = {"tcp": "self,tcp", "file": "self,file", "hybrid": "self,tcp,file"}[kind]
    variables = {"COUPLET_LINKS": links}
    if kind != "tcp":
        variables["COUPLET_FILE_DIRECTORY"] = str(arena.memory_directory / kind)
    if kind == "hybrid":
        variables["COUPLET_HYBRID"] = "tcp+file"
    return arena.couplet(f"couplet-far-{kind}", cable=arena.slow_cable(), **variables)


def ours_of(arena: Arena, link: str, variant: str) -> Contender:
    if link == "hybrid":
        return across_the_cable(arena, "hybrid")
    if link == "file":
        directory = str(arena.directory / "file")
        return arena.couplet("couplet-file", COUPLET_LINKS="self,file", COUPLET_FILE_DIRECTORY=directory)
    if link == "ucx":
        over = "tcp" if variant == "tcp" else "posix,cma"
        return arena.couplet(f"couplet-ucx-{over}", COUPLET_LINKS="self,ucx", COUPLET_UCX_TLS=over)
    links = {"COUPLET_LINKS": "self,tcp"} if link == "tcp" else {}
    if variant.endswith("pairs"):
        pairs = int(variant.removesuffix("pairs"))
        return arena.couplet(f"couplet-{link}-{variant}", pairs=pairs, **links)
    if variant.endswith("streams"):
        streams = {"COUPLET_TCP_STREAMS": variant.removesuffix("streams")}
        return arena.couplet(f"couplet-{link}-{variant}", **links, **streams)
    if link == "tcp":
        if variant == "encrypted":
            return arena.couplet("couplet-tcp-encrypted", encrypt=True, **links)
        if variant == "250peers":
            return arena.couplet("couplet-tcp-250", others=250, **links)
        return arena.couplet("couplet-tcp", **links)
    if variant == "tcp":
        return arena.couplet("couplet-shm-tcp", others=1, other_node=True)
    if variant == "50peers":
        return arena.couplet("couplet-shm-50", others=50)
    return arena.couplet("couplet-shm")


def baselines_of(arena: Arena, link: str, variant: str) -> dict[str, Contender | None]:
    if link == "file":
        return {"tcp": ours_of(arena, "tcp", "")}
    if link == "ucx":
        return {own: ours_of(arena, own, "") for own in ("tcp", "shm")}
    if link == "hybrid":
        return {kind: across_the_cable(arena, kind) for kind in ("tcp", "file")}
    if variant.endswith("streams"):
        return {"one_stream": ours_of(arena, link, "")}
    pairs = int(variant.removesuffix("pairs")) if variant.endswith("pairs") else 1
    baselines = {"openmpi": arena.openmpi(link, pairs), "mpich": arena.mpich(link, pairs)}
    if pairs > 1:
        return baselines
    if link == "shm":
        baselines["openmpi_connect"] = arena.openmpi_connect()
    baselines["zeromq"] = arena.zeromq(link)
    if variant.endswith("peers"):
        baselines["no_other_peers"] = ours_of(arena, link, "")
    return baselines


def limit_of(arena: Arena, link: str, size: int, variant: str) -> Contender | None:
    if link in ("file", "ucx", "hybrid") or variant.endswith("pairs"):
        return None
    if link == "shm":
        return arena.raw("flag" if size <= 128 else "read")
    return arena.raw("tcp")


def make_case(arena: Arena, name: str) -> Case:
    link, rest = name.split("/")
    size_name, _, variant = rest.partition("+")
    size = (SHM_SIZES if link == "shm" else TCP_SIZES)[size_name]
    ours = ours_of(arena, link, variant)
    return Case(
        name=name,
        unit="us" if size <= 128 else "GB/s",
        command="S" if link != "shm" and size > 128 else "P",
        size=size,
        ours=ours,
        baselines={key: one for key, one in baselines_of(arena, link, variant).items() if one is not None},
        limit=limit_of(arena, link, size, variant),
        pairs=int(variant.removesuffix("pairs")) if variant.endswith("pairs") else 1,
    )


def main(arguments: list[str]) -> int:
    return run_suite("message", __doc__, CASES, make_case, arguments, MessageVariants())
