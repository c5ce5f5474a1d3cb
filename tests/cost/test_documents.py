"""The files of the cost model: what is accepted, and every mistake with file and place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from synthetic import TACHYON, document

from couplet.cost import DocumentError, SchemaVersionError, load_measurement, load_model
from couplet.cost.documents import MEASUREMENT, MODEL, VERSION, schema, write_document
from couplet.cost.schema import first_mistake

Change = Callable[[dict[str, Any]], Any]
SEGMENT = {"min_bytes": 8, "latency_s": 0, "s_per_byte": 0}


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_shipped_model_follows_its_schema_and_comes_back() -> None:
    content = TACHYON.to_json()
    assert first_mistake(content, schema(MODEL)) is None
    assert type(TACHYON).from_json(content, "again") == TACHYON
    assert TACHYON.machine == "Tachyon I"
    assert TACHYON.orders["inter_first"].fit().pieces[1].alpha == 0.00845


def test_a_file_goes_before_a_shipped_model_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = TACHYON.to_json()
    content["machine"]["name"] = "mine"
    write_document(Path("tachyon1.json"), content)
    assert load_model("tachyon1.json").machine == "mine"
    assert load_model(Path("tachyon1.json")).machine == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["tachyon1.json"]


def test_a_good_measurement_is_read(tmp_path: Path) -> None:
    measured = load_measurement(write(tmp_path / "m.json", document("plane")))
    assert (measured.machine, measured.hosts, len(measured.cells)) == ("invented", ("invented0", "invented1"), 128)
    assert measured.message_sizes == (4194304,)


def split(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["orders"]["intra_first"]["fits"]["split"]
    return found


def drop(*keys: str) -> Change:
    def change(content: dict[str, Any]) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop("cells"), 'the document has no "cells"'),
        (lambda c: c.update(version=2), "schema version 2 of couplet.cost.measurement is not known.*reads version 1"),
        (lambda c: c.update(version=True), "schema version True"),
        (lambda c: c.update(version="1"), "schema version 1"),
        (drop("schema"), 'has no "schema"'),
        (lambda c: c.update(schema="couplet.cost.model"), 'is a model, and a measurement is needed'),
        (lambda c: c.update(half_star=0), "half_star has to be at least 1, not 0"),
        (lambda c: c.update(half_star="8"), 'half_star has to be a whole number, not "8"'),
        (lambda c: c.update(half_star=True), "half_star has to be a whole number, not true"),
        (lambda c: c.update(procedure=3), "procedure has to be one of 1, 2, not 3"),
        (lambda c: c["cells"][5].update(median_s=-1), r"cells\[5\].median_s has to be at least 0, not -1"),
        (lambda c: c["cells"][5].update(order="both"), r'cells\[5\].order has to be one of .*, not "both"'),
        (lambda c: c["cells"][5].pop("intra_in"), r'cells\[5\] has no "intra_in"'),
        (lambda c: c["cells"].__setitem__(3, 7), r"cells\[3\] has to be an object, not 7"),
        (lambda c: c["cells"][5].update(minimum_s=9), r"cells\[5\]: its minimum is greater than its median"),
        (lambda c: c.update(processes=[]), "processes needs at least 1 entries, and has 0"),
        (lambda c: c["processes"][0].update(rank=4), "their ranks have to be 0 to 0"),
        (lambda c: c["machine"].update(name=""), "machine.name needs at least 1 characters"),
        (lambda c: c.update(curves=[{"name": "x", "points": []}]), r"curves\[0\].points needs at least 1"),
        (lambda c: c.update(curves=[{"name": "x", "points": [{"bytes": 8, "median_s": 1, "minimum_s": 1}] * 2}]),
         "listed twice"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_measurement_is_named(tmp_path: Path, change: Change, says: str) -> None:
    content = document("plane")
    change(content)
    with pytest.raises(DocumentError, match=says) as caught:
        load_measurement(write(tmp_path / "m.json", content))
    assert str(caught.value).startswith(str(tmp_path / "m.json"))
    assert isinstance(caught.value, SchemaVersionError) == ("schema version" in says)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop("orders", "inter_first"), 'orders has no "inter_first"'),
        (lambda c: c["orders"]["intra_first"].update(kind="hinge"), "intra_first: kind is .hinge., and fits has no"),
        (lambda c: split(c)["pieces"][1].update(min_pa=3), "without a gap"),
        (lambda c: split(c)["pieces"][0].pop("alpha"), r'pieces\[0\] has no "alpha"'),
        (lambda c: split(c).update(pieces=[]), "pieces needs at least 1"),
        (lambda c: split(c)["pieces"][0].update(alpha_interval=[1]), "at least 2"),
        (lambda c: split(c)["pieces"][0].update(alpha_interval=[1, 2, 3]), "may have 2"),
        (lambda c: c.update(message_bytes=0), "message_bytes has to be at least 1"),
        (lambda c: c.update(curves=[{"name": "x", "segments": [SEGMENT, SEGMENT]}]),
         "have to increase"),
        (lambda c: c.update(schema="couplet.cost.measurement"), "a model is needed: make one with `couplet fit .*-o"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_model_is_named(tmp_path: Path, change: Change, says: str) -> None:
    content = TACHYON.to_json()
    change(content)
    with pytest.raises(DocumentError, match=says):
        load_model(write(tmp_path / "model.json", content))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", ":1: is not JSON"), ("[]", 'has no "schema"'), ("7", 'has no "schema"'), ("", "is not JSON"),
        ('{"schema": NaN}', "NaN"), ('{"a": 1e999}', "too large"), ("[" * 100_000, "JSON"),
    ],
)  # fmt: skip
def test_what_is_no_document_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        load_model(write(tmp_path / "model.json", text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DocumentError, match="no such file; shipped with Couplet: tachyon1.json"):
        load_model(tmp_path / "nothing.json")
    with pytest.raises(DocumentError, match="cannot be read: No such file"):
        load_measurement(tmp_path / "nothing.json")
    with pytest.raises(DocumentError, match="cannot be read: Is a directory"):
        load_model(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DocumentError, match="UTF-8"):
        load_model(tmp_path / "bytes")
    for device in ("/dev/zero", "/dev/null"):
        with pytest.raises(DocumentError, match=f"{device}: is a device or a socket; give a file or a pipe"):
            load_model(device)
    monkeypatch.setattr("couplet.cost.documents.MAX_DOCUMENT_BYTES", 2)
    with pytest.raises(DocumentError, match="larger than 2 bytes"):
        load_model(tmp_path / "bytes")


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be written"):
        TACHYON.save(tmp_path / "nowhere" / "model.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DocumentError, match="cannot be written"):
        TACHYON.save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_every_rule_of_the_schemas_is_known() -> None:
    for name in (MODEL, MEASUREMENT):
        content = schema(name, VERSION)
        assert content["title"] == f"{name}, version {VERSION}"
    with pytest.raises(NotImplementedError, match="oneOf"):
        first_mistake(1, {"oneOf": []})
