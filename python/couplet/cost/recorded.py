"""What exchanges and coalesced rounds have recorded, as a pattern: who sent how much to whom in a round.

Two forms are read. A run with the setting ``exchange.record`` leaves a folder with a file of lines for each rank
(``couplet.exchange.record``, docs/formats/cost.md). And a file may have the reports of coalesced rounds as JSON, one
line for each rank.
"""

from __future__ import annotations

import math
import re
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy

from couplet.cost.documents import EXCHANGE_RECORD, check_document, parse, read_text
from couplet.cost.errors import CostError, DocumentError
from couplet.cost.patterns import MAX_MATRIX_PROCESSES, MAX_SUM, Matrix

FILE_PATTERN = "exchanges.*.jsonl"
_Key = tuple[str, str, str, tuple[tuple[int, int], ...]]
# What follows the name of coalesced rounds in that of an exchange. The client is last: its name may be anything.
_PART = re.compile(r", coalesced phase (\d+)(?:, plan \d+)?(, client .*)?", re.DOTALL)


@dataclass
class _Line:
    """What one rank has recorded of one exchange: ``sends`` has peer, messages and bytes in one round of its plan."""

    where: str
    title: str
    group: str
    part: str  # parts of the same title follow one another in each round: the phases of coalesced rounds
    rank: int
    members: tuple[tuple[int, int], ...]  # runs of ranks: first and count
    rounds: int
    sends: list[tuple[int, int, int]]
    plan: list[tuple[int, int]]

    @property
    def key(self) -> _Key:
        """What tells exchanges apart: two groups may have exchanges of the same name, and the same members."""
        return self.title, self.part, self.group, self.members


@dataclass
class Recorded:
    """The messages and bytes of one round of all recorded exchanges together, by process.

    ``rounds`` is the number of rounds that the amounts were divided by: that of the exchange with most of them; 0 if no
    round was carried out, so that the plans count.
    """

    process_count: int
    rounds: int
    titles: tuple[str, ...]
    messages: Any
    bytes: Any
    notes: list[str] = field(default_factory=list)
    sizes: tuple[int, int] | None = None

    def pattern(self, unit_bytes: int | None = None) -> Matrix:
        """Returns the pattern of one round, in messages, or in messages of ``unit_bytes`` by the bytes sent."""
        entries = self.messages if unit_bytes is None else self.bytes
        entries, rounds = _reduced(entries, max(1, self.rounds))
        what = "1 exchange" if len(self.titles) == 1 else f"{len(self.titles)} exchanges"
        of = f"one round of {self.rounds}" if self.rounds else "as planned"
        unit = "messages" if unit_bytes is None else "bytes"
        name = f"{what} of {self.process_count} processes as recorded ({unit}, {of})"
        return Matrix(entries, unit_bytes=unit_bytes, rounds=rounds, name=name)


def _reduced(entries: Any, rounds: int) -> tuple[Any, int]:
    """The same amounts of fewer rounds, if what was sent in all rounds is too much to be counted exactly."""
    if entries.sum() < MAX_SUM:
        return entries, rounds
    common = math.gcd(rounds, *(int(amount) for amount in entries[entries > 0].tolist()))
    return entries // common, rounds // common


def read_recorded(path: Path, program: str | None = None, exchange: str | None = None) -> Recorded:
    """Reads the folder of a run, or a file with the lines of all ranks.

    program: only the ranks of this one, counted from 0; what they send to others is left out, and a note says so.
    exchange: only the one with this title, such as "halo 'eta'". Raises DocumentError or CostError for records that are
    damaged, of several runs, or not complete.
    """
    documents = list(_documents(path))
    if not documents:
        raise DocumentError(
            f"{path}: holds no records; run the programs with COUPLET_EXCHANGE_RECORD, or give a file of reports"
        )
    kinds = {"schema" in document for _, document in documents}
    if len(kinds) > 1:
        raise DocumentError(f"{path}: has records of exchanges and reports of coalesced rounds; give one kind of them")
    if kinds == {True}:
        return _of_records(path, documents, program, exchange)
    if program is not None:
        raise CostError(f"{path}: --program {program}: reports of coalesced rounds do not name programs")
    return _of_reports(path, documents, exchange)


