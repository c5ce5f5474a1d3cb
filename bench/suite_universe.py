"""bench/run universe: how long many members take to join, to return after the hub was killed, and to leave.

The members are light-weight: control connections of one process over loopback, with the real handshake and messages.
Each case has the seconds, the bytes of messages that the members sent and received, and the hub's resident memory. The
targets for 10,000 members are: joining and returning within 10 s, leaving within 5 s. The exit status is 1 if a target
is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

PROJECT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", PROJECT / "build" / "release"))
SIZES = (100, 1000, 10000)
TARGETS_S = {"join": 10.0, "rejoin": 10.0, "leave": 5.0}


def processor_seconds(process: int) -> float:
    """Returns the hub's processor time. On a machine that does other work, too, elapsed time says little."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


class Hub:
    """couplet-hub for one universe. It may be killed and started again."""

    def __init__(self, directory: Path, members: int) -> None:
        self.environment = {**os.environ, "COUPLET_RUN_DIR": str(directory / "run")}
        self.secret = directory / "secret"
        self.command = [str(BUILD / "libexec" / "couplet" / "couplet-hub"), "--programs", f"crowd:{members}"]
        self.command += ["--secret-file", str(self.secret)]
        self.start("127.0.0.1:0")

    def start(self, listen: str, *options: str) -> None:
        command = [*self.command, "--listen", listen, *options]
        self.process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, text=True)
        self.address = self._line("COUPLET_HUB=")
        self.run = self._line("COUPLET_RUN=")

    def _line(self, prefix: str) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line.startswith(prefix):
            raise SystemExit(f"bench: the hub said {line!r}")
        return line.removeprefix(prefix)

    def restart(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.start(self.address, "--resume", self.run)


def answer(output: IO[str]) -> dict[str, float]:
    line = output.readline()
    if not line:
        raise SystemExit("bench: the members gave up")
    result: dict[str, float] = json.loads(line)
    return result


def measure(members: int) -> bool:
    """Measures one universe, and says whether it reached all targets."""
    reached = True
    with tempfile.TemporaryDirectory(prefix="couplet-bench-", dir="/dev/shm") as name:
        hub = Hub(Path(name), members)
        crowd = subprocess.Popen(
            [str(BUILD / "bench" / "core" / "universe"), hub.address, str(hub.secret), str(members)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert crowd.stdin is not None and crowd.stdout is not None
        try:
            for what in ("join", "rejoin", "leave"):
                if what == "rejoin":
                    hub.restart()
                if what != "join":
                    crowd.stdin.write(what + "\n")
                    crowd.stdin.flush()
                row = answer(crowd.stdout)
                alive = hub.process.poll() is None  # it ends with its universe
                memory = resident_bytes(hub.process.pid) if alive else 0
                computed = processor_seconds(hub.process.pid) if alive else 0.0
                fits = row["seconds"] <= TARGETS_S[what]
                reached = reached and fits
                row |= {
                    "suite": "universe",
                    "members": members,
                    "hub_bytes": memory,
                    "hub_cpu_s": computed,
                    "limit_s": TARGETS_S[what],
                    "fits": fits,
                }
                print(json.dumps(row), flush=True)
            hub.process.wait(30)
        finally:
            for process in (crowd, hub.process):
                process.kill()
                process.wait()
    return reached


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench/run universe", description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=SIZES, help="sizes of the universes")
    chosen = parser.parse_args(arguments)
    results = [measure(members) for members in chosen.members]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
