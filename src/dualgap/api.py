"""What users call: `solve`, `certify`, and `Problem` with the methods of these names.

`Problem` here is the value in `problem` with methods that need algorithms, driver and certificates,
of which that module knows nothing. The work itself is done in `driver.solving` and `certificate`.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dualgap import _validation as check
from dualgap import problem as values
from dualgap._types import Data
from dualgap.algorithms import Algorithm
from dualgap.algorithms.primal_dual.adaptation import Rule
from dualgap.certificate import Certificate, certify_point
from dualgap.designs.taking import in_use, spent_on, taken_apart
from dualgap.designs.threads import within_threads
from dualgap.driver.arguments import check_threads
from dualgap.driver.keeping import EVERY
from dualgap.driver.solving import solve_problem
from dualgap.losses import Loss
from dualgap.memory import as_bytes, within_memory
from dualgap.preconditioners import Preconditioner
from dualgap.regularizers import Regularizer
from dualgap.result import Result
from dualgap.state import State, replace
from dualgap.trace import Recorder


class Problem(values.Problem):
    """An empirical risk minimisation problem with linear predictions.

    min over x (and c) of
    (1/W) sum_i w_i phi_i(a_i'x + c + offset_i) + sum_j p_j (l1 |x_j| + (l2/2) x_j^2)

    Parameters
    ----------
    A : array, sparse matrix, data frame or Design of shape (n, d), or Folder
        Kept by reference where it can be, never written to. See `dualgap.designs` for what is
        copied. A folder that `dualgap.open` gives brings its targets, weights and offset along.
    b : array of shape (n,)
        Targets, or labels -1/+1 (0/1) for margin losses; counts >= 0 for ``"poisson"``, values > 0
        for ``"gamma"``.
    loss : str or Loss
        ``"squared"``, ``"logistic"``, ``"smoothed_hinge"``, ``"squared_hinge"``, ``"huber"``,
        ``"strong_logistic"``, ``"poisson"`` and ``"gamma"`` (log link; an offset is the log of the
        exposure), or a value such as ``dualgap.losses.Huber(threshold=2.0)``, or one of your own
        (see `dualgap.losses.Loss`).
        ``"multinomial"``: b holds classes 0, ..., K-1, each of them (see
        `dualgap.losses.Multinomial` where not), and x has shape (d, K), y, z and offset (n, K),
        the intercept (K,).
    l1, l2 : float
        Strengths, >= 0; both 0 is a problem without regulariser.
    penalty_weights : array of shape (d,), optional
        p_j >= 0, 1 by default; 0 leaves a coordinate free.
    regularizer : Regularizer, optional
        Any g(x) in place of the elastic net that l1, l2 and penalty_weights are shorthand for, such
        as ``dualgap.regularizers.NonNegative(l1=0.1)``; of the coefficients only, the intercept is
        never penalised.
    fit_intercept : bool
        Whether there is an unpenalised intercept c.
    sample_weight : array of shape (n,), optional
        w_i >= 0, 1 by default; W is their sum.
    offset : array of shape (n,), optional
        Added to the predictions.
    """

    def solve(
        self,
        *,
        algorithm: str | Algorithm = "auto",
        adapt: str | Rule | None = None,
        mu: float | None = None,
        schedule: str | None = None,
        precondition: str | Preconditioner = "auto",
        tol: float = 1e-6,
        max_passes: float = 1000,
        max_time: float | None = None,
        x0: Any = None,
        y0: Any = None,
        state: State | None = None,
        earlier: State | None = None,
        random_state: int | np.random.Generator | None = None,
        n_threads: int | None = None,
        callback: Recorder | None = None,
        verbose: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float | str = EVERY,
        resume: bool = False,
        memory_limit: int | str | None = None,
    ) -> Result:
        """Solve to a certified relative gap of ``tol``; see `dualgap.solve`."""
        with self.base.in_use():
            return solve_problem(
                self,
                algorithm=algorithm,
                adapt=adapt,
                mu=mu,
                schedule=schedule,
                precondition=precondition,
                tol=tol,
                max_passes=max_passes,
                max_time=max_time,
                x0=x0,
                y0=y0,
                state=state,
                earlier=earlier,
                random_state=random_state,
                n_threads=n_threads,
                callback=callback,
                verbose=verbose,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                resume=resume,
                memory_limit=memory_limit,
            )

    def certify(self, x: Any, y: Any = None, *, intercept: Any = 0.0) -> Certificate:
        """Certificate of the point (x, intercept) and the dual point y; see `dualgap.certify`."""
        problem = self if y is None else self.held()  # a y has an entry for each row
        with problem.base.in_use():
            return certify_point(problem, problem.join(x, intercept), y=self.dual_point("y", y))

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write the problem to a file, which `load` reads back exactly: for a bug report.

        The file holds the arrays and arguments, numbers and names without any code: a zip archive
        that numpy reads as an npz, about as long as the data are in memory.

        Parameters
        ----------
        path : str or Path
            The file; one of that name is replaced.
        """
        from dualgap.objective import problem_file

        problem_file.dump(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Problem:
        """Read a problem that `dump` has written; nothing in the file is executed.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Problem

        Raises
        ------
        dualgap.datasets.DataError
            A ValueError that says what is wrong with the file.
        """
        from dualgap.objective import problem_file

        return problem_file.load(cls, path)


def solve(
    A: Data,
    b: Any = None,
    *,
    loss: str | Loss = "squared",
    l1: float = 0.0,
    l2: float = 0.0,
    penalty_weights: Any = None,
    regularizer: Regularizer | None = None,
    fit_intercept: bool = False,
    sample_weight: Any = None,
    offset: Any = None,
    algorithm: str | Algorithm = "auto",
    adapt: str | Rule | None = None,
    mu: float | None = None,
    schedule: str | None = None,
    precondition: str | Preconditioner = "auto",
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_time: float | None = None,
    x0: Any = None,
    y0: Any = None,
    state: State | None = None,
    earlier: State | None = None,
    random_state: int | np.random.Generator | None = None,
    n_threads: int | None = None,
    callback: Recorder | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float | str = EVERY,
    resume: bool = False,
    memory_limit: int | str | None = None,
) -> Result:
    """Solve min_x (1/W) sum_i w_i phi_i(a_i'x + c + offset_i) + sum_j p_j (l1|x_j| + (l2/2)x_j^2).

    Parameters
    ----------
    A, b, loss, l1, l2, penalty_weights, regularizer, fit_intercept, sample_weight, offset
        The problem, as in `Problem`.
    algorithm : str or Algorithm
        ``"auto"``, or one of the paper's: ``"bpd"``, ``"opt-bpd"``, ``"ada-bpd"``, ``"df-bpd"``,
        ``"adf-bpd"``, ``"agd"``; randomised: ``"spdc"``, ``"opt-spdc"``, ``"ada-spdc"``,
        ``"df-spdc"``, ``"opt-df-spdc"``, ``"adf-spdc"``, ``"saga"``, ``"svrg"``, ``"katyusha"``;
        or one beyond it: ``"newton"``, ``"sdca"``, for l1 ``"working-set"`` and, with classes,
        ``"prox-newton"``; or a value such as ``dualgap.algorithms.AdaBPD(...)``.
    adapt : str or Rule, optional
        How an adaptive algorithm tunes its estimate of the strong convexity: ``"curvature"`` (the
        default), ``"simple"``, ``"robust"``, or ``dualgap.adaptation.Robust(period=10, ...)``.
    mu : float, optional
        The paper's mu of A, for algorithms that take it; adaptive ones start their estimate there.
    schedule : "theorem", optional
        Force the theorems' step sizes with certified constants.
    precondition : str or Preconditioner
        A change of variables inside the run, which points, traces and certificates never see:
        ``"diagonal"``, ``"whiten"``, ``"rows"``, ``"low-rank"``, ``"units"``, ``"orthonormal"``, or
        a value such as ``dualgap.preconditioners.Whiten(...)``; ``"none"``; ``"auto"``, which
        leaves named algorithms as the paper has them, unless columns need another origin or unit.
    tol : float
        Stop when the certified gap is at most tol * max(P_lo, 1e-12 P0); P_lo is a proved lower
        bound of P(x), and P0 the value of the null model, the intercept alone where there is one
        and x = 0 without.
    max_passes, max_time : float
        Limits on the passes of this call, and on its seconds; what follows is the certificate.
        They are looked at inside of a step, too, which a limit may cut short: then the state that
        is returned is the one before it, and x may be a point that it had found.
    x0, y0 : array, optional
        Where to start: (d,) or, with an intercept, (d + 1,); and (n,). With K classes each has
        a second axis of length K.
    state : State, optional
        ``result.state`` of an earlier run, to go on exactly where it ended.
    earlier : State, optional
        ``result.state`` of a run on the same data with other strengths (`Problem.replace`), whose
        preparations, such as factorisations and working sets, are taken over.
    random_state : int or numpy Generator, optional
        Seed of randomised algorithms, 0 if not given: a run can be repeated bit for bit. The batch
        algorithms draw nothing.
    n_threads : int, optional
        Threads that share the rows of data which are cut into partitions: large ones in memory
        (64 MiB), folders, and what else stays on disk; as many as the process may use if not given.
        The same bits for every number: the linear algebra library itself has one thread then. Small
        data are not cut, and have the library's own default if no number is given.
    callback : callable, optional
        Called with a `Snapshot` at each check; returning True stops.
    verbose : bool
        Show a live line.
    checkpoint : str or Path, optional
        A file in which the run is kept while it goes on, so that another process can go on with it;
        see docs/checkpoints.md. One that is there already is not replaced.
    checkpoint_every : float or str
        Seconds between two checkpoints, or a number with a unit: ``"10 min"``, ``"50 passes"``. The
        first follows the set-up, and the last the end of the run, also of one that is interrupted.
    resume : bool
        Go on from the checkpoint, if the file exists: the run ends as it would have ended at once,
        bit for bit. It must be of the same problem and options; ``max_passes`` and ``max_time`` are
        limits on the whole of the run, and may be others.
    memory_limit : int or str, optional
        Bytes that the call may take besides what the process holds already, or a number with a
        unit: ``"2 GB"``, ``"500 MiB"``. By default what the process may still have, by its own
        limits, by its container and by what the machine has available. Copies that save time are
        made only where they are small beside it, and rows of data on disk are held only where
        their vectors are (`dualgap.open`); what it decides, it decides by sizes alone, so that the
        same limit gives the same run. What cannot be done within it is refused before the work.

    Returns
    -------
    Result
    """
    readings, rounds = spent_on(A)
    A, b, sample_weight, offset = taken_apart(A, b, sample_weight, offset)
    with within_memory(as_bytes("memory_limit", memory_limit)), in_use(A):
        with within_threads(check_threads(n_threads)):
            problem = Problem(
                A,
                b,
                loss=loss,
                l1=l1,
                l2=l2,
                penalty_weights=penalty_weights,
                regularizer=regularizer,
                fit_intercept=fit_intercept,
                sample_weight=sample_weight,
                offset=offset,
            )
        result = problem.solve(
            algorithm=algorithm,
            adapt=adapt,
            mu=mu,
            schedule=schedule,
            precondition=precondition,
            tol=tol,
            max_passes=max_passes,
            max_time=max_time,
            x0=x0,
            y0=y0,
            state=state,
            earlier=earlier,
            random_state=random_state,
            n_threads=n_threads,
            callback=callback,
            verbose=verbose,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
            memory_limit=memory_limit,
        )
    ledger = problem.base.ledger
    return replace(result, readings=ledger.readings - readings, rounds=ledger.rounds - rounds)


def certify(
    A: Data,
    b: Any = None,
    x: Any = None,
    y: Any = None,
    *,
    loss: str | Loss = "squared",
    l1: float = 0.0,
    l2: float = 0.0,
    penalty_weights: Any = None,
    regularizer: Regularizer | None = None,
    intercept: Any = 0.0,
    sample_weight: Any = None,
    offset: Any = None,
    fit_intercept: bool | None = None,
) -> Certificate:
    """Bound P(x) - P* for any x, whoever found it.

    The objective is that of `Problem`: (1/W) sum_i w_i phi_i(a_i'x + c + offset_i) +
    sum_j p_j (l1|x_j| + (l2/2)x_j^2), or with another regulariser g(x). An x at which g is not
    finite has P(x) = inf, and no certificate.

    Parameters
    ----------
    A, b, loss, l1, l2, penalty_weights, regularizer, sample_weight, offset
        The problem, as in `Problem`.
    x : array of shape (d,)
        The primal point.
    y : array of shape (n,), optional
        The dual point to start from, y_i ~ phi_i'(a_i'x); made feasible where it is not. Without
        one, y = phi'(Ax).
    intercept : float
        The intercept c. For ``loss="multinomial"`` x has shape (d, K), y (n, K), intercept (K,).
    fit_intercept : bool, optional
        Whether c was free to move. By default it was if ``intercept`` is not 0; say True for a
        fitted intercept that happens to be 0.

    Returns
    -------
    Certificate
    """
    if x is None:
        raise TypeError("x is missing: the point to be judged, with one entry per column of A.")
    if fit_intercept is None:
        values = check.numeric("intercept", intercept)
        fit_intercept = bool(values.any() if values.ndim else check.real("intercept", intercept))
    A, b, sample_weight, offset = taken_apart(A, b, sample_weight, offset)
    with in_use(A):
        problem = Problem(
            A,
            b,
            loss=loss,
            l1=l1,
            l2=l2,
            penalty_weights=penalty_weights,
            regularizer=regularizer,
            fit_intercept=fit_intercept,
            sample_weight=sample_weight,
            offset=offset,
        )
        return problem.certify(x, y, intercept=intercept)
