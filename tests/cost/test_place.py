"""Placements: the optimum is proven by looking at every order; the three searches agree; bounds hold."""

from __future__ import annotations

import os
import random
from itertools import combinations, permutations

import pytest

from couplet.cost import CostError, Matrix, Tiles, load_model, place, predict
from couplet.cost.model import ORDERS, Fit, Model, Order, Piece
from couplet.cost.patterns import Pattern
from couplet.cost.placement import distinct_orders

TACHYON = load_model("tachyon1.json")
IS_LONG = "COUPLET_STRESS" in os.environ
PAPER = (4, 4, 2, 2, 1, 1, 1, 1)


def best_of_all(pattern: Pattern, node_set: tuple[int, ...], count: int | None, order: str) -> object:
    """The least cost over every order of the nodes and every choice of aggregators."""
    choices = [None] if count is None else list(combinations(range(len(node_set)), count))
    sets = set(permutations(node_set))
    return min(predict(TACHYON, pattern, one, chosen).orders[order].cost for one in sets for chosen in choices)


def test_the_optimum_of_the_paper_s_node_set_is_found() -> None:
    for counted in (True, False):
        pattern = Tiles(4, 4, counted)
        result = place(TACHYON, pattern, PAPER)
        for order in ORDERS:
            found = result.orders[order]
            assert found.cost == best_of_all(pattern, PAPER, None, order)
            assert (found.search.method, found.search.examined, found.search.proven) == ("exhaustive", 420, True)
            assert predict(TACHYON, pattern, found.node_set).orders[order].cost == found.cost
            assert tuple(PAPER[node] for node in found.nodes) == found.node_set
            assert sorted(found.nodes) == list(range(8))


def sample(chance: random.Random) -> tuple[Pattern, tuple[int, ...]]:
    # All orders of six nodes take most of the time, so that there are fewer of them.
    node_count = 6 if chance.random() < 0.05 else chance.randint(1, 5)
    node_set = tuple(chance.choice((1, 1, 2, 3)) for _ in range(node_count))
    total = sum(node_set)
    divisors = [rows for rows in range(1, total + 1) if total % rows == 0]
    rows = chance.choice(divisors)
    if chance.random() < 0.3:
        return Matrix([[chance.choice((0, 0, 1, 4)) for _ in range(total)] for _ in range(total)]), node_set
    return Tiles(rows, total // rows, chance.random() < 0.5), node_set


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(300 if IS_LONG else 20))
def test_all_searches_agree_with_every_order(seed: int) -> None:
    chance = random.Random(seed)
    pattern, node_set = sample(chance)
    count = chance.randint(1, len(node_set)) if pattern.uses_aggregators and chance.random() < 0.5 else None
    results = {search: place(TACHYON, pattern, node_set, count, search=search) for search in ("exhaustive", "dynamic")}
    annealed = place(TACHYON, pattern, node_set, count, search="annealing", seed=seed)
    for order in ORDERS:
        exhaustive, dynamic = (results[search].orders[order] for search in ("exhaustive", "dynamic"))
        assert exhaustive.cost == dynamic.cost
        rough = annealed.orders[order]
        assert rough.search.bound <= exhaustive.cost <= rough.cost
        assert not rough.search.proven or rough.cost == exhaustive.cost
        if count in (None, len(node_set)):
            assert exhaustive.cost == best_of_all(pattern, node_set, None, order)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(100 if IS_LONG else 8))
