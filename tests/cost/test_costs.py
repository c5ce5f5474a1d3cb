"""The cost file: what `couplet probe --save` makes of the lines of couplet-probe-links, and what it refuses."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from launching import BUILD
from needs import built

from couplet.cli.probe_links import all_runs
from couplet.cli.probe_links import save as save_measured
from couplet.cli.probe_links import warn as warn_of_doubts
from couplet.cost.documents import MACHINE, VERSION
from couplet.cost.doubts import doubts_of_load, doubts_of_times, other_processes, runnable_processes
from couplet.cost.errors import CostError, DocumentError, SchemaVersionError
from couplet.cost.machine import Collector, default_path, load_costs, prepare_place, save_costs
from couplet.cost.model import load_model
from couplet.cost.tables import link_rows

LINES = [
    "a warning of something else",
    "couplet-probe-links 1",
    "curve link:shm:eager 8 1e-7 2e-7 3e-7",
    "curve link:shm:eager 1024 2e-7 2e-7 9e-7",
    "curve link:shm:announced 8 1e-6 1e-6 1e-6",
    "curve link:tcp:pieces:65536 4194304 1e-3",
    "curve collective:allreduce:ring:4:1 8 5e-6 6e-6",
    "curve exchange:mapped 800 3e-6",
    "curve copy:streaming 1048576 1e-4",
    "done",
]
COMMAND = [str(Path(sys.executable).parent / "couplet")]


def document() -> dict[str, Any]:
    collector = Collector()
    collector.take(LINES, "all")
    return collector.document("tachyon", ["n1"])


def test_lines_become_curves() -> None:
    made = document()
    assert (made["schema"], made["version"], made["machine"]) == (MACHINE, 1, {"name": "tachyon", "hosts": ["n1"]})
    shm, announced, pieces = made["links"]
    assert shm["way"] == "eager" and [point["bytes"] for point in shm["points"]] == [8, 1024]
    assert shm["points"][0] == {"bytes": 8, "time_s": 1e-7, "measured_s": 1e-7}
    assert (announced["way"], pieces["way"], pieces["piece_bytes"]) == ("announced", "pieces", 65536)
    assert made["collectives"][0]["method"] == "ring" and made["collectives"][0]["members"] == 4
    assert made["exchanges"][0]["method"] == "mapped" and made["copies"][0]["way"] == "streaming"


SIZES = [8, 512, 4096, 16384, 65536, 262144, 1048576]


def points_of(seconds: Callable[[int], float], sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """The points of a curve that was measured as ``seconds`` says."""
    collector = Collector()
    lines = [f"curve link:shm:eager {size} {seconds(size):.9e} 1" for size in sizes]
    collector.take(["couplet-probe-links 1", *lines, "done"], "all")
    points: list[dict[str, Any]] = collector.document("x", [])["links"][0]["points"]
    return points


@pytest.mark.parametrize(
    "seconds",
    [
        lambda size: 1e-6 + size * 1e-10 if size <= 16384 else 30e-6 + size * 1e-10,
        lambda size: 1e-6 + size * 5e-11 if size <= 65536 else 1e-6 + size * 1e-9,
        lambda size: 1e-6 if size <= 4096 else 2e-5 + size * 1e-9,
    ],
    ids=["a step", "a cache", "a step and a slope"],
)
def test_a_prediction_is_never_far_from_what_was_measured(seconds: Callable[[int], float]) -> None:
    """One line through all points was off by up to 200 times, and so were the choices."""
    for sizes in (SIZES, [8, 4096, 65536, 1048576]):
        for point in points_of(seconds, sizes):
            assert point["time_s"] == point["measured_s"] == pytest.approx(seconds(point["bytes"]), rel=1e-4)


def test_a_disturbed_point_is_predicted_by_a_longer_message() -> None:
    """What was measured stands beside it."""
    disturbed, *others = points_of(lambda size: 340e-6 if size == 8 else 1e-6 + size * 1e-10)
    assert (disturbed["measured_s"], disturbed["time_s"]) == (340e-6, others[0]["measured_s"])
    assert all(point["time_s"] == point["measured_s"] for point in others)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (LINES[:-1], "ended before it was done: all"),
        (LINES[2:], "couplet-probe-links is not of version"),
        ([*LINES, "curve x"], 'a line makes no sense: "curve x"'),
        ([*LINES, "curve link:shm:eager 8 nan"], "makes no sense"),
        ([*LINES, "curve link:shm:eager 8 -1"], "makes no sense"),
        ([*LINES, "curve link:shm:eager eight 1"], "makes no sense"),
    ],
)
def test_lines_that_make_no_sense_are_quoted(lines: list[str], text: str) -> None:
    with pytest.raises(DocumentError, match="couplet-probe-links") as caught:
        Collector().take(lines, "all")
    assert text in str(caught.value)


def test_unknown_curves_and_no_curves_are_errors() -> None:
    collector = Collector()
    with pytest.raises(CostError, match="nothing was measured"):
        collector.document("x", [])
    collector.take(["couplet-probe-links 1", "curve weather:wet 1 1", "done"], "all")
    with pytest.raises(DocumentError, match="weather:wet"):
        collector.document("x", [])


def test_a_file_is_checked_when_it_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    save_costs(document(), path)
    assert load_costs(path) == json.loads(path.read_text())
    for spoil, error, text in (
        (lambda made: made.update(version=2), SchemaVersionError, "schema version 2"),
        (lambda made: made.update(schema="x"), DocumentError, 'is a "x"'),
        (lambda made: made["links"][0]["points"].reverse(), DocumentError, "have to increase"),
        (lambda made: made["links"][0]["points"][0].update(time_s=-1), DocumentError, "at least 0, not -1"),
        (lambda made: made["links"][2].pop("piece_bytes"), DocumentError, "piece_bytes"),
        (lambda made: made["collectives"][0].update(systems=5), DocumentError, "more systems than members"),
    ):
        made = document()
        spoil(made)
        path.write_text(json.dumps(made))
        with pytest.raises(error) as caught:
            load_costs(path)
        assert text in str(caught.value)
        with pytest.raises(error):
            save_costs(made, path)


QUIET = {
    "link:shm:eager": {8: [1e-6, 1.2e-6], 512: [1.1e-6, 1.2e-6]},
    "link:tcp:eager": {8: [9e-6, 9e-6], 512: [1e-5, 1e-5]},
    "link:file:eager": {8: [1e-3, 1e-3]},
}


@pytest.mark.parametrize(
    ("name", "points", "says"),
    [
        ("link:self:eager", {8: [340e-6] * 3, 512: [1e-6] * 3}, "link:self:eager: 340 us for 8 bytes, and 1 us"),
        ("link:shm:eager", {8: [1e-6, 4e-6, 9e-5]}, "the median of its repetitions is 4 times their minimum"),
        ("link:shm:eager", {8: [2e-5, 2e-5]}, "slower than link:tcp:eager at 8 bytes (20 us and 9 us)"),
        ("link:tcp:eager", {8: [1e-7, 1e-7]}, "link:shm:eager is slower than link:tcp:eager at 8 bytes (1 us and 0.1"),
        ("exchange:mapped", {8: [1e-6, 1e-4, 1e-4]}, "at 8 bytes the median of its repetitions is 100 times"),
    ],
)
def test_times_of_a_host_with_other_load_are_doubted(name: str, points: dict[int, list[float]], says: str) -> None:
    assert doubts_of_times(QUIET) == []
    [doubt] = doubts_of_times(QUIET | {name: points})
    assert says in doubt


def test_other_processes_before_the_measurement_are_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doubts_of_load(2.3, 2, 2) == [
        "before the measurement, 2.3 other processes wanted to run on the 2 cores of this host, and 2 more are measured"
    ]
    assert doubts_of_load(2.3, 2, 8) == doubts_of_load(0.4, 16, 2) == doubts_of_load(None, 2, 1) == []
    texts = {"0.1 0.2 0.3 4/100 77\n": 3, "0 0 0 1/9 7": 0, "0.00 0.00 0.00 0/0 0": None, "": None}
    assert {text: other_processes(text) for text in texts} == texts
    monkeypatch.setattr("couplet.cost.doubts._SAMPLE_S", 0.001)
    found = runnable_processes()
    assert found is None or found >= 0.0


def test_doubts_are_in_the_file_and_on_the_screen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    collector = Collector(doubts=["somebody else was there"])
    collector.take(["couplet-probe-links 1", "curve link:shm:eager 8 1 9 9", "curve link:shm:eager 9 1", "done"], "all")
    save_costs(collector.document("x", []), tmp_path / "cost.json")
    doubts = load_costs(tmp_path / "cost.json")["doubts"]
    assert doubts[0] == "somebody else was there" and len(doubts) == 2
    warn_of_doubts(doubts * 4, tmp_path / "cost.json")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "couplet: warning: somebody else was there"
    assert lines[6] == "couplet: warning: and 2 more, in the file" and len(lines) == 8
    warn_of_doubts([], tmp_path)
    assert capsys.readouterr().err == ""
    assert "doubts" not in document()


def test_latency_and_bandwidth_of_each_link_are_shown() -> None:
    lines = ["couplet-probe-links 1", "curve link:shm:eager 8 2e-7 1e-7", "curve link:shm:eager 1000 1e-6"]
    lines += [
        "curve link:shm:announced 8 5e-6",
        "curve link:shm:announced 1000 4e-7",
        "curve link:self:eager 8 0",
        "done",
    ]
    collector = Collector()
    collector.take(lines, "all")
    assert link_rows(collector.document("x", []))[1:] == [
        ["shm", "0.100", "8", "2.500", "announced", "1000"],
        ["self", "0.000", "8", "-", "-", "0"],
    ]


def test_messages_are_measured_between_two_programs(tmp_path: Path) -> None:
    for run in all_runs(4, tmp_path):
        names = [one.get("COUPLET_PROGRAM") for one in run.identities()]
        if run.what == "messages" and run.ranks == 2:
            assert names == ["first", "second"]
        else:
            assert names == (["probe"] * run.ranks or [None])


def test_only_the_default_place_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DocumentError, match=r"there is no folder .*/new; make it first"):
        save_costs(document(), tmp_path / "new" / "cost.json")
    monkeypatch.delenv("COUPLET_COST_FILE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert prepare_place(None) == tmp_path / "couplet" / "cost.json"
    assert (tmp_path / "couplet").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("COUPLET_COST_FILE", str(tmp_path / "new" / "cost.json"))
    with pytest.raises(DocumentError, match="there is no folder"):
        prepare_place(None)


def test_other_commands_say_what_a_cost_file_is(tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    save_costs(document(), path)
    with pytest.raises(DocumentError, match=r"cost file of `couplet probe --save`, and a model is"):
        load_model(path)


def test_the_default_place_is_that_of_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("COUPLET_COST_FILE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_path() == tmp_path / "couplet" / "cost.json"
    monkeypatch.setenv("COUPLET_COST_FILE", "/somewhere/x.json")
    assert default_path() == Path("/somewhere/x.json")
    monkeypatch.setenv("COUPLET_COST_FILE", "none")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == tmp_path / ".config" / "couplet" / "cost.json"


def couplet(*words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COUPLET_")} | extra
    return subprocess.run([*COMMAND, *words], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--no-cells"], "leaves nothing to measure without --save"),
        (["--cost-file", "x.json"], "give both"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: list[str], text: str) -> None:
    done = couplet("probe", *words)
    assert done.returncode == 2 and text in done.stderr


def invented(tmp_path: Path) -> Path:
    """A cost file with which all messages are eager, large ones go in pieces, and copies never stream."""

    def curve(**names: object) -> dict[str, object]:
        return {**names, "points": [{"bytes": 8, "time_s": 1e-6 if "cheap" in names else 1e-3}]}

    links = [
        curve(link="tcp", way="eager", cheap=True),
        curve(link="tcp", way="announced"),
        curve(link="tcp", way="pieces", piece_bytes=65536),
    ]
    copies = [curve(way="cached", cheap=True), curve(way="streaming")]
    exchanges = [curve(method="mapped"), curve(method="two_sided", cheap=True)]
    machine = {"name": "invented", "hosts": [socket.gethostname()]}
    path = tmp_path / "cost.json"
    document = {"schema": MACHINE, "version": VERSION, "machine": machine, "links": links, "copies": copies}
    path.write_text(json.dumps(document | {"exchanges": exchanges}))
    return path


def explained(path: Path, **extra: str) -> dict[str, str]:
    """The rows of `couplet explain`."""
    built(BUILD / "libexec" / "couplet" / "couplet-costs", "cpp")
    done = couplet("explain", COUPLET_COST_FILE=str(path), COLUMNS="300", **extra)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.strip().split("   ", 1) for line in done.stdout.splitlines()]
    return {row[0].strip(): row[1].strip() for row in rows if len(row) == 2}


def test_explain_shows_choices_with_units(tmp_path: Path) -> None:
    shown = explained(invented(tmp_path))
    assert shown["eager limit of tcp"] == "1048576 bytes"
    assert shown["message of 1048576 bytes over tcp"] == "eager, predicted 1 us"
    assert shown["pieces of a 4 MiB message over tcp"] == "65536 bytes, predicted 1000 us"
    assert shown["copies stream if the target has more than"] == "any number of bytes: they never stream"
    assert shown["methods of an exchange, longest message 8 bytes"] == "two_sided, mapped, predicted 1 us"


def test_a_name_in_a_cost_file_does_not_command_the_terminal(tmp_path: Path) -> None:
    path = invented(tmp_path)
    path.write_text(path.read_text().replace('"invented"', '"\\u001b[31mred"'))
    assert "of machine '\\x1b[31mred'" in explained(path)["costs"]


def test_explain_shows_choices_that_are_forced(tmp_path: Path) -> None:
    forced = {"EAGER_BYTES": "1000", "PIECE_BYTES": "70000", "STREAMING_BYTES": "77", "EXCHANGE_METHOD": "mapped"}
    shown = explained(invented(tmp_path), **{f"COUPLET_{name}": value for name, value in forced.items()})
    assert shown["eager limit of tcp"] == "1000 bytes (COUPLET_EAGER_BYTES)"
    assert shown["message of 1048576 bytes over tcp"] == "announced (COUPLET_EAGER_BYTES), predicted 1000 us"
    assert shown["pieces of a 4 MiB message over tcp"] == "70000 bytes (COUPLET_PIECE_BYTES)"
    assert shown["copies stream if the target has more than"] == "77 bytes (COUPLET_STREAMING_BYTES)"
    assert shown["method of an exchange"] == "mapped (COUPLET_EXCHANGE_METHOD)"


def test_explain_fails_if_a_program_could_not_join(tmp_path: Path) -> None:
    built(BUILD / "libexec" / "couplet" / "couplet-costs", "cpp")
    missing = couplet("explain", COUPLET_COST_FILE=str(tmp_path / "none.json"), COLUMNS="300")
    assert missing.returncode == 1 and "No such file" in missing.stdout
    no_number = couplet("explain", COUPLET_COST_FILE=str(invented(tmp_path)), COUPLET_EAGER_BYTES="many",
                        COLUMNS="300")  # fmt: skip
    assert no_number.returncode == 1 and "'many', which is not a number of bytes" in no_number.stdout


def test_a_doubtful_file_does_not_replace_a_good_one_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The good one is kept beside it, also if several doubtful ones follow."""
    path, before = tmp_path / "cost.json", tmp_path / "cost.json.before"
    made = Collector()
    made.take(LINES, "all")
    monkeypatch.setattr("couplet.cli.probe_links.measure", lambda ranks, repetitions: made)
    made.doubts = []
    monkeypatch.setattr("couplet.cost.machine.doubts_of_times", lambda curves: [])
    save_measured(2, 2, "good", path)
    assert not before.exists() and "doubts" not in load_costs(path)
    good = path.read_bytes()
    made.doubts = ["something else ran"]
    for name in ("first", "second"):
        save_measured(2, 2, name, path)
        assert before.read_bytes() == good
        assert load_costs(path)["machine"]["name"] == name
        assert (
            f"couplet: warning: the file that was there is kept as {before}; to use it again: mv {before} {path}\n"
            in capsys.readouterr().err
        )
    made.doubts = []
    save_measured(2, 2, "quiet", path)
    assert before.read_bytes() == good and "kept" not in capsys.readouterr().err
    made.doubts = ["something else ran"]
    before.unlink()
    path.write_bytes(b"\xff is not UTF-8")  # what is no cost file is kept, too, and does not cost the measurement
    save_measured(2, 2, "third", path)
    assert before.read_bytes() == b"\xff is not UTF-8" and load_costs(path)["machine"]["name"] == "third"
