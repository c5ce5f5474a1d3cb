"""A built tree of the project: its programs, and the actor that is compiled against its library."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

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

    @property
    def actor(self) -> Path:
        return self.build / "chaos-actor" / "actor"

    def hub_has(self, option: str) -> bool:
        done = subprocess.run([str(self.program("couplet-hub")), "--help"], capture_output=True, text=True, timeout=30)
        return option in done.stdout

    def compile_actor(self) -> None:
        """Compiles the actor if it is older than its sources or than one of the public headers."""
        headers = sorted((self.root / "include" / "couplet").glob("*.h"))
        inputs = [*sorted(ACTOR.glob("*.?pp")), *headers]
        if self.actor.exists() and self.actor.stat().st_mtime > max(path.stat().st_mtime for path in inputs):
            return
        self.actor.parent.mkdir(parents=True, exist_ok=True)
        options = []
        # The name of the option until format 2 of the mapped files.
        if not any("evict_after_s" in header.read_text() for header in headers):
            options = ["-DCHAOS_EVICT_AFTER=evict_after_held_s"]
        library = self.build / "lib"
        command = [os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-g", *options, f"-I{self.root / 'include'}"]
        command += [str(path) for path in inputs if path.suffix == ".cpp"]
        command += ["-o", str(self.actor), f"-L{library}", f"-Wl,-rpath,{library}", "-lcouplet", "-pthread"]
        subprocess.run(command, check=True)
