"""Each check of make check can fail: it finds its kind of problem, and nothing in a good tree."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools" / "check"))

import binary
import documents
import layers
import sizes
import style
import subjects
import unit_tests
from tree import Tree

MakeTree = Callable[[dict[str, str]], Tree]
GOOD_HEADER = "// link: moves bytes.\n#pragma once\n"


@pytest.mark.parametrize(
    ("path", "include", "expected"),
    [
        ("src/link/a.cpp", '"channel/channel.hpp"', "no edge from link to channel"),
        ("src/series/a.cpp", '"exchange/exchange.hpp"', "no edge from series to exchange"),
        ("src/series/a.cpp", '"link/link.hpp"', "no edge from series to link"),
        ("src/base/a.cpp", '"wire/frame.hpp"', "no edge from base to wire"),
        ("src/link/a.cpp", '"nowhere/a.hpp"', "not in a folder"),
        ("src/link/a.cpp", '"link.hpp"', "does not name its folder"),
        ("src/universe/a.cpp", "<mpi.h>", "outside of an mpi/ folder"),
        ("src/universe/a.cpp", '"universe/mpi/ranks.hpp"', "needs MPI"),
        ("src/connections/a.cpp", '"link/shm/ring.hpp"', "only runtime/ names those"),
    ],
)
def test_layers_finds(make_tree: MakeTree, path: str, include: str, expected: str) -> None:
    problems = layers.check_includes(make_tree({path: f"#include {include}\n"}))
    assert len(problems) == 1
    assert expected in problems[0]


def test_layers_accepts_the_way_down(make_tree: MakeTree) -> None:
    tree = make_tree(
        {
            "src/runtime/a.cpp": '#include "link/shm/ring.hpp"\n#include "base/status.hpp"\n#include <vector>\n',
            "src/universe/mpi/a.cpp": '#include <mpi.h>\n#include "universe/mpi/ranks.hpp"\n',
            "src/link/shm/a.cpp": '#include "link/shm/ring.hpp"\n#include "couplet/couplet.h"\n',
        }
    )
    assert layers.check_includes(tree) == []


def test_layers_finds_a_folder_that_is_not_listed(make_tree: MakeTree) -> None:
    assert layers.check(make_tree({"src/nowhere/a.cpp": ""})) == ["src/layers.toml:1: src/nowhere/ is not listed"]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ('link = ["channel"]\nchannel = []\nos = ["link"]\n', "from os to link does not lead down"),
        ('link = ["nowhere"]\n', "nowhere, which is not a layer"),
        ('link = ["os"]\nos = []\n', "nothing in link includes os any longer"),
    ],
)
def test_layers_finds_wrong_edges(make_tree: MakeTree, edges: str, expected: str) -> None:
    files = {"src/layers.toml": f"[edges]\n{edges}", "src/link/a.cpp": "", "src/os/a.cpp": ""}
    assert any(expected in problem for problem in layers.check(make_tree(files)))


def cpp_function(lines: int) -> str:
    return "int long_one(int x) {\n" + "  x += 1;\n" * (lines - 3) + "  return x;\n}\n"


def test_sizes_finds_long_functions_and_files(make_tree: MakeTree) -> None:
    tree = make_tree(
        {
            "src/base/a.cpp": "namespace n {\nclass C {\n" + cpp_function(71) + "};\n}\n",
            "src/base/b.cpp": "// a line\n" * 601,
            "tools/c.py": "def long_one() -> None:\n" + "    pass\n" * 70,
            "fortran/d.f90": "subroutine long_one()\n" + "  x = 1\n" * 69 + "end subroutine long_one\n",
        }
    )
    problems = sizes.check(tree)
    assert len(problems) == 4
    assert problems[0].startswith("fortran/d.f90:1: fortran/d.f90:long_one has 71 lines")
    assert "src/base/a.cpp:long_one has 71 lines" in problems[1]


def test_sizes_accepts_the_limits(make_tree: MakeTree) -> None:
    filler = "// a line\n" * 300
    tree = make_tree({"src/base/a.cpp": cpp_function(70) + filler + cpp_function(70)})
    assert sizes.check(tree) == []


def test_sizes_allowed_may_only_shrink(make_tree: MakeTree) -> None:
    allowed = {"tools/check/sizes-allowed.toml": '"src/base/a.cpp:long_one" = 80\n'}
    assert sizes.check(make_tree({"src/base/a.cpp": cpp_function(80), **allowed})) == []
    assert "at most 80" in sizes.check(make_tree({"src/base/a.cpp": cpp_function(81), **allowed}))[0]
    assert "has 75 lines now" in sizes.check(make_tree({"src/base/a.cpp": cpp_function(75), **allowed}))[0]


def test_sizes_reads_cpp_as_it_is_written() -> None:
    text = """
