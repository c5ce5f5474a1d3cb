"""A hub with a run directory of its own, for the programs of a benchmark."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common.slow_cable import SlowCable


@contextlib.contextmanager
def running_hub(build: Path, programs: str, *options: str, cable: SlowCable | None = None) -> Iterator[dict[str, str]]:
    """Starts couplet-hub for `programs` (name:size,...) and yields the environment that its members need.

    cable: the hub runs on its left side.
    """
    directory = Path(tempfile.mkdtemp(prefix="couplet-bench-", dir="/dev/shm"))
    environment = {"COUPLET_RUN_DIR": str(directory), "COUPLET_SECRET_FILE": str(directory / "secret")}
    address = cable.address("left") if cable else "127.0.0.1"
    command = [*(cable.prefix("left") if cable else []), str(build / "libexec" / "couplet" / "couplet-hub")]
    command += ["--programs", programs, "--listen", f"{address}:0"]
    command += ["--secret-file", environment["COUPLET_SECRET_FILE"], *options]
    hub = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert hub.stdout is not None
        environment["COUPLET_HUB"] = hub.stdout.readline().strip().removeprefix("COUPLET_HUB=")
        yield environment
    finally:
        hub.terminate()
        hub.wait()
        shutil.rmtree(directory, ignore_errors=True)
