"""The page of couplet probe --report in a headless browser: no error on the console, no picture that is empty."""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from launching import PROJECT

sys.path.insert(0, str(PROJECT / "tools"))

import check_site
from couplet.cost.measurement import Measurement
from couplet.cost.report import report

# Asks each picture how large it is shown, and how many of its shapes have an extent.
QUESTION = """
<script>
const found = [...document.querySelectorAll("svg")].map(svg => ({
  width: svg.getBoundingClientRect().width,
  height: svg.getBoundingClientRect().height,
  shapes: [...svg.querySelectorAll("path, use, rect, circle")].filter(one => {
    const box = one.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
  }).length,
  words: [...svg.querySelectorAll("text")].filter(one => one.getBoundingClientRect().width > 0).length,
}));
const answer = document.createElement("pre");
answer.id = "answer";
answer.textContent = JSON.stringify(found);
document.body.append(answer);
</script>
</body>"""
WIDTH, HEIGHT = 1300, 1300


@pytest.fixture(scope="module")
def browser() -> str:
    found = next((path for name in check_site.BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no browser is installed (Debian's package chromium)")
    return found


def pictures_of(browser: str, page: Path, shot: Path | None = None) -> list[dict[str, float]]:
    """Opens the page with the question, without an error on the console. Returns the answer."""
    asking = page.with_name("asking.html")
    asking.write_text(page.read_text().replace("</body>", QUESTION))
    words = [] if shot is None else [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}"]
    dom, errors = check_site.opened(browser, asking.as_uri(), *words)
    assert errors == []
    answer = re.search(r'<pre id="answer">(.*?)</pre>', dom, re.DOTALL)
    assert answer is not None
    found: list[dict[str, float]] = json.loads(html.unescape(answer[1]))
    return found


def assert_pictures(pictures: list[dict[str, float]], picture_count: int) -> None:
    """All are of a good size, and have shapes and words with an extent."""
    assert len(pictures) == picture_count
    for picture in pictures:
        assert picture["width"] > 300 and picture["height"] > 200
        assert picture["shapes"] > 30 and picture["words"] > 10, f"few shapes or words: {picture}"


def assert_drawn(shot: Path) -> None:
    """Many points in the colour of either posting order are seen."""
    from matplotlib.image import imread

    pixels = imread(shot)[..., :3]
    red, blue = pixels[..., 0], pixels[..., 2]
    assert (blue - red > 0.2).sum() > 500, "no plot of intra_first"
    assert (red - blue > 0.2).sum() > 500, "no plot of inter_first"


def test_the_page_of_a_probe(browser: str, rehearsal: Path, tmp_path: Path) -> None:
    """Surfaces and planes, and the curves of one message. A picture without shapes, behind them, is noticed."""
    page = tmp_path / "report.html"
    text = (rehearsal / "report.html").read_text()
    empty = re.sub(
        r"(<svg[^>]*>).*</svg>", r"\1</svg>", text[text.index("<svg") : text.index("</svg>") + 6], flags=re.S
    )
    page.write_text(text.replace("</body>", f"{empty}</body>"))
    *drawn, nothing = pictures_of(browser, page, tmp_path / "shot.png")
    assert_pictures(drawn, 2)
    with pytest.raises(AssertionError, match="shapes"):
        assert_pictures([nothing], 1)
    assert "<h1>Communication costs of rehearsed</h1>" in page.read_text()
    assert_drawn(tmp_path / "shot.png")


def test_the_page_of_a_placement(couplet: Callable[..., Any], browser: str, tmp_path: Path) -> None:
    page = tmp_path / "placement.html"
    words = ("--tiles", "4x4", "--nodes", "4,4,2,2,1,1,1,1", "--report", page)
    result = couplet("place", "--model", "tachyon1.json", *words)
    assert result.exit_code == 0, result.stderr
    assert_pictures(pictures_of(browser, page), 1)
    assert "<h1>Placement of 4x4 tiles</h1>" in page.read_text()


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes a second, and says nothing about the text of a page."""
    monkeypatch.setattr("couplet.cost.report._picture", lambda figure: "<figure></figure>")
    monkeypatch.setattr("couplet.cost.plots.fit_figure", lambda *given: None)


@pytest.mark.usefixtures("without_pictures")
def test_the_page_explains_its_words_and_shows_directions() -> None:
    content = synthetic.document("plane")
    assert "intra in" not in report(synthetic.measurement("plane"))
    content["cells"][9]["intra_in"] += 1
    page = report(Measurement.from_json(content, "synthetic"))
    assert "<th>intra in</th><th>intra out</th><th>inter in</th><th>inter out</th>" in page
    for shown in (
        "<td>hosts</td><td>invented0, invented1</td>",
        "<td>ranks</td><td>1</td>",
        "core: -1 means",
        "half star",
    ):
        assert shown in page


@pytest.mark.usefixtures("without_pictures")
def test_small_times_have_three_digits_in_a_unit_that_fits() -> None:
    content = synthetic.document("plane")
    for cell in content["cells"]:
        cell["median_s"] *= 1e-4
        cell["minimum_s"] *= 1e-4
    page = report(Measurement.from_json(content, "synthetic"))
    assert "<th>median us</th>" in page and "<td>0.568</td>" in page
