"""The model: T(pa, pe) = alpha pa + beta pe + gamma, in pieces over pa, for both posting orders.

pa and pe are the intra-node and inter-node pairs of the hot-spot node; a pair is one incoming and one outgoing message.
All arithmetic on a model is exact (fractions): ties are ties, and printed digits do not depend on rounding errors.
"""

from __future__ import annotations

import socket
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from couplet.cost.documents import MODEL, VERSION, check_document, parse, read_document, write_document
from couplet.cost.errors import CostError, DocumentError, OtherMachineWarning

ORDERS = ("intra_first", "inter_first")
KINDS = ("plane", "split", "hinge")
SHIPPED = ("tachyon1.json",)

Interval = tuple[float, float]


@lru_cache(maxsize=4096)
def exact(value: float | int) -> Fraction:
    """Returns the decimal number that the shortest print of ``value`` shows, exactly."""
    return Fraction(repr(value))


def _interval(entry: dict[str, Any], name: str) -> Interval | None:
    pair = entry.get(f"{name}_interval")
    return None if pair is None else (pair[0], pair[1])


@dataclass(frozen=True)
class Piece:
    """A plane that holds for min_pa <= pa < max_pa; the last piece of a fit includes its max_pa."""

    min_pa: float
    max_pa: float
    alpha: float
    beta: float
    gamma: float
    cells: int | None = None
    r_squared: float | None = None
    intervals: dict[str, Interval] = field(default_factory=dict)

    def cost(self, pa: Fraction, pe: Fraction) -> Fraction:
        """Returns the seconds that this plane gives, exactly."""
        return exact(self.alpha) * pa + exact(self.beta) * pe + exact(self.gamma)

    def to_json(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "min_pa": self.min_pa, "max_pa": self.max_pa, "alpha": self.alpha, "beta": self.beta, "gamma": self.gamma
        }  # fmt: skip
        if self.cells is not None:
            entry["cells"] = self.cells
        if self.r_squared is not None:
            entry["r_squared"] = self.r_squared
        return entry | {f"{name}_interval": list(pair) for name, pair in self.intervals.items()}

    @staticmethod
    def from_json(entry: dict[str, Any]) -> Piece:
        names = ("alpha", "beta", "gamma")
        found = ((name, _interval(entry, name)) for name in names)
        intervals = {name: interval for name, interval in found if interval is not None}
        return Piece(
            entry["min_pa"], entry["max_pa"], entry["alpha"], entry["beta"], entry["gamma"], entry.get("cells"),
            entry.get("r_squared"), intervals,
        )  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """One way to describe the cells of one posting order: one piece (plane), or two (split and hinge)."""

    kind: str
    pieces: tuple[Piece, ...]
    method: str | None = None
    r_squared: float | None = None
    residual_s: float | None = None
    bic: float | None = None
    breakpoint: float | None = None
    breakpoint_interval: Interval | None = None
    confidence: float | None = None
    max_pe: float | None = None  # the most inter-node pairs that were measured

    def piece(self, pa: Fraction) -> Piece:
        """Returns the piece for ``pa``; beyond the measured range it is the last one."""
        return next((piece for piece in self.pieces[:-1] if pa < exact(piece.max_pa)), self.pieces[-1])

    def cost(self, pa: Fraction, pe: Fraction) -> Fraction:
        """Returns T(pa, pe) in seconds, exactly."""
        return self.piece(pa).cost(pa, pe)

    def to_json(self) -> dict[str, Any]:
        numbers = ("method", "r_squared", "residual_s", "bic", "breakpoint", "confidence", "max_pe")
        entry = {name: getattr(self, name) for name in numbers if getattr(self, name) is not None}
        if self.breakpoint_interval is not None:
            entry["breakpoint_interval"] = list(self.breakpoint_interval)
        return entry | {"pieces": [piece.to_json() for piece in self.pieces]}

    @staticmethod
    def from_json(kind: str, entry: dict[str, Any], where: str) -> Fit:
        pieces = tuple(Piece.from_json(one) for one in entry["pieces"])
        for index, piece in enumerate(pieces):
            if piece.min_pa > piece.max_pa or (index and piece.min_pa != pieces[index - 1].max_pa):
                raise DocumentError(f"{where}.pieces[{index}]: pieces have to follow one another over pa without a gap")
        return Fit(
            kind, pieces, entry.get("method"), entry.get("r_squared"), entry.get("residual_s"), entry.get("bic"),
            entry.get("breakpoint"), _interval(entry, "breakpoint"), entry.get("confidence"), entry.get("max_pe"),
        )  # fmt: skip


@dataclass(frozen=True)
class Order:
    """The fits of one posting order; ``kind`` names the one that predictions use."""

    kind: str
    fits: dict[str, Fit]

    def fit(self, kind: str | None = None) -> Fit:
        """Returns the chosen fit, or the one of ``kind``."""
        if (kind or self.kind) not in self.fits:
            raise CostError(f'the model has no "{kind or self.kind}" fit; it has: {", ".join(self.fits)}')
        return self.fits[kind or self.kind]


@dataclass(frozen=True)
class Segment:
    """Seconds of one message of at least ``min_bytes``: latency_s + bytes * s_per_byte."""

    min_bytes: int
    latency_s: float
    s_per_byte: float


