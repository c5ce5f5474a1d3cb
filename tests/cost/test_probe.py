"""The probe: real runs under both MPIs, what is made of its lines, and the report."""

from __future__ import annotations

import contextlib
import html.parser
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from launching import BUILD
from needs import built, launcher

from couplet.cli.probe import _command as launch_command
from couplet.cli.probe import _run as run_probe
from couplet.cost import CostError, load_measurement
from couplet.cost.documents import MEASUREMENT, schema
from couplet.cost.probe import Collector, Setting, collect, parse_node_file, parse_nodes
from couplet.cost.schema import first_mistake

IS_LONG = "COUPLET_STRESS" in os.environ  # every signal with every launcher
LINES = """\
some launcher says something
couplet-probe 1
mpi Some MPI 1.0
process 0 0 here -1
process 1 1 there 3
cores 4
half_star 2
hot_spot 0
cells 2
cell intra_first 1000 1 1 0 0 1e-3 2e-3 3e-3 2e-3 9e-1
cell inter_first 1000 1 0 0 0 0 0 0
curve inter 8 1e-6 3e-6
done
"""


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A fresh folder, and the probes of the build tree."""
    monkeypatch.setenv("COUPLET_LIBEXEC", str(BUILD / "libexec" / "couplet"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(couplet: Callable[..., Any], flavour: str, *words: str) -> dict[str, Any]:
    """couplet probe with few and small messages; the measurement, which follows its schema."""
    launcher(flavour)
    built(BUILD / "libexec" / "couplet" / f"couplet-probe-{flavour}", "cpp", flavour)
    few = ("--bytes", "16K", "--repetitions", "3", "--warm-up", "1")
    result = couplet("probe", "--launcher", flavour, *few, "--machine", "rehearsed", *words)
    assert result.exit_code == 0, result.stderr
    content: dict[str, Any] = json.loads(Path("measurement.json").read_text())
    assert first_mistake(content, schema(MEASUREMENT)) is None
    assert load_measurement("measurement.json").machine == "rehearsed"
    return content


def counts(content: dict[str, Any], order: str) -> set[tuple[int, ...]]:
    names = ("intra_in", "intra_out", "inter_in", "inter_out")
    return {tuple(cell[name] for name in names) for cell in content["cells"] if cell["order"] == order}


def test_rehearsed_nodes_under_open_mpi(couplet: Callable[..., Any], rehearsal: Path) -> None:
    content: dict[str, Any] = json.loads((rehearsal / "measurement.json").read_text())
    assert first_mistake(content, schema(MEASUREMENT)) is None
    assert load_measurement(rehearsal / "measurement.json").machine == "rehearsed"
    every = {(pa, pa, pe, pe) for pa in range(4) for pe in range(4)}
    assert counts(content, "intra_first") == counts(content, "inter_first") == every
    assert len(content["cells"]) == 32
    assert [process["node"] for process in content["processes"]] == [0] * 4 + [1] * 4
    assert (content["half_star"], content["hot_spots"], content["nodes"]) == (4, [0], "given")
    assert content["machine"]["cores_per_node"] == os.cpu_count()
    assert {curve["name"] for curve in content["curves"]} == {"intra", "inter"}
    assert all(cell["samples"] == 3 for cell in content["cells"])
    full = [cell for cell in content["cells"] if cell["intra_in"] == cell["inter_in"] == 3]
    assert all(cell["node_bytes_per_s"] == pytest.approx(12 * 16384 / cell["median_s"]) for cell in full)
    fitted = couplet("fit", rehearsal / "measurement.json", "--kind", "plane")
    assert fitted.exit_code == 0, fitted.stderr
    assert_page(rehearsal / "report.html", 2)


def test_rehearsed_nodes_under_mpich(couplet: Callable[..., Any], probes: Path) -> None:
    Path("nodes").write_text("# two nodes\n0 1\n0 1\n")
    content = run(couplet, "mpich", "-n", "4", "--node-file", "nodes", "--no-curves")
    assert [process["node"] for process in content["processes"]] == [0, 1, 0, 1]
    cells = {(pa, pa, pe, pe) for pa in range(2) for pe in range(3)}
    assert counts(content, "intra_first") == cells, "enough for a plane, although a node has two ranks"
    assert "curves" not in content


def test_sub_groups_and_unequal_messages(couplet: Callable[..., Any], probes: Path) -> None:
    words = ("-n", "8", "--launcher-option=--oversubscribe", "--nodes", "4,2,2", "--no-curves")
    content = run(couplet, "openmpi", *words, "--sub-groups", "2", "--off-diagonal", "--partners", "packed")
    assert (content["procedure"], content["sub_groups"], content["hot_spots"]) == (2, 2, [0, 2])
    told = (content["partners"], content["nodes"], content["warm_up"], content["repetitions"])
    assert told == ("packed", "given", 1, 3)
    found = counts(content, "inter_first")
    # Two hot spots, each with one partner inside and two outside: all counts are of the whole node.
    assert (2, 2, 4, 4) in found and (2, 0, 0, 0) in found and (0, 0, 4, 2) in found
    assert max(cell[0] for cell in found) == 2


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_two_real_ranks_finish_and_the_fit_says_what_is_missing(
    couplet: Callable[..., Any], probes: Path, flavour: str
) -> None:
    content = run(couplet, flavour, "-n", "2", "--no-curves", "--report", "report.html")
    assert content["nodes"] == "hosts"
    assert {process["host"] for process in content["processes"]} == {os.uname().nodename}
    assert "No model: order intra_first" in Path("report.html").read_text()
    fitted = couplet("fit", "measurement.json")
    assert fitted.exit_code == 2
    assert "beta cannot be told" in fitted.stderr


class Page(html.parser.HTMLParser):
    """What a page has, and what it fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.pictures = self.shapes = self.open = 0
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.pictures += tag == "svg"
        self.shapes += tag in ("path", "use")
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and not re.match(r"#|data:", value or ""):
                self.fetched.append(f"{tag} {name}={value}")
        if tag in ("script", "iframe", "object"):
            self.fetched.append(tag)


