"""The commands and their options."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer

import dualgap
from dualgap import _validation as check
from dualgap._files import check_writable, replacing
from dualgap._names import lookup
from dualgap.algorithms import ALGORITHMS
from dualgap.cli import folders
from dualgap.cli import options as take
from dualgap.cli.clusters import Cluster, aligned, coded, taken
from dualgap.cli.columns import Aligned, Reading, load_for
from dualgap.cli.common import (
    CONVERGED,
    NOT_CONVERGED,
    certificate_fields,
    command,
    say,
    terminable,
    to_json,
)
from dualgap.cli.dual import certificate_of
from dualgap.cli.fingerprints import is_of
from dualgap.cli.model import Model, load_model, make_loss, make_model
from dualgap.datasets import Dataset, write_predictions
from dualgap.datasets.folders import check_target, is_folder
from dualgap.designs.threads import within_threads
from dualgap.driver.arguments import limit
from dualgap.driver.keeping import check_keeping
from dualgap.memory import as_bytes, within_memory

app = typer.Typer(
    name="dualgap",
    help="Linear models with a certificate: every fit says how far from optimal it can be.",
    epilog="Exit codes: 0 converged, 3 not converged, 2 bad usage or input.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

STDOUT = "-"


def _version(wanted: bool) -> None:
    if wanted:
        print(dualgap.__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Nothing but --version."""


@app.command()
def fit(
    file: take.DataFile,
    *,
    loss: take.LossName = "squared",
    loss_parameter: take.LossParameter = None,
    l1: take.L1 = 0.0,
    l2: take.L2 = 0.0,
    fit_intercept: take.FitIntercept = False,
    tol: take.Tolerance = 1e-6,
    max_passes: take.MaxPasses = 1000,
    max_time: take.MaxTime = None,
    algorithm: take.AlgorithmName = "auto",
    seed: take.Seed = 0,
    out: take.ModelOut = None,
    checkpoint: take.Checkpoint = None,
    checkpoint_every: take.CheckpointEvery = "60 s",
    resume: take.ResumeRun = False,
    memory_limit: take.MemoryLimit = None,
    threads: take.ThreadCount = None,
    workers: take.WorkerCount = None,
    scheduler: take.SchedulerAddress = None,
    format: take.Format = None,
    target: take.Target = None,
    header: take.Header = None,
    features: take.Features = None,
    max_bytes: take.MaxBytes = None,
    data_folder: take.DataFolder = None,
    as_json: take.AsJson = False,
) -> None:
    """Fit a model, print its certificate, write it to a file."""
    with command(), terminable():
        _check_out(out, as_json)
        check_keeping(checkpoint, checkpoint_every, resume)
        chosen = make_loss(loss, loss_parameter)
        _check_numbers(l1, l2, tol, max_passes, max_time)
        memory = as_bytes("memory_limit", memory_limit)
        lookup("algorithm", algorithm, dict.fromkeys(("auto", *ALGORITHMS)))
        how: dict[str, Any] = {"format": format, "target": target, "header": header}
        how |= {"n_features": features, "max_bytes": max_bytes, "data_folder": data_folder}
        cluster = Cluster(workers, scheduler)
        cluster.check(file, threads, format=format, header=header, features=features,
                      max_bytes=max_bytes)  # fmt: skip
        with taken(file, cluster, chosen, how) as (data, labels, b), within_memory(memory):
            problem = dualgap.Problem(
                data.A, b, loss=chosen, l1=l1, l2=l2, fit_intercept=fit_intercept
            )
            result = problem.solve(
                algorithm=algorithm,
                tol=tol,
                max_passes=max_passes,
                max_time=max_time,
                random_state=seed,
                n_threads=threads,
                verbose=sys.stderr.isatty() and not as_json,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                resume=resume,
            )
        model = make_model(data, result, problem, tol, labels)
        _show_fit(data, model, result, out, as_json)
    raise typer.Exit(CONVERGED if result.status.converged else NOT_CONVERGED)


def _check_out(out: Path | None, as_json: bool = False) -> None:
    """Before any work: whether what comes out of it can be written."""
    if out is not None and str(out) != STDOUT:
        check_writable("--out", out)
    if as_json and str(out) == STDOUT:
        raise ValueError("--json and --out - both want standard output; name a file.")


