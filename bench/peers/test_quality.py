"""States whose figures are known by hand: python3 -m unittest test_quality."""

import math
import unittest

import quality

UPRIGHT = [1, 0, 0, 0]
STILL = [0.0] * 6


def sphere(r, group=0):
    return {"shape": "sphere", "r": r, "pos": [0, 0, 0], "quat": UPRIGHT, "group": group}


def box(half, pos=(0, 0, 0), group=0):
    return {"shape": "box", "half": half, "pos": list(pos), "quat": UPRIGHT, "group": group}


def turned(degrees, axis):
    half = math.radians(degrees) / 2
    return [math.cos(half), *(math.sin(half) * c for c in axis)]


def row(pos, quat=UPRIGHT, velocity=STILL):
    return [*pos, *quat, *velocity]


def state(bodies, statics=(), joints=()):
    return {"bodies": bodies, "statics": list(statics), "joints": list(joints)}


class Penetration(unittest.TestCase):
    def check(self, bodies, rows, largest, mean, statics=()):
        found = quality.penetration(state(bodies, statics), rows)
        self.assertAlmostEqual(found[0], largest, places=9)
        self.assertAlmostEqual(found[1], mean, places=9)

    def test_spheres_across_grid_cells(self):
        # Overlaps of 1 % and 3 % of the smaller diameter; the last pair is apart.
        rows = [row((-0.1, 0, 0)), row((1.88, 0, 0)), row((1.88, 2.94, 0)), row((-4, 0, 0))]
        self.check([sphere(1), sphere(1), sphere(2), sphere(1)], rows, 3.0, 2.0)

    def test_a_group_does_not_overlap_itself(self):
        rows = [row((0, 0, 0)), row((1, 0, 0))]
        self.check([sphere(1, 7), sphere(1, 7)], rows, 0.0, 0.0)
        self.check([sphere(1, 7), sphere(1, 8)], rows, 50.0, 50.0)

    def test_sphere_on_a_turned_static_box(self):
        static = {"shape": "box", "half": [1, 1, 1], "pos": [0, 0, 0], "quat": turned(45, (0, 1, 0))}
        self.check([sphere(0.5)], [row((0, 0, math.sqrt(2) + 0.49))], 1.0, 1.0, [static])

    def test_box_tilted_into_a_plane(self):
        plane = {"shape": "plane", "half": [9, 9, 1], "pos": [0, 0, 2]}
        tilted = row((0, 0, 2 + 0.5 * math.sqrt(2) - 0.02), turned(45, (1, 0, 0)))
        self.check([box([3, 0.5, 0.5])], [tilted], 2.0, 2.0, [plane])

    def test_boxes_edge_to_edge(self):
        # Only the axis across both edges tells these apart.
        a, b = turned(45, (1, 0, 0)), turned(45, (0, 1, 0))
        for apart, largest in ((2 * math.sqrt(2) - 0.02, 1.0), (2 * math.sqrt(2) + 0.02, 0.0)):
            rows = [row((0, 0, 0), a), row((0, 0, apart), b)]
            self.check([box([9, 1, 1]), box([1, 9, 1])], rows, largest, largest)


class Motion(unittest.TestCase):
    def test_drift_is_horizontal_and_creep_a_mean(self):
        bodies = [sphere(1), sphere(1)]
        before, after = [row((0, 0, 0)), row((0, 0, 0))], [row((0.003, 0.004, 5)), row((0, 0, 0))]
        self.assertAlmostEqual(quality.drift(state(bodies), after), 5.0)
        after[0][2] = 0
        self.assertAlmostEqual(quality.creep([[1.0, before], [3.0, after]]), 1.25)


class Joints(unittest.TestCase):
    def setUp(self):
        self.bodies = [box([1, 1, 1]), box([1, 1, 1], (2, 0, 0))]

    def joint(self, kind, drive=None, axis=(0, 0, 1)):
        return state(self.bodies, joints=[
            {"type": kind, "a": 0, "b": 1, "anchor": [1, 0, 0], "axis": list(axis), "drive": drive}])

    def test_error_of_a_pin_and_of_a_slider(self):
        # Everything is turned by 90 degrees about z, and the second body moved along x and y.
        q = turned(90, (0, 0, 1))
        rows = [row((0, 0, 0), q), row((0.003, 2.004, 0), q)]
        self.assertAlmostEqual(quality.joint_error(self.joint("revolute"), rows), 5.0)
        self.assertAlmostEqual(quality.joint_error(self.joint("prismatic", axis=(1, 0, 0)), rows), 3.0)

    def test_drives(self):
        self.assertIsNone(quality.command_error(self.joint("revolute"), [row((0, 0, 0)), row((2, 0, 0))]))
        hinge = {"mode": "position", "target": 0.5}
        q = turned(math.degrees(0.4), (0, 0, 1))
        rows = [row((0, 0, 0)), row((1 + math.cos(0.4), math.sin(0.4), 0), q)]
        self.assertAlmostEqual(quality.command_error(self.joint("revolute", hinge), rows), 20.0)
        wheel = {"mode": "velocity", "target": 2.0}
        rows = [row((0, 0, 0), velocity=[0, 0, 0, 0, 0, 1]), row((2, 0, 0), velocity=[0, 1, 0, 0, 0, 2.5])]
        self.assertAlmostEqual(quality.command_error(self.joint("revolute", wheel), rows), 25.0)

    def test_a_slider_on_a_turning_body_is_not_seen_moving(self):
        lift = {"mode": "velocity", "target": 0.1}
        spin = [0, 0, 0, 0, 1.0, 0]
        # Both turn about y through the origin at 1 rad/s: the second one's centre goes down at 2 m/s.
        rows = [row((0, 0, 0), velocity=spin), row((2, 0, 0), velocity=[0, 0, -2 + 0.1, 0, 1.0, 0])]
        self.assertAlmostEqual(quality.command_error(self.joint("prismatic", lift), rows), 0.0)


if __name__ == "__main__":
    unittest.main()
