"""Checks of series: steps are those that were put, whole, in order, once; a holder loses nothing; sums are right."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from chaos.evidence import Evidence
from chaos.histories import SECOND, Call, Finding, Life
from chaos.network import SMALL_BUFFER_BYTES

STARVED_S = 12.0  # steps were there for so long, and the reader got none of them
UNNOTICED_S = 12.0  # 5 s are promised
RESTART_S = 8.0  # for a reader to be told that its writer was started again
HELD_FOR_NOBODY_S = 1.5
SEEN_S = 0.2  # a reader that polls sees steps that are there for so long
# Any machine copies, and sends to another process, faster than that.
SLOW_BYTES_S = {"mapped": 1e9, "relay": 1e8}
# From when a step is there until a follower that has a core looks at it, the bells and messages of a relay included.
LOOK_S = {"mapped": 1e-3, "relay": 5e-3}
# A follower is judged only if at least this many steps were published while it read.
MIN_STEPS = 100
MIN_SHARE = 0.05  # the least share of the steps that it could have copied


@dataclass
class Made:
    """A series as one life of its writing program made it: steps by rank, in the order of their puts."""

    name: str
    program: str
    life: int
    created_ns: int  # when the first rank began to create it
    options: dict[str, Any]
    puts: dict[int, list[Call]] = field(default_factory=dict)
    writers: list[Life] = field(default_factory=list)

    @property
    def in_window(self) -> bool:
        """Says whether its slots are in the window of an MPI job."""
        return bool(self.options.get("window"))

    @cached_property
    def steps(self) -> list[int]:
        """Returns the steps of rank 0, in order: an ordinal is an index into it."""
        return [call.facts["step"] for call in self.puts.get(0, []) if call.status == "OK"]

    @cached_property
    def begun(self) -> dict[int, int]:
        """Returns when the first rank began to put each step."""
        times: dict[int, int] = {}
        for calls in self.puts.values():
            for call in calls:
                times[call.facts["step"]] = min(call.begin_ns, times.get(call.facts["step"], call.begin_ns))
        return times

    @cached_property
    def published(self) -> list[list[int]]:
        """Returns for each rank when it had published its first step, its second, and so on."""
        return [[call.end_ns or 0 for call in calls if call.status == "OK"] for calls in self.puts.values()]

    def published_before(self, time_ns: int) -> int:
        """Returns how many steps all ranks had put by then."""
        counts = [bisect_right(times, time_ns) for times in self.published]
        return min(counts) if len(counts) == len(self.writers) and counts else 0

    def most_published_before(self, time_ns: int) -> int:
        """Returns how many steps the rank with the most steps had put by then."""
        return max((bisect_right(times, time_ns) for times in self.published), default=0)

    def there_for(self, min_s: float, begin_ns: int, end_ns: int) -> int:
        """Returns how many steps of this time were in the slots of all ranks at once for at least so long."""
        return sum(
            begin_ns <= start_ns < end_ns and stop_ns - start_ns >= min_s * SECOND
            for start_ns, stop_ns in self.stays(0, 1, end_ns)
        )

    def there_together(self, after: int, count: int, begin_ns: int, end_ns: int) -> bool:
        """Says whether so many successive steps after an ordinal were in the slots of all ranks at once, in this time
        and for long enough that a reader sees them.
        """
        return any(
            min(stop_ns, end_ns) - max(start_ns, begin_ns) >= SEEN_S * SECOND
            for start_ns, stop_ns in self.stays(after + 1, count, end_ns)
        )

    def stays(self, first: int, count: int, end_ns: int) -> Iterator[tuple[int, int]]:
        """Returns for each ordinal from the first on from when to when it and those after it, `count` together, were
        in the slots of all ranks.

        Nothing holds the ranks of a writer together. Ranks that are more ordinals apart than there are slots never have
        the same step.
        """
        good = [[call for call in calls if call.status == "OK"] for calls in self.puts.values()]
        slots = int(self.options["slots"])
        for ordinal in range(first, min((len(calls) for calls in good), default=0) - count + 1):
            start_ns = max(calls[ordinal + count - 1].end_ns or 0 for calls in good)
            replaced = [calls[ordinal + slots].begin_ns for calls in good if ordinal + slots < len(calls)]
            yield start_ns, min(replaced, default=end_ns)


@dataclass
class Reading:
    """One open series of one process, from open to close."""

    life: Life
    opened: Call
    reads: list[Call] = field(default_factory=list)
    counts: list[Call] = field(default_factory=list)
    closed: Call | None = None

    @property
    def name(self) -> str:
        return str(self.opened.facts["k"])

    @property
    def holds(self) -> bool:
        return bool(self.opened.facts["mode"] == "hold")

    @property
    def takes_all(self) -> bool:
        return bool(self.opened.facts["every"] == 1 and not self.opened.facts["latest"])

    def place(self, call: Call) -> str:
        return f"{self.life.name} life {self.life.life}, series {self.name} at {call.begin_ns}"


def check_series(evidence: Evidence) -> Iterator[Finding]:
    made = series_made(evidence)
    readings = [reading for life in evidence.run.lives for reading in readings_of(life)]
    for reading in readings:
        mine = [one for one in made if one.name == reading.name]
        yield from check_route(evidence, reading, mine)
        yield from check_steps(reading, mine)
        yield from check_losses(reading, mine)
        yield from check_sums(reading, mine)
        yield from check_uneven_end(evidence, reading, mine)
        yield from check_progress(evidence, reading, mine)
        yield from check_restart(evidence, reading, mine)
        yield from check_follower(evidence, reading, mine)
    yield from check_ranks(evidence, readings)
    yield from check_holding(evidence, made, readings)


def series_made(evidence: Evidence) -> list[Made]:
    found: dict[tuple[str, str, int], Made] = {}
    for life in evidence.run.lives:
        for call in life.calls:
            if call.name == "create" and call.status == "OK":
                key = (call.facts["k"], life.program, life.life)
                made = found.setdefault(key, Made(*key, call.begin_ns, call.facts))
                made.created_ns = min(made.created_ns, call.begin_ns)
                made.puts.setdefault(life.rank, [])
                made.writers.append(life)
            elif call.name == "put" and (call.facts["k"], life.program, life.life) in found:
                found[call.facts["k"], life.program, life.life].puts.setdefault(life.rank, []).append(call)
    return list(found.values())


def readings_of(life: Life) -> list[Reading]:
    found: list[Reading] = []
    current: dict[str, Reading] = {}
    for call in life.calls:
        handle = call.facts.get("h", "")
        if call.name == "open" and call.status == "OK":
            current[handle] = Reading(life, call)
            found.append(current[handle])
        elif handle in current and call.name == "read":
            current[handle].reads.append(call)
        elif handle in current and call.name == "count":
            current[handle].counts.append(call)
        elif handle in current and call.name == "close":
            current.pop(handle).closed = call
        elif call.name == "leave":
            current.clear()
    return found


def delivered(reading: Reading) -> Iterator[tuple[Call, dict[str, Any]]]:
    for call in reading.reads:
        if call.status == "OK":
            for step in call.facts["steps"]:
                yield call, step


def check_route(evidence: Evidence, reading: Reading, made: list[Made]) -> Iterator[Finding]:
    """What is in a window is read there, by ranks of its job, and nothing else is."""
    route, at_ns = reading.opened.facts.get("route", ""), reading.opened.end_ns or 0
    in_window = {one.in_window for one in made if one.writers[0].started_ns < at_ns}
    mpis = {evidence.mpi_of(one.program) for one in made if one.in_window}
    right = in_window == {route == "window"} and (route != "window" or evidence.mpi_of(reading.life.program) in mpis)
    if in_window and not right:
        yield Finding("wrong-route", f"it is read over '{route}'", reading.place(reading.opened))


def check_steps(reading: Reading, made: list[Made]) -> Iterator[Finding]:
    """Checks contents, provenance and order."""
    last: dict[int, int] = {}
    for call in reading.reads:
        if call.status == "OK" and not call.facts["steps"]:
            yield Finding("empty-ok", "read answered OK without a step", reading.place(call))
    for call, step in delivered(reading):
        place = reading.place(call)
        if "bad" in step:
            bad = step["bad"]
            is_of = (
                f"is of step {bad['of_step']} of life {bad['life']}" if bad["of_step"] >= 0 else "is of no step near it"
            )
            text = (
                f"step {step['step']} of life {step['life']}: element {bad['place']} is {bad['value']}, which {is_of}"
            )
            yield Finding("wrong-contents", text, place)
            continue
        if step["life"] < 0:
            continue
        source = next((one for one in made if one.life == step["life"]), None)
        begun_ns = source.begun.get(step["step"]) if source else None
        if source is None or begun_ns is None or begun_ns > (call.end_ns or 0):
            yield Finding("invented-step", f"step {step['step']} of life {step['life']} was not put", place)
            continue
        steps = source.steps
        if step["ordinal"] < len(steps) and steps[step["ordinal"]] != step["step"]:
            text = f"step {step['step']} has ordinal {step['ordinal']}, which is step {steps[step['ordinal']]}"
            yield Finding("wrong-order", text, place)
        if step["ordinal"] <= last.get(step["life"], -1):
            yield Finding("delivered-twice", f"ordinal {step['ordinal']} after {last[step['life']]}", place)
        last[step["life"]] = step["ordinal"]


def check_losses(reading: Reading, made: list[Made]) -> Iterator[Finding]:
    """A process that holds and is alive loses nothing. What is left out is counted."""
    restarted = any(call.status == "RESTARTED" for call in reading.reads)
    evicted = any(call.status == "ERROR_EVICTED" for call in reading.reads)
    if evicted:
        yield from check_eviction(reading, made)
    lost, gaps = 0, 0
    previous: dict[str, Any] | None = None
    for call in reading.reads:
        if call.status != "OK":
            continue
        lost += call.facts["lost"]
        if reading.holds and call.facts["lost"] and not restarted and not evicted:
            yield Finding("holder-lost", f"a holder lost {call.facts['lost']} steps", reading.place(call))
        for step in call.facts["steps"]:
            if previous and previous["life"] == step["life"] and reading.takes_all:
                gaps += max(0, step["ordinal"] - previous["ordinal"] - 1)
            previous = step
        if gaps > lost and not restarted:
            yield Finding("silent-gap", f"{gaps} steps were passed over, {lost} are counted", reading.place(call))
            break
    first = next((step for _, step in delivered(reading)), None)
    if first and reading.holds and reading.takes_all and reading.life.life == 0 and first["ordinal"] > 0:
        source = next((one for one in made if one.life == first["life"]), None)
        earlier = any(call.name == "open" and call.begin_ns < reading.opened.begin_ns for call in reading.life.calls)
        if source and reading.life.program in source.options["required"].split(",") and not earlier:
            in_time = (
                reading.opened.end_ns is not None and reading.opened.end_ns - source.writers[0].started_ns < 25 * SECOND
            )
            if reading.opened.facts["from"] == "oldest" and in_time and source.life == 0:
                text = f"the first step of a required reader is ordinal {first['ordinal']}"
                yield Finding("holder-lost", text, reading.place(reading.opened))


def check_eviction(reading: Reading, made: list[Made]) -> Iterator[Finding]:
    call = next(one for one in reading.reads if one.status == "ERROR_EVICTED")
    limits = [float(one.options["evict"]) for one in made]
    limit = max(limits, default=-1)
    longest = max(
        (
            put.seconds
            for one in made
            for puts in one.puts.values()
            for put in puts
            if put.begin_ns < call.begin_ns + SECOND
        ),
        default=0,
    )
    if limit < 0:
        yield Finding("evicted-wrongly", f"nobody asked for it: {call.text}", reading.place(call))
    elif longest < 0.5 * limit:
        text = f"evict after {limit} s, but no put was held up for longer than {longest:.2f} s"
        yield Finding("evicted-wrongly", text, reading.place(call))


def check_sums(reading: Reading, made: list[Made]) -> Iterator[Finding]:
    restarted = any(call.status == "RESTARTED" for call in reading.reads)
    for call in reading.counts:
        if call.status != "OK":
            continue
        f = call.facts
        right = f["delivered"] + f["lost"] + f["skipped"] + f["pending"]
        if f["published"] - f["first"] != right:
            parts = ", ".join(
                f"{key} {f[key]}" for key in ("published", "first", "delivered", "lost", "skipped", "pending")
            )
            yield Finding("accounting", f"the sum is wrong: {parts}", reading.place(call))
        handed_out = sum(
            one.facts["count"] for one in reading.reads if one.status == "OK" and one.begin_ns < call.begin_ns
        )
        if not restarted and f["delivered"] != handed_out:
            text = f"{handed_out} steps were handed out, {f['delivered']} are counted as delivered"
            yield Finding("accounting", text, reading.place(call))
        excused = restarted or any(one.status in ("ERROR_EVICTED", "ERROR_MISMATCH") for one in reading.reads)
        if reading.holds and f["lost"] and not excused:
            yield Finding("holder-lost", f"a holder has lost {f['lost']} steps", reading.place(call))
    ended = next((call for call in reading.reads if call.status == "END"), None)
    if ended and reading.counts and reading.counts[-1].status == "OK" and not restarted:
        lives = {step["life"] for _, step in delivered(reading) if step["life"] >= 0}
        sources = [one for one in made if one.life in lives]
        published = reading.counts[-1].facts["published"]
        if len(sources) == 1 and published < sources[0].published_before(ended.begin_ns):
            text = f"END with {published} steps, {sources[0].published_before(ended.begin_ns)} were published"
            yield Finding("end-too-early", text, reading.place(ended))
        elif len(sources) == 1 and reading.opened.facts.get("whole"):
            uneven = (one for one in reading.reads if one.status == "ERROR_MISMATCH" and "ended it" in one.text)
            told = next(uneven, ended)  # what a rank publishes after that is not told again (decision 45)
            most = sources[0].most_published_before(told.begin_ns)
            if published < most:
                text = f"END with {published} steps, and nothing was said of the {most} that a rank has published"
                yield Finding("uneven-end-untold", text, reading.place(ended))


def check_uneven_end(evidence: Evidence, reading: Reading, made: list[Made]) -> Iterator[Finding]:
    """A reader is told that writers have ended after different numbers of steps only if they have.

    It is told that its ranks make different calls only if one was started again, which opens the series anew.
    """
    for call in reading.reads:
        if call.status != "ERROR_MISMATCH":
            continue
        end_ns = call.end_ns or 0
        if "makes another call" in call.text:
            if not evidence.rank_was_killed(reading.life.program, end_ns):
                yield Finding("out-of-step", call.text, reading.place(call))
        elif not any(one.published_before(end_ns) < one.most_published_before(end_ns) for one in made):
            yield Finding("uneven-end-invented", call.text, reading.place(call))


def check_progress(evidence: Evidence, reading: Reading, made: list[Made]) -> Iterator[Finding]:
    """Steps that are there are delivered, and the end of a writer is reported."""
    position, life, since_ns = -1, 0, None
    for call in reading.reads:
        if call.status == "OK" and call.facts["steps"]:
            position, life, since_ns = call.facts["steps"][-1]["ordinal"], call.facts["steps"][-1]["life"], None
            continue
        if call.status not in ("NOT_YET", "ERROR_PEER_LOST"):
            since_ns = None
            continue
        since_ns = since_ns or call.begin_ns
        source = next((one for one in made if one.life == max(life, 0)), None)
        if source is None or not source.writers or not reading.takes_all:
            continue
        if len({one.life for one in made}) > 1:
            continue  # which of them it waits for is not checked
        end_ns = evidence.end_of(reading.life, call)
        if call.status == "ERROR_PEER_LOST" and evidence.fellow_was_killed(reading.life.name, end_ns):
            continue  # it reads together with a rank that is dead, as it was told
        others_went_on = not reading.holds and len(source.writers) > 1
        if call.status == "ERROR_PEER_LOST" and others_went_on and evidence.rank_was_killed(source.program, end_ns):
            continue  # the writer ranks that live have overwritten their parts of the last steps
        names = [reading.life.name, *(writer.name for writer in source.writers)]
        old_ns = max(since_ns, end_ns - int((STARVED_S + 1) * SECOND))
        if position >= 0 and source.published_before(old_ns) > position + call.facts["at_least"]:
            calm_s = evidence.calm_s(old_ns, end_ns, names, silences_of_senders(evidence, reading, source))
            least = call.facts["at_least"]
            # A follower may have lost what was published.
            if calm_s > STARVED_S and (reading.holds or source.there_together(position, least, old_ns, end_ns)):
                text = (
                    f"no step for {calm_s:.1f} s after ordinal {position}; {source.published_before(old_ns)} were there"
                )
                yield Finding("reader-starved", f"{text}; last answer {call.status} {call.text}", reading.place(call))
                return
        yield from check_writer_gone(evidence, reading, call, source, since_ns)


def silences_of_senders(evidence: Evidence, reading: Reading, made: Made) -> list[tuple[int, int]]:
    """Returns the times in which a writer rank on another node, which sends only in its own calls, or whose memory is
    read with calls of MPI, made none.
    """
    in_calls = evidence.run.plan.settings.get("COUPLET_RELAY") == "in_calls"
    senders = [writer for writer in made.writers if in_calls and writer.node != reading.life.node]
    if made.in_window and evidence.fetches(reading.life.program):
        senders = made.writers
    return [span for writer in senders for span in evidence.silent_spans(writer)]


def seconds_of_senders(evidence: Evidence, reading: Reading, made: Made, begin_ns: int, end_ns: int) -> list[float]:
    """Returns for each writer rank that sends only in its own calls how long it was in a put between two times."""
    in_calls = evidence.run.plan.settings.get("COUPLET_RELAY") == "in_calls"
    return [
        sum(call.seconds for call in made.puts[writer.rank] if begin_ns <= call.begin_ns < end_ns and call.end_ns)
        for writer in made.writers
        if (in_calls and writer.node != reading.life.node)
        or (made.in_window and evidence.fetches(reading.life.program))
    ]


def check_restart(evidence: Evidence, reading: Reading, made: list[Made]) -> Iterator[Finding]:
    """A reader is told within a certain time that its writer was started again, and gets the new steps."""
    newest = max(made, key=lambda one: one.life, default=None)
    if newest is None or newest.life == 0 or not any(newest.published):
        return
    there_ns = max(times[0] for times in newest.published if times)
    if (reading.opened.end_ns or there_ns) >= newest.created_ns:
        return  # it may have opened the newest one, and then there is no restart to be told of
    others = [harm for harm in evidence.harms_to([reading.life.name, f"{newest.program}/0"]) if harm.kind != "kill"]
    since_ns: int | None = None
    for call in reading.reads:
        if call.status not in ("NOT_YET", "ERROR_PEER_LOST") or not call.end_ns:
            since_ns = None
            told = call.status in ("RESTARTED", "END") or any(
                s["life"] == newest.life for s in call.facts.get("steps", [])
            )
            if told:
                return
            continue
        if "all members have to close" in call.text:  # it cannot read: its team has lost a rank
            since_ns = None
            continue
        since_ns = since_ns or call.begin_ns
        begin_ns = max(since_ns, there_ns)
        waited_s = (call.end_ns - begin_ns) / SECOND
        harmed = any(harm.overlaps(begin_ns, call.end_ns, 8 * SECOND) for harm in others)
        if waited_s > RESTART_S and not harmed and could_take_slots(evidence, reading, newest, call):
            text = f"{waited_s:.1f} s after steps of life {newest.life} of {newest.program} were there, read answers"
            yield Finding("restart-unnoticed", f"{text} {call.status} {call.text}", reading.place(call))
            return


def could_take_slots(evidence: Evidence, reading: Reading, made: Made, last: Call) -> bool:
    """Says whether the reads so far could take all slots of a life. One that does not wait takes one socket full."""
    if not evidence.run.plan.small_buffers or reading.opened.facts.get("route") != "relay":
        return True
    reads = [call for call in reading.reads if call.begin_ns <= last.begin_ns]
    waited_s = sum(call.seconds for call in reads if call.facts.get("timeout") != 0)
    taken = len(reads) * SMALL_BUFFER_BYTES + waited_s * SLOW_BYTES_S["relay"]
    return taken > int(made.options["slots"]) * int(reading.opened.facts.get("bytes", 0))


def delay_factor(calls: list[Call]) -> float:
    """How many times longer than on a core of its own a computation took within the calls."""
    cpu_us, delay_us = sum(call.cpu_us for call in calls), sum(call.delay_us for call in calls)
    return (cpu_us + delay_us) / cpu_us if cpu_us else 1.0


def look_s(evidence: Evidence, reading: Reading, waits: list[Call]) -> float:
    """How long a step has to be there, beside the time of its copy, for a follower to find it. The ranks of a team
    agree on each read, so that the time without a core of each of them counts.
    """
    seconds = LOOK_S.get(reading.opened.facts.get("route", ""), 1e-3)
    delays_us = [[call.delay_us for call in waits]]
    for fellow in evidence.run.lives:
        if reading.opened.facts["local"] or fellow.program != reading.life.program or fellow is reading.life:
            continue
        reads = [call for call in fellow.calls if call.name == "read"]
        delays_us.append([call.delay_us for call in reads if call.facts.get("h") == reading.opened.facts["h"]])
    return seconds * len(delays_us) + sum(sum(each) / len(each) for each in delays_us if each) / 1e6


def check_follower(evidence: Evidence, reading: Reading, made: list[Made]) -> Iterator[Finding]:
    """A follower that is slower than its writer gets a fair part of the steps that stay long enough."""
    waits = [call for call in reading.reads if call.status in ("OK", "NOT_YET", "END") and call.end_ns]
    if reading.holds or not reading.takes_all or len(made) != 1 or not waits:
        return
    source, begin_ns, end_ns = made[0], waits[0].begin_ns, waits[-1].end_ns or 0
    writer_end_ns = min((times[-1] for times in source.published if times), default=0)
    span_s = (min(end_ns, writer_end_ns) - begin_ns) / SECOND
    published = source.published_before(end_ns) - source.published_before(begin_ns)
    speed = SLOW_BYTES_S.get(reading.opened.facts.get("route", ""), 1e8)
    copy_s = reading.opened.facts.get("bytes", 0) / speed * delay_factor(waits)
    if published < MIN_STEPS or span_s <= 0 or copy_s <= 0:
        return
    turn_s = copy_s + look_s(evidence, reading, waits)
    stayed = source.there_for(2 * turn_s, begin_ns, min(end_ns, writer_end_ns))
    inside_s = sum(call.seconds for call in waits if call.begin_ns < writer_end_ns)
    names = [reading.life.name, *(writer.name for writer in source.writers)]
    inside_s = min(inside_s, evidence.calm_s(begin_ns, min(end_ns, writer_end_ns), names))
    inside_s = min([inside_s, *seconds_of_senders(evidence, reading, source, begin_ns, end_ns)])
    # Steps come and go while the reader is outside, too.
    possible = min(stayed * inside_s / span_s, inside_s / turn_s)
    got = sum(1 for _ in delivered(reading))
    if possible > MIN_STEPS / 2 and got < MIN_SHARE * possible:
        text = f"a follower got {got} of {published} steps; at {1e3 * turn_s:.1f} ms each it could get {possible:.0f}"
        yield Finding("follower-starved", text, reading.place(reading.opened))


def check_writer_gone(
    evidence: Evidence, reading: Reading, call: Call, source: Made, since_ns: int
) -> Iterator[Finding]:
    gone = [evidence.gone_for_good_ns(writer.name) for writer in source.writers]
    times = [time for time in gone if time is not None]
    if not times or call.status != "NOT_YET":
        return
    end_ns = evidence.end_of(reading.life, call)
    begin_ns = max(since_ns, min(times))
    cut = [harm for harm in evidence.run.harms if harm.kind in ("cut", "stop", "slow", "reset")]
    waited_s = (end_ns - begin_ns) / SECOND
    harmed = any(harm.overlaps(begin_ns, end_ns, 8 * SECOND) for harm in cut)
    if waited_s > UNNOTICED_S and not harmed and could_take_slots(evidence, reading, source, call):
        text = f"{reading.life.name} waited {waited_s:.1f} s for steps of {source.program}, which was gone"
        yield Finding("death-unnoticed", text, reading.place(call))


def check_ranks(evidence: Evidence, readings: list[Reading]) -> Iterator[Finding]:
    """All ranks of a collective reader get the same steps."""
    groups: dict[tuple[str, int, str, int], list[Reading]] = {}
    seen: dict[tuple[str, int], int] = {}
    for reading in readings:
        if reading.opened.facts["local"]:
            continue
        key = (reading.life.name, reading.life.life)
        seen[key] = seen.get(key, -1) + 1
        groups.setdefault((reading.life.program, reading.life.life, reading.name, seen[key]), []).append(reading)
    for group in groups.values():
        sequences = [[(step["step"], step["ordinal"]) for _, step in delivered(one)] for one in group]
        for (one, first), (other, second) in pairwise(zip(group, sequences, strict=True)):
            for left, right in zip(first, second, strict=False):
                if left != right:
                    text = f"{one.life.name} got (step, ordinal) {left}, {other.life.name} got {right}"
                    yield Finding("ranks-differ", text, one.place(one.opened))
                    break


def check_holding(evidence: Evidence, made: list[Made], readings: list[Reading]) -> Iterator[Finding]:
    """A writer that waits has a reason: a reader that holds and is not itself waiting in read."""
    for one in made:
        for writer in one.writers:
            for before, put in pairwise(one.puts.get(writer.rank, [])):
                both = {before.status, put.status} <= {"ERROR_TIMEOUT", "FULL"}
                if not both or put.seconds < HELD_FOR_NOBODY_S:
                    continue  # once may be a relay that is just starting
                reason = (
                    ""
                    if lacks_another_rank(one, writer.rank, put, readings)
                    else why_held(evidence, one, put, readings)
                )
                if reason:
                    text = f"{writer.name} was held up for {put.seconds:.1f} s, {reason}: {put.text}"
                    yield Finding("held-for-nobody", text, f"series {one.name} at {put.begin_ns}")


def lacks_another_rank(made: Made, rank: int, put: Call, readings: list[Reading]) -> bool:
    """Says whether another rank has not yet published what a reader needs to give back the slot of this put.

    That is the step that the put overwrites, and as many more as a read asks for at least.
    """
    own = sum(1 for call in made.puts[rank] if call.status == "OK" and (call.end_ns or 0) <= put.begin_ns)
    reads = (call for one in readings if one.name == made.name and one.holds for call in one.reads)
    asked = [
        int(call.facts.get("at_least", 1))
        for call in reads
        if call.begin_ns < (put.end_ns or put.begin_ns) and (call.end_ns is None or call.end_ns > put.begin_ns)
    ]
    return made.published_before(put.begin_ns) < own - int(made.options["slots"]) + max(asked, default=1)


def why_held(evidence: Evidence, made: Made, put: Call, readings: list[Reading]) -> str:
    """Returns "" if a reader may keep the writer waiting during this put, else why none may."""
    begin_ns, end_ns = put.begin_ns, put.end_ns or evidence.end_ns
    names = {life.name for life in evidence.run.lives}
    if evidence.calm_s(begin_ns, end_ns, names) < HELD_FOR_NOBODY_S:
        return ""
    for program in filter(None, made.options["required"].split(",")):
        mine = [life for life in evidence.run.lives if life.program == program]
        ranks = next((p.ranks for p in evidence.run.plan.programs if p.name == program), 0)
        opened = {
            r.life.rank
            for r in readings
            if r.life.program == program and r.name == made.name and (r.opened.end_ns or end_ns) < begin_ns
        }
        old_ns = begin_ns - 5 * SECOND
        living = {life.rank for life in mine if life.started_ns < end_ns and (life.ended_ns or end_ns) >= old_ns}
        ended = {life.rank for life in mine} - living  # one that was started again may still open it
        if len(opened | ended) < ranks:
            return ""
    for reading in readings:
        if reading.name != made.name or not reading.holds or reading.opened.begin_ns > end_ns:
            continue
        closed_ns = reading.closed.end_ns if reading.closed else reading.life.ended_ns
        if closed_ns is not None and closed_ns < begin_ns:
            continue
        if not waited_all_the_time(evidence, reading, begin_ns, end_ns):
            return ""
    return "while every reader that holds was waiting for a step or gone"


def waited_all_the_time(evidence: Evidence, reading: Reading, begin_ns: int, end_ns: int) -> bool:
    """Says whether it was in read, and got nothing, for nearly all the time between."""
    inside = 0
    for call in reading.reads:
        first, last = max(call.begin_ns, begin_ns), min(evidence.end_of(reading.life, call), end_ns)
        if last > first:
            if call.status not in ("NOT_YET", "") or call.end_ns is None:
                return False
            inside += last - first
    return inside > 0.9 * (end_ns - begin_ns)