@dataclass(frozen=True)
class Curve:
    """Latency and bandwidth of one kind of link over the message size, piecewise linear."""

    name: str
    segments: tuple[Segment, ...]

    def seconds(self, size: int) -> float:
        """Returns the predicted seconds of one message of ``size`` bytes."""
        segment = next((one for one in reversed(self.segments) if one.min_bytes <= size), self.segments[0])
        return segment.latency_s + size * segment.s_per_byte


@dataclass(frozen=True)
class Model:
    """What was learned of one machine: both posting orders, and the curves of its links."""

    machine: str
    message_bytes: int
    orders: dict[str, Order]
    hosts: tuple[str, ...] = ()
    curves: tuple[Curve, ...] = ()
    source: str = ""
    statistic: str | None = None
    machine_details: dict[str, Any] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the document that ``save`` writes."""
        machine = self.machine_details | {"name": self.machine}
        document: dict[str, Any] = {"schema": MODEL, "version": VERSION}
        document |= {"source": self.source} if self.source else {}
        document |= {"statistic": self.statistic} if self.statistic else {}
        document |= {"doubts": list(self.doubts)} if self.doubts else {}
        document |= {
            "machine": machine | ({"hosts": list(self.hosts)} if self.hosts else {}),
            "message_bytes": self.message_bytes,
            "orders": {
                name: {"kind": order.kind, "fits": {kind: fit.to_json() for kind, fit in order.fits.items()}}
                for name, order in self.orders.items()
            },
        }
        if self.curves:
            document["curves"] = [
                {"name": curve.name, "segments": [vars(segment) for segment in curve.segments]} for curve in self.curves
            ]
        return document

    def save(self, path: Path) -> None:
        """Writes the model; the file is checked against the schema before."""
        write_document(path, self.to_json())

    @staticmethod
    def from_json(document: dict[str, Any], where: str) -> Model:
        """Makes a model of a document that follows the schema."""
        orders = {}
        for name in ORDERS:
            entry = document["orders"][name]
            if entry["kind"] not in entry["fits"]:
                raise DocumentError(f'{where}: orders.{name}: kind is "{entry["kind"]}", and fits has no such entry')
            fits = {
                kind: Fit.from_json(kind, entry["fits"][kind], f"{where}: orders.{name}.fits.{kind}")
                for kind in KINDS
                if kind in entry["fits"]
            }
            orders[name] = Order(entry["kind"], fits)
        machine = dict(document["machine"])
        name, hosts = machine.pop("name"), tuple(machine.pop("hosts", ()))
        curves = tuple(_curve(entry, where) for entry in document.get("curves", []))
        return Model(
            name, document["message_bytes"], orders, hosts, curves, document.get("source", ""),
            document.get("statistic"), machine, tuple(document.get("doubts", ())),
        )  # fmt: skip


def _curve(entry: dict[str, Any], where: str) -> Curve:
    segments = tuple(Segment(one["min_bytes"], one["latency_s"], one["s_per_byte"]) for one in entry["segments"])
    if any(left.min_bytes >= right.min_bytes for left, right in zip(segments, segments[1:], strict=False)):
        raise DocumentError(f'{where}: curve "{entry["name"]}": min_bytes of its segments have to increase')
    return Curve(entry["name"], segments)


def load_model(path: Path | str) -> Model:
    """Reads a model: a file, or the name of a shipped one (``tachyon1.json``) if no file has that name."""
    path = Path(path)
    if not path.exists() and str(path) in SHIPPED:
        text = (resources.files("couplet.cost") / "models" / path.name).read_text(encoding="utf-8")
        document = parse(text, str(path))
        check_document(document, MODEL, str(path))
    elif not path.exists():
        raise DocumentError(f"{path}: there is no such file; shipped with Couplet: {', '.join(SHIPPED)}")
    else:
        document = read_document(path, MODEL)
    return Model.from_json(document, str(path))


def warn_if_other_machine(model: Model, where: str, machine: str | None = None, hosts: Sequence[str] = ()) -> None:
    """Warns with OtherMachineWarning, by name, if a model was not measured where it is to be used.

    ``machine`` is the name that the user expects. Without it, the hosts of the placement, or else this host, have to be
    among those of the model. A published model has no hosts, and is then taken as what the user wants to look at.
    """
    if machine is not None:
        if machine != model.machine:
            _warn(
                f'{where}: was measured on machine "{model.machine}", not on "{machine}"; its costs may not hold there'
            )
        return
    used = list(hosts) or [socket.gethostname()]
    foreign = [host for host in used if host not in model.hosts]
    if model.hosts and foreign:
        shown = ", ".join(model.hosts[:4]) + (f" and {len(model.hosts) - 4} more" if len(model.hosts) > 4 else "")
        _warn(
            f'{where}: was measured on machine "{model.machine}" ({shown}), and {foreign[0]} is not one of its hosts; '
            f'its costs may not hold there (--machine "{model.machine}" if it is the same machine)'
        )


def _warn(text: str) -> None:
    warnings.warn(text, OtherMachineWarning, stacklevel=3)