def _show_fit(
    data: Dataset, model: Model, result: dualgap.Result, out: Path | None, as_json: bool
) -> None:
    """Print what was fitted, and write the model where it is wanted."""
    n, d = data.A.shape
    if as_json:
        print(to_json(_fit_fields(data, model, result, out)))
    else:
        shown = sys.stderr if str(out) == STDOUT else sys.stdout
        print(f"{data.name}: {n} rows, {d} columns", file=shown)
        print(f"min {_formula(model)}\n{result}", file=shown)
    if str(out) == STDOUT:
        print(model.to_json(result))
    elif out is not None:
        model.save(out, result)
        if not as_json:
            print(f"model written to {out}")


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
    model_file: take.ModelFile,
    file: take.DataFile,
    *,
    out: take.TextOut = None,
    scores: take.Scores = False,
    format: take.Format = None,
    target: take.Target = None,
    header: take.Header = None,
    by_position: take.ByPosition = False,
    max_bytes: take.MaxBytes = None,
    data_folder: take.DataFolder = None,
    as_json: take.AsJson = False,
) -> None:
    """Predict with a saved model: one line per row; of a folder, into a folder with --out."""
    with command():
        onto_disk = out is not None and str(out) != STDOUT and is_folder(Path(file))
        if onto_disk:
            check_target(cast(Path, out), overwrite=False)
        else:
            _check_out(out)
        model = load_model(model_file)
        how = Reading(format, target, header, by_position, max_bytes, data_folder, True)
        data = load_for(model, file, how)
        for note in data.notes:
            say(note)
        predict = model.scores if scores else model.predict
        if onto_disk:
            made = write_predictions(cast(Path, out), predict, data.A)
            print(to_json({"predictions": str(made)}) if as_json else f"written to {made}")
            return
        values = predict(data.A).tolist()
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
    model_file: take.ModelFile,
    file: take.DataFile,
    *,
    tol: take.HeldAgainst = None,
    format: take.Format = None,
    target: take.Target = None,
    header: take.Header = None,
    by_position: take.ByPosition = False,
    memory_limit: take.MemoryLimit = None,
    threads: take.ThreadCount = None,
    workers: take.WorkerCount = None,
    scheduler: take.SchedulerAddress = None,
    max_bytes: take.MaxBytes = None,
    data_folder: take.DataFolder = None,
    as_json: take.AsJson = False,
) -> None:
    """Check a saved model against data from scratch; exit 0 only if its gap is within tol."""
    with command():
        if tol is not None:
            tol = check.real("tol", tol, low=0.0, strict=True)
        memory = as_bytes("memory_limit", memory_limit)
        model = load_model(model_file)
        how = Reading(format, target, header, by_position, max_bytes, data_folder)
        cluster = Cluster(workers, scheduler)
        cluster.check(file, threads, format=format, header=header, max_bytes=max_bytes)
        with aligned(model, file, how, cluster) as data:
            _check_rows(data, model, model_file)
            assert data.b is not None
            b = coded(model.loss, model.labels, data)
            with within_memory(memory), within_threads(threads):
                problem = dualgap.Problem(data.A, b, **model.objective)
                certificate = certificate_of(model, problem)
            same = is_of(model.fingerprint, file, data.A, data.b)
        most = model.tol if tol is None else tol
        within = certificate.certified and certificate.relative_gap <= most
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
        if same is None:
            say(f"whether {data.source} holds the data of {model_file} only its folder can tell")
        elif not same:
            say(f"{data.source} does not hold the data that {model_file} was fitted on")
    raise typer.Exit(CONVERGED if within else NOT_CONVERGED)


def _check_rows(data: Aligned, model: Model, model_file: Path) -> None:
    """Whether data can be those of the model."""
    if data.b is None:
        raise ValueError(f"{data.source} has no target, and a certificate needs one.")
    for note in data.notes:
        say(note)
    if data.A.shape[0] != model.rows:
        n, d = data.A.shape
        raise ValueError(
            f"{data.source} has {n} rows and {d} columns; {model_file} is of "
            f"{model.rows} rows and {model.n_features} columns."
        )


@app.command()
def demo(
    *,
    plot: take.Picture = Path("dualgap-demo.png"),
    no_plot: take.NoPicture = False,
    as_json: take.AsJson = False,
) -> None:
    """Fit embedded data with and without regularisation, next to scikit-learn's solvers."""
    with command():
        from dualgap.cli import demonstration

        converged = demonstration.run(None if no_plot else plot, as_json)
    raise typer.Exit(CONVERGED if converged else NOT_CONVERGED)


@app.command()
def paper(
    *,
    out: take.ReportFolder = Path("dualgap-paper"),
    quick: take.Quick = False,
    seeds: take.Seeds = 5,
    resume: take.Resume = True,
    data_folder: take.DataFolder = None,
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


app.command()(folders.convert)
app.command()(folders.check)
