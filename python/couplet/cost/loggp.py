"""Latency, overhead and gap (LogGP) of one way, from the times that the probe has measured apart.

L: latency; o: what the processor of the sender or of the receiver does for a message; g: the least time between two
short messages; G: the time of each further byte of a long message. Formulas: docs/formats/cost.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from couplet.cost.errors import DocumentError

SINGLE = ("half_round_trip", "send_overhead", "receive_overhead")


@dataclass(frozen=True)
class Burst:
    """Messages that were sent one after the other as fast as possible, and the seconds until the last was answered."""

    message_bytes: int
    messages: int
    median_s: float


@dataclass(frozen=True)
class LogGP:
    """The parameters of one way (``intra``: inside a node, ``inter``: between nodes), in seconds."""

    name: str
    latency_s: float
    send_overhead_s: float
    receive_overhead_s: float
    gap_s: float
    gap_per_byte_s: float

    @property
    def overhead_s(self) -> float:
        """The o of the model: the mean of the sender's and the receiver's."""
        return (self.send_overhead_s + self.receive_overhead_s) / 2


def parameters(name: str, half_s: float, send_s: float, receive_s: float, short: Burst, long: Burst) -> LogGP:
    """Returns the parameters of the medians.

    The latency is what half a round trip takes beyond both overheads; it is less than 0 if these overlap. A burst of n
    messages takes a round trip and n - 1 gaps; one of long messages takes n times their further bytes in addition.
    """
    gap = max(0.0, (short.median_s - 2 * half_s) / (short.messages - 1))
    further = long.messages * (long.message_bytes - short.message_bytes)
    per_byte = max(0.0, (long.median_s - 2 * half_s - (long.messages - 1) * gap) / further)
    return LogGP(name, half_s - send_s - receive_s, send_s, receive_s, gap, per_byte)


def entry_of(name: str, single: dict[str, dict[str, Any]], bursts: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the entry of a measurement: what was measured, and the parameters that follow from it."""
    missing = [one for one in SINGLE if one not in single]
    if missing or len(bursts) < 2:
        what = missing[0] if missing else "bursts of short and of long messages"
        raise DocumentError(f"couplet-probe: loggp {name}: {what} is missing; the probe has to measure it anew")
    ordered = sorted(bursts, key=lambda one: one["message_bytes"])
    short, long = (Burst(one["message_bytes"], one["messages"], one["median_s"]) for one in (ordered[0], ordered[-1]))
    if short.messages < 2 or short.message_bytes == long.message_bytes:
        raise DocumentError(f"couplet-probe: loggp {name}: a burst needs two messages, and two sizes are needed")
    half_s, send_s, receive_s = (single[one]["median_s"] for one in SINGLE)
    found = parameters(name, half_s, send_s, receive_s, short, long)
    return {
        "name": name,
        "latency_s": found.latency_s,
        "send_overhead_s": found.send_overhead_s,
        "receive_overhead_s": found.receive_overhead_s,
        "gap_s": found.gap_s,
        "gap_per_byte_s": found.gap_per_byte_s,
        "measured": {**{one: single[one] for one in SINGLE}, "bursts": ordered},
    }


def from_entry(entry: dict[str, Any]) -> LogGP:
    """Returns the parameters of an entry that follows the schema of measurements."""
    return LogGP(**{field: entry[field] for field in LogGP.__dataclass_fields__})
