"""Makes a plan from a seed.

Situations that are hard in a real run are made likely: series with few slots, readers of all kinds, processes that
compute for a long time, that end and are started again, and that have other settings than their peers; and faults
meanwhile.
"""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random
from re import sub

from chaos.plan import Fault, Plan, Program

IDLE_S = (0.3, 1.0, 3.0, 7.0, 7.0)
SIZES = (8, 8, 64, 1024, 65536, 1 << 20, 4 << 20)


class Writer:
    """A series and the program that writes it."""

    def __init__(self, random: Random, number: int) -> None:
        self.name = f"ocean{number}"
        self.series = f"eta{number}"
        self.ranks = random.choice((1, 1, 2))
        self.large = random.random() < 0.15
        self.elements = 1 << 21 if self.large else random.choice((64, 1000, 40000))
        self.grain = 512 if self.large else 1
        self.slots = random.choice((2, 3, 4, 8))
        self.evict = random.choice((1.0, 2.0)) if random.random() < 0.15 else -1.0
        self.required: list[str] = []


def idle(random: Random) -> str:
    return f"idle s={random.choice(IDLE_S)}"


def write_lines(random: Random, writer: Writer) -> list[str]:
    required = f" required={','.join(writer.required)}" if writer.required else ""
    evict = f" evict={writer.evict}" if writer.evict > 0 else ""
    made = f"create series={writer.series} elements={writer.elements} grain={writer.grain} slots={writer.slots}"
    lines = [made + required + evict]
    claim = " claim=1" if writer.large or random.random() < 0.3 else ""
    for _ in range(random.choice((1, 2, 3))):
        pause_us = 0 if writer.large else random.choice((0, 500, 5000, 20000, 50000))
        seconds = random.choice((2, 4, 6))
        lines.append(f"put series={writer.series} steps=100000 seconds={seconds} pause_us={max(pause_us, 200)}{claim}")
        if random.random() < 0.4:
            lines.append(idle(random))
    return lines


def read_lines(random: Random, writer: Writer, holds: bool) -> list[str]:
    words = [f"open series={writer.series} grain={writer.grain} mode={'hold' if holds else 'follow'}"]
    if random.random() < 0.2:
        words.append(f"every={random.choice((2, 5))}")
    elif not holds and random.random() < 0.3:
        words.append("latest=1")
    if random.random() < 0.2:
        words.append(f"from={random.choice(('newest', 'next'))}")
    if random.random() < 0.3:
        half = writer.elements // 2
        words.append(random.choice((f"start=0 stop={half}", f"start={half // 2} stop={half + half // 2}")))
    words.append(f"timeout={random.choice((10, 15))}")
    lines = [" ".join(words)]
    two = writer.slots >= 4 and not any(word.startswith("every") for word in words) and random.random() < 0.25
    for _ in range(random.choice((1, 1, 2))):
        usual = random.random() < 0.96
        timeout = random.choice(("0", "0.1", "0.5", "2", "5") if usual else ("inf", "1e12"))
        read = (
            f"read series={writer.series} timeout={timeout} patience=12 pause_us={random.choice((0, 0, 1000, 10000))}"
        )
        read += f" at_least=2 up_to={random.choice((2, 4))}" if two else f" up_to={random.choice((1, 4, 16))}"
        if random.random() < 0.4:
            read += f" reads={random.choice((5, 20, 100))}"
        lines.append(read)
        if random.random() < 0.35:
            lines.append(idle(random))
    if random.random() < 0.25:
        lines += [f"close series={writer.series}", *([idle(random)] if random.random() < 0.5 else [])]
        lines += [" ".join(words), f"read series={writer.series} timeout=1 patience=8"]
    return lines


def make_readers(random: Random, writer: Writer, count: int, first: int) -> list[Program]:
    programs = []
    for index in range(count):
        name = f"reader{first + index}"
        holds = random.random() < 0.6
        if holds and random.random() < 0.6:
            writer.required.append(name)
            if random.random() < 0.15:
                writer.required.append(name)
        lines = ["join timeout=20"]
        if random.random() < 0.2:
            lines.append(idle(random))
        lines += read_lines(random, writer, holds)
        lines.append("leave" + (f" pause={random.choice((0.1, 1))}" if random.random() < 0.3 else ""))
        if random.random() < 0.3:  # the program is started again
            lines += ["join timeout=20", *read_lines(random, writer, random.random() < 0.7), "leave"]
        ranks = random.choice((1, 1, 1, 2, 2, 4))
        late = random.random() < 0.15
        start_s = round(random.uniform(0.5, 4.0), 1) if late else 0.0
        programs.append(Program(name, ranks, random.choice("ab"), tuple(lines), links(random), start_s, not late))
    return programs


