"""The counting rule, counted element by element: written from the rule alone, with nothing of couplet.cost in it.

Processes fill the nodes in list order. Process r has tile (r div columns, r mod columns) of a row-major file. There is
one aggregator per node, in node order, and the file is cut into as many equal contiguous domains. Every overlap of a
process and a domain is a message: on the same node 1 to that node's ca, else 1 to the ce of either node.
"""

from __future__ import annotations

from collections.abc import Sequence


def owners(node_set: Sequence[int]) -> list[int]:
    """The node of each process."""
    return [node for node, count in enumerate(node_set) for _ in range(count)]


def overlaps(rows: int, columns: int, domain_count: int) -> set[tuple[int, int]]:
    """(process, domain) of every element of a file whose tiles are ``domain_count`` elements high and 2 wide."""
    height, width = domain_count, 2
    row_elements = columns * width
    domain_elements = rows * height * row_elements // domain_count
    found = set()
    for y in range(rows * height):
        for x in range(row_elements):
            process = (y // height) * columns + x // width
            found.add((process, (y * row_elements + x) // domain_elements))
    return found


def messages(
    rows: int, columns: int, node_set: Sequence[int], aggregators: Sequence[int], count_self: bool = True
) -> list[tuple[int, int]]:
    """(source, target) process of every message; the aggregator of a node is its first process."""
    firsts = [sum(node_set[:node]) for node in range(len(node_set))]
    every = [(process, firsts[aggregators[domain]]) for process, domain in overlaps(rows, columns, len(aggregators))]
    return [(source, target) for source, target in every if count_self or source != target]


def count(node_set: Sequence[int], every: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """ca and ce of each node."""
    node_of = owners(node_set)
    ca, ce = [0] * len(node_set), [0] * len(node_set)
    for source, target in every:
        if node_of[source] == node_of[target]:
            ca[node_of[source]] += 1
        else:
            ce[node_of[source]] += 1
            ce[node_of[target]] += 1
    return ca, ce
