"""What a command prints, and the files that it is to write.

The files are checked before anything is done, so that a mistake costs no file and no time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

Named = Iterable[tuple[str, Path | None]]
_ENDINGS = {"--plot": (".svg",), "--report": (".html", ".htm")}


def printable(line: str) -> str:
    """Returns a line as a terminal may have it: a character that is no sign, such as an escape, becomes its number."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)


def say(*lines: str, file: TextIO | None = None) -> None:
    """Prints lines (by default on standard output); names in them may have characters that a terminal may not have."""
    for line in lines:
        print(printable(line), file=file)


def check_outputs(inputs: Named, outputs: Named) -> None:
    """Raises CostError if an output is an input or another output, has a wrong ending, or cannot be written.

    Both lists hold what a file is called (an option, or ``the measurement``), and the file, or None if there is none.
    """
    from couplet.cost.documents import check_writable
    from couplet.cost.errors import CostError

    known = {_place(path): _read(name) for name, path in inputs if path is not None}
    for option, path in outputs:
        if path is None:
            continue
        _check_ending(option, path)
        place = _place(path)
        if place in known:
            raise CostError(f"{option} {path}: is {known[place]}; give another name")
        known[place] = f"the file of {option}, too"
        check_writable(path)


def check_written_folder(inputs: Named, folder: Path, names: Iterable[str]) -> None:
    """Raises CostError if one of the files that ``--write`` makes in its folder is an input, or cannot be written."""
    from couplet.cost.documents import check_writable
    from couplet.cost.errors import CostError

    if folder.exists() and not folder.is_dir():
        raise CostError(f"--write {folder}: is a file, and a folder is needed; give another name")

    known = {_place(path): _read(name) for name, path in inputs if path is not None}
    for name in names:
        path = folder / name
        if _place(path) in known:
            raise CostError(f"--write {folder}: {path}: is {known[_place(path)]}; give another folder")
        if folder.is_dir():
            check_writable(path)


def _place(path: Path) -> str:
    """The file behind all links; unlike Path.resolve, this is no error for links that lead nowhere."""
    return os.path.realpath(path)


def _read(name: str) -> str:
    return f"the file of {name}" if name.startswith("--") else f"{name} that is read"


def _check_ending(option: str, path: Path) -> None:
    from couplet.cost.errors import CostError

    endings = _ENDINGS.get(option)
    if endings is None or path.suffix in endings:
        return
    if option == "--report":
        raise CostError(f"--report {path}: a report is one HTML page; the name has to end with .html")
    raise CostError(f"--plot {path}: pictures are written as SVG; the name has to end with .svg")
