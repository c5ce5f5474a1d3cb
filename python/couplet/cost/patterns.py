"""Patterns: who sends how many messages to whom, when processes fill nodes in list order.

A pattern answers two questions in constant time, whatever the placement: how many messages a run of consecutive
processes exchanges inside its node (ca), and how many with other nodes (ce). A process that sends to a process of its
own node adds 1 to the node's ca; any other message adds 1 to the ce of the sender's node and of the receiver's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy

from couplet.cost.documents import parse, read_text
from couplet.cost.errors import CostError, DocumentError

MAX_PROCESSES = 1 << 20
MAX_MATRIX_PROCESSES = 4096
MAX_SUM = 2**53  # sums below are exact in floating point
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf)", re.IGNORECASE)


@dataclass(frozen=True)
class Traffic:
    """The messages of one node: inside it, and with other nodes."""

    ca: Fraction
    ce: Fraction


class Pattern(Protocol):
    """What a prediction needs of an exchange."""

    @property
    def process_count(self) -> int: ...
    @property
    def uses_aggregators(self) -> bool: ...
    @property
    def message_unit(self) -> str:
        """What the messages are called in a picture: ``messages``, or ``messages of N bytes`` if bytes are counted."""
        ...

    def describe(self) -> str: ...
    def traffic(self, start: int, count: int, domain: int | None, domain_count: int) -> Traffic:
        """Returns the messages of the node with processes start .. start + count - 1.

        domain: the file domain that the node's aggregator has, or None; domain_count: of the whole file. A pattern
        without aggregators ignores both.
        """
        ...

    def flows(self, starts: Sequence[int], aggregators: Sequence[int]) -> list[list[Fraction]]:
        """Returns the messages from each node (row) to each node (column).

        Node n has the processes starts[n] .. starts[n + 1] - 1. aggregators: the nodes that have one, by file domain.
        """
        ...

    def min_messages(self, count: int, domain_count: int) -> Fraction:
        """Returns a number that ca + ce of a node with ``count`` processes cannot be below, wherever it is placed."""
        ...

    def max_messages(self, count: int, domain_count: int) -> Fraction:
        """Returns a number that ca + ce of a node with ``count`` processes cannot be above, wherever it is placed."""
        ...


def _share(value: int, low: int, high: int, count: int) -> int:
    """How many of value .. value + count - 1 lie in low .. high - 1."""
    return max(0, min(value + count, high) - max(value, low))


class Tiles:
    """Two-phase collective I/O of a rows x columns array of tiles, one per process, over a row-major file.

    The file is cut into as many equal contiguous file domains as there are aggregators. Each overlap of a process's
    tile and a domain is one message from the process to the aggregator of that domain. A row of tiles is many rows of
    the file, so a domain overlaps all tiles of each row of tiles that it touches.

    The aggregator of a node is its first process. With ``count_self_messages`` off, what an aggregator sends to itself
    is left out.
    """

    def __init__(self, rows: int, columns: int, count_self_messages: bool = True) -> None:
        if rows < 1 or columns < 1:
            raise CostError(f"the tiles {rows}x{columns} have to be at least 1x1")
        if rows * columns > MAX_PROCESSES:
            raise CostError(
                f"{rows}x{columns} tiles are {rows * columns} processes; at most {MAX_PROCESSES} are counted"
            )
        self.rows, self.columns, self.count_self_messages = rows, columns, count_self_messages
        self.message_unit = "messages"
        self._sent: dict[int, list[int]] = {}

    @property
    def process_count(self) -> int:
        return self.rows * self.columns

    @property
    def uses_aggregators(self) -> bool:
        return True

    def describe(self) -> str:
        return f"{self.rows}x{self.columns} tiles"

    def row_range(self, domain: int, domain_count: int) -> tuple[int, int]:
        """Returns the rows of tiles [first, last) that a domain overlaps."""
        return domain * self.rows // domain_count, -(-(domain + 1) * self.rows // domain_count)

    def domains_of_row(self, row: int, domain_count: int) -> int:
        """Returns how many domains a row of tiles overlaps: so many messages each of its processes sends."""
        return -(-(row + 1) * domain_count // self.rows) - row * domain_count // self.rows

    def _sent_before(self, process: int, domain_count: int) -> int:
        """How many messages the processes 0 .. process - 1 send."""
        if domain_count not in self._sent:
            each = (self.domains_of_row(row, domain_count) for row in range(self.rows))
            self._sent[domain_count] = [0, *accumulate(each)]
        before, (row, column) = self._sent[domain_count], divmod(process, self.columns)
        part = column * (before[row + 1] - before[row]) if column else 0
        return self.columns * before[row] + part

    def traffic(self, start: int, count: int, domain: int | None, domain_count: int) -> Traffic:
        sent = self._sent_before(start + count, domain_count) - self._sent_before(start, domain_count)
        if domain is None:
            return Traffic(Fraction(0), Fraction(sent))
        first_row, last_row = self.row_range(domain, domain_count)
        first, last = first_row * self.columns, last_row * self.columns
        inside = _share(start, first, last, count)
        other = sent - inside + (last - first) - inside
        to_itself = 0 if self.count_self_messages else _share(start, first, last, 1)
        return Traffic(Fraction(inside - to_itself), Fraction(other))

    def flows(self, starts: Sequence[int], aggregators: Sequence[int]) -> list[list[Fraction]]:
        nodes = range(len(starts) - 1)
        found = [[Fraction(0)] * len(nodes) for _ in nodes]
        for domain, target in enumerate(aggregators):
            first, last = (row * self.columns for row in self.row_range(domain, len(aggregators)))
            for node in nodes:
                found[node][target] += _share(starts[node], first, last, starts[node + 1] - starts[node])
            if not self.count_self_messages:
                found[target][target] -= _share(starts[target], first, last, 1)
        return found

    def min_messages(self, count: int, domain_count: int) -> Fraction:
        fewest = min(self.domains_of_row(row, domain_count) for row in range(self.rows))
        return Fraction(max(0, count * fewest - (not self.count_self_messages)))

    def max_messages(self, count: int, domain_count: int) -> Fraction:
        most = max(self.domains_of_row(row, domain_count) for row in range(self.rows))
        # A domain begins and ends anywhere in a row of tiles, so it may overlap one row more than its length.
        rows_of_domain = min(self.rows, -(-self.rows // domain_count) + 1)
        return Fraction(count * most + rows_of_domain * self.columns)


class Matrix:
    """A communication matrix: entry [s][d] is what process s sends to process d, in messages or in bytes.

    Bytes count as so many messages of the size that the model was measured with (``unit_bytes``). ``rounds``: the
    entries are those of so many rounds, and the pattern is one of them. ``name``: what ``describe`` returns instead.
    """

    def __init__(
        self,
        entries: Any,
        count_self_messages: bool = True,
        unit_bytes: int | None = None,
        rounds: int = 1,
        name: str | None = None,
    ) -> None:
        matrix = numpy.asarray(entries, dtype=numpy.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
            shape = " x ".join(str(extent) for extent in matrix.shape)
            raise CostError(
                f"the communication matrix has to be square, one row per process, not {shape or 'one number'}"
            )
        if matrix.shape[0] > MAX_MATRIX_PROCESSES:
            raise CostError(
                f"the communication matrix has {matrix.shape[0]} rows; at most {MAX_MATRIX_PROCESSES} are read"
            )
        self._check(matrix)
        if not count_self_messages:
            matrix = matrix.copy()
            numpy.fill_diagonal(matrix, 0.0)
        # Sums over blocks come from sums over corners; whole numbers below 2^53 stay exact.
        self._corner = numpy.zeros((matrix.shape[0] + 1, matrix.shape[0] + 1))
        self._corner[1:, 1:] = matrix.cumsum(0).cumsum(1)
        self._unit = Fraction(1, rounds * (unit_bytes or 1))
        unit_name = "messages" if unit_bytes is None else "bytes"
        self._name = name or f"a communication matrix of {matrix.shape[0]} processes ({unit_name})"
        self.message_unit = "messages" if unit_bytes is None else f"messages of {unit_bytes} bytes"

    @staticmethod
    def _check(matrix: numpy.ndarray[Any, Any]) -> None:
        for wrong, text in ((~numpy.isfinite(matrix), "is not a finite number"), (matrix < 0, "is negative")):
            if wrong.any():
                source, target = (int(index) for index in numpy.argwhere(wrong)[0])
                raise CostError(
                    f"the communication matrix: what process {source} sends to process {target} "
                    f"({matrix[source, target]:g}) {text}; entries are numbers of messages or bytes, at least 0"
                )
        if matrix.sum() >= MAX_SUM:
            raise CostError(
                "the communication matrix: its sum is not below 2^53, so that it could not be counted exactly"
            )
        if (matrix != numpy.floor(matrix)).any():
            source, target = (int(index) for index in numpy.argwhere(matrix != numpy.floor(matrix))[0])
            raise CostError(
                f"the communication matrix: what process {source} sends to process {target} "
                f"({matrix[source, target]:g}) is not a whole number; scale the entries, or give bytes"
            )

    @property
    def process_count(self) -> int:
        return int(self._corner.shape[0]) - 1

    @property
    def uses_aggregators(self) -> bool:
        return False

    def describe(self) -> str:
        return self._name

    def _block(self, top: int, bottom: int, left: int, right: int) -> int:
        corner = self._corner
        return int(corner[bottom, right] - corner[top, right] - corner[bottom, left] + corner[top, left])

    def traffic(self, start: int, count: int, domain: int | None, domain_count: int) -> Traffic:
        stop, every = start + count, self.process_count
        inside = self._block(start, stop, start, stop)
        sent, received = self._block(start, stop, 0, every), self._block(0, every, start, stop)
        return Traffic(inside * self._unit, (sent + received - 2 * inside) * self._unit)

    def flows(self, starts: Sequence[int], aggregators: Sequence[int]) -> list[list[Fraction]]:
        edges = list(pairwise(starts))
        return [[self._block(*rows, *columns) * self._unit for columns in edges] for rows in edges]

    def _sent_and_received(self) -> Any:
        """What each process sends plus what it receives."""
        rows, columns = self._corner[1:, -1] - self._corner[:-1, -1], self._corner[-1, 1:] - self._corner[-1, :-1]
        return rows + columns

    def min_messages(self, count: int, domain_count: int) -> Fraction:
        # sent + received - inside is at least the greater of sent and received, so at least their mean.
        return int(self._sent_and_received().min()) * count * self._unit / 2

    def max_messages(self, count: int, domain_count: int) -> Fraction:
        return int(self._sent_and_received().max()) * count * self._unit


def parse_tiles(text: str) -> tuple[int, int]:
    """Returns rows and columns of ``4x4``."""
    found = re.fullmatch(r"\s*(\d{1,9})\s*[xX]\s*(\d{1,9})\s*", text)
    if not found:
        raise CostError(f'the tiles "{text}" have to be ROWSxCOLUMNS, as in 4x4')
    return int(found[1]), int(found[2])


def read_matrix(path: Path) -> list[list[float]]:
    """Reads the entries of a communication matrix from a text file or a JSON file.

    Text: one row per line, numbers between blanks or commas, ``#`` begins a comment. JSON: a list of rows, or an object
    with ``processes`` and ``edges``, a list of [source, target, amount].
    """
    text = read_text(path)
    if path.suffix == ".json":
        return _matrix_of_json(parse(text, str(path)), path)
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        wrong = next((word for word in words if not _NUMBER.fullmatch(word)), None)
        if wrong is not None:
            raise DocumentError(
                f'{path}:{number}: "{wrong[:40]}" is no number; a row is numbers between blanks or commas'
            )
        rows.append([float(word) for word in words])
        if len(rows[-1]) != len(rows[0]):
            raise DocumentError(f"{path}:{number}: has {len(rows[-1])} numbers, and the first row has {len(rows[0])}")
    if not rows:
        raise DocumentError(f"{path}: holds no numbers; a row per process is needed")
    return rows


def _matrix_of_json(content: Any, path: Path) -> list[list[float]]:
    if isinstance(content, dict):
        return _matrix_of_edges(content, path)
    good = isinstance(content, list) and all(isinstance(row, list) for row in content)
    if not good or not all(_is_number(entry) for row in content for entry in row):
        raise DocumentError(f"{path}: has to be a list of rows of numbers, or an object with processes and edges")
    if not content or any(len(row) != len(content) for row in content):
        raise DocumentError(f"{path}: each of its {len(content)} rows needs {len(content)} numbers, one per process")
    return [[float(entry) for entry in row] for row in content]


def _matrix_of_edges(content: dict[str, Any], path: Path) -> list[list[float]]:
    count, edges = content.get("processes"), content.get("edges")
    if type(count) is not int or not 1 <= count <= MAX_MATRIX_PROCESSES or not isinstance(edges, list):
        raise DocumentError(
            f'{path}: needs "processes", a number from 1 to {MAX_MATRIX_PROCESSES}, and "edges", a list of '
            "[source, target, amount]"
        )
    rows = [[0.0] * count for _ in range(count)]
    for index, edge in enumerate(edges):
        ends = edge[:2] if isinstance(edge, list) else []
        if len(ends) != 2 or len(edge) != 3 or not all(type(end) is int and 0 <= end < count for end in ends):
            raise DocumentError(
                f"{path}: edges[{index}] has to be [source, target, amount], processes 0 to {count - 1}"
            )
        if not _is_number(edge[2]) or edge[2] < 0:
            raise DocumentError(f"{path}: edges[{index}]: its amount must be a number of at least 0, not {edge[2]!r}")
        rows[edge[0]][edge[1]] += float(edge[2])
    return rows


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
