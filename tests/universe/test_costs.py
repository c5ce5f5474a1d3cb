"""The cost file of the machine changes what the library chooses: eager limits, collective methods, methods of
exchanges; and what happens if the file is bad, is of another machine, or differs between ranks.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from launching import BUILD, World
from needs import built

MakeWorld = Callable[..., World]
PYTHON = [sys.executable, str(Path(__file__).parent / "programs" / "costs.py")]
LANGUAGES = ("python", "cpp")


def command(language: str) -> list[str]:
    return PYTHON if language == "python" else [built(BUILD / "tests" / "programs" / "costs", "cpp")]


def points(*pairs: tuple[int, float]) -> list[dict[str, float]]:
    return [{"bytes": size, "time_s": time_s, "measured_s": 2 * time_s} for size, time_s in pairs]


def costs(**lists: Any) -> dict[str, Any]:
    machine = {"name": "invented", "hosts": [socket.gethostname()]}
    return {"schema": "couplet.cost.machine", "version": 1, "machine": machine, **lists}


def link(name: str, limit: int) -> list[dict[str, Any]]:
    """Curves that cross at ``limit``: up to there, eager is cheaper by far."""
    cheap, dear = 1e-6, 1e-3
    last = max(1 << 20, limit + 2)
    eager = points((limit, cheap), (limit + 1, dear), (last, dear))
    announced = points((limit, dear), (limit + 1, cheap), (last, cheap))
    return [
        {"link": name, "way": "eager", "points": eager},
        {"link": name, "way": "announced", "points": announced},
    ]


def steep_pieces(time_s: float) -> list[dict[str, Any]]:
    steep = [{"bytes": 100, "time_s": 0}, {"bytes": 101, "time_s": time_s}]
    return [{"link": "shm", "way": "pieces", "piece_bytes": 65536, "points": steep}]


def call(name: str, method: str, time_s: float, members: int = 2) -> dict[str, Any]:
    return {"call": name, "method": method, "members": members, "systems": 1, "points": points((8, time_s))}


def exchanges(**times_s: float) -> list[dict[str, Any]]:
    return [{"method": name, "points": points((8, time_s))} for name, time_s in times_s.items()]


@dataclass
class Said:
    """What one rank has printed."""

    counted: str
    methods: dict[str, str]
    table: str
    explained: dict[str, Any]
    errors: str

    @staticmethod
    def of(output: str, errors: str) -> Said:
        head, _, explained = output.partition("EXPLAIN\n")
        methods = {f"{name} {size}": method for name, size, method in re.findall(r"METHOD (\S+) (\S+) (\S+)", head)}
        counted = re.search(r"COUNTED (.*)", head)
        table = head.partition("TABLE\n")[2].partition("END")[0]
        return Said(counted[1] if counted else "", methods, table, json.loads(explained), errors)

    def peer(self, link_name: str) -> dict[str, Any]:
        """The peer with which this link is used."""
        return next(peer for peer in self.explained["peers"] if peer["link"] == link_name)

    def order(self) -> list[str]:
        """The methods of the exchange, as the table lists them."""
        return re.findall(r"^  [ *] (\S+)", self.table, re.MULTILINE)


def run(world: World, language: str, files: list[Path | str], **extra: str) -> list[Said]:
    """Runs a rank with each of these cost files."""
    size = len(files)
    started = [
        world.start([*command(language), str(rank), str(size)], COUPLET_COST_FILE=str(file), **extra)
        for rank, file in enumerate(files)
    ]
    ended = [world.finish(process).check() for process in started]
    return [Said.of(one.output, one.errors) for one in ended]


def write(tmp_path: Path, name: str, document: dict[str, Any]) -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("language", LANGUAGES)
def test_choices_follow_the_file(make_world: MakeWorld, tmp_path: Path, language: str) -> None:
    document = costs(
        links=link("shm", 1000),
        collectives=[
            call("allreduce", "doubling", 9e-6),
            call("allreduce", "ring", 1e-6),
            call("broadcast", "binomial", 5e-6),
            call("broadcast", "ring", 4e-6),
        ],
        exchanges=exchanges(mapped=7e-6, two_sided=3e-6),
        copies=[
            {"way": "cached", "points": points((1000, 1e-6), (1001, 1e-3))},
            {"way": "streaming", "points": points((1000, 1e-3), (1001, 1e-6), (2000, 1e-6))},
        ],
    )
    path = write(tmp_path, "costs.json", document)
    for said in run(make_world("costs:2"), language, [path, path]):
        assert said.methods == {
            "allreduce 8": "ring", "allreduce 1048576": "ring", "broadcast 8": "ring", "scan 8": "linear",
        }  # fmt: skip
        if language == "python":  # the sizes are 8, 1000, 1001, 20000 and 200000
            assert said.counted == "eager 2 announced 3"
        peer = said.peer("shm")
        assert peer["eager_bytes"] == 1000
        assert peer["eager_bytes_from"] == f"cost file {path} of machine 'invented'"
        assert peer["piece_bytes_from"] == "the link"
        streaming = said.explained["streaming_copies"]
        assert streaming == {"above_bytes": "1000", "why": f"cost file {path} of machine 'invented'"}
        assert peer["messages"]["8"] == {"way": "eager", "predicted_us": pytest.approx(1.0)}
        assert peer["messages"]["1048576"]["way"] == "announced"
        assert said.order()[:2] == ["two_sided", "mapped"]
        assert f"in the order of cost file {path} of machine 'invented'" in said.table
        assert re.search(r"two_sided +[0-9.]+ us a round, predicted 3.00 us", said.table)
        collectives = said.explained["collectives"][0]
        assert collectives["table"] == f"cost file {path} of machine 'invented', of rank 0 of the group"
        assert collectives["methods"]["allreduce"]["8"] == {
            "method": "ring", "predicted_us": pytest.approx(1.0), "measured_us": pytest.approx(2.0),
        }  # fmt: skip
        shown = chosen(said)
        assert shown["eager limit of shm"]["value"] == 1000
        assert shown["allreduce of 8 bytes, 2 members on 1 hosts"]["value"] == "ring"
        assert shown["methods of an exchange, longest message 8 bytes"]["value"] == ["two_sided", "mapped"]
        assert said.errors == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_file_the_library_decides(make_world: MakeWorld, language: str) -> None:
    for said in run(make_world("costs:2"), language, ["none", "none"]):
        assert said.methods["allreduce 8"] == "doubling"
        if language == "python":
            assert said.counted == "eager 3 announced 2"
        peer = said.peer("shm")
        assert (peer["eager_bytes"], peer["eager_bytes_from"]) == (16384, "the link")
        assert peer["piece_bytes"] == 1 << 20
        assert said.order()[0] == "mapped"
        assert "in order of the list" in said.table and "predicted" not in said.table
        assert said.explained["costs"] == {"from": "the library", "why": "the setting cost_file is none"}
        assert "streaming_copies" not in said.explained
        assert said.explained["collectives"][0]["table"] == "the library"


def test_settings_count_more_than_the_file(make_world: MakeWorld, tmp_path: Path) -> None:
    pieces = [
        {"link": "tcp", "way": "pieces", "piece_bytes": size, "points": points((4 << 20, 1.0 / size))}
        for size in (65536, 131072)
    ]
    document = costs(links=[*link("tcp", 1000), *pieces], exchanges=exchanges(two_sided=1e-6))
    path = write(tmp_path, "costs.json", document)
    [first, _] = run(make_world("costs:2"), "python", [path, path], COUPLET_LINKS="tcp")
    peer = first.peer("tcp")
    assert (peer["eager_bytes"], peer["piece_bytes"]) == (1000, 131072)
    assert peer["piece_bytes_from"] == f"cost file {path} of machine 'invented'"
    assert first.counted == "eager 2 announced 3"
    forced = {"COUPLET_LINKS": "tcp", "COUPLET_EAGER_BYTES": "20000", "COUPLET_PIECE_BYTES": "70000"}
    forced |= {"COUPLET_STREAMING_BYTES": "77"}
    [first, _] = run(make_world("costs:2"), "python", [path, path], COUPLET_EXCHANGE_METHOD="mapped", **forced)
    peer = first.peer("tcp")
    assert (peer["eager_bytes"], peer["eager_bytes_from"]) == (20000, "the setting eager_bytes")
    assert (peer["piece_bytes"], peer["piece_bytes_from"]) == (70000, "the setting piece_bytes")
    assert first.counted == "eager 4 announced 1"
    assert first.explained["streaming_copies"] == {"above_bytes": "77", "why": "the setting streaming_bytes"}
    assert "the method is pinned" in first.table


def chosen(said: Said) -> dict[str, dict[str, Any]]:
    return {one["choice"]: one for one in said.explained["costs"]["choices"]}


@pytest.mark.parametrize("link_name", ["self", "shm", "tcp"])
def test_explain_shows_the_limits_that_a_program_has(make_world: MakeWorld, tmp_path: Path, link_name: str) -> None:
    """No eager message is longer than a frame, whatever the costs say, and a setting counts more than they do."""
    large = 12834296
    pieces = {"link": link_name, "way": "pieces", "piece_bytes": large, "points": points((4 << 20, 1e-3))}
    path = write(tmp_path, "costs.json", costs(links=[*link(link_name, large), pieces]))
    size = 1 if link_name == "self" else 2
    options = {} if link_name == "self" else {"COUPLET_LINKS": link_name}
    name = f"eager limit of {link_name}"
    for forced, forced_by in (({}, {}), ({"COUPLET_EAGER_BYTES": "1000"}, {"forced_by": "COUPLET_EAGER_BYTES"})):
        said = run(make_world(f"costs:{size}"), "cpp", [path] * size, **options, **forced)[0]
        peer = said.peer(link_name)
        assert peer["eager_bytes"] == (1000 if forced else 1 << 20)
        shown = chosen(said)
        assert shown[name] == {"choice": name, "value": peer["eager_bytes"], "unit": "bytes", **forced_by}
        assert shown[f"message of 65536 bytes over {link_name}"]["value"] == ("announced" if forced else "eager")
        assert shown[f"pieces of a 4 MiB message over {link_name}"]["value"] == peer["piece_bytes"] == 1 << 20


@pytest.mark.parametrize("order", [["mapped", "two_sided"], ["two_sided", "mapped"]], ids="-".join)
def test_the_first_method_that_an_exchange_tries_follows_the_file(
    make_world: MakeWorld, tmp_path: Path, order: list[str]
) -> None:
    times = {order[0]: 1e-6, order[1]: 9e-6}
    path = write(tmp_path, "costs.json", costs(exchanges=exchanges(**times)))
    for said in run(make_world("costs:2"), "python", [path, path]):
        assert said.order()[:2] == order
        assert re.search(rf"{order[0]} +[0-9.]+ us a round, predicted 1.00 us", said.table)
        assert re.search(rf"{order[1]} +[0-9.]+ us a round, predicted 9.00 us", said.table)
        assert f"in the order of cost file {path} of machine 'invented'" in said.table
        assert chosen(said)["methods of an exchange, longest message 8 bytes"]["value"] == order


def test_ranks_with_different_files_agree_on_the_table_of_the_first(make_world: MakeWorld, tmp_path: Path) -> None:
    ring = [call("allreduce", "doubling", 9e-6), call("allreduce", "ring", 1e-6)]
    doubling = [call("allreduce", "doubling", 1e-6), call("allreduce", "ring", 9e-6)]
    first = write(tmp_path, "first.json", costs(collectives=ring, exchanges=exchanges(two_sided=1e-6)))
    other = write(tmp_path, "other.json", costs(collectives=doubling, exchanges=exchanges(mapped=1e-6)))
    for files in ([first, other, "none"], [first, "none", other]):
        said = run(make_world("costs:3"), "cpp", files)
        assert {one.methods["allreduce 8"] for one in said} == {"ring"}
        assert {tuple(one.order()) for one in said} == {tuple(said[0].order())}
        assert said[0].order()[0] == "two_sided"
        for one in said:
            assert one.explained["collectives"][0]["table"].startswith(f"cost file {first}")
            assert f"cost file {first}" in one.table
    said = run(make_world("costs:3"), "cpp", ["none", first, other])
    assert {one.methods["allreduce 8"] for one in said} == {"doubling"}
    assert {one.explained["collectives"][0]["table"] for one in said} == {"the library"}
    assert {one.order()[0] for one in said} == {"mapped"}


def test_a_file_in_the_configuration_directory_is_found(make_world: MakeWorld, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "couplet"
    folder.mkdir(parents=True)
    path = write(folder, "cost.json", costs(links=link("self", 1000)))
    [said] = run(make_world("costs:1"), "python", [""], XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert said.explained["costs"]["from"] == f"cost file {path} of machine 'invented'"
    assert said.explained["costs"]["why"] == "it lies in the default place"
    assert said.peer("self")["eager_bytes"] == 1000
    assert said.counted == "eager 2 announced 3"


def test_a_bad_file_in_the_configuration_directory_is_left_out(make_world: MakeWorld, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "couplet"
    folder.mkdir(parents=True)
    path = write(folder, "cost.json", costs() | {"version": 7})
    [said] = run(make_world("costs:1"), "python", [""], XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert said.explained["costs"]["from"] == "the library"
    assert f"cost file {path}: the file has the schema version 7, and this Couplet reads version 1" in said.errors
    assert "couplet probe --save" in said.errors


def test_a_file_of_another_machine_is_a_warning_by_name(make_world: MakeWorld, tmp_path: Path) -> None:
    document = costs(links=link("self", 1000)) | {"machine": {"name": "tachyon", "hosts": ["n1", "n2"]}}
    path = write(tmp_path, "costs.json", document)
    [said] = run(make_world("costs:1"), "python", [path])
    assert said.peer("self")["eager_bytes"] == 1000
    assert f"cost file {path} was measured on machine 'tachyon', and host '{socket.gethostname()}'" in said.errors
    [said] = run(make_world("costs:1"), "python", [path], COUPLET_MACHINE="tachyon")
    assert said.errors == ""


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "version": (lambda path: path.write_text(json.dumps(costs() | {"version": 2})), "reads version 1"),
    "json": (lambda path: path.write_text("{"), "is not JSON"),
    "missing": (lambda path: None, "No such file or directory"),
    "folder": (lambda path: path.mkdir(), "it is not a file"),
    "huge": (lambda path: path.write_text(" " * (5 << 20)), "at most 4194304 are possible"),
    "negative": (
        lambda path: path.write_text(json.dumps(costs(exchanges=exchanges(mapped=-1e-6)))),
        "exchanges[0].points[0].time_s has to be a number of seconds between 0 and 1000000",
    ),
    "absurd": (
        lambda path: path.write_text(json.dumps(costs(links=steep_pieces(1.7e308)))),
        "links[0].points[1].time_s has to be a number of seconds between 0 and 1000000, not 1.7e+308",
    ),
    "unsorted": (
        lambda path: path.write_text(json.dumps(costs(copies=[{"way": "cached", "points": points((8, 1), (8, 2))}]))),
        "copies[0].points[1] has 8 bytes after 8: the sizes have to increase",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_that_is_named_is_an_error(make_world: MakeWorld, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "costs.json"
    spoil, text = BAD[kind]
    spoil(path)
    world = make_world("costs:1")
    ended = world.finish(world.start([*command("cpp"), "0", "1"], COUPLET_COST_FILE=str(path)))
    assert ended.status == 1
    assert f"cost file {path}: " in ended.errors and text in ended.errors and "couplet probe --save" in ended.errors
