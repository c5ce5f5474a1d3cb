"""Reads the file ``coupled.toml`` and finds every mistake in it, with its line and a suggestion."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from couplet.cli.settings import list_of_links, mistaken_lanes, mistaken_values, unknown_link

LAUNCHERS = ("none", "openmpi", "mpich", "slurm")
# Commands that start ranks, and the launcher that stands for them in the file.
_LAUNCHER_COMMANDS = {
    **dict.fromkeys(("mpiexec", "mpirun", "mpiexec.openmpi", "mpirun.openmpi", "orterun", "prterun"), "openmpi"),
    **dict.fromkeys(("mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra"), "mpich"),
    "srun": "slurm",
}


@dataclass(frozen=True)
class Mistake:
    """One mistake: where it is, what is wrong, and what would be right."""

    line: int  # 0: the mistake belongs to no line
    text: str
    suggestion: str = ""

    def __str__(self) -> str:
        hint = f" ({self.suggestion})" if self.suggestion else ""
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.text}{hint}"


class ConfigurationError(Exception):
    """The file has mistakes; ``mistakes`` is the list of all of them."""

    def __init__(self, path: Path, mistakes: list[Mistake]) -> None:
        self.path = path
        self.mistakes = mistakes
        super().__init__("\n".join(f"{path}: {mistake}" for mistake in mistakes))


@dataclass
class Program:
    """One separately started application."""

    name: str
    command: list[str]
    launcher: str = "none"
    ranks: int = 1
    nodes: int | None = None  # of Slurm
    threads: int | None = None  # cores of a rank, on Slurm
    directory: Path = Path()
    environment: dict[str, str] = field(default_factory=dict)
    launcher_options: list[str] = field(default_factory=list)
    required: bool = True
    log: Path | None = None
    line: int = 0


@dataclass
class Series:
    """Settings of a series, and the number of steps that the progress bar expects."""

    name: str
    required_readers: list[str] = field(default_factory=list)
    settings: dict[str, float | int] = field(default_factory=dict)
    steps: int | None = None
    line: int = 0


@dataclass
class Configuration:
    """The description of a whole coupled run."""

    path: Path
    name: str
    programs: list[Program]
    series: list[Series]
    timeout_s: float = 60.0
    linger_s: float | None = None
    encrypt: bool = False
    authenticate: bool = False
    listen: str | None = None
    links: list[str] = field(default_factory=list)
    interface: str | None = None
    ports: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def hub_programs(self) -> str:
        """Gives the programs in the hub's notation: ``ocean:2,nowcast:1,follower:1?``."""
        return ",".join(f"{p.name}:{p.ranks}{'' if p.required else '?'}" for p in self.programs)

    def max_linger_s(self) -> float:
        """Returns the longest time in seconds for which the hub may go on after the last program has ended."""
        return max([self.linger_s or 0.0, *(float(one.settings.get("linger_s", 0.0)) for one in self.series)])

    def hub_settings(self) -> dict[str, Any]:
        """Gives the settings that the hub hands to every member."""
        series = {}
        for one in self.series:
            entry: dict[str, Any] = dict(one.settings)
            if one.required_readers:
                entry["required_readers"] = one.required_readers
            series[one.name] = entry
        return {**self.settings, "series": series}


