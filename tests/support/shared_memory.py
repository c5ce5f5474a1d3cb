"""Directories of tests in shared memory: locked while their test runs; the next test removes those of killed ones.

It is the same as tests/support/shared_directory.cpp.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
PREFIX = "couplet-testing-"
BEING_MADE_S = 60  # a directory has its lock by then


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Says whether the directory's lock was free, and holds it until the end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False
    finally:
        os.close(descriptor)


def remove_leftovers() -> None:
    """Removes what killed tests have left: directories of our own that no process has locked."""
    for path in SHARED_MEMORY.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            facts = path.lstat()
            if facts.st_uid == os.geteuid() and facts.st_ctime < time.time() - BEING_MADE_S:
                with locked(path) as dead:
                    if dead:
                        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def shared_directory() -> Iterator[Path]:
    """Makes a fresh private directory, and removes it at the end."""
    remove_leftovers()
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=SHARED_MEMORY))
    with locked(path) as mine:
        assert mine
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
