"""What exchanges record in coupled runs, and what `couplet predict` and `couplet place` make of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from launching import BUILD, PROJECT, World
from needs import compiler
from pairs import start_program
from typer.testing import CliRunner

from couplet.cli import app
from couplet.cost import CostError, read_recorded
from couplet.cost.documents import EXCHANGE_RECORD, schema
from couplet.cost.schema import first_mistake

MakeWorld = Callable[..., World]

# Two ranks of coalesced rounds in Python: each prints its report, and closes an exchange that made no round.
CLIENTS = """\
import sys

import numpy as np

import couplet

rank = int(sys.argv[1])
with couplet.join("clients", rank=rank, size=2) as universe:
    with universe.group.create_exchange("only planned") as planned:
        planned.send(np.zeros(7), 1 - rank)
        planned.receive(np.zeros(7), 1 - rank)
        planned.freeze()
    with universe.group.create_step_manager("flow", phases=2) as manager:
        for phase in range(2):
            number = manager.add(f"client {phase}", couplet.Client())
            manager.send(number, np.zeros(100), 1 - rank, phase=phase)
            manager.receive(number, np.zeros(100), 1 - rank, phase=phase)
        manager.freeze()
        for _ in range(10):
            manager.round(timeout=60)
        late = manager.add("late", couplet.Client())
        manager.send(late, np.zeros(50), 1 - rank)
        manager.receive(late, np.zeros(50), 1 - rank)
        manager.amend(manager.round_number)
        for _ in range(10):
            manager.round(timeout=60)
        print(manager.json())
    left_open = universe.group.create_exchange("left open")
    left_open.send(np.zeros(3), 1 - rank)
    left_open.receive(np.zeros(3), 1 - rank)
    left_open.freeze()
    left_open.start()
    left_open.wait()
