"""Leakage of estimates by the printed formulas, corrected where they are wrong.

========  ===================================================================
Symbol    Meaning
========  ===================================================================
I, Sigma  influence functions (rows) and their covariance
L         influence function of a row on the estimate from the others
psi, V    terms of the estimating equations, and their mean derivative
theta0    the root of the expected equations
n, N      rows of a release, and of the table
========  ===================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["leakage_scores", "logistic_leakage_scores", "printed_score", "z_score"]


def leakage_scores(
    influence: Any, leave_one_out: Any, n: int | None = None, noise: Any = 0.0
) -> npt.NDArray[np.float64]:
    """``L^T (Sigma_others + n R)^-1 L / n``, the covariance of the others computed for each row."""
    influence, leave_one_out = np.asarray(influence), np.asarray(leave_one_out)
    rows, d = influence.shape
    n = rows if n is None else n
    added = n * (noise * np.eye(d) if np.ndim(noise) < 2 else np.asarray(noise))
    result = np.empty(rows)
    for i in range(rows):
        others = np.delete(influence, i, axis=0)
        cov = np.atleast_2d(np.cov(others, rowvar=False)) + added
        result[i] = leave_one_out[i] @ np.linalg.inv(cov) @ leave_one_out[i] / n
    return result


def logistic_leakage_scores(X: Any, y: Any, theta: Any) -> npt.NDArray[np.float64]:
    """Scores of the rows of a logistic regression without penalty, the design X as it is."""
    X, y = np.asarray(X), np.asarray(y)
    n = X.shape[0]
    p = 1.0 / (1.0 + np.exp(-(X @ theta)))
    inverse = np.linalg.inv((X * (p * (1.0 - p))[:, None]).T @ X / n)
    influence = (X * (y - p)[:, None]) @ inverse
    leverage = p * (1.0 - p) * np.einsum("ij,jk,ik->i", X, inverse, X) / n
    return leakage_scores(influence, influence / (1.0 - leverage)[:, None])


def z_score(psi: Any, V: Any, second_moment: Any, theta0: Any, estimates: Any, n: int) -> Any:
    """``I^T Sigma^-1 (estimate - theta0) - I^T Sigma^-1 I / (2 n)``."""
    inverse = np.linalg.inv(V)
    influence = -inverse @ psi
    weights = np.linalg.inv(inverse @ second_moment @ inverse.T) @ influence
    return (np.asarray(estimates) - theta0) @ weights - influence @ weights / (2 * n)


def printed_score(psi: Any, V: Any, theta0: Any, estimates: Any, n: int) -> Any:
    """As [AB25] prints it: theta0 subtracted from ``V^-1 psi``, V in the place of Sigma."""
    shifted = np.linalg.solve(V, psi) - theta0
    weights = np.linalg.solve(V, shifted)
    centred = np.asarray(estimates) - theta0
    return centred @ np.linalg.inv(V).T @ shifted - shifted @ weights / (2 * n)
