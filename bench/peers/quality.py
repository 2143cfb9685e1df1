"""What a saved state is worth, computed the same way for every engine, from positions alone."""

import math
from itertools import product


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def axes(q):
    """The body's axes in the world: columns of the rotation matrix of a unit quaternion (w first)."""
    n = math.sqrt(sum(c * c for c in q))
    w, x, y, z = (c / n for c in q)
    return ((1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)),
            (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)),
            (2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)))


def to_body(frame, v):
    return tuple(dot(axis, v) for axis in frame)


def to_world(frame, v):
    return tuple(sum(frame[k][i] * v[k] for k in range(3)) for i in range(3))


class Item:
    """A shape at a place."""

    def __init__(self, what, pos, quat):
        self.shape, self.pos = what["shape"], tuple(pos)
        self.r, self.half = what.get("r"), what.get("half")
        self.frame = axes(quat) if self.shape in ("box", "plane") else None
        if self.shape not in ("sphere", "box", "plane", "none"):
            raise ValueError(f"penetration of a {self.shape} is not computed")

    def size(self):
        """The diameter that penetrations are measured by: the smallest extent."""
        return 2 * (self.r if self.shape == "sphere" else min(self.half))

    def reach(self):
        return self.r if self.shape == "sphere" else math.sqrt(dot(self.half, self.half))


def sphere_to_box(sphere, box):
    p = to_body(box.frame, sub(sphere.pos, box.pos))
    q = [abs(p[i]) - box.half[i] for i in range(3)]
    outside = math.sqrt(sum(max(c, 0.0) ** 2 for c in q))
    return outside + min(max(q), 0.0) - sphere.r


def box_to_box(a, b):
    """The largest separation over the fifteen axes: exact where the boxes overlap, a lower bound where not."""
    offset, best = sub(b.pos, a.pos), -math.inf
    edges = [cross(x, y) for x, y in product(a.frame, b.frame)]
    for axis in (*a.frame, *b.frame, *edges):
        length = math.sqrt(dot(axis, axis))
        if length < 1e-6:
            continue
        spread = sum(abs(dot(axis, i.frame[k])) * i.half[k] for i in (a, b) for k in range(3))
        best = max(best, (abs(dot(axis, offset)) - spread) / length)
    return best


def gap(a, b):
    """Signed distance; negative where two shapes overlap. The second may be a plane."""
    if b.shape == "plane":
        normal = b.frame[2]
        below = a.r if a.shape == "sphere" else sum(abs(dot(normal, a.frame[k])) * a.half[k] for k in range(3))
        return dot(normal, sub(a.pos, b.pos)) - below
    if a.shape == b.shape == "sphere":
        return math.dist(a.pos, b.pos) - a.r - b.r
    if a.shape == b.shape == "box":
        return box_to_box(a, b)
    return sphere_to_box(a, b) if a.shape == "sphere" else sphere_to_box(b, a)


def near_pairs(items):
    """Pairs whose bounding spheres may touch, by a grid of cells as large as the largest."""
    cell = 2 * max((i.reach() for i in items), default=1.0)
    grid = {}
    for n, item in enumerate(items):
        grid.setdefault(tuple(math.floor(c / cell) for c in item.pos), []).append(n)
    for key, members in grid.items():
        for shift in product((-1, 0, 1), repeat=3):
            for m in grid.get(tuple(k + s for k, s in zip(key, shift)), ()):
                for n in members:
                    if n < m:
                        yield n, m


def penetration(state, rows):
    """Overlaps at the end in % of the smaller diameter: the largest, and the mean over pairs that overlap."""
    bodies = [(Item(b, r[:3], r[3:7]), b["group"]) for b, r in zip(state["bodies"], rows) if b["shape"] != "none"]
    statics = [Item(s, s["pos"], s.get("quat", (1, 0, 0, 0))) for s in state["statics"]]
    items, depths = [i for i, _ in bodies], []
    for n, m in near_pairs(items):
        if bodies[n][1] and bodies[n][1] == bodies[m][1]:
            continue
        depths.append((-gap(items[n], items[m]), min(items[n].size(), items[m].size())))
    depths += [(-gap(i, s), i.size()) for i in items for s in statics]
    percent = [100 * d / size for d, size in depths if d > 0]
    return max(percent, default=0.0), sum(percent) / len(percent) if percent else 0.0