def assert_page(path: Path, pictures: int) -> None:
    page = Page()
    page.feed(path.read_text())
    assert page.pictures == pictures
    assert page.shapes > 100
    assert page.fetched == []


def test_a_half_star_without_partners_is_said(couplet: Callable[..., Any], probes: Path) -> None:
    launcher("openmpi")
    words = ("-n", "4", "--launcher-option=--oversubscribe", "--nodes", "2,2", "--no-curves", "--half-star", "50")
    result = couplet("probe", *words, "--bytes", "8", "--repetitions", "1", "--warm-up", "0")
    assert result.exit_code == 0, result.stderr
    assert (
        "note: --half-star 50 asks for up to 49 pairs, and there are partners for 1 inside a node and 2 between nodes"
        in result.stderr
    )


def test_a_folder_that_is_missing_is_named_before_anything_is_measured(
    couplet: Callable[..., Any], probes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the default place of the cost file is in a folder that the command makes."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(probes))
    (probes / "couplet").write_text("a file where a folder has to be\n")
    result = couplet("probe", "--save", "--no-cells")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cost.json: its folder cannot be made: File exists" in result.stderr


def test_lines_become_statistics() -> None:
    content = collect(LINES.splitlines(), Setting(repetitions=5))
    first, second = content["cells"]
    assert (first["minimum_s"], first["median_s"], first["spread_s"]) == (1e-3, 2e-3, pytest.approx(1e-3))
    assert first["outliers_s"] == [0.9]
    assert first["node_bytes_per_s"] == pytest.approx(2000 / 2e-3)
    assert "node_bytes_per_s" not in second
    assert content["machine"] == {"name": "here", "hosts": ["here", "there"], "cores_per_node": 4}
    assert content["curves"] == [{"name": "inter", "points": [{"bytes": 8, "median_s": 2e-6, "minimum_s": 1e-6}]}]


def test_the_options_of_the_run_count_and_not_those_of_the_reader(couplet: Callable[..., Any], probes: Path) -> None:
    told = ("sub_groups 2", "partners packed", "nodes given", "warm_up 7", "repetitions 9", "later unknown")
    own = "".join(f"option {one}\n" for one in told)
    Path("lines").write_text(LINES.replace("couplet-probe 1\n", f"couplet-probe 1\n{own}"))
    result = couplet("probe", "--lines", "lines", "-o", "m.json")
    assert result.exit_code == 0, result.stderr
    content = json.loads(Path("m.json").read_text())
    assert "later" not in content
    names = ("procedure", "sub_groups", "partners", "nodes", "warm_up", "repetitions")
    assert {name: content[name] for name in names} == {
        "procedure": 2, "sub_groups": 2, "partners": "packed", "nodes": "given", "warm_up": 7, "repetitions": 9
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("done\n", "", "ended after 2 of 2 cells, before it was done"),
        ("couplet-probe 1", "couplet-probe 2", "prints version 2, and 1 is read here"),
        ("cells 2", "cells many", 'line 9 of its output makes no sense: "cells many"'),
        ("1000 1 1 0 0 1e-3", "1000 1 1 0", "line 10"), ("9e-1", "nan", "line 10"), ("9e-1", "-1", "line 10"),
        ("0 0 0 0 0 0\n", "0 0 0\n", "line 11"), ("process 1 1 there 3", "process 1 1 there", "line 5"),
        ("cell intra_first", "cell sideways", "order has to be one of"),
        ("curve inter 8 1e-6", "curve inter 8 0", "exclusive|greater than 0"),
    ],
)  # fmt: skip
def test_lines_that_make_no_sense_are_named(old: str, new: str, says: str) -> None:
    assert old in LINES
    with pytest.raises(CostError, match=says):
        collect(LINES.replace(old, new).splitlines(), Setting())


