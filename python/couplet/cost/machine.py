"""The cost file of a machine: the curves of Couplet's own ways, from which the library makes its choices.

The library reads the file when a program joins (``src/runtime/cost_file.cpp``); this module makes it of what
``couplet-probe-links`` printed, and checks it. Format: docs/formats/cost.md.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from couplet.cost.documents import MACHINE, VERSION, check_document, check_writable, read_document, write_document
from couplet.cost.doubts import doubts_of_times
from couplet.cost.errors import CostError, DocumentError
from couplet.cost.schema import Document

LINKS_VERSION = "1"
# The library reads no longer name of a machine or a host.
MAX_NAME_BYTES = 256
_LISTS = ("links", "copies", "collectives", "exchanges")


def default_path() -> Path:
    """Returns where the library looks for the file: COUPLET_COST_FILE, else the user's configuration directory."""
    named = os.environ.get("COUPLET_COST_FILE", "")
    if named and named != "none":
        return Path(named)
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(folder) if folder.startswith("/") else Path.home() / ".config"
    return base / "couplet" / "cost.json"


@dataclass
class Collector:
    """Takes the lines of couplet-probe-links, run after run; the curves of all runs go into one file.

    ``doubts``: what is to be said of the measurement besides that which its times show.
    """

    curves: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def take(self, lines: Iterable[str], what: str) -> None:
        """Takes the lines of one run. Raises DocumentError, which names ``what``, if a line is of an unknown form."""
        version = done = False
        for line in lines:
            words = line.split()
            if words[:1] == ["couplet-probe-links"]:
                version = words[1:] == [LINKS_VERSION]
            elif words[:1] == ["done"]:
                done = True
            elif words[:1] == ["curve"]:
                self._curve(words, line, what)
        if not version:
            raise DocumentError(f"{what}: couplet-probe-links is not of version {LINKS_VERSION}")
        if not done:
            raise DocumentError(f"couplet-probe-links ended before it was done: {what}")

    def _curve(self, words: list[str], line: str, what: str) -> None:
        try:
            name, size, times = words[1], int(words[2]), [float(word) for word in words[3:]]
        except (ValueError, IndexError) as error:
            raise DocumentError(f'couplet-probe-links: {what}: a line makes no sense: "{line.strip()[:80]}"') from error
        if not times or size < 0 or not all(0.0 <= time < float("inf") for time in times):
            raise DocumentError(f'couplet-probe-links: {what}: a line makes no sense: "{line.strip()[:80]}"')
        self.curves.setdefault(name, {})[size] = times

    def document(self, machine: str, hosts: Sequence[str]) -> Document:
        """Returns the cost file; CostError if nothing was measured."""
        if not self.curves:
            raise CostError("nothing was measured, so there is no cost file to write")
        document: Document = {
            "schema": MACHINE,
            "version": VERSION,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "program": "couplet-probe-links",
            "machine": {"name": machine, "hosts": list(hosts)},
        }
        doubts = self.doubts + doubts_of_times(self.curves)
        document |= {"doubts": doubts} if doubts else {}
        document |= {name: [] for name in _LISTS}
        for name, points in self.curves.items():
            key, entry = _entry(name)
            document[key].append(entry | {"points": _points(points)})
        check_costs(document, "couplet-probe-links")
        return document


def _entry(name: str) -> tuple[str, Document]:
    """The list to which a curve belongs, and what the entry says of it, from a name such as ``link:shm:eager``."""
    words = name.split(":")
    if words[0] == "link" and len(words) == 3:
        return "links", {"link": words[1], "way": words[2]}
    if words[0] == "link" and len(words) == 4 and words[2] == "pieces":
        return "links", {"link": words[1], "way": "pieces", "piece_bytes": int(words[3])}
    if words[0] == "copy" and len(words) == 2:
        return "copies", {"way": words[1]}
    if words[0] == "exchange" and len(words) == 2:
        return "exchanges", {"method": words[1]}
    if words[0] == "collective" and len(words) == 5:
        entry = {"call": words[1], "method": words[2], "members": int(words[3]), "systems": int(words[4])}
        return "collectives", entry
    raise DocumentError(f'couplet-probe-links: there is no kind of curve "{name}"')


def _points(times: dict[int, list[float]]) -> list[Document]:
    """The points of a curve: what was measured, and what is predicted from it.

    The least time is what was measured: other processes on the host make a wait longer, by a thousand times for a short
    message, and never shorter. So a message is predicted to take no longer than a longer one took.
    """
    sizes = sorted(times)
    least_s = [min(times[size]) for size in sizes]
    predicted_s = list(accumulate(reversed(least_s), min))[::-1]
    return [
        {"bytes": size, "time_s": _rounded(predicted), "measured_s": _rounded(measured)}
        for size, predicted, measured in zip(sizes, predicted_s, least_s, strict=True)
    ]


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.5g}")


def check_costs(document: Document, where: str) -> None:
    """Raises DocumentError or SchemaVersionError if a document is no cost file that the library can read."""
    check_document(document, MACHINE, where)
    for name in _LISTS:
        for index, entry in enumerate(document.get(name, [])):
            place = f"{where}: {name}[{index}]"
            sizes = [point["bytes"] for point in entry["points"]]
            if any(left >= right for left, right in zip(sizes, sizes[1:], strict=False)):
                raise DocumentError(f"{place}: the sizes of its points have to increase")
            if entry.get("way") == "pieces" and "piece_bytes" not in entry:
                raise DocumentError(f'{place} has no "piece_bytes"')
            if name == "collectives" and entry["systems"] > entry["members"]:
                raise DocumentError(f"{place}: there are more systems than members")


def load_costs(path: Path | str) -> Document:
    """Reads a cost file; DocumentError or SchemaVersionError name file and place."""
    document = read_document(Path(path), MACHINE)
    check_costs(document, str(path))
    return document


def prepare_place(path: Path | None) -> Path:
    """Returns where a cost file will be written: ``path``, or the default place.

    The folder in the user's configuration directory is made if need be. Raises DocumentError if the file could not be
    written.
    """
    chosen = path or default_path()
    if path is None and os.environ.get("COUPLET_COST_FILE", "") in ("", "none"):
        try:
            chosen.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DocumentError(f"{chosen}: its folder cannot be made: {error.strerror}") from error
    check_writable(chosen)
    return chosen


def save_costs(document: Document, path: Path) -> None:
    """Writes a cost file."""
    check_costs(document, str(path))
    write_document(path, document)


def count_of_curves(document: Document) -> dict[str, int]:
    """Returns how many curves there are of each kind."""
    counted: dict[str, Any] = {name: len(document.get(name, [])) for name in _LISTS}
    return counted
