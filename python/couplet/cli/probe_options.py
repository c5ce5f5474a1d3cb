"""The options of ``couplet probe``, and what its help says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Ranks = Annotated[int, typer.Option("--ranks", "-n", help="How many ranks to start.", min=1)]
Launcher = Annotated[str, typer.Option(help="The launcher of the ranks: openmpi, mpich or slurm.")]
Mpi = Annotated[
    str | None, typer.Option(help="With --launcher slurm: MPI of the probe, openmpi (the default) or mpich.")
]
LauncherOption = Annotated[list[str] | None, typer.Option(help="A word for the launcher; may be repeated.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="File of the measurement; an older one is replaced.")]
Report = Annotated[Path | None, typer.Option(help="Write a report, one self-contained .html file.")]
Lines = Annotated[Path | None, typer.Option(help="Start nothing: read a file with what couplet-probe has printed.")]
Nodes = Annotated[str | None, typer.Option(help="Rehearse nodes: ranks of each, as in 4,4.")]
NodeFile = Annotated[
    Path | None, typer.Option(help="Rehearse nodes: a file with the node of each rank, as in 0 0 1 1.")
]
Sizes = Annotated[str, typer.Option("--bytes", help="Message sizes, as in 4M or 64K,4M; K, M, G are 1024 and so on.")]
Curves = Annotated[bool, typer.Option(help="Also measure latency, bandwidth, overhead and gap.")]
Repetitions = Annotated[int, typer.Option(help="How often each cell is measured.", min=1)]
WarmUp = Annotated[int, typer.Option(help="Exchanges of each cell before the first measured one.", min=0)]
HalfStar = Annotated[
    int | None,
    typer.Option(
        help="Pairs go from 0 to N - 1. Default: half the cores, or the ranks of rehearsed node 0; at least 3.", min=1
    ),
]
SubGroups = Annotated[
    int, typer.Option(help="Hot-spot ranks of a node, whose exchanges go on at the same time.", min=1)
]
Partners = Annotated[str, typer.Option(help="Remote partners: spread over the nodes, or packed.")]
OffDiagonal = Annotated[
    bool, typer.Option("--off-diagonal", help="Also measure cells with unequal numbers of messages in and out.")
]
Machine = Annotated[str | None, typer.Option(help="Name of the machine, if not the first host.")]
Save = Annotated[bool, typer.Option("--save", help="Also write a cost file: what Couplet's own ways cost.")]
CostFile = Annotated[Path | None, typer.Option(help="With --save: write it here, not where the library looks for it.")]
Cells = Annotated[bool, typer.Option(help="Measure cells. With --save --no-cells, only the cost file is written.")]
