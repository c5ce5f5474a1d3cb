"""Two programs under Open MPI, MPICH or no MPI, in each pair: a series in each direction, and messages between all
ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from launching import World
from namespaces import ADDRESSES, Namespaces, make_namespaces
from pairs import KINDS, links, run_pair

MakeWorld = Callable[..., World]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("right", KINDS)
@pytest.mark.parametrize("left", KINDS)
def test_pair(make_world: MakeWorld, left: str, right: str, ranks: int) -> None:
    world = make_world(f"left:2,right:{ranks}")
    run_pair(world, (left, 2), (right, ranks), "both")
    assert links(world, "left") == {"shm"}


@pytest.mark.parametrize("right", KINDS)
@pytest.mark.parametrize("left", KINDS)
def test_pair_with_tcp_forced(make_world: MakeWorld, left: str, right: str) -> None:
    world = make_world("left:1,right:1")
    run_pair(world, (left, 1), (right, 1), "messages", COUPLET_LINKS="self,tcp")
    assert links(world, "left") == {"tcp"} == links(world, "right")


@pytest.fixture
def namespaces() -> Iterator[Namespaces]:
    spaces = make_namespaces()
    yield spaces
    spaces.close()


@pytest.mark.parametrize("cable", [0, 1])
@pytest.mark.parametrize("hub", ["left", "right"])
@pytest.mark.parametrize(("left", "right"), [("none", "openmpi"), ("mpich", "none"), ("openmpi", "mpich")])
def test_between_network_namespaces(
    make_world: MakeWorld, namespaces: Namespaces, left: str, right: str, hub: str, cable: int
) -> None:
    """Each is a node, so series go through relays. The hub is reached over cable 0; the others meet over the named
    one.
    """
    world = make_world("left:2,right:1", address=ADDRESSES[hub][0], prefix=namespaces.prefix(hub))
    prefix = {side: namespaces.prefix(side) for side in namespaces.keepers}
    nodes = {side: side for side in namespaces.keepers}
    interface = {} if cable == 0 else {"COUPLET_INTERFACE": "cable1"}
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # inside one, the user is root
    run_pair(world, (left, 2), (right, 1), "both", prefix, nodes, COUPLET_LINKS="self,tcp", **interface, **environment)
    assert links(world, "left") == {"tcp"} == links(world, "right")
    assert namespaces.received("right", cable) > 4_000_000
    assert namespaces.received("right", 1 - cable) < 1_000_000