def links(random: Random) -> dict[str, str]:
    """Returns, now and then, settings of its own for a program."""
    return {"COUPLET_LINKS": "self,tcp"} if random.random() < 0.2 else {}


def make_talkers(random: Random, first: int) -> list[Program]:
    """Programs that exchange messages in rounds, so that none waits for a message that comes only after its own."""
    names = [f"talker{first + index}" for index in range(random.choice((2, 2, 3)))]
    scripts: dict[str, list[str]] = {name: ["join timeout=20"] for name in names}
    area = random.random() < 0.25
    if area:
        scripts[names[0]].append("create_area area=board elements=64")
    for _ in range(random.choice((2, 4, 6))):
        sender, receiver = random.sample(names, 2)
        size, tag, count = random.choice(SIZES), random.choice((1, 2)), random.choice((1, 3, 20))
        count = 1 if size > 65536 else count
        for name in names:
            if random.random() < 0.45:
                scripts[name].append(idle(random))
        last = " last=1" if random.random() < 0.1 else ""
        scripts[sender].append(f"send peer={receiver} tag={tag} count={count} bytes={size} pause_us=500{last}")
        scripts[receiver].append(f"receive peer={sender} tag={tag} count={count} bytes={size}")
        if area and random.random() < 0.5:
            scripts[names[1]].append(f"open_area area=board peer={names[0]} timeout=5")
            scripts[names[1]].append(f"{random.choice(('read_area', 'write_area'))} area=board count=20 pause_us=1000")
    for name in names:
        if random.random() < 0.15:
            scripts[name].append(idle(random))
        scripts[name].append("leave")
    return [Program(name, 1, random.choice("aab"), tuple(scripts[name]), links(random)) for name in names]


def make_tasks(random: Random) -> list[Program]:
    roles = {"requester": "a", "coupler": random.choice("ab"), "worker": random.choice("ab")}
    scripts: dict[str, list[str]] = {}
    for role in roles:
        extra = " requesters=requester" if role == "coupler" else ""
        scripts[role] = ["join timeout=20", f"open_tasks tasks=jobs role={role} couplers=coupler{extra}"]
    for _ in range(random.choice((2, 4))):
        words = random.choice((16, 5000, 200000))
        scripts["requester"] += [f"submit tasks=jobs count={random.choice((3, 10))} words={words}", idle(random)]
        if random.random() < 0.2:
            scripts[random.choice(("coupler", "worker"))].append(idle(random))
    scripts["coupler"].append("work tasks=jobs role=coupler seconds=15")
    scripts["worker"].append(f"work tasks=jobs role=worker seconds=15 pause_us={random.choice((0, 20000, 200000))}")
    for lines in scripts.values():
        lines += ["close_tasks tasks=jobs", "leave"]
    return [Program(role, 1, node, tuple(scripts[role])) for role, node in roles.items()]


def make_task_programs(random: Random) -> list[Program]:
    """Requesters that wait long or give up soon, couplers that make no call for a while, and groups of workers."""
    requesters = [f"requester{number}" for number in range(random.choice((1, 1, 2)))]
    workers = [f"worker{number}" for number in range(random.choice((1, 2)))]
    opened = "open_tasks tasks=jobs couplers=coupler role="
    programs = []
    for name in requesters:
        lines = ["join timeout=20", opened + "requester"]
        for _ in range(random.choice((2, 4, 6))):
            words, count = random.choice((16, 16, 5000, 200000)), random.choice((1, 3, 10, 40))
            timeout, slices = random.choice((0, 0.02, 0.1, 0.5, 5)), random.choice((0, 1, 6))
            count = min(count, 10) if timeout == 5 or slices == 6 else count
            lines.append(f"submit tasks=jobs count={count} words={words} timeout={timeout} slices={slices}")
            if random.random() < 0.4:
                lines.append(idle(random))
        programs.append(Program(name, random.choice((1, 1, 2)), random.choice("ab"), (*lines,), links(random)))
    queue = f" queue={random.choice((1, 4))}" if random.random() < 0.3 else ""
    retry = f" retry={random.choice((0, 1))}"
    lines = ["join timeout=20", f"{opened}coupler requesters={','.join(requesters)}{queue}{retry}"]
    for _ in range(random.choice((1, 2, 4))):
        if random.random() < 0.6:
            lines.append(idle(random))
        lines.append(f"work tasks=jobs role=coupler seconds={random.choice((2, 5, 10))}")
    programs.append(Program("coupler", random.choice((1, 1, 2)), random.choice("ab"), (*lines,), links(random)))
    for name in workers:
        ranks = random.choice((1, 1, 2, 3))
        lines = ["join timeout=20", f"{opened}worker worker=0 group={random.choice((0, 0, 1))}"]
        for _ in range(random.choice((1, 2))):
            pause_us, seconds = random.choice((0, 1000, 20000, 200000)), random.choice((5, 15))
            lines.append(f"work tasks=jobs role=worker seconds={seconds} pause_us={pause_us} again=1")
            if random.random() < 0.3:
                lines.append(idle(random))
        programs.append(Program(name, ranks, random.choice("ab"), (*lines,), links(random)))
    return [replace(each, script=(*each.script, "close_tasks tasks=jobs", "leave")) for each in programs]


