"""``couplet run`` as a user sees it: exit status, output, and what is left afterwards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from launching import WATCHDOG_S
from needs import launcher
from shared_memory import shared_directory

from couplet.cli.configuration import load
from couplet.cli.observe import Universe
from couplet.cli.run import _conclude

COUPLET = Path(sys.executable).parent / "couplet"

WRITER = """\
import couplet, numpy
with couplet.join("ocean") as universe:
    series = universe.create_series("eta", (4, 6), "float64", required_readers="nowcast", slots=4)
    for step in range(50):
        series.put(numpy.full((4, 6), float(step)), step)
    series.close()
"""
READER = """\
import couplet
with couplet.join("nowcast") as universe:
    steps = sum(len(batch) for batch in universe.open_series("eta").batches(up_to=8))
print("steps", steps)
"""
STUBBORN = """\
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(1)
"""


class Run:
    """A folder with programs and a coupled.toml, and a run directory of its own."""

    def __init__(self, folder: Path, run_directory: Path) -> None:
        self.folder = folder
        self.run_directory = run_directory
        self.environment = {**os.environ, "COUPLET_RUN_DIR": str(run_directory)}

    def write(self, **programs: str) -> None:
        text = ""
        for name, source in programs.items():
            (self.folder / f"{name}.py").write_text(source)
            text += f'[[program]]\nname = "{name}"\ncommand = ["{sys.executable}", "{name}.py"]\nlog = "log/{name}"\n\n'
        (self.folder / "coupled.toml").write_text(text)

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [COUPLET, "run"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True,
        )  # fmt: skip

    def finish(self) -> tuple[int, str]:
        with self.start() as process:
            output, _ = process.communicate(timeout=WATCHDOG_S)
            return process.returncode, output

    def left(self) -> list[str]:
        """Returns the files and processes that are there after a run."""
        return sorted(path.name for path in self.run_directory.iterdir()) + self.processes()

    def processes(self) -> list[str]:
        """Returns the command lines of the processes that run in this folder."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if (path / "cwd").readlink() == self.folder:
                    found.append((path / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
        return found


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with shared_directory() as directory:
        one = Run(tmp_path, directory)
        yield one
        deadline = time.monotonic() + WATCHDOG_S
        while one.left() and time.monotonic() < deadline:  # a relay ends by itself, after the programs
            time.sleep(0.01)
        left = one.left()
    assert not left


def test_a_coupled_run(run: Run) -> None:
    run.write(ocean=WRITER, nowcast=READER)
    status, output = run.finish()
    assert status == 0, output
    assert "nowcast | steps 50" in output
    assert "series 'eta' is written by ocean" in output
    assert (run.folder / "log/nowcast").read_text() == "steps 50\n"


LOST = """\
import couplet, os
universe = couplet.join("ocean")
universe.create_series("eta", (4, 6), "float64")
os._exit(0)
"""


def test_a_run_that_has_lost_a_rank_does_not_end_well(run: Run) -> None:
    run.write(ocean=LOST)
    status, output = run.finish()
    assert status == 1, output
    assert "ocean rank 0 is lost" in output
    assert "failed with exit status 1, and ocean rank 0 was lost," in output.splitlines()[-1]


def test_links_of_the_settings_are_those_of_the_programs(run: Run) -> None:
    joined = "import couplet, numpy\nuniverse = couplet.join({})\ngroup = universe.group\n"
    ocean = joined.format('"ocean"') + "group.Send(numpy.ones(1), 1, tag=1)\ngroup.Recv(numpy.zeros(1), 1, tag=2)\n"
    nowcast = joined.format('"nowcast"') + "group.Recv(numpy.zeros(1), 0, tag=1)\ngroup.Send(numpy.ones(1), 0, tag=2)\n"
    told = "print('links', [peer['link'] for peer in universe.explain()['peers']], universe.explain()['peers'])\n"
    run.write(ocean=ocean + told + "universe.leave()\n", nowcast=nowcast + "universe.leave()\n")
    file = run.folder / "coupled.toml"
    file.write_text(file.read_text() + '[settings]\nlinks = "self,tcp"\ntcp_streams = 2\n')
    status, output = run.finish()
    assert status == 0, output
    assert "links ['tcp']" in output, output


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_a_launcher_leaves_the_order_of_path_alone(run: Run, flavour: str) -> None:
    """Open MPI puts its own folder first if it is called by its whole path; then another python3 would run."""
    launcher(flavour)
    own = run.folder / "bin" / "python3"
    own.parent.mkdir()
    own.write_text('#!/bin/sh\necho "the first on PATH is $(command -v python3)"\n')
    own.chmod(0o755)
    run.environment["PATH"] = f"{own.parent}:{run.environment['PATH']}"
    (run.folder / "coupled.toml").write_text(
        f'[[program]]\nname = "ocean"\ncommand = ["python3"]\nlauncher = "{flavour}"\nrequired = false\n'
    )
    status, output = run.finish()
    assert status == 0, output
    assert f"the first on PATH is {own}" in output


LOOKING_READER = """\
import couplet, os, subprocess
wide = dict(os.environ, COLUMNS="200")
with couplet.join("nowcast") as universe:
    series = universe.open_series("eta")
    seen, looked = [], ""
    for batch in series.batches(up_to=8):
        seen += batch.steps.tolist()
        looked = looked or subprocess.check_output(["{couplet}", "watch", "--once"], env=wide, text=True)
    report = universe.explain()["series_of_other_nodes"]
    print("steps", seen == list(range(50)), "by", series.describe().route, "told", report["relay"])
print(looked)
"""


def test_programs_on_different_nodes_share_a_series_through_a_relay(run: Run) -> None:
    run.write(ocean=WRITER, nowcast=LOOKING_READER.replace("{couplet}", str(COUPLET)))
    text = (run.folder / "coupled.toml").read_text()
    for program, node in (("ocean", "a"), ("nowcast", "b")):
        text = text.replace(f'name = "{program}"', f'name = "{program}"\nenvironment = {{ COUPLET_NODE = "{node}" }}')
    (run.folder / "coupled.toml").write_text(text)
    status, output = run.finish()
    assert status == 0, output
    said = (run.folder / "log/nowcast").read_text()
    assert "steps True by relay told auto" in said, said
    assert re.search(r"relay of \S+ +1", said), said  # it is a process of the writer's node
    assert "universe rank 1 by relay" in said, said


class LateHub:
    """Tells only with the third look that a rank has joined and left. Its universe is then over."""

    looks = 0

    def events(self) -> list[dict[str, object]]:
        self.looks += 1
        said = [{"event": event, "program": "ocean", "rank": 0} for event in ("joined", "left")]
        return said if self.looks == 3 else []

    def wait(self, timeout_s: float) -> bool:
        time.sleep(timeout_s)
        return self.looks >= 3


def test_programs_that_end_before_the_hub_tells_that_they_have_joined(tmp_path: Path) -> None:
    """Fault: a run of 0.1 s failed, since no process had joined as far as its launcher had heard."""
    (tmp_path / "coupled.toml").write_text('[[program]]\nname = "ocean"\ncommand = ["true"]\n')
    hub, universe = LateHub(), Universe(0, tmp_path)
    display = SimpleNamespace(event=lambda _: None, failure=lambda *why: pytest.fail(str(why)))
    assert _conclude(load(tmp_path / "coupled.toml"), hub, universe, display) == 0  # type: ignore[arg-type]


def test_programs_that_do_not_join(run: Run) -> None:
    """They may exchange files. If they are required, it is a mistake, which is told a second after their end."""
    run.write(ocean="print('by files')\n", nowcast="print('by files')\n")
    status, output = run.finish()
    assert status == 1, output
    assert "all programs have ended, and none of them has joined the universe" in output
    assert '"ocean", "nowcast"' in output
    text = (run.folder / "coupled.toml").read_text()
    (run.folder / "coupled.toml").write_text(text.replace("command =", "required = false\ncommand ="))
    status, output = run.finish()
    assert status == 0, output


def test_one_that_fails_ends_the_others(run: Run) -> None:
    run.write(ocean="print('about to fail')\nraise SystemExit(7)\n", nowcast=STUBBORN)
    status, output = run.finish()
    assert status == 7, output
    assert 'program "ocean" ended with exit status 7; its last lines:\n    about to fail' in output


def test_one_that_is_killed(run: Run) -> None:
    run.write(ocean="import os\nos.kill(os.getpid(), 9)\n", nowcast=STUBBORN)
    status, output = run.finish()
    assert status == 137, output
    assert "SIGKILL" in output


SLOW_LAUNCHER = """\
import subprocess, sys, time
status = subprocess.run([sys.executable, "rank.py"]).returncode
time.sleep(1)  # a launcher ends the other ranks first
raise SystemExit(128 - status)
"""
KILLED = """\
import couplet, os
universe = couplet.join("ocean")
universe.create_series("eta", (4, 6), "float64")
os.kill(os.getpid(), 9)
"""


def test_the_program_that_was_lost_is_blamed_and_not_the_one_that_waits_for_it(run: Run) -> None:
    """The reader ended before the writer's launcher, so the reader's last lines and exit status were shown."""
    (run.folder / "rank.py").write_text(KILLED)
    run.write(nowcast=READER, ocean=SLOW_LAUNCHER)
    status, output = run.finish()
    assert status == 137, output
    assert 'program "ocean" ended with exit status 137' in output
    assert "nowcast | couplet.errors.PeerLostError" in output


def test_a_program_that_has_failed_because_of_a_loss_is_blamed_if_nothing_else_fails(run: Run) -> None:
    (run.folder / "rank.py").write_text(KILLED)
    run.write(nowcast=READER, ocean=SLOW_LAUNCHER.replace("raise SystemExit(128 - status)", "time.sleep(1000)"))
    status, output = run.finish()
    assert status == 1, output
    assert 'program "nowcast" ended with exit status 1' in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_leaves_nothing(run: Run, number: signal.Signals) -> None:
    run.write(ocean=STUBBORN, nowcast=STUBBORN)
    with run.start() as process:
        assert process.stdout is not None
        while "ready" not in (line := process.stdout.readline()):
            assert line, "couplet run ended early"
        os.kill(process.pid, number)
        process.communicate(timeout=WATCHDOG_S)
        assert process.returncode == 130


def test_mistakes_start_nothing(run: Run) -> None:
    run.write(ocean=WRITER)
    file = run.folder / "coupled.toml"
    file.write_text(file.read_text() + "\n[series.eta]\nslot = 3\n")
    status, output = run.finish()
    assert status == 2
    assert 'unknown key "slot"' in output
    assert 'did you mean "slots"' in output


def columns(shown: str, program: str) -> list[str]:
    """Returns what ``couplet watch`` shows for a program: ranks, host, messages out and in, bytes out and in, ..."""
    line = next(line for line in shown.splitlines() if line.strip().startswith(program))
    return re.split(r"\s{2,}", line.strip())


def test_watch_counts_messages(run: Run) -> None:
    sender = """\
import couplet, numpy, signal
universe = couplet.join("ocean")
for number in range(3):
    universe.group.Send(numpy.arange(10.0), universe.find_rank("nowcast", 0), tag=number)
universe.group.Recv(numpy.zeros(1), tag=9)
"""
    receiver = """\
import couplet, numpy
universe = couplet.join("nowcast")
for number in range(3):
    universe.group.Recv(numpy.zeros(10), tag=number)
print("received", flush=True)
universe.group.Recv(numpy.zeros(1), tag=9)
"""
    run.write(ocean=sender, nowcast=receiver)
    with run.start() as process:
        assert process.stdout is not None
        while "received" not in (line := process.stdout.readline()):
            assert line, "couplet run ended early"
        shown = subprocess.run(
            [COUPLET, "watch", "--once"], env={**run.environment, "COLUMNS": "160"}, capture_output=True, text=True,
            timeout=WATCHDOG_S, check=True,
        ).stdout  # fmt: skip
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=WATCHDOG_S)
    assert columns(shown, "ocean")[3:7] == ["3", "0", "240 B", "0 B"]
    assert columns(shown, "nowcast")[3:7] == ["0", "3", "0 B", "240 B"]


def test_watch_shows_a_running_universe(run: Run) -> None:
    waiting = WRITER.replace("series.close()", 'print("written", flush=True)\n    import time\n    time.sleep(600)')
    run.write(ocean=waiting.replace(' required_readers="nowcast",', ""), nowcast=STUBBORN.replace(
        "import signal, time", "import couplet, signal, time\nuniverse = couplet.join('nowcast')"
    ))  # fmt: skip
    with run.start() as process:
        assert process.stdout is not None
        while "written" not in (line := process.stdout.readline()):
            assert line, "couplet run ended early"
        shown = subprocess.run(
            [COUPLET, "watch", "--once"], env={**run.environment, "COLUMNS": "160"}, capture_output=True, text=True,
            timeout=WATCHDOG_S, check=True,
        ).stdout  # fmt: skip
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=WATCHDOG_S)
    assert "eta" in shown
    assert "ocean" in shown
    assert "50" in shown
    nothing = subprocess.run(
        [COUPLET, "watch", "--once"], env=run.environment, capture_output=True, text=True, timeout=WATCHDOG_S
    )
    assert "no universe" in nothing.stdout


