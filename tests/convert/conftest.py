"""Fixtures that convert the programs of tests/convert/programs, compile them, and run them beside the MPI programs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from launching import BUILD, PROJECT, WATCHDOG_S
from needs import compiler, launcher
from shared_memory import shared_directory

COUPLET = Path(sys.executable).parent / "couplet"
PROGRAMS = Path(__file__).parent / "programs"
RANKS = 3


@dataclass
class Workshop:
    """A folder in which programs are converted, compiled and run."""

    folder: Path
    run_directory: Path

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COUPLET_")}
        tmpdir = {
            "OMPI_MCA_orte_tmpdir_base": str(self.folder),
            "OMPI_MCA_btl_vader_backing_directory": str(self.folder),
        }
        return kept | tmpdir | {"COUPLET_RUN_DIR": str(self.run_directory), "OMP_NUM_THREADS": "2"}

    def call(self, command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in command]
        return subprocess.run(
            words, cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=WATCHDOG_S
        )

    def need(self, command: Sequence[str | Path]) -> str:
        """Runs a command that has to succeed, and returns its output."""
        ended = self.call(command)
        assert ended.returncode == 0, f"{' '.join(ended.args)}\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def convert(self, sources: Sequence[str | Path], *options: str) -> subprocess.CompletedProcess[str]:
        """Converts programs into the folder `new`."""
        return self.call([COUPLET, "convert", *[PROGRAMS / name for name in sources], "-o", "new", *options])

    def modules(self) -> list[str]:
        return [f"-I{BUILD / 'fortran' / 'modules'}"]

    def compile(self, sources: Sequence[Path], target: str, mpi: bool, ported: bool) -> Path:
        """Compiles with an MPI, with Couplet, or with both."""
        language = "c" if sources[0].suffix == ".c" else "fortran"
        command = [compiler(language, "openmpi" if mpi else None), "-fopenmp"]
        if language == "c":
            command += ["-Wall", "-Werror=implicit-function-declaration", f"-I{PROJECT / 'include'}"]
        elif ported:
            command += self.modules()
        command += [str(source) for source in sources] + ["-o", target]
        if ported:
            command += [f"-L{BUILD / 'lib'}", f"-Wl,-rpath,{BUILD / 'lib'}"]
            command += (["-lcouplet_fortran"] if language == "fortran" else []) + ["-lcouplet"]
        self.need(command)
        return self.folder / target

    def run_mpi(self, program: Path, *arguments: str, ranks: int = RANKS) -> list[str]:
        """Runs a program with Open MPI, and returns its lines in the order of the alphabet."""
        return sorted(self.need([launcher("openmpi"), "-n", str(ranks), program, *arguments]).splitlines())

    def run_coupled(self, program: Path, *arguments: str, with_mpi: bool = False, ranks: int = RANKS) -> list[str]:
        """Runs a program with `couplet run`, and returns its lines in the order of the alphabet."""
        return self.run_programs(program, *arguments, with_mpi=with_mpi, solver=ranks)

    def run_programs(self, program: Path, *arguments: str, with_mpi: bool = False, **ranks: int) -> list[str]:
        """Runs one executable as several programs, each with its ranks."""
        words = ", ".join(f'"{word}"' for word in (program, *arguments))
        launcher_name = "openmpi" if with_mpi else "none"
        (self.folder / "coupled.toml").write_text(
            "\n".join(
                f'[[program]]\nname = "{name}"\ncommand = [{words}]\nranks = {count}\nlog = "{name}.log"\n'
                f'launcher = "{launcher_name}"\n'
                for name, count in ranks.items()
            )
        )
        logs = [self.folder / f"{name}.log" for name in ranks]
        for log in logs:
            log.unlink(missing_ok=True)
        self.need([COUPLET, "run", "--plain"])
        return sorted(line for log in logs for line in log.read_text().splitlines())

    def same_results(self, sources: Sequence[str | Path], *options: str, with_mpi: bool = False) -> list[str]:
        """Converts programs, and checks that they print what the MPI programs print. Returns that."""
        converted = self.convert(sources, *options)
        assert converted.returncode == 0, converted.stderr
        before = self.run_mpi(self.compile([PROGRAMS / name for name in sources], "before", mpi=True, ported=False))
        files = [self.folder / "new" / Path(name).name for name in sources]
        after = self.run_coupled(self.compile(files, "after", mpi=with_mpi, ported=True), with_mpi=with_mpi)
        assert after == before
        return before


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    with shared_directory() as run_directory:
        yield Workshop(tmp_path, run_directory)
        left = [str(path) for path in run_directory.rglob("*")]
        assert not left, f"left behind: {left}"


@pytest.fixture
def convert_text(tmp_path: Path) -> Callable[..., tuple[str, list[str], list[str]]]:
    """Converts a text: its result, the problems and the notes."""
    from couplet.convert import Options, convert

    def make(name: str, text: str, **options: object) -> tuple[str, list[str], list[str]]:
        path = tmp_path / name
        path.write_text(text)
        outcome = convert([path], Options(**options))  # type: ignore[arg-type]
        short = [[str(each).replace(f"{path}:", "") for each in part] for part in (outcome.problems, outcome.notes)]
        return outcome.files[0].after, short[0], short[1]

    return make
