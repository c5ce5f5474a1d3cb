"""``couplet probe``: starts couplet-probe under a launcher, shows how far it is, and writes the measurement."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from couplet.cli import probe_options as options
from couplet.cli.cost import parse_bytes, reported
from couplet.cli.interrupts import orderly_end, uninterrupted
from couplet.cli.outputs import check_outputs, say

if TYPE_CHECKING:
    from couplet.cost.measurement import Measurement
    from couplet.cost.probe import Collector

_GRACE_S = 10.0
# For this long the ranks may be in MPI_Finalize after everything is measured.
_END_S = 20.0
# The limits of couplet-probe (src/probe/mpi/options.cpp), so that a mistake is found before a launcher starts.
MAX_MESSAGE_BYTES = 1 << 30
MAX_NUMBER = 1 << 20
_SIGNALLED = 128  # an exit status above is that of a signal
_USED_WITH_LINES = {"lines", "output", "report", "machine"}
_USED_WITHOUT_CELLS = {"save", "cells", "cost_file", "ranks", "repetitions", "machine"}
_CURVE_BYTES = ",".join(str(1 << power) for power in range(3, 23))


def probe(
    context: typer.Context,
    ranks: options.Ranks = 2,
    launcher: options.Launcher = "openmpi",
    mpi: options.Mpi = None,
    launcher_option: options.LauncherOption = None,
    output: options.Output = Path("measurement.json"),
    report: options.Report = None,
    lines: options.Lines = None,
    nodes: options.Nodes = None,
    node_file: options.NodeFile = None,
    size: options.Sizes = "4M",
    curves: options.Curves = True,
    repetitions: options.Repetitions = 10,
    warm_up: options.WarmUp = 2,
    half_star: options.HalfStar = None,
    sub_groups: options.SubGroups = 1,
    partners: options.Partners = "spread",
    off_diagonal: options.OffDiagonal = False,
    machine: options.Machine = None,
    save: options.Save = False,
    cost_file: options.CostFile = None,
    cells: options.Cells = True,
) -> None:
    """Measure what communication costs here: every number of pairs inside a node and between nodes."""
    written: list[Path] = []
    with reported(), _told_if_interrupted(written), orderly_end():
        from couplet.cost.documents import write_document, write_text
        from couplet.cost.measurement import Measurement
        from couplet.cost.probe import Collector, Setting

        with_cells = _has_cells(cells, save, cost_file)
        _check_meaning(context, with_cells, lines)
        _check_machine(machine)
        place = _place(cost_file, repetitions) if save else None
        results = [("--output", output), ("--report", report)] * with_cells + _saved_files(place)
        check_outputs([("--lines", lines), ("--node-file", node_file)], results)
        if with_cells:
            node_of_rank = _node_of_rank(nodes, node_file)
            given = "hosts" if node_of_rank is None else "given"
            collector = Collector(Setting(machine, sub_groups, given, partners, warm_up, repetitions))
            words = _words(size, repetitions, warm_up, sub_groups, partners, half_star)
            words += [*(["--curve-bytes", _CURVE_BYTES] * curves), *(["--off-diagonal"] * off_diagonal)]
            if lines is not None:
                _read(lines, collector)
            else:
                words += _rehearsal(node_of_rank, ranks, sub_groups)
                _run(_command(launcher, mpi, ranks, launcher_option or [], words), collector)
            document = collector.measurement()
            write_document(output, document)
            written.append(output)
            say(f"written: {output} ({len(collector.cells)} cells)")
            _say_what_half_star_did(half_star, collector)
            measured = Measurement.from_json(document, str(output))
            if report is not None:
                from couplet.cost.report import report as make_report

                write_text(report, make_report(measured))
                say(f"written: {report}")
            _summarize(measured)
        if place is not None:
            from couplet.cli.probe_links import save as save_costs

            save_costs(ranks, repetitions, machine, place)


def _summarize(measured: Measurement) -> None:
    """Prints which posting order was faster, and what one message costs."""
    from couplet.cost.tables import aligned, faster_order, loggp_rows

    for size in measured.message_sizes:
        say(faster_order(measured, size))
    if measured.loggp:
        say(*aligned(loggp_rows(measured.loggp), indent=""))


def _saved_files(place: Path | None) -> list[tuple[str, Path | None]]:
    """The cost file, and where one that is there already may be kept."""
    from couplet.cli.probe_links import before_of

    kept = [("--save", before_of(place))] if place is not None and place.exists() else []
    return [("--cost-file", place), *kept]


def _has_cells(cells: bool, save: bool, cost_file: Path | None) -> bool:
    """Says whether cells are measured; CostError if the options do not fit together."""
    from couplet.cost.errors import CostError

    if not cells and not save:
        raise CostError("--no-cells leaves nothing to measure without --save")
    if cost_file is not None and not save:
        raise CostError("--cost-file says where --save writes: give both")
    return cells


def _check_meaning(context: typer.Context, with_cells: bool, lines: Path | None) -> None:
    """Raises CostError for an option that was given, and that the others leave without meaning."""
    from couplet.cost.errors import CostError

    if lines is not None:
        used, why = _USED_WITH_LINES, "--lines, which starts nothing and takes the options of the run that is read"
    elif not with_cells:
        used = _USED_WITHOUT_CELLS
        why = "--save --no-cells, which measures ways of Couplet on this host, without a launcher"
    else:
        return
    for one in context.command.params:
        name = one.name or ""
        source = context.get_parameter_source(name)
        if name in used or source is None or source.name != "COMMANDLINE":
            continue
        option = one.secondary_opts[0] if one.secondary_opts and not context.params[name] else one.opts[0]
        raise CostError(f"{option}: has no meaning with {why}; leave it out")


@contextmanager
def _told_if_interrupted(written: list[Path]) -> Iterator[None]:
    """Says what there is of the files if a signal ends the command."""
    try:
        yield
    except SystemExit as ended:
        if isinstance(ended.code, int) and ended.code > _SIGNALLED:
            what = f"only {', '.join(map(str, written))} was written" if written else "nothing was written"
            say(f"couplet: the probe was interrupted; {what}", file=sys.stderr)
        raise


def _check_machine(name: str | None) -> None:
    from couplet.cost.errors import CostError
    from couplet.cost.machine import MAX_NAME_BYTES

    if name is not None and not (0 < len(os.fsencode(name)) <= MAX_NAME_BYTES and name.isprintable()):
        raise CostError(
            f"--machine has to be a name of 1 to {MAX_NAME_BYTES} bytes without control characters, not "
            f"{name[:40]!r} of {len(os.fsencode(name))} bytes"
        )


def _place(cost_file: Path | None, repetitions: int) -> Path:
    """Where --save will write; CostError if it could not, or if its repetitions are too many."""
    from couplet.cli.probe_links import MAX_REPETITIONS
    from couplet.cost.errors import CostError
    from couplet.cost.machine import prepare_place

    if str(cost_file) == "none":
        raise CostError('--cost-file "none": that is the word for no cost file; leave out --save, or name a file')
    if repetitions > MAX_REPETITIONS:
        raise CostError(f"--repetitions {repetitions}: with --save, at most {MAX_REPETITIONS} are measured")
    return prepare_place(cost_file)


def _read(lines: Path, collector: Collector) -> None:
    from couplet.cost.documents import read_text
    from couplet.cost.errors import CostError

    found = read_text(lines).splitlines()
    if not any(line.split()[:1] == ["couplet-probe"] for line in found):
        raise CostError(f'{lines}: has no line "couplet-probe 1", so it is not what couplet-probe prints')
    for line in found:
        collector.line(line)


def _rehearsal(node_of_rank: list[int] | None, ranks: int, sub_groups: int) -> list[str]:
    """The words for the probe that say how ranks are grouped into nodes."""
    from couplet.cost.errors import CostError

    first = ranks if node_of_rank is None else node_of_rank.count(0)
    if node_of_rank is not None and len(node_of_rank) != ranks:
        raise CostError(
            f"the nodes have {len(node_of_rank)} ranks together, and --ranks is {ranks}; give -n {len(node_of_rank)}"
        )
    if sub_groups > first:
        raise CostError(f"--sub-groups {sub_groups}: node 0 has at most {first} ranks, and each group needs one")
    return [] if node_of_rank is None else ["--node-of-rank", ",".join(str(node) for node in node_of_rank)]


def _say_what_half_star_did(half_star: int | None, collector: Collector) -> None:
    """A note if there were fewer partners than --half-star asks for."""
    most = {
        kind: max((cell[f"{kind}_in"] for cell in collector.cells), default=0) // collector.hot_spot_count
        for kind in ("intra", "inter")
    }
    if half_star is not None and min(most.values()) < half_star - 1:
        say(
            f"couplet: note: --half-star {half_star} asks for up to {half_star - 1} pairs, and there are partners for "
            f"{most['intra']} inside a node and {most['inter']} between nodes",
            file=sys.stderr,
        )


def _words(
    size: str, repetitions: int, warm_up: int, sub_groups: int, partners: str, half_star: int | None
) -> list[str]:
    from couplet.cost.errors import CostError

    if partners not in ("spread", "packed"):
        raise CostError(f'--partners "{partners}" is not known; it is spread or packed')
    numbers = (("repetitions", repetitions), ("warm-up", warm_up), ("half-star", half_star or 0))
    for name, number in (*numbers, ("sub-groups", sub_groups)):
        if number > MAX_NUMBER:
            raise CostError(f"--{name} {number}: has to be at most {MAX_NUMBER}")
    parsed = [parse_bytes(word, "--bytes") for word in size.split(",")]
    if max(parsed) > MAX_MESSAGE_BYTES:
        raise CostError(f"--bytes {size}: a message has at most {MAX_MESSAGE_BYTES} bytes (1G)")
    sizes = ",".join(map(str, parsed))
    words = ["--bytes", sizes, "--repetitions", str(repetitions), "--warm-up", str(warm_up)]
    words += ["--half-star", str(half_star)] if half_star is not None else []
    return [*words, "--sub-groups", str(sub_groups), "--partners", partners]


def _node_of_rank(nodes: str | None, node_file: Path | None) -> list[int] | None:
    from couplet.cost.documents import read_text
    from couplet.cost.errors import CostError
    from couplet.cost.probe import parse_node_file, parse_nodes

    if nodes is not None and node_file is not None:
        raise CostError("say how ranks are grouped into nodes: --nodes 4,4, or --node-file FILE (one of the two)")
    if node_file is not None:
        return parse_node_file(read_text(node_file), str(node_file))
    return None if nodes is None else parse_nodes(nodes)


def _command(launcher: str, mpi: str | None, ranks: int, launcher_options: list[str], words: list[str]) -> list[str]:
    """The launcher's command line; CostError if the launcher or the probe of its MPI is missing."""
    from couplet.cli.installation import executable
    from couplet.cli.launch import launcher_executable
    from couplet.cost.errors import CostError

    if launcher not in ("openmpi", "mpich", "slurm"):
        raise CostError(f'--launcher "{launcher}" is not known; it is openmpi, mpich or slurm')
    if mpi is not None and (launcher != "slurm" or mpi not in ("openmpi", "mpich")):
        raise CostError(f'--mpi "{mpi}" is for --launcher slurm only, and is openmpi or mpich')
    found = launcher_executable(launcher)
    if found is None:
        raise CostError(
            f'launcher "{launcher}" is not installed here; install it, choose another one with --launcher, or start '
            "couplet-probe by hand and give its output with --lines"
        )
    flavour = mpi or ("openmpi" if launcher == "slurm" else launcher)
    try:
        program = executable(f"couplet-probe-{flavour}")
    except FileNotFoundError as error:
        raise CostError(str(error)) from error
    return [found, "-n", str(ranks), *launcher_options, str(program), *words]


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _ended(process: subprocess.Popen[str]) -> int:
    """The exit status of the launcher. Ranks that hang in MPI_Finalize, as those of MPICH may over UCX, have measured
    everything: they are ended, and that is said.
    """
    try:
        return process.wait(_END_S)
    except subprocess.TimeoutExpired:
        say(
            f"couplet: note: everything is measured, but the ranks did not end within {_END_S:.0f} s "
            "(in MPI_Finalize); they are ended now",
            file=sys.stderr,
        )
        return 0


def _run(command: list[str], collector: Collector) -> None:
    """Runs the probe and takes its lines as they come; a failure or an exception leaves no process behind."""
    from couplet.cost.errors import CostError

    environment = dict(os.environ)
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    process = None
    try:
        with uninterrupted():
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                errors="replace",  # a launcher may print names in another encoding
            )  # fmt: skip
        assert process.stdout is not None
        with _progress(process.stdout, collector) as lines:
            for line in lines:
                collector.line(line)
                if line.strip() == "done":
                    break
        status = _ended(process)
    finally:
        if process is not None:
            _stop(process)
    if status != 0:
        raise CostError(f"couplet-probe failed with exit status {status}: {' '.join(command)}")


@contextmanager
def _progress(lines: Iterable[str], collector: Collector) -> Iterator[Iterable[str]]:
    """The same lines; on a terminal a bar shows the cells and an estimate of the time left."""
    if not sys.stderr.isatty():
        yield lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("cells", total=None)

        def watched() -> Iterator[str]:
            for line in lines:
                yield line
                progress.update(task, total=collector.cell_count, completed=len(collector.cells))

        yield watched()