# The keys that each table may have: key -> (accepted types, description).
_KINDS: dict[str, dict[str, tuple[tuple[type, ...], str]]] = {
    "universe": {
        "name": ((str,), "a string"),
        "timeout": ((int, float), "seconds"),
        "linger": ((int, float), "seconds"),
        "encrypt": ((bool,), "true or false"),
        "authenticate": ((bool,), "true or false"),
        "listen": ((str,), '"host:port"'),
        "links": ((list,), 'a list such as ["self", "shm", "tcp"]'),
        "interface": ((str,), "a network interface, address or subnet"),
        "ports": ((str,), 'a port or a range of ports, such as "40000-40099"'),
    },
    "program": {
        "name": ((str,), "a string"),
        "command": ((list,), "a list of strings"),
        "launcher": ((str,), "one of " + ", ".join(LAUNCHERS)),
        "ranks": ((int,), "a positive number"),
        "nodes": ((int,), "a positive number"),
        "threads": ((int,), "a positive number"),
        "directory": ((str,), "a directory"),
        "environment": ((dict,), "a table of strings"),
        "launcher_options": ((list,), "a list of strings"),
        "required": ((bool,), "true or false"),
        "log": ((str,), "a file name"),
    },
    "series": {
        "required_readers": ((list,), "a list of program names"),
        "slots": ((int,), "a positive number"),
        "memory_bytes": ((int,), "bytes"),
        "required_timeout_s": ((int, float), "seconds"),
        "wait_timeout_s": ((int, float), "seconds"),
        "evict_after_held_s": ((int, float), "seconds"),
        "holders": ((int,), "a positive number"),
        "linger_s": ((int, float), "seconds"),
        "streaming_bytes": ((int,), "bytes"),
        "window": ((int,), "0 or 1"),
        "steps": ((int,), "a positive number"),
    },
    "settings": {
        "relay": ((str,), '"auto", "external", "in_calls" or "none"'),
        "check": ((str,), '"header" or "full"'),
        "cost_file": ((str,), 'the absolute path of a file, or "none"'),
        "eager_bytes": ((int,), "bytes"),
        "machine": ((str,), "the name of a machine"),
        "piece_bytes": ((int,), "bytes"),
        "cma": ((int,), "0 or 1"),
        "file_directory": ((str,), "the absolute path of a directory"),
        "connection_patience_s": ((int, float, str), 'seconds, or "inf"'),
        "ring_bytes": ((int,), "bytes"),
        "spin_us": ((int, float), "microseconds"),
        "streaming_bytes": ((int,), "bytes"),
        "links": ((str, list), 'the names of links, such as "self,shm,tcp"'),
        "hybrid": ((str,), 'two links, such as "tcp+file"'),
        "hybrid_threshold": ((int, str), "bytes"),
        "tcp_streams": ((int, str), "a number from 1 to 16"),
        "ucx_tls": ((str,), "transports of UCX"),
        "exchange": ((dict,), "a table"),
        "hub": ((dict,), "a table"),
    },
    "settings.exchange": {
        "method": ((str,), "the name of a method of exchanges"),
        "cache": ((str,), "the absolute path of a file"),
        "record": ((str,), "the absolute path of a folder"),
    },
    "settings.hub": {
        "return_patience_s": ((int, float), "seconds"),
        "rejoin_grace_s": ((int, float), "seconds"),
        "rejoin_patience_s": ((int, float), "seconds"),
        "reset_patience_s": ((int, float), "seconds"),
        "max_told_contacts": ((int,), "a number of ranks"),
    },
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")


class _Lines:
    """The lines of tables and keys in the text, which tomllib does not report."""

    def __init__(self, text: str) -> None:
        self.keys: dict[tuple[str, str], int] = {}
        table, count = "", 0
        for number, line in enumerate(text.splitlines(), 1):
            stripped = line.strip()
            if header := re.fullmatch(r"\[\[\s*([\w.\-\"]+)\s*\]\]\s*(#.*)?", stripped):
                table, count = f"{header[1]}#{count}", count + 1
                self.keys.setdefault((table, ""), number)
            elif header := re.fullmatch(r"\[\s*([\w.\-\"]+)\s*\]\s*(#.*)?", stripped):
                table = header[1].replace('"', "")
                self.keys.setdefault((table, ""), number)
            elif key := re.match(r"([\w\-]+)\s*(=|\.)", stripped):
                self.keys.setdefault((table, key[1]), number)

    def table_below(self, name: str) -> str:
        """Returns the first table that is called ``name``, or, as in ``[name.part]``, lies below it."""
        return next((table for table, _ in self.keys if table == name or table.startswith(f"{name}.")), name)

    def of(self, table: str, key: str = "") -> int:
        whole = (self.table_below(f"{table}.{key}"), "")
        return self.keys.get((table, key), self.keys.get((table, ""), self.keys.get(whole, 1)))


def _closest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, 1, 0.5)
    return f'did you mean "{near[0]}"?' if near else "known: " + ", ".join(known)


