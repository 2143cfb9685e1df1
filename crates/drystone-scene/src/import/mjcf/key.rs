//! Keyframes: the coordinates of all joints, from which a robot can start.

use drystone::Pose;
use glam::{DQuat, DVec3};

use super::{Read, Reader};
use crate::import::tree::Element;
use crate::import::{Freedom, Robot};

/// What some numbers of `qpos` place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// A body that nothing holds: seven numbers.
    Free(usize),
    /// A joint, and what its coordinate is called where the model has it; four numbers for one that turns any
    /// way, otherwise one.
    Joint(usize, f64),
}

impl Slot {
    fn numbers(self, robot: &Robot) -> usize {
        match self {
            Slot::Free(_) => 7,
            Slot::Joint(link, _) if robot.links[link].freedom == Freedom::Ball => 4,
            Slot::Joint(..) => 1,
        }
    }
}

impl Reader {
    /// Moves the robot to one of the file's keys: to that of a name or number, otherwise to the first.
    pub(super) fn key(&mut self, keys: &[&Element], wanted: Option<&str>) -> Read<()> {
        let called =
            |k: usize, key: &Element| key.attribute("name").map_or_else(|| k.to_string(), String::from);
        let names: Vec<String> = keys.iter().enumerate().map(|(k, key)| called(k, key)).collect();
        let chosen = match wanted {
            Some("none") => None,
            Some(name) => {
                let number = name.parse().ok().filter(|k| *k < keys.len());
                let Some(k) = names.iter().position(|n| n == name).or(number) else {
                    let known = if names.is_empty() { "none".into() } else { names.join(", ") };
                    return Err(self.whole(format!("there is no key '{name}': the file has {known}")));
                };
                Some(k)
            }
            None => (!keys.is_empty()).then_some(0),
        };
        for (k, key) in keys.iter().enumerate() {
            if chosen != Some(k) {
                let name = &names[k];
                self.note(key, format!("is left out: --key {name} starts there"));
                continue;
            }
            let Some(all) = self.list(key, "main", "qpos")? else {
                self.note(key, "has no qpos: the robot starts where the model has it");
                continue;
            };
            let needed: usize = self.slots.iter().map(|s| s.numbers(&self.robot)).sum();
            if all.len() != needed {
                let text =
                    format!("qpos: must be {needed} numbers for the joints of this file, got {}", all.len());
                if wanted.is_some() {
                    return Err(key.wrong(text));
                }
                // It may be of joints that are not understood here.
                self.note(key, format!("is left out: {text}"));
                continue;
            }
            self.go_to(key, &all)?;
            let what = "the robot starts here (--key none: where the model has it)";
            let moving = ["qvel", "act"].into_iter().find(|a| key.attribute(a).is_some_and(|v| !is_zero(v)));
            match moving {
                Some(a) => self.note(key, format!("{what}; its {a} is left out")),
                None => self.note(key, what),
            }
        }
        Ok(())
    }

    fn go_to(&mut self, key: &Element, all: &[f64]) -> Read<()> {
        let mut rest = all;
        let mut take = |n: usize| {
            let (first, others) = rest.split_at(n);
            rest = others;
            first
        };
        let turn = |q: &[f64]| {
            let q = DQuat::from_xyzw(q[1], q[2], q[3], q[0]);
            let good = q.length_recip().is_finite() && q.length_squared() > 0.0;
            good.then(|| q.normalize()).ok_or_else(|| key.wrong("qpos: four zeros are no orientation"))
        };
        // By body: from where the model has it to where the key does, of what nothing joins; by joint: from
        // its first body to its second, in the world of the model. What is no coordinate stays.
        let mut free = vec![Pose::IDENTITY; self.robot.bodies.len()];
        let mut moved = vec![(Pose::IDENTITY, 0.0); self.robot.links.len()];
        for slot in &self.slots {
            let numbers = take(slot.numbers(&self.robot));
            match *slot {
                Slot::Free(body) => {
                    let position = DVec3::new(numbers[0], numbers[1], numbers[2]);
                    let pose = Pose::new(position, turn(&numbers[3..])?);
                    free[body] = pose.compose(&self.robot.bodies[body].pose.inverse());
                }
                Slot::Joint(number, start) => {
                    let link = &self.robot.links[number];
                    let about = |q: DQuat| Pose::new(link.anchor - q * link.anchor, q);
                    moved[number] = match link.freedom {
                        Freedom::Turn => {
                            let d = numbers[0] - start;
                            (about(DQuat::from_axis_angle(link.axis, d)), d)
                        }
                        Freedom::Slide => {
                            let d = numbers[0] - start;
                            (Pose::new(link.axis * d, DQuat::IDENTITY), d)
                        }
                        Freedom::Ball | Freedom::None => {
                            let r = self.robot.bodies[link.b].pose.rotation;
                            (about(r * turn(numbers)? * r.inverse()), 0.0)
                        }
                    };
                }
            }
        }
        // From where each body is in the model to where it goes: joints come after those that hold them.
        let (mut all, mut beyond) = (free, Vec::new());
        for (link, (motion, d)) in self.robot.links.iter_mut().zip(&moved) {
            if link.loops {
                // Both of its bodies have been moved; the end on the second one counts.
                link.anchor = all[link.b].point(link.anchor);
                continue;
            }
            let before = link.a.map_or(Pose::IDENTITY, |a| all[a]);
            all[link.b] = before.compose(motion);
            link.anchor = all[link.b].point(link.anchor);
            link.axis = before.rotation * link.axis;
            if link.limits.is_some_and(|[l, u]| *d < l - 1e-9 || *d > u + 1e-9) {
                beyond.push(link.name.clone());
            }
            link.limits = link.limits.map(|[l, u]| [(l - d).min(0.0), (u - d).max(0.0)]);
            link.spring = link.spring.map(|(k, rest)| (k, rest - d));
        }
        if !beyond.is_empty() {
            let joints = beyond.join(", ");
            self.note(key, format!("is beyond the range of {joints}, which is widened to it"));
        }
        for (body, motion) in self.robot.bodies.iter_mut().zip(&all) {
            body.pose = motion.compose(&body.pose);
        }
        Ok(())
    }
}

fn is_zero(numbers: &str) -> bool {
    numbers.split_whitespace().all(|x| x.parse() == Ok(0.0))
}
