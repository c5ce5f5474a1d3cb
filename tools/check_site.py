"""Opens pages of each kind in a headless browser: no error on the console, a heading, and a search that finds.

Usage: check_site.py FOLDER
"""

from __future__ import annotations

import http.server
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Sphinx finds links that lead nowhere in all pages; what only a browser finds is the same in all pages of a kind.
PAGES = ("index", "journeys", "guide/series", "reference/c", "formats/series", "decisions/index")
WORD = "relay"  # what the search must find pages for
TROUBLE = re.compile(r"error|uncaught|failed|refused", re.IGNORECASE)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the folder on loopback without a log."""

    def log_message(self, *_: object) -> None:
        return


def opened(browser: str, address: str, *options: str) -> tuple[str, list[str]]:
    """The page as the browser has made it, and the errors that it reports."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += ["--enable-logging=stderr", "--virtual-time-budget=4000", *options, "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line and TROUBLE.search(line)]


def check(browser: str, folder: Path, base: str) -> list[str]:
    problems = []
    for name in PAGES:
        if not (folder / f"{name}.html").exists():
            problems.append(f"{name}.html is missing")
            continue
        dom, errors = opened(browser, f"{base}/{name}.html")
        problems += [f"{name}.html: {error}" for error in errors]
        if "<h1" not in dom:
            problems.append(f"{name}.html has no heading")
    dom, _ = opened(browser, f"{base}/search.html?q={WORD}")
    if "guide/other-nodes.html" not in dom.partition("search-results")[2]:
        problems.append(f"search.html does not find the word '{WORD}'")
    return problems


def serve(folder: Path, work: Callable[[str], list[str]]) -> list[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            return work(f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0])
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print("docs: SKIPPED opening the pages: no browser (Debian's package chromium)")
        return 0
    problems = serve(folder, partial(check, browser, folder))
    for problem in problems:
        print(f"docs: {problem}")
    print(f"docs: {len(problems)} problems" if problems else f"docs: {len(PAGES)} pages and the search work")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
