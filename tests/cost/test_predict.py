"""Predictions follow the counting rule: against a count of every element, against a matrix, and by hand."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import brute_force
import pytest

from couplet.cost import CostError, Matrix, Tiles, load_model, parse_node_set, parse_tiles, place, predict, rank
from couplet.cost.model import ORDERS, Fit, Model, Order, OtherMachineWarning, Piece, warn_if_other_machine
from couplet.cost.patterns import Pattern
from couplet.cost.prediction import Iterations, OrderCost
from couplet.cost.tables import half_up, placement, prediction

TACHYON = load_model("tachyon1.json")
PUBLISHED = {
    "intra_first": (("0.003805", "0.007712", "0.005866"), ("0.008372", "0.006121", "0.001588")),
    "inter_first": (("0.003703", "0.007509", "0.006459"), ("0.008450", "0.006095", "0.001568")),
}
PAPER = (4, 4, 2, 2, 1, 1, 1, 1)


def published_cost(order: str, ca: int, ce: int) -> Fraction:
    pa, pe = Fraction(ca, 2), Fraction(ce, 2)
    alpha, beta, gamma = (Fraction(text) for text in PUBLISHED[order][0 if pa < 2 else 1])
    return alpha * pa + beta * pe + gamma


def composition(chance: random.Random, total: int) -> tuple[int, ...]:
    """A random node set of so many processes."""
    cuts = sorted(chance.sample(range(1, total), chance.randrange(0, total)))
    return tuple(stop - start for start, stop in zip([0, *cuts], [*cuts, total], strict=True))


def check(found: OrderCost, order: str, node_set: tuple[int, ...], ca: list[int], ce: list[int]) -> None:
    costs = [published_cost(order, *pair) for pair in zip(ca, ce, strict=True)]
    assert [(node.processes, node.pa * 2, node.pe * 2, node.cost) for node in found.nodes] == list(
        zip(node_set, ca, ce, costs, strict=True)
    )
    assert found.cost == max(costs)
    assert found.hot_spot == costs.index(max(costs))


@pytest.mark.parametrize("seed", range(150))
def test_tiles_are_counted_as_by_brute_force(seed: int) -> None:
    chance = random.Random(seed)
    rows, columns = chance.randint(1, 6), chance.randint(1, 6)
    node_set = composition(chance, rows * columns)
    counted = chance.random() < 0.5
    chosen = sorted(chance.sample(range(len(node_set)), chance.randint(1, len(node_set))))
    every = brute_force.messages(rows, columns, node_set, chosen, counted)
    result = predict(TACHYON, Tiles(rows, columns, counted), node_set, chosen)
    for order in ORDERS:
        check(result.orders[order], order, node_set, *brute_force.count(node_set, every))


@pytest.mark.parametrize("seed", range(40))
def test_a_matrix_of_the_same_messages_costs_the_same(seed: int) -> None:
    chance = random.Random(seed)
    rows, columns = chance.randint(1, 5), chance.randint(1, 5)
    node_set = composition(chance, rows * columns)
    size = rows * columns
    entries = [[0] * size for _ in range(size)]
    for source, target in brute_force.messages(rows, columns, node_set, range(len(node_set))):
        entries[source][target] += 1
    in_bytes = [[entry * TACHYON.message_bytes for entry in row] for row in entries]
    for counted in (True, False):
        wanted = predict(TACHYON, Tiles(rows, columns, counted), node_set).orders
        assert predict(TACHYON, Matrix(entries, counted), node_set).orders == wanted
        assert predict(TACHYON, Matrix(in_bytes, counted, TACHYON.message_bytes), node_set).orders == wanted


@pytest.mark.parametrize("seed", range(60))
def test_the_messages_from_node_to_node_are_those_of_brute_force(seed: int) -> None:
    chance = random.Random(seed)
    rows, columns = chance.randint(1, 6), chance.randint(1, 6)
    node_set, counted = composition(chance, rows * columns), chance.random() < 0.5
    chosen = sorted(chance.sample(range(len(node_set)), chance.randint(1, len(node_set))))
    every = brute_force.messages(rows, columns, node_set, chosen, counted)
    node_of, starts = brute_force.owners(node_set), [0, *accumulate(node_set)]
    wanted = [[0] * len(node_set) for _ in node_set]
    entries = [[0] * len(node_of) for _ in node_of]
    for source, target in every:
        wanted[node_of[source]][node_of[target]] += 1
        entries[source][target] += 1
    assert Tiles(rows, columns, counted).flows(starts, chosen) == wanted
    assert Matrix(entries).flows(starts, chosen) == wanted


def test_a_random_matrix_is_counted_entry_by_entry() -> None:
    chance = random.Random(7)
    for _ in range(40):
        size = chance.randint(1, 12)
        node_set = composition(chance, size)
        entries = [[chance.choice((0, 0, 1, 5)) for _ in range(size)] for _ in range(size)]
        every = [(s, t) for s in range(size) for t in range(size) for _ in range(entries[s][t])]
        result = predict(TACHYON, Matrix(entries), node_set)
        for order in ORDERS:
            check(result.orders[order], order, node_set, *brute_force.count(node_set, every))


def test_the_node_set_of_the_paper_by_hand() -> None:
    result = predict(TACHYON, Tiles(4, 4), PAPER)
    intra = result.orders["intra_first"]
    # Node 1 holds the second row of tiles: 8 messages to the domains 2 and 3, and 4 from the first row for domain 1.
    assert (intra.hot_spot, intra.nodes[1].pa, intra.nodes[1].pe) == (1, 0, 6)
    assert [half_up(node.cost) for node in intra.nodes] == [
        "0.030574", "0.052138", "0.036714", "0.036714", "0.029002", "0.029002", "0.023193", "0.023193"
    ]  # fmt: skip
    assert half_up(result.orders["inter_first"].cost) == "0.051513"


def test_ties_are_rounded_up() -> None:
    assert [half_up(Fraction(text)) for text in ("0.0231925", "0.0000005", "-0.0000005", "1.9999995", "12")] == [
        "0.023193", "0.000001", "0.000000", "2.000000", "12.000000"
    ]  # fmt: skip
    assert half_up(Fraction("-0.5")) == "-0.500000"


def test_the_piece_changes_at_pa_2_and_the_last_one_is_prolonged() -> None:
    one = predict(TACHYON, Tiles(1, 16), (16,))
    assert (one.orders["intra_first"].nodes[0].pa, one.extrapolated) == (8, True)
    four = predict(TACHYON, Tiles(1, 4), (4,))
    assert four.orders["intra_first"].cost == Fraction("0.008372") * 2 + Fraction("0.001588")
    assert not four.extrapolated
    three = predict(TACHYON, Tiles(1, 3), (3,))
    assert three.orders["intra_first"].cost == Fraction("0.003805") * Fraction(3, 2) + Fraction("0.005866")


def test_what_lies_beyond_the_measured_pairs_is_said() -> None:
    plane = Fit("plane", (Piece(0.0, 8.0, 0.001, 0.001, 0.01),), max_pe=2.0)
    model = Model("small", 8, dict.fromkeys(ORDERS, Order("plane", {"plane": plane})))
    assert predict(model, Tiles(1, 4), (4,)).notes() == []
    assert predict(model, Tiles(4, 4), PAPER).notes() == [
        "node 1 has 6 inter-node pairs (pe), and at most 2 were measured: the plane is prolonged; 4 other nodes have "
        "more than 2, too"
    ]
    two = predict(model, Tiles(1, 3), (1, 2), [1]), predict(TACHYON, Tiles(1, 16), (16,))
    assert [one.notes() for one in two] == [
        [],
        ["node 0 has 8 intra-node pairs (pa), and at most 7 were measured: the last piece is prolonged"],
    ]
    assert predict(TACHYON, Matrix([[0, 15], [0, 0]]), (1, 1)).notes() == [
        "node 0 has 7.5 inter-node pairs (pe), and at most 7 were measured: the plane is prolonged; 1 other node has "
        "more than 7, too"
    ]


def test_the_pairs_that_the_paper_measured_are_the_limits_of_its_model() -> None:
    """Half of the 16 cores of a node, less one: 0 to 7 pairs of each kind."""
    fits = [fit for order in TACHYON.orders.values() for fit in order.fits.values()]
    assert len(fits) == 4 and all((fit.max_pe, fit.pieces[-1].max_pa) == (7, 7) for fit in fits)


def test_negative_times_are_said() -> None:
    plane = Fit("plane", (Piece(0.0, 8.0, 0.002, -0.001, 0.001),))
    model = Model("signed", 8, dict.fromkeys(ORDERS, Order("plane", {"plane": plane})))
    one = predict(model, Tiles(4, 4), PAPER)
    note = "the model gives a negative time for node 1 (-0.005000 s), so that it does not hold there"
    assert one.notes() == [note] and one.to_json()["notes"] == [note]
    assert f"note: {note}" in prediction(one)
    assert "  note: the model gives negative times here; it does not hold there" not in placement(
        place(TACHYON, Tiles(4, 4), PAPER)
    )
    everywhere = replace(plane, pieces=(Piece(0.0, 8.0, -0.002, -0.001, 0.0),))
    whole = Model("signed", 8, dict.fromkeys(ORDERS, Order("plane", {"plane": everywhere})))
    assert "  note: the model gives negative times here; it does not hold there" in placement(
        place(whole, Tiles(4, 4), PAPER)
    )


def test_node_sets_are_ranked_and_equal_ones_stay_in_order() -> None:
    sets = [PAPER, (4, 4, 4, 4), PAPER, (16,)]
    assert rank([predict(TACHYON, Tiles(4, 4), one) for one in sets], "intra_first") == [1, 0, 2, 3]


def test_iterations_share_the_cost_in_proportion() -> None:
    parts = Iterations(4 << 20, Fraction(10 << 20))
    assert (parts.count, parts.share) == (3, Fraction(2, 5))
    assert (Iterations(4 << 20, Fraction(1)).count, Iterations(4 << 20, Fraction(1)).share) == (1, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", '""'), ("4,,4", 'its entry 2 is ""'), ("4,-1", '"-1"'), ("4,x", '"x"'), ("4,0", "node 1 has no process"),
        ("4;4", '"4;4"'), ("4.0", '"4.0"'), ("²", "²"), ("999999999,999999999", "at most"), ("1" * 40, "no number"),
    ],
)  # fmt: skip
def test_a_bad_node_set_is_refused(text: str, says: str) -> None:
    with pytest.raises(CostError, match="node set") as caught:
        parse_node_set(text)
    assert says in str(caught.value)


def test_a_good_node_set_is_read() -> None:
    assert parse_node_set("{4, 4,2,2,1,1,1,1}") == PAPER


@pytest.mark.parametrize("text", ["4", "4x", "x4", "0x4", "4x4x4", "-4x4", "4 by 4", "99999x99999"])
def test_bad_tiles_are_refused(text: str) -> None:
    with pytest.raises(CostError, match="tiles"):
        Tiles(*parse_tiles(text))


def test_a_node_set_that_does_not_add_up_is_refused() -> None:
    for pattern in (Tiles(4, 4), Matrix([[1] * 16] * 16)):
        with pytest.raises(CostError, match="holds 8 processes.* have to add up to 16"):
            predict(TACHYON, pattern, (4, 4))


@pytest.mark.parametrize(
    ("chosen", "says"), [([], "at least one"), ([8], "no node 8"), ([-1], "no node -1"), ([1, 1], "named twice")]
)
def test_bad_aggregators_are_refused(chosen: list[int], says: str) -> None:
    with pytest.raises(CostError, match=says):
        predict(TACHYON, Tiles(4, 4), PAPER, chosen)


def test_a_matrix_has_no_aggregators() -> None:
    with pytest.raises(CostError, match="no aggregators"):
        predict(TACHYON, Matrix([[1]]), (1,), [0])


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([[0, 1], [-3, 0]], "process 1 sends to process 0 .-3. is negative"),
        ([[0, float("nan")], [0, 0]], "process 0 sends to process 1 .nan. is not a finite"),
        ([[0, float("inf")], [0, 0]], "not a finite"), ([[0, 0.5], [0, 0]], "not a whole number"),
        ([[1, 2, 3], [1, 2, 3]], "square"), ([], "square"), ([[1e300]], "2.53"),
    ],
)  # fmt: skip
def test_a_bad_matrix_is_refused(entries: list[list[float]], says: str) -> None:
    with pytest.raises(CostError, match=says):
        Matrix(entries)


def test_a_kind_that_the_model_lacks_is_refused() -> None:
    assert predict(TACHYON, Tiles(4, 4), PAPER, kind="plane").orders["intra_first"].cost < 1
    with pytest.raises(CostError, match='no "hinge" fit; it has: plane, split'):
        predict(TACHYON, Tiles(4, 4), PAPER, kind="hinge")


def test_large_node_sets_are_counted_quickly() -> None:
    pattern: Pattern = Tiles(512, 512)
    result = predict(TACHYON, pattern, (64,) * 4096)
    assert sum(node.processes for node in result.orders["intra_first"].nodes) == 512 * 512


def test_a_published_model_is_of_no_host_and_another_machine_is_warned_of_by_name() -> None:
    warn_if_other_machine(TACHYON, "tachyon1.json")
    warn_if_other_machine(TACHYON, "tachyon1.json", "Tachyon I")
    with pytest.warns(OtherMachineWarning, match='machine "Tachyon I", not on "Fugaku"'):
        warn_if_other_machine(TACHYON, "tachyon1.json", "Fugaku")
