"""Scenes, files, runs and their reports."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import pytest

import drystone as ds
from drystone._progress import Progress

SCENE = """
name = "two"

[settings]
h = 0.01
T = 0.2

[[body]]
motion = "static"
shape = { type = "plane" }
mu = 0.4

[[body]]
name = "ball"
shape = { type = "sphere", r = 0.1 }
mass = 1.0
position = [0, 0, 0.1]
mu = 0.4
"""


def test_the_gallery_is_told() -> None:
    gallery = ds.scenes()
    assert {"packing", "spider", "forklift", "stack"} <= set(gallery)
    assert gallery["packing"]["parameters"]["n"]["default"]


@pytest.mark.parametrize("name", ["stack", "pendulum", "incline", "cradle", "four-bar", "slide"])
def test_gallery_scenes_step(name: str) -> None:
    scene = ds.load(name)
    assert scene.name == name and scene.duration > 0 and scene.title
    world = scene.world()
    assert world.body_count == scene.body_count
    assert world.step(3).step == 3


def test_parameters_and_settings() -> None:
    world = ds.load("stack", n=4).world(tolerance=1e-6, model="coulomb")
    assert world.body_count == 5
    assert world.settings["tolerance"] == 1e-6 and world.settings["model"] == "coulomb"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ds.load("packin"), "did you mean 'packing'"),
        (lambda: ds.load("packing", n=-1), "n"),
        (lambda: ds.load("packing", m=1), "m"),
        (lambda: ds.load("nothing.toml"), "nothing.toml"),
        (lambda: ds.load("stack").world(tolerance=-1), "tolerance: must not be below 0 m/s"),
        (lambda: ds.run("stack", time=-1.0), "time must be finite"),
        (lambda: ds.run("stack", time=1e-9), "nothing to run"),
        (lambda: ds.run("stack", solver="pgss"), "did you mean 'pgs'"),
        (lambda: ds.check("nothing.json"), "nothing.json"),
    ],
)
def test_bad_scenes_are_refused(call, text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ds.InputError) as e:
        call()
    assert text in str(e.value)


def test_a_run_ends_where_its_scene_says(tmp_path: pathlib.Path) -> None:
    scene = tmp_path / "falling.toml"
    scene.write_text(
        """
name = "falling"
[settings]
h = 0.01
T = 2
[[body]]
name = "ball"
shape = { type = "sphere", r = 0.1 }
mass = 1.0
position = [0, 0, 1]
[stop]
when = "ball.z < 0.5"
"""
    )
    result = ds.run(scene)
    # g h^2 n (n + 1) / 2 > 0.5 m first for n = 32.
    assert (result["status"], result["steps"]) == ("ok", 32)
    seen: list[float] = []
    assert ds.run(scene, callback=lambda world: seen.append(world.time), record=tmp_path / "run")["steps"] == 32
    assert len(seen) == 32


def test_files_are_read_and_checked(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(SCENE)
    assert "1 dynamic bodies and 1 others" in ds.check(str(path))
    world = ds.load(path).world()
    assert world["ball"].mass == 1.0
    path.write_text(SCENE.replace("mass = 1.0", "mass = -1.0"))
    with pytest.raises(ds.InputError, match=r"two.toml:\d+:\d+: .*mass"):
        ds.load(path)


def test_files_have_sensors(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "gate.toml"
    ball = '{ type = "sphere", r = 0.1 }'
    gate = '{ type = "box", half = [1, 1, 0.1], position = [0, 0, 0.5], sensor = true }'
    path.write_text(SCENE.replace(ball, f"[{ball}, {gate}]"))
    world = ds.load(path).world()
    other = world.add_body(ds.sphere(0.05), mass=1.0, position=[0, 0, 0.9])
    world.record_events()
    world.step(20)
    assert world["ball"].inertia[0, 0] == pytest.approx(0.4 * 0.01), "the sensor has no mass"
    assert {(e.sensor, e.other) for e in world.sensor_events} == {(world["ball"], other)}
    assert [(e.phase, e.step) for e in world.sensor_events] == [("begin", 17), ("persist", 20)]
    world.step(60)
    assert other.position[2] < 0.3, "and stops nothing"


def test_run_reports_as_the_command_does(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "out" / "report.json"
    report = ds.run("packing", n=40, steps=20, report=file, progress=False)
    assert report["status"] == "ok" and report["steps"] == 20 and report["scene"] == "packing"
    assert report["solver"]["name"] == "auto" and report["certificate"]["residual_max"] < 1e-3
    assert "packing_fraction" in report["scene_results"]
    assert json.loads(file.read_text()) == report


def test_run_is_the_world_stepped() -> None:
    report = ds.run("stack", n=3, steps=25)
    world = ds.load("stack", n=3).world()
    world.step(25)
    assert report["state_hash"] == world.state_hash


def test_run_takes_time_and_settings() -> None:
    report = ds.run("stack", n=2, time=0.1, step=0.005, tolerance=1e-6)
    assert report["steps"] == 20 and report["step_s"] == 0.005 and report["solver"]["tolerance"] == 1e-6


def test_callbacks_see_every_step() -> None:
    times: list[float] = []
    ds.run("stack", n=2, steps=7, callback=lambda world: times.append(world.time))
    assert len(times) == 7 and times == sorted(times)


def test_progress_is_told_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    ds.run("stack", n=2, steps=5, progress=True)
    told = capsys.readouterr().err
    assert "5/5 steps" in told and "contacts" in told
    ds.run("stack", n=2, steps=5)
    assert capsys.readouterr().err == "", "nothing in a pipe"


def test_progress_counts() -> None:
    bar = Progress(10, False)
    line = bar.line(5, 7, 1e-5)
    assert line.startswith("#" * 12 + "-" * 12) and "5/10" in line and "7 contacts" in line and "1.0e-05" in line


def test_control_c_stops_a_run() -> None:
    code = textwrap.dedent(
        """
        import drystone as ds
        def told(world):
            if world.steps == 2:
                print("running", flush=True)
        try:
            ds.run("packing", n=300, steps=10**6, callback=told)
        except KeyboardInterrupt as e:
            print(e.report["status"], e.report["steps"] > 1)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "running\n"
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.split() == ["interrupted", "True"]


def test_solvers_are_told() -> None:
    assert ds.solvers()["apgd"]["unit"] == "multiplication"


def test_threads_are_counted() -> None:
    assert ds.threads() >= 1
    with pytest.raises(ds.InputError, match="between 1 and 512"):
        ds.set_threads(0)
