"""Records of exchanges: what is added up, and every way in which they can be wrong. Real runs: tests/universe."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from couplet.cost import CostError, Matrix, load_model, read_recorded

PROGRAMS = [{"name": "ocean", "size": 2, "first_rank": 0}, {"name": "ice", "size": 1, "first_rank": 2}]


def record(rank: int, sends: dict[int, tuple[int, int]], **changed: Any) -> dict[str, Any]:
    """What a rank has written; ``sends``: for each peer messages and bytes."""
    entries = [
        {"rank": peer, "plan_bytes": 100, "messages": count, "bytes": size} for peer, (count, size) in sends.items()
    ]
    return {
        "schema": "couplet.exchange.record", "version": 1, "run": "00ff", "rank": rank, "programs": PROGRAMS,
        "title": "halo 'eta'", "exchange": "eta", "group": "all", "members": [[0, 3]], "method": "mapped", "rounds": 10,
        "sends": entries, **changed,
    }  # fmt: skip


def write(folder: Path, *records: dict[str, Any]) -> Path:
    for one in records:
        with (folder / f"exchanges.{one['rank']}.jsonl").open("a") as file:
            file.write(json.dumps(one) + "\n")
    return folder


RING = (record(0, {1: (10, 500)}), record(1, {2: (10, 600)}), record(2, {0: (10, 700)}))


def test_messages_and_bytes_are_those_of_a_round(tmp_path: Path) -> None:
    found = read_recorded(write(tmp_path, *RING))
    assert found.messages.tolist() == [[0, 10, 0], [0, 0, 10], [10, 0, 0]]
    pattern = found.pattern()
    assert isinstance(pattern, Matrix)
    assert (pattern.traffic(0, 2, None, 1).ca, pattern.traffic(0, 2, None, 1).ce) == (1, 2)
    by_bytes = found.pattern(unit_bytes=10)
    assert (by_bytes.traffic(0, 2, None, 1).ca, by_bytes.traffic(0, 2, None, 1).ce) == (5, 13)
    assert by_bytes.flows([0, 2, 3], (0, 1)) == [[5, 6], [7, 0]]


def test_an_exchange_of_each_tenth_round_counts_a_tenth(tmp_path: Path) -> None:
    rare = {"title": "halo 'ice'", "exchange": "ice", "rounds": 1, "members": [[0, 2]]}
    folder = write(tmp_path, *RING, record(0, {1: (1, 80)}, **rare), record(1, {0: (1, 80)}, **rare))
    found = read_recorded(folder)
    assert (found.rounds, found.titles) == (10, ("halo 'eta'", "halo 'ice'"))
    assert found.pattern().traffic(1, 1, None, 1).ce == Fraction(22, 10)
    assert found.pattern().describe() == "2 exchanges of 3 processes as recorded (messages, one round of 10)"


def test_an_exchange_that_was_opened_twice_adds_up(tmp_path: Path) -> None:
    found = read_recorded(write(tmp_path, *RING, *RING))
    assert found.rounds == 20
    assert found.pattern().traffic(0, 2, None, 1).ce == 2


def test_exchanges_of_one_name_in_two_groups_are_two(tmp_path: Path) -> None:
    """Rank 1 is in both, and has made ten rounds of either, and not twenty of one."""
    left, right = {"members": [[0, 2]]}, {"members": [[1, 2]]}
    lines = [record(0, {1: (10, 1)}, **left), record(1, {0: (10, 1)}, **left)]
    lines += [record(1, {2: (10, 1)}, **right), record(2, {1: (10, 1)}, **right)]
    found = read_recorded(write(tmp_path, *lines))
    assert found.rounds == 10
    assert found.pattern().traffic(1, 1, None, 1).ce == 4


def test_one_program_counts_its_own_ranks(tmp_path: Path) -> None:
    found = read_recorded(write(tmp_path, *RING), program="ocean")
    assert (found.process_count, found.messages.tolist()) == (2, [[0, 10], [0, 0]])
    assert found.notes == ["10 messages to ranks of other programs are left out"]
    assert read_recorded(tmp_path, program="ice").process_count == 1


def test_a_file_of_all_lines_is_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "all").write_text("\n\n".join(json.dumps(one) for one in RING))
    assert read_recorded(tmp_path / "all").rounds == 10


REPORT = {"name": "flow", "rank": 0, "rounds": 5, "peers": [{"rank": 1, "sent_messages": 5, "sent_bytes": 40}]}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ((), "holds no records; run the programs with COUPLET_EXCHANGE_RECORD"),
        (("[1]",), r"all:1: has to be an object, the record of an exchange on one line"),
        (('{"a": 1',), r"all:1:1: is not JSON"),
        (('{"a": 1}',), "is neither a record of an exchange nor a report of coalesced rounds"),
        ((record(0, {}, version=2),), "schema version 2 of couplet.exchange.record is not known"),
        ((record(0, {}, rounds=-1),), "rounds has to be at least 0, not -1"),
        ((record(0, {1: (-1, 0)}),), r"sends\[0\].messages has to be at least 0, not -1"),
        ((record(3, {}),), "names rank 3, and its programs have 3 ranks together"),
        ((record(0, {7: (1, 1)}),), "names rank 7, and its programs have 3 ranks together"),
        ((record(0, {}, members=[[0, 1], [2, 5]]),), "names rank 6, and its programs have 3 ranks together"),
        ((record(0, {}, members=[[0]]),), r"members\[0\] needs at least 2 entries, and has 1"),
        ((record(0, {}, members=[[1, 2]]),), "rank 0 is no member of its exchange"),
        ((RING[0], record(1, {}, run="0100"), RING[2]), r"has records of 2 runs \(00ff, 0100\)"),
        ((RING[0], record(1, {}, programs=PROGRAMS[:1])), "do not name the same programs"),
        ((record(0, {}, programs=[{"name": "a", "size": 3, "first_rank": 1}]),), "do not follow one another from 0"),
        ((RING[0], RING[2]), "rank 1 has recorded nothing of halo 'eta'; copy the files of all nodes"),
        ((RING[0], REPORT), "has records of exchanges and reports of coalesced rounds; give one kind"),
        ((REPORT,), "rank 1 has recorded nothing of coalesce 'flow'"),
        ((REPORT | {"rounds": 0}, REPORT | {"rank": 1, "rounds": 0}), "its reports are of no round yet"),
        ((RING[0], record(1, {}, rounds=19), RING[2]),
         "rank 0 has recorded 10 rounds of halo 'eta', and rank 1 19: a process was killed, or started again"),
        ((*RING, RING[0]), "rank 0 has recorded 20 rounds of halo 'eta', and rank 1 10"),
        ((record(0, {}, rounds=1e300),), "rounds has to be a whole number, not 1e.300"),
        ((record(0, {}, group=7),), "group has to be a text, not 7"),
        ((REPORT | {"rounds": 1.5},), "its ranks and counts have to be whole numbers of at least 0"),
        ((REPORT | {"peers": [{"rank": 1}]},), "is neither a record of an exchange nor a report"),
        ((REPORT | {"peers": 5},), "is neither a record of an exchange nor a report"),
        ((record(0, {}, members=[[0, 1]], programs=[{"name": "big", "size": 5000, "first_rank": 0}]),),
         "has 5000 processes; at most 4096 are read"),
    ],
)  # fmt: skip
def test_damaged_records_are_named(tmp_path: Path, lines: tuple[str | dict[str, Any], ...], says: str) -> None:
    file = tmp_path / "all"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    with pytest.raises(CostError, match=says):
        read_recorded(file)


def test_what_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(CostError, match=r"has no file exchanges\.\*\.jsonl; the programs write them"):
        read_recorded(tmp_path)
    folder = write(tmp_path, *RING)
    with pytest.raises(CostError, match='--program "air" is none of its programs: ocean, ice'):
        read_recorded(folder, program="air")
    with pytest.raises(CostError, match="--exchange \"halo 'u'\" was not recorded; there are: halo 'eta'"):
        read_recorded(folder, exchange="halo 'u'")
    (tmp_path / "reports").write_text(json.dumps(REPORT))
    with pytest.raises(CostError, match="--program ocean: reports of coalesced rounds do not name programs"):
        read_recorded(tmp_path / "reports", program="ocean")


def small_model(folder: Path, message_bytes: int) -> str:
    document = load_model("tachyon1.json").to_json() | {"message_bytes": message_bytes}
    (folder / f"{message_bytes}.json").write_text(json.dumps(document))
    return str(folder / f"{message_bytes}.json")


def test_seconds_of_another_message_size_are_doubted(couplet: Callable[..., Any], tmp_path: Path) -> None:
    """The ring has messages of 50 to 70 bytes."""
    (tmp_path / "record").mkdir()
    folder = write(tmp_path / "record", *RING)
    assert read_recorded(folder).sizes == (50, 70)
    note = (
        "note: the model holds for messages of 4194304 bytes, and the recorded ones have 50 to 70 bytes: only the "
        "ranking counts, not the seconds; for seconds, measure with `couplet probe --bytes 70`\n"
    )
    for command in ("predict", "place"):
        words = (command, "--recorded", folder, "--nodes", "2,1", "--model")
        for unit in ("messages", "bytes"):
            assert note in couplet(*words, "tachyon1.json", "--matrix-unit", unit).stdout
        assert "note:" not in couplet(*words, small_model(tmp_path, 64), "--matrix-unit", "messages").stdout
        assert "have 50 to 70 bytes" in couplet(*words, small_model(tmp_path, 50)).stdout


def test_one_size_is_said_as_one(couplet: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "record").mkdir()
    folder = write(tmp_path / "record", *(record(one, {(one + 1) % 3: (10, 80)}) for one in range(3)))
    text = couplet("predict", "--recorded", folder, "--nodes", "2,1", "--model", "tachyon1.json").stdout
    assert "and the recorded ones have 8 bytes: only" in text


def test_a_matrix_in_bytes_with_less_than_a_message_is_doubted(couplet: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "m").write_text("0 300\n20000000 0\n")
    words = ("--model", "tachyon1.json", "--matrix", tmp_path / "m", "--nodes", "1,1")
    for command in ("predict", "place"):
        text = couplet(command, *words, "--matrix-unit", "bytes").stdout
        assert "and what a process sends to another one has 300 to 20000000 bytes: only the ranking counts" in text
    (tmp_path / "m").write_text("0 8388608\n20000000 0\n")
    assert "note:" not in couplet("predict", *words, "--matrix-unit", "bytes").stdout


@pytest.mark.parametrize("command", ["predict", "place"])
def test_a_matrix_in_bytes_that_is_taken_for_messages_is_suspected(
    couplet: Callable[..., Any], tmp_path: Path, command: str
) -> None:
    (tmp_path / "m").write_text("0 4194304\n4194304 0\n")
    words = (command, "--model", "tachyon1.json", "--matrix", tmp_path / "m", "--nodes", "1,1")
    text = couplet(*words).stdout
    assert "note: node 0 has 4194304 inter-node pairs (pe), and at most 7 were measured" in text
    assert "note: these are very many messages; if the matrix counts bytes, add --matrix-unit bytes\n" in text
    assert "very many messages" in couplet(*words, "--json").stdout
    assert "note:" not in couplet(*words, "--matrix-unit", "bytes").stdout


def test_groups_of_one_list_of_members_are_told_apart_by_their_names(tmp_path: Path) -> None:
    """Both have ten rounds of an exchange of this name in the same time: they were taken for one with twenty."""
    lines = [record(rank, {1 - rank: (10, 80)}, group=group, members=[[0, 2]]) for group in "ab" for rank in (0, 1)]
    found = read_recorded(write(tmp_path, *lines), program="ocean")
    assert (found.rounds, found.messages.tolist()) == (10, [[0, 20], [20, 0]])


def test_a_member_that_takes_no_part_may_have_made_no_round(tmp_path: Path) -> None:
    """It has no such client of coalesced rounds, for example."""
    lines = [record(0, {1: (10, 80)}), record(1, {0: (10, 80)}), record(2, {}, rounds=0)]
    assert read_recorded(write(tmp_path, *lines)).rounds == 10


def test_a_client_that_is_named_like_a_plan_is_a_part_of_its_own(tmp_path: Path) -> None:
    parts = [", client x", ", client x, plan 7", ", plan 7, client x", ""]
    names = [f"flow, coalesced phase 0{part}" for part in parts]
    lines = [
        record(rank, {1 - rank: (10, 80)}, title="coalesce 'flow'", exchange=name, members=[[0, 2]])
        for name in names for rank in (0, 1)
    ]  # fmt: skip
    # The third one is another plan of the first one's client, so these two have twenty rounds.
    assert read_recorded(write(tmp_path, *lines), program="ocean").rounds == 20
    title = "coalesce 'flow, coalesced phase 0, client y'"
    one = record(0, {}, title=title, exchange="flow, coalesced phase 0, client y, coalesced phase 1", members=[[0, 1]])
    (tmp_path / "one").write_text(json.dumps(one))
    assert read_recorded(tmp_path / "one").titles == (title,)


def test_a_name_may_have_any_character(couplet: Callable[..., Any], tmp_path: Path) -> None:
    """Python would end a line at some of them, and a terminal would follow an escape."""
    title = "halo 'a\x85b\u2028c\u2029d\x1b[2J\r'"
    lines = [record(rank, {(rank + 1) % 3: (10, 80)}, title=title) for rank in range(3)]
    (tmp_path / "all").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    assert read_recorded(tmp_path / "all").titles == (title,)
    words = ("predict", "--model", "tachyon1.json", "--recorded", tmp_path / "all", "--nodes", "3", "--exchange", "x")
    assert "there are: halo 'a\\x85b\\u2028c\\u2029d\\x1b[2J\\r'\n" in couplet(*words).stderr


def test_8_and_8_0_are_the_same_number(couplet: Callable[..., Any], tmp_path: Path) -> None:
    lines = [json.dumps(one) for one in RING]
    (tmp_path / "record").mkdir()
    (tmp_path / "all").write_text("\n".join(lines).replace('"rank": 1', '"rank": 1.0').replace("100", "1e2"))
    assert read_recorded(tmp_path / "all").messages.tolist() == [[0, 10, 0], [0, 0, 10], [10, 0, 0]]
    model = Path(small_model(tmp_path, 1024))
    model.write_text(model.read_text().replace('"message_bytes": 1024', '"message_bytes": 1024.0'))
    words = ("predict", "--model", model, "--recorded", tmp_path / "all", "--matrix-unit", "bytes", "--nodes", "3")
    assert couplet(*words).exit_code == 0


def test_what_was_sent_in_millions_of_rounds_is_counted_exactly(tmp_path: Path) -> None:
    rounds, size = 4_000_000, 6_000_001
    lines = [record(rank, {(rank + 1) % 3: (rounds, rounds * size * 100)}, rounds=rounds) for rank in range(3)]
    found = read_recorded(write(tmp_path, *lines)).pattern(unit_bytes=size)
    assert found.flows([0, 1, 2, 3], (0, 1, 2)) == [[0, 100, 0], [0, 0, 100], [100, 0, 0]]


@pytest.mark.parametrize("inside", [True, False])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, inside: bool) -> None:
    os.mkfifo(tmp_path / "exchanges.0.jsonl")
    with pytest.raises(CostError, match="is no regular file, and records are"):
        read_recorded(tmp_path if inside else tmp_path / "exchanges.0.jsonl")


@pytest.mark.parametrize("name", ["n" * 300, "loop", "loop/x"])
def test_a_name_that_no_file_can_have_is_a_sentence(
    couplet: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    (tmp_path / "record").mkdir()
    folder = write(tmp_path / "record", *RING)
    words = ("--model", "tachyon1.json", "--nodes", "2,1")
    for command in (
        ("predict", *words, "--recorded", name), ("predict", *words, "--matrix", name),
        ("place", *words, "--recorded", folder, "--report", f"{name}.html"),
        ("place", *words[:2], "--recorded", folder, "--hosts", name), ("fit", name),
        ("predict", "--model", name, "--recorded", folder, "--nodes", "2,1"), ("probe", "--lines", name),
    ):  # fmt: skip
        result = couplet(*command)
        if result.exit_code == 0:
            assert name.startswith("loop") and Path("loop.html").is_file()
            continue
        assert result.exit_code == 2 and isinstance(result.exception, SystemExit), command
        assert result.stderr.startswith("couplet: ") and result.stderr.count("\n") == 1