def test_a_bound_that_looks_at_no_place_holds_too(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("couplet.cost.placement.MAX_BOUND_PLACES", 0)
    pattern, node_set = sample(random.Random(seed))
    annealed = place(TACHYON, pattern, node_set, search="annealing")
    exhaustive = place(TACHYON, pattern, node_set, search="exhaustive")
    for order in ORDERS:
        assert annealed.orders[order].search.bound <= exhaustive.orders[order].cost


def signed_model(chance: random.Random) -> Model:
    """A model whose coefficients have any sign, as a fit of noisy cells gives them."""

    def piece(low: float, high: float) -> Piece:
        return Piece(low, high, *(round(chance.uniform(-0.01, 0.01), 5) for _ in range(3)))

    pieces = (piece(0.0, 2.0), piece(2.0, 9.0)) if chance.random() < 0.5 else (piece(0.0, 9.0),)
    order = Order("plane", {"plane": Fit("plane", pieces)})
    return Model("signed", 8, dict.fromkeys(ORDERS, order))


@pytest.mark.stress
@pytest.mark.parametrize("places", [0, 20_000])
@pytest.mark.parametrize("seed", range(200 if IS_LONG else 15))
def test_bounds_hold_for_coefficients_of_any_sign(seed: int, places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("couplet.cost.placement.MAX_BOUND_PLACES", places)
    chance = random.Random(seed)
    pattern, node_set = sample(chance)
    model = signed_model(chance)
    count = chance.randint(1, len(node_set)) if pattern.uses_aggregators and chance.random() < 0.5 else None
    monkeypatch.setattr("couplet.cost.placement.MIN_ANNEALING_MOVES", 50)
    monkeypatch.setattr("couplet.cost.placement.ANNEALING_MOVES", 50)
    exhaustive = place(model, pattern, node_set, count, search="exhaustive")
    rough = place(model, pattern, node_set, count, search="annealing", seed=seed).orders["intra_first"]
    least = exhaustive.orders["intra_first"].cost
    assert rough.search.bound <= least <= rough.cost
    assert not rough.search.proven or rough.cost == least
    assert 0.0 <= rough.search.gap(rough.cost) <= 2.0


@pytest.mark.parametrize("seed", range(40))
def test_no_node_has_fewer_or_more_messages_than_the_pattern_says(seed: int) -> None:
    pattern, node_set = sample(random.Random(seed))
    for count in range(1, len(node_set) + 1):
        for size in set(node_set):
            fewest, most = pattern.min_messages(size, count), pattern.max_messages(size, count)
            for start in range(pattern.process_count - size + 1):
                for domain in (None, *range(count)):
                    found = pattern.traffic(start, size, domain, count)
                    assert fewest <= found.ca + found.ce <= most


def test_no_proof_is_claimed_if_messages_between_nodes_seem_to_save_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("couplet.cost.placement.ANNEALING_MOVES", 300)
    order = Order("plane", {"plane": Fit("plane", (Piece(0.0, 9.0, 0.002, -0.001, 0.01),))})
    result = place(Model("signed", 8, dict.fromkeys(ORDERS, order)), Tiles(7, 33), tuple(range(1, 22)))
    found = result.orders["intra_first"]
    assert found.search.method == "annealing"
    assert not found.search.proven and found.search.bound < found.cost


def test_aggregators_are_chosen_among_all_choices() -> None:
    node_set = (4, 2, 1, 1)
    for count in (1, 2, 3):
        result = place(TACHYON, Tiles(4, 2), node_set, count)
        for order in ORDERS:
            scale = place(TACHYON, Tiles(4, 2), node_set, count, search="dynamic").orders[order].cost
            found = result.orders[order]
            assert found.cost == scale
            assert len(found.aggregators) == count
            messages = [Tiles(4, 2).traffic(0, 8, None, one).ce for one in (4, count)]
            assert found.cost == best_of_all(Tiles(4, 2), node_set, count, order) * messages[0] / messages[1]


def test_the_best_number_of_aggregators_is_no_worse_than_any() -> None:
    best = place(TACHYON, Tiles(4, 4), PAPER, "best", search="dynamic")
    for count in range(1, 9):
        one = place(TACHYON, Tiles(4, 4), PAPER, count, search="dynamic")
        for order in ORDERS:
            assert best.orders[order].cost <= one.orders[order].cost


@pytest.mark.parametrize("seed", range(12))
def test_a_best_number_is_proven_only_if_all_numbers_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some numbers of aggregators are searched exactly here, and the others are annealed with next to no moves."""
    for name, value in (("MAX_EXHAUSTIVE", 0), ("MAX_STATES", 12), ("MIN_ANNEALING_MOVES", 1), ("ANNEALING_MOVES", 1)):
        monkeypatch.setattr(f"couplet.cost.placement.{name}", value)
    model, node_set, tiles = signed_model(random.Random(seed)), (4, 2, 1, 1), Tiles(4, 2)
    found = place(model, tiles, node_set, "best").orders["intra_first"]
    monkeypatch.setattr("couplet.cost.placement.MAX_EXHAUSTIVE", 20_000)
    least = place(model, tiles, node_set, "best", search="exhaustive").orders["intra_first"].cost
    assert found.search.bound <= least <= found.cost
    assert not found.search.proven or found.cost == least


def test_many_unlike_nodes_are_annealed_and_the_gap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("couplet.cost.placement.ANNEALING_MOVES", 1000)
    node_set = tuple(range(1, 20))
    result = place(TACHYON, Tiles(19, 10), node_set)
    for found in result.orders.values():
        assert found.search.method == "annealing"
        assert found.search.bound <= found.cost
        assert sorted(found.node_set) == list(node_set)
        assert 0.0 <= found.search.gap(found.cost) < 1.0
    assert place(TACHYON, Tiles(19, 10), node_set) == result  # the seed is fixed


def test_many_alike_nodes_are_searched_exactly() -> None:
    result = place(TACHYON, Tiles(16, 16), (8,) * 20 + (4,) * 20 + (1,) * 16)
    for found in result.orders.values():
        assert (found.search.method, found.search.proven) == ("dynamic", True)
        assert found.cost <= min(result.given.values()) or found.cost <= result.given["intra_first"]


def test_every_order_is_looked_at_once_and_the_given_one_first() -> None:
    orders = list(distinct_orders((2, 1, 2, 3)))
    assert orders[0] == (2, 1, 2, 3)
    assert sorted(orders) == sorted(set(permutations((2, 1, 2, 3))))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"search": "genetic"}, "not known"), ({"aggregator_count": 0}, "1 to 8"), ({"aggregator_count": 9}, "1 to 8"),
        ({"aggregator_count": "most"}, "1 to 8"),
    ],
)  # fmt: skip
def test_bad_options_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(CostError, match=says):
        place(TACHYON, Tiles(4, 4), PAPER, **options)


def test_a_forced_search_that_would_take_for_ever_is_refused() -> None:
    node_set = tuple(range(1, 20))
    for search in ("exhaustive", "dynamic"):
        with pytest.raises(CostError, match="at most"):
            place(TACHYON, Tiles(19, 10), node_set, search=search)


def test_a_matrix_with_aggregators_is_refused() -> None:
    with pytest.raises(CostError, match="no aggregators"):
        place(TACHYON, Matrix([[1]]), (1,), 1)
