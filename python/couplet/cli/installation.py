"""Finds the executables of the installation."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import couplet


def executable(name: str) -> Path:
    """Returns ``couplet-hub``, ``couplet-relay`` or ``couplet-clean`` of this installation, else from PATH."""
    package = Path(couplet.__file__).parent
    places = [
        Path(os.environ["COUPLET_LIBEXEC"]) / name if "COUPLET_LIBEXEC" in os.environ else None,
        package / "libexec" / name,
        package / "libexec" / "couplet" / name,
    ]
    for place in places:
        if place is not None and place.is_file():
            return place
    if found := shutil.which(name):
        return Path(found)
    raise FileNotFoundError(f"{name} is not part of this installation (looked in {package / 'libexec'} and on PATH)")
