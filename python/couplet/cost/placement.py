"""Finds the order of nodes, and the nodes with aggregators, for which an exchange costs least.

The cost of a node depends only on its own first process, its number of processes and its file domain, and an order
costs what its dearest node does. So an order is a path that places one node after the other, and its cost is the
largest one on the path. Three ways to search follow from that, tried in this order:

- exhaustive: every order of the nodes with every choice of aggregators, if there are few;
- dynamic: nodes of equal size are alike, so a state is how many of each size are placed; it is exact, too;
- annealing: for node sets with very many states; a lower bound tells how far the result can be from the optimum.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from couplet.cost.errors import CostError
from couplet.cost.model import ORDERS, Fit, Model, exact
from couplet.cost.patterns import Pattern
from couplet.cost.prediction import check_node_set, node_cost

SEARCHES = ("auto", "exhaustive", "dynamic", "annealing")
MAX_EXHAUSTIVE = 20_000
MAX_EXHAUSTIVE_NODES = 64
MAX_STATES = 200_000
MAX_BOUND_PLACES = 20_000
_Layer = dict[tuple[tuple[int, ...], int], tuple[Fraction | None, tuple[Any, ...] | None]]

ANNEALING_MOVES = 20_000
MIN_ANNEALING_MOVES = 200
MAX_ANNEALING_NODES = 2_000_000  # moves times nodes


@dataclass(frozen=True)
class Search:
    """How a placement was found: by which search, over how many candidates, and what no order can be below."""

    method: str
    examined: int
    bound: Fraction
    proven: bool

    def gap(self, cost: Fraction) -> float:
        """Returns by how much, relatively, the optimum may be below ``cost``; 0 if the search is exact."""
        if self.proven or cost <= self.bound:
            return 0.0
        return float((cost - self.bound) / max(abs(cost), abs(self.bound)))


@dataclass(frozen=True)
class Placement:
    """An order of the nodes: ``nodes`` are indices into the given node set, ``aggregators`` into the new order."""

    nodes: tuple[int, ...]
    node_set: tuple[int, ...]
    aggregators: tuple[int, ...]
    cost: Fraction
    hot_spot: int
    search: Search

    def to_json(self) -> dict[str, Any]:
        search = self.search
        return {
            "order_of_nodes": list(self.nodes),
            "node_set": list(self.node_set),
            "aggregators": list(self.aggregators),
            "cost": float(self.cost),
            "hot_spot": self.hot_spot,
            "search": {
                "method": search.method, "examined": search.examined, "bound": float(search.bound),
                "proven": search.proven, "gap": search.gap(self.cost),
            },
        }  # fmt: skip


@dataclass(frozen=True)
class Result:
    """The best placement under each posting order, and what the given order of the nodes costs."""

    orders: dict[str, Placement]
    given: dict[str, Fraction]

    @property
    def chosen(self) -> str:
        """The posting order that costs less; the first of ORDERS if both cost the same."""
        return min(ORDERS, key=lambda name: self.orders[name].cost)


class _Costs:
    """The cost of a node at a place, remembered."""

    def __init__(self, fit: Fit, pattern: Pattern, domain_count: int, scale: Fraction) -> None:
        self.fit, self.pattern, self.domain_count, self.scale = fit, pattern, domain_count, scale
        self._known: dict[tuple[int, int, int | None], Fraction] = {}
        self._estimates: dict[tuple[int, int, int | None], float] = {}

    def at(self, start: int, count: int, domain: int | None) -> Fraction:
        key = (start, count, domain)
        if key not in self._known:
            node = node_cost(self.fit, self.pattern, start, count, domain, self.domain_count)
            self._known[key] = node.cost * self.scale
        return self._known[key]

    def of(self, sizes: Sequence[int], aggregators: frozenset[int]) -> tuple[Fraction, int]:
        """Returns the cost of an order and its hot spot."""
        start, domain, worst = 0, 0, (Fraction(-1), 0)
        for node, count in enumerate(sizes):
            has = node in aggregators
            cost = self.at(start, count, domain if has else None)
            if node == 0 or cost > worst[0]:
                worst = (cost, node)
            start, domain = start + count, domain + has
        return worst

    def estimate(self, sizes: Sequence[int], has_aggregator: Sequence[bool]) -> float:
        """Returns the cost of an order in floating point, for the many orders that annealing looks at."""
        start, domain, worst = 0, 0, -math.inf
        for count, has in zip(sizes, has_aggregator, strict=True):
            key = (start, count, domain if has else None)
            cost = self._estimates.get(key)
            if cost is None:
                node = node_cost(self.fit, self.pattern, start, count, key[2], self.domain_count)
                cost = self._estimates[key] = float(node.cost * self.scale)
            worst = max(worst, cost)
            start, domain = start + count, domain + has
        return worst


def place(
    model: Model,
    pattern: Pattern,
    node_set: Sequence[int],
    aggregator_count: int | str | None = None,
    kind: str | None = None,
    search: str = "auto",
    seed: int = 0,
) -> Result:
    """Finds the best order of the nodes of ``node_set`` for both posting orders.

    ``aggregator_count``: how many nodes have an aggregator (None: all of them; "best": the number is searched for, too,
    where the cost of a message is taken as proportional to its bytes). ``search`` forces one of SEARCHES. Raises
    CostError if the node set does not fit the pattern, or if the forced search would look at too many candidates.
    """
    check_node_set(node_set, pattern)
    if search not in SEARCHES:
        raise CostError(f'search "{search}" is not known; it is one of: {", ".join(SEARCHES)}')
    counts = _aggregator_counts(pattern, len(node_set), aggregator_count)
    orders, given = {}, {}
    for name in ORDERS:
        fit = model.orders[name].fit(kind)
        found = [
            _search(_Costs(fit, pattern, count, _scale(pattern, count, len(node_set))), node_set, count, search, seed)
            for count in counts
        ]
        orders[name] = _best_of(found)
        every = _Costs(fit, pattern, len(node_set), Fraction(1))
        given[name] = every.of(node_set, frozenset(range(len(node_set))))[0]
    return Result(orders, given)


def _best_of(found: Sequence[Placement]) -> Placement:
    """The one that costs least; it is proven only as far as none of the others could cost less."""
    best = min(found, key=lambda one: one.cost)
    bound = min(one.cost if one.search.proven else one.search.bound for one in found)
    if bound >= best.cost:
        return best
    return replace(best, search=replace(best.search, bound=bound, proven=False))


def _aggregator_counts(pattern: Pattern, node_count: int, wanted: int | str | None) -> list[int]:
    if wanted is None:
        return [node_count]
    if not pattern.uses_aggregators:
        raise CostError("a communication matrix has no aggregators: its entries say which process sends to which")
    if wanted == "best":
        return list(range(node_count, 0, -1))
    if not isinstance(wanted, int) or not 1 <= wanted <= node_count:
        raise CostError(f'the number of aggregators has to be 1 to {node_count}, or "best", not {wanted}')
    return [wanted]


def _scale(pattern: Pattern, count: int, node_count: int) -> Fraction:
    """The bytes of a message with ``count`` domains, relative to one domain per node."""
    if not pattern.uses_aggregators or count == node_count:
        return Fraction(1)
    usual, fewer = (pattern.traffic(0, pattern.process_count, None, one).ce for one in (node_count, count))
    return usual / fewer


def _search(costs: _Costs, node_set: Sequence[int], count: int, search: str, seed: int) -> Placement:
    orders = _order_count(node_set) * _choice_count(len(node_set), count)
    states = _state_count(node_set, count)
    if search == "auto":
        few = orders <= MAX_EXHAUSTIVE and len(node_set) <= MAX_EXHAUSTIVE_NODES
        search = "exhaustive" if few else "dynamic" if states <= MAX_STATES else "annealing"
    if search == "exhaustive" and len(node_set) > MAX_EXHAUSTIVE_NODES:
        raise CostError(f"an exhaustive search takes at most {MAX_EXHAUSTIVE_NODES} nodes, not {len(node_set)}")
    if search == "exhaustive" and orders > MAX_EXHAUSTIVE:
        raise CostError(f"an exhaustive search would look at {orders:,} orders; at most {MAX_EXHAUSTIVE} are looked at")
    if search == "dynamic" and states > MAX_STATES:
        raise CostError(f"a dynamic search would look at {states:,} states; at most {MAX_STATES} are looked at")
    finder = {"exhaustive": _exhaustive, "dynamic": _dynamic}.get(search)
    if finder is None:
        bound = _bound(costs, node_set, count)
        sizes, aggregators, examined = _annealing(costs, node_set, count, seed, float(bound))
    else:
        sizes, aggregators, examined = finder(costs, node_set, count)
        bound = costs.of(sizes, aggregators)[0]
    cost, hot_spot = costs.of(sizes, aggregators)
    proven = finder is not None or cost <= bound
    nodes = _name_nodes(node_set, sizes)
    return Placement(
        nodes, tuple(sizes), tuple(sorted(aggregators)), cost, hot_spot, Search(search, examined, bound, proven)
    )


def _name_nodes(node_set: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """Which of the given nodes stands where: those of equal size keep their order."""
    left: dict[int, list[int]] = {}
    for node, size in enumerate(node_set):
        left.setdefault(size, []).append(node)
    queues = {size: iter(nodes) for size, nodes in left.items()}
    return tuple(next(queues[size]) for size in sizes)


def _order_count(node_set: Sequence[int]) -> float:
    """How many distinct orders there are; infinity if they are far too many to be looked at."""
    same = Counter(node_set).values()
    if math.lgamma(len(node_set) + 1) - sum(math.lgamma(one + 1) for one in same) > 30.0:
        return math.inf
    count, left = 1, len(node_set)
    for one in same:
        count *= math.comb(left, one)
        left -= one
    return count


def _choice_count(node_count: int, aggregator_count: int) -> float:
    """How many sets of nodes could have the aggregators; infinity as above."""
    parts = (aggregator_count, node_count - aggregator_count)
    if math.lgamma(node_count + 1) - sum(math.lgamma(one + 1) for one in parts) > 30.0:
        return math.inf
    return math.comb(node_count, aggregator_count)


def _state_count(node_set: Sequence[int], aggregator_count: int) -> int:
    states = math.prod(same + 1 for same in Counter(node_set).values())
    return states * (1 if aggregator_count == len(node_set) else aggregator_count + 1)


def distinct_orders(node_set: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields every order of the sizes once; the given order comes first."""
    left = dict(Counter(node_set))
    path: list[int] = []

    def extend() -> Iterator[tuple[int, ...]]:
        if len(path) == len(node_set):
            yield tuple(path)
            return
        for size in sorted(left, key=lambda one: (one != node_set[len(path)], node_set.index(one))):
            if left[size]:
                left[size] -= 1
                path.append(size)
                yield from extend()
                path.pop()
                left[size] += 1

    yield from extend()


