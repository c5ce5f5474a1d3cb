"""What is built: the symbols that the libraries export, and the public headers, each compiled alone."""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path

from tree import Tree, find_llvm, run

# The functions of this header are in the libraries for each MPI.
NEEDS_MPI = "couplet_mpi.h"
LIBRARIES = ("libcouplet.so", "libcouplet_mpi_openmpi.so", "libcouplet_mpi_mpich.so", "libcouplet_mpi_abi.so")
STRICT = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude"]
DECLARATION = re.compile(r"^COUPLET_API\s[^;]*?\b(couplet_\w+)\s*\(", re.MULTILINE)


def check_symbols(tree: Tree) -> list[str]:
    """Each library exports its C functions, and no other library exports them too: a process would have two of each."""
    problems = []
    core: list[str] = []
    for name in LIBRARIES:
        library = tree.root / "build" / "release" / "lib" / name
        if library.exists():
            exported = exported_names(tree, library)
            problems += [f"{name}:1: exports {symbol} as libcouplet.so does" for symbol in exported if symbol in core]
            problems += [f"{name}:1: exports {symbol}" for symbol in exported if not symbol.startswith("couplet_")]
            if name == "libcouplet.so":
                core = exported
                problems += missing_names(tree, exported) + needs_mpi(tree, library)
        elif name == "libcouplet.so":
            problems.append(f"{name}:1: is not built")
    return problems


def exported_names(tree: Tree, library: Path) -> list[str]:
    code, output = run(["nm", "-D", "--defined-only", str(library)], tree.root)
    if code:
        raise RuntimeError(f"nm cannot read {library}: {output}")
    return sorted({line.split()[-1].split("@")[0] for line in output.splitlines() if line.strip()})


def missing_names(tree: Tree, exported: list[str]) -> list[str]:
    return [
        f"{path}:1: {name} is declared, but not exported"
        for path in tree.select([".h"], ["include/couplet"])
        if path.name != NEEDS_MPI
        for name in DECLARATION.findall(tree.read(path))
        if name not in exported
    ]


def needs_mpi(tree: Tree, library: Path) -> list[str]:
    """libcouplet couples programs of any MPI, so it must not link one."""
    _, output = run(["readelf", "-d", str(library)], tree.root)
    return [f"{library.name}:1: links {name}" for name in re.findall(r"NEEDED.*\[(lib\w*mpi\w*\.so[^\]]*)\]", output)]


def check_headers(tree: Tree) -> list[str]:
    clang, clang_cpp = find_llvm("clang"), find_llvm("clang++")
    c_compilers = [name for name in ("gcc", clang) if name]
    cpp_compilers = [name for name in ("g++", clang_cpp) if name]
    jobs = {}
    for path in tree.select([".h", ".hpp"], ["include"]) + tree.select([".h"], ["compat"]):
        languages = [("c++", "-std=c++20", cpp_compilers)]
        if path.suffix == ".h":
            languages.append(("c", "-std=c11", c_compilers))
        for language, standard, compilers in languages:
            for compiler in compilers:
                for flags in mpi_flags(tree, path):
                    command = [compiler, "-x", language, standard, *STRICT, *flags, str(path)]
                    if compiler in (clang, clang_cpp):
                        command.insert(1, "-Wno-pragma-once-outside-header")
                    key = tree.digest(tree.with_headers(path), *command)
                    jobs[key] = partial(compile_alone, tree, path, command)
    return tree.check_each("headers", jobs)


def mpi_flags(tree: Tree, path: Path) -> list[list[str]]:
    """Returns no flags, or, for a header that includes mpi.h, those of each MPI that is installed."""
    if not any("mpi.h" in tree.read(header) for header in tree.with_headers(path)):
        return [[]]
    found = []
    for wrapper, question in (("mpicc.openmpi", "-showme:compile"), ("mpicc.mpich", "-compile-info")):
        if shutil.which(wrapper):
            _, output = run([wrapper, question], tree.root)
            found.append([f"-isystem{word[2:]}" for word in output.split() if word.startswith("-I")])
    return found


def compile_alone(tree: Tree, path: Path, command: list[str]) -> list[str]:
    code, output = run(command, tree.root)
    return [f"{path}:1: not alone with {' '.join(command[:4])}: {output.strip()[:400]}"] if code else []