SLOW_READER = """\
import couplet, pathlib, time
from couplet.cli.observe import nodes
def waiting_with(published):
    while True:
        for view in (view for node in nodes() for view in node.series()):
            if view.waits and view.published == published:
                return view
        time.sleep(0.01)
with couplet.join("nowcast") as universe:
    series = universe.open_series("eta")
    waiting_with(published=4)  # perhaps still for this program to open the series
    steps = len(series.read(up_to=1))
    longest_s = waiting_with(published=5).longest_s  # certainly for this reader
    time.sleep(longest_s + 0.1)
    print("read", steps + sum(len(batch) for batch in series.batches(up_to=8)), flush=True)
    while not pathlib.Path("enough").exists():
        time.sleep(0.01)
"""


def test_a_required_program_ends_and_has_not_joined(run: Run) -> None:
    """The others waited until their timeout, and the text blamed one of them."""
    run.write(ocean=WRITER, nowcast="print('nothing to do')")
    started = time.monotonic()
    status, output = run.finish()
    assert status == 1, output
    assert 'program "nowcast" has ended with status 0 and has not joined the universe' in output
    assert "nothing to do" in output
    assert time.monotonic() - started < 20


def test_an_error_is_told_although_many_lines_follow_it(run: Run) -> None:
    """A Fortran program prints a backtrace after the error, which was longer than what is shown."""
    lines = 'print("couplet: COUPLET_ERROR_STEP: step 3 comes after 4", *range(40), sep="\\n")\nraise SystemExit(1)\n'
    run.write(ocean=WRITER, nowcast=lines)
    status, output = run.finish()
    assert status == 1, output
    assert "step 3 comes after 4" in output.split("its last lines:")[1]


