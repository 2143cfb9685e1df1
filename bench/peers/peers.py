#!/usr/bin/env python3
"""Rival engines beside drystone on the same flat states: one interleaved run, one table. See README.md."""

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import quality

HERE = Path(__file__).resolve().parent
REFERENCE = ("Rapier f32", "default")
# The drystone options of each setting; what the others mean by theirs is in their runners.
DRYSTONE = {"default": [], "fast": ["--iterations", "20"], "accurate": ["--iterations", "1000"]}
COLUMNS = [("cpu_ms", "CPU ms/step"), ("ratio", "ratio"), ("spread", "± %"), ("pen_max", "pen max %"), ("pen_mean", "pen mean %"),
           ("drift_mm", "drift mm"), ("creep_mm_s", "creep mm/s"), ("cone_percent", "cone %"), ("joint_mm", "joint mm"),
           ("command_percent", "command %")]


class Cannot(Exception):
    """An engine did not do a scene; the text says why."""


class Contestant:
    """An engine at a setting: a command that reads a flat state and writes snapshots."""

    def __init__(self, engine, setting, command, report=False):
        self.engine, self.setting, self.command, self.report = engine, setting, command, report

    def run(self, scene, folder, options):
        """Steps a scene once; returns its snapshots, with the friction excess in N as `extra` has it or from the report."""
        out, report = folder / "out.json", folder / "report.json"
        out.unlink(missing_ok=True)
        command = [str(c) for c in self.command(scene, out, report)]
        if options.nice:
            command = ["nice", "-n", str(options.nice), *command]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit)
        except subprocess.TimeoutExpired:
            raise Cannot(f"took over {options.limit:g} s")
        except OSError as error:
            raise Cannot(str(error))
        if done.returncode:
            raise Cannot((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1])
        result = json.loads(out.read_text())
        if self.report:
            certificate = json.loads(report.read_text())["certificate"]
            if certificate["cone_violation_last"] is not None:  # an impulse, N s
                result["extra"]["friction_excess_n"] = certificate["cone_violation_last"] / options.step
        return result


def contestants(options):
    def drystone(setting):
        return Contestant("drystone", setting, report=True, command=lambda scene, out, report: [
            options.drystone, "run", scene, "--threads", 1, "--quiet", "--snapshots", out, "--report", report,
            *DRYSTONE[setting]])

    def rapier(precision, setting):
        return Contestant(f"Rapier {precision}", setting,
                          lambda scene, out, _: [options.rapier, precision, setting, scene, out])

    def box3d(setting):
        return Contestant("Box3D", setting, lambda scene, out, _: [options.box3d, setting, scene, out])

    def jolt(setting):
        return Contestant("Jolt", setting, lambda scene, out, _: [options.jolt, setting, scene, out])

    def mujoco(setting):
        return Contestant("MuJoCo", setting, lambda scene, out, _: [
            options.mujoco_python, HERE / "mujoco_runner.py", setting, scene, out])

    everyone = [drystone("default"), rapier("f32", "default"), drystone("fast"), drystone("accurate"),
                rapier("f32", "accurate"), rapier("f64", "default"), rapier("f64", "accurate"), box3d("default"),
                box3d("accurate"), jolt("default"), jolt("accurate"), mujoco("default"), mujoco("cg"), mujoco("accurate")]
    wanted = [w.strip().lower() for w in options.engines.split(",")]
    chosen = [c for c in everyone if any(f"{c.engine} {c.setting}".lower().startswith(w) for w in wanted)]
    if not chosen:
        raise SystemExit(f"--engines {options.engines}: none of " + ", ".join(f"{c.engine} {c.setting}" for c in everyone))
    return chosen


def judge(state, result):
    """Quality of the last saved state; nothing here depends on the engine."""
    rows, jointed = result["snaps"][-1][1], bool(state.get("joints"))
    deepest, mean = quality.penetration(state, rows)
    weight = statistics.mean(b["m"] for b in state["bodies"]) * sum(g * g for g in state["gravity"]) ** 0.5
    excess = result["extra"].get("friction_excess_n")
    return {
        "pen_max": deepest, "pen_mean": mean,
        # Vehicles are meant to move.
        "drift_mm": None if jointed else quality.drift(state, rows),
        "creep_mm_s": None if jointed else quality.creep(result["snaps"]),
        "cone_percent": None if excess is None or not weight else 100 * excess / weight,
        "joint_mm": quality.joint_error(state, rows) if jointed else None,
        "command_percent": quality.command_error(state, rows) if jointed else None,
    }


