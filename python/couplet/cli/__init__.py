"""The command line: ``couplet run``, ``check``, ``watch``, ``explain``, ``clean``, ``hub``, ``convert`` and so on."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from couplet.cli import convert, cost, probe

if TYPE_CHECKING:
    from couplet.cli.configuration import Configuration

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Couple separately started parallel programs.",
)

EXIT_MISTAKES = 2
_RECORD_VARIABLE = "COUPLET_EXCHANGE_RECORD"
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF)  # file systems on which nothing can be claimed

File = Annotated[Path, typer.Argument(help="The description of the coupled run.", show_default=True)]
RunDirectory = Annotated[
    Path | None,
    typer.Option("--run-dir", help="Base of the node directories; default COUPLET_RUN_DIR or /dev/shm/couplet-<uid>."),
]


@app.command()
def run(
    file: File = Path("coupled.toml"),
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines even on a terminal.")] = False,
    submit: Annotated[bool, typer.Option("--submit", help="Start nothing: submit a batch script to Slurm.")] = False,
    separate_jobs: Annotated[
        bool,
        typer.Option(
            "--separate-jobs",
            help="With --submit: a job for each program, for a Slurm without heterogeneous jobs.",
        ),
    ] = False,
    record_exchanges: Annotated[
        str | None,
        typer.Option(
            "--record-exchanges",
            help="Let exchanges, halos and coalesced rounds record in this folder what they send, for couplet predict.",
        ),
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="With --submit: show the script, and do not submit it.")
    ] = False,
) -> None:
    """Start every program with its own launcher, host the hub, show progress, and end all processes cleanly."""
    from couplet.cli.configuration import ConfigurationError, load
    from couplet.cli.display import PlainDisplay, display_for
    from couplet.cli.run import run as run_configuration

    if (separate_jobs or only_print) and not submit:
        print(f"couplet: {'--print' if only_print else '--separate-jobs'} needs --submit", file=sys.stderr)
        raise typer.Exit(EXIT_MISTAKES)
    console = Console()
    try:
        configuration = load(file)
    except ConfigurationError as error:
        Console(stderr=True).print(str(error), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(EXIT_MISTAKES) from error
    if record_exchanges is not None:
        _record_exchanges(configuration, record_exchanges, submit)
    if submit:
        _submit(configuration, separate_jobs, only_print)
        return
    display = PlainDisplay(console, configuration) if plain else display_for(console, configuration)
    raise typer.Exit(run_configuration(configuration, display))


def _record_exchanges(configuration: Configuration, given: str, submit: bool) -> None:
    """Sets the folder of the records for all programs, whatever the environment says, and claims it for this run."""
    wrong = None
    if submit:
        wrong = (
            f"is for a run that starts now; in a batch job, set record in [settings.exchange] of {configuration.path}"
        )
    elif not given.strip():
        wrong = "names no folder"
    else:
        wrong = _claim(Path(os.path.realpath(given)))
    if wrong is not None:
        print(f"couplet: --record-exchanges {given}: {wrong}", file=sys.stderr)
        raise typer.Exit(EXIT_MISTAKES)
    configuration.settings.setdefault("exchange", {})["record"] = os.path.realpath(given)
    for environment in (os.environ, *(program.environment for program in configuration.programs)):
        environment.pop(_RECORD_VARIABLE, None)  # it would count more than the setting


def _claim(folder: Path) -> str | None:
    """Makes the folder of the records, and holds it until this process ends; returns why it cannot be used."""
    try:
        if folder.exists() and not folder.is_dir():
            return "is no folder"
        if not folder.parent.is_dir():
            return f"cannot be made: there is no folder {folder.parent}"
        folder.mkdir(exist_ok=True)
        fcntl.flock(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "is used by another run just now; give each run a folder of its own"
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            return f"cannot be used: {error.strerror}"
    if next(folder.glob("exchanges.*.jsonl"), None) is not None:
        return "has records of another run; give each run a folder of its own"
    return None


def _submit(configuration: Configuration, separate_jobs: bool, only_print: bool) -> None:
    """Prints the batch script, or submits it and prints the job's number."""
    from couplet.cli.slurm import SlurmError
    from couplet.cli.submit import script
    from couplet.cli.submit import submit as submit_script

    try:
        text = script(configuration, separate_jobs)
        if only_print:
            print(text, end="")
            return
        folder = configuration.path.resolve().parent
        job = submit_script(text, folder)
    except SlurmError as error:
        print(f"couplet: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    print(f"submitted job {job}; its output will be in {folder / f'couplet-{job}.log'}")


@app.command()
def check(file: File = Path("coupled.toml")) -> None:
    """Find mistakes in a description, with their lines and suggestions, without starting anything."""
    from couplet.cli.configuration import ConfigurationError, load
    from couplet.cli.launch import command_line
    from couplet.cli.slurm import salloc_words

    try:
        configuration = load(file)
    except ConfigurationError as error:
        Console(stderr=True).print(str(error), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(EXIT_MISTAKES) from error
    for program in configuration.programs:
        ranks = "1 rank" if program.ranks == 1 else f"{program.ranks} ranks"
        print(f"{program.name}: {ranks}, in {program.directory}: {' '.join(command_line(program))}")
        if program.launcher == "slurm":
            print(f"  outside a job, its nodes come by: {' '.join(salloc_words(program, configuration.name))}")
    print(f"{file}: no mistakes")


def _wide_console() -> Console:
    """Returns a console. A line that another program reads is not broken, so that a search in it finds its words."""
    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 200)


@app.command()
def watch(
    run_dir: RunDirectory = None,
    once: Annotated[bool, typer.Option("--once", help="Print one table and end.")] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two updates.", min=0.1)] = 1.0,
) -> None:
    """Show a live table of the universes that run on this node, from their counters, without disturbing them."""
    from couplet.cli.watch import watch as watch_node

    raise typer.Exit(watch_node(_wide_console(), run_dir, once, interval))


@app.command()
def explain(
    run_dir: RunDirectory = None,
) -> None:
    """Show what this node and this environment offer: cores, shared memory, launchers, and variables that are set."""
    from couplet.cli.explain import explain as explain_node

    raise typer.Exit(explain_node(_wide_console(), run_dir))


def _become(name: str, arguments: list[str]) -> None:
    """Replaces this process by an executable of the installation."""
    from couplet.cli.installation import executable

    try:
        path = executable(name)
    except FileNotFoundError as error:
        print(f"couplet: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    sys.stdout.flush()
    os.execv(path, [str(path), *arguments])


_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@app.command(context_settings=_PASS_ON)
def clean(context: typer.Context) -> None:
    """Remove what crashed runs have left on this node. What is in use is never removed."""
    _become("couplet-clean", context.args)


@app.command(context_settings=_PASS_ON)
def hub(context: typer.Context) -> None:
    """Host the rendezvous of a universe by hand: --programs ocean:2,nowcast:1 --listen HOST:PORT."""
    _become("couplet-hub", context.args)


app.command()(probe.probe)
app.command()(cost.fit)
app.command()(cost.predict)
app.command()(cost.place)
app.command()(convert.convert)
