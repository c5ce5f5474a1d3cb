"""Observes a universe from outside, by its pages and series files, mapped read-only, and by the hub's events.

Formats: docs/formats/page.md and docs/formats/series.md. This module writes, locks and wakes nothing.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGE_MAGIC = b"CPLTPAGE"
SERIES_MAGIC = 0x3153454952455343
PAGE_VERSION, SERIES_VERSION = 1, 3
BYTE_ORDER = 0x01020304
FIRST_RELAY_PEER = 0x80000000
HOLDING, RESERVED = 2, 3
MAX_ORDINAL = (1 << 52) - 1
MAX_MAPPED_SERIES = 256
"""How many series files are watched for their last figures; each needs a descriptor."""
_LOOK_INTERVAL_S = 0.1
MESSAGE_WAIT_NS, SERIES_HELD_NS, SERIES_READ_WAIT_NS = 20, 33, 35
_RUN = re.compile(r"[0-9a-f]{16}(-.+)?")


@dataclass(frozen=True)
class Page:
    """One process, as its page describes it."""

    program: str
    rank: int
    peer: int
    incarnation: int
    process: int
    host: str
    counters: tuple[int, ...]
    sleeping: bool

    @property
    def is_relay(self) -> bool:
        return self.peer >= FIRST_RELAY_PEER

    def messages(self) -> tuple[int, int, int, int]:
        """Returns the messages sent and received, then their bytes, over all links."""
        sent, received, sent_bytes, received_bytes = (sum(self.counters[at : at + 4]) for at in (0, 4, 8, 12))
        return sent, received, sent_bytes, received_bytes

    def waited_ns(self) -> int:
        """Returns the time for which the process was blocked in messages, for holding readers and for steps."""
        return sum(self.counters[at] for at in (MESSAGE_WAIT_NS, SERIES_HELD_NS, SERIES_READ_WAIT_NS))


@dataclass(frozen=True)
class ReaderEntry:
    """A holding reader, or the entry that is kept for a required program."""

    peer: int | None
    consumed: int
    program_hash: int
    relayed: bool = False
    """Reads on another node, through the relay."""


@dataclass(frozen=True)
class SeriesFile:
    """The slots of one writer rank."""

    name: str
    program: str
    writer: int
    slots: int
    step_bytes: int
    published: int
    incarnation: int
    closed: bool
    writer_waits: bool
    held_ns: int
    wait_count: int
    longest_ns: int
    longest_for: int | None
    """The peer; None: a required program that has not opened the series, or no wait."""
    longest_program: int
    """Hash of its name."""
    readers: tuple[ReaderEntry, ...]


@dataclass(frozen=True)
class ReaderView:
    """Says how far a holding reader is behind the writer."""

    program: str
    rank: int
    behind: int


@dataclass
class SeriesView:
    """A series over all writer ranks of this node."""

    name: str
    program: str
    published: int
    slots: int
    closed: bool
    waits: bool
    held_s: float
    bytes_retained: int
    expected: int | None = None
    rate: float = 0.0
    wait_count: int = 0
    longest_s: float = 0.0
    longest_for: str = ""
    ended: bool = False
    """All its files are gone."""
    readers: list[ReaderView] = field(default_factory=list)

    @property
    def occupancy(self) -> float:
        """Returns the share of the slots that some holding reader has not released."""
        return min(1.0, max((reader.behind for reader in self.readers), default=0) / self.slots) if self.slots else 0.0


def name_hash(name: str) -> int:
    """Returns the FNV-1a hash, 64 bits, by which a reader table names programs."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def _mapped(path: Path) -> mmap.mmap | None:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    except (OSError, ValueError):
        return None  # the file is gone, empty, or belongs to another user


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode("utf-8", "replace")


def read_page(path: Path) -> Page | None:
    """Returns the page in ``path``, or None if there is none that can be understood."""
    page = _mapped(path)
    if page is None:
        return None
    with page:
        if len(page) < 1408 or page[:8] != PAGE_MAGIC:
            return None
        if struct.unpack_from("=II", page, 8) != (PAGE_VERSION, BYTE_ORDER):
            return None
        peer, incarnation, process, rank = struct.unpack_from("=IIIi", page, 32)
        offset, count = struct.unpack_from("=II", page, 84)
        count = min(count, 128)
        if count <= SERIES_READ_WAIT_NS or offset + 8 * count > len(page):
            return None
        counters = struct.unpack_from(f"={count}Q", page, offset)
        sleeping = struct.unpack_from("=I", page, 256)[0] != 0
        return Page(_text(page[96:160]), rank, peer, incarnation, process, _text(page[160:224]), counters, sleeping)


def read_series_file(path: Path) -> SeriesFile | None:
    """Returns the series file in ``path``, or None if there is none that can be understood."""
    file = _mapped(path)
    if file is None:
        return None
    with file:
        return series_of(file)


