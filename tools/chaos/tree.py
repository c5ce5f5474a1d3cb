"""A built tree of the project: its programs, and the actor that is compiled against its library."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

PROJECT = Path(__file__).resolve().parent.parent.parent
ACTOR = PROJECT / "tests" / "chaos" / "actor"


@dataclass(frozen=True)
class BuiltTree:
    """A checkout with a build. The sources of the actor are always those of this project."""

    root: Path

    @property
    def build(self) -> Path:
        """Returns COUPLET_BUILD_DIR if it is in this tree, else the tree's release build."""
        named = Path(os.environ.get("COUPLET_BUILD_DIR", ""))
        return named if named.is_relative_to(self.root) else self.root / "build" / "release"

    def program(self, name: str) -> Path:
        return self.build / "libexec" / "couplet" / name

    def actor(self, mpi: str = "") -> Path:
        """Returns the actor. mpi: openmpi or mpich, if it is to be a rank of a job."""
        return self.build / "chaos-actor" / ("actor" + (f".{mpi}" if mpi else ""))

    def hub_has(self, option: str) -> bool:
        done = subprocess.run([str(self.program("couplet-hub")), "--help"], capture_output=True, text=True, timeout=30)
        return option in done.stdout

    def compile_actor(self, mpi: str = "") -> None:
        """Compiles the actor if it is older than its sources or than one of the public headers. Its variants differ
        only in how they join.
        """
        headers = sorted((self.root / "include" / "couplet").glob("*.h"))
        inputs = [*sorted(ACTOR.rglob("*.?pp")), *headers]
        newest = max(path.stat().st_mtime for path in inputs)
        actor, common = self.actor(mpi), self.build / "chaos-actor" / "common.o"
        if actor.exists() and actor.stat().st_mtime > newest:
            return
        actor.parent.mkdir(parents=True, exist_ok=True)
        options = ["-std=c++20", "-O2", "-g", f"-I{self.root / 'include'}"]
        # The name of the option until format 2 of the mapped files.
        if not any("evict_after_s" in header.read_text() for header in headers):
            options += ["-DCHAOS_EVICT_AFTER=evict_after_held_s"]
        compiler = os.environ.get("CXX", "c++")
        if not common.exists() or common.stat().st_mtime <= newest:
            sources = [str(path) for path in sorted(ACTOR.glob("*.cpp"))]
            with TemporaryDirectory(dir=actor.parent) as parts:
                subprocess.run([compiler, *options, "-c", *sources], cwd=parts, check=True)
                objects = sorted(map(str, Path(parts).glob("*.o")))
                subprocess.run([compiler, "-r", "-nostdlib", *objects, "-o", str(common)], check=True)
        library = self.build / "lib"
        command = [f"mpicxx.{mpi}" if mpi else compiler, *options, str(ACTOR / ("mpi" if mpi else "alone") / "job.cpp")]
        command += [str(common), "-o", str(actor), f"-L{library}", f"-Wl,-rpath,{library}"]
        command += [f"-lcouplet_mpi_{mpi}"] if mpi else []
        subprocess.run([*command, "-lcouplet", "-pthread"], check=True)

    def lacks_mpi(self, mpi: str) -> str:
        """Returns why no job of this MPI can be started with this build, or ""."""
        for program in (f"mpiexec.{mpi}", f"mpicxx.{mpi}"):
            if shutil.which(program) is None:
                return f"{program} is not installed"
        library = self.build / "lib" / f"libcouplet_mpi_{mpi}.so"
        return "" if library.exists() else f"{library} is not built"
