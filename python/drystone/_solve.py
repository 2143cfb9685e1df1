"""Bare contact problems: u = W r + q, r in the friction cones, u in their duals."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _drystone
from ._drystone import Solution
from ._errors import ArgumentError, InputError


def _real(name: str, x: Any) -> NDArray[np.float64]:
    """Real numbers, from anything that NumPy makes an array of."""
    try:
        found = np.asarray(x)
        if not found.size or found.dtype.kind in "fiub":
            return found.astype(np.float64)
    except ValueError:
        pass
    raise ArgumentError(f"{name} must be an array of real numbers, got {str(x)[:80]!r}")


def _rows(w: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int]:
    """W in compressed sparse rows, from SciPy's sparse matrices or anything that NumPy takes."""
    if hasattr(w, "tocsr"):
        csr = w.tocsr()
        if csr.shape[0] != csr.shape[1]:
            raise InputError(f"W must be square, got {csr.shape[0]} x {csr.shape[1]}")
        return (
            np.ascontiguousarray(csr.indptr, dtype=np.int64),
            np.ascontiguousarray(csr.indices, dtype=np.int64),
            np.ascontiguousarray(_real("W", csr.data)),
            int(csr.shape[1]),
        )
    full = _real("W", w)
    if full.ndim != 2 or full.shape[0] != full.shape[1]:
        raise InputError(f"W must be square, got the shape {full.shape}")
    rows, columns = np.nonzero(full)
    counts = np.bincount(rows, minlength=full.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, columns.astype(np.int64), full[rows, columns], full.shape[1]


def solve(
    problem: str | os.PathLike[str] | Mapping[str, Any],
    *,
    model: Literal["ccp", "coulomb"] = "ccp",
    solver: str = "auto",
    tolerance: float = 1e-6,
    iterations: int = 100_000,
    budget_ms: float | None = None,
    kind: Literal["fc", "gfc", "rfc", "grfc"] | None = None,
) -> Solution:
    """Solves a contact problem from a file (.json, .json.gz, .dat, .hdf5), or given as a mapping with

    - ``W``: a square array, or a SciPy sparse matrix, three rows for each contact, normal first (two in the plane, five with rolling
      friction),
    - ``q``: as many numbers,
    - ``mu``: the coefficient of friction of each contact,
    - ``mu_r``: of rolling friction, where there is some.

    `kind` is what a file's problem is, where it does not say so; a mapping says it itself.
    `tolerance` is the largest |r - P(r - u)| / |q| to accept, over all contacts; 0 runs all iterations. Not to reach it is no error:
    see ``Solution.solved``.

    >>> import drystone as ds, numpy as np
    >>> block = {"W": np.eye(3), "q": [-1.0, 0.2, 0.0], "mu": [0.5]}
    >>> s = ds.solve(block, tolerance=1e-12)
    >>> s.solved, np.round(s.r, 6).tolist()
    (True, [1.0, -0.2, 0.0])
    """
    if not isinstance(problem, Mapping):
        if not isinstance(problem, (str, os.PathLike)):
            raise ArgumentError(f"problem must be a path or a mapping, got {str(problem)[:80]}")
        return _drystone.solve_file(os.fspath(problem), kind, model, solver, tolerance, iterations, budget_ms)
    _drystone.check_kind(kind)
    unknown = set(problem) - {"W", "q", "mu", "mu_r"}
    if unknown:
        raise InputError(f"a problem has no '{sorted(unknown)[0]}' (valid: W, q, mu, mu_r)")
    for key in ("W", "q", "mu"):
        if key not in problem:
            raise InputError(f"{key} is missing")

    def column(key: str) -> NDArray[np.float64]:
        given = _real(key, problem.get(key, ()))
        if given.ndim == 0:
            raise ArgumentError(f"{key} must be an array of real numbers, one for each {'row' if key == 'q' else 'contact'}, got {given}")
        return np.ascontiguousarray(given).reshape(-1)

    indptr, indices, data, columns = _rows(problem["W"])
    q, mu, mu_r = column("q"), column("mu"), column("mu_r")
    return _drystone.solve_matrix(
        indptr, indices, data, columns, q, mu, mu_r, model, solver, tolerance, iterations, budget_ms
    )
