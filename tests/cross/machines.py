"""The machines of the tests: this one, and others whose programs qemu-user runs."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from launching import BUILD, PROJECT

EMULATORS = {"s390x": "qemu-s390x", "arm64": "qemu-aarch64"}
# Set by tools/cross/test, which has built the programs of these architectures.
OTHERS = tuple(os.environ.get("COUPLET_CROSS", "").split())
JOIN_TIMEOUT_S = "300"  # a program in an emulator takes long to start on a loaded machine


@dataclass(frozen=True)
class Machine:
    """An architecture, and how its programs are started here."""

    name: str

    @property
    def build(self) -> Path:
        return BUILD if self.name == "native" else PROJECT / "build" / self.name

    @property
    def emulator(self) -> list[str]:
        """The words before a program."""
        if self.name == "native":
            return []
        found = shutil.which(EMULATORS[self.name])
        assert found is not None, f"{EMULATORS[self.name]} is not installed"
        return [found, "-L", str(PROJECT / "build" / "sysroot" / self.name)]

    @property
    def libexec(self) -> Path:
        return self.build / "libexec" / "couplet"

    def command(self, program: str, *words: str) -> list[str]:
        """Returns the command of a program of the build tree's tests/programs."""
        path = self.build / "tests" / "programs" / program
        assert path.exists(), f"{path} is not built"
        return [*self.emulator, str(path), *words]

    def environment(self, directory: Path) -> dict[str, str]:
        """Lets the library find its helper programs, which a script starts in the emulator."""
        if self.name == "native":
            return {"COUPLET_JOIN_TIMEOUT": JOIN_TIMEOUT_S}
        folder = directory / f"helpers-{self.name}"
        if not folder.exists():
            folder.mkdir()
            (folder / "emulator").mkdir()
            for helper in ("couplet-relay", "couplet-hub"):
                # The kernel calls a process by the name of the file that it executes, and World looks for that name.
                (folder / "emulator" / helper).symlink_to(self.emulator[0])
                script = folder / helper
                words = [str(folder / "emulator" / helper), *self.emulator[1:], str(self.libexec / helper)]
                script.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
                script.chmod(0o755)
        return {"COUPLET_JOIN_TIMEOUT": JOIN_TIMEOUT_S, "COUPLET_LIBEXEC": str(folder)}


NATIVE = Machine("native")
MACHINES = (NATIVE, *(Machine(name) for name in OTHERS))
