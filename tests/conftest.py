"""make_world: starts a hub and the programs of a test, and checks that nothing is left."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

from launching import World
from shared_memory import shared_directory

# Tests with such a mark run only if the variable is 1.
ASKED_FOR = {"cluster": "COUPLET_CLUSTER", "long": "COUPLET_STRESS"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [mark for mark, variable in ASKED_FOR.items() if os.environ.get(variable) != "1"]
    ours = [item for item in items if any(item.get_closest_marker(mark) for mark in left_out)]
    if ours:
        config.hook.pytest_deselected(items=ours)
        items[:] = [item for item in items if item not in ours]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes a World with a hub: make_world("writer:1,reader:1"). The test fails if files of the run are left.

    Without programs the world has no hub.
    """
    worlds: list[World] = []
    directories = contextlib.ExitStack()

    def make(
        programs: str,
        *options: str,
        address: str = "127.0.0.1",
        prefix: Sequence[str] = (),
        run_directory: Path | None = None,
    ) -> World:
        secret = tmp_path / f"secret-{len(worlds)}"
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(32) + "\n")
        run_directory = run_directory or directories.enter_context(shared_directory())
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COUPLET_")}
        environment |= {
            "COUPLET_SECRET_FILE": str(secret),
            "COUPLET_RUN_DIR": str(run_directory),
            "COUPLET_JOIN_TIMEOUT": "100",
            "COUPLET_COST_FILE": "none",  # that of the developer's machine would change choices
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        world = World(tmp_path, run_directory, environment)
        worlds.append(world)
        if programs:
            world.start_hub(programs, *options, address=address, prefix=prefix)
        return world

    yield make
    left: list[str] = []
    with directories:
        for world in worlds:
            world.close()
            left += [str(path) for path in world.run_directory.rglob("*")]
    assert not left, f"left behind: {left}"
