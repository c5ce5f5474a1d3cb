"""site: a folder on a cluster of eight nodes. A test that leaves a job, a process or a file there fails.

`make test` runs the tests without the mark `cluster`, and `make test-cluster` all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from cluster import Cluster, UnavailableError
from coupled import Site

END_S = 30.0  # for the end of what a test has started


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    try:
        made = Cluster(8)
    except UnavailableError as error:
        pytest.skip(str(error))
    with made:
        yield made
    assert not made.folder.exists()


@pytest.fixture
def site(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Site]:
    folder = cluster.folder / "home" / str(request.node.name).translate(str.maketrans("[]/ ", "____"))
    folder.mkdir(parents=True)
    one = Site(cluster, folder)
    yield one
    left = one.left()
    deadline = time.monotonic() + END_S
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = one.left()
    if left:  # the next test gets an empty cluster
        cluster.run("scancel", "--user=root")
    assert not left, f"left behind: {left}"
