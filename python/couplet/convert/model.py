"""What the readers find in the sources, for the decision what is converted.

A *symbol* is a variable, an argument, a member of a type or a macro. Symbols that are assigned to each other, or passed
to each other as arguments, are of one *class*: either all of them become Couplet's, or none. Tests: tests/convert.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

    from couplet.convert.source import Source


@dataclass
class Options:
    """The options of the command."""

    communicators: tuple[str, ...] = ("MPI_COMM_WORLD",)
    program: str | None = None
    whole_universe: bool = False
    without_mpi: bool = False
    openmp: str = "report"


@dataclass(frozen=True, order=True)
class Finding:
    """A line of the report: what could not be converted and why, or a note."""

    path: str
    line: int
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}: {self.reason}"


@dataclass(eq=False)
class Symbol:
    """A name in its scope."""

    name: str
    source: Source
    declarations: list[tuple[Source, Node]] = field(default_factory=list)  # the declarators, also of other branches
    parent: Symbol | None = None  # the next one towards the root of the class
    uses: dict[str, list[Use]] = field(default_factory=lambda: {"couplet": [], "mpi": []})
    roles: set[str] = field(default_factory=set)
    members: list[Symbol] = field(default_factory=list)

    def root(self) -> Symbol:
        """Returns the symbol that stands for the class."""
        found = self
        while found.parent is not None:
            found = found.parent
        return found

    def declare(self, source: Source, declarator: Node) -> None:
        """Adds a declaration. There are several if branches of the preprocessor, or several files, have one each."""
        self.source = source
        self.declarations.append((source, declarator))

    @property
    def declared(self) -> Node | None:
        """The last declarator."""
        return self.declarations[-1][1] if self.declarations else None

    def declared_in(self, source: Source) -> list[Node]:
        """Returns the declarators in a file."""
        return [node for place, node in self.declarations if place is source]

    def unite(self, other: Symbol) -> None:
        """Makes the classes of two symbols one."""
        first, second = self.root(), other.root()
        if first is second:
            return
        second.parent = first
        first.roles |= second.roles
        first.members += second.members or [second]

    def each(self) -> Iterator[Symbol]:
        """Yields all symbols of the class."""
        root = self.root()
        yield root
        yield from (member for member in root.members if member is not root)

    @property
    def is_couplet(self) -> bool:
        return bool(self.root().uses["couplet"])

    @property
    def is_mixed(self) -> bool:
        uses = self.root().uses
        return bool(uses["couplet"]) and bool(uses["mpi"])


@dataclass(frozen=True)
class Use:
    """A call in which a symbol has a role."""

    call: str
    path: str
    line: int
    cause: str = ""  # what makes the call stay MPI, such as its communicator
    status: str = ""  # the status that the call fills, if the symbol is copied from that

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    def because(self, verb: str) -> str:
        """Returns why the call stays MPI, in parentheses, or nothing if that is not known."""
        return f" ({self.cause} {verb})" if self.cause else ""


@dataclass(eq=False)
class Argument:
    """An actual argument of a call."""

    node: Node
    role: str
    symbol: Symbol | None
    constant: str | None  # an MPI constant, in capitals
    keyword: str | None = None


@dataclass(eq=False)
class Call:
    """A call of MPI."""

    source: Source
    name: str  # in small letters
    node: Node
    callee: Node
    arguments: list[Argument]
    parallel: bool  # inside an OpenMP region
    problem: str | None = None
    chosen: bool = False
    scope: str = ""

    @property
    def line(self) -> int:
        return self.source.line_of(self.callee)

    @property
    def written(self) -> str:
        return self.source.text_of(self.callee)

    def of_role(self, *roles: str) -> list[Argument]:
        return [argument for argument in self.arguments if argument.role in roles]


@dataclass(eq=False)
class Constant:
    """An MPI constant outside of MPI calls, and the symbol to which it is assigned or with which it is compared."""

    source: Source
    name: str
    node: Node
    symbol: Symbol | None


@dataclass(eq=False)
class Passed:
    """A call of a procedure of the program: its arguments are united with the dummies."""

    source: Source
    name: str
    arguments: list[tuple[str | None, Symbol | Constant]]
    positions: list[int]
    count: int  # arguments of any kind
    bound: bool  # called as a component of an object, which is the first dummy
    parallel: bool
    node: Node
    scope: str  # the procedure that calls


@dataclass
class Facts:
    """Everything that the readers have found, in all files."""

    calls: list[Call] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    passed: list[Passed] = field(default_factory=list)
    dummies: dict[str, list[list[Symbol]]] = field(default_factory=dict)  # by the name of the procedure
    results: dict[str, Symbol] = field(default_factory=dict)  # what a function returns
    aliases: dict[str, set[str]] = field(default_factory=dict)  # generic names and bindings, and their procedures
    symbols: list[Symbol] = field(default_factory=list)
    read_statuses: list[tuple[Source, Node, Symbol]] = field(default_factory=list)  # fields of a status
    copied_fields: list[tuple[Symbol, Symbol]] = field(default_factory=list)  # a variable, and the status
    problems: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
