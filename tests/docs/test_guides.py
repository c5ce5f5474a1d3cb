"""The programs in docs/guide/*.md and the examples of the README are compiled and run exactly as they are printed
there.

A code block after ``<!-- program: NAME -->`` is a whole program. ``mpi N`` after the name means N ranks under MPI. All
programs of a page run in one universe. A block after ``<!-- output: NAME -->`` is what the program must print. A code
block after ``<!-- file: PATH -->`` must be that file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from jobs import session
from launching import BUILD, PROJECT, World, mpi_environment
from needs import built, compiler, launcher

BLOCK = re.compile(r"<!-- (program|output|file): ([^>]+?) -->\n```(\w+)\n(.*?)```\n", re.DOTALL)
SUFFIXES = {"c": ".c", "cpp": ".cpp", "fortran": ".f90", "python": ".py"}
FLAVOURS = ("openmpi", "mpich")
PAGES = sorted(page.name for page in (PROJECT / "docs" / "guide").glob("*.md") if "<!-- program:" in page.read_text())
PROSE = [PROJECT / "README.md", *sorted((PROJECT / "docs" / "guide").glob("*.md"))]


@dataclass
class Example:
    """A program of a page. ranks is 0 if it needs no MPI."""

    name: str
    ranks: int
    language: str
    text: str


def blocks(page: Path, kind: str) -> list[tuple[str, str, str]]:
    """Returns (name, language, text) of each marked block of that kind."""
    return [(name, language, text) for found, name, language, text in BLOCK.findall(page.read_text()) if found == kind]


def programs(page: Path) -> list[Example]:
    found = []
    for words, language, text in blocks(page, "program"):
        name, *mpi = words.split()
        found.append(Example(name, int(mpi[1]) if mpi else 0, language, text))
    return found


def compiler_for(example: Example, flavour: str) -> list[str]:
    """Returns the command without source and target. Skips the test if the compiler is missing."""
    standard = {"c": ["-std=c11"], "cpp": ["-std=c++20"]}
    command = compiler(example.language, flavour if example.ranks else None)
    return [command, *standard.get(example.language, []), "-Wall", "-I", str(PROJECT / "include")]


def libraries_for(example: Example, flavour: str) -> list[str]:
    library = BUILD / "lib"
    words = ["-L", str(library), f"-Wl,-rpath,{library}"]
    modules = BUILD / "fortran" / "modules"
    if example.language == "fortran":
        words += ["-I", str(modules)]
        if example.ranks:
            words += ["-I", str(modules / flavour), f"-lcouplet_fortran_mpi_{flavour}"]
        words.append("-lcouplet_fortran")
    if example.ranks:
        words.append(f"-lcouplet_mpi_{flavour}")
    return [*words, "-lcouplet"]


def build(example: Example, directory: Path, flavour: str) -> list[str]:
    """Compiles the program, and returns the command that starts it."""
    source = directory / (example.name + SUFFIXES[example.language])
    source.write_text(example.text)
    if example.language == "python":
        command = [sys.executable, str(source)]
    else:
        command = [str(directory / example.name)]
        words = [*compiler_for(example, flavour), str(source), "-o", command[0], *libraries_for(example, flavour)]
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"
    if not example.ranks:
        return command
    return [launcher(flavour), "-n", str(example.ranks), *command]


def cases() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        with_mpi = any(example.ranks for example in programs(PROJECT / "docs" / "guide" / page))
        found += [(page, flavour) for flavour in (FLAVOURS if with_mpi else FLAVOURS[:1])]
    return found


@pytest.mark.parametrize(("page", "flavour"), cases())
def test_guide(make_world: Callable[..., World], tmp_path: Path, page: str, flavour: str) -> None:
    path = PROJECT / "docs" / "guide" / page
    examples = programs(path)
    expected = {name: text for name, _, text in blocks(path, "output")}
    commands = [build(example, tmp_path, flavour) for example in examples]
    world = make_world(",".join(f"{example.name}:{max(1, example.ranks)}" for example in examples))
    started = [
        world.start(command, **({**mpi_environment(flavour), **session(world)} if example.ranks else {}))
        for example, command in zip(examples, commands, strict=True)
    ]
    ended = {example.name: world.finish(process) for example, process in zip(examples, started, strict=True)}
    for name, process in ended.items():
        assert process.check().output == expected.get(name, ""), name


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_shown_files_are_the_files(page: Path) -> None:
    for name, _, text in blocks(page, "file"):
        assert text == (PROJECT / name).read_text(), f"{page.name} shows another {name}"


def story(name: str) -> list[str]:
    if name.endswith(".py"):
        return [sys.executable, str(PROJECT / "examples" / "story" / name)]
    return [built(BUILD / "examples" / "story" / name, name.partition("_")[2])]


@pytest.mark.parametrize("reader", ["nowcast_c", "nowcast.py"])
@pytest.mark.parametrize("writer", ["ocean_cpp", "ocean_fortran"])
def test_examples_of_the_readme(make_world: Callable[..., World], writer: str, reader: str) -> None:
    _, read = make_world("ocean:1,nowcast:1").run_together(story(writer), story(reader))
    assert read.output == "100 steps, highest 1.000\n"
