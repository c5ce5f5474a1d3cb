"""The checks of language and of the sizes of classes find what they are for, and nothing in good text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import classes
import language
from tree import Tree

MakeTree = Callable[[dict[str, str]], Tree]
PROJECT = Path(__file__).resolve().parent.parent.parent
PHRASES = {str(language.PHRASES): (PROJECT / language.PHRASES).read_text()}
WIDE = "word " * 25


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("src/a.cpp", f"int x;  // {WIDE}\n", "columns"),
        ("src/a.cpp", "int x;  // of the first element\n", "begins with its subject"),
        ("src/a.hpp", "/* A peer that\n * closes his end. */\n", '"his"'),
        ("src/a.hpp", "/// Wakes whoever waits.\n", "which process"),
        ("fortran/a.f90", "integer :: x  ! is needed no more\n", "no longer"),
        ("python/a.py", 'def f() -> None:\n    """Returns for want of time."""\n', "ordinary words"),
        ("python/a.py", "x = 1  # of the run\n", "begins with its subject"),
        ("docs/a.md", f"{WIDE}\n", "columns"),
        ("docs/a.md", "A length that makes no sense.\n", "what is wrong with it"),
    ],
)
def test_language_finds(make_tree: MakeTree, path: str, text: str, expected: str) -> None:
    (problem,) = language.check(make_tree({path: text, **PHRASES}))
    assert problem.startswith(f"{path}:")
    assert expected in problem


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/a.cpp", 'auto x = "no more of his // who";  // The greeting of an old peer.\n'),
        ("fortran/a.f90", "x = 'his'  ! Its name.\n"),
        ("python/a.py", 'x = "no more of his"\n'),
        ("docs/a.md", f"| {WIDE} |\n\n```\n{WIDE} no more\n```\n\n    {WIDE} no more\n"),
        ("docs/a.md", f"[link](https://example.org/{'x' * 120})\n"),
        ("docs/a.md", "There are no more than two.\n"),
    ],
)
def test_language_accepts(make_tree: MakeTree, path: str, text: str) -> None:
    assert language.check(make_tree({path: text, **PHRASES})) == []


def test_language_debt_may_only_shrink(make_tree: MakeTree) -> None:
    def check(count: int, allowed: int) -> list[str]:
        debt = {str(language.DEBT): f'"src/a.cpp" = {allowed}\n'}
        return language.check(make_tree({"src/a.cpp": "// no more\n" * count, **debt, **PHRASES}))

    assert check(2, 2) == []
    assert len(check(3, 2)) == 3
    (problem,) = check(1, 2)
    assert "has 1 places now" in problem


def class_of(methods: int, members: int, kind: str = "class") -> str:
    lines = [f"  int method_{index}(int x) const;\n" for index in range(methods)]
    lines += [f"  int* member_{index}_ = nullptr;\n" for index in range(members)]
    return f"{kind} C {{\n public:\n{''.join(lines)}}};\n"


def test_classes_finds_methods_and_members(make_tree: MakeTree) -> None:
    problems = classes.check(make_tree({"src/a/a.hpp": class_of(26, 16)}))
    assert problems == [
        "src/a/a.hpp:1: C has 26 methods, at most 25 are allowed",
        "src/a/a.hpp:1: C has 16 members, at most 15 are allowed",
    ]


def test_classes_accepts_the_limits_and_records(make_tree: MakeTree) -> None:
    files = {"src/a/a.hpp": class_of(25, 15), "src/a/b.hpp": class_of(0, 40, "struct")}
    assert classes.check(make_tree(files)) == []


def test_classes_allowed_may_only_shrink(make_tree: MakeTree) -> None:
    def check(methods: int, allowed: int) -> list[str]:
        listed = {str(classes.ALLOWED): f'["src/a/a.hpp:C"]\nmethods = {allowed}\n'}
        return classes.check(make_tree({"src/a/a.hpp": class_of(methods, 1), **listed}))

    assert check(30, 30) == []
    assert "at most 30" in check(31, 30)[0]
    assert "has 29 methods now" in check(29, 30)[0]


def test_classes_counts_what_is_declared() -> None:
    text = """
template <typename T>
class Ring final : public Base {
 public:
  explicit Ring(int size);
  ~Ring() override;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  [[nodiscard]] const char* name() const noexcept { return name_; }
  template <typename U>
  void add(U value);
  void add(int value);
  static Ring make();
  bool operator==(const Ring& other) const = default;
  struct Slot { int a; int b; };

 private:
  static constexpr int limit = 3;
  int (*call_)(int) = nullptr;
  const char* name_;
  int sizes_[4];
  Slot first_{}, second_{};
};
"""
    sizes = {size.name: (size.methods, size.members) for size in classes.classes(text)}
    assert sizes == {"Ring": (3, 5), "Slot": (0, 0)}
