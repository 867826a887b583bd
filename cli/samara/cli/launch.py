# SPDX-License-Identifier: Apache-2.0
"""`samara launch`: run a training script as the ranks of MPI."""

from __future__ import annotations

from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import note


def launch(
    script: Annotated[
        str, typer.Argument(metavar="SCRIPT", help="The Python file that every rank runs.")
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARGS]...", help="All that follows belongs to the script."),
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            "-n", min=1, help="Number of ranks; default: what a scheduler or the hosts give."
        ),
    ] = None,
    module: Annotated[
        bool, typer.Option("-m", help="SCRIPT is the name of a module, as for python -m.")
    ] = False,
    hostfile: Annotated[
        str | None,
        typer.Option(
            "--hostfile", metavar="FILE", help="Hosts, one a line, as mpiexec reads them."
        ),
    ] = None,
    hosts: Annotated[
        list[str] | None, typer.Option("--hosts", metavar="A,B", help="Hosts, in this order.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Threads of each rank; default: cores / ranks."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0.001, metavar="S", help="End all ranks after S seconds."),
    ] = None,
    restarts: Annotated[
        int, typer.Option("--restarts", min=0, help="Start again so often after a failure.")
    ] = 0,
    mpiexec: Annotated[
        str | None,
        typer.Option(
            "--mpiexec", metavar="PATH", help="Default: that of this environment, then of PATH."
        ),
    ] = None,
    prefix: Annotated[
        bool, typer.Option("--prefix/--no-prefix", help="Put [rank] before each line of a rank.")
    ] = True,
) -> None:
    """Run a script as N processes, the ranks of MPI, for training with samara.distributed.

    mpiexec comes with pip install "samara-nn[distributed]". If a rank fails, all end, and the last
    message names the rank. The exit status is that of the first rank that failed. Ctrl-C ends all ranks.

    \b
    samara launch -n 2 train.py --epochs 3
    samara launch -n 8 --hosts node1:4,node2:4 -m package.train
    samara launch -n 4 --threads 2 --restarts 3 train.py
    samara launch train.py                                (in a job of Slurm, PBS or LSF)
    """
    from samara.exporter.launcher.launching import launch as start

    report = start(
        [script, *(arguments or ())],
        ranks=ranks,
        module=module,
        hostfile=hostfile,
        hosts=opt.names(hosts) or (),
        threads=threads,
        timeout=timeout,
        restarts=restarts,
        mpiexec=mpiexec,
        prefix=prefix,
        say=note,
    )
    if report.status:
        note(f"samara: {report.text()}")
        raise typer.Exit(report.status)
