"""Runs the blood flow in all the ways that summarise.py compares.

usage: demo.py [--rounds N] [--radius R] [--pairs N] [--only-table] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", HERE.parents[1] / "build" / "release"))
COUPLET = Path(sys.executable).parent / "couplet"
SOLVER = BUILD / "examples" / "bloodflow" / "solver.openmpi"
MPIEXEC = ("mpiexec.openmpi", "--oversubscribe", "--bind-to", "none")
ENVIRONMENT = {"OMPI_MCA_mpi_yield_when_idle": "1"}

TUBE_RADIUS = 8  # in a narrower tube the profile is not accurate enough

Values = Mapping[str, object]


def words_of(values: Values) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def toml_of(values: Values, ranks: int, viewer: list[str]) -> str:
    """Returns the file of a run: the solver, and the viewer if it has arguments."""
    command = [str(SOLVER), *words_of(values), f"viewer={int(bool(viewer))}"]
    text = (
        f'[[program]]\nname = "solver"\ncommand = {command!r}\nlauncher = "openmpi"\nranks = {ranks}\n'
        f'launcher_options = {list(MPIEXEC[1:])!r}\nenvironment = {{ OMPI_MCA_mpi_yield_when_idle = "1" }}\n'
    )
    if viewer:
        text += f'\n[[program]]\nname = "viewer"\ncommand = {[sys.executable, str(HERE / "viewer.py"), *viewer]!r}\n'
    return text


def run(folder: Path, values: Values, ranks: int = 2, viewer: list[str] | None = None) -> None:
    """Runs the solver with `couplet run`, and its results go to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "coupled.toml"
    file.write_text(toml_of({**values, "output": folder}, ranks, viewer or []))
    print(f"== {folder.name}: {ranks} ranks, {shlex.join(words_of(values))}", flush=True)
    subprocess.run([COUPLET, "run", "--plain", file], check=True)


class Hub:
    """A hub that was started by hand, for programs that are killed: `couplet run` would end all of them."""

    def __init__(self, folder: Path, programs: str) -> None:
        command = [COUPLET, "hub", "--programs", programs]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.environment = {**os.environ, **ENVIRONMENT}
        for line in self.process.stdout:
            name, _, value = line.strip().partition("=")
            if name.startswith("COUPLET_"):
                self.environment[name.removeprefix("export ")] = value
            if name == "COUPLET_RUN":
                break

    def start(self, command: list[str | Path]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, env=self.environment)

    def close(self) -> None:
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(20)


def run_killed(folder: Path, values: Values, ranks: int, viewer: list[str]) -> None:
    """The solver saves its state, is killed, and is started again, while the viewer lives on."""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"== {folder.name}: {ranks} ranks, {shlex.join(words_of(values))}", flush=True)
    hub = Hub(folder, f"solver:{ranks},viewer:1")
    started = [hub.start([sys.executable, HERE / "viewer.py", *viewer])]
    try:
        job = [*MPIEXEC, "-n", str(ranks), SOLVER, *words_of({**values, "output": folder}), "viewer=1", "restart=1"]
        for life in (1, 2):
            solver = hub.start(job)
            started.append(solver)
            ended = solver.wait(300)
            if (ended == 0) != (life == 2):
                raise SystemExit(f"life {life} of the solver has ended with {ended}")
        if started[0].wait(100) != 0:
            raise SystemExit(f"the viewer has ended with {started[0].returncode}")
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
        hub.close()


def commands_of(rounds: int) -> str:
    """Returns the commands of coupled.toml, for as many rounds."""
    programs = tomllib.loads((HERE / "coupled.toml").read_text())["program"]
    words = next(word for word in programs[1]["command"] if word.startswith("--commands="))
    parts = [word.split(":") for word in words.removeprefix("--commands=").split(",")]
    return ",".join(f"{int(number) * rounds // 2000}:{inflow}:{angle}" for number, inflow, angle in parts)


def run_flows(output: Path, rounds: int, values: Values) -> None:
    """The same flow on other ranks, switched, divided anew, and after a death."""
    commands = commands_of(rounds)
    steered = {**values, "commands": commands}

    def viewer(folder: str, *more: str) -> list[str]:
        return [f"--commands={commands}", f"--output={output / folder}", *more]

    run(output / "flow", values, viewer=viewer("flow", "--live"))
    run(output / "one-rank", steered, ranks=1)
    run(output / "four-ranks", steered, ranks=4)
    run(output / "separate-waits", {**steered, "merge_waits": 0, "merge_messages": 0})
    run(output / "separate-messages", {**values, "merge_messages": 0}, viewer=viewer("separate-messages"))
    run(output / "repartitioned", {**values, "repartition_at": rounds // 2}, viewer=viewer("repartitioned"))
    deadly = {**values, "save_every": rounds // 4, "die_at": rounds * 3 // 5}
    run_killed(output / "killed", deadly, 2, viewer("killed"))


def run_validation(output: Path, rounds: int) -> None:
    common = {"frame_every": rounds, "pixels": 1}
    run(output / "tube", {**common, "rounds": rounds, "shape": "tube", "radius": TUBE_RADIUS, "inflow": 0.03})
    run(output / "closed", {**common, "rounds": rounds // 4, "shape": "closed", "radius": 4})


def run_tables(output: Path, rounds: int, radius: float, pairs: int) -> None:
    small = max(radius * 3 / 7, 2)
    for name, size, method in (
        ("table", radius, "persistent"),
        ("small-table", small, "persistent"),
        ("small-table-mapped", small, "mapped"),
    ):
        run(output / name, {"rounds": rounds, "radius": size, "pixels": 2, "table": pairs, "method": method})


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs the blood flow in all the ways that summarise.py compares.")
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--radius", type=float, default=7)
    parser.add_argument("--pairs", type=int, default=2, help="of runs for each figure of the table of times")
    parser.add_argument("--only-table", action="store_true")
    parser.add_argument("--output", type=Path, default=HERE / "output")
    options = parser.parse_args()
    output = options.output.resolve()
    if not options.only_table:
        values = {"rounds": options.rounds, "radius": options.radius, "frame_every": options.rounds // 40}
        run_flows(output, options.rounds, values)
        run_validation(output, max(options.rounds, 1200))
    run_tables(output, options.rounds, options.radius, options.pairs)


if __name__ == "__main__":
    main()
