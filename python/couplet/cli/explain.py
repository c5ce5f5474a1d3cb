"""``couplet explain``: what this node and this environment offer, and why something is missing."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from couplet.cli.installation import executable
from couplet.cli.launch import launcher_executable
from couplet.cli.observe import nodes, run_directory
from couplet.cli.outputs import printable

_COSTS_TIMEOUT_S = 30.0


def _ptrace_scope() -> str:
    """Says whether one process of the user may read another's memory."""
    try:
        scope = int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except (OSError, ValueError):
        return "allowed between processes of one user"
    if scope == 0 or os.geteuid() == 0:
        return "allowed between processes of one user"
    return f"refused by kernel.yama.ptrace_scope = {scope}: large messages are copied twice"


def _shared_memory(base: Path) -> str:
    place = base if base.exists() else base.parent
    status = os.statvfs(place)
    free_gib = status.f_bavail * status.f_frsize / 2**30
    return f"{base} ({free_gib:.1f} GiB free)"


def _other_nodes() -> str:
    """Says how a series of another node is read."""
    relay = os.environ.get("COUPLET_RELAY", "auto")
    ways = {
        "auto": "through a relay that the first writer rank of that node starts",
        "external": "through a relay that somebody has to start on that node (couplet-relay)",
        "in_calls": "pushed by the writer inside its own calls",
        "none": "not at all",
    }
    return f"{ways.get(relay, 'no such way: auto, external, in_calls or none')} (COUPLET_RELAY = {relay})"


@dataclass
class _Costs:
    """What the cost file of the machine makes a program choose that joins here."""

    rows: list[tuple[str, str]]
    is_good: bool = True  # if not, a program that joins here fails


def _choice(one: dict[str, Any]) -> str:
    """The value of a choice, what has forced it, and what it costs."""
    value = ", ".join(one["value"]) if isinstance(one["value"], list) else str(one["value"])
    value += f" {one['unit']}" if "unit" in one else ""
    value += f" ({one['forced_by']})" if "forced_by" in one else ""
    for key in ("predicted_us", "measured_us"):
        value += f", {key.removesuffix('_us')} {one[key]:.4g} us" if key in one else ""
    return value


def _costs() -> _Costs:
    try:
        done = subprocess.run(
            [str(executable("couplet-costs"))], capture_output=True, text=True, check=False, timeout=_COSTS_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return _Costs([("costs", f"not known: {error}")])
    if done.returncode != 0:
        return _Costs([("costs", done.stderr.strip().removeprefix("couplet-costs: "))], is_good=False)
    report = json.loads(done.stdout)
    rows = [("costs", f"{report['from']} ({report['why']})")]
    if "warning" in report:
        rows.append(("", f"warning: {report['warning']}"))
    rows += [(f"  {one['choice']}", _choice(one)) for one in report.get("choices", [])]
    return _Costs(rows)


def _cores(processes: int) -> str:
    cores = len(os.sched_getaffinity(0))
    if not processes:
        return f"{cores} usable"
    running = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
    spins = processes <= cores or running <= (os.cpu_count() or 1)
    waiting = "waits spin briefly" if spins else "more run than there are cores: waits do not spin"
    return f"{cores} usable, {processes} processes of universes now, {running} run on this host: {waiting}"


def explain(console: Console, run_dir: Path | None) -> int:
    """Prints what a program that joins here would find. For a running program, couplet_universe_explain reports the
    links in use.

    Returns the exit status: 1 if the cost file that is named, or a setting, keeps programs from joining.
    """
    base = run_directory(run_dir)
    table = Table(box=None, show_header=False, padding=(0, 2))
    for _ in range(2):
        table.add_column(overflow="fold")  # no path is cut
    table.add_row("cores", _cores(sum(len(node.pages()) for node in nodes(run_dir))))
    table.add_row("shared memory", _shared_memory(base))
    table.add_row("process_vm_readv", _ptrace_scope())
    table.add_row("series of other nodes", _other_nodes())
    costs = _costs()
    for name, value in costs.rows:
        table.add_row(name, printable(value))
    for launcher in ("openmpi", "mpich", "slurm"):
        table.add_row(f"launcher {launcher}", launcher_executable(launcher) or "not installed here")
    for name in sorted(name for name in os.environ if name.startswith("COUPLET_")):
        table.add_row(name, printable(os.environ[name]))
    console.print(table, markup=False, highlight=False, soft_wrap=True)
    return 0 if costs.is_good else 1