def test_it_is_said_for_whom_a_writer_waited(run: Run) -> None:
    run.write(ocean=WRITER, nowcast=SLOW_READER)
    with run.start() as process:
        assert process.stdout is not None
        output = ""
        while "read 50" not in output:
            line = process.stdout.readline()
            assert line, f"couplet run ended early\n{output}"
            output += line
        shown = subprocess.run(
            [COUPLET, "watch", "--once"], env={**run.environment, "COLUMNS": "200"}, capture_output=True, text=True,
            timeout=WATCHDOG_S, check=True,
        ).stdout  # fmt: skip
        (run.folder / "enough").touch()
        output += process.communicate(timeout=WATCHDOG_S)[0]
        assert process.returncode == 0, output
    assert re.search(r"eta.*\d\.\d s +\d+\.\d s for nowcast\.0", shown), shown
    assert re.search(r"series 'eta': ocean waited \d+\.\d s in \d+ waits?, \d+\.\d s for nowcast\.0", output), output


BRIEF_READER = (
    SLOW_READER.split("with couplet")[0]
    + """\
with couplet.join("nowcast") as universe:
    series = universe.open_series("eta")
    series.read(up_to=1)
    waiting_with(published=5)
    time.sleep(1)
    for batch in series.batches():
        pass
"""
)


