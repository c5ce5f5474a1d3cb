"""Rewrites MPI calls of Fortran and C into messages and collective calls of a Couplet group.

docs/guide/converting-an-mpi-code.md describes the command, and decision 31 why it is made like this. Readers turn the
sources into facts, `deciding` says what is converted, writers make the edits. Tests: tests/convert.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from couplet.convert.c_reading import CNames, CReader
from couplet.convert.c_writing import CWriter
from couplet.convert.deciding import Decision
from couplet.convert.errors import ConvertError
from couplet.convert.fortran_reading import FortranReader, Names
from couplet.convert.fortran_writing import FortranWriter
from couplet.convert.model import Facts, Finding, Options
from couplet.convert.source import Source, unified_diff
from couplet.convert.wrapping import wrap

__all__ = ["ConvertError", "Converted", "Finding", "Options", "Outcome", "convert"]


@dataclass(frozen=True)
class Converted:
    """A file before and after."""

    path: Path
    before: str
    after: str
    has_carriage_returns: bool = False

    @property
    def diff(self) -> bytes:
        name = str(self.path).lstrip("/").encode().decode("latin-1")
        return unified_diff(name, self.before, self.after).encode("latin-1")

    @property
    def content(self) -> bytes:
        """What is to be written into the file."""
        text = self.after.replace("\n", "\r\n") if self.has_carriage_returns else self.after
        return text.encode("latin-1")


@dataclass(frozen=True)
class Outcome:
    """What came of all files: the files, what could not be converted, and notes."""

    files: list[Converted]
    problems: list[Finding]
    notes: list[Finding]
    converted_calls: int


def convert(paths: Sequence[Path], options: Options) -> Outcome:
    """Converts files together: a communicator or request may be declared in one and used in another.

    Writes nothing.
    """
    facts = Facts()
    names, c_names = Names(), CNames()
    readers: list[FortranReader | CReader] = []
    for path in paths:
        source = Source(path)
        if source.language == "fortran":
            readers.append(FortranReader(source, names, facts))
        else:
            readers.append(CReader(source, c_names, facts))
    for reader in readers:
        reader.read()
    decision = Decision(facts, options)
    decision.decide()
    for reader in readers:
        if isinstance(reader, FortranReader):
            FortranWriter(reader, decision).write()
        else:
            CWriter(reader, decision).write()
    _note(decision, facts)
    files = []
    for reader in readers:
        source = reader.source
        after = source.edited()
        if source.language == "fortran" and after != source.text:
            after = wrap(source.path, after, source.text)
        files.append(Converted(source.path, source.text, after, source.has_carriage_returns))
    done = sum(call.chosen and call.problem is None for call in facts.calls)
    return Outcome(files, sorted(set(decision.problems)), sorted(set(decision.notes)), done)


def _note(decision: Decision, facts: Facts) -> None:
    """Adds notes of what is to be known about a result that is otherwise complete."""
    in_regions = decision.parallel_callers()
    (decision.notes if decision.options.openmp == "convert" else decision.problems).extend(in_regions)
    decision.problems.extend(decision.unknown_receivers())
    chosen = [call for call in facts.calls if call.chosen and call.problem is None]
    for call in chosen:
        if call.parallel:
            where = str(call.source.path)
            decision.notes.append(Finding(where, call.line, call.written, "in an OpenMP region: threads take turns"))
    if chosen and not any(call.name in ("mpi_init", "mpi_init_thread") for call in facts.calls):
        name = "couplet_ported_init" if decision.options.without_mpi else "couplet_ported_join"
        text = f"it is in none of the files; call {name} where the program begins"
        decision.notes.append(Finding(str(chosen[0].source.path), 1, "MPI_Init", text))
