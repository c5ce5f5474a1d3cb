"""Tasks and areas in each language, each language in each role, as separate launches.

The requester exposes an area of unequal extents and submits 12 requests, some of which the coupler changes or refuses.
The workers check parameters, payload and a box of the area, and write a result back. See programs/tasks_*.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import LANGUAGES, World, command_for

ROTATIONS = [tuple(LANGUAGES[(first + shift) % 4] for shift in range(3)) for first in range(4)]


@pytest.mark.parametrize(("requester", "coupler", "worker"), ROTATIONS)
def test_tasks(make_world: Callable[..., World], requester: str, coupler: str, worker: str) -> None:
    roles = {"requester": requester, "coupler": coupler, "worker": worker}
    commands = [[*command_for("tasks", language), role] for role, language in roles.items()]
    told = make_world("requester:1,coupler:1,worker:1").run_together(*commands)
    assert [ended.output for ended in told] == [f"{language} {role}: done\n" for role, language in roles.items()]
