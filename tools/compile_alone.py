"""Compiles each source of the library by itself, as a tree without COUPLET_UNITY does, and keeps no object file.

Sources that are compiled ten at a time see each other's headers, and so do those that clang-tidy joins: a source that
does not include what it uses fails only on the machine of a user.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


def errors_of(entry: dict[str, str]) -> str:
    """Returns what the compiler says of a source that it cannot compile; empty if it can."""
    words = shlex.split(entry["command"])
    kept = words[: words.index("-o")] + words[words.index("-o") + 2 :]
    done = subprocess.run([*kept, "-w", "-fsyntax-only"], cwd=entry["directory"], capture_output=True, text=True)
    return f"{entry['file']}:\n{done.stderr}" if done.returncode else ""


def main() -> int:
    subprocess.run(["cmake", "--preset", "tidy"], cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
    database = json.loads((PROJECT / "build" / "tidy" / "compile_commands.json").read_text())
    entries = [entry for entry in database if Path(entry["file"]).is_relative_to(PROJECT / "src")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [errors for errors in pool.map(errors_of, entries) if errors]
    print("\n".join(failures), end="")
    print(f"compile-alone: {len(entries)} sources, {len(failures)} failed")
    return 1 if failures or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
