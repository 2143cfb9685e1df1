//! Attributes of elements, with the classes that say them where an element does not.

use std::collections::HashMap;

use drystone::Pose;
use drystone_solve::solver::nearest;
use glam::{DMat3, DQuat, DVec3};

use super::{Read, Reader};
use crate::import::parse;
use crate::import::tree::Element;

/// Kinds of actuators that are short for `general`, and have its defaults.
const ACTUATORS: &[&str] = &["motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle"];

impl Reader {
    /// Reads classes, each with what the one around it says.
    pub(super) fn classes(
        &mut self,
        node: &Element,
        class: &str,
        around: &HashMap<String, HashMap<String, String>>,
    ) -> Read<()> {
        let mut own = around.clone();
        for n in node.children.iter().filter(|n| !n.is("default")) {
            let to = own.entry(n.tag.clone()).or_default();
            to.extend(n.attributes().map(|(k, v)| (k.to_string(), v.to_string())));
        }
        // The outermost one may have a name beside "main".
        for name in [Some(class), node.attribute("class").filter(|name| *name != class)].into_iter().flatten()
        {
            self.known.insert(name.into());
            for (tag, list) in &own {
                self.defaults.insert((name.into(), tag.clone()), list.clone());
            }
        }
        for n in node.children.iter().filter(|n| n.is("default")) {
            let class = n.attribute("class").filter(|c| !c.is_empty());
            let class = class.ok_or_else(|| n.wrong("class: a class within another needs a name"))?;
            self.classes(n, class, &own)?;
        }
        Ok(())
    }

    /// An attribute that is one of a few words.
    pub(super) fn word<'b>(
        &'b self,
        node: &'b Element,
        class: &str,
        key: &str,
        valid: &[&str],
    ) -> Read<Option<&'b str>> {
        let Some(given) = self.get(node, class, key) else { return Ok(None) };
        if valid.contains(&given) {
            return Ok(Some(given));
        }
        let hint = nearest(given, valid).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        Err(node.wrong(format!("{key}: must be {}, got '{given}'{hint}", valid.join(" or "))))
    }

    /// A number that must not be below 0.
    pub(super) fn not_negative(&self, node: &Element, class: &str, key: &str) -> Read<Option<f64>> {
        match self.number(node, class, key)? {
            Some(x) if x < 0.0 => Err(node.wrong(format!("{key}: must not be below 0, got {x}"))),
            x => Ok(x),
        }
    }

    /// An attribute of an element, or of its class.
    pub(super) fn get<'b>(&'b self, node: &'b Element, class: &str, key: &str) -> Option<&'b str> {
        let class = node.attribute("class").unwrap_or(class);
        let of =
            |tag: &str| self.defaults.get(&(class.to_string(), tag.to_string())).and_then(|d| d.get(key));
        let general = || ACTUATORS.contains(&node.tag.as_str()).then(|| of("general")).flatten();
        node.attribute(key).or_else(|| of(&node.tag).or_else(general).map(String::as_str))
    }

    pub(super) fn list(&self, node: &Element, class: &str, key: &str) -> Read<Option<Vec<f64>>> {
        let text = self.get(node, class, key).map(parse).transpose();
        text.map_err(|e| node.wrong(format!("{key}: {e}")))
    }

    pub(super) fn vector(&self, node: &Element, class: &str, key: &str) -> Read<Option<DVec3>> {
        match self.list(node, class, key)?.as_deref() {
            None => Ok(None),
            Some(&[x, y, z]) => Ok(Some(DVec3::new(x, y, z))),
            Some(list) => Err(node.wrong(format!("{key}: must be 3 numbers, got {}", list.len()))),
        }
    }

    pub(super) fn number(&self, node: &Element, class: &str, key: &str) -> Read<Option<f64>> {
        Ok(self.list(node, class, key)?.and_then(|l| l.first().copied()))
    }

    pub(super) fn angle(&self, x: f64) -> f64 {
        if self.compiler.degrees { x.to_radians() } else { x }
    }

    /// `pos`, and one of the five ways to say an orientation.
    pub(super) fn pose(&self, node: &Element, class: &str) -> Read<Pose> {
        let position = self.vector(node, class, "pos")?.unwrap_or(DVec3::ZERO);
        let wrong = |key: &str| node.wrong(format!("{key}: is no orientation"));
        let unit = |v: DVec3, key: &str| v.try_normalize().ok_or_else(|| wrong(key));
        let rotation = if let Some(q) = self.list(node, class, "quat")? {
            let &[w, x, y, z] = q.as_slice() else { return Err(wrong("quat")) };
            let q = DQuat::from_xyzw(x, y, z, w);
            // Of numbers like 1e-200 not even the length is left.
            if !q.length_recip().is_finite() || q.length_squared() == 0.0 {
                return Err(wrong("quat"));
            }
            q.normalize()
        } else if let Some(e) = self.vector(node, class, "euler")? {
            let mut q = DQuat::IDENTITY;
            for (letter, angle) in self.compiler.euler.chars().zip(e.to_array()) {
                let axis = match letter.to_ascii_lowercase() {
                    'x' => DVec3::X,
                    'y' => DVec3::Y,
                    _ => DVec3::Z,
                };
                let turn = DQuat::from_axis_angle(axis, self.angle(angle));
                q = if letter.is_ascii_lowercase() { q * turn } else { turn * q };
            }
            q
        } else if let Some(a) = self.list(node, class, "axisangle")? {
            let &[x, y, z, angle] = a.as_slice() else { return Err(wrong("axisangle")) };
            DQuat::from_axis_angle(unit(DVec3::new(x, y, z), "axisangle")?, self.angle(angle))
        } else if let Some(z) = self.vector(node, class, "zaxis")? {
            DQuat::from_rotation_arc(DVec3::Z, unit(z, "zaxis")?)
        } else if let Some(a) = self.list(node, class, "xyaxes")? {
            let &[a0, a1, a2, b0, b1, b2] = a.as_slice() else { return Err(wrong("xyaxes")) };
            let x = unit(DVec3::new(a0, a1, a2), "xyaxes")?;
            let z = unit(x.cross(DVec3::new(b0, b1, b2)), "xyaxes")?;
            DQuat::from_mat3(&DMat3::from_cols(x, z.cross(x), z))
        } else {
            DQuat::IDENTITY
        };
        Ok(Pose::new(position, rotation))
    }
}