def generate_tasks(random: Random, seed: int) -> Plan:
    programs = make_task_programs(random)
    targets = [f"{program.name}/{rank}" for program in programs for rank in range(program.ranks)]
    faults = [make_fault(random, targets, False) for _ in range(random.choice((0, 1, 1, 2, 3, 4)))]
    faults.sort(key=lambda fault: fault.at_s)
    return Plan(seed, tuple(programs), tuple(faults), small_buffers=random.random() < 0.2)


def make_circle_programs(random: Random) -> list[Program]:
    """Programs that make collective calls together, in one or two groups. Some leave in between, and come back."""
    names = ["ring0", "ring1", "ring2"][: random.choice((2, 2, 3))]
    ranks = {name: random.choice((1, 1, 2)) for name in names}
    everybody = [f"{name}/{rank}" for name in names for rank in range(ranks[name])]
    random.shuffle(everybody)
    groups = [f"all:{','.join(everybody)}"]
    if random.random() < 0.4:
        groups.append(f"some:{','.join(random.sample(everybody, max(2, len(everybody) - 1)))}")
    words = random.choice((1, 8, 8, 1000, 100_000))
    programs = []
    for name in names:
        lines = ["join timeout=20"]
        for _ in range(random.choice((1, 2, 2, 3))):
            together = " together=1" if random.random() < 0.5 else ""
            keep = " keep=1" if random.random() < 0.5 else ""
            how = f"timeout={random.choice((2, 5, 20))} pause_us={random.choice((1000, 10000, 100000))}"
            seconds = random.choice((2, 4, 6))
            lines.append(f"meet groups={';'.join(groups)} words={words} seconds={seconds} {how}{together}{keep}")
            if random.random() < 0.3:
                lines.append(idle(random))
            elif random.random() < 0.5:
                lines += [f"leave pause={random.choice((0.01, 0.3, 2))}", "join timeout=20"]
        programs.append(Program(name, ranks[name], random.choice("ab"), (*lines, "leave"), links(random)))
    return programs


def generate_circles(random: Random, seed: int) -> Plan:
    programs = make_circle_programs(random)
    targets = [f"{program.name}/{rank}" for program in programs for rank in range(program.ranks)]
    faults = [make_fault(random, targets, False) for _ in range(random.choice((0, 1, 1, 2, 3)))]
    faults.sort(key=lambda fault: fault.at_s)
    return Plan(seed, tuple(programs), tuple(faults), small_buffers=random.random() < 0.2)


def make_churn(random: Random) -> Program:
    rounds = random.choice((10, 40, 120))
    return Program("churn", 1, random.choice("ab"), tuple(["join timeout=20", "leave"] * rounds), {}, 1.0, False)


