"""``couplet fit | predict | place``: the options of the commands, and what they print."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from couplet.cli.outputs import check_outputs, check_written_folder, say

if TYPE_CHECKING:
    from couplet.cost.model import Model
    from couplet.cost.patterns import Pattern
    from couplet.cost.placement import Placement, Result
    from couplet.cost.prediction import Iterations, Prediction
    from couplet.cost.speeds import Host

EXIT_MISTAKES = 2
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MAX_BYTES = 1 << 60
_VERY_MANY = 1000.0  # times the pairs that were measured
_InputFile = tuple[str, Path | None]

ModelFile = Annotated[str, typer.Option("--model", help="A model: a file of `couplet fit`, or tachyon1.json.")]
TilesOption = Annotated[str | None, typer.Option("--tiles", help="ROWSxCOLUMNS of tiles over a file, as in 4x4.")]
MatrixFile = Annotated[
    Path | None, typer.Option("--matrix", help="Instead of tiles: a file that says who sends how much to whom.")
]
MatrixUnit = Annotated[
    str, typer.Option("--matrix-unit", help="What a matrix counts, or what is taken of a record: messages or bytes.")
]
RecordedPath = Annotated[
    Path | None,
    typer.Option("--recorded", help="Instead of tiles: the folder in which a run has recorded what it sent."),
]
RecordedProgram = Annotated[
    str | None, typer.Option("--program", help="With --recorded: only the ranks of this program.")
]
RecordedExchange = Annotated[
    str | None, typer.Option("--exchange", help="With --recorded: only this exchange, such as \"halo 'eta'\".")
]
SelfMessages = Annotated[
    str,
    typer.Option("--self-messages", help="Whether messages of an aggregator to itself are counted or ignored."),
]
Kind = Annotated[
    str | None,
    typer.Option("--kind", help="Use the plane, split or hinge formula instead of the one that the model chose."),
]
Machine = Annotated[
    str | None, typer.Option("--machine", help="The intended machine; a warning says if the model is of another one.")
]
BufferSize = Annotated[
    str | None,
    typer.Option(
        "--cb-buffer-size", help="Bytes of the collective buffer, as in 4M: an exchange may need several iterations."
    ),
]
FileSize = Annotated[
    str | None, typer.Option("--file-size", help="With --cb-buffer-size: bytes of the file, as in 4M. Without it, 1G.")
]
PlacedNodes = Annotated[
    list[str] | None, typer.Option("--nodes", help="Processes of each node, in any order, as in 4,4,2,2.")
]
HostsFile = Annotated[
    Path | None,
    typer.Option(help="A file with a line NAME PROCESSES for each node; add speed=NUMBER if the nodes differ."),
]
BufferOfHints = Annotated[str | None, typer.Option(help="With --write: the collective buffer in the hints, as in 4M.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Draw a picture, an .svg file.")]


@contextmanager
def reported() -> Iterator[None]:
    """A mistake becomes a line and exit status 2, and a warning becomes a line; both on standard error."""
    from couplet.cost.errors import CostError, OtherMachineWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OtherMachineWarning)
        try:
            yield
        except CostError as error:
            say(f"couplet: {error}", file=sys.stderr)
            raise typer.Exit(EXIT_MISTAKES) from error
        except OSError as error:  # such as a name that is too long, or a chain of links without an end
            if error.filename is None:
                raise
            say(f"couplet: {error.filename}: {error.strerror}", file=sys.stderr)
            raise typer.Exit(EXIT_MISTAKES) from error
        finally:
            for warning in caught:
                say(f"couplet: warning: {warning.message}", file=sys.stderr)


def parse_bytes(text: str, option: str) -> int:
    """Returns the bytes of ``4M`` or ``4194304``; K, M, G and T are powers of 1024."""
    from couplet.cost.errors import CostError

    found = re.fullmatch(r"(\d{1,19})([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size = int(found[1]) * _UNITS[found[2].upper()] if found else 0
    if not 0 < size <= MAX_BYTES:
        raise CostError(f'{option} "{text}" has to be a number of bytes greater than 0, as in 4194304 or 4M')
    return size


def _one_of(option: str, text: str, words: tuple[str, str]) -> str:
    from couplet.cost.errors import CostError

    if text not in words:
        raise CostError(f'{option} "{text}" is not known; it is {words[0]} or {words[1]}')
    return text


@dataclass(frozen=True)
class _Given:
    """The options that say which process sends to which."""

    tiles: str | None
    matrix: Path | None
    unit: str
    self_messages: str
    recorded: Path | None
    program: str | None
    exchange: str | None


def _pattern(model: Model, given: _Given) -> tuple[Pattern, list[str]]:
    """The pattern, and notes about it."""
    from couplet.cost.errors import CostError
    from couplet.cost.patterns import Matrix, Tiles, parse_tiles, read_matrix
    from couplet.cost.prediction import size_note
    from couplet.cost.recorded import read_recorded

    counted = _one_of("--self-messages", given.self_messages, ("counted", "ignored")) == "counted"
    by_bytes = _one_of("--matrix-unit", given.unit, ("messages", "bytes")) == "bytes"
    unit_bytes = model.message_bytes if by_bytes else None
    sources = {"--tiles": given.tiles, "--matrix": given.matrix, "--recorded": given.recorded}
    named = [option for option, value in sources.items() if value is not None]
    if not named:
        raise CostError("say which process sends to which: --tiles ROWSxCOLUMNS, --matrix FILE or --recorded FOLDER")
    if len(named) > 1:
        raise CostError(f"{' and '.join(named)} were given: give one of them, each says which process sends to which")
    for option, value in (("--program", given.program), ("--exchange", given.exchange)):
        if value is not None and given.recorded is None:
            raise CostError(f'{option} "{value}" chooses from what was recorded: give --recorded, too')
    if given.recorded is not None:
        found = read_recorded(given.recorded, given.program, given.exchange)
        notes = found.notes + size_note(model, found.sizes, "the recorded ones have")
        return _named(given.recorded, lambda: found.pattern(unit_bytes)), notes
    if given.matrix is not None:
        path, entries = given.matrix, read_matrix(given.matrix)
        pattern = _named(path, lambda: Matrix(entries, counted, unit_bytes))
        sizes = [round(entry) for row in entries for entry in row if entry > 0.0]
        # More than a message may be several messages.
        is_small = by_bytes and sizes and min(sizes) < model.message_bytes
        what = "what a process sends to another one has"
        return pattern, size_note(model, (min(sizes), max(sizes)), what) if is_small else []
    assert given.tiles is not None
    return Tiles(*parse_tiles(given.tiles), counted), []


def _named(path: Path, make: Callable[[], Pattern]) -> Pattern:
    """What ``make`` returns; its errors name the file."""
    from couplet.cost.errors import CostError

    try:
        return make()
    except CostError as error:
        raise CostError(str(error) if str(error).startswith(str(path)) else f"{path}: {error}") from error


def _file_bytes(file_size: str | None, buffer_size: str | None) -> int:
    from couplet.cost.errors import CostError

    if file_size is not None and buffer_size is None:
        raise CostError(f"--file-size {file_size}: counts only with --cb-buffer-size; give both, or leave it out")
    return parse_bytes(file_size or "1G", "--file-size")


def _hint_of_unit(given: _Given, one: Prediction) -> list[str]:
    """A note if a matrix of messages is more likely one of bytes."""
    if given.matrix is None or given.unit != "messages" or one.most_times_measured() < _VERY_MANY:
        return []
    return ["these are very many messages; if the matrix counts bytes, add --matrix-unit bytes"]


def _iterations(pattern: Pattern, domains: int, buffer_size: str | None, file_bytes: int) -> Iterations | None:
    from couplet.cost.errors import CostError
    from couplet.cost.prediction import Iterations

    if buffer_size is None:
        return None
    if not pattern.uses_aggregators:
        raise CostError("--cb-buffer-size needs --tiles: a matrix or a record says nothing about a file")
    return Iterations(parse_bytes(buffer_size, "--cb-buffer-size"), Fraction(file_bytes, domains))


def _written_lines(*paths: Path | None) -> list[str]:
    return [f"written: {path}" for path in paths if path is not None]


def _inputs(model: str, matrix: Path | None, recorded: Path | None, hosts: Path | None = None) -> list[_InputFile]:
    """The files that a command reads, and the options that name them."""
    records = sorted(recorded.glob("*")) if recorded is not None and recorded.is_dir() else [recorded]
    listed = [("--model", Path(model)), ("--matrix", matrix), ("--hosts", hosts)]
    return [*listed, *(("--recorded", path) for path in records)]


def _head(
    model: Model, pattern: Pattern, pattern_notes: list[str], kind: str | None, model_file: str
) -> dict[str, Any]:
    kinds = {name: kind or order.kind for name, order in model.orders.items()}
    head = {"model": model_file, "machine": model.machine, "pattern": pattern.describe(), "kinds": kinds}
    head |= {"model_doubts": list(model.doubts)} if model.doubts else {}
    return head | ({"pattern_notes": pattern_notes} if pattern_notes else {})


def _head_lines(head: dict[str, Any]) -> list[str]:
    kinds = sorted(set(head["kinds"].values()))
    line = f"{head['pattern']}, model {head['model']} of {head['machine']} ({', '.join(kinds)})"
    return [line, *_doubt_line(head), *(f"note: {text}" for text in head.get("pattern_notes", []))]


def _doubt_line(head: dict[str, Any]) -> list[str]:
    """The first doubt of the model, and how many more there are."""
    doubts = head.get("model_doubts", [])
    if not doubts:
        return []
    more = {0: "", 1: f" (and 1 more reason, which {head['model']} lists)"}
    others = f" (and {len(doubts) - 1} more reasons, which {head['model']} lists)"
    return [f"note: the model is doubtful: {doubts[0]}{more.get(len(doubts) - 1, others)}"]


def fit(
    measurement: Annotated[Path, typer.Argument(help="A measurement, the JSON file of a probe.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the model to this file.")] = None,
    kind: Annotated[
        str,
        typer.Option(help="The formula to fit: auto (the data choose), plane, split or hinge."),
    ] = "auto",
    method: Annotated[str, typer.Option(help="How the formula is fitted: least_squares or robust.")] = "least_squares",
    statistic: Annotated[str, typer.Option(help="Which time of a cell is fitted: median or minimum.")] = "median",
    confidence: Annotated[float, typer.Option(help="The confidence of the intervals, between 0 and 1.")] = 0.95,
    message_bytes: Annotated[
        str | None,
        typer.Option(help="The message size, if several were measured, as in 64K; K, M, G are 1024 and so on."),
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Make a model of a measurement: plane, split and hinge, with R^2 and confidence intervals."""
    with reported():
        from couplet.cost import tables
        from couplet.cost.fit import Options, fit_measurement
        from couplet.cost.measurement import load_measurement
        from couplet.cost.quality import ADVICE

        check_outputs([("the measurement", measurement)], [("--output", output), ("--plot", plot)])
        measured = load_measurement(measurement)
        size = None if message_bytes is None else parse_bytes(message_bytes, "--message-bytes")
        fitted = fit_measurement(measured, Options(kind, method, statistic, confidence, size))
        if output is not None:
            fitted.model.save(output)
        if plot is not None:
            from couplet.cost.plots import fit_figure, save

            save(fit_figure(measured, fitted.model), plot)
        if as_json:
            print(json.dumps(fitted.model.to_json(), indent=2))
        else:
            say(*tables.fitted(fitted), *_written_lines(output, plot))
        for text in (*fitted.model.doubts, *([ADVICE] if fitted.model.doubts else [])):
            say(f"couplet: warning: {text}", file=sys.stderr)


