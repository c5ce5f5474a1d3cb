"""bench/run message: messages between two separately started programs, against MPI, ZeroMQ and the machine's limits.

Everything is measured side by side in one run: many short samples in rounds (ours, each baseline, the limit,
ours, ...), with programs that are kept alive and blocked in read() while another pair is measured. `us` is half a round
trip; `GB/s` is a ping-pong over shm and a stream over tcp. `ratio` is ours to theirs, the median over the rounds:
below 1 is better for us, above 1 for GB/s.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from common.contender import Contender, ContenderError
from common.measure import Case, measure

ROOT = Path(__file__).resolve().parent.parent
MPI_ROOT_OK = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
KIB, MIB = 1024, 1024 * 1024


class Arena:
    """Starts each contender once, when a case first needs it."""

    def __init__(self, build: Path, directory: Path) -> None:
        self.programs = build / "bench"
        self.hub = build / "libexec" / "couplet" / "couplet-hub"
        self.directory = directory
        self.log = (directory / "log").open("w")
        self.running: dict[str, Contender | None] = {}

    def get(self, name: str, start: Callable[[Contender], None]) -> Contender | None:
        """None where it cannot be started here."""
        if name not in self.running:
            contender = Contender(name, self.directory, self.log)
            try:
                start(contender)
                contender.wait_ready()
                self.running[name] = contender
            except (ContenderError, OSError) as problem:
                print(f"bench: left out: {problem}", file=sys.stderr)
                for process in contender.processes:
                    process.kill()
                contender.stop()
                self.running[name] = None
        return self.running[name]

    def couplet(
        self, name: str, *, others: int = 0, encrypt: bool = False, other_node: bool = False, **environment: str
    ) -> Contender:
        def start(contender: Contender) -> None:
            run_directory = Path(tempfile.mkdtemp(prefix="couplet-bench-", dir="/dev/shm"))
            contender.at_end.append(lambda: shutil.rmtree(run_directory, ignore_errors=True))
            secret = self.directory / "secret"
            common = {"COUPLET_RUN_DIR": str(run_directory), "COUPLET_SECRET_FILE": str(secret), **environment}
            programs = "left:1,right:1" + (f",others:{others}" if others else "")
            command = [str(self.hub), "--programs", programs, "--listen", "127.0.0.1:0", "--secret-file", str(secret)]
            common["COUPLET_HUB"] = self.start_hub(contender, [*command, *(["--encrypt"] if encrypt else [])], common)
            program = str(self.programs / "message_couplet")
            for side in ("left", "right"):
                contender.start([program, side, "0", "1", str(contender.stem)], **common)
            for rank in range(others):
                contender.add_role(2 + rank, answers=False)
                node = {"COUPLET_NODE": "elsewhere"} if other_node else {}
                contender.start([program, "others", str(rank), str(others), str(contender.stem)], **common, **node)

        contender = self.get(name, start)
        if contender is None:
            raise SystemExit(
                f"bench: {name} did not start; see {self.log.name}:\n" + Path(self.log.name).read_text()[-2000:]
            )
        return contender

    def start_hub(self, contender: Contender, command: list[str], environment: dict[str, str]) -> str:
        output = self.directory / f"{contender.stem.name}.hub"
        os.mkfifo(output)
        descriptor = os.open(output, os.O_RDWR | os.O_CLOEXEC)
        shell = ["sh", "-c", 'exec "$@" > "$0"', str(output), *command]
        contender.start(shell, **environment)
        with os.fdopen(descriptor) as stream:
            line = stream.readline()
        return line.strip().removeprefix("COUPLET_HUB=")

    def openmpi(self, links: str) -> Contender | None:
        program = self.programs / "message_mpi.openmpi"

        def start(contender: Contender) -> None:
            options = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader" if links == "shm" else "self,tcp"]
            contender.start(
                [
                    "mpirun.openmpi",
                    "-np",
                    "2",
                    "--bind-to",
                    "none",
                    "--oversubscribe",
                    *options,
                    str(program),
                    str(contender.stem),
                ],
                **MPI_ROOT_OK,
            )

        return self.get(f"openmpi-{links}", start) if program.exists() else None

    def mpich(self, links: str) -> Contender | None:
        program = self.programs / "message_mpi.mpich"
        environment = {} if links == "shm" else {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}

        def start(contender: Contender) -> None:
            contender.start(["mpirun.mpich", "-np", "2", str(program), str(contender.stem)], **environment)

        return self.get(f"mpich-{links}", start) if program.exists() else None

    def openmpi_connect(self) -> Contender | None:
        program = self.programs / "message_mpi.openmpi"

        def start(contender: Contender) -> None:
            uri = self.directory / "ompi-server.uri"
            server = contender.start(["ompi-server", "--no-daemonize", "-r", str(uri)], **MPI_ROOT_OK)
            contender.processes.remove(server)
            contender.at_end.append(lambda: end_server(server))
            for role in (0, 1):
                contender.start(
                    ["sh", "-c", 'while [ ! -s "$0" ]; do sleep 0.1; done; exec "$@"', str(uri)]
                    + [
                        "mpirun.openmpi",
                        "--ompi-server",
                        f"file:{uri}",
                        "-np",
                        "1",
                        "--bind-to",
                        "none",
                        "--oversubscribe",
                    ]
                    + [str(program), str(contender.stem), str(role), f"couplet-bench-{os.getpid()}"],
                    **MPI_ROOT_OK,
                )

        return self.get("openmpi-connect", start) if program.exists() else None

    def zeromq(self, links: str) -> Contender | None:
        program = self.programs / "message_zeromq"

        def start(contender: Contender) -> None:
            endpoint = f"ipc://{self.directory}/zeromq" if links == "shm" else f"tcp://127.0.0.1:{free_port()}"
            for role in (0, 1):
                contender.start([str(program), str(contender.stem), str(role), endpoint])

        return self.get(f"zeromq-{links}", start) if program.exists() else None

    def raw(self, mode: str) -> Contender | None:
        def start(contender: Contender) -> None:
            file = (Path("/dev/shm") if mode != "tcp" else self.directory) / f"couplet-bench-raw-{os.getpid()}-{mode}"
            contender.at_end.append(lambda: file.unlink(missing_ok=True))
            for role in (0, 1):
                contender.start([str(self.programs / "message_raw"), str(contender.stem), str(role), mode, str(file)])

        return self.get(f"raw-{mode}", start)

    def stop(self) -> None:
        for contender in self.running.values():
            if contender is not None:
                contender.stop()
        self.log.close()


def end_server(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    server.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


SHM_SIZES = {"8B": 8, "128B": 128, "64KiB": 64 * KIB, "1MiB": MIB, "16MiB": 16 * MIB}
TCP_SIZES = {"8B": 8, "64KiB": 64 * KIB, "1MiB": MIB}
CASES = [
    *("shm/8B", "shm/8B+tcp", "shm/8B+50peers", "shm/128B", "shm/64KiB", "shm/1MiB", "shm/16MiB"),
    *("tcp/8B", "tcp/64KiB", "tcp/1MiB", "tcp/8B+encrypted", "tcp/1MiB+encrypted"),
]


def ours_of(arena: Arena, link: str, variant: str) -> Contender:
    if link == "tcp":
        if variant == "encrypted":
            return arena.couplet("couplet-tcp-encrypted", encrypt=True, COUPLET_LINKS="self,tcp")
        return arena.couplet("couplet-tcp", COUPLET_LINKS="self,tcp")
    if variant == "tcp":
        # Three processes on two cores, one of them idle: the default would be not to spin.
        return arena.couplet("couplet-shm-tcp", others=1, other_node=True, COUPLET_SPIN_US="200")
    if variant == "50peers":
        return arena.couplet("couplet-shm-50", others=50, COUPLET_SPIN_US="200")
    return arena.couplet("couplet-shm")


def make_case(arena: Arena, name: str) -> Case:
    link, rest = name.split("/")
    size_name, _, variant = rest.partition("+")
    size = (SHM_SIZES if link == "shm" else TCP_SIZES)[size_name]
    baselines = {"openmpi": arena.openmpi(link), "mpich": arena.mpich(link)}
    if link == "shm":
        baselines["openmpi_connect"] = arena.openmpi_connect()
        limit = arena.raw("flag" if size <= 128 else "read")
    else:
        limit = arena.raw("tcp")
    baselines["zeromq"] = arena.zeromq(link)
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
    parser = argparse.ArgumentParser(
        prog="bench/run message", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build" / "release", help="build tree (default: build/release)"
    )
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be given several times")
    parser.add_argument("--rounds", type=int, default=40, help="samples of each contender (default: 40)")
    parser.add_argument("--sample-ms", type=float, default=10, help="length of a sample (default: 10)")
    parser.add_argument("--output", type=Path, help="also append the lines to this file")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="couplet-bench-")))
        arena = Arena(options.build.resolve(), directory)
        stack.callback(arena.stop)
        for name in options.case or CASES:
            result = {"bench": "message", **measure(make_case(arena, name), options.rounds, options.sample_ms / 1000)}
            line = json.dumps(result)
            print(line, flush=True)
            if options.output:
                with options.output.open("a") as stream:
                    stream.write(line + "\n")
    return 0
