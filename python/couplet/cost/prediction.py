"""Predicts what an exchange costs on a node set: per node, for both posting orders; the hot spot decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from couplet.cost.errors import CostError
from couplet.cost.model import ORDERS, Fit, Model, exact
from couplet.cost.patterns import MAX_PROCESSES, Pattern

_SAME_SIZE = 0.25  # messages that are larger or smaller by this part cost about the same


@dataclass(frozen=True)
class NodeCost:
    """One node of a node set: its processes, its pairs, and what the model says."""

    processes: int
    pa: Fraction
    pe: Fraction
    cost: Fraction
    max_pa: float
    max_pe: float | None = None

    @property
    def beyond_pa(self) -> bool:
        """Whether the node has more intra-node pairs than were measured."""
        return self.pa > exact(self.max_pa)

    @property
    def beyond_pe(self) -> bool:
        """Whether the node has more inter-node pairs than were measured."""
        return self.max_pe is not None and self.pe > exact(self.max_pe)

    def to_json(self) -> dict[str, Any]:
        return {
            "processes": self.processes, "pa": float(self.pa), "pe": float(self.pe), "cost": float(self.cost)
        }  # fmt: skip


@dataclass(frozen=True)
class OrderCost:
    """A node set under one posting order; ``hot_spot`` counts from 0, and of equal nodes it is the first."""

    nodes: tuple[NodeCost, ...]

    @property
    def hot_spot(self) -> int:
        return max(range(len(self.nodes)), key=lambda node: (self.nodes[node].cost, -node))

    @property
    def cost(self) -> Fraction:
        return self.nodes[self.hot_spot].cost

    def to_json(self) -> dict[str, Any]:
        nodes = [node.to_json() for node in self.nodes]
        return {"cost": float(self.cost), "hot_spot": self.hot_spot, "nodes": nodes}


@dataclass(frozen=True)
class Prediction:
    """A node set under both posting orders."""

    node_set: tuple[int, ...]
    aggregators: tuple[int, ...] | None
    orders: dict[str, OrderCost]

    @property
    def extrapolated(self) -> bool:
        """Whether a node has more intra-node pairs than were measured."""
        return any(node.beyond_pa for node in self._nodes())

    def notes(self) -> list[str]:
        """Returns a sentence for each reason why the costs may not hold."""
        found = self.beyond_notes()
        least = min(self.orders, key=lambda name: min(node.cost for node in self.orders[name].nodes))
        nodes = self.orders[least].nodes
        worst = min(range(len(nodes)), key=lambda node: nodes[node].cost)
        if nodes[worst].cost < 0:
            found.append(
                f"the model gives a negative time for node {worst} ({float(nodes[worst].cost):.6f} s), so that it does "
                "not hold there"
            )
        return found

    def beyond_notes(self) -> list[str]:
        """Returns a sentence for each kind of pairs of which a node has more than were measured."""
        # The pairs of a node are the same in both orders, and the measured ones may differ.
        pa = min((order.nodes for order in self.orders.values()), key=lambda nodes: nodes[0].max_pa)
        pe = min((order.nodes for order in self.orders.values()), key=lambda nodes: _or_infinite(nodes[0].max_pe))
        found = _beyond([node.pa for node in pa], pa[0].max_pa, "intra-node pairs (pa)", "the last piece")
        return found + _beyond([node.pe for node in pe], pe[0].max_pe, "inter-node pairs (pe)", "the plane")

    def most_times_measured(self) -> float:
        """Returns how many times the measured pairs a node has at most."""
        ratios = [float(node.pa) / max(node.max_pa, 1.0) for node in self._nodes()]
        return max(ratios + [float(node.pe) / max(node.max_pe, 1.0) for node in self._nodes() if node.max_pe])

    def _nodes(self) -> list[NodeCost]:
        return [node for order in self.orders.values() for node in order.nodes]

    def to_json(self) -> dict[str, Any]:
        return {
            "node_set": list(self.node_set),
            "aggregators": None if self.aggregators is None else list(self.aggregators),
            "orders": {name: order.to_json() for name, order in self.orders.items()},
            "notes": self.notes(),
        }


def _or_infinite(limit: float | None) -> float:
    return math.inf if limit is None else limit


def _beyond(counts: Sequence[Fraction], limit: float | None, pairs: str, prolonged: str) -> list[str]:
    """Names the node with most pairs, if they are more than were measured, and how many others have too many."""
    if limit is None:
        return []
    beyond = sum(count > exact(limit) for count in counts)
    if not beyond:
        return []
    worst = max(range(len(counts)), key=lambda node: (counts[node], -node))
    text = f"node {worst} has {_digits(counts[worst])} {pairs}, and at most {limit:g} were measured: {prolonged} is "
    others = f"{beyond - 1} other nodes have" if beyond > 2 else "1 other node has"
    return [text + "prolonged" + (f"; {others} more than {limit:g}, too" if beyond > 1 else "")]


def _digits(count: Fraction) -> str:
    return f"{float(count):.3f}".rstrip("0").rstrip(".")


def size_note(model: Model, sizes: tuple[int, int] | None, what: str) -> list[str]:
    """Returns a note if messages of other sizes (least, greatest) than those of the model are to be predicted."""
    if (
        sizes is None
        or (1 - _SAME_SIZE) * model.message_bytes <= min(sizes) <= max(sizes) <= (1 + _SAME_SIZE) * model.message_bytes
    ):
        return []
    shown = f"{sizes[0]} to {sizes[1]}" if sizes[0] < sizes[1] else str(sizes[0])
    return [
        f"the model holds for messages of {model.message_bytes} bytes, and {what} {shown} bytes: only the ranking "
        f"counts, not the seconds; for seconds, measure with `couplet probe --bytes {max(1, sizes[1])}`"
    ]


@dataclass(frozen=True)
class Iterations:
    """An exchange whose file domains are larger than the collective buffer: exchange and file phase alternate."""

    buffer_bytes: int
    domain_bytes: Fraction

    @property
    def count(self) -> int:
        return max(1, -(-self.domain_bytes // self.buffer_bytes))

    @property
    def share(self) -> Fraction:
        """The part of the whole exchange that one full iteration moves; its cost is taken as proportional."""
        return min(Fraction(1), self.buffer_bytes / self.domain_bytes)


def parse_node_set(text: str) -> tuple[int, ...]:
    """Returns the processes of each node of ``4,4,2,2`` (or ``{4,4,2,2}``), in order."""
    words = text.strip().removeprefix("{").removesuffix("}").split(",")
    numbers = []
    for index, word in enumerate(words):
        if not (word.strip().isascii() and word.strip().isdigit()) or len(word.strip()) > 9:
            raise CostError(
                f'the node set "{text}": its entry {index + 1} is "{word.strip()}", which is no number of processes; '
                "give a list as in 4,4,2,2"
            )
        numbers.append(int(word))
        if numbers[-1] == 0:
            raise CostError(f'the node set "{text}": node {index} has no process; leave it out')
    if sum(numbers) > MAX_PROCESSES:
        raise CostError(f"the node set holds {sum(numbers)} processes; at most {MAX_PROCESSES} are counted")
    return tuple(numbers)


def check_node_set(node_set: Sequence[int], pattern: Pattern) -> None:
    """Raises CostError if a node set does not hold as many processes as the pattern has."""
    if sum(node_set) != pattern.process_count:
        shown = ",".join(str(count) for count in node_set[:32]) + (",..." if len(node_set) > 32 else "")
        raise CostError(
            f"the node set {shown} holds {sum(node_set)} processes, and {pattern.describe()} need "
            f"{pattern.process_count}: the numbers have to add up to {pattern.process_count}"
        )


def check_aggregators(aggregators: Sequence[int] | None, node_set: Sequence[int], pattern: Pattern) -> tuple[int, ...]:
    """Returns the nodes with an aggregator, in node order; None means all of them."""
    if aggregators is None:
        return tuple(range(len(node_set)))
    if not pattern.uses_aggregators:
        raise CostError("a communication matrix has no aggregators: its entries say which process sends to which")
    if not aggregators:
        raise CostError("at least one node needs an aggregator")
    wrong = [node for node in aggregators if not 0 <= node < len(node_set)]
    if wrong:
        raise CostError(f"there is no node {wrong[0]} for an aggregator; the nodes are 0 to {len(node_set) - 1}")
    if len(set(aggregators)) != len(aggregators):
        raise CostError("a node is named twice among the aggregators; a node has at most one")
    return tuple(sorted(aggregators))


def node_cost(fit: Fit, pattern: Pattern, start: int, count: int, domain: int | None, domain_count: int) -> NodeCost:
    """Returns the cost of one node; it depends on nothing but its own processes and its own file domain."""
    traffic = pattern.traffic(start, count, domain, domain_count)
    pa, pe = traffic.ca / 2, traffic.ce / 2
    return NodeCost(count, pa, pe, fit.cost(pa, pe), fit.pieces[-1].max_pa, fit.max_pe)


def predict(
    model: Model,
    pattern: Pattern,
    node_set: Sequence[int],
    aggregators: Sequence[int] | None = None,
    kind: str | None = None,
) -> Prediction:
    """Predicts the cost of an exchange on a node set, for both posting orders.

    ``aggregators``: the nodes that have one (by default all); domain j belongs to the j-th of them. ``kind``: plane,
    split or hinge instead of the model's own choice. Raises CostError if the node set does not fit the pattern.
    """
    check_node_set(node_set, pattern)
    chosen = check_aggregators(aggregators, node_set, pattern)
    domain_of = {node: domain for domain, node in enumerate(chosen)}
    orders = {}
    for name in ORDERS:
        fit, start, nodes = model.orders[name].fit(kind), 0, []
        for node, count in enumerate(node_set):
            nodes.append(node_cost(fit, pattern, start, count, domain_of.get(node), len(chosen)))
            start += count
        orders[name] = OrderCost(tuple(nodes))
    return Prediction(tuple(node_set), chosen if pattern.uses_aggregators else None, orders)


def rank(predictions: Sequence[Prediction], order: str) -> list[int]:
    """Returns the indices of the predictions from cheap to dear; equal ones stay in list order."""
    return sorted(range(len(predictions)), key=lambda index: predictions[index].orders[order].cost)
