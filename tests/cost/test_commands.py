"""``couplet fit``, ``predict`` and ``place`` as a user sees them: lines, JSON, files, mistakes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brute_force
import pytest
from synthetic import document
from test_predict import PAPER, published_cost

Couplet = Callable[..., Any]
PREDICT = ("predict", "--model", "tachyon1.json", "--tiles", "4x4", "--nodes", "4,4,2,2,1,1,1,1")
PLACE = ("place", "--model", "tachyon1.json", "--tiles", "4x4", "--nodes", "4,4,2,2,1,1,1,1")
HOSTS = "a 4\nb 4\nc 2\nd 2 speed=2\ne 1\nf 1\ng 1\nh 1\n"


@pytest.fixture(autouse=True)
def in_a_fresh_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def good(result: Any) -> str:
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    return str(result.stdout)


def test_predict_prints_every_node_the_hot_spot_and_both_orders(couplet: Couplet) -> None:
    assert good(couplet(*PREDICT)) == (
        "4x4 tiles, model tachyon1.json of Tachyon I (split)\n"
        "node set 4,4,2,2,1,1,1,1\n"
        "intra_first: cost 0.052138 s, hot spot node 1\n"
        "  node  processes   pa   pe      cost\n"
        "     0          4  2.0  2.0  0.030574\n"
        "     1          4  0.0  6.0  0.052138  <- hot spot\n"
        "     2          2  0.0  4.0  0.036714\n"
        "     3          2  0.0  4.0  0.036714\n"
        "     4          1  0.0  3.0  0.029002\n"
        "     5          1  0.0  3.0  0.029002\n"
        "     6          1  0.5  2.0  0.023193\n"
        "     7          1  0.5  2.0  0.023193\n"
        "inter_first: cost 0.051513 s, hot spot node 1\n"
        "  node  processes   pa   pe      cost\n"
        "     0          4  2.0  2.0  0.030658\n"
        "     1          4  0.0  6.0  0.051513  <- hot spot\n"
        "     2          2  0.0  4.0  0.036495\n"
        "     3          2  0.0  4.0  0.036495\n"
        "     4          1  0.0  3.0  0.028986\n"
        "     5          1  0.0  3.0  0.028986\n"
        "     6          1  0.5  2.0  0.023329\n"
        "     7          1  0.5  2.0  0.023329\n"
    )


@pytest.mark.parametrize("self_messages", ["counted", "ignored"])
def test_predict_as_json_has_the_layout_and_the_counted_numbers(couplet: Couplet, self_messages: str) -> None:
    found = json.loads(good(couplet(*PREDICT, "--json", "--self-messages", self_messages)))
    assert set(found["orders"]) == {"intra_first", "inter_first"}
    ca, ce = brute_force.count(PAPER, brute_force.messages(4, 4, PAPER, range(8), self_messages == "counted"))
    for name, order in found["orders"].items():
        assert set(order) == {"cost", "hot_spot", "nodes"}
        costs = [float(published_cost(name, *pair)) for pair in zip(ca, ce, strict=True)]
        assert order["nodes"] == [
            {"processes": count, "pa": one / 2, "pe": other / 2, "cost": cost}
            for count, one, other, cost in zip(PAPER, ca, ce, costs, strict=True)
        ]
        assert order["cost"] == max(costs)
        assert order["hot_spot"] == costs.index(max(costs))


def test_predict_ranks_several_node_sets(couplet: Couplet) -> None:
    words = (*PREDICT, "--nodes", "4,4,4,4", "--nodes", "16")
    assert good(couplet(*words)).endswith(
        "ranking, inter_first\n"
        "  rank      cost  hot spot         node set\n"
        "     1  0.018468         0          4,4,4,4\n"
        "     2  0.051513         1  4,4,2,2,1,1,1,1\n"
        "     3  0.069168         0               16\n"
    )
    found = json.loads(good(couplet(*words, "--json")))
    assert found["ranking"] == {"intra_first": [1, 0, 2], "inter_first": [1, 0, 2]}
    assert [one["node_set"] for one in found["sets"]] == [list(PAPER), [4, 4, 4, 4], [16]]


def test_predict_with_a_collective_buffer_tells_the_iterations(couplet: Couplet) -> None:
    words = (*PREDICT, "--cb-buffer-size", "16M", "--file-size", "1G")
    assert "  8 iterations of the collective buffer, 0.006517 s for each full one\n" in good(couplet(*words))
    found = json.loads(good(couplet(*words, "--json")))
    assert found["iterations"]["count"] == 8
    assert found["iterations"]["cost"]["intra_first"] == found["orders"]["intra_first"]["cost"] / 8


def test_predict_takes_a_matrix_in_each_of_its_forms(couplet: Couplet) -> None:
    Path("text").write_text("# three processes\n0 1 2\n1, 0, 1\n4 0 0\n")
    Path("rows.json").write_text("[[0, 1, 2], [1, 0, 1], [4, 0, 0]]")
    edges = [[0, 1, 1], [0, 2, 2], [1, 0, 1], [1, 2, 1], [2, 0, 3], [2, 0, 1]]
    Path("edges.json").write_text(json.dumps({"processes": 3, "edges": edges}))
    found = [
        json.loads(good(couplet("predict", "--model", "tachyon1.json", "--matrix", name, "--nodes", "2,1", "--json")))
        for name in ("text", "rows.json", "edges.json")
    ]
    nodes = found[0]["orders"]["intra_first"]["nodes"]
    assert [(node["pa"], node["pe"]) for node in nodes] == [(1.0, 3.5), (0.0, 3.5)]
    assert found[0]["orders"] == found[1]["orders"] == found[2]["orders"]
    assert found[0]["aggregators"] is None
    in_bytes = good(couplet("predict", "--model", "tachyon1.json", "--matrix", "text", "--matrix-unit", "bytes",
                            "--nodes", "2,1"))  # fmt: skip
    assert "0.000" in in_bytes


def test_predict_warns_of_another_machine_on_standard_error_only(couplet: Couplet) -> None:
    result = couplet(*PREDICT, "--machine", "Fugaku", "--json")
    assert result.exit_code == 0
    assert 'couplet: warning: tachyon1.json: was measured on machine "Tachyon I", not on "Fugaku"' in result.stderr
    assert json.loads(result.stdout)["machine"] == "Tachyon I"


def test_fit_writes_a_model_that_predict_takes_and_warns_of(couplet: Couplet) -> None:
    Path("m.json").write_text(json.dumps(document("split", noise_s=1e-5)))
    text = good(couplet("fit", "m.json", "-o", "model.json", "--plot", "fit.svg"))
    assert "split: R^2 1.0000, chosen, breakpoint pa = 2.000 (2.000 to 2.000)" in text
    assert_picture(Path("fit.svg"), "predicted against measured", "residuals", "intra_first: split")
    words = ("predict", "--model", "model.json", "--tiles", "4x4", "--nodes", "4,4,4,4", "--json")
    result = couplet(*words)
    assert 'measured on machine "invented" (invented0, invented1), and ' in result.stderr
    assert json.loads(result.stdout)["orders"]["intra_first"]["cost"] == pytest.approx(0.018332, rel=1e-2)
    assert good(couplet(*words, "--machine", "invented"))
    forced = json.loads(good(couplet("fit", "m.json", "--json", "--kind", "plane")))
    assert forced["orders"]["intra_first"]["kind"] == "plane"


def test_a_message_size_may_be_given_as_in_the_other_commands(couplet: Couplet) -> None:
    Path("m.json").write_text(json.dumps(document("split", noise_s=1e-5)))
    assert "messages of 4194304 bytes" in good(couplet("fit", "m.json", "--message-bytes", "4M"))


def test_place_prints_the_best_order_and_how_it_was_found(couplet: Couplet) -> None:
    text = good(couplet(*PLACE))
    assert "intra_first: cost 0.030574 s, hot spot node 0 (given order: 0.052138 s)\n" in text
    assert "exhaustive search, 420 candidates: no order costs less\n" in text
    assert text.endswith("chosen: intra_first\n")
    found = json.loads(good(couplet(*PLACE, "--json")))
    again = ",".join(str(count) for count in found["orders"]["intra_first"]["node_set"])
    predicted = json.loads(good(couplet(*PREDICT[:-1], again, "--json")))
    assert predicted["orders"]["intra_first"]["cost"] == found["orders"]["intra_first"]["cost"]


def test_place_writes_what_launchers_read(couplet: Couplet) -> None:
    Path("hosts").write_text(HOSTS)
    words = (*PLACE[:-2], "--hosts", "hosts", "--write", "out", "--cb-buffer-size", "4M", "--plot", "place.svg")
    found = json.loads(good(couplet(*words, "--cells", "160", "--json")))
    names, sizes = found["hosts"], found["orders"][found["chosen"]]["node_set"]
    given = {line.split()[0]: int(line.split()[1]) for line in HOSTS.splitlines()}
    assert dict(zip(names, sizes, strict=True)) == given
    read = {path.name: path.read_text() for path in Path("out").iterdir()}
    assert read["openmpi.hostfile"].splitlines() == [f"{n} slots={s}" for n, s in zip(names, sizes, strict=True)]
    assert read["mpich.hosts"].splitlines() == [f"{n}:{s}" for n, s in zip(names, sizes, strict=True)]
    per_process = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    assert read["slurm.hosts"].splitlines() == per_process
    ranks = [line.split() for line in read["openmpi.rankfile"].splitlines()]
    assert [line[1].split("=")[1] for line in ranks] == per_process
    assert [line[1].split("=")[0] for line in ranks] == [str(rank) for rank in range(16)]
    assert "cb_nodes 8\n" in read["romio.hints"] and "cb_buffer_size 4194304\n" in read["romio.hints"]
    assert f"cb_config_list {','.join(f'{name}:1' for name in names)}\n" in read["romio.hints"]
    widths = {name: stop - start for (start, stop), name in zip(found["cells"], per_process, strict=True)}
    assert widths["d"] in (17, 18, 19) and widths["a"] in (8, 9, 10)
    assert_picture(Path("place.svg"), "hot spot node", *given)


def test_the_picture_of_a_placement_has_the_traffic(couplet: Couplet) -> None:
    """Two nodes exchange eight messages; the first has five inside, and the second none, so it has no ring."""
    Path("m").write_text("0 5 3 0\n0 0 1 4\n0 0 0 0\n0 0 0 0\n")
    words = ("place", "--model", "tachyon1.json", "--matrix", "m", "--nodes", "2,2", "--order", "intra_first")
    good(couplet(*words, "--plot", "traffic.svg", "--report", "traffic.html"))
    picture, page = Path("traffic.svg").read_text(), Path("traffic.html").read_text()
    for text in (picture, page):
        assert 'id="inside-0"' in text and 'id="inside-1"' not in text
        widths = {
            name: float(re.findall(r"stroke-width: ([0-9.]+)", text[text.index(f'id="{name}"') :])[0])
            for name in ("inside-0", "between-0-1")
        }
        assert widths["inside-0"] == pytest.approx(widths["between-0-1"] * 5 / 8)
    assert "<td>0</td><td>5</td><td>8</td>" in page
    assert "src=" not in page and "http-equiv" not in page
    assert picture.count("#c02020") == 1 and "aggregators" not in picture  # a matrix has none
    equal = ("place", "--model", "tachyon1.json", "--tiles", "1x2", "--nodes", "1,1", "--plot", "equal.svg")
    good(couplet(*equal))
    assert Path("equal.svg").read_text().count("#c02020") == 2  # both nodes cost the same
    result = couplet(*words, "--matrix-unit", "bytes", "--plot", "traffic.svg")
    assert result.exit_code == 0
    assert "messages of 4194304 bytes: inside a node (rings)" in Path("traffic.svg").read_text()


def test_place_spreads_processes_by_speed(couplet: Couplet) -> None:
    Path("hosts").write_text("slow 16 speed=1\nfast 16 speed=3\n")
    words = (*PLACE[:-2], "--hosts", "hosts", "--processes", "16", "--json")
    found = json.loads(good(couplet(*words)))
    order = found["orders"][found["chosen"]]
    assert dict(zip(found["hosts"], order["node_set"], strict=True)) == {"slow": 4, "fast": 12}


def test_place_of_a_matrix_writes_no_hints(couplet: Couplet) -> None:
    Path("m").write_text("0 9 0\n0 0 0\n9 0 0\n")
    Path("hosts").write_text("a 2\nb 1\n")
    found = json.loads(good(couplet("place", "--model", "tachyon1.json", "--matrix", "m", "--hosts", "hosts", "--write",
                                    "out", "--json")))  # fmt: skip
    assert "out/romio.hints" not in found["written"] and len(found["written"]) == 4


def assert_picture(path: Path, *texts: str) -> None:
    """An SVG with these texts, many shapes, and nothing that is fetched from elsewhere."""
    text = path.read_text()
    root = xml.etree.ElementTree.fromstring(text)
    words = "".join(root.itertext())
    assert all(one in words for one in texts)
    assert sum(1 for _ in root.iter("{http://www.w3.org/2000/svg}path")) > 20
    links = [value for node in root.iter() for key, value in node.attrib.items() if key.endswith("href")]
    assert all(value.startswith("#") for value in links)


def test_the_same_data_give_the_same_picture(couplet: Couplet) -> None:
    for name in ("one.svg", "two.svg"):
        good(couplet(*PREDICT, "--plot", name))
    named = ("4x4 tiles, model of Tachyon I", "node, and below it its processes", "ms")
    assert_picture(Path("one.svg"), "node set 4,4,2,2,1,1,1,1", "intra_first", *named)
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((*PREDICT[:-1], "4,4"), "holds 8 processes, and 4x4 tiles need 16: the numbers have to add up to 16"),
        ((*PREDICT[:-1], "4,x"), 'its entry 2 is "x"'),
        ((*PREDICT, "--matrix", "m"), "--tiles and --matrix were given"),
        ((*PREDICT, "--recorded", "r"), "--tiles and --recorded were given"),
        ((*PREDICT, "--program", "ocean"), '--program "ocean" chooses from what was recorded: give --recorded, too'),
        ((*PLACE, "--exchange", "halo 'eta'"), "--exchange \"halo 'eta'\" chooses from what was recorded"),
        ((*PLACE, "--report", "nowhere/x.html"), "there is no folder nowhere; make it first"),
        (("predict", "--model", "tachyon1.json", "--nodes", "4"), "say which process sends to which"),
        ((*PREDICT, "--self-messages", "maybe"), '--self-messages "maybe" is not known; it is counted or ignored'),
        ((*PREDICT, "--cb-buffer-size", "0"), "greater than 0"),
        ((*PREDICT, "--cb-buffer-size", "4 apples"), '--cb-buffer-size "4 apples"'),
        ((*PREDICT, "--cb-buffer-size", "4M", "--file-size", "-1"), '--file-size "-1"'),
        ((*PREDICT, "--file-size", "2G"), "--file-size 2G: counts only with --cb-buffer-size"),
        ((*PREDICT, "--aggregators", "0,9"), "no node 9"),
        ((*PREDICT, "--aggregators", "a"), "has to be a list of nodes"),
        ((*PREDICT, "--kind", "hinge"), 'no "hinge" fit'),
        ((*PREDICT, "--plot", "picture.png"), "has to end with .svg"),
        (("predict", "--model", "nothing.json", *PREDICT[3:]), "there is no such file; shipped with Couplet"),
        (("predict", "--model", "tachyon1.json", "--matrix", "negative", "--nodes", "2"),
         "negative: the communication matrix: what process 1 sends to process 0 (-3) is negative"),
        (("predict", "--model", "tachyon1.json", "--matrix", "ragged", "--nodes", "2"), "ragged:2: has 1 numbers"),
        (("predict", "--model", "tachyon1.json", "--matrix", "words", "--nodes", "2"), 'words:1: "a" is no number'),
        (("predict", "--model", "tachyon1.json", "--matrix", "underscores", "--nodes", "2"), '"1_0" is no number'),
        (("predict", "--model", "/dev/zero", *PREDICT[3:]), "is a device or a socket"),
        ((*PREDICT, "--plot", "nowhere/x.svg"), "there is no folder nowhere; make it first"),
        (("predict", "--model", "tachyon1.json", "--matrix", "edge.json", "--nodes", "2"), "edges[0] has to be"),
        (("predict", "--model", "tachyon1.json", "--matrix", "negative", "--nodes", "2", "--cb-buffer-size", "4M"),
         "is negative"),
        (("fit", "nothing.json"), "cannot be read"),
        (("fit", "few.json"), "a plane needs at least 4 cells with messages, and there are 2; measure more"),
        ((*PLACE, "--write", "out"), "--write needs the names of the nodes"),
        ((*PLACE, "--cells", "100"), "--cells needs the speeds"),
        ((*PLACE, "--processes", "16"), "--processes needs the room"),
        ((*PLACE, "--hosts", "h"), "one of the two"),
        ((*PLACE, "--order", "random"), '--order "random" is not known'),
        ((*PLACE, "--search", "genetic"), 'search "genetic" is not known'),
        ((*PLACE, "--aggregators", "some"), 'a number of nodes, or "best"'),
        ((*PLACE, "--aggregators", "9"), "1 to 8"),
        (PLACE[:-2], "say which nodes there are"),
        ((*PLACE, "--nodes", "8,8"), "--nodes is given 2 times, and one list of nodes is placed; give one"),
        (("predict", "--model", "few.json", *PREDICT[3:]),
         "few.json: is a measurement, and a model is needed: make one with `couplet fit few.json -o model.json`"),
        (("fit", "few.json", "--message-bytes", "some"), '--message-bytes "some"'),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_status_2(couplet: Couplet, words: tuple[str, ...], says: str) -> None:
    Path("negative").write_text("0 1\n-3 0\n")
    Path("ragged").write_text("0 1\n0\n")
    Path("words").write_text("a b\n")
    Path("underscores").write_text("1_0 2\n3 4\n")
    Path("edge.json").write_text('{"processes": 2, "edges": [[0, 5, 1]]}')
    few = document("split")
    few["cells"] = [cell for cell in few["cells"] if cell["intra_in"] + cell["inter_in"] == 1]
    Path("few.json").write_text(json.dumps(few))
    result = couplet(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert result.stderr.startswith("couplet: ") and result.stderr.count("\n") == 1


def test_the_installed_command_knows_the_shipped_model() -> None:
    command = [str(Path(sys.executable).parent / "couplet"), *PREDICT, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["orders"]["intra_first"]["hot_spot"] == 1