def _exhaustive(costs: _Costs, node_set: Sequence[int], count: int) -> tuple[Sequence[int], frozenset[int], int]:
    choices = [frozenset(chosen) for chosen in combinations(range(len(node_set)), count)]
    best: tuple[Fraction, Sequence[int], frozenset[int]] | None = None
    examined = 0
    for sizes in distinct_orders(node_set):
        for chosen in choices:
            examined += 1
            cost = costs.of(sizes, chosen)[0]
            if best is None or cost < best[0]:
                best = (cost, sizes, chosen)
    assert best is not None
    return best[1], best[2], examined


def _dynamic(costs: _Costs, node_set: Sequence[int], count: int) -> tuple[Sequence[int], frozenset[int], int]:
    """The path with the least largest cost. A state is (how many of each size are placed, aggregators so far)."""
    totals = Counter(node_set)
    kinds = list(totals)
    layer: _Layer = {((0,) * len(kinds), 0): (None, None)}
    examined = 0
    for node in range(len(node_set)):
        following: _Layer = {}
        for (placed, domains), (worst, path) in layer.items():
            start = sum(kinds[index] * number for index, number in enumerate(placed))
            for index, size in enumerate(kinds):
                if placed[index] == totals[size]:
                    continue
                after = (*placed[:index], placed[index] + 1, *placed[index + 1 :])
                for has in (True, False):
                    # As many nodes have to be left as aggregators are still missing.
                    if domains + has > count or count - domains - has > len(node_set) - node - 1:
                        continue
                    examined += 1
                    cost = costs.at(start, size, domains if has else None)
                    cost = cost if worst is None else max(cost, worst)
                    known = following.get((after, domains + has), (None, None))[0]
                    if known is None or cost < known:
                        following[after, domains + has] = (cost, (path, size, has))
        layer = following
    path = next(iter(layer.values()))[1]
    steps: list[tuple[int, bool]] = []
    while path is not None:
        path, size, has = path
        steps.append((size, has))
    steps.reverse()
    return [size for size, _ in steps], frozenset(node for node, step in enumerate(steps) if step[1]), examined


