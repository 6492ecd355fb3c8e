"""Influence functions of regressions that scikit-learn or statsmodels has fitted.

Neither is imported: a result is known by what it carries.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from mialeak._arrays import FloatArray, as_floats, invalid, require
from mialeak.estimators._influence import InfluenceFunctions
from mialeak.estimators._regression import (
    as_regression,
    linear_influence,
    logistic_terms,
    squares_influence,
    warn_of_copies,
)
from mialeak.estimators._rows import (
    refuse_computed_columns,
    refuse_groups,
    warn_of_labels,
)
from mialeak.estimators._tables import of_rows

__all__ = ["influence_of"]

#: Of statsmodels.
_MODELS = ("OLS", "WLS", "GLM", "Logit", "Probit", "Poisson")

#: Solvers of logistic regression that stop where the mean gradient is below `tol`.
_BY_GRADIENT = ("lbfgs", "newton-cg", "newton-cholesky")
#: By how much more than `tol`: scikit-learn sums in another order.
_SLACK = 1.01
#: Standard errors by which the sums of the estimating equations may be off 0: solvers in one step
#: miss by rounding, others stop early.
_DIRECT, _ITERATIVE = 1e-3, 0.1

_KNOWN = (
    "Known are LinearRegression, Ridge and LogisticRegression of scikit-learn, and OLS, WLS, GLM, "
    "Logit, Probit and Poisson of statsmodels; z_estimator takes all others"
)


def influence_of(result: Any, X: Any = None, y: Any = None) -> InfluenceFunctions:
    """Influence functions of a regression that has been fitted elsewhere.

    Parameters
    ----------
    result : object
        A fitted ``LinearRegression``, ``Ridge`` or ``LogisticRegression`` (or its ``CV`` form) of
        scikit-learn, or the results of ``OLS``, ``WLS``, ``GLM``, ``Logit``, ``Probit`` or
        ``Poisson`` of statsmodels.
    X : array_like, shape (n, p)
        The rows it was fitted to.  Results of statsmodels bring theirs along.
    y : array_like, shape (n,)
        Their responses: numbers, or two classes.

    Returns
    -------
    InfluenceFunctions
        Of the coefficients: in the order of ``params`` for statsmodels, the intercept (if fitted)
        and then ``coef_`` for scikit-learn.

    Raises
    ------
    TypeError
        If the result is of another kind, or has not been fitted.
    ValueError
        If X or y are not those of the fit, the fit does not solve the equations of an unweighted
        one, it had weights of its classes, more than two classes or responses, an L1 penalty, or in
        statsmodels any penalty, constraint or rows dropped for a missing value: these renumber the
        rows.  For statsmodels also if rows are groups, by their frequencies or trials, and if a
        formula computes a column from all rows, as ``center(x)`` and ``bs(x, df=5)`` do.

    Warns
    -----
    UserWarning
        If persons have several rows: rows are copies of one another, or an index of pandas or a
        column of the table of a formula names persons; if columns of X or y have mean 0, with
        standard deviation 1 or another, median 0 and quartiles that are 1 apart, or go from 0 to 1,
        as after a scaler that was fitted to the same rows; for numbers that usually mark a missing
        value, such as -9 and 999; and for statsmodels if standard errors are clustered, weights or
        exposures are whole numbers as those of groups are, responses of 0 and 1 lie between, counts
        are those of the cells of a table, few rows have very different weights, as studies have, or
        the labels of the rows show that the fit left some out.

    Notes
    -----
    Penalties are taken from the result.  A cross-validated penalty is taken as given: that it was
    chosen by the same rows is not in the score.  Weights of WLS belong to the rows, as X does.

    scikit-learn does not keep ``sample_weight``.  That a fit had none, and that X and y are its
    rows, is checked by the equations it should solve.  The sum of each must be 0 within 0.001 of
    its standard error for a direct solver and 0.1 for an iterative one; for the solvers of logistic
    regression that stop by the mean gradient (lbfgs, the default, and the newton ones) the gradient
    must be within ``tol``.  Weights drawn from 0.5 to 1.5 are off by about half a standard error;
    weights that are off by less than these limits pass.  A solver that stopped early is refused as
    well.  For statsmodels the estimate must be within half a standard error of a solution.

    **Cost.**  0.6 s for a logistic regression of 100,000 rows and 50 columns on one core.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from mialeak import influence_of
    >>> dose = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [12.0]])
    >>> response = np.array([0.1, 1.2, 1.8, 3.1, 4.3, 4.8, 5.9, 9.0])
    >>> influence_of(LinearRegression().fit(dose, response), dose, response)
    InfluenceFunctions(theta=array([0.682554, 0.749684]), n=8, kind='asymptotic')
    """
    model = getattr(result, "model", None)
    if hasattr(result, "params") and hasattr(model, "exog"):
        if X is not None or y is not None:
            invalid("X and y", "be left out: a result of statsmodels brings them along")
        return of_rows(_of_results(result, model), result)
    if not hasattr(result, "coef_"):
        _unknown(result)
    if X is None or y is None:
        invalid("X and y", "be the rows that the result was fitted to", error=TypeError)
    return of_rows(_of_estimator(result, X, y), X, y)


def _unknown(result: Any) -> NoReturn:
    rule = f"be a fitted regression; it is {type(result).__name__}"
    remedy = _KNOWN
    if hasattr(result, "steps"):
        remedy = (
            "Its first steps may be fitted to the rows too: for a scaler pass the regression "
            "fitted to X without it; where means and deviations are published take joint_influence "
            "with mean_influence and variance_influence. Pass its last step, and X as the first "
            "steps transform it, only where these learn nothing from the rows"
        )
    invalid("result", rule, remedy=remedy, error=TypeError)


# --- statsmodels ---------------------------------------------------------------------------------


def _of_results(result: Any, model: Any) -> InfluenceFunctions:
    theta = as_floats(result.params, "result.params", finite=True)
    design = as_floats(model.exog, "result.model.exog", ndim=2, finite=True)
    none = np.zeros(design.shape[1])
    if theta.shape != none.shape:
        rule = f"be a number for each column of exog; their shape is {theta.shape}"
        invalid("result.params", rule, remedy=_KNOWN)
    # Subclasses have equations of their own: to Python GEE and GLMGam are a GLM.
    if type(model).__name__ not in _MODELS:
        _unknown(model)
    _refuse_restricted(result)
    _refuse_dropped(model)
    refuse_groups(model)
    refuse_computed_columns(model)
    warn_of_labels(model)
    endog = as_floats(model.endog, "result.model.endog", finite=True)
    if endog.shape == design.shape[:1]:  # a pair for each row of counts
        warn_of_copies(design, endog)
    if hasattr(model, "score_factor"):
        score = as_floats(model.score_factor(theta), "score_factor", ndim=1, finite=True)
        curvature = as_floats(model.hessian_factor(theta), "hessian_factor", ndim=1, finite=True)
        # One of its models has the sign of the second derivative, the other that of information.
        if curvature.sum() < 0.0:
            curvature = -curvature
        return linear_influence(theta, design, score, curvature, none)
    weighted = as_floats(model.wexog, "result.model.wexog", ndim=2, finite=True)
    response = as_floats(model.wendog, "result.model.wendog", ndim=1, finite=True)
    return squares_influence(theta, weighted, response, none, design)


def _refuse_restricted(result: Any) -> None:
    """Refuse estimates of ``fit_regularized`` and ``fit_constrained``."""
    plain = hasattr(result, "cov_params")
    if not plain or any(hasattr(result, mark) for mark in ("regularized", "trimmed", "k_constr")):
        rule = "be fitted freely, without a penalty or constraints"
        remedy = "For a ridge penalty take least_squares_influence or logistic_influence"
        invalid("result", rule, remedy=remedy)


def _refuse_dropped(model: Any) -> None:
    """Refuse a fit that renumbered the rows of its table."""
    dropped = getattr(getattr(model, "data", None), "missing_row_idx", None)
    if dropped is not None and len(dropped):
        first = ", ".join(str(int(row)) for row in dropped[:3])
        more = f" and {len(dropped) - 3:,} more" if len(dropped) > 3 else ""
        rule = f"keep all rows of its table; it dropped {len(dropped):,} with a missing value"
        remedy = "Drop them before the fit: the numbers of the rows are then those of your table"
        invalid("result", f"{rule} (row {first}{more})", remedy=remedy)


# --- scikit-learn --------------------------------------------------------------------------------


def _of_estimator(result: Any, X: Any, y: Any) -> InfluenceFunctions:
    names = {kind.__name__ for kind in type(result).__mro__}
    logistic = "LogisticRegression" in names
    if not (logistic or names & {"LinearRegression", "Ridge", "RidgeCV"}):
        _unknown(result)
    for name in ("class_weight", "positive"):
        if getattr(result, name, None):
            invalid(f"result.{name}", "be left at its default", value=getattr(result, name))
    coef = as_floats(result.coef_, "result.coef_", finite=True)
    if coef.ndim == 2 and coef.shape[0] == 1:
        coef = coef[0]
    if coef.ndim != 1:
        rule = f"be those of one response or two classes; its shape is {coef.shape}"
        invalid("result.coef_", rule)
    intercept = bool(getattr(result, "fit_intercept", True))
    if logistic:
        penalty = _logistic_penalty(result)
        y = _two_classes(y, result.classes_)
    else:
        penalty = getattr(result, "alpha_", getattr(result, "alpha", 0.0))
        y = np.reshape(y, np.size(y)) if np.ndim(y) == 2 and np.shape(y)[1] == 1 else y
    design, response, weights = as_regression(X, y, penalty, intercept)
    if coef.size != design.shape[1] - intercept:
        rule = f"have {coef.size} columns, one for each of result.coef_; its shape is"
        invalid("X", f"{rule} {np.shape(X)}")
    if intercept:
        coef = np.concatenate([np.ravel(as_floats(result.intercept_, "result.intercept_")), coef])
    if not logistic:
        iterative = getattr(result, "solver_", "") in ("lsqr", "sparse_cg", "sag", "saga", "lbfgs")
        score = response - design @ coef
        _require_solved(result, design, score, weights * coef, iterative)
        return squares_influence(coef, design, response, weights)
    if intercept and result.solver == "liblinear":  # which penalises the intercept too
        weights[0] = penalty / float(result.intercept_scaling) ** 2
    score, curvature = logistic_terms(coef, design, response)
    _require_solved(result, design, score, weights * coef, True)
    return linear_influence(coef, design, score, curvature, weights)


def _require_solved(
    result: Any, design: FloatArray, score: FloatArray, drawn: FloatArray, iterative: bool
) -> None:
    """Refuse coefficients at which ``sum_i score_i x_i`` is not `drawn`, as without weights."""
    off = np.abs(score @ design - drawn)
    deviation = np.sqrt(score**2 @ design**2)
    if getattr(result, "solver", "") in _BY_GRADIENT and hasattr(result, "classes_"):
        limit = np.maximum(_SLACK * float(result.tol) * score.size, _DIRECT * deviation)
    else:
        limit = (_ITERATIVE if iterative else _DIRECT) * deviation
    # A perfect fit leaves rounding, which the influence functions refuse by name.
    if not (off > limit + 1e-12 * (np.abs(score) @ np.abs(design))).any():
        return
    worst = int(np.argmax(off / np.where(limit > 0.0, limit, 1.0)))
    ratio = off[worst] / limit[worst] if limit[worst] else np.inf
    invalid(
        "result",
        "solve the equations of a fit without weights to these rows; the equation of its "
        f"coefficient {worst} is off by {ratio:.3g} times the limit",
        remedy="Refit without sample_weight, pass the rows that it was fitted to, and let an "
        "iterative solver converge (smaller tol, larger max_iter)",
    )


def _logistic_penalty(result: Any) -> float:
    """What multiplies ``|b|^2 / 2`` beside the sum of the log losses."""
    kind = getattr(result, "penalty", "l2")
    ratio = np.ravel(np.asarray(getattr(result, "l1_ratio_", getattr(result, "l1_ratio", 0.0))))[0]
    if kind == "l1" or (kind in ("elasticnet", "deprecated") and ratio):
        rule = "be l2 or none: an L1 penalty has no smooth equations"
        invalid("result.penalty", rule, value=kind)
    if kind is None:
        return 0.0
    return 1.0 / float(np.ravel(result.C_ if hasattr(result, "C_") else result.C)[0])


def _two_classes(y: Any, classes: Any) -> FloatArray:
    """1.0 for the second class, 0.0 for the first."""
    labels, known = np.asarray(y), np.asarray(classes)
    if known.shape != (2,):
        invalid("result.classes_", f"be two; there are {known.size}")
    require(np.isin(labels, known), labels, "y", f"be one of result.classes_, {known.tolist()}")
    return np.asarray(labels == known[1], dtype=np.float64)