def test_lines_of_a_run_by_hand_are_read(couplet: Callable[..., Any], probes: Path) -> None:
    Path("lines").write_text(LINES)
    result = couplet("probe", "--lines", "lines", "-o", "m.json")
    one_order = "Messages of 1000 bytes: no cell has messages of both kinds, so there is one order only.\n"
    assert (result.exit_code, result.stdout) == (0, f"written: m.json (2 cells)\n{one_order}")
    assert load_measurement("m.json").hosts == ("here", "there")


def test_a_file_that_is_no_output_of_the_probe_is_named(couplet: Callable[..., Any], probes: Path) -> None:
    Path("lines").write_text(LINES.replace("couplet-probe 1\n", ""))
    result = couplet("probe", "--lines", "lines", "-o", "m.json")
    assert result.exit_code == 2 and not Path("m.json").exists()
    assert 'lines: has no line "couplet-probe 1", so it is not what couplet-probe prints' in result.stderr


def test_nodes_are_read() -> None:
    assert parse_nodes("2,1") == [0, 0, 1]
    assert parse_node_file("0, 0 # first\n1\n", "nodes") == [0, 0, 1]
    for text in ("", "a", "0 2", "-1", "0 9999999"):
        with pytest.raises(CostError, match="nodes: "):
            parse_node_file(text, "nodes")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--launcher", "lam"), '--launcher "lam" is not known'),
        (("--mpi", "mpich"), "for --launcher slurm only"),
        (("--partners", "far"), '--partners "far"'),
        (("--bytes", "0"), "greater than 0"),
        (("--nodes", "4,4"), "the nodes have 8 ranks together, and --ranks is 2; give -n 8"),
        *(
            (
                ("--save", "--no-cells", *words),
                f"{words[0]}: has no meaning with --save --no-cells, which measures ways of",
            )
            for words in (
                ("--launcher", "slurm"),
                ("--nodes", "1,1"),
                ("--bytes", "4M"),
                ("--report", "r.html"),
                ("--output", "m.json"),
                ("--no-curves",),
                ("--off-diagonal",),
                ("--mpi", "mpich"),
            )
        ),
        *(
            (("--lines", "nothing", *words), f"{words[0]}: has no meaning with --lines, which starts nothing")
            for words in (("--ranks", "4"), ("--save",), ("--repetitions", "3"), ("--bytes", "4M"))
        ),
        (("--nodes", "1,1", "--node-file", "x"), "one of the two"),
        (("--lines", "nothing"), "nothing: cannot be read"),
        (("--sub-groups", "3"), "--sub-groups 3: node 0 has at most 2 ranks"),
        (("--bytes", "2T"), "--bytes 2T: a message has at most 1073741824 bytes (1G)"),
        (("--repetitions", "2000000"), "--repetitions 2000000: has to be at most 1048576"),
        (("--save", "--repetitions", "10001"), "with --save, at most 10000"),
        (("--machine", "m" * 257), "1 to 256 bytes without control characters"),
        (("--machine", "a\nb"), "control characters"),
        (("--save", "--cost-file", "none"), "the word for no cost file"),
        (("-o", "nowhere/m.json"), "there is no folder nowhere; make it first"),
        (("--report", "nowhere/m.html"), "there is no folder nowhere; make it first"),
        (("--save", "--cost-file", "nowhere/cost.json"), "there is no folder nowhere; make it first"),
        (("-o", "."), "it is a folder"),
        (("-o", "/dev/null"), "it is no regular file"),
        (("-o", "same.html", "--report", "same.html"), "is the file of --output, too"),
    ],
)
def test_a_mistake_is_named_and_leaves_no_file(
    couplet: Callable[..., Any], probes: Path, words: tuple[str, ...], says: str
) -> None:
    launcher("openmpi")
    result = couplet("probe", *words)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "failed with exit status" not in result.stderr  # nothing was started
    assert list(probes.iterdir()) == []


