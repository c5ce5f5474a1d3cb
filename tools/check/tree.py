"""The part that all checks share: the files of the tree, and a cache of files that were found good."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

CPP = (".cpp", ".hpp", ".c", ".h")
GENERATED = "Written by tools/generate"  # in the first lines of a generated file
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


@dataclass(frozen=True)
class Tree:
    """A checkout. Problems are strings "path:line: text". No problem, no string."""

    root: Path

    @functools.cached_property
    def files(self) -> list[Path]:
        """Returns all files that belong to the project, relative to the root: tracked, or new and not ignored."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=self.root, capture_output=True, check=True, text=True).stdout
        paths = sorted({Path(name) for name in listed.split("\0") if name})
        return [path for path in paths if (self.root / path).is_file() and not (self.root / path).is_symlink()]

    def select(self, suffixes: Iterable[str], folders: Iterable[str] = ("",)) -> list[Path]:
        """Returns the files with one of the suffixes below one of the folders."""
        wanted = tuple(suffixes)
        starts = tuple(f"{folder}/" if folder else "" for folder in folders)
        return [path for path in self.files if path.suffix in wanted and str(path).startswith(starts)]

    def read(self, path: Path) -> str:
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def is_generated(self, path: Path) -> bool:
        """Whether a program writes the file: nobody reads it from end to end."""
        return GENERATED in "\n".join(self.read(path).split("\n", 5)[:5])

    def source_folders(self) -> list[str]:
        """Returns the folders of src/ that have files."""
        return sorted({path.parts[1] for path in self.files if path.parts[0] == "src" and len(path.parts) > 2})

    def with_headers(self, path: Path) -> list[Path]:
        """Returns a source file and every header of this tree that it includes, directly or not."""
        seen = {path}
        waiting = [path]
        while waiting:
            current = waiting.pop()
            for name in INCLUDE.findall(self.read(current)):
                for folder in (current.parent, Path("src"), Path("include"), Path("tests")):
                    candidate = folder / name
                    if candidate not in seen and (self.root / candidate).is_file():
                        seen.add(candidate)
                        waiting.append(candidate)
        return sorted(seen)

    def digest(self, paths: Iterable[Path], *extra: str) -> str:
        """Returns a name for the contents of the files, and of everything else on which a result depends."""
        total = hashlib.sha256("\0".join(extra).encode())
        for path in paths:
            total.update(str(path).encode() + b"\0" + (self.root / path).read_bytes() + b"\0")
        return total.hexdigest()

    def remembered(self, name: str) -> Path:
        """Returns the file with the keys that this check has found good."""
        folder = self.root / "build" / "check"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}.good"

    def found_good(self, name: str) -> set[str]:
        """Returns the keys that this check has found good before."""
        remembered = self.remembered(name)
        return set(remembered.read_text().split()) if remembered.exists() else set()

    def remember(self, name: str, keys: Iterable[str]) -> None:
        """Notes keys that another way of checking has found good."""
        with self.remembered(name).open("a") as file:
            file.writelines(f"{key}\n" for key in keys)

    def check_each(self, name: str, jobs: Mapping[str, Callable[[], list[str]]]) -> list[str]:
        """Runs the jobs that were not found good before, two at a time. A key names everything on which a job depends.

        Good results are remembered at once, so that an interrupted check continues there.
        """
        remembered = self.remembered(name)
        good = self.found_good(name)
        waiting = [key for key in jobs if key not in good]
        results: dict[str, list[str]] = {}
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool, remembered.open("a") as file:
            for key, problems in zip(waiting, pool.map(lambda key: jobs[key](), waiting), strict=True):
                results[key] = problems
                if not problems:
                    print(key, file=file, flush=True)
        good = {key for key in jobs if not results.get(key, [])}
        remembered.write_text("\n".join(sorted(good)) + "\n")
        return [problem for problems in results.values() for problem in problems]


def run(command: list[str], root: Path) -> tuple[int, str]:
    """Returns the exit status and all output of a command."""
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def find_llvm(name: str) -> str | None:
    """Returns the program name-15 or the next later one (tools/find-llvm)."""
    code, output = run([str(Path(__file__).parent.parent / "find-llvm"), name], Path.cwd())
    return output.strip() if code == 0 else None
