"""Documents and words: opening comments, the architecture page, and paths that exist on one machine only."""

from __future__ import annotations

import re
from pathlib import Path

from tree import Tree, run

COMMENT_LINES = 12
ARCHITECTURE = Path("docs/architecture.md")
TRIPS = ("send", "series, write", "series, read on the same node", "series, read from another node")
# A path that exists on a developer's machine only.
PRIVATE_PATH = re.compile(r"(?<![\w.$}/-])/(?:work|home|Users)/\w+")


def check_opening_comments(tree: Tree) -> list[str]:
    """Each header opens with a comment: what it turns into what, neighbours, invariants, tests."""
    problems = []
    for path in tree.select([".hpp", ".h"], ["src", "include", "compat"]):
        lines = opening_comment(tree.read(path))
        if lines == 0:
            problems.append(f"{path}:1: does not open with a comment that says what it is for")
        elif lines > COMMENT_LINES:
            problems.append(f"{path}:1: opens with {lines} lines of comment, at most {COMMENT_LINES} are read")
    for folder in tree.source_folders():
        headers = [path for path in tree.select([".hpp"], [f"src/{folder}"]) if len(path.parts) == 3]
        if folder != "capi" and not headers:
            problems.append(f"src/{folder}:1: has no header that says what the folder is for")
    return problems


def opening_comment(text: str) -> int:
    """Returns the number of lines of the comment with which a file begins."""
    if text.startswith("/*"):
        return text.split("*/")[0].count("\n") + 1
    return len(re.match(r"(?://[^\n]*\n)*", text)[0].splitlines())  # type: ignore[index]


def check_architecture(tree: Tree) -> list[str]:
    """Every folder of src/ and every trip is on the architecture page."""
    if not (tree.root / ARCHITECTURE).exists():
        print(f"  SKIPPED: there is no {ARCHITECTURE} yet")
        return []
    text = tree.read(ARCHITECTURE)
    problems = [
        f"{ARCHITECTURE}:1: src/{folder}/ is not described"
        for folder in tree.source_folders()
        if not re.search(rf"\b{folder}/", text)
    ]
    return problems + [f'{ARCHITECTURE}:1: the trip "{trip}" is not shown' for trip in TRIPS if trip not in text]


def check_words(tree: Tree) -> list[str]:
    """No file has a path of one person's machine, or a word of the checkout's private list, git's info/banned-words."""
    banned = [PRIVATE_PATH]
    code, output = run(["git", "rev-parse", "--git-common-dir"], tree.root)
    private = tree.root / output.strip() / "info" / "banned-words"
    if code == 0 and private.exists():
        words = [word for word in private.read_text().splitlines() if word.strip()]
        banned += [re.compile(re.escape(word), re.IGNORECASE) for word in words]
    problems = []
    for path in tree.files:
        content = (tree.root / path).read_bytes()
        if b"\0" in content[:8000]:
            continue
        for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), 1):
            matches = [match for word in banned if (match := word.search(line))]
            problems += [f'{path}:{number}: "{match[0]}" does not belong here' for match in matches]
    return problems