def test_a_launcher_that_is_missing_is_named(
    couplet: Callable[..., Any], probes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("couplet.cli.launch.launcher_executable", lambda name: None)
    result = couplet("probe")
    assert result.exit_code == 2
    assert 'launcher "openmpi" is not installed here; install it, choose another one' in result.stderr


def test_a_probe_that_is_missing_is_named(
    couplet: Callable[..., Any], probes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher("openmpi")
    monkeypatch.setattr("couplet.cli.installation.couplet.__file__", str(probes / "couplet" / "__init__.py"))
    monkeypatch.setenv("COUPLET_LIBEXEC", str(probes))
    result = couplet("probe")
    assert result.exit_code == 2
    assert "couplet-probe-openmpi is not part of this installation" in result.stderr


def test_ranks_that_are_all_alone_are_told(couplet: Callable[..., Any], probes: Path) -> None:
    """A launcher of another MPI starts so many runs of one rank, which print at the same time."""
    both = [line for line in LINES.splitlines() for _ in range(2)]
    Path("lines").write_text("\n".join(both))
    result = couplet("probe", "--lines", "lines", "-o", "new.json")
    assert result.exit_code == 2 and not Path("new.json").exists()
    assert "every rank was alone in its MPI_COMM_WORLD" in result.stderr


def test_a_launcher_may_print_what_is_not_utf_8(
    couplet: Callable[..., Any], probes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lines").write_bytes(b"a warning of \xff\n" + LINES.encode())
    invented = tmp_path / "mpiexec.openmpi"
    invented.write_text(f"#!/bin/sh\nexec cat {tmp_path / 'lines'}\n")
    invented.chmod(0o755)
    monkeypatch.setattr("couplet.cli.launch.launcher_executable", lambda launcher: str(invented))
    result = couplet("probe", "-o", tmp_path / "m.json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads((tmp_path / "m.json").read_text())["cells"]


def test_ranks_that_hang_when_all_is_measured_are_ended(
    couplet: Callable[..., Any], probes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of MPICH may in MPI_Finalize over UCX, if one of them comes late."""
    (tmp_path / "lines").write_text(LINES)
    invented = tmp_path / "mpiexec.mpich"
    invented.write_text(f"#!/bin/sh\ncat {tmp_path / 'lines'}\nexec sleep 1000\n")
    invented.chmod(0o755)
    monkeypatch.setattr("couplet.cli.launch.launcher_executable", lambda launcher: str(invented))
    monkeypatch.setattr("couplet.cli.probe._END_S", 0.2)
    result = couplet("probe", "--launcher", "mpich", "-o", tmp_path / "m.json")
    assert result.exit_code == 0 and "everything is measured, but the ranks did not end" in result.stderr
    assert json.loads((tmp_path / "m.json").read_text())["cells"]


def ranks_with(repetitions: int) -> list[int]:
    """The processes of couplet-probe that were started with so many repetitions."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"couplet-probe-" in words[0] and str(repetitions).encode() in words:
                found.append(int(entry.name))
    return found


def poll(state: Callable[[], Any]) -> Any:
    """What ``state`` returns when it is true; a state that does not come ends with the test's own timeout."""
    while not (value := state()):
        time.sleep(0.05)
    return value


@pytest.mark.stress
@pytest.mark.parametrize(
    ("flavour", "number", "status"),
    [
        *[("openmpi", signal.SIGINT, 130), ("mpich", signal.SIGTERM, 143)],
        *([("mpich", signal.SIGINT, 130), ("openmpi", signal.SIGTERM, 143)] * IS_LONG),
    ],
)
def test_a_probe_that_is_interrupted_leaves_no_process_and_no_file(
    probes: Path, flavour: str, number: signal.Signals, status: int
) -> None:
    launcher(flavour)
    repetitions = 900_000 + os.getpid() % 50_000  # so that its processes are known
    command = [str(Path(sys.executable).parent / "couplet"), "probe", "--launcher", flavour, "-n", "2", "--bytes", "8"]
    process = subprocess.Popen(
        [*command, "--repetitions", str(repetitions)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        poll(lambda: len(ranks_with(repetitions)) == 2)
        process.send_signal(number)
        _, errors = process.communicate()
    finally:
        process.kill()
    assert process.returncode == status, errors
    assert "Traceback" not in errors
    assert "couplet: the probe was interrupted; nothing was written\n" in errors
    poll(lambda: not ranks_with(repetitions))
    assert list(probes.iterdir()) == []


def links_processes(marker: str) -> list[int]:
    """The hub and the probes of a `couplet probe --save` whose variables or words name the folder ``marker``."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name = (entry / "cmdline").read_bytes().split(b"\0")[0].rsplit(b"/")[-1]
            ours = marker.encode() in (entry / "environ").read_bytes()
            if ours and name in (b"couplet-hub", b"couplet-probe-links"):
                found.append(int(entry.name))
    return found


@pytest.mark.stress
@pytest.mark.parametrize("number", [signal.SIGHUP, *([signal.SIGINT, signal.SIGTERM] * IS_LONG)])
def test_a_saving_probe_that_is_interrupted_leaves_no_process_and_no_secret(
    probes: Path, number: signal.Signals
) -> None:
    built(BUILD / "libexec" / "couplet" / "couplet-probe-links", "cpp")
    temporary = probes / "temporary"
    temporary.mkdir()
    command = [str(Path(sys.executable).parent / "couplet"), "probe", "--save", "--no-cells", "-n", "2"]
    process = subprocess.Popen(
        [*command, "--repetitions", "10000", "--cost-file", str(probes / "cost.json")],
        env=os.environ | {"TMPDIR": str(temporary)}, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        poll(lambda: len(links_processes(str(temporary))) >= 2 and list(temporary.glob("couplet-probe-*/secret")))
        process.send_signal(number)
        _, errors = process.communicate()
        assert process.returncode == 128 + number, errors
        assert "Traceback" not in errors
        poll(lambda: not links_processes(str(temporary)))
        assert list(temporary.iterdir()) == []
    finally:
        process.kill()
        for left in links_processes(str(temporary)):
            os.kill(left, signal.SIGKILL)


@dataclass
class Killing(Collector):
    """Kills a rank as soon as the probe begins to measure; a death in MPI_Init can hang Open MPI."""

    repetitions: int = 0

    def line(self, text: str) -> None:
        super().line(text)
        if text.startswith("cells "):
            os.kill(max(ranks_with(self.repetitions)), signal.SIGKILL)


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_a_killed_rank_ends_the_probe_and_is_told(probes: Path, flavour: str) -> None:
    launcher(flavour)
    repetitions = 900_000 + os.getpid() % 50_000
    words = ["--bytes", "8", "--repetitions", str(repetitions)]
    with pytest.raises(CostError, match="couplet-probe failed with exit status"):
        run_probe(launch_command(flavour, None, 2, [], words), Killing(Setting(), repetitions=repetitions))
    poll(lambda: not ranks_with(repetitions))
