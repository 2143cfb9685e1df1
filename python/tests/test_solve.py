"""Bare contact problems."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import scipy.sparse

import drystone as ds


def chain(n: int, seed: int = 0) -> dict[str, object]:
    """W = Dᵀ M⁻¹ D of n contacts between neighbours in a row of n + 1 bodies of different masses."""
    rng = np.random.default_rng(seed)
    inverse = 1 / rng.uniform(0.5, 2.0, n + 1)
    d = np.zeros((3 * (n + 1), 3 * n))
    for i in range(n):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        d[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = turn
        d[3 * i + 3 : 3 * i + 6, 3 * i : 3 * i + 3] = -turn
    w = d.T @ np.diag(np.repeat(inverse, 3)) @ d
    return {"W": w, "q": d.T @ rng.normal(size=3 * (n + 1)), "mu": np.full(n, 0.4)}


def project(x: np.ndarray, mu: float) -> np.ndarray:
    """Onto the friction cone, normal first."""
    n, t = x[0], np.linalg.norm(x[1:])
    if t <= mu * n:
        return x
    if mu * t <= -n:
        return np.zeros(3)
    m = (n + mu * t) / (1 + mu * mu)
    return np.array([m, *(x[1:] / t * mu * m)])


def natural(problem: dict[str, object], r: np.ndarray, coulomb: bool = False) -> float:
    w, q, mu = (np.asarray(problem[k]) for k in ("W", "q", "mu"))
    u = (w @ r + q).reshape(-1, 3)
    off = 0.0
    for k, m in enumerate(mu):
        law = u[k].copy()
        if coulomb:
            law[0] += m * np.linalg.norm(law[1:])
        own = r[3 * k : 3 * k + 3]
        off += np.sum((own - project(own - law, m)) ** 2)
    return float(np.sqrt(off) / np.linalg.norm(q))


@pytest.mark.parametrize("solver", ["auto", "pgs", "apgd", "prox", "ipm", "bb"])
def test_solutions_pass_a_judge_of_our_own(solver: str) -> None:
    problem = chain(12)
    s = ds.solve(problem, solver=solver, tolerance=1e-8)
    assert s.solved and s.status == "solved" and s.iterations > 0
    assert natural(problem, s.r) < 2e-8
    assert s.residual == pytest.approx(natural(problem, s.r), rel=1e-3, abs=1e-12)
    assert s.u == pytest.approx(np.asarray(problem["W"]) @ s.r + np.asarray(problem["q"]))


def test_exact_friction() -> None:
    problem = chain(6)
    s = ds.solve(problem, model="coulomb", tolerance=1e-8)
    assert s.solved and natural(problem, s.r, coulomb=True) < 2e-8
    assert s.report["objective"] is None and s.report["model"] == "coulomb"


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array"])
def test_sparse_matrices(form: str) -> None:
    problem = chain(8)
    full = ds.solve(problem, tolerance=1e-9)
    sparse = ds.solve({**problem, "W": getattr(scipy.sparse, form)(problem["W"])}, tolerance=1e-9)
    assert sparse.r == pytest.approx(full.r, abs=1e-12)


def test_the_certificate_is_told() -> None:
    s = ds.solve(chain(5), tolerance=1e-9)
    assert s.report["cone_violation"] < 1e-9 and s.report["duality_gap_rel"] < 1e-6
    assert s.report["contacts"] == 5 and s.report["rows"] == 15 and s.report["wall_s"] >= 0
    assert "5 contacts" in repr(s)


def test_not_to_reach_the_tolerance_is_no_error() -> None:
    s = ds.solve(chain(30), solver="pgs", tolerance=1e-12, iterations=2)
    assert not s.solved and s.status == "iterations" and s.iterations == 2


def test_contacts_in_the_plane() -> None:
    s = ds.solve({"W": np.eye(2), "q": [-1.0, 5.0], "mu": [0.5]}, tolerance=1e-10)
    # On the edge of the cone: the projection of (1, -5).
    m = (1 + 0.5 * 5) / 1.25
    assert s.r == pytest.approx([m, -0.5 * m], abs=1e-8)


def test_rolling_friction() -> None:
    q = [-1.0, 0.0, 0.0, 0.05, 0.0]
    s = ds.solve({"W": np.eye(5), "q": q, "mu": [0.5], "mu_r": [0.1]}, tolerance=1e-10)
    assert s.solved and s.r == pytest.approx([1, 0, 0, -0.05, 0], abs=1e-8)


def test_files(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ds.InputError, match="nothing.json"):
        ds.solve(tmp_path / "nothing.json")
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"W": 1}))
    with pytest.raises(ds.InputError, match="bad.json"):
        ds.solve(bad)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"q": [1.0]}, "q: must have"),
        ({"mu": [-1.0] * 4}, "mu[0]: must be finite and not negative"),
        ({"W": np.eye(5)}, "W: is 5 x 5"),
        ({"W": np.ones((12, 11))}, "W must be square"),
        ({"W": -np.eye(12)}, "not positive semidefinite"),
        ({"W": np.full((12, 12), np.nan)}, "not finite"),
        ({"weight": 3}, "a problem has no 'weight'"),
        ({"W": "x"}, "W must be an array of real numbers, got 'x'"),
        ({"mu": 0.4}, "mu must be an array of real numbers, one for each contact, got 0.4"),
        ({"q": 1}, "q must be an array of real numbers, one for each row, got 1"),
    ],
)
def test_bad_problems_are_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(ds.InputError) as e:
        ds.solve({**chain(4), **change})
    assert text in str(e.value)


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("model", "dry", "ccp"),
        ("solver", "pgss", "did you mean 'pgs'"),
        ("tolerance", -1.0, "tolerance must be finite and not negative"),
        ("budget_ms", -1.0, "budget_ms must be"),
    ],
)
def test_bad_options_are_refused(option: str, value: object, text: str) -> None:
    with pytest.raises(ds.InputError) as e:
        ds.solve(chain(2), **{option: value})  # type: ignore[arg-type]
    assert text in str(e.value)


def test_what_is_missing_is_told() -> None:
    with pytest.raises(ds.InputError, match="mu is missing"):
        ds.solve({"W": np.eye(3), "q": np.zeros(3)})


def test_a_matrix_that_is_not_symmetric_is_refused() -> None:
    q, mu = [-1.0, 0.2, 0.1], [0.5]
    for w in (np.triu(np.ones((3, 3))), [[1, 5, 0], [0, 1, 0], [0, 0, 1]]):
        with pytest.raises(ds.InputError, match="W must be symmetric"):
            ds.solve({"W": np.asarray(w, float), "q": q, "mu": mu})
    w = np.eye(3) + 0.1
    found = ds.solve({"W": w, "q": q, "mu": mu}, tolerance=1e-12)
    assert np.allclose(found.u, w @ found.r + q, atol=1e-10)


INTERRUPTED = "auto lemke pgj pgs apgd bb nncg apgs cpg nsgs-ac admm prox schur ipm"


@pytest.mark.parametrize("solver", INTERRUPTED.split())
def test_control_c_interrupts_a_solve(solver: str) -> None:
    code = textwrap.dedent(
        f"""
        import numpy as np
        import drystone as ds
        rng = np.random.default_rng(1)
        d = rng.normal(size=(240, 1200))
        problem = {{"W": d.T @ d, "q": rng.normal(size=1200), "mu": np.full(400, 0.4)}}
        print("solving", flush=True)
        try:
            while True:
                ds.solve(problem, solver={solver!r}, tolerance=0.0, iterations=10**9)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "solving\n"
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out == "interrupted\n"


@pytest.mark.parametrize("solver", ["lemke", "ipm"])
def test_a_solve_keeps_to_its_time(solver: str) -> None:
    rng = np.random.default_rng(2)
    d = rng.normal(size=(200, 900))
    problem = {"W": d.T @ d, "q": rng.normal(size=900), "mu": np.full(300, 0.4)}
    s = ds.solve(problem, solver=solver, tolerance=1e-14, iterations=10**9, budget_ms=300.0)
    assert s.status == "budget" and s.report["wall_s"] < 5.0