"""


def predicted(*words: str | Path) -> dict[str, Any]:
    """What `couplet predict --json` prints with the plane of Tachyon I."""
    result = CliRunner().invoke(app, ["predict", "--model", "tachyon1.json", "--json", *map(str, words)])
    assert result.exit_code == 0, result.stderr
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def run_ring(
    make_world: MakeWorld, folder: Path, left: str, right: str, name: str = "exchanging", **extra: str
) -> None:
    """A ring of three ranks in two programs: a message to the right in each round, one to the left in each second."""
    world = make_world("left:2,right:1")
    extra["COUPLET_EXCHANGE_RECORD"] = str(folder)
    started = [
        *start_program(world, left, 2, ["left", "rounds"], name, **extra),
        *start_program(world, right, 1, ["right", "rounds"], name, **extra),
    ]
    for process in started:
        world.finish(process).check()


@pytest.mark.parametrize(
    ("left", "method"),
    [("none", "mapped"), ("openmpi", "two_sided")],
)
def test_a_coupled_run_is_predicted_from_what_it_has_recorded(
    make_world: MakeWorld, tmp_path: Path, left: str, method: str
) -> None:
    folder = tmp_path / "record"
    run_ring(make_world, folder, left, "none", COUPLET_EXCHANGE_METHOD=method)
    lines = [json.loads(line) for file in folder.iterdir() for line in file.read_text().splitlines()]
    assert all(first_mistake(line, schema(EXCHANGE_RECORD)) is None for line in lines)
    assert sorted((line["rank"], line["title"], line["method"]) for line in lines) == [
        (rank, "exchange 'ring'", method) for rank in range(3)
    ]
    found = read_recorded(folder)
    rounds = found.rounds
    right, left_ = numpy.roll(numpy.eye(3), 1, axis=1), numpy.roll(numpy.eye(3), -1, axis=1)
    assert (found.messages == rounds * right + (rounds + 1) // 2 * left_).all()
    assert (found.bytes == rounds * 96 * right + (rounds + 1) // 2 * 72 * left_).all()
    content = predicted("--recorded", folder, "--nodes", "2,1")
    # Inside node 0 are one and a half messages of a round, and three cross between the nodes.
    nodes = content["orders"]["intra_first"]["nodes"]
    assert [(node["processes"], node["pa"], node["pe"]) for node in nodes] == [(2, 0.75, 1.5), (1, 0.0, 1.5)]
    by_bytes = predicted("--recorded", folder, "--nodes", "2,1", "--matrix-unit", "bytes")
    assert by_bytes["orders"]["intra_first"]["nodes"][1]["pe"] == pytest.approx((96 + 36) / 4194304)
    alone = predicted("--recorded", folder, "--program", "left", "--nodes", "1,1")
    left_out = rounds + (rounds + 1) // 2
    assert alone["pattern_notes"][0] == f"{left_out} messages to ranks of other programs are left out"
    assert [node["pe"] for node in alone["orders"]["intra_first"]["nodes"]] == [0.75, 0.75]
    placed = CliRunner().invoke(app, ["place", "--model", "tachyon1.json", "--recorded", str(folder), "--nodes", "2,1"])
    assert placed.exit_code == 0, placed.stderr
    assert placed.stdout.startswith(f"1 exchange of 3 processes as recorded (messages, one round of {rounds})")


def test_a_run_in_fortran_is_recorded_as_well(make_world: MakeWorld, tmp_path: Path) -> None:
    """Its ring has a message each way in each round."""
    run_ring(make_world, tmp_path, "none", "none", "exchanging_in_fortran")
    found = read_recorded(tmp_path, exchange="exchange 'ring'")
    ring = 1 - numpy.eye(3)
    assert (found.messages == found.rounds * ring).all()
    assert found.rounds == 60
    assert (found.bytes[ring == 1] > found.rounds * 24).all()


def test_coalesced_rounds_their_report_and_a_plan_without_rounds(make_world: MakeWorld, tmp_path: Path) -> None:
    folder = tmp_path / "record"
    (tmp_path / "clients.py").write_text(CLIENTS)
    world = make_world("clients:2")
    extra = {"COUPLET_EXCHANGE_RECORD": str(folder)}
    started = [world.start([sys.executable, str(tmp_path / "clients.py"), str(rank)], **extra) for rank in range(2)]
    reports = tmp_path / "reports"
    reports.write_text("".join(world.finish(process).check().output for process in started))
    flow = read_recorded(folder, exchange="coalesce 'flow'")
    # Two phases of twenty rounds, of which the last ten have 50 more elements in the first phase, by another plan.
    assert (flow.rounds, flow.titles) == (20, ("coalesce 'flow'",))
    assert flow.messages.tolist() == [[0, 40], [40, 0]]
    assert flow.bytes.tolist() == [[0, 20 * 1600 + 10 * 400], [20 * 1600 + 10 * 400, 0]]
    of_reports = read_recorded(reports)
    assert (of_reports.rounds, of_reports.titles) == (20, ("coalesce 'flow'",))
    assert (of_reports.messages == flow.messages).all() and (of_reports.bytes == flow.bytes).all()
    assert read_recorded(folder, exchange="exchange 'left open'").bytes.tolist() == [[0, 24], [24, 0]]
    planned = read_recorded(folder, exchange="exchange 'only planned'")
    assert (planned.rounds, planned.messages.tolist(), planned.bytes.tolist()) == (
        0,
        [[0, 1], [1, 0]],
        [[0, 56], [56, 0]],
    )
    pattern = predicted("--recorded", folder, "--exchange", "exchange 'only planned'", "--nodes", "1,1")["pattern"]
    assert pattern == "1 exchange of 2 processes as recorded (messages, as planned)"
    nodes = predicted("--recorded", reports, "--nodes", "1,1")["orders"]["inter_first"]["nodes"]
    assert [node["pe"] for node in nodes] == [2.0, 2.0]
    (folder / "exchanges.1.jsonl").unlink()
    with pytest.raises(CostError, match=r"rank 1 has recorded nothing of exchange 'only planned'; copy the files"):
        read_recorded(folder)


@pytest.mark.parametrize(
    ("value", "text"),
    [("here", "setting 'exchange.record' is 'here'; it has to be the absolute path of a folder"),
     ("/nowhere/at/all", "the folder cannot be made: No such file or directory"),
     ("/dev/null", "setting 'exchange.record' is '/dev/null'; it has to be the absolute path of a folder")],
)  # fmt: skip
def test_a_folder_that_cannot_be_written_is_told_when_a_program_joins(
    make_world: MakeWorld, value: str, text: str
) -> None:
    world = make_world("left:1")
    (process,) = start_program(world, "none", 1, ["left"], "exchanging", COUPLET_EXCHANGE_RECORD=value)
    ended = world.finish(process)
    assert ended.status != 0
    assert text in ended.errors


@pytest.mark.parametrize("what", ["folder", "link", "pipe"])
def test_a_record_that_cannot_be_written_is_a_warning(make_world: MakeWorld, tmp_path: Path, what: str) -> None:
    """The exchange has done its work by then. A link or a pipe that somebody has put there is not written to."""
    file = tmp_path / "exchanges.0.jsonl"
    if what == "folder":
        file.mkdir()
    elif what == "link":
        file.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(file)
    world = make_world("left:1")
    (process,) = start_program(world, "none", 1, ["left"], "exchanging", COUPLET_EXCHANGE_RECORD=str(tmp_path))
    ended = world.finish(process).check()
    why = f"{file} is no regular file" if what == "pipe" else f"cannot open {file}: "
    assert ended.errors.startswith(f"couplet: exchange 'ring' is not recorded: {why}")
    assert not (tmp_path / "elsewhere").exists()


# Two groups with the same members and exchanges of the same name, and coalesced rounds with odd names of clients.
SAME_NAMES = """\
import sys

import numpy as np

import couplet