def predict(
    model_file: ModelFile,
    nodes: Annotated[
        list[str], typer.Option("--nodes", help="Processes of each node, as in 4,4,2,2; may be repeated.")
    ],
    tiles: TilesOption = None,
    matrix: MatrixFile = None,
    matrix_unit: MatrixUnit = "messages",
    recorded: RecordedPath = None,
    program: RecordedProgram = None,
    exchange: RecordedExchange = None,
    aggregators: Annotated[
        str | None,
        typer.Option(help="The nodes with an aggregator, as in 0,2. Without it, all."),
    ] = None,
    self_messages: SelfMessages = "counted",
    kind: Kind = None,
    cb_buffer_size: BufferSize = None,
    file_size: FileSize = None,
    machine: Machine = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Predict what an exchange costs on a node set: every node, the hot spot, both posting orders."""
    with reported():
        from couplet.cost.model import load_model, warn_if_other_machine
        from couplet.cost.prediction import parse_node_set
        from couplet.cost.prediction import predict as predict_one

        check_outputs(_inputs(model_file, matrix, recorded), [("--plot", plot)])
        model = load_model(model_file)
        file_bytes = _file_bytes(file_size, cb_buffer_size)
        given = _Given(tiles, matrix, matrix_unit, self_messages, recorded, program, exchange)
        pattern, notes = _pattern(model, given)
        warn_if_other_machine(model, model_file, machine)
        chosen = None if aggregators is None else _node_list(aggregators)
        predictions = [predict_one(model, pattern, parse_node_set(text), chosen, kind) for text in nodes]
        notes += _hint_of_unit(given, max(predictions, key=lambda one: one.most_times_measured()))
        iterations = [
            _iterations(pattern, len(one.aggregators or one.node_set), cb_buffer_size, file_bytes)
            for one in predictions
        ]
        if plot is not None:
            from couplet.cost.plots import prediction_figure, save

            save(prediction_figure(predictions, f"{pattern.describe()}, model of {model.machine}"), plot)
        _show_predictions(_head(model, pattern, notes, kind, model_file), predictions, iterations, as_json)
        if not as_json:
            say(*_written_lines(plot))


def _node_list(text: str) -> list[int]:
    from couplet.cost.errors import CostError

    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise CostError(f'--aggregators "{text}" has to be a list of nodes, counted from 0, as in 0,2')
    return [int(word) for word in words]


def _show_predictions(
    head: dict[str, Any], predictions: list[Prediction], iterations: list[Iterations | None], as_json: bool
) -> None:
    from couplet.cost import tables
    from couplet.cost.model import ORDERS
    from couplet.cost.prediction import rank

    if not as_json:
        say(*_head_lines(head))
        for one, parts in zip(predictions, iterations, strict=True):
            say(*tables.prediction(one, parts))
        if len(predictions) > 1:
            say(*tables.ranking(predictions))
        return
    entries = []
    for one, parts in zip(predictions, iterations, strict=True):
        entry = one.to_json()
        if parts is not None:
            costs = {name: float(order.cost * parts.share) for name, order in one.orders.items()}
            entry["iterations"] = {"count": parts.count, "share": float(parts.share), "cost": costs}
        entries.append(entry)
    if len(entries) == 1:
        print(json.dumps(head | entries[0], indent=2))
    else:
        print(
            json.dumps(head | {"sets": entries, "ranking": {one: rank(predictions, one) for one in ORDERS}}, indent=2)
        )


def place(
    model_file: ModelFile,
    nodes: PlacedNodes = None,
    hosts: HostsFile = None,
    tiles: TilesOption = None,
    matrix: MatrixFile = None,
    matrix_unit: MatrixUnit = "messages",
    recorded: RecordedPath = None,
    program: RecordedProgram = None,
    exchange: RecordedExchange = None,
    processes: Annotated[int | None, typer.Option(help="Spread so many over the hosts, by their speeds.")] = None,
    cells: Annotated[
        int | None, typer.Option(help="Cut a domain of so many cells, by the speeds of the hosts.")
    ] = None,
    aggregators: Annotated[
        str | None, typer.Option(help='How many nodes have an aggregator, or "best". Without it, all.')
    ] = None,
    self_messages: SelfMessages = "counted",
    kind: Kind = None,
    order: Annotated[
        str | None,
        typer.Option(help="Which posting order is chosen: intra_first or inter_first. Without it, the cheaper one."),
    ] = None,
    search: Annotated[
        str,
        typer.Option(help="How the best placement is searched: auto, exhaustive, dynamic or annealing."),
    ] = "auto",
    seed: Annotated[int, typer.Option(help="With annealing: another number makes another attempt.")] = 0,
    write: Annotated[
        Path | None, typer.Option(help="Write host files, a rank file and hints into this folder.")
    ] = None,
    cb_buffer_size: BufferOfHints = None,
    machine: Machine = None,
    plot: Plot = None,
    report: Annotated[Path | None, typer.Option(help="Write a report, one self-contained .html file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the order of the nodes, and the aggregators, for which an exchange costs least."""
    with reported():
        from couplet.cost.model import load_model, warn_if_other_machine
        from couplet.cost.placement import place as place_nodes

        _check_place_outputs(_inputs(model_file, matrix, recorded, hosts), write, plot, report)
        model = load_model(model_file)
        given = _Given(tiles, matrix, matrix_unit, self_messages, recorded, program, exchange)
        pattern, notes = _pattern(model, given)
        listed, node_set = _given_nodes(nodes, hosts, processes)
        _check_placing(listed, write, cells, order)
        warn_if_other_machine(model, model_file, machine, [host.name for host in listed or ()])
        buffer = parse_bytes(cb_buffer_size, "--cb-buffer-size") if cb_buffer_size else None
        result = place_nodes(model, pattern, node_set, _aggregator_count(aggregators), kind, search, seed)
        best = result.orders[order or result.chosen]
        notes += _notes_of_best(model, pattern, best, kind, given)
        notes += _notes_of_hints(pattern, write, cb_buffer_size)
        names = None if listed is None else [listed[node].name for node in best.nodes]
        head = _head(model, pattern, notes, kind, model_file)
        if plot is not None or report is not None:
            lines = _head_lines(head) + _placement_lines(result, order, names)
            _draw_placement(lines, best, pattern, names, (plot, report))
        written = [path for path in (plot, report) if path is not None]
        if write is not None and names is not None:
            from couplet.cost.launch_files import write_all

            written += write_all(
                write, names, best.node_set, best.aggregators if pattern.uses_aggregators else None, buffer
            )
        parts = None if cells is None or listed is None else _parts(cells, listed, best.nodes, best.node_set)
        _show_placement(head, result, order, names, parts, written, as_json, pattern.uses_aggregators)


def _notes_of_best(model: Model, pattern: Pattern, best: Placement, kind: str | None, given: _Given) -> list[str]:
    """What a prediction of the best order says of pairs that were not measured."""
    from couplet.cost.prediction import predict as predict_one

    aggregators = best.aggregators if pattern.uses_aggregators else None
    one = predict_one(model, pattern, best.node_set, aggregators, kind)
    return one.beyond_notes() + _hint_of_unit(given, one)


def _notes_of_hints(pattern: Pattern, write: Path | None, buffer_size: str | None) -> list[str]:
    """Notes if no hints are written: about a buffer that they would name, and those of another placement."""
    if write is not None and pattern.uses_aggregators:
        return []
    notes = [] if buffer_size is None else ["--cb-buffer-size is only for the hints, and none are written"]
    if write is not None and (write / "romio.hints").exists():
        why = "a matrix or a record says nothing about aggregators"
        notes.append(f"{write / 'romio.hints'} is of an earlier placement: {why}")
    return notes


def _check_place_outputs(inputs: list[_InputFile], write: Path | None, plot: Path | None, report: Path | None) -> None:
    from couplet.cost.launch_files import FILE_NAMES

    check_outputs(inputs, [("--plot", plot), ("--report", report)])
    if write is not None:
        check_written_folder([*inputs, ("--plot", plot), ("--report", report)], write, FILE_NAMES)


def _check_placing(listed: tuple[Host, ...] | None, write: Path | None, cells: int | None, order: str | None) -> None:
    from couplet.cost.errors import CostError

    if order is not None:
        _one_of("--order", order, ("intra_first", "inter_first"))
    if listed is None and write is not None:
        raise CostError("--write needs the names of the nodes: give them with --hosts FILE instead of --nodes")
    if listed is None and cells is not None:
        raise CostError("--cells needs the speeds of the nodes: give them with --hosts FILE instead of --nodes")


def _given_nodes(
    nodes: list[str] | None, hosts: Path | None, processes: int | None
) -> tuple[tuple[Host, ...] | None, tuple[int, ...]]:
    """The hosts, if they are named, and the processes of each node."""
    from couplet.cost.errors import CostError
    from couplet.cost.prediction import parse_node_set
    from couplet.cost.speeds import read_hosts, spread_processes

    if nodes and len(nodes) > 1:
        raise CostError(f"--nodes is given {len(nodes)} times, and one list of nodes is placed; give one")
    if (not nodes) == (hosts is None):
        raise CostError("say which nodes there are: --nodes 4,4,2,2, or --hosts FILE (one of the two)")
    if hosts is not None:
        listed = read_hosts(hosts)
        if processes is not None:
            return listed, spread_processes(listed, processes)
        return listed, tuple(host.processes for host in listed)
    if processes is not None:
        raise CostError("--processes needs the room and the speeds of the nodes: give them with --hosts FILE")
    assert nodes
    return None, parse_node_set(nodes[0])


def _aggregator_count(text: str | None) -> int | str | None:
    from couplet.cost.errors import CostError

    if text is None or text == "best":
        return text
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise CostError(f'--aggregators "{text}" has to be a number of nodes, or "best"')
    return int(text)


def _parts(
    cells: int, listed: tuple[Host, ...], nodes: tuple[int, ...], node_set: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    """The cells of each process, in the order in which they are placed."""
    from couplet.cost.speeds import split_cells

    return split_cells(
        cells, [listed[node].speed for node, count in zip(nodes, node_set, strict=True) for _ in range(count)]
    )


def _draw_placement(
    lines: list[str], best: Placement, pattern: Pattern, names: list[str] | None, files: tuple[Path | None, Path | None]
) -> None:
    """Writes the picture, and the report with it."""
    from couplet.cost.documents import write_text
    from couplet.cost.plots import placement_figure, save
    from couplet.cost.report import placement_report

    plot, report = files
    figure = placement_figure(best, pattern, names)
    if plot is not None:
        save(figure, plot)
    if report is not None:
        write_text(report, placement_report(lines, figure, best, pattern, names))


def _placement_lines(result: Result, order: str | None, names: list[str] | None) -> list[str]:
    from couplet.cost import tables

    return [*tables.placement(result, order), *([f"hosts: {','.join(names)}"] if names is not None else [])]


def _show_placement(
    head: dict[str, Any],
    result: Result,
    order: str | None,
    names: list[str] | None,
    parts: tuple[tuple[int, int], ...] | None,
    written: list[Path],
    as_json: bool,
    with_aggregators: bool,
) -> None:
    if as_json:
        orders = {name: one.to_json() for name, one in result.orders.items()}
        for entry in orders.values():
            entry["aggregators"] = entry["aggregators"] if with_aggregators else None
        given = {name: float(cost) for name, cost in result.given.items()}
        content = head | {"orders": orders, "given": given, "chosen": order or result.chosen}
        content |= {} if names is None else {"hosts": names}
        content |= {} if parts is None else {"cells": [list(part) for part in parts]}
        print(json.dumps(content | {"written": [str(path) for path in written]}, indent=2))
        return
    say(*_head_lines(head))
    say(*_placement_lines(result, order, names))
    for process, (start, stop) in enumerate(parts or ()):
        say(f"process {process}: cells {start} to {stop}")
    say(*_written_lines(*written))
