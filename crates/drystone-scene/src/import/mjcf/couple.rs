//! What acts between bodies beside their joints: actuators, and equalities that close loops.

use drystone::Pose;
use glam::DVec3;

use super::{Read, Reader};
use crate::import::tree::Element;
use crate::import::{Freedom, Link};

impl Reader {
    /// How strong the actuators of each joint are.
    pub(super) fn actuators(&mut self, node: &Element, tendons: &[&Element]) -> Read<()> {
        for n in &node.children {
            // Of a joint, or of a sum of joints: then each has its share.
            let mut joints: Vec<(String, f64)> = Vec::new();
            if let Some(name) = n.attribute("joint").or(n.attribute("jointinparent")) {
                joints.push((name.into(), 1.0));
            } else if let Some(name) = n.attribute("tendon") {
                let tendon = tendons.iter().find(|t| t.attribute("name") == Some(name));
                for part in tendon.into_iter().flat_map(|t| &t.children).filter(|p| p.is("joint")) {
                    let coefficient = self.number(part, "main", "coef")?.unwrap_or(1.0);
                    joints.extend(part.attribute("joint").map(|j| (j.to_string(), coefficient.abs())));
                }
            }
            if joints.is_empty() {
                self.leave(n);
                continue;
            }
            let most = self.strength(n)?;
            for (joint, share) in joints {
                if !self.acts_on(n, &joint) {
                    continue;
                }
                // One without a limit makes the joint one without a limit.
                *self.efforts.entry(joint).or_default() += share * most;
            }
        }
        Ok(())
    }

    /// The largest force or torque of an actuator; infinite where the file sets no limit.
    fn strength(&self, n: &Element) -> Read<f64> {
        let gear = self.number(n, "main", "gear")?.unwrap_or(1.0).abs();
        let largest = |l: Vec<f64>| l.into_iter().map(f64::abs).reduce(f64::max);
        if let Some(most) = self.list(n, "main", "forcerange")?.and_then(largest) {
            return Ok(most * gear);
        }
        let gain = match n.tag.as_str() {
            "motor" => Some(1.0),
            // A force that the control alone says; with a bias it is a servo, as strong as it needs to be.
            "general" if matches!(self.get(n, "main", "biastype"), None | Some("none")) => {
                Some(self.number(n, "main", "gainprm")?.unwrap_or(1.0).abs())
            }
            _ => None,
        };
        let most = self.list(n, "main", "ctrlrange")?.and_then(largest);
        Ok(gain.zip(most).map_or(f64::INFINITY, |(gain, most)| gain * most * gear))
    }

    /// Loops that are closed by a point (`connect`) or altogether (`weld`).
    pub(super) fn equality(&mut self, node: &Element) -> Read<()> {
        if self.get(node, "main", "active") == Some("false") {
            self.note(node, "is not active, and is left out");
            return Ok(());
        }
        let freedom = match node.tag.as_str() {
            "connect" => Freedom::Ball,
            "weld" => Freedom::None,
            _ => {
                let text = "is left out: couplings of joints and of tendons are not understood";
                self.note(node, text);
                return Ok(());
            }
        };
        let Some(first) = node.attribute("body1") else {
            self.note(node, "is left out: only loops between bodies ('body1', 'body2') are understood");
            return Ok(());
        };
        let mut ends = Vec::new();
        for name in [Some(first), node.attribute("body2")] {
            ends.push(match name {
                None | Some("world") => None,
                Some(name) => match self.places.get(name) {
                    Some(place) => Some(*place),
                    None => return Err(node.wrong(format!("there is no body '{name}'"))),
                },
            });
        }
        let anchor = self.vector(node, "main", "anchor")?.unwrap_or(DVec3::ZERO);
        // The anchor of a weld is in the second body's frame, of a point in the first's.
        let holder = if freedom == Freedom::None { ends[1] } else { ends[0] };
        let anchor = holder.map_or(Pose::IDENTITY, |(_, pose)| pose).point(anchor);
        let fixed = |end: Option<(usize, Pose)>| end.map(|e| e.0).filter(|&b| !self.robot.bodies[b].fixed);
        let (a, b) = (fixed(ends[0]), fixed(ends[1]));
        let (a, b) = match (a, b) {
            (a, Some(b)) if a != Some(b) => (a, b),
            (Some(a), None) => (None, a),
            _ => {
                self.note(node, "joins a body to itself, and is left out");
                return Ok(());
            }
        };
        let count = self.robot.links.len();
        self.robot.links.push(Link {
            name: node.attribute("name").map_or_else(|| format!("{} {count}", node.tag), String::from),
            freedom,
            a,
            b,
            anchor,
            axis: DVec3::Z,
            limits: None,
            effort: None,
            friction: 0.0,
            damping: 0.0,
            spring: None,
            loops: true,
        });
        Ok(())
    }
}
