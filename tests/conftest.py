"""make_world: a hub and whatever programs a test starts, and nothing left behind."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

from launching import World


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """make_world("writer:1,reader:1") -> a World with a hub; the test fails where files of the run are left behind."""
    worlds: list[World] = []
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else tmp_path

    def make(programs: str, *options: str, address: str = "127.0.0.1", prefix: Sequence[str] = ()) -> World:
        secret = tmp_path / f"secret-{len(worlds)}"
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(32) + "\n")
        run_directory = base / f"couplet-test-{os.getpid()}-{secrets.token_hex(4)}"
        run_directory.mkdir(mode=0o700)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COUPLET_")}
        environment |= {
            "COUPLET_SECRET_FILE": str(secret),
            "COUPLET_RUN_DIR": str(run_directory),
            "COUPLET_JOIN_TIMEOUT": "30",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        world = World(tmp_path, run_directory, environment)
        worlds.append(world)
        world.start_hub(programs, *options, address=address, prefix=prefix)
        return world

    yield make
    left: list[str] = []
    for world in worlds:
        world.close()
        left += [str(path) for path in world.run_directory.rglob("*")]
        shutil.rmtree(world.run_directory, ignore_errors=True)
    assert not left, f"left behind: {left}"