def series_of(file: mmap.mmap) -> SeriesFile | None:
    """Returns the series of a mapped file, or None if it cannot be understood."""
    if len(file) < 8192 or struct.unpack_from("=QII", file, 0) != (SERIES_MAGIC, BYTE_ORDER, SERIES_VERSION):
        return None
    control, readers_offset = struct.unpack_from("=QQ", file, 32)
    slots, _stride, step_bytes = struct.unpack_from("=QQQ", file, 64)
    writer = struct.unpack_from("=i", file, 116)[0]
    if control + 256 > len(file):
        return None
    published, _wake, _word, closed = struct.unpack_from("=QQII", file, control)
    incarnation = struct.unpack_from("=Q", file, control + 72)[0]
    wanted, _writer_word, used = struct.unpack_from("=QII", file, control + 128)
    held_ns, _library_ns, waits, longest_ns, blocker, program = struct.unpack_from("=QQQQQQ", file, control + 208)
    longest_for = blocker >> 32 if blocker & 0xF == HOLDING else None
    entries = []
    for index in range(min(used, 65536)):
        at = readers_offset + 64 * index
        if at + 64 > len(file):
            break
        owner, consumed, reader = struct.unpack_from("=QQQ", file, at)
        consumed &= MAX_ORDINAL
        if owner & 0xF == HOLDING:
            relayed = struct.unpack_from("=I", file, at + 28)[0] != 0
            entries.append(ReaderEntry(owner >> 32, consumed, reader, relayed))
        elif owner & 0xF == RESERVED:
            entries.append(ReaderEntry(None, consumed, reader))
    return SeriesFile(
        _text(file[128:256]), _text(file[256:384]), writer, slots, step_bytes, published, incarnation,
        closed != 0, wanted != 0, held_ns, waits, longest_ns, longest_for, program, tuple(entries),
    )  # fmt: skip


def run_directory(base: Path | None = None) -> Path:
    """Returns the base of the node directories, as the library chooses it."""
    if base is not None:
        return base
    return Path(os.environ.get("COUPLET_RUN_DIR") or f"/dev/shm/couplet-{os.getuid()}")


def entries(directory: Path, pattern: str) -> list[Path]:
    """Returns what fits the pattern in a directory; nothing if it has just been removed, as at the end of a run."""
    try:
        return sorted(directory.glob(pattern))
    except FileNotFoundError:
        return []


class EndedSeries:
    """Keeps series files mapped from one look to the next. If a file has gone meanwhile, its mapping still has what the
    writer noted last. The memory of its slots is thus kept until the next look, and no longer.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[Path, int], mmap.mmap] = {}
        self._ended: dict[tuple[Path, int], SeriesFile] = {}

    def look(self, directory: Path) -> list[SeriesFile]:
        """Returns the series files that were there at an earlier look and are no longer."""
        before, self._open = self._open, {}
        for path in entries(directory, "series-*"):
            try:
                key = (path, path.stat().st_ino)
            except OSError:
                continue
            file = before.pop(key, None)
            if file is None and len(self._open) < MAX_MAPPED_SERIES:
                file = _mapped(path)
            if file is not None:
                self._open[key] = file
        for key, file in before.items():
            with file:
                if (ended := series_of(file)) is not None:
                    self._ended[key] = ended
        return list(self._ended.values())


class Node:
    """One node directory: the part of a universe that runs on this node."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._known: dict[int, Page] = {}
        self._before: dict[str, tuple[float, int]] = {}

    @property
    def run(self) -> str:
        return self.directory.name

    def pages(self) -> list[Page]:
        found = (read_page(path) for path in entries(self.directory, "page-*"))
        return [page for page in found if page is not None]

    def series(self, ended: Sequence[SeriesFile] = ()) -> list[SeriesView]:
        """Returns all series that are written on this node, only in their newest incarnations.

        ``ended``: files that are gone. What they say of waits still counts.
        """
        live: dict[str, list[SeriesFile]] = {}
        for path in entries(self.directory, "series-*"):
            if (file := read_series_file(path)) is not None:
                live.setdefault(file.name, []).append(file)
        gone: dict[str, list[SeriesFile]] = {}
        for file in ended:
            gone.setdefault(file.name, []).append(file)
        # A process may be gone by now, and is still the one for which a writer has waited.
        self._known.update((page.peer, page) for page in self.pages())
        return [self._view(name, live.get(name, []), gone.get(name, [])) for name in sorted(live.keys() | gone.keys())]

    def _view(self, name: str, live: list[SeriesFile], gone: list[SeriesFile]) -> SeriesView:
        newest = max(part.incarnation for part in [*live, *gone])
        live = [part for part in live if part.incarnation == newest]
        all_parts = live + [part for part in gone if part.incarnation == newest]
        parts = live or all_parts
        pages = self._known
        published = min(part.published for part in parts)
        view = SeriesView(
            name, parts[0].program, published, min(part.slots for part in parts), all(part.closed for part in parts),
            any(part.writer_waits for part in parts), max(part.held_ns for part in all_parts) / 1e9,
            sum(part.step_bytes * min(part.slots, part.published) for part in parts),
            ended=not live,
        )  # fmt: skip
        behind: dict[tuple[str, int], int] = {}
        names = {name_hash(page.program): page.program for page in pages.values()}
        for entry in (entry for part in parts for entry in part.readers):
            page = pages.get(entry.peer) if entry.peer is not None else None
            stranger = f"universe rank {entry.peer} by relay" if entry.relayed else "a required reader"
            program = page.program if page else names.get(entry.program_hash, stranger)
            key = (program, page.rank if page else -1)
            behind[key] = max(behind.get(key, 0), published - min(entry.consumed, published))
        slowest = max(all_parts, key=lambda part: part.longest_ns)
        view.wait_count = sum(part.wait_count for part in all_parts)
        view.longest_s = slowest.longest_ns / 1e9
        if view.wait_count:
            page = pages.get(slowest.longest_for) if slowest.longest_for is not None else None
            stranger = "a required reader" if slowest.longest_for is None else f"universe rank {slowest.longest_for}"
            program = names.get(slowest.longest_program, stranger)
            view.longest_for = f"{page.program}.{page.rank}" if page else program
        view.readers = [ReaderView(program, rank, steps) for (program, rank), steps in sorted(behind.items())]
        now = time.monotonic()
        then, count = self._before.get(name, (now, published))
        if now - then >= 0.5:
            view.rate = (published - count) / (now - then)
            self._before[name] = (now, published)
        else:
            self._before.setdefault(name, (now, published))
        return view


