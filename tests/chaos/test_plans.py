"""Plans of the chaos tool: made from a seed, written and read, and shrunk."""

from __future__ import annotations

from chaos.generate import (
    FIRST_SEED_WITH_CIRCLES,
    FIRST_SEED_WITH_FILES,
    FIRST_SEED_WITH_JOBS,
    FIRST_SEED_WITH_TASKS,
    generate,
)
from chaos.histories import Life
from chaos.perform import ended_without_leaving
from chaos.plan import Fault, Plan, Program, pieces_of, without
from chaos.shrink import shrink

ENOUGH_S = 60.0


def test_a_seed_is_one_plan() -> None:
    for seed in range(200):
        plan = generate(seed)
        assert plan == generate(seed)
        assert Plan.from_json(plan.to_json()) == plan
        assert plan.describe()


def test_seeds_make_all_kinds_of_faults_and_verbs() -> None:
    plans = [generate(seed) for seed in range(400)]
    kinds = {fault.kind for plan in plans for fault in plan.faults}
    wanted = {"kill", "stop", "slow", "cut", "reset", "flood", "idle_sockets", "files", "memory", "fill"}
    assert kinds == wanted
    assert {fault.target for plan in plans for fault in plan.faults} >= {"hub", "relay:a", "relay:b", "a-b", "hub-a"}
    verbs = {line.split()[0] for plan in plans for program in plan.programs for line in program.script}
    assert verbs >= {
        "create",
        "put",
        "open",
        "read",
        "send",
        "receive",
        "submit",
        "work",
        "create_area",
        "idle",
        "leave",
    }


def test_some_seeds_use_files_between_all_programs() -> None:
    before = [generate(seed) for seed in range(FIRST_SEED_WITH_FILES - 300, FIRST_SEED_WITH_FILES)]
    assert not any(plan.uses_files() for plan in before)
    every = [generate(seed) for seed in range(FIRST_SEED_WITH_FILES, FIRST_SEED_WITH_FILES + 600)]
    plans = [plan for plan in every if plan.uses_files()]
    assert len(every) / 7 < len(plans) < len(every) / 3
    assert any("COUPLET_HYBRID" in plan.settings for plan in plans)
    assert any(plan.settings["COUPLET_LINKS"] == "self,file" for plan in plans)
    for plan in plans:
        assert not any("COUPLET_LINKS" in program.environment for program in plan.programs)


def test_some_seeds_are_about_tasks() -> None:
    """Several requesters, of which some give up soon; couplers that make no call for a while; groups of workers."""
    plans = [generate(seed) for seed in range(FIRST_SEED_WITH_TASKS, FIRST_SEED_WITH_TASKS + 600)]
    of_tasks = [plan for plan in plans if any(" again=1" in line for each in plan.programs for line in each.script)]
    assert len(plans) / 9 < len(of_tasks) < len(plans) / 4
    ranks: dict[str, set[int]] = {}
    for plan in of_tasks:
        for program in plan.programs:
            ranks.setdefault(program.name, set()).add(program.ranks)
    assert ranks["coupler"] == {1, 2} and ranks["worker1"] == {1, 2, 3} and ranks["requester1"] == {1, 2}


def test_some_seeds_are_about_groups() -> None:
    """Two or three programs with one or two groups; some leave and come back, and some end by themselves."""
    plans = [generate(seed) for seed in range(FIRST_SEED_WITH_CIRCLES, FIRST_SEED_WITH_CIRCLES + 600)]
    of_groups = [
        plan for plan in plans if any(line.startswith("meet") for each in plan.programs for line in each.script)
    ]
    assert len(plans) / 9 < len(of_groups) < len(plans) / 3
    scripts = ["\n".join(each.script) for plan in of_groups for each in plan.programs if each.name.startswith("ring")]
    for words in (";some:", "together=1", "keep=1", "words=100000 ", "timeout=20 ", "join timeout=20\nmeet"):
        assert any(words in script for script in scripts) and not all(words in script for script in scripts[:100])
    assert any(script.count("join") > 1 for script in scripts)