rank = int(sys.argv[1])
with couplet.join("clients", rank=rank, size=2) as universe:
    groups = [universe.create_group(name, [0, 1]) for name in ("air", "sea")]
    exchanges = [group.create_exchange("a\\\\b") for group in groups]
    for one in exchanges:
        one.send(np.zeros(7), 1 - rank)
        one.receive(np.zeros(7), 1 - rank)
        one.freeze()
    for _ in range(10):
        for one in exchanges:
            one.start()
            one.wait()
    for one in exchanges:
        one.close()
    with universe.group.create_step_manager("flow", merge_messages=False, merge_waits=False) as manager:
        for name in ("ocean", "ocean, plan 7"):
            number = manager.add(name, couplet.Client())
            manager.send(number, np.zeros(10), 1 - rank)
            manager.receive(number, np.zeros(10), 1 - rank)
        manager.freeze()
        for _ in range(5):
            manager.round(timeout=60)
"""


def test_exchanges_of_one_name_are_told_apart(make_world: MakeWorld, tmp_path: Path) -> None:
    folder = tmp_path / "record"
    folder.mkdir()
    (folder / "exchanges.0.jsonl").write_text('{"schema": "couplet.exch')  # a process died while it wrote
    (tmp_path / "program.py").write_text(SAME_NAMES)
    world = make_world("clients:2")
    extra = {"COUPLET_EXCHANGE_RECORD": str(folder)}
    started = [world.start([sys.executable, str(tmp_path / "program.py"), str(rank)], **extra) for rank in range(2)]
    for process in started:
        world.finish(process).check()
    with pytest.raises(CostError, match=r"exchanges.0.jsonl:1:1: is not JSON"):
        read_recorded(folder)
    half, *lines = (folder / "exchanges.0.jsonl").read_text().splitlines()
    assert half == '{"schema": "couplet.exch'  # what was written later is on lines of its own
    (folder / "exchanges.0.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert [json.loads(line)["group"] for line in lines[:2]] == ["air", "sea"]
    found = read_recorded(folder, exchange="exchange 'a\\x5cb'")
    assert (found.rounds, found.messages.tolist()) == (10, [[0, 20], [20, 0]])
    flow = read_recorded(folder, exchange="coalesce 'flow'")
    assert (flow.rounds, flow.messages.tolist()) == (5, [[0, 10], [10, 0]])


LATIN_1 = """\
#include <couplet/couplet.h>
#include <stdlib.h>

int main(int count, char** words) {
  couplet_universe* universe = NULL;
  couplet_group* group = NULL;
  const char* names[] = {"\\xe9t\\xe9", "\\xe0t\\xe0", "\\xc3\\xa9t\\xc3\\xa9"};
  if (count != 1 || words == NULL || couplet_join("alone", NULL, &universe) != COUPLET_OK) return 1;
  if (couplet_universe_group(universe, &group) != COUPLET_OK) return 2;
  for (int i = 0; i < 3; ++i) {
    couplet_exchange* one = NULL;
    if (couplet_exchange_create(group, names[i], NULL, &one) != COUPLET_OK) return 3;
    if (couplet_exchange_freeze(one) != COUPLET_OK || couplet_exchange_close(one) != COUPLET_OK) return 4;
  }
  return couplet_leave(universe) == COUPLET_OK ? 0 : 5;
}
"""


def test_names_that_are_not_utf_8_stay_different(make_world: MakeWorld, tmp_path: Path) -> None:
    """Two names in Latin-1 became the same one, and their rounds added up."""
    (tmp_path / "names.c").write_text(LATIN_1)
    words = ["-I", str(PROJECT / "include"), "-L", str(BUILD / "lib"), f"-Wl,-rpath,{BUILD / 'lib'}", "-lcouplet"]
    command = [compiler("c"), str(tmp_path / "names.c"), "-o", str(tmp_path / "names"), *words]
    subprocess.run(command, check=True)
    world = make_world("alone:1")
    world.finish(world.start([str(tmp_path / "names")], COUPLET_EXCHANGE_RECORD=str(tmp_path))).check()
    titles = [json.loads(line)["title"] for line in (tmp_path / "exchanges.0.jsonl").read_text().splitlines()]
    assert titles == ["exchange '\\xe9t\\xe9'", "exchange '\\xe0t\\xe0'", "exchange '\u00e9t\u00e9'"]
    assert len(read_recorded(tmp_path).titles) == 3


def test_couplet_run_records_without_a_change_of_the_programs(tmp_path: Path) -> None:
    (tmp_path / "clients.py").write_text(
        CLIENTS.replace("int(sys.argv[1])", 'int(__import__("os").environ["COUPLET_RANK"])')
    )
    (tmp_path / "coupled.toml").write_text(
        f'[[program]]\nname = "clients"\ncommand = ["{sys.executable}", "clients.py"]\nranks = 2\n'
    )
    command = [str(Path(sys.executable).parent / "couplet"), "run", "--plain", "--record-exchanges", "record"]
    environment = os.environ | {"COUPLET_EXCHANGE_RECORD": str(tmp_path / "elsewhere")}  # the option counts more
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_recorded(tmp_path / "record", program="clients").process_count == 2
    assert not (tmp_path / "elsewhere").exists()
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert again.stderr == (
        "couplet: --record-exchanges record: has records of another run; give each run a folder of its own\n"
    )