def make_fault(random: Random, targets: list[str], limited: bool) -> Fault:
    kinds = [
        "kill",
        "kill",
        "kill",
        "stop",
        "stop",
        "cut",
        "cut",
        "cut",
        "reset",
        "reset",
        "slow",
        "flood",
        "idle_sockets",
    ]
    kinds += ["files", "memory", "kill_hub", "kill_hub", "relay", "relay"] + (
        ["fill", "fill", "fill"] if limited else []
    )
    kind = random.choice(kinds)
    at_s = round(random.uniform(0.2, 8.0), 2)
    for_s = random.choice((0.2, 0.5, 1.0, 3.0, 4.5, 6.0))
    actor = random.choice(targets)
    if kind == "kill":
        return Fault("kill", actor, at_s, random.choice((0.05, 0.3, 2.0)), again=random.random() < 0.6)
    if kind == "kill_hub":
        return Fault("kill", "hub", at_s, random.choice((0.2, 2.0)), again=random.random() < 0.5)
    if kind == "relay":
        return Fault(random.choice(("kill", "stop", "stop", "slow")), f"relay:{random.choice('aab')}", at_s, for_s)
    if kind == "cut":
        return Fault("cut", random.choice(("a-b", "a-b", "hub-a", "hub-b")), at_s, for_s)
    if kind == "reset":
        return Fault("reset", random.choice(("a", "b", "hub")), at_s)
    if kind in ("flood", "idle_sockets"):
        target = random.choice(("hub", actor))
        amount = random.choice((20, 100, 300)) if kind == "flood" else random.choice((100, 300))
        return Fault(kind, target, random.choice((0.0, at_s)), 6.0, amount)
    if kind == "fill":
        return Fault("fill", random.choice("ab"), at_s, for_s, random.choice((0, 64, 512)))
    amount = random.choice((0, 1, 3)) if kind == "files" else random.choice((1, 8, 32)) if kind == "memory" else 0
    return Fault(kind, random.choice((actor, actor, "hub")) if kind == "stop" else actor, at_s, for_s, amount)


def crowd(random: Random, plan: Plan) -> Plan:
    """Members come and go, while others compute for a long time and sockets hold little."""
    node, rounds = random.choice("ab"), random.choice((100, 300))
    script = tuple(["join timeout=20", "leave"] * rounds)
    churns = tuple(Program(f"crowd{n}", 1, node, script, {}, 1.0, False) for n in range(random.choice((1, 2))))
    programs = []
    for program in plan.programs:
        lines = list(program.script)
        if random.random() < 0.5:
            lines.insert(random.randrange(1, len(lines)), f"idle s={random.choice((10, 14))}")
        programs.append(replace(program, script=tuple(lines)))
    return replace(plan, programs=(*programs, *churns), small_buffers=random.random() < 0.7)


def orphans(random: Random, plan: Plan) -> Plan:
    """The hub dies for good, and another process after it."""
    at_s = round(random.uniform(0.5, 5.0), 2)
    names = [f"{program.name}/0" for program in plan.programs if program.required]
    later = Fault("kill", random.choice(names), round(at_s + random.uniform(0.1, 3.0), 2))
    return replace(plan, faults=(Fault("kill", "hub", at_s), later, *plan.faults[:1]))


def siege(random: Random, plan: Plan) -> Plan:
    """No process has joined yet when the flood begins."""
    rate = random.choice((20, 100, 300))
    flood = Fault("flood", "hub", 0.0, 15.0, rate)
    programs = tuple(replace(program, start_s=program.start_s + 2.0) for program in plan.programs)
    return replace(plan, programs=programs, faults=(flood, *plan.faults[:1]))


def heavy_relay(random: Random, plan: Plan) -> Plan:
    """The writer is started again while its relay is slow, stopped or away."""
    writers = [program.name for program in plan.programs if program.name.startswith("ocean")]
    if not writers:
        return plan
    at_s = round(random.uniform(1.0, 4.0), 2)
    kill = Fault("kill", f"{random.choice(writers)}/0", at_s, random.choice((0.05, 0.3, 1.0)), again=True)
    hurt = Fault(random.choice(("stop", "slow", "kill")), "relay:a", round(at_s + random.uniform(-0.3, 0.6), 2), 3.0)
    programs = tuple(replace(p, node="b") if p.name.startswith("reader") else p for p in plan.programs)
    kept = {name: value for name, value in plan.settings.items() if name != "COUPLET_RELAY"}
    return replace(plan, programs=programs, faults=(kill, hurt, *plan.faults[:1]), settings=kept)


def rush(random: Random, plan: Plan) -> Plan:
    """Large steps come in quick succession, and readers are slower than their writer."""
    programs = []
    for program in plan.programs:
        lines = [sub(r"elements=\d+ grain=\d+", "elements=2097152 grain=512", line) for line in program.script]
        lines = [sub(r"grain=1 mode=hold", "grain=512 mode=follow", line) for line in lines]
        lines = [sub(r"grain=1 mode=follow", "grain=512 mode=follow", line) for line in lines]
        lines = [sub(r" (start|stop)=\d+", "", line) for line in lines]
        lines = [sub(r"slots=\d+", "slots=8", line) for line in lines]
        pause_us = random.choice((0, 2000, 5000, 5000, 10000))
        lines = [sub(r"pause_us=\d+( claim=1)?$", f"pause_us={pause_us} claim=1", line) for line in lines]
        programs.append(replace(program, script=tuple(sub(r" required=\S+", "", line) for line in lines)))
    return replace(plan, programs=tuple(programs), memory_mib=0)


