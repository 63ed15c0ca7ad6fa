"""What the commands take: each argument and option with its help, once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="svmlight, CSV or npz file, plain or compressed; '-' for standard input; a folder "
        "that convert made; on a cluster Parquet files; or a name: cpuact, cpusmall, rcv1, a9a, "
        "mushrooms.",
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that fit has written.")]
Format = Annotated[
    str | None,
    typer.Option(help="svmlight, csv or npz; by default from the file's ending, else svmlight."),
]
Target = Annotated[
    str | None, typer.Option(help="CSV: name or number of the target's column; the last one.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="CSV: whether the first line names the columns; by default if it is not numbers.",
    ),
]
ByPosition = Annotated[
    bool,
    typer.Option("--by-position", help="Take columns by their place, whatever they are called."),
]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        help="Bytes that a compressed file may hold; 64 MiB, or 100 times its size.", min=1
    ),
]
DataFolder = Annotated[
    Path | None,
    typer.Option(help="Where named data sets lie.", envvar="DUALGAP_DATA", show_envvar=True),
]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        "--workers", help="Fit on a cluster of so many processes, made for this command alone."
    ),
]
SchedulerAddress = Annotated[
    str | None,
    typer.Option("--scheduler", help="Fit on a Dask cluster that is there: tcp://HOST:PORT."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
LossName = Annotated[
    str,
    typer.Option(
        help="squared, logistic, smoothed_hinge, squared_hinge, huber, strong_logistic, "
        "multinomial, poisson, gamma."
    ),
]
LossParameter = Annotated[
    float | None,
    typer.Option(help="Threshold of huber, width of smoothed_hinge, strength of strong_logistic."),
]
L1 = Annotated[float, typer.Option(help="Strength of l1 |x|_1.")]
L2 = Annotated[float, typer.Option(help="Strength of (l2/2) |x|^2.")]
FitIntercept = Annotated[
    bool, typer.Option("--fit-intercept/--no-intercept", help="An intercept, not penalised.")
]
Tolerance = Annotated[float, typer.Option(help="Certified relative gap to reach.")]
MaxPasses = Annotated[float, typer.Option(help="Limit on passes over the data.")]
MaxTime = Annotated[float | None, typer.Option(help="Limit on seconds.")]
AlgorithmName = Annotated[str, typer.Option(help="As in dualgap.solve.")]
Seed = Annotated[int, typer.Option(help="Seed of randomised algorithms.", min=0)]
ModelOut = Annotated[
    Path | None, typer.Option(help="Write the model to this file ('-': standard output).")
]
Checkpoint = Annotated[
    Path | None, typer.Option(help="Keep the run in this file, to go on from with --resume.")
]
CheckpointEvery = Annotated[str, typer.Option(help="How often: '30 s', '10 min', '50 passes'.")]
ResumeRun = Annotated[
    bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(help="Memory that may be taken, such as '2 GB'; by default what there is."),
]
ThreadCount = Annotated[
    int | None,
    typer.Option("--threads", help="Threads that share data on disk; as many as may be.", min=1),
]
Features = Annotated[int | None, typer.Option(help="svmlight: number of columns.", min=1)]
TextOut = Annotated[
    Path | None,
    typer.Option(
        help="Write to this file, or of data in a folder to this folder; else to standard output."
    ),
]
Scores = Annotated[
    bool, typer.Option("--scores", help="Print a_i'x + c in place of labels or means.")
]
HeldAgainst = Annotated[
    float | None, typer.Option(help="Hold the gap against this, not the recorded tolerance.")
]
Picture = Annotated[
    Path | None, typer.Option(help="Draw the picture to this file (png, svg, pdf).")
]
NoPicture = Annotated[bool, typer.Option("--no-plot", help="Draw nothing.")]
ReportFolder = Annotated[Path, typer.Option(help="Folder of the report.")]
Quick = Annotated[bool, typer.Option("--quick", help="Smaller problems: about a minute.")]
Seeds = Annotated[int, typer.Option(help="Seeds of randomised algorithms.", min=1)]
Resume = Annotated[
    bool, typer.Option("--resume/--fresh", help="Keep the runs that are there, or start anew.")
]
