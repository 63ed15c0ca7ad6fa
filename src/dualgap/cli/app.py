"""The commands and their options."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

import dualgap
from dualgap import _validation as check
from dualgap._files import check_writable, replacing
from dualgap._names import lookup
from dualgap.algorithms import ALGORITHMS
from dualgap.cli.columns import Reading, load_for
from dualgap.cli.common import (
    CONVERGED,
    NOT_CONVERGED,
    certificate_fields,
    command,
    say,
    terminable,
    to_json,
)
from dualgap.cli.model import (
    Model,
    encode,
    fingerprint,
    labels_of,
    load_model,
    make_loss,
    make_model,
)
from dualgap.datasets import Dataset, load
from dualgap.driver.arguments import limit
from dualgap.driver.keeping import check_keeping

app = typer.Typer(
    name="dualgap",
    help="Linear models with a certificate: every fit says how far from optimal it can be.",
    epilog="Exit codes: 0 converged, 3 not converged, 2 bad usage or input.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

STDOUT = "-"

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="svmlight, CSV or npz file, plain or compressed; '-' for standard input; or a name: "
        "cpuact, cpusmall, rcv1, a9a, mushrooms.",
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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(dualgap.__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Nothing but --version."""


@app.command()
def fit(
    file: DataFile,
    loss: Annotated[
        str,
        typer.Option(
            help="squared, logistic, smoothed_hinge, squared_hinge, huber, strong_logistic, "
            "multinomial, poisson, gamma."
        ),
    ] = "squared",
    loss_parameter: Annotated[
        float | None,
        typer.Option(
            help="Threshold of huber, width of smoothed_hinge, strength of strong_logistic."
        ),
    ] = None,
    l1: Annotated[float, typer.Option(help="Strength of l1 |x|_1.")] = 0.0,
    l2: Annotated[float, typer.Option(help="Strength of (l2/2) |x|^2.")] = 0.0,
    fit_intercept: Annotated[
        bool, typer.Option("--fit-intercept/--no-intercept", help="An intercept, not penalised.")
    ] = False,
    tol: Annotated[float, typer.Option(help="Certified relative gap to reach.")] = 1e-6,
    max_passes: Annotated[float, typer.Option(help="Limit on passes over the data.")] = 1000,
    max_time: Annotated[float | None, typer.Option(help="Limit on seconds.")] = None,
    algorithm: Annotated[str, typer.Option(help="As in dualgap.solve.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of randomised algorithms.", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the model to this file ('-': standard output).")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the run in this file, to go on from with --resume.")
    ] = None,
    checkpoint_every: Annotated[
        str, typer.Option(help="How often: '30 s', '10 min', '50 passes'.")
    ] = "60 s",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")
    ] = False,
    format: Format = None,
    target: Target = None,
    header: Header = None,
    features: Annotated[
        int | None, typer.Option(help="svmlight: number of columns.", min=1)
    ] = None,
    max_bytes: MaxBytes = None,
    data_folder: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model, print its certificate, write it to a file."""
    with command(), terminable():
        if out is not None and str(out) != STDOUT:
            check_writable("--out", out)
        check_keeping(checkpoint, checkpoint_every, resume)
        if as_json and str(out) == STDOUT:
            raise ValueError("--json and --out - both want standard output; name a file.")
        chosen = make_loss(loss, loss_parameter)
        _check_numbers(l1, l2, tol, max_passes, max_time)
        lookup("algorithm", algorithm, dict.fromkeys(("auto", *ALGORITHMS)))
        data = load(
            file,
            format=format,
            target=target,
            header=header,
            n_features=features,
            max_bytes=max_bytes,
            data_folder=data_folder,
        )
        labels = labels_of(chosen, data.b)
        problem = dualgap.Problem(
            data.A,
            encode(chosen, labels, data.b),
            loss=chosen,
            l1=l1,
            l2=l2,
            fit_intercept=fit_intercept,
        )
        result = problem.solve(
            algorithm=algorithm,
            tol=tol,
            max_passes=max_passes,
            max_time=max_time,
            random_state=seed,
            verbose=sys.stderr.isatty() and not as_json,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
        )
        model = make_model(data, result, problem, tol, labels)
        if as_json:
            print(to_json(_fit_fields(data, model, result, out)))
        else:
            shown = sys.stderr if str(out) == STDOUT else sys.stdout
            print(f"{data.name}: {problem.n} rows, {problem.d} columns", file=shown)
            print(f"min {_formula(model)}\n{result}", file=shown)
        if str(out) == STDOUT:
            print(model.to_json(result))
        elif out is not None:
            model.save(out, result)
            if not as_json:
                print(f"model written to {out}")
    raise typer.Exit(CONVERGED if result.status.converged else NOT_CONVERGED)


def _check_numbers(
    l1: float, l2: float, tol: float, max_passes: float, max_time: float | None
) -> None:
    """Before a file is read, which may take long; the solver checks them, too."""
    check.real("l1", l1, low=0.0)
    check.real("l2", l2, low=0.0)
    check.real("tol", tol, low=0.0, strict=True)
    limit("max_passes", max_passes)
    if max_time is not None:
        limit("max_time", max_time)


def _formula(model: Model) -> str:
    terms = [f"(1/n) sum_i phi(a_i'x{' + c' if model.fit_intercept else ''}; b_i)"]
    terms += [f"{model.l1:g} |x|_1"] if model.l1 else []
    terms += [f"({model.l2:g}/2) |x|^2"] if model.l2 else []
    return " + ".join(terms) + f",  phi: {model.loss.name}"


def _fit_fields(
    data: Dataset, model: Model, result: dualgap.Result, out: Path | None
) -> dict[str, Any]:
    n, d = data.A.shape
    return {
        "data": {"name": data.name, "source": data.source, "rows": n, "columns": d},
        "objective": model.objective_fields(),
        "tol": model.tol,
        "algorithm": result.algorithm,
        "converged": result.status.converged,
        "status": result.status.name.lower(),
        "message": str(result.status),
        "certificate": certificate_fields(result.certificate),
        "passes": result.passes,
        "seconds": result.seconds,
        "notes": result.notes,
        "model": None if out is None else str(out),
    }


@app.command()
def predict(
    model_file: ModelFile,
    file: DataFile,
    out: Annotated[
        Path | None, typer.Option(help="Write to this file; standard output by default.")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Print a_i'x + c in place of labels or means.")
    ] = False,
    format: Format = None,
    target: Target = None,
    header: Header = None,
    by_position: ByPosition = False,
    max_bytes: MaxBytes = None,
    data_folder: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Predict with a saved model: one line per row of the file."""
    with command():
        if out is not None and str(out) != STDOUT:
            check_writable("--out", out)
        model = load_model(model_file)
        how = Reading(format, target, header, by_position, max_bytes, data_folder)
        data = load_for(model, file, how)
        for note in data.notes:
            say(note)
        values = (model.scores(data.A) if scores else model.predict(data.A)).tolist()
        if out is None or str(out) == STDOUT:
            _write_predictions(sys.stdout, values, as_json)
        else:
            with replacing(out) as part, part.open("w", encoding="utf-8") as stream:
                _write_predictions(stream, values, as_json)