def make_job(random: Random, writer: Writer) -> list[Program]:
    """The programs of an MPI job: one writes a series in the window of the job, and the others read it."""
    mpi, node = random.choice(("openmpi", "mpich")), random.choice("aab")
    fetched = random.random() < 0.35  # by MPI, as if the ranks were on nodes of their own
    readers = []
    for name in ("eye0", "eye1")[: random.choice((1, 1, 2))]:
        holds = random.random() < 0.6
        if holds and random.random() < 0.6:
            writer.required.append(name)
        lines = ["join timeout=20", *read_lines(random, writer, holds), "leave"]
        readers.append(Program(name, random.choice((1, 1, 2)), node, tuple(lines), mpi=mpi))
    lines = [f"{line} window=1" if line.startswith("create") else line for line in write_lines(random, writer)]
    if random.random() < 0.5:  # others read what is not in the window
        lines.insert(1, "create series=salt elements=1000 grain=1 slots=4")
        lines.insert(3, "put series=salt steps=1000 seconds=2 pause_us=2000")
    programs = [Program(writer.name, writer.ranks, node, ("join timeout=20", *lines, "leave"), mpi=mpi), *readers]
    share = (writer.elements + writer.ranks - 1) // writer.ranks * 8
    room = writer.slots * (share + 8192) + (1 << 20)
    asked = {f"COUPLET_SERIES_{writer.series.upper()}_WINDOW": "1", "COUPLET_MPI_WINDOW_DIRECT": str(int(not fetched))}
    return [
        replace(each, environment={**asked, "COUPLET_MPI_WINDOW_BYTES": str(room if each.name == writer.name else 0)})
        for each in programs
    ]


def make_fault_of_job(random: Random, job: list[Program], limited: bool) -> Fault:
    at_s = round(random.uniform(0.5, 9.0), 2)
    for_s = random.choice((0.2, 1.0, 3.0, 4.5))
    program = random.choice(job)
    rank = f"{program.name}/{random.randrange(program.ranks)}"
    kind = random.choice(("job", "job", "rank", "rank", "stop", "stop", "stop", "slow", "slow", "hub", "hub", "net"))
    if limited and random.random() < 0.3:
        return Fault("fill", job[0].node, at_s, for_s, random.choice((0, 64, 512)))
    if kind in ("job", "rank"):
        target = f"job:{program.mpi}" if kind == "job" else rank
        return Fault("kill", target, at_s, random.choice((0.05, 0.3, 2.0)), again=random.random() < 0.7)
    if kind == "hub":
        again = random.choice((Fault("kill", "hub", at_s, 0.5, again=True), Fault("stop", "hub", at_s, for_s)))
        return again if random.random() < 0.8 else Fault("kill", "hub", at_s)
    if kind == "net":
        node = job[0].node
        return random.choice((Fault("cut", f"hub-{node}", at_s, for_s), Fault("reset", node, at_s)))
    return Fault(kind, rank, at_s, for_s)


def generate_job(random: Random, seed: int) -> Plan:
    """A job with a window, and now and then programs that are not of the job."""
    writer = Writer(random, 0)
    job = make_job(random, writer)
    programs = list(job)
    if any("series=salt" in line for line in job[0].script):
        mode = random.choice(("hold", "follow"))
        lines = ["join timeout=20", f"open series=salt grain=1 mode={mode} timeout=15"]
        lines += ["read series=salt timeout=1 patience=8 up_to=4"]
        if random.random() < 0.5:  # it is told that it cannot
            lines.append(f"open series={writer.series} grain={writer.grain} mode=follow timeout=5")
        programs.append(Program("gauge", 1, random.choice("ab"), (*lines, "leave"), links(random)))
    if random.random() < 0.25:
        programs += make_talkers(random, 0)
    memory_mib = random.choice((24, 64)) if random.random() < 0.25 else 0
    faults = [make_fault_of_job(random, job, memory_mib > 0) for _ in range(random.choice((0, 1, 1, 2, 2, 3)))]
    faults.sort(key=lambda fault: fault.at_s)
    if any(fault.again for fault in faults):  # the universe does not end with the job
        programs.append(Program("keeper", 1, "b", ("join timeout=20", "idle s=15", "leave")))
    return Plan(seed, tuple(programs), tuple(faults), {}, False, memory_mib)