def test_a_wait_counts_although_the_writer_ends_soon_after_it(run: Run) -> None:
    """The last line said "waited 0.0 s": nobody looked between the end of the wait and that of the writer."""
    run.write(ocean=WRITER.replace("range(50)", "range(6)"), nowcast=BRIEF_READER)
    status, output = run.finish()
    assert status == 0, output
    waited = re.search(r"series 'eta': ocean waited (\d+\.\d) s in \d+ waits?, (\d+\.\d) s for nowcast", output)
    assert waited is not None, output
    assert float(waited[1]) >= 1.0, output
    assert float(waited[2]) >= 1.0, output


TALKER = """\
import couplet, pathlib
def talk(what):
    for number in range(2000):
        print(what, number, "x" * 80, flush=True)
with couplet.join("talker") as universe:
    talk("before")
    folder = pathlib.Path("log")
    while (folder / "filler").exists():
        print("waiting", flush=True)
    talk("after")
"""


def test_a_full_disk_takes_lines_of_a_log_and_nothing_else(run: Run) -> None:
    """The log is in a file system of its own, which is full at first and has room once the program has made some."""
    folder = run.folder / "log"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"a file system may not be mounted here: {mounted.stderr.strip()}")
    try:
        facts = os.statvfs(folder)
        with (folder / "filler").open("wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, (facts.f_bavail - 8) * facts.f_frsize)
        run.write(talker=TALKER, ocean=WRITER, nowcast=READER)
        with run.start() as process:
            assert process.stdout is not None
            output = ""
            while "| waiting" not in output:
                line = process.stdout.readline()
                assert line, output
                output += line
            (folder / "filler").unlink()
            output += process.stdout.read()
            assert process.wait(WATCHDOG_S) == 0, output
        log = (folder / "talker").read_text().splitlines()
    finally:
        subprocess.run(["umount", str(folder)], check=True)
    assert f"{folder}/talker: No space left on device: lines are left out of this log" in output
    assert "nowcast | steps 50" in output
    # A short line can find room that a longer one before it did not: there may be several gaps, each with its count.
    notes = [number for number, line in enumerate(log) if line.startswith("[")]
    assert notes
    assert all(log[note].endswith(" left out here: No space left on device]") for note in notes)
    left_out = sum(int(log[note].split()[0].removeprefix("[")) for note in notes)
    assert [line.split()[:2] for line in log[: notes[0]]] == [["before", str(number)] for number in range(notes[0])]
    assert left_out + len(log) - len(notes) == 4000 + output.count("talker  | waiting")
    assert log[-1].startswith("after 1999 ")
