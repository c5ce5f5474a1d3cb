"""The architecture page shows, for each trip, exactly what the tour prints. ``--update`` rewrites the page.

python tests/tour/test_tour.py --update [BUILD_DIRECTORY]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
PATHS = dict.fromkeys(("send", "series", "relay", "halo", "round"), "left:1,right:1")
BUILD = ROOT / "build" / "release"
# A process that is kept from running in the middle of a data path looks at its sockets in between, or waits. On a
# loaded core, one of four prints therefore differed from the page. A path that has changed is never printed as the page
# shows it.
ATTEMPTS = 10


def travel(trip: str, build: Path = BUILD) -> str:
    """Returns what the tour prints for one trip."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        secret = Path(scratch, "secret")
        secret.touch(mode=0o600)
        secret.write_text("5" * 64 + "\n")
        environment = {**os.environ, "COUPLET_RUN_DIR": scratch, "COUPLET_SECRET_FILE": str(secret)}
        command = [build / "libexec/couplet/couplet-hub", "--programs", PATHS[trip], "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as hub:
            assert hub.stdout is not None
            environment["COUPLET_HUB"] = hub.stdout.readline().strip().removeprefix("COUPLET_HUB=")
            try:
                done = subprocess.run(
                    [build / "tests/tour-trip", trip],
                    env=environment,
                    stdout=subprocess.PIPE,
                    text=True,
                    timeout=120,
                    check=True,
                )
            finally:
                hub.terminate()
        return done.stdout


def usual(trip: str, build: Path) -> str:
    """Returns what most of several trips print."""
    return Counter(travel(trip, build) for _ in range(ATTEMPTS)).most_common(1)[0][0]


def block(trip: str) -> re.Pattern[str]:
    """Matches the block of the page that shows a trip."""
    return re.compile(rf"(<!-- tour: {trip} -->\n```text\n)(.*?)(```\n)", re.DOTALL)


@pytest.mark.parametrize("trip", PATHS)
def test_page_shows_the_tour(trip: str) -> None:
    shown = block(trip).search(PAGE.read_text())
    assert shown, f"docs/architecture.md shows no trip '{trip}'"
    for _ in range(ATTEMPTS):
        if (printed := travel(trip)) == shown[2]:
            return
    assert printed == shown[2], f"run: python {Path(__file__).relative_to(ROOT)} --update"


def test_every_trip_passes_the_layers_in_order() -> None:
    lines = travel("send").splitlines()
    layers = [line.split()[0] for line in lines if line.startswith("  ")]
    first = {layer: layers.index(layer) for layer in layers}
    assert first["capi"] < first["message"] < first["channel"] < first["link"]


if __name__ == "__main__":
    if sys.argv[1:2] != ["--update"]:
        sys.exit(__doc__)
    text = PAGE.read_text()
    for name in PATHS:
        text = block(name).sub(
            lambda match, name=name: (
                match[1] + usual(name, Path(sys.argv[2]) if len(sys.argv) > 2 else BUILD) + match[3]
            ),
            text,
        )  # type: ignore[misc]
    PAGE.write_text(text)