def drift(state, rows):
    """Largest horizontal displacement since the start, mm."""
    return 1e3 * max(math.dist(b["pos"][:2], r[:2]) for b, r in zip(state["bodies"], rows))


def creep(snaps):
    """How fast bodies get about between the last two snapshots, mm/s: the mean over bodies, as one may be rolling."""
    if len(snaps) < 2:
        return None
    (t0, before), (t1, after) = snaps[-2:]
    return 1e3 * sum(math.dist(a[:3], b[:3]) for a, b in zip(before, after)) / len(after) / (t1 - t0)


def joint_ends(state, rows, joint):
    """Anchor as carried by either body, the frames of both now, and the axis as carried by the first."""
    ends, frames = [], []
    for index in (joint["a"], joint["b"]):
        if index < 0:
            ends.append(tuple(joint["anchor"]))
            frames.append((axes((1, 0, 0, 0)),) * 2)
            continue
        body, row = state["bodies"][index], rows[index]
        start, now = axes(body["quat"]), axes(row[3:7])
        arm = to_world(now, to_body(start, sub(joint["anchor"], body["pos"])))
        ends.append(tuple(row[i] + arm[i] for i in range(3)))
        frames.append((start, now))
    start, now = frames[0]
    axis = to_world(now, to_body(start, joint["axis"]))
    return ends, frames, tuple(c / math.sqrt(dot(axis, axis)) for c in axis)


def joint_error(state, rows):
    """Largest distance between the two copies of an anchor (across the axis for a slider), mm."""
    worst = 0.0
    for joint in state["joints"]:
        (a, b), _, axis = joint_ends(state, rows, joint)
        apart = sub(b, a)
        along = dot(apart, axis) if joint["type"] == "prismatic" else 0.0
        worst = max(worst, math.sqrt(max(dot(apart, apart) - along * along, 0.0)))
    return 1e3 * worst


def command_error(state, rows):
    """Largest departure of a drive from what it is told to hold, % of the target; None where there is no drive."""
    worst = None
    for joint in state["joints"]:
        drive = joint.get("drive")
        if not drive or not drive["target"]:
            continue
        (a, b), frames, axis = joint_ends(state, rows, joint)
        motion = [rows[i][7:13] if i >= 0 else [0.0] * 6 for i in (joint["a"], joint["b"])]
        spin = sub(motion[1][3:], motion[0][3:])
        if joint["type"] == "prismatic" and drive["mode"] == "position":
            value = dot(sub(b, a), axis)
        elif joint["type"] == "prismatic":
            carried = sub(b, rows[joint["a"]][:3]) if joint["a"] >= 0 else b
            arm = sub(b, rows[joint["b"]][:3]) if joint["b"] >= 0 else b
            speed = [motion[1][k] + cross(motion[1][3:], arm)[k] - motion[0][k] - cross(motion[0][3:], carried)[k]
                     for k in range(3)]
            value = dot(speed, axis)
        elif drive["mode"] == "velocity":
            value = dot(spin, axis)
        else:
            value = angle(frames, axis)
        worst = max(worst or 0.0, 100 * abs(value - drive["target"]) / abs(drive["target"]))
    return worst


def angle(frames, axis):
    """How far the second body has turned about the axis relative to the first since the start."""
    (start_a, now_a), (start_b, now_b) = frames
    helper = (1.0, 0.0, 0.0) if abs(axis[0]) < 0.9 else (0.0, 1.0, 0.0)
    u = cross(axis, helper)
    # u as the first body carries it, taken back to the start, then as the second body carries it.
    origin = to_world(start_a, to_body(now_a, u))
    turned = to_world(now_b, to_body(start_b, origin))
    return math.atan2(dot(axis, cross(u, turned)), dot(u, turned))
