"""Fixtures of tests that are themselves members of a universe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from launching import World

import couplet


@pytest.fixture
def join_here(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Makes a world whose environment is this process's, for tests that are themselves members."""

    def make(programs: str) -> World:
        world = make_world(programs)
        for name, value in world.environment.items():
            if name.startswith("COUPLET_"):
                monkeypatch.setenv(name, value)
        return world

    yield make


@pytest.fixture
def solo(join_here: Callable[..., World]) -> Iterator[couplet.Universe]:
    join_here("solo:1")
    with couplet.join("solo") as universe:
        yield universe
