"""Writes a placement as what launchers and MPI-IO read: Open MPI, MPICH, Slurm, ROMIO."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from couplet.cost.documents import write_text
from couplet.cost.errors import CostError

FILE_NAMES = ("openmpi.hostfile", "openmpi.rankfile", "mpich.hosts", "slurm.hosts", "romio.hints")


def openmpi_hostfile(hosts: Sequence[str], node_set: Sequence[int]) -> str:
    """Returns the text for ``mpiexec --hostfile``."""
    return "".join(f"{host} slots={count}\n" for host, count in zip(hosts, node_set, strict=True))


def openmpi_rankfile(hosts: Sequence[str], node_set: Sequence[int]) -> str:
    """Returns the text for ``mpiexec --rankfile``: process after process on core after core, in node order."""
    places = [(host, slot) for host, count in zip(hosts, node_set, strict=True) for slot in range(count)]
    return "".join(f"rank {rank}={host} slot={slot}\n" for rank, (host, slot) in enumerate(places))


def mpich_hosts(hosts: Sequence[str], node_set: Sequence[int]) -> str:
    """Returns the text for ``mpiexec -f``."""
    return "".join(f"{host}:{count}\n" for host, count in zip(hosts, node_set, strict=True))


def slurm_hosts(hosts: Sequence[str], node_set: Sequence[int]) -> str:
    """Returns the text for SLURM_HOSTFILE and ``srun --distribution=arbitrary``: one line per process."""
    return "".join(f"{host}\n" * count for host, count in zip(hosts, node_set, strict=True))


def romio_hints(hosts: Sequence[str], aggregators: Sequence[int], buffer_bytes: int | None = None) -> str:
    """Returns the text for ROMIO_HINTS: one aggregator on each chosen node, in node order."""
    names = ",".join(f"{hosts[node]}:1" for node in aggregators)
    lines = ["romio_cb_write enable", "romio_cb_read enable", f"cb_nodes {len(aggregators)}", f"cb_config_list {names}"]
    if buffer_bytes is not None:
        lines.append(f"cb_buffer_size {buffer_bytes}")
    return "".join(f"{line}\n" for line in lines)


def write_all(
    directory: Path, hosts: Sequence[str], node_set: Sequence[int], aggregators: Sequence[int] | None,
    buffer_bytes: int | None = None,
) -> list[Path]:  # fmt: skip
    """Writes all files of a placement into ``directory``, which is made if it is not there; returns their paths."""
    texts = {
        "openmpi.hostfile": openmpi_hostfile(hosts, node_set),
        "openmpi.rankfile": openmpi_rankfile(hosts, node_set),
        "mpich.hosts": mpich_hosts(hosts, node_set),
        "slurm.hosts": slurm_hosts(hosts, node_set),
    }
    if aggregators is not None:
        texts["romio.hints"] = romio_hints(hosts, aggregators, buffer_bytes)
    assert set(texts) <= set(FILE_NAMES)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CostError(f"{directory}: cannot be made: {error.strerror}") from error
    for name, text in texts.items():
        write_text(directory / name, text)
    return [directory / name for name in texts]
