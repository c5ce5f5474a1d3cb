"""Reads and writes the JSON files of the cost model: schema and version first, then every field, then numbers."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from couplet.cost.errors import DocumentError, SchemaVersionError
from couplet.cost.schema import Document, first_mistake

MODEL = "couplet.cost.model"
MEASUREMENT = "couplet.cost.measurement"
MACHINE = "couplet.cost.machine"
EXCHANGE_RECORD = "couplet.exchange.record"
VERSION = 1
_KINDS = {
    MODEL: "a model",
    MEASUREMENT: "a measurement",
    MACHINE: "a cost file of `couplet probe --save`",
    EXCHANGE_RECORD: "a record of exchanges",
}
_SOURCES = {
    MODEL: "make one of a measurement, as with `couplet fit measurement.json -o model.json`",
    MEASUREMENT: "`couplet probe` writes one, as measurement.json",
    MACHINE: "`couplet probe --save` writes one",
    EXCHANGE_RECORD: "`couplet run --record-exchanges` writes them",
}
MAX_DOCUMENT_BYTES = 256 << 20
MAX_INTEGER = 1 << 62
_MAX_EXACT = 1 << 53


@cache
def schema(name: str, version: int = VERSION) -> Document:
    """Returns the JSON Schema of one of the names above, such as ``couplet.cost.model``."""
    file = resources.files("couplet.cost") / "schemas" / f"{name.rpartition('.')[2]}-{version}.json"
    loaded: Document = json.loads(file.read_text(encoding="utf-8"))
    return loaded


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number that JSON has")


def _bounded(text: str) -> int:
    value = int(text)
    if abs(value) > MAX_INTEGER:
        raise ValueError(f"a number of {len(text)} digits is too large")
    return value


def _finite(text: str) -> float | int:
    """A number with a point or an exponent; JSON makes no difference between 8.0 and 8."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large")
    return int(value) if value.is_integer() and abs(value) <= _MAX_EXACT else value


def read_text(path: Path) -> str:
    """Returns the text of a file or pipe of at most MAX_DOCUMENT_BYTES; DocumentError says why if it cannot be read."""
    try:
        kind = path.stat().st_mode
        if stat.S_ISCHR(kind) or stat.S_ISBLK(kind) or stat.S_ISSOCK(kind):
            raise DocumentError(f"{path}: is a device or a socket; give a file or a pipe")
        with path.open("rb") as file:
            content = file.read(MAX_DOCUMENT_BYTES + 1)
        if len(content) > MAX_DOCUMENT_BYTES:
            raise DocumentError(
                f"{path}: is larger than {MAX_DOCUMENT_BYTES} bytes, so it is no file of the cost model"
            )
        return content.decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path}: is not text in UTF-8") from error


def parse(text: str, where: str) -> Any:
    """Returns what a JSON text holds; numbers are finite."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded)
    except json.JSONDecodeError as error:
        raise DocumentError(f"{where}:{error.lineno}: is not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{where}: is not JSON that can be used: {error}") from error


def read_document(path: Path, name: str) -> Document:
    """Reads a file that has to follow the schema ``name``.

    Raises SchemaVersionError for another version and DocumentError for everything else, with file and place.
    """
    document = parse(read_text(path), str(path))
    check_document(document, name, str(path))
    assert isinstance(document, dict)
    return document


def check_document(document: object, name: str, where: str) -> None:
    """Raises DocumentError or SchemaVersionError if a document does not follow the schema ``name``."""
    if not isinstance(document, dict) or not isinstance(document.get("schema"), str):
        raise DocumentError(f'{where}: has no "schema"; a file of the cost model begins with "schema": "{name}"')
    if document["schema"] != name:
        found = _KINDS.get(document["schema"], f'a "{document["schema"]}"')
        if (document["schema"], name) == (MEASUREMENT, MODEL):
            source = f"make one with `couplet fit {where} -o model.json`"
        else:
            source = _SOURCES[name]
        raise DocumentError(f"{where}: is {found}, and {_KINDS[name]} is needed: {source}")
    if type(document.get("version")) is not int or document["version"] != VERSION:
        raise SchemaVersionError(
            f"{where}: schema version {document.get('version')} of {name} is not known; this installation reads "
            f"version {VERSION}: make the file again with it, or install the Couplet that wrote the file"
        )
    if mistake := first_mistake(document, schema(name)):
        raise DocumentError(f"{where}: {mistake}")


def check_writable(path: Path) -> None:
    """Raises DocumentError if ``write_text`` could not write ``path`` now. What has to be measured is then not lost."""
    if not path.parent.is_dir():
        raise DocumentError(f"{path}: cannot be written: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise DocumentError(f"{path}: cannot be written: it is a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise DocumentError(f"{path}: cannot be written: it is no regular file, which a new one could replace")
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(descriptor)
        Path(temporary).unlink()
    except OSError as error:
        raise DocumentError(f"{path}: cannot be written: {error.strerror}") from error


def write_text(path: Path, text: str) -> None:
    """Writes a text as ``write_bytes`` does. A byte of a name that is not UTF-8 is written as its number."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file in full or not at all: the old file stays until the new one is complete."""
    check_writable(path)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            Path(temporary).chmod(0o666 & ~mask)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DocumentError(f"{path}: cannot be written: {error.strerror}") from error


def write_document(path: Path, document: Document) -> None:
    """Checks a document against the schema that it names, and writes it."""
    check_document(document, document["schema"], str(path))
    write_text(path, json.dumps(document, indent=2, allow_nan=False) + "\n")
