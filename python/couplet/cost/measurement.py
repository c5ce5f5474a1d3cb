"""What ``couplet probe`` measured: cells of pairs, posting orders, where each process sat, curves of links."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from couplet.cost.documents import MEASUREMENT, read_document
from couplet.cost.errors import DocumentError
from couplet.cost.loggp import LogGP, from_entry


@dataclass(frozen=True)
class Cell:
    """The times of one cell of the design: so many messages in and out of the hot spot, inside and between nodes."""

    order: str
    message_bytes: int
    intra_in: int
    intra_out: int
    inter_in: int
    inter_out: int
    minimum_s: float
    median_s: float
    spread_s: float | None = None
    node_bytes_per_s: float | None = None

    @property
    def pa(self) -> float:
        """Intra-node pairs: half the intra-node messages."""
        return (self.intra_in + self.intra_out) / 2

    @property
    def pe(self) -> float:
        """Inter-node pairs: half the inter-node messages."""
        return (self.inter_in + self.inter_out) / 2

    @property
    def has_messages(self) -> bool:
        """Whether the hot spot sends or receives anything. If not, the cell says nothing about messages."""
        return self.pa + self.pe > 0

    def seconds(self, statistic: str) -> float:
        """Returns the median or the minimum."""
        return self.minimum_s if statistic == "minimum" else self.median_s


@dataclass(frozen=True)
class Points:
    """The seconds of one message over its size, for one kind of link."""

    name: str
    sizes: tuple[int, ...]
    median_s: tuple[float, ...]
    minimum_s: tuple[float, ...]


@dataclass(frozen=True)
class Measurement:
    """One file of ``couplet probe``."""

    machine: str
    hosts: tuple[str, ...]
    procedure: int
    half_star: int
    cells: tuple[Cell, ...]
    curves: tuple[Points, ...]
    loggp: tuple[LogGP, ...]
    document: dict[str, Any]

    @property
    def message_sizes(self) -> tuple[int, ...]:
        """The message sizes of the cells, in ascending order."""
        return tuple(sorted({cell.message_bytes for cell in self.cells}))

    def select(self, order: str, message_bytes: int) -> list[Cell]:
        """Returns the cells of one posting order and message size."""
        return [cell for cell in self.cells if (cell.order, cell.message_bytes) == (order, message_bytes)]

    @staticmethod
    def from_json(document: dict[str, Any], where: str) -> Measurement:
        """Makes a measurement of a document that follows the schema."""
        cells = []
        for index, entry in enumerate(document["cells"]):
            if entry["minimum_s"] > entry["median_s"]:
                raise DocumentError(f"{where}: cells[{index}]: its minimum is greater than its median")
            cells.append(Cell(**{name: entry[name] for name in Cell.__dataclass_fields__ if name in entry}))
        processes = document["processes"]
        ranks = [process["rank"] for process in processes]
        if sorted(ranks) != list(range(len(ranks))):
            raise DocumentError(f"{where}: processes: their ranks have to be 0 to {len(ranks) - 1}, each once")
        hosts = document["machine"].get("hosts") or sorted({process["host"] for process in processes})
        return Measurement(
            document["machine"]["name"], tuple(hosts), document["procedure"], document["half_star"], tuple(cells),
            tuple(_points(entry, where) for entry in document.get("curves", [])),
            tuple(from_entry(entry) for entry in document.get("loggp", [])), document,
        )  # fmt: skip


def _points(entry: dict[str, Any], where: str) -> Points:
    points = sorted(entry["points"], key=lambda point: point["bytes"])
    sizes = tuple(point["bytes"] for point in points)
    if len(set(sizes)) != len(sizes):
        raise DocumentError(f'{where}: curve "{entry["name"]}": a message size is listed twice')
    columns = (tuple(point[name] for point in points) for name in ("median_s", "minimum_s"))
    return Points(entry["name"], sizes, *columns)


def load_measurement(path: Path | str) -> Measurement:
    """Reads a measurement; DocumentError or SchemaVersionError name file and place."""
    return Measurement.from_json(read_document(Path(path), MEASUREMENT), str(path))