def _documents(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    files = [path]
    if path.is_dir():
        files = sorted(path.glob(FILE_PATTERN))
        if not files:
            raise DocumentError(
                f"{path}: has no file {FILE_PATTERN}; the programs write them into the folder that "
                "COUPLET_EXCHANGE_RECORD names, when their exchanges are closed"
            )
    for file in files:
        _check_file(file)
        # A name may have a character at which Python would end a line.
        for number, line in enumerate(read_text(file).split("\n"), 1):
            if not line.strip():
                continue
            where = f"{file}:{number}"
            document = parse(line, where)
            if not isinstance(document, dict):
                raise DocumentError(f"{where}: has to be an object, the record of an exchange on one line")
            yield where, document


def _check_file(file: Path) -> None:
    """Raises DocumentError for anything but a file: a pipe, for example, would be waited for."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise DocumentError(f"{file}: is no regular file, and records are; give the folder or the file of a run")
    except OSError as error:
        raise DocumentError(f"{file}: cannot be read: {error.strerror}") from error


def _of_records(
    path: Path, documents: Sequence[tuple[str, dict[str, Any]]], program: str | None, exchange: str | None
) -> Recorded:
    for where, document in documents:
        check_document(document, EXCHANGE_RECORD, where)
    runs = sorted({document["run"] for _, document in documents})
    if len(runs) > 1:
        raise DocumentError(
            f"{path}: has records of {len(runs)} runs ({', '.join(runs[:4])}); give each run a folder of its own"
        )
    programs = documents[0][1]["programs"]
    if any(document["programs"] != programs for _, document in documents):
        raise DocumentError(f"{path}: its records do not name the same programs, so they are not of one run")
    firsts = [0, *accumulate(one["size"] for one in programs)]
    size = firsts.pop()
    if [one["first_rank"] for one in programs] != firsts:
        raise DocumentError(f"{path}: the ranks of its programs do not follow one another from 0, so it is damaged")
    lines = [_line_of_record(where, document, size) for where, document in documents]
    first, count = _chosen_ranks(path, programs, program)
    return _sum(path, lines, first, count, exchange)


def _line_of_record(where: str, document: dict[str, Any], size: int) -> _Line:
    rank, members = document["rank"], tuple((first, count) for first, count in document["members"])
    lasts = (first + max(1, count) - 1 for first, count in members)
    ranks = (rank, *lasts, *(one["rank"] for one in document["sends"]))
    wrong = next((one for one in ranks if one >= size), None)
    if wrong is not None:
        raise DocumentError(f"{where}: names rank {wrong}, and its programs have {size} ranks together")
    if not any(first <= rank < first + count for first, count in members):
        raise DocumentError(f"{where}: rank {rank} is no member of its exchange")
    title = document["title"]
    part = _part(title, document["exchange"])
    sends = [(one["rank"], one["messages"], one["bytes"]) for one in document["sends"]]
    plan = [(one["rank"], one["plan_bytes"]) for one in document["sends"]]
    return _Line(where, title, document["group"], part, rank, members, document["rounds"], sends, plan)


def _part(title: str, exchange: str) -> str:
    """Plans of coalesced rounds replace one another: what they do in different rounds belongs to the same part."""
    rounds = title.removeprefix("coalesce '").removesuffix("'")
    found = _PART.fullmatch(exchange.removeprefix(rounds)) if title == f"coalesce '{rounds}'" else None
    return exchange if found is None else f"phase {found[1]}{found[2] or ''}"


def _chosen_ranks(path: Path, programs: list[dict[str, Any]], program: str | None) -> tuple[int, int]:
    if program is None:
        return 0, sum(one["size"] for one in programs)
    found = next((one for one in programs if one["name"] == program), None)
    if found is None:
        known = ", ".join(one["name"] for one in programs)
        raise CostError(f'{path}: --program "{program}" is none of its programs: {known}')
    return found["first_rank"], found["size"]


def _of_reports(path: Path, documents: Sequence[tuple[str, dict[str, Any]]], exchange: str | None) -> Recorded:
    lines = []
    for where, document in documents:
        try:
            sends = [(one["rank"], one["sent_messages"], one["sent_bytes"]) for one in document["peers"]]
            title = f"coalesce '{document['name']}'"
            line = _Line(where, title, "", "", document["rank"], (), document["rounds"], sends, [])
        except (KeyError, TypeError) as error:
            raise DocumentError(
                f"{where}: is neither a record of an exchange nor a report of coalesced rounds as JSON"
            ) from error
        numbers = (line.rank, line.rounds, *(number for one in sends for number in one))
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise DocumentError(f"{where}: its ranks and counts have to be whole numbers of at least 0")
        lines.append(line)
    if all(line.rounds == 0 for line in lines):
        raise DocumentError(f"{path}: its reports are of no round yet, so they say nothing; report after some rounds")
    size = 1 + max(one for line in lines for one in (line.rank, *(peer for peer, _, _ in line.sends)))
    for line in lines:
        line.members = ((0, size),)
    return _sum(path, lines, 0, size, exchange)


def _chosen_lines(path: Path, lines: list[_Line], exchange: str | None) -> list[_Line]:
    if exchange is None:
        return lines
    chosen = [line for line in lines if line.title == exchange]
    if not chosen:
        titles = ", ".join(sorted({line.title for line in lines})[:8])
        raise CostError(f'{path}: --exchange "{exchange}" was not recorded; there are: {titles}')
    return chosen


def _check_complete(path: Path, lines: list[_Line], first: int, count: int) -> None:
    """Raises DocumentError if a rank that counts has recorded nothing of an exchange that it is a member of."""
    seen: dict[_Key, set[int]] = {}
    for line in lines:
        seen.setdefault(line.key, set()).add(line.rank)
    for (title, _, _, members), ranks in seen.items():
        wanted = (
            rank for start, number in members for rank in range(max(first, start), min(first + count, start + number))
        )
        missing = next((rank for rank in wanted if rank not in ranks), None)
        if missing is not None:
            raise DocumentError(
                f"{path}: rank {missing} has recorded nothing of {title}; copy the files of all nodes into one "
                "folder, and note that a process that was killed records nothing"
            )


def _rounds(path: Path, lines: list[_Line]) -> int:
    """The rounds of the exchange that had most of them; those of a rank add up if it has opened the exchange again.

    Raises DocumentError if two ranks have not begun as many rounds of an exchange in which one sends to the other.
    """
    sums: dict[_Key, Counter[int]] = {}
    for line in lines:
        sums.setdefault(line.key, Counter())[line.rank] += line.rounds
    for line in lines:
        of_rank = sums[line.key]
        own = of_rank[line.rank]
        other = next((peer for peer, _, _ in line.sends if of_rank.get(peer, own) != own), None)
        if other is not None:
            raise DocumentError(
                f"{path}: rank {line.rank} has recorded {own} rounds of {line.title}, and rank {other} "
                f"{of_rank[other]}: a process was killed, or started again; record a run that ends well"
            )
    return max((rounds for of_rank in sums.values() for rounds in of_rank.values()), default=0)


def _sum(path: Path, lines: list[_Line], first: int, count: int, exchange: str | None) -> Recorded:
    if count > MAX_MATRIX_PROCESSES:
        raise CostError(f"{path}: has {count} processes; at most {MAX_MATRIX_PROCESSES} are read")
    chosen = [line for line in _chosen_lines(path, lines, exchange) if first <= line.rank < first + count]
    if not chosen:
        raise CostError(f"{path}: none of the chosen ranks has recorded an exchange")
    _check_complete(path, chosen, first, count)
    rounds = _rounds(path, chosen)
    messages: Counter[tuple[int, int]] = Counter()
    amounts: Counter[tuple[int, int]] = Counter()
    outside = 0
    sizes: list[int] = []
    for line in chosen:
        # Without a round, each neighbour of a plan gets one message with all its bytes.
        sends = line.sends if rounds else [(peer, 1, planned) for peer, planned in line.plan]
        for peer, sent, size in sends:
            if first <= peer < first + count:
                messages[line.rank - first, peer - first] += sent
                amounts[line.rank - first, peer - first] += size
                sizes += [round(size / sent)] if sent else []
            else:
                outside += sent
    notes = [f"{outside} messages to ranks of other programs are left out"] if outside else []
    titles = tuple(sorted({line.title for line in chosen}))
    matrices = (_matrix(messages, count), _matrix(amounts, count))
    return Recorded(count, rounds, titles, *matrices, notes, (min(sizes), max(sizes)) if sizes else None)


def _matrix(amounts: Counter[tuple[int, int]], count: int) -> Any:
    """The amounts as an array. Objects are Python's whole numbers, for those that floating point would round."""
    matrix = numpy.zeros((count, count), dtype=numpy.float64 if amounts.total() < MAX_SUM else object)
    for place, amount in amounts.items():
        matrix[place] = amount
    return matrix
