"""The examples run and do what they say."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["Spider", "Forklift"])
def test_environments_keep_the_rules(name: str) -> None:
    from gymnasium.utils.env_checker import check_env

    env: Any = getattr(example("environments"), name)(steps=2, episode=5)
    check_env(env, skip_render_check=True)
    env.reset(seed=0)
    ends = [env.step(env.action_space.sample())[3] for _ in range(5)]
    assert ends == [False] * 4 + [True]


def test_the_forklift_drives_up_to_the_pallet() -> None:
    env: Any = example("environments").Forklift(episode=50)
    env.reset(seed=0)
    away = env._distance()
    total = sum(env.step(np.array([1.0, 0.0, -1.0]))[1] for _ in range(16))
    assert total > 0.15 and env._distance() == pytest.approx(away - total)


def test_a_restart_is_the_same_run() -> None:
    env: Any = example("environments").Spider(episode=9)
    runs = []
    for _ in range(2):
        seen, _ = env.reset(seed=0)
        env.action_space.seed(3)
        rows = [seen] + [env.step(env.action_space.sample())[0] for _ in range(4)]
        runs.append(np.stack(rows))
    assert np.array_equal(runs[0], runs[1]), "bit for bit"


def executed(name: str) -> list[str]:
    """What the cells of a notebook print and return, after it was run; the run is left for the documentation."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    folder = EXAMPLES.parents[1] / "target/notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / name)
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    texts = [out["data"].get("text/plain", "") for out in outputs if "data" in out]
    pictures = ["picture" for out in outputs if "image/png" in out.get("data", {})]
    pages = ["page" for out in outputs if "<iframe" in out.get("data", {}).get("text/html", "")]
    return texts + pictures + pages + [out["text"] for out in outputs if out.get("output_type") == "stream"]


def test_the_notebook_of_a_heap_runs() -> None:
    texts = executed("packing.ipynb")
    assert any("steps" in text and "residual" in text for text in texts), "the bar is shown in notebooks"
    assert any("'ok', True" in text for text in texts), texts


def test_the_notebook_of_a_hopper_runs() -> None:
    pytest.importorskip("matplotlib")
    texts = executed("hopper.ipynb")
    assert texts.count("picture") == 2
    assert any("rates rise with the slot: True" in text for text in texts), texts


def test_the_notebook_of_a_gripper_runs() -> None:
    pytest.importorskip("matplotlib")
    texts = executed("gripper.ipynb")
    assert texts.count("picture") == 1 and texts.count("page") == 1
    assert any("lifted by 0.2" in text for text in texts) and any("lost: True" in text for text in texts), texts