def _annealing(
    costs: _Costs, node_set: Sequence[int], count: int, seed: int, bound: float
) -> tuple[Sequence[int], frozenset[int], int]:
    """Swaps two nodes, or moves an aggregator; a dearer order is accepted ever more seldom. It ends at the bound."""
    chance = random.Random(seed)
    sizes = list(node_set)
    flags = [node < count for node in range(len(sizes))]
    moves = max(MIN_ANNEALING_MOVES, min(ANNEALING_MOVES, MAX_ANNEALING_NODES // len(sizes))) if len(sizes) > 1 else 0
    current = costs.estimate(sizes, flags)
    best = (current, list(sizes), list(flags))
    heat, cooling = abs(current) * 0.1 or 1.0, 1e-3 ** (1.0 / max(1, moves))
    examined = 1
    while examined <= moves and best[0] > bound:
        examined += 1
        one, other = chance.sample(range(len(sizes)), 2)
        swapped: list[Any] = flags if count < len(sizes) and chance.random() < 0.5 else sizes
        swapped[one], swapped[other] = swapped[other], swapped[one]
        changed = costs.estimate(sizes, flags)
        if changed <= current or chance.random() < math.exp((current - changed) / heat):
            current = changed
            if current < best[0]:
                best = (current, list(sizes), list(flags))
        else:
            swapped[one], swapped[other] = swapped[other], swapped[one]
        heat *= cooling
    return best[1], frozenset(node for node, has in enumerate(best[2]) if has), examined


def _bound(costs: _Costs, node_set: Sequence[int], count: int) -> Fraction:
    """What no order can be below: every node has to be somewhere, and the best place of a node costs so much."""
    processes, left = sum(node_set), MAX_BOUND_PLACES
    domains: list[int | None] = list(range(count))
    domains += [None] if count < len(node_set) else []
    bound = _sent_bound(costs, max(node_set), count)
    for size in sorted(set(node_set), reverse=True):
        starts = range(processes - size + 1)
        left -= len(starts) * len(domains)
        if left < 0:
            break
        bound = max(bound, min(costs.at(start, size, domain) for start in starts for domain in domains))
    return bound


def _sent_bound(costs: _Costs, size: int, count: int) -> Fraction:
    """A weaker bound: each message of a node costs at least the cheaper of its two ways.

    A way with a negative coefficient is the cheaper the more messages take it, so their largest number counts then.
    """
    pattern, fit = costs.pattern, costs.fit
    fewest, most = pattern.min_messages(size, count), pattern.max_messages(size, count)
    least = min(
        min(way * messages for way in (exact(piece.alpha), exact(piece.beta)) for messages in (fewest, most)) / 2
        + exact(piece.gamma)
        for piece in fit.pieces
    )
    return least * costs.scale