def test_some_seeds_make_an_mpi_job_with_a_window() -> None:
    assert not any(generate(seed).mpis() for seed in range(FIRST_SEED_WITH_JOBS - 300, FIRST_SEED_WITH_JOBS))
    every = [generate(seed) for seed in range(FIRST_SEED_WITH_JOBS, FIRST_SEED_WITH_JOBS + 600)]
    plans = [plan for plan in every if plan.mpis()]
    assert len(every) / 8 < len(plans) < len(every) / 3
    assert {mpi for plan in plans for mpi in plan.mpis()} == {"openmpi", "mpich"}
    jobs = [[program for program in plan.programs if program.mpi] for plan in plans]
    for job in jobs:
        assert sum(line.startswith("create") and "window=1" in line for line in job[0].script) == 1
        assert all(program.environment["COUPLET_SERIES_ETA0_WINDOW"] == "1" for program in job)
        assert len({(program.node, program.mpi) for program in job}) == 1
        assert all(
            [line for line in program.script if line.split()[0] in ("join", "leave")][1:] == ["leave"]
            for program in job
        )
    for plan in plans:  # or else the universe ends with the job, and there is no hub for the next launch
        assert any(fault.again for fault in plan.faults) <= any(not program.mpi for program in plan.programs)
    assert {program.environment["COUPLET_MPI_WINDOW_DIRECT"] for job in jobs for program in job} == {"0", "1"}
    modes = {
        word for job in jobs for p in job for line in p.script for word in line.split() if word.startswith("mode=")
    }
    assert modes == {"mode=hold", "mode=follow"}
    faults = {
        (fault.kind, fault.target.split(":")[0].split("/")[0], fault.again) for plan in plans for fault in plan.faults
    }
    assert faults >= {("kill", "job", True), ("kill", "ocean0", True), ("kill", "eye0", False), ("stop", "eye0", False)}
    assert faults >= {("slow", "ocean0", False), ("kill", "hub", True), ("fill", "a", False), ("reset", "a", False)}


def make_plan() -> Plan:
    programs = [
        Program(f"p{index}", 1, "a", ("join", *(f"idle s={n}" for n in range(8)), "leave")) for index in range(4)
    ]
    faults = [Fault("stop", f"p{index % 4}/0", float(index)) for index in range(8)]
    return Plan(7, tuple(programs), tuple(faults))


def test_a_plan_shrinks_to_what_a_finding_needs() -> None:
    def fails(plan: Plan) -> bool:
        lines = {line for program in plan.programs if program.name == "p2" for line in program.script}
        return {"idle s=3", "idle s=6"} <= lines and any(fault.at_s == 6.0 for fault in plan.faults)

    smaller = shrink(make_plan(), fails, ENOUGH_S)
    assert [program.name for program in smaller.programs] == ["p2"]
    assert smaller.programs[0].script == ("join", "idle s=3", "idle s=6", "leave")
    assert [fault.at_s for fault in smaller.faults] == [6.0]


def test_shrinking_ends_with_its_time() -> None:
    plan = make_plan()
    assert shrink(plan, lambda _: True, 0.0) == plan


def test_a_fault_goes_with_its_program() -> None:
    plan = make_plan()
    smaller = without(plan, {piece for piece in pieces_of(plan) if piece.kind == "program" and piece.first == 1})
    assert len(smaller.programs) == 3
    assert all(fault.target != "p1/0" for fault in smaller.faults)


def test_a_process_that_gives_up_may_leave_files() -> None:
    """Chaos seed 910084: an actor had no memory for its own buffers, and ended as a member."""
    life = Life("ocean", 0, 0, 0, "a")
    assert not ended_without_leaving(life)
    life.stopped_itself = "no memory for the actor's own buffers"
    assert ended_without_leaving(life)