namespace couplet::link {
struct alignas(64) Options { int a{1}; std::array<int, 2> b = {1, 2}; };
class Ring : public Base {
 public:
  explicit Ring(int size) noexcept : size_{size}, name_("}{") {
    call([&] { return 1; });
  }
  [[nodiscard]] bool operator()(int x) const { return x != '{'; }
  int size() const { return size_; }  // }
};
template <typename T>
requires std::integral<T>
auto add(T a, T b) -> T {
  /* { */ return a + b;
}
}  // namespace couplet::link
extern "C" {
int couplet_x(void) { return 1; }
}
TEST(Ring, Wraps) {
  EXPECT_EQ(1'000, 1000);
}
"""
    found = {name: last - first + 1 for name, first, last in sizes.cpp_functions(text)}
    assert found == {"Ring": 3, "operator()": 1, "size": 1, "add": 5, "couplet_x": 1, "TEST": 3}


def test_opening_comments(make_tree: MakeTree) -> None:
    good = make_tree({"src/link/link.hpp": GOOD_HEADER, "include/couplet/couplet.h": "/* C */\n"})
    assert documents.check_opening_comments(good) == []
    bad = make_tree({"src/link/link.hpp": "#pragma once\n", "src/os/os.hpp": "// line\n" * 13, "src/wire/a.cpp": ""})
    problems = documents.check_opening_comments(bad)
    assert len(problems) == 3
    assert "does not open with a comment" in problems[0]
    assert "13 lines" in problems[1]
    assert "src/wire" in problems[2]


def test_architecture(make_tree: MakeTree) -> None:
    trips = "\n".join(documents.TRIPS)
    files = {"src/link/link.hpp": GOOD_HEADER}
    assert (
        documents.check_architecture(make_tree({**files, "docs/architecture.md": f"`link/` moves.\n{trips}\n"})) == []
    )
    problems = documents.check_architecture(make_tree({**files, "docs/architecture.md": "nothing\n"}))
    assert len(problems) == 1 + len(documents.TRIPS)
    one_less = {**files, "docs/architecture.md": "`link/` moves.\n" + "\n".join(documents.TRIPS[:-1])}
    (problem,) = documents.check_architecture(make_tree(one_less))
    assert documents.TRIPS[-1] in problem


def test_words(make_tree: MakeTree) -> None:
    private = "/".join(["", "home", "somebody", "couplet"])
    assert documents.check_words(make_tree({"README.md": "see docs/home/page and https://example.org/home/x\n"})) == []
    assert len(documents.check_words(make_tree({"README.md": f"see {private}\n"}))) == 1


def test_words_of_the_private_list(make_tree: MakeTree) -> None:
    tree = make_tree({"README.md": "All about Zebras.\n", ".git/info/banned-words": "zebra\n"})
    assert documents.check_words(tree) == ['README.md:1: "Zebra" does not belong here']


@pytest.mark.skipif(shutil.which("clang-format-15") is None, reason="clang-format-15 is not installed")
def test_clang_format(make_tree: MakeTree) -> None:
    tree = make_tree({"src/base/a.cpp": "int  x;\n", "src/base/b.cpp": "int x;\n"})
    expected = ["src/base/a.cpp:1: not formatted (make format)"]
    assert style.check_clang_format(tree) == expected
    assert style.check_clang_format(tree) == expected  # bad files are not remembered as good
    assert style.check_clang_format(make_tree({"src/base/a.cpp": "int x;\n"})) == []


def test_clang_tidy(make_tree: MakeTree) -> None:
    bad = "namespace couplet {\nint WrongName() { return 1; }\n}  // namespace couplet\n"
    preset = {"name": "tidy", "generator": "Ninja", "binaryDir": "build/tidy",
              "cacheVariables": {"CMAKE_EXPORT_COMPILE_COMMANDS": "ON"}}  # fmt: skip
    project = "cmake_minimum_required(VERSION 3.20)\nproject(a CXX)\nfile(GLOB sources src/base/*.cpp)\n"
    files = {
        "CMakeLists.txt": project + "add_library(a ${sources})\n",
        "CMakePresets.json": json.dumps({"version": 3, "configurePresets": [preset]}),
        "src/base/a.cpp": "",
    }
    assert style.check_clang_tidy(make_tree(files)) == []
    problems = style.check_clang_tidy(make_tree(files | {"src/base/new.cpp": bad}))  # build/tidy does not know it yet
    assert len(problems) == 1
    assert "WrongName" in problems[0]


def test_ruff(make_tree: MakeTree) -> None:
    assert style.check_ruff(make_tree({"a.py": "x = 1\n"})) == []
    problems = style.check_ruff(make_tree({"a.py": "import os\nx = ( 1 )\n"}))
    assert any("F401" in problem for problem in problems)
    assert any("format" in problem for problem in problems)


def test_mypy(make_tree: MakeTree) -> None:
    assert style.check_mypy(make_tree({"python/couplet/a.py": "def f(x: int) -> int:\n    return x\n"})) == []
    problems = style.check_mypy(make_tree({"python/couplet/a.py": "def f(x):\n    return x\n"}))
    assert any("no-untyped-def" in problem for problem in problems)


def test_headers_are_compiled_alone(make_tree: MakeTree) -> None:
    good = {"include/couplet/couplet.h": "/* C */\n#include <stdint.h>\nint32_t f(void);\n"}
    assert binary.check_headers(make_tree(good)) == []
    problems = binary.check_headers(make_tree({"include/couplet/couplet.h": "/* C */\nint32_t f(void);\n"}))
    assert any("-std=c11" in problem or " c " in problem for problem in problems)
    assert any(" c++ " in problem for problem in problems)


def build_library(tree: Tree, source: str) -> None:
    folder = tree.root / "build" / "release" / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / "libcouplet.so")]
    subprocess.run(command, input=source, text=True, check=True)


def test_symbols(make_tree: MakeTree) -> None:
    tree = make_tree({"include/couplet/couplet.h": "/* C */\nCOUPLET_API int couplet_join(void);\n"})
    assert binary.check_symbols(tree) == ["libcouplet.so:1: is not built"]
    build_library(tree, "int couplet_join(void) { return 0; }")
    assert binary.check_symbols(tree) == []
    build_library(tree, "int helper(void) { return 0; }")
    assert binary.check_symbols(tree) == [
        "libcouplet.so:1: exports helper",
        "include/couplet/couplet.h:1: couplet_join is declared, but not exported",
    ]


def test_symbols_finds_a_second_copy_of_the_library(make_tree: MakeTree) -> None:
    tree = make_tree({"include/couplet/couplet.h": "/* C */\n"})
    build_library(tree, "int couplet_join(void) { return 0; }")
    lib = tree.root / "build" / "release" / "lib"
    shutil.copy(lib / "libcouplet.so", lib / "libcouplet_mpi_mpich.so")
    assert binary.check_symbols(tree) == ["libcouplet_mpi_mpich.so:1: exports couplet_join as libcouplet.so does"]


@pytest.mark.skipif(shutil.which("mpicc.mpich") is None, reason="MPICH is not installed")
def test_symbols_finds_mpi_in_the_core(make_tree: MakeTree) -> None:
    tree = make_tree({"include/couplet/couplet.h": "/* C */\n"})
    folder = tree.root / "build" / "release" / "lib"
    folder.mkdir(parents=True)
    source = "int MPI_Initialized(int *); int couplet_join(void) { int f; return MPI_Initialized(&f); }"
    command = ["mpicc.mpich", "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / "libcouplet.so")]
    subprocess.run(command, input=source, text=True, check=True)
    assert any("links libmpich" in problem for problem in binary.check_symbols(tree))


GOOD_TEST = "TEST(Link, Moves) {}\n"
MIRRORED = {"src/link/link.hpp": GOOD_HEADER, "tests/unit/link/link_test.cpp": GOOD_TEST}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"src/wire/frame.hpp": GOOD_HEADER}, "src/wire:1: has no tests in tests/unit/wire/"),
        ({"tests/unit/gone/gone_test.cpp": GOOD_TEST}, "there is no src/gone/"),
        ({"tests/unit/link/test_more.cpp": GOOD_TEST}, "is called <what>_test.cpp"),
        ({"tests/unit/link/more_test.cpp": "int helper();\n"}, "is called <what>_test.cpp"),
        (
            {"src/link/ring.hpp": "// Tests: tests/unit/link/ring_test.cpp.\n"},
            "there is no tests/unit/link/ring_test.cpp",
        ),
    ],
)
def test_tests_finds(make_tree: MakeTree, files: dict[str, str], expected: str) -> None:
    problems = unit_tests.check(make_tree(MIRRORED | files))
    assert len(problems) == 1
    assert expected in problems[0]


def test_tests_accepts_a_mirrored_tree(make_tree: MakeTree) -> None:
    assert unit_tests.check(make_tree(MIRRORED | {"tests/unit/link/fixture.cpp": "int helper();\n"})) == []


@pytest.mark.parametrize(
    ("subject", "problems"),
    [
        ("link: move bytes", 0),
        ("Merge of everything", 1),
        ("link: moves", 1),
        ("link: " + "move " * 14 + "bytes", 1),
        ("everything that was moved " * 4, 2),
    ],
)
def test_subjects_finds(make_tree: MakeTree, subject: str, problems: int) -> None:
    tree = make_tree({"a.txt": "a"})
    for command in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", subject]):
        subprocess.run(["git", *command], cwd=tree.root, check=True)
    assert len(subjects.check(tree)) == problems
