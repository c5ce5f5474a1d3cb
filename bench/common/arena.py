"""The contenders of the suites that pair two programs. Each is started once, when a case first needs it."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from common.contender import Contender, ContenderError
from common.slow_cable import SlowCable

MPI_ROOT_OK = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Arena:
    """Starts each contender once, when a case first needs it."""

    def __init__(self, build: Path, directory: Path) -> None:
        self.programs = build / "bench"
        self.hub = build / "libexec" / "couplet" / "couplet-hub"
        self.directory = directory
        self.log = (directory / "log").open("w")
        self.running: dict[str, Contender | None] = {}
        self._cable: SlowCable | None = None
        self.memory_directory = Path(tempfile.mkdtemp(prefix="couplet-bench-", dir="/dev/shm"))

    def get(self, name: str, start: Callable[[Contender], None], pairs: int = 1) -> Contender | None:
        """Returns the contender, or None if it cannot be started here."""
        if name not in self.running:
            contender = Contender(name, self.directory, self.log, pairs)
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
        self,
        name: str,
        *,
        others: int = 0,
        pairs: int = 1,
        encrypt: bool = False,
        other_node: bool = False,
        cable: SlowCable | None = None,
        **environment: str,
    ) -> Contender:
        """others: processes that sleep beside the pair. cable: joins the two sides, each a host of its own."""

        def start(contender: Contender) -> None:
            run_directory = Path(tempfile.mkdtemp(prefix="couplet-bench-", dir="/dev/shm"))
            contender.at_end.append(lambda: shutil.rmtree(run_directory, ignore_errors=True))
            secret = self.directory / "secret"
            common = {"COUPLET_RUN_DIR": str(run_directory), "COUPLET_SECRET_FILE": str(secret), **environment}
            programs = f"left:{pairs},right:{pairs}" + (f",others:{others}" if others else "")
            address = cable.address("left") if cable else "127.0.0.1"
            command = [*(cable.prefix("left") if cable else []), str(self.hub), "--programs", programs]
            command += ["--listen", f"{address}:0", "--secret-file", str(secret)]
            common["COUPLET_HUB"] = self.start_hub(contender, [*command, *(["--encrypt"] if encrypt else [])], common)
            program = str(self.programs / "message_couplet")
            for side, rank in itertools.product(("left", "right"), range(pairs)):
                before = cable.prefix(side) if cable else []
                node = {"COUPLET_NODE": side} if cable else {}
                contender.start([*before, program, side, str(rank), str(pairs), str(contender.stem)], **common, **node)
            for rank in range(others):
                contender.add_role(2 + rank, answers=False)
                node = {"COUPLET_NODE": "elsewhere"} if other_node else {}
                contender.start([program, "others", str(rank), str(others), str(contender.stem)], **common, **node)

        contender = self.get(name, start, pairs)
        if contender is None:
            raise SystemExit(
                f"bench: {name} did not start; see {self.log.name}:\n" + Path(self.log.name).read_text()[-2000:]
            )
        return contender

    def slow_cable(self) -> SlowCable:
        """Returns two hosts with a slow cable between them. Raises LeftOutError if they cannot be made here."""
        if self._cable is None:
            self._cable = SlowCable()
        return self._cable

    def programs_of(self, folder: str, programs: Sequence[str]) -> Contender:
        """Starts a hub and one rank of each program, all from bench/<folder>/<folder>, in a run directory of their own.
        Raises SystemExit with what they have printed, if they do not start.
        """

        def start(contender: Contender) -> None:
            run_directory = Path(tempfile.mkdtemp(prefix="couplet-bench-", dir="/dev/shm"))
            contender.at_end.append(lambda: shutil.rmtree(run_directory, ignore_errors=True))
            secret = str(self.directory / "secret")
            sizes = ",".join(f"{program}:1" for program in programs)
            environment = {"COUPLET_RUN_DIR": str(run_directory), "COUPLET_SECRET_FILE": secret}
            command = [str(self.hub), "--programs", sizes, "--listen", "127.0.0.1:0", "--secret-file", secret]
            environment["COUPLET_HUB"] = self.start_hub(contender, command, environment)
            environment |= {"COUPLET_RANK": "0", "COUPLET_SIZE": "1"}
            for program in programs:
                contender.start([str(self.programs / folder / folder), program, str(contender.stem)], **environment)

        contender = self.get(f"couplet-{folder}", start)
        if contender is None:
            raise SystemExit(f"bench: the programs did not start:\n{Path(self.log.name).read_text()[-2000:]}")
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

    def openmpi(self, links: str, pairs: int = 1) -> Contender | None:
        program = self.programs / "message_mpi.openmpi"

        def start(contender: Contender) -> None:
            options = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader" if links == "shm" else "self,tcp"]
            contender.start(
                [
                    "mpirun.openmpi",
                    "-np",
                    str(2 * pairs),
                    "--bind-to",
                    "none",
                    "--oversubscribe",
                    *options,
                    str(program),
                    str(contender.stem),
                ],
                **MPI_ROOT_OK,
            )

        return self.get(f"openmpi-{links}-{pairs}", start, pairs) if program.exists() else None

    def mpich(self, links: str, pairs: int = 1) -> Contender | None:
        program = self.programs / "message_mpi.mpich"
        environment = {} if links == "shm" else {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}

        def start(contender: Contender) -> None:
            command = ["mpirun.mpich", "-np", str(2 * pairs), str(program), str(contender.stem)]
            contender.start(command, **environment)

        return self.get(f"mpich-{links}-{pairs}", start, pairs) if program.exists() else None

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
        if self._cable is not None:
            self._cable.close()
        shutil.rmtree(self.memory_directory, ignore_errors=True)
        self.log.close()


def end_server(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    server.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