def over_files(random: Random, plan: Plan) -> Plan:
    """All programs use files of a directory that they share: for everything, between nodes, or for long messages."""
    ways = ("self,file", "self,shm,file", "self,shm,file", "self,shm,tcp,file", "self,tcp,file")
    chosen = random.choice(ways)
    hybrid = {"COUPLET_HYBRID": "tcp+file"} if "tcp" in chosen else {}
    programs = tuple(
        replace(each, environment={name: value for name, value in each.environment.items() if name != "COUPLET_LINKS"})
        for each in plan.programs
    )
    return replace(plan, programs=programs, settings={**plan.settings, "COUPLET_LINKS": chosen, **hybrid})


THEMES = (crowd, orphans, siege, heavy_relay, rush)
# Seeds below this one keep the plans that docs/chaos.md names.
FIRST_SEED_WITH_THEMES = 10_000
FIRST_SEED_WITH_JOBS = 1_000_000
FIRST_SEED_WITH_FILES = 2_000_000
FIRST_SEED_WITH_TASKS = 20_000_000
FIRST_SEED_WITH_CIRCLES = 40_000_000


def seed_of_the_day() -> int:
    """Returns 40261130 on 30 November 2026: a seed whose plan may have everything."""
    return int(time.strftime("%Y%m%d")) + 20_000_000


def generate(seed: int) -> Plan:
    of_job = Random(f"job {seed}")
    if seed >= FIRST_SEED_WITH_JOBS and of_job.random() < 0.2:
        return generate_job(of_job, seed)
    random = Random(seed)
    plan = generate_plain(random, seed)
    of_tasks = Random(f"tasks {seed}")
    if seed >= FIRST_SEED_WITH_TASKS and of_tasks.random() < 0.2:
        plan = generate_tasks(of_tasks, seed)
    of_circles = Random(f"circles {seed}")
    if seed >= FIRST_SEED_WITH_CIRCLES and of_circles.random() < 0.2:
        plan = generate_circles(of_circles, seed)
    of_files = Random(f"files {seed}")
    if seed >= FIRST_SEED_WITH_FILES and of_files.random() < 0.3:
        plan = over_files(of_files, plan)
    if seed >= FIRST_SEED_WITH_THEMES and random.random() < 0.6:
        plan = random.choice(THEMES)(random, plan)
    if seed >= FIRST_SEED_WITH_THEMES and random.random() < 0.3:
        plan = replace(plan, clock_ahead_s=random.choice((60, 86_400, 10_000_000)))
    return plan


def generate_plain(random: Random, seed: int) -> Plan:
    programs: list[Program] = []
    shape = random.choice(("series", "series", "series", "messages", "messages", "both", "both", "tasks"))
    if shape in ("series", "both"):
        for number in range(1 if shape == "both" else random.choice((1, 1, 2))):
            writer = Writer(random, number)
            readers = make_readers(random, writer, random.choice((1, 2, 3)), 3 * number)
            lines = ["join timeout=20", *write_lines(random, writer), "leave"]
            programs.append(Program(writer.name, writer.ranks, "a", tuple(lines), links(random)))
            programs += readers
    if shape in ("messages", "both"):
        programs += make_talkers(random, 0)
    if shape == "tasks":
        programs += make_tasks(random)
    targets = [f"{program.name}/{rank}" for program in programs for rank in range(program.ranks)]
    if random.random() < 0.2:
        programs.append(make_churn(random))
    memory_mib = random.choice((24, 64)) if random.random() < 0.15 else 0
    if any("elements=2097152" in line for program in programs for line in program.script):
        memory_mib = 0
    faults = [make_fault(random, targets, memory_mib > 0) for _ in range(random.choice((0, 1, 2, 3, 3, 4, 5)))]
    faults.sort(key=lambda fault: fault.at_s)
    settings = {"COUPLET_RELAY": "in_calls"} if random.random() < 0.15 else {}
    small_buffers, neighbours = random.random() < 0.2, random.random() < 0.1
    return Plan(seed, tuple(programs), tuple(faults), settings, small_buffers, memory_mib, neighbours=neighbours)
