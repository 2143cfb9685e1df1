"""Steps a flat state with MuJoCo: mujoco_runner.py default|accurate STATE.json OUT.json (see README.md)."""

import json
import sys
import time

import mujoco
import numpy as np


class Unsupported(Exception):
    """The state holds what this runner, or MuJoCo, cannot do."""


def numbers(values):
    return " ".join(repr(float(v)) for v in values)


def rotate(q, v):
    out = np.zeros(3)
    mujoco.mju_rotVecQuat(out, np.array(v, float), np.array(q, float))
    return out


def conjugate(q):
    return np.array([q[0], -q[1], -q[2], -q[3]], float)


def relative(parent, body):
    """Pose of a body in its parent's frame, both given in the world."""
    inverse, quat = conjugate(parent["quat"]), np.zeros(4)
    mujoco.mju_mulQuat(quat, inverse, np.array(body["quat"], float))
    return rotate(inverse, np.subtract(body["pos"], parent["pos"])), quat


def geom(item):
    if item["shape"] == "none":
        return ""
    if item["shape"] == "sphere":
        return f'<geom type="sphere" size="{item["r"]!r}"/>'
    if item["shape"] == "box":
        return f'<geom type="box" size="{numbers(item["half"])}"/>'
    raise Unsupported(f'shape {item["shape"]}')


def tree(state):
    """For each body the index of the joint that hangs it on its parent, or None where it moves freely; children by parent."""
    hung, children = [None] * len(state["bodies"]), {}
    for i, joint in enumerate(state["joints"]):
        child, parent = joint["b"], joint["a"]
        if child < 0 or hung[child] is not None:
            raise Unsupported("loops of joints")
        hung[child] = i
        children.setdefault(parent, []).append(child)
    return hung, children


def body_xml(state, index, hung, children, parent):
    body, joint = state["bodies"][index], None if hung[index] is None else state["joints"][hung[index]]
    if parent is None:
        pos, quat = body["pos"], body["quat"]
    else:
        pos, quat = relative(parent, body)
    if joint is None:
        hinge = f'<freejoint name="j{index}"/>'
    elif joint["type"] == "fixed":
        hinge = ""
    else:
        kind = {"revolute": "hinge", "prismatic": "slide", "ball": "ball"}.get(joint["type"])
        if kind is None:
            raise Unsupported(f'joint {joint["type"]}')
        inverse = conjugate(body["quat"])
        anchor = rotate(inverse, np.subtract(joint["anchor"], body["pos"]))
        hinge = f'<joint name="j{index}" type="{kind}" pos="{numbers(anchor)}" axis="{numbers(rotate(inverse, joint["axis"]))}"/>'
    if joint is not None and any(body["vel"]) | any(body["omega"]):
        raise Unsupported("jointed bodies that move at the start")
    inside = "".join(body_xml(state, c, hung, children, body) for c in children.get(index, []))
    inertial = f'<inertial pos="0 0 0" mass="{body["m"]!r}" diaginertia="{numbers(body["I"])}"/>'
    return f'<body name="b{index}" pos="{numbers(pos)}" quat="{numbers(quat)}">{hinge}{inertial}{geom(body)}{inside}</body>'


def actuator(joint, child):
    drive = joint["drive"]
    common = f'joint="j{child}" forcelimited="true" forcerange="{-drive["fmax"]!r} {drive["fmax"]!r}"'
    if drive["mode"] == "velocity":
        # MuJoCo clamps the servo's force after computing it: with a larger gain it bounces between the clamps.
        gain = min(drive["kd"], drive["fmax"] / max(abs(drive["target"]), 1e-9))
        return f'<velocity {common} kv="{gain!r}"/>'
    return f'<position {common} kp="{drive["kp"]!r}" kv="{drive["kd"]!r}"/>'


