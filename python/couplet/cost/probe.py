"""Makes a measurement of what couplet-probe printed: timings become medians, minima, spreads and outliers."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy

from couplet.cost.documents import MEASUREMENT, VERSION, check_document
from couplet.cost.errors import CostError, DocumentError
from couplet.cost.loggp import SINGLE, entry_of

OUTPUT_VERSION = "1"
MAX_PROBE_RANKS = 1 << 16
MAX_COUNT = 1 << 40  # of messages, and of bytes of one
_COUNTS = ("intra_in", "intra_out", "inter_in", "inter_out")
_NUMBER_OPTIONS = ("sub_groups", "warm_up", "repetitions")
_TEXT_OPTIONS = ("nodes", "partners")
_WORDS = (
    *("couplet-probe", "option", "mpi", "process", "cores", "half_star", "hot_spot", "cells", "cell", "curve"),
    *("loggp", "done"),
)


@dataclass(frozen=True)
class Setting:
    """The name of the machine, and the options of the probe, for lines that do not tell them."""

    machine: str | None = None
    sub_groups: int = 1
    nodes: str = "hosts"
    partners: str = "spread"
    warm_up: int = 2
    repetitions: int = 10


@dataclass
class _Loggp:
    """The times of one way from which its latency, overhead and gap follow."""

    single: dict[str, dict[str, Any]] = field(default_factory=dict)
    bursts: list[dict[str, Any]] = field(default_factory=list)

    def take(self, words: list[str]) -> None:
        quantity, size, messages, times = words[0], int(words[1]), int(words[2]), _times(words[3:])
        if not (0 <= size <= MAX_COUNT and 1 <= messages <= MAX_COUNT):
            raise ValueError("count")
        kept = {name: times[name] for name in ("median_s", "minimum_s", "spread_s", "samples")}
        kept["message_bytes"] = size
        if quantity == "burst":
            self.bursts.append({**kept, "messages": messages})
        elif quantity in SINGLE:
            self.single[quantity] = kept
        else:
            raise ValueError("quantity")


@dataclass
class Collector:
    """Takes the lines of couplet-probe one after the other.

    ``cell_count`` is how many cells will come, once the probe has said so. Lines that do not begin with a word of the
    probe (launchers and MPIs print warnings) are passed over.
    """

    setting: Setting
    cell_count: int | None = None
    done: bool = False
    cells: list[dict[str, Any]] = field(default_factory=list)
    _document: dict[str, Any] = field(default_factory=dict)
    _curves: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _loggp: dict[str, _Loggp] = field(default_factory=dict)
    _line: int = 0
    _begun: bool = False

    @property
    def hot_spot_count(self) -> int:
        """How many hot spots there are; the counts of a cell are of all of them."""
        return max(1, len(self._document.get("hot_spots", [])))

    def line(self, text: str) -> None:
        """Takes one line. Raises DocumentError, which quotes the line, if it is cut off or of an unknown form."""
        self._line += 1
        words = text.split()
        if not words or words[0] not in _WORDS:
            return
        try:
            self._take(words)
        except DocumentError:
            raise
        except (ValueError, IndexError) as error:
            shown = text.strip()[:80]
            raise DocumentError(f'couplet-probe: line {self._line} of its output makes no sense: "{shown}"') from error

    def _take(self, words: list[str]) -> None:
        kind, values, document = words[0], words[1:], self._document
        if kind == "couplet-probe":
            if self._begun:
                raise DocumentError(
                    "couplet-probe has begun twice: give the lines of one run. If it was one run, every rank was alone "
                    "in its MPI_COMM_WORLD: start the probe of the launcher's MPI; Slurm has to be told which one it "
                    "is, as in --launcher-option=--mpi=pmix"
                )
            self._begun = True
            if values != [OUTPUT_VERSION]:
                raise DocumentError(
                    f"couplet-probe prints version {' '.join(values)}, and {OUTPUT_VERSION} is read here"
                )
        elif kind == "mpi":
            document["mpi"] = " ".join(values)
        elif kind == "process":
            rank, node, host, core = values
            entry = {"rank": int(rank), "node": int(node), "host": host, "core": int(core)}
            document.setdefault("processes", []).append(entry)
        elif kind in ("cores", "half_star"):
            document[kind] = int(values[0])
        elif kind == "option":
            name, value = values
            document |= {name: int(value)} if name in _NUMBER_OPTIONS else {}
            document |= {name: value} if name in _TEXT_OPTIONS else {}
        elif kind == "hot_spot":
            document.setdefault("hot_spots", []).append(int(values[0]))
        elif kind == "cells":
            self.cell_count = int(values[0])
        elif kind == "cell":
            self.cells.append(_cell(values))
        elif kind == "curve":
            times = _times(values[2:])
            point = {"bytes": int(values[1]), "median_s": times["median_s"], "minimum_s": times["minimum_s"]}
            self._curves.setdefault(values[0], []).append(point)
        elif kind == "loggp":
            self._loggp.setdefault(values[0], _Loggp()).take(values[1:])
        else:
            self.done = True

    def measurement(self) -> dict[str, Any]:
        """Returns the document; CostError if the probe ended before it was done."""
        if not self.done:
            of = f" of {self.cell_count}" if self.cell_count is not None else ""
            raise CostError(
                f"couplet-probe ended after {len(self.cells)}{of} cells, before it was done: it has not printed "
                'the line "done"; measure again, or give its whole output to --lines'
            )
        document, setting = dict(self._document), self.setting
        cores = document.pop("cores", None)
        hosts = list(dict.fromkeys(process["host"] for process in document.get("processes", [])))
        machine: dict[str, Any] = {"name": setting.machine or (hosts[0] if hosts else "unknown"), "hosts": hosts}
        told = {name: document.get(name, getattr(setting, name)) for name in (*_NUMBER_OPTIONS, *_TEXT_OPTIONS)}
        document |= {
            "schema": MEASUREMENT,
            "version": VERSION,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "program": "couplet-probe",
            "machine": machine | ({"cores_per_node": cores} if cores else {}),
            "procedure": 1 if told["sub_groups"] == 1 else 2,
            **told,
            "cells": self.cells,
        }
        if self._curves:
            document["curves"] = [{"name": name, "points": points} for name, points in self._curves.items()]
        if self._loggp:
            document["loggp"] = [entry_of(name, one.single, one.bursts) for name, one in self._loggp.items()]
        check_document(document, MEASUREMENT, "couplet-probe")
        return document


def collect(lines: Iterable[str], setting: Setting) -> dict[str, Any]:
    """Returns the measurement that the lines of one run of couplet-probe make up."""
    collector = Collector(setting)
    for line in lines:
        collector.line(line)
    return collector.measurement()


def _times(words: list[str]) -> dict[str, Any]:
    """Statistics of the repetitions; far away is what is more than three spreads above the upper quartile."""
    times = numpy.array([float(word) for word in words])
    if not len(times) or not numpy.isfinite(times).all() or (times < 0).any():
        raise ValueError("times")
    low, middle, high = (float(one) for one in numpy.quantile(times, (0.25, 0.5, 0.75)))
    return {
        "minimum_s": float(times.min()),
        "median_s": middle,
        "spread_s": high - low,
        "samples": len(times),
        "outliers_s": [float(one) for one in times if one > high + 3.0 * (high - low)],
    }


def _cell(values: list[str]) -> dict[str, Any]:
    order, size, counts = values[0], int(values[1]), [int(word) for word in values[2:6]]
    cell: dict[str, Any] = {"order": order, "message_bytes": size}
    cell |= dict(zip(_COUNTS, counts, strict=True)) | _times(values[6:])
    if cell["median_s"] > 0.0:
        cell["node_bytes_per_s"] = sum(counts) * size / cell["median_s"]
    return cell


def parse_nodes(text: str) -> list[int]:
    """Returns the node of each rank for ``4,4``: four ranks on node 0, then four on node 1."""
    from couplet.cost.prediction import parse_node_set

    counts = parse_node_set(text)
    if sum(counts) > MAX_PROBE_RANKS:
        raise CostError(f"the probe runs on at most {MAX_PROBE_RANKS} ranks, not {sum(counts)}")
    return [node for node, count in enumerate(counts) for _ in range(count)]


def parse_node_file(text: str, where: str) -> list[int]:
    """Returns the node of each rank; a file holds them in the order of the ranks, and ``#`` begins a comment."""
    words = [word for line in text.splitlines() for word in line.partition("#")[0].replace(",", " ").split()]
    if not words or not all(word.isascii() and word.isdigit() and len(word) < 7 for word in words):
        raise DocumentError(f"{where}: has to hold the node of each rank, as in 0 0 0 0 1 1 1 1")
    nodes = [int(word) for word in words]
    missing = [node for node in range(max(nodes)) if node not in set(nodes)]
    if missing:
        raise DocumentError(f"{where}: node {missing[0]} has no rank; nodes are counted from 0, without gaps")
    return nodes