def _write_predictions(stream: TextIO, values: list[Any], as_json: bool) -> None:
    if as_json:
        print(to_json({"predictions": values}, indent=None), file=stream)
        return
    for value in values:
        many = value if isinstance(value, list) else [value]
        print(*(_number(v) for v in many), file=stream)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


@app.command()
def certify(
    model_file: ModelFile,
    file: DataFile,
    tol: Annotated[
        float | None, typer.Option(help="Hold the gap against this, not the recorded tolerance.")
    ] = None,
    format: Format = None,
    target: Target = None,
    header: Header = None,
    by_position: ByPosition = False,
    max_bytes: MaxBytes = None,
    data_folder: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Check a saved model against data from scratch; exit 0 only if its gap is within tol."""
    with command():
        if tol is not None:
            tol = check.real("tol", tol, low=0.0, strict=True)
        model = load_model(model_file)
        how = Reading(format, target, header, by_position, max_bytes, data_folder)
        data = load_for(model, file, how)
        if data.b is None:
            raise ValueError(f"{data.source} has no target, and a certificate needs one.")
        for note in data.notes:
            say(note)
        if data.A.shape[0] != len(model.y):
            n, d = data.A.shape
            raise ValueError(
                f"{data.source} has {n} rows and {d} columns; {model_file} is of "
                f"{len(model.y)} rows and {model.n_features} columns."
            )
        b = encode(model.loss, model.labels, data.b)
        certificate = dualgap.certify(
            data.A, b, model.x, model.y, intercept=model.intercept, **model.objective
        )
        most = model.tol if tol is None else tol
        within = certificate.certified and certificate.relative_gap <= most
        same = fingerprint(data.A, data.b) == model.fingerprint
        if as_json:
            fields = {
                "within_tol": within,
                "tol": most,
                "same_data": same,
                "certificate": certificate_fields(certificate),
            }
            print(to_json(fields))
        else:
            print(f"min {_formula(model)}\n{certificate}")
            print(f"{'within' if within else 'NOT within'} the tolerance {most:g}")
        if not same:
            say(f"{data.source} does not hold the data that {model_file} was fitted on")
    raise typer.Exit(CONVERGED if within else NOT_CONVERGED)


@app.command()
def demo(
    plot: Annotated[
        Path | None, typer.Option(help="Draw the picture to this file (png, svg, pdf).")
    ] = Path("dualgap-demo.png"),
    no_plot: Annotated[bool, typer.Option("--no-plot", help="Draw nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit embedded data with and without regularisation, next to scikit-learn's solvers."""
    with command():
        from dualgap.cli import demonstration

        converged = demonstration.run(None if no_plot else plot, as_json)
    raise typer.Exit(CONVERGED if converged else NOT_CONVERGED)


@app.command()
def paper(
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("dualgap-paper"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller problems: about a minute.")
    ] = False,
    seeds: Annotated[int, typer.Option(help="Seeds of randomised algorithms.", min=1)] = 5,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Keep the runs that are there, or start anew.")
    ] = True,
    data_folder: DataFolder = None,
) -> None:
    """Reproduce the paper's figures, with a verdict on each of its claims."""
    with command():
        experiments = import_module("dualgap.experiments")
        report = experiments.run(
            out=out,
            quick=quick,
            data_folder=data_folder,
            seeds=seeds,
            resume=resume,
            progress=sys.stderr.isatty(),
        )
        print(report)