def model_xml(state, setting):
    hung, children = tree(state)
    roots = [i for i, j in enumerate(hung) if j is None] + children.get(-1, [])
    bodies = "".join(body_xml(state, i, hung, children, None) for i in roots)
    statics = ""
    for s in state["statics"]:
        where = f'pos="{numbers(s["pos"])}" quat="{numbers(s.get("quat", [1, 0, 0, 0]))}"'
        form = 'type="plane" size="0 0 1"' if s["shape"] == "plane" else f'type="box" size="{numbers(s["half"])}"'
        statics += f"<geom {form} {where}/>"
    groups = {}
    for i, body in enumerate(state["bodies"]):
        groups.setdefault(body["group"], []).append(i)
    excludes = "".join(
        f'<exclude body1="b{a}" body2="b{b}"/>'
        for group, members in groups.items() if group
        for k, a in enumerate(members) for b in members[k + 1:])
    driven = [(j, j["b"]) for j in state["joints"] if j["drive"]]
    h, contact, options = state["h"], "", ""
    if setting not in ("default", "cg", "accurate"):
        raise Unsupported(f"setting {setting}: default, cg or accurate")
    if setting == "cg" or setting == "accurate" and len(state["bodies"]) > 200 and not driven:
        options += 'solver="CG" '
    if setting == "accurate":
        contact = f'solref="{2 * h!r} 1" solimp="0.99 0.9999 0.001 0.5 2"'
        options += 'cone="elliptic" impratio="10" tolerance="1e-10" iterations="200"'
    if driven:  # Stiff drives diverge under MuJoCo's default explicit damping.
        options += ' integrator="implicitfast"'
    return f"""<mujoco><compiler angle="radian"/><size memory="2G"/>
<option timestep="{h!r}" gravity="{numbers(state["gravity"])}" {options}/>
<default><geom condim="3" friction="{state["mu"]!r} 0.005 0.0001" {contact}/></default>
<worldbody>{statics}{bodies}</worldbody><contact>{excludes}</contact>
<actuator>{"".join(actuator(*d) for d in driven)}</actuator></mujoco>""", [d[0]["drive"]["target"] for d in driven]


def rows(model, data, ids):
    # Positions lag one step behind qpos until the kinematics are run again.
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_comVel(model, data)
    out, velocity = [], np.zeros(6)
    for i in ids:
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, i, velocity, 0)
        out.append([*data.xpos[i], *data.xquat[i], *velocity[3:], *velocity[:3]])
    return out


def friction_excess(model, data):
    """Largest friction force beyond mu times the normal force, N."""
    excess, force = 0.0, np.zeros(6)
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, force)
        excess = max(excess, float(np.hypot(force[1], force[2]) - data.contact[i].friction[0] * force[0]))
    return excess


def run(state, setting):
    state.setdefault("joints", [])
    if state["restitution"]:
        raise Unsupported("restitution")
    xml, targets = model_xml(state, setting)
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    ids = [model.body(f"b{i}").id for i in range(len(state["bodies"]))]
    for i, body in enumerate(state["bodies"]):
        if any(body["vel"]) or any(body["omega"]):
            at = model.joint(f"j{i}").dofadr[0]
            data.qvel[at:at + 3] = body["vel"]
            data.qvel[at + 3:at + 6] = rotate(conjugate(body["quat"]), body["omega"])
    data.ctrl[:] = targets
    steps, snaps, laps = round(state["T"] / state["h"]), [], []
    due = {round(t / state["h"]) for t in state.get("snaps", [])} | {steps}
    excess = 0.0
    for step in range(1, steps + 1):
        before = time.process_time()
        mujoco.mj_step(model, data)
        laps.append((time.process_time() - before) * 1e3)
        if step == steps:
            excess = friction_excess(model, data)
        if step in due:
            snaps.append([step * state["h"], rows(model, data, ids)])
    if not np.isfinite(data.qpos).all() or data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
        raise Unsupported("the simulation diverged")
    last = laps[-100:]
    return {"engine": "mujoco", "setting": setting, "scene": state["name"], "threads": 1, "steps": steps, "cut": False,
            "cpu_last100": sum(last) / len(last), "cpu_all": sum(laps) / len(laps), "snaps": snaps,
            "extra": {"contacts": int(data.ncon), "friction_excess_n": max(excess, 0.0)}}


def main():
    setting, source, target = sys.argv[1:]
    with open(source) as file:
        state = json.load(file)
    try:
        result = run(state, setting)
    except Unsupported as what:
        sys.exit(f"mujoco: not supported: {what}")
    with open(target, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
