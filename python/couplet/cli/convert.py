"""``couplet convert``: the options of the command, and what it prints."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from couplet.convert import Converted, Outcome

EXIT_NOT_CONVERTED = 1
EXIT_MISTAKES = 2
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")

Files = Annotated[list[Path], typer.Argument(help="Sources in Fortran or C; those that belong together, together.")]
Communicator = Annotated[
    list[str] | None,
    typer.Option("--communicator", help="The communicator to convert; may be repeated. Default: MPI_COMM_WORLD."),
]
Group = Annotated[str, typer.Option("--group", help="What takes its place: program (its ranks) or universe (all).")]
Program = Annotated[
    str | None, typer.Option("--program", help="The name with which it joins. Default: the variable COUPLET_PROGRAM.")
]
WithoutMpi = Annotated[bool, typer.Option("--without-mpi", help="Leave no MPI: also Init, Finalize, Abort, Wtime.")]
OpenMp = Annotated[str, typer.Option("--openmp", help="Calls in OpenMP regions: report, or convert (taking turns).")]
InPlace = Annotated[bool, typer.Option("--in-place", help="Change the files, instead of showing a diff.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write all files into this folder.")]
Partial = Annotated[bool, typer.Option("--partial", help="Write also if something could not be converted.")]


def convert(
    files: Files,
    communicator: Communicator = None,
    group: Group = "program",
    program: Program = None,
    without_mpi: WithoutMpi = False,
    openmp: OpenMp = "report",
    in_place: InPlace = False,
    output: Output = None,
    partial: Partial = False,
) -> None:
    """Rewrite MPI calls of Fortran and C as messages and collective calls of a group. Shows a diff by default."""
    from couplet.convert import ConvertError, Options
    from couplet.convert import convert as convert_files

    try:
        _check_choice("--group", group, ("program", "universe"))
        _check_choice("--openmp", openmp, ("report", "convert"))
        if in_place and output is not None:
            raise ConvertError("--in-place and --output exclude each other")
        if program is not None and not _NAME.fullmatch(program):
            raise ConvertError(
                f'--program "{program}" cannot be the name of a program: it has 1 to 63 letters, digits, '
                "'_', '-' and '.', and begins with a letter or digit"
            )
        chosen = tuple(communicator or ["MPI_COMM_WORLD"])
        _check_files(files, communicator or [])
        outcome = convert_files(files, Options(chosen, program, group == "universe", without_mpi, openmp))
        changed = [each for each in outcome.files if each.after != each.before]
        complete = not outcome.problems
        if in_place or output is not None:
            if complete or partial:
                _write(outcome, output)
        else:
            for each in changed:
                sys.stdout.buffer.write(each.diff)
            sys.stdout.flush()
    except ConvertError as error:
        print(f"couplet: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_MISTAKES) from error
    _report(outcome, changed, partial, shown=not in_place and output is None)
    if not complete:
        raise typer.Exit(EXIT_NOT_CONVERTED)


def _check_choice(option: str, given: str, words: tuple[str, str]) -> None:
    from couplet.convert import ConvertError

    if given not in words:
        raise ConvertError(f'{option} "{given}" is not known; it is {words[0]} or {words[1]}')


def _check_files(files: list[Path], communicators: list[str]) -> None:
    from couplet.convert import ConvertError

    resolved = [file.resolve() for file in files]
    twice = next((file for file, path in zip(files, resolved, strict=True) if resolved.count(path) > 1), None)
    if twice is not None:
        raise ConvertError(f"{twice} is given twice")
    texts = [file.read_bytes().decode("latin-1").lower() for file in files if file.is_file()]
    for name in communicators:
        words = [word.strip().lower() for word in re.split(r"[.%]|->", name)]
        if not any(all(word in text for word in words) for text in texts):
            raise ConvertError(f'--communicator "{name}": there is no such name in the files')


def _write(outcome: Outcome, output: Path | None) -> None:
    from couplet.convert import ConvertError

    targets = [each.path if output is None else output / each.path.name for each in outcome.files]
    if len(set(targets)) < len(targets):
        raise ConvertError(f"--output {output}: two of the files have the same name; convert them one folder at a time")
    sources = {each.path.resolve() for each in outcome.files}
    own = next((target for target in targets if output is not None and target.resolve() in sources), None)
    if own is not None:
        raise ConvertError(f"--output {output}: {own} is one of the sources; --in-place changes the sources")
    try:
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
        for target, each in zip(targets, outcome.files, strict=True):
            if output is not None or each.after != each.before:
                target.write_bytes(each.content)
    except OSError as error:
        raise ConvertError(f"cannot write {error.filename}: {error.strerror}") from error


def _report(outcome: Outcome, changed: list[Converted], partial: bool, shown: bool) -> None:
    """Prints the report to standard error, so that the diff can go into a file."""
    for note in outcome.notes:
        print(f"note: {note}", file=sys.stderr)
    for problem in outcome.problems:
        print(f"not converted: {problem}", file=sys.stderr)
    if outcome.converted_calls == 0 and not outcome.problems:
        print("note: no call of MPI with the chosen communicator is in the files", file=sys.stderr)
    calls = "1 call" if outcome.converted_calls == 1 else f"{outcome.converted_calls} calls"
    files = "1 file" if len(changed) == 1 else f"{len(changed)} files"
    print(f"couplet: {calls} in {files} converted, {len(outcome.problems)} problems", file=sys.stderr)
    if outcome.problems and not partial and not shown:
        print("couplet: nothing was written (--partial writes what could be converted)", file=sys.stderr)
