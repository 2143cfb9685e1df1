"""Gymnasium environments of two scenes of the gallery: a walking spider, and a forklift that fetches a pallet.

    pip install gymnasium
    python environments.py
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

import drystone as ds

Floats = NDArray[np.float64]


class Environment(gymnasium.Env[Floats, Floats]):
    """A scene whose motors an agent commands."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, scene: str, motors: list[str], scale: list[float], *, steps: int, episode: int) -> None:
        self.world = ds.load(scene).world()
        self.motors = [self.world.joint(name) for name in motors]
        self.scale = np.asarray(scale)
        self.steps = steps
        self.episode = episode
        self._start = self.world.save_state()
        self._acts = 0
        size = self.observe().shape
        self.action_space = spaces.Box(-1.0, 1.0, (len(motors),), np.float64)
        self.observation_space = spaces.Box(-np.inf, np.inf, size, np.float64)

    def observe(self) -> Floats:
        """What the agent sees."""
        raise NotImplementedError

    def command(self, action: Floats) -> None:
        """What an action from -1 to 1 does to the motors."""
        raise NotImplementedError

    def reward(self) -> float:
        """How good the last action was."""
        raise NotImplementedError

    def failed(self) -> bool:
        """Whether the episode is lost."""
        return False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Back to the start."""
        super().reset(seed=seed)
        self.world.restore(self._start)
        self._acts = 0
        return self.observe(), {}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """One action for some steps of the world."""
        self.command(self.scale * np.clip(action, -1.0, 1.0))
        report = self.world.step(self.steps)
        self._acts += 1
        told = {"residual": report.residual, "contacts": report.contacts}
        return self.observe(), self.reward(), self.failed(), self._acts >= self.episode, told


class Spider(Environment):
    """Six legs, twelve motors that hold angles (hips and femurs, rad). The reward is the way forward, m, less what turning over costs."""

    def __init__(self, *, steps: int = 5, episode: int = 200) -> None:
        legs = range(6)
        motors = [f"hip {k}" for k in legs] + [f"femur {k}" for k in legs]
        self._x = 0.0
        super().__init__("spider", motors, [0.5] * 6 + [0.4] * 6, steps=steps, episode=episode)
        self.trunk = self.world["trunk"]

    def observe(self) -> Floats:
        trunk = self.world["trunk"]
        angles = [joint.coordinates[0] for joint in self.motors]
        rates = [joint.rates[0] for joint in self.motors]
        own = [trunk.position[2:], trunk.rotation, trunk.velocity, trunk.angular_velocity]
        return np.concatenate([*own, angles, rates])

    def command(self, action: Floats) -> None:
        self._x = float(self.trunk.position[0])
        for joint, angle in zip(self.motors, action, strict=True):
            joint.set_motor(position=float(angle), limit=2.0)

    def reward(self) -> float:
        return float(self.trunk.position[0]) - self._x

    def failed(self) -> bool:
        """It lies on its back: its own z axis points down."""
        w, x, y, z = self.trunk.rotation
        return bool(1 - 2 * (x * x + y * y) < 0)


class Forklift(Environment):
    """Drive (rad/s), steering (rad) and lift (m) of a forklift. The reward is how much nearer the carriage came to the pallet, m."""

    def __init__(self, *, steps: int = 20, episode: int = 200) -> None:
        self._away = 0.0
        super().__init__("forklift", ["drive", "steering", "lift"], [5.0, 0.6, 0.5], steps=steps, episode=episode)

    def _distance(self) -> float:
        return float(np.linalg.norm(self.world["frame"].position - self.world["pallet"].position))

    def observe(self) -> Floats:
        frame, pallet = self.world["frame"], self.world["pallet"]
        motion = [frame.velocity, frame.angular_velocity, frame.rotation]
        joints = [joint.coordinates[0] for joint in self.motors] + [joint.rates[0] for joint in self.motors]
        return np.concatenate([frame.to_local(pallet.position), *motion, joints])

    def command(self, action: Floats) -> None:
        self._away = self._distance()
        drive, steering, lift = self.motors
        drive.set_motor(speed=float(action[0]), limit=400.0)
        steering.set_motor(position=float(action[1]), limit=2000.0)
        lift.set_motor(position=float(max(action[2], 0.0)), limit=20000.0)

    def reward(self) -> float:
        return self._away - self._distance()


def main() -> None:
    """A few episodes of chance."""
    for make in (Spider, Forklift):
        env = make(episode=20)
        env.reset(seed=1)
        total = 0.0
        for _ in range(20):
            _, reward, failed, over, _ = env.step(env.action_space.sample())
            total += float(reward)
            if failed or over:
                break
        print(f"{make.__name__}: {total:.3f} m")


if __name__ == "__main__":
    main()