def _is(value: object, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and not (isinstance(value, bool) and bool not in types)


class _Reader:
    """Checks one table after the other and collects the mistakes."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.base = path.resolve().parent
        self.lines = _Lines(text)
        self.mistakes: list[Mistake] = []
        self.names: list[str] = []

    def wrong(self, table: str, key: str, text: str, suggestion: str = "") -> None:
        self.mistakes.append(Mistake(self.lines.of(table, key), text, suggestion))

    def table(self, kind: str, where: str, content: dict[str, Any]) -> dict[str, Any]:
        """Returns the entries of ``content`` that are known and of the right type."""
        known, good = _KINDS[kind], {}
        for key, value in content.items():
            if key not in known:
                in_its_own_table = kind == "settings" and key == "series"
                hint = "write [series.NAME] in place of [settings.series.NAME]" if in_its_own_table else ""
                text = f'unknown key "{key}" in [{where.split("#")[0]}]'
                self.wrong(where, key, text, hint or _closest(key, list(known)))
            elif not _is(value, known[key][0]):
                self.wrong(where, key, f'"{key}" has to be {known[key][1]}, not {value!r}')
            elif isinstance(value, list) and not all(isinstance(item, str) for item in value):
                self.wrong(where, key, f'"{key}" has to be {known[key][1]}')
            else:
                good[key] = value
        for key, text in mistaken_values(kind, good):
            self.wrong(where, key, text)
        return good

    def program(self, index: int, content: dict[str, Any]) -> Program | None:
        where = f"program#{index}"
        good = self.table("program", where, content)
        name, command = good.get("name"), good.get("command")
        if name is None or not _NAME.fullmatch(name):
            self.wrong(where, "name", "a program needs a name of letters, digits, '_', '-', '.'", 'name = "ocean"')
        elif name in self.names:
            self.wrong(where, "name", f'program "{name}" is listed twice')
        else:
            self.names.append(name)
        if not command:
            whose = f'program "{name}"' if name else "this program"
            self.wrong(where, "command", f"{whose} needs a command", 'command = ["./ocean", "input.nml"]')
        self.launcher(where, good.get("launcher", "none"))
        self.size(where, good)
        directory = self.base / good.get("directory", ".")
        if not directory.is_dir():
            self.wrong(where, "directory", f"no directory {directory}")
        environment = good.get("environment", {})
        if not all(isinstance(value, str) for value in environment.values()):
            self.wrong(where, "environment", "values in environment have to be strings")
        if command and directory.is_dir():
            self.executable(where, command[0], directory)
        if command and good.get("launcher", "none") == "none":
            self.no_launcher(where, command[0])
        if not (name and command):
            return None
        log = good.get("log")
        return Program(
            name=name,
            command=command,
            launcher=good.get("launcher", "none"),
            ranks=good.get("ranks", 1),
            nodes=good.get("nodes"),
            threads=good.get("threads"),
            directory=directory,
            environment=environment,
            launcher_options=good.get("launcher_options", []),
            required=good.get("required", True),
            log=self.base / log if log else None,
            line=self.lines.of(where),
        )

    def size(self, where: str, good: dict[str, Any]) -> None:
        """Checks the numbers of ranks, nodes and threads, and that no option of Slurm says them again."""
        from couplet.cli.slurm import mistaken_option

        launcher, ranks, nodes = good.get("launcher", "none"), good.get("ranks", 1), good.get("nodes", 1)
        if ranks < 1:
            self.wrong(where, "ranks", "ranks has to be at least 1")
        for key in ("nodes", "threads"):
            if good.get(key, 1) < 1:
                self.wrong(where, key, f"{key} has to be at least 1, not {good[key]}")
            if key in good and launcher != "slurm":
                text = f'{key} is only for launcher = "slurm", and this program has launcher = "{launcher}"'
                self.wrong(where, key, text, f"leave {key} out, or start the program by Slurm")
        if nodes > max(ranks, 1):
            self.wrong(where, "nodes", f"nodes has to be at most ranks, and {nodes} is more than {ranks}")
        if launcher == "slurm" and (mistake := mistaken_option(good.get("launcher_options", []))) is not None:
            self.wrong(where, "launcher_options", *mistake)

    def launcher(self, where: str, launcher: str) -> None:
        from couplet.cli.launch import launcher_executable

        if launcher in _LAUNCHER_COMMANDS:
            text = f'"{launcher}" is a command, and launcher names the MPI whose command is used'
            self.wrong(where, "launcher", text, "known: " + ", ".join(LAUNCHERS))
        elif launcher not in LAUNCHERS:
            self.wrong(where, "launcher", f'no launcher "{launcher}"', _closest(launcher, list(LAUNCHERS)))
        elif launcher_executable(launcher) is None:
            self.wrong(where, "launcher", f'launcher "{launcher}" is not installed here')

    def no_launcher(self, where: str, command: str) -> None:
        """Without a launcher, couplet run starts each rank itself, and tells it which one it is."""
        launcher = _LAUNCHER_COMMANDS.get(Path(command).name)
        if launcher is not None:
            self.wrong(
                where,
                "command",
                f'"{command}" is a launcher, and launcher is "none"',
                f'command = [the program and its arguments], launcher = "{launcher}", ranks = N',
            )

    def executable(self, where: str, command: str, directory: Path) -> None:
        if "/" in command:
            path = directory / command
            if not path.is_file():
                self.wrong(where, "command", f"no file {path}", "build it first, or correct the path")
            elif not path.stat().st_mode & 0o111:
                self.wrong(where, "command", f"{path} is not executable", f"chmod +x {path}")
        elif shutil.which(command) is None:
            self.wrong(where, "command", f'"{command}" is not on PATH')

    def series(self, name: str, content: dict[str, Any], programs: list[str]) -> Series:
        where = f"series.{name}"
        good = self.table("series", where, content)
        readers = good.pop("required_readers", [])
        for reader in readers:
            if reader not in programs:
                self.wrong(where, "required_readers", f'no program "{reader}"', _closest(reader, programs))
        steps = good.pop("steps", None)
        return Series(name, readers, good, steps, self.lines.of(where))

    def settings(self, content: dict[str, Any]) -> dict[str, Any]:
        good = self.table("settings", "settings", content)
        for name in ("exchange", "hub"):
            if name in good:
                kind = f"settings.{name}"
                where = kind if (kind, "") in self.lines.keys else "settings"
                good[name] = self.table(kind, where, good[name])
        return good

    def links(self, universe: dict[str, Any], settings: dict[str, Any], programs: list[Program]) -> None:
        """Checks the links of [universe] or [settings], and what depends on them; makes those of [settings] a text."""
        table = "settings" if "links" in settings else "universe"
        links = list_of_links(settings.get("links") or universe.get("links") or [])
        if settings.get("links") and universe.get("links"):
            self.wrong("settings", "links", "links is given in [universe] and in [settings]", "keep one of them")
        if text := unknown_link(links):
            self.wrong(table, "links", text)
        if "links" in settings:
            settings["links"] = ",".join(links)
        variables = [os.environ, *(program.environment for program in programs)]
        named = "file_directory" in settings or any("COUPLET_FILE_DIRECTORY" in each for each in variables)
        for key, text in mistaken_lanes(settings, links, named):
            self.wrong(table if key == "links" else "settings", key, text)


def load(path: Path) -> Configuration:
    """Reads the file ``path``. Raises ConfigurationError with every mistake that it finds."""
    if path.is_char_device() or path.is_block_device():
        raise ConfigurationError(path, [Mistake(0, "it is a device; give a file")])
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(path, [Mistake(0, "is not text in UTF-8")]) from error
    except OSError as error:
        raise ConfigurationError(path, [Mistake(0, f"cannot read it: {error.strerror}")]) from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise ConfigurationError(path, [Mistake(int(found[1]) if found else 1, f"not TOML: {error}")]) from error
    reader = _Reader(path, text)
    tables = [kind for kind in _KINDS if "." not in kind]
    for key in content:
        if key not in tables:
            reader.wrong(reader.lines.table_below(key), "", f"unknown table [{key}]", _closest(key, tables))
    universe = reader.table("universe", "universe", content.get("universe", {}))
    entries = content.get("program", [])
    if not isinstance(entries, list) or not entries:
        reader.wrong("program", "", "no program is listed", "add a [[program]] table for each program")
        entries = []
    programs = [p for i, entry in enumerate(entries) if (p := reader.program(i, entry)) is not None]
    series = [reader.series(name, entry, reader.names) for name, entry in content.get("series", {}).items()]
    settings = reader.settings(content.get("settings", {}))
    reader.links(universe, settings, programs)
    if reader.mistakes:
        raise ConfigurationError(path, sorted(reader.mistakes, key=lambda mistake: mistake.line))
    return Configuration(
        path=path,
        name=universe.get("name", path.resolve().parent.name),
        programs=programs,
        series=series,
        timeout_s=universe.get("timeout", 60.0),
        linger_s=universe.get("linger"),
        encrypt=universe.get("encrypt", False),
        authenticate=universe.get("authenticate", False),
        listen=universe.get("listen"),
        links=universe.get("links", []),
        interface=universe.get("interface"),
        ports=universe.get("ports"),
        settings=settings,
    )