def nodes(base: Path | None = None) -> Iterator[Node]:
    """Iterates over the universes that have a directory on this node."""
    directory = run_directory(base)
    for path in entries(directory, "*"):
        if path.is_dir() and _RUN.fullmatch(path.name):
            yield Node(path)


class Universe:
    """One run: the events of its hub, and the contents of its node directory."""

    def __init__(self, hub_process: int, base: Path | None = None) -> None:
        self._hub_process = hub_process
        self._base = base
        self._ranks: dict[str, set[int]] = {}
        self._joined: set[str] = set()
        self._lost: dict[tuple[str, int], None] = {}  # in the order in which they were lost
        self._node: Node | None = None
        self._rates: dict[str, float] = {}
        self._seen: dict[str, SeriesView] = {}
        self._ended = EndedSeries()
        self._looked = 0.0

    def follow(self, hub_process: int) -> None:
        """Follows the hub that was started again."""
        self._hub_process = hub_process

    def take(self, event: dict[str, Any]) -> None:
        """Notes an event of the hub."""
        program, rank = event.get("program"), event.get("rank")
        if not isinstance(program, str) or not isinstance(rank, int):
            return
        what = event.get("event")
        if what in ("joined", "rejoined"):
            self._ranks.setdefault(program, set()).add(rank)
            self._joined.add(program)
            self._lost.pop((program, rank), None)
        elif what in ("left", "lost"):
            self._ranks.get(program, set()).discard(rank)
        if what == "lost":
            self._lost[program, rank] = None

    def ranks(self) -> dict[str, int]:
        """Returns how many ranks of each program are present."""
        return {program: len(ranks) for program, ranks in self._ranks.items()}

    def has_joined(self, program: str) -> bool:
        """Says whether a rank of the program has been there."""
        return program in self._joined

    def lost(self) -> list[tuple[str, int]]:
        """Returns the program and the rank of each member that is lost and has not joined again."""
        return sorted(self._lost)

    def first_lost(self) -> str:
        """Returns the program of the member that was lost first and has not joined again, or ""."""
        return next(iter(self._lost), ("", 0))[0]

    def series(self, expected: dict[str, int | None]) -> list[SeriesView]:
        """Returns the series of this node, with the number of steps that is expected."""
        if self._node is None:
            self._node = next((n for n in nodes(self._base) if self._kept(n)), None)
            if self._node is None:
                return []
        views = self._node.series(self._ended.look(self._node.directory))
        for view in views:
            view.expected = expected.get(view.name)
            view.rate = self._rates[view.name] = view.rate or self._rates.get(view.name, 0.0)
            self._seen[view.name] = view
        return [view for view in views if not view.ended]

    def look(self) -> None:
        """Notes the state that will be gone when all have left; at most every tenth of a second."""
        if time.monotonic() - self._looked >= _LOOK_INTERVAL_S:
            self._looked = time.monotonic()
            self.series({})

    def waits(self) -> list[SeriesView]:
        """Returns the series whose writers have waited. Also looks at the files that went since the last look."""
        self.series({})
        return [view for view in self._seen.values() if view.wait_count]

    def _kept(self, node: Node) -> bool:
        """Says whether the hub of this run is in that directory."""
        return bool(entries(node.directory, f"keeper-{self._hub_process}-*"))