def measure(scene, options, field):
    """Rounds over all contestants on one scene, one after the other; each round begins with another of them."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        plain = folder / scene.name.removesuffix(".gz")
        with (gzip.open if scene.suffix == ".gz" else open)(scene, "rb") as source, open(plain, "wb") as target:
            shutil.copyfileobj(source, target)
        state = json.loads(plain.read_text())
        options.step = state["h"]
        rows = [{"scene": state["name"], "engine": c.engine, "setting": c.setting, "cpu_rounds": []} for c in field]
        for turn in range(options.rounds):
            order = [(turn + k) % len(field) for k in range(len(field))]
            for contestant, row in ((field[i], rows[i]) for i in order):
                if "cannot" in row or row.get("wall_s", 0) > options.once:
                    continue
                note(f"{state['name']}: round {turn + 1}, {contestant.engine} {contestant.setting}")
                before = time.monotonic()
                try:
                    result = contestant.run(plain, folder, options)
                    row["wall_s"] = time.monotonic() - before
                    row["cpu_rounds"].append(result["cpu_last100"])
                    if "pen_max" not in row:
                        row.update(judge(state, result), steps=result["steps"], contacts=result["extra"].get("contacts"))
                except Cannot as why:
                    row["cannot"] = str(why)
                except ValueError as why:
                    row["cannot"] = f"not judged: {why}"
    for row in rows:
        if "cannot" not in row:
            row["cpu_ms"] = statistics.median(row["cpu_rounds"])
            half_range = (max(row["cpu_rounds"]) - min(row["cpu_rounds"])) / 2
            row["spread"] = 100 * half_range / row["cpu_ms"] if len(row["cpu_rounds"]) > 1 else None
    reference = next((r["cpu_rounds"] for r in rows if (r["engine"], r["setting"]) == REFERENCE), [])
    for row in rows:
        pairs = [mine / its for mine, its in zip(row["cpu_rounds"], reference)]
        row["ratio"] = statistics.median(pairs) if pairs and "cannot" not in row else None
    return rows


def cell(value):
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if value == 0:
        return "0"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"


def table(rows, header=True):
    """Markdown; an engine that cannot do a scene says why in its row."""
    titles = ["scene", "engine", "setting"] + [title for _, title in COLUMNS]
    lines = ["| " + " | ".join(titles) + " |", "|---|---|---" + "|--:" * len(COLUMNS) + "|"] if header else []
    for row in rows:
        if "cannot" in row:
            cells = ["cannot: " + row["cannot"].replace("|", "/")] + [""] * (len(COLUMNS) - 1)
        else:
            cells = [cell(row.get(key)) for key, _ in COLUMNS]
        lines.append("| " + " | ".join([row["scene"], row["engine"], row["setting"], *cells]) + " |")
    return "\n".join(lines)


def note(text):
    print(text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", type=Path, help="folder of flat states (.json, .json.gz)")
    parser.add_argument("names", nargs="*", help="scenes by file name, without its ending [default: all in the folder]")
    parser.add_argument("--engines", default="drystone,rapier,box3d,jolt,mujoco", help="beginnings of `engine setting`, by commas")
    parser.add_argument("--rounds", type=int, default=5, help="times each engine runs a scene; the median counts")
    parser.add_argument("--once", type=float, default=20, metavar="S", help="an engine slower than this runs a scene once")
    parser.add_argument("--limit", type=float, default=300, metavar="S", help="longest run of one engine on one scene")
    parser.add_argument("--nice", type=int, help="niceness of every engine alike (below 0 needs rights)")
    parser.add_argument("--drystone", default=HERE / "../../target/release/drystone")
    parser.add_argument("--rapier", default=HERE / "rapier/target/release/peer-rapier")
    parser.add_argument("--box3d", default=HERE / "box3d/target/release/peer-box3d")
    parser.add_argument("--jolt", default=HERE / "jolt/target/release/peer-jolt")
    parser.add_argument("--mujoco-python", default=HERE / "venv/bin/python", help="a Python that can import mujoco")
    parser.add_argument("--report", type=Path, metavar="FILE.json", help="all rounds and figures")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def find(options):
    files = {f.name.removesuffix(".gz").removesuffix(".json"): f
             for f in sorted(options.scenes.glob("*.json*")) if f.name.endswith((".json", ".json.gz"))}
    unknown = [n for n in options.names if n not in files]
    if unknown or not files:
        raise SystemExit(f"{options.scenes}: no {', '.join(unknown) or 'flat states'} among {', '.join(files) or 'its files'}")
    return [files[n] for n in options.names or files]


def main():
    options = arguments()
    field, rows = contestants(options), []
    # One thread each: engines that would start a pool of their own are told not to.
    os.environ.update(OMP_NUM_THREADS="1", RAYON_NUM_THREADS="1")
    for k, scene in enumerate(find(options)):
        found = measure(scene, options, field)
        print(table(found, header=k == 0), flush=True)
        rows += found
        if options.report:
            options.report.write_text(json.dumps({"command": sys.argv, "rounds": options.rounds, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
