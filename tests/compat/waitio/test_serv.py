"""waitio-serv tells the other parallel blocks the host of parallel block 0, and is not deceived by what an earlier run
has left.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs import environment
from launching import BUILD, PROJECT, WATCHDOG_S, World, read_line
from needs import launcher
from waitio import free_port, nothing_left, variables

MakeWorld = Callable[..., World]
SERV = str(PROJECT / "compat" / "waitio" / "waitio-serv")
PUBLISH = 'waitio-serv -d -m 127.0.0.1 || exit 1; "$@"'
ASK = 'WAITIO_MASTER_HOST=$(waitio-serv -c) || exit 1; export WAITIO_MASTER_HOST; "$@"'


@pytest.fixture
def scratch(tmp_path: Path) -> dict[str, str]:
    """Returns the environment of waitio-serv, with an empty scratch directory."""
    (tmp_path / "scratch").mkdir()
    return {"WAITIO_SCRATCH_DIR": str(tmp_path / "scratch"), "COUPLER_JOB_ID": "12"}


def script(world: World, text: str, block: int, port: int, scratch: dict[str, str]) -> subprocess.Popen[str]:
    """Starts the job script of a parallel block. WAITIO_MASTER_HOST is not set, except what the script sets."""
    flavour = ("openmpi", "mpich")[block]
    own = environment(world, flavour) | scratch | variables(block, 2, port)
    if block == 1:
        del own["WAITIO_MASTER_HOST"]
    client = str(BUILD / "tests" / "compat" / flavour / "waitio_pingpong")
    path = f"{Path(SERV).parent}:{os.environ['PATH']}"
    return world.start(["sh", "-c", text, "script", launcher(flavour), "-n", "1", client], PATH=path, **own)


def ask(scratch: dict[str, str], timeout: str = "60") -> subprocess.CompletedProcess[str]:
    own = {**os.environ, **scratch, "COUPLET_JOIN_TIMEOUT": timeout}
    return subprocess.run([SERV, "-c"], env=own, capture_output=True, text=True, check=False, timeout=WATCHDOG_S)


def test_two_job_scripts(make_world: MakeWorld, scratch: dict[str, str]) -> None:
    """The second script begins first. Nothing of waitio-serv is left."""
    world = make_world("")
    port = free_port()
    second = script(world, ASK, 1, port, scratch)
    first = script(world, PUBLISH, 0, port, scratch)
    assert world.finish(second).check().output == "PB 1 of 2 rank 0: right\n"
    assert world.finish(first).check().output == "PB 0 of 2 rank 0: right\n"
    nothing_left(world)


def test_a_killed_run_is_not_believed(make_world: MakeWorld, scratch: dict[str, str]) -> None:
    world = make_world("")
    earlier = world.start(["sh", "-c", f'exec "{SERV}" -m old'], **scratch)
    assert ask(scratch).stdout == "old\n"
    earlier.kill()
    earlier.wait(WATCHDOG_S)
    refused = ask(scratch, "1")
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "within 1 s: it does not change, so what published it has ended" in refused.stderr
    now = world.start([SERV, "-m", "new"], **scratch)
    asked = ask(scratch)
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, "new\n", "")
    now.terminate()
    assert now.wait(WATCHDOG_S) == 0
    nothing_left(world)


def test_the_newest_counts(make_world: MakeWorld, scratch: dict[str, str]) -> None:
    """One that runs for the same job ends by itself when another one publishes."""
    world = make_world("")
    first = world.start([SERV, "-m", "first"], **scratch)
    assert ask(scratch).stdout == "first\n"
    second = world.start([SERV, "-m", "second"], **scratch)
    assert first.wait(WATCHDOG_S) == 0
    assert ask(scratch).stdout == "second\n"
    second.terminate()
    second.wait(WATCHDOG_S)


def test_it_ends_with_the_script(make_world: MakeWorld, scratch: dict[str, str]) -> None:
    world = make_world("")
    text = f'"{SERV}" -d -m here; echo ready; read line'
    job = world.start(["sh", "-c", text], standard_input=True, **scratch)
    assert read_line(job) == "ready\n"
    published = Path(scratch["WAITIO_SCRATCH_DIR"]) / ".waitio-master-12"
    assert published.read_text().startswith("here ")
    job.kill()
    deadline = time.monotonic() + WATCHDOG_S
    while published.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("words", "extra", "status", "sentence"),
    [
        ([], {}, 2, "usage: waitio-serv -d -m HOST"),
        (["-m"], {}, 2, "usage:"),
        (["-c", "more"], {}, 2, "usage:"),
        (["-m", "a b"], {}, 1, "'a b' after -m is no host"),
        (["-c"], {"WAITIO_SCRATCH_DIR": "/no/such/directory"}, 1, "'/no/such/directory', which is no directory"),
        (["-c"], {"COUPLER_JOB_ID": "a/b"}, 1, "COUPLER_JOB_ID is 'a/b'; it has to be part of a file's name"),
    ],
)
def test_mistakes(scratch: dict[str, str], words: list[str], extra: dict[str, str], status: int, sentence: str) -> None:
    own = {**os.environ, **scratch, **extra}
    done = subprocess.run([SERV, *words], env=own, capture_output=True, text=True, check=False, timeout=WATCHDOG_S)
    assert (done.returncode, done.stdout) == (status, "")
    assert sentence in done.stderr
