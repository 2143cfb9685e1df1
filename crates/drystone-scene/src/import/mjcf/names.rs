//! Names that a file says twice, and classes that it has not.

use std::collections::HashMap;

use drystone_solve::solver::nearest;

use super::{Read, Reader};
use crate::import::tree::Element;

/// Sections whose elements may be of a class.
const OF_CLASSES: &[&str] =
    &["worldbody", "asset", "actuator", "tendon", "equality", "contact", "deformable"];

impl Reader {
    /// Looks at the names of all bodies and joints, and at the classes of all elements. Two meshes, materials
    /// or geoms of one name mean nothing here.
    pub(super) fn names(&mut self, root: &Element) -> Read<()> {
        let mut seen = HashMap::new();
        for section in root.children.iter().filter(|n| OF_CLASSES.contains(&n.tag.as_str())) {
            let is_world = section.is("worldbody");
            section.children.iter().try_for_each(|n| self.names_of(n, is_world, &mut seen))?;
        }
        Ok(())
    }

    fn names_of(
        &mut self,
        node: &Element,
        in_world: bool,
        seen: &mut HashMap<(bool, String), String>,
    ) -> Read<()> {
        for key in ["class", "childclass"] {
            if let Some(class) = node.attribute(key).filter(|c| !self.known.contains(*c)) {
                let mut all: Vec<&str> = self.known.iter().map(String::as_str).collect();
                all.sort_unstable();
                let hint = nearest(class, &all).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
                return Err(node.wrong(format!("{key}: there is no default class '{class}'{hint}")));
            }
        }
        let is_joint = node.is("joint") || node.is("freejoint");
        if let Some(name) = node.attribute("name").filter(|_| in_world && (is_joint || node.is("body"))) {
            if let Some(line) = seen.insert((is_joint, name.into()), node.line()) {
                let what = if is_joint { "joints" } else { "bodies" };
                return Err(
                    node.wrong(format!("name: there are two {what} named '{name}', the first in {line}"))
                );
            }
            let to = if is_joint { &mut self.joints } else { &mut self.bodies };
            to.insert(name.into());
        }
        node.children.iter().try_for_each(|n| self.names_of(n, in_world, seen))
    }

    /// A name for a body without one.
    pub(super) fn unnamed(&self) -> String {
        let mut name = format!("body {}", self.robot.bodies.len());
        while self.bodies.contains(&name) {
            name += "'";
        }
        name
    }

    /// A joint that an actuator acts on is there; otherwise it is noted.
    pub(super) fn acts_on(&mut self, actuator: &Element, joint: &str) -> bool {
        if self.joints.contains(joint) {
            return true;
        }
        let mut all: Vec<&str> = self.joints.iter().map(String::as_str).collect();
        all.sort_unstable();
        let hint = nearest(joint, &all).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        let text = format!("acts on the joint '{joint}', which is not there, and is left out{hint}");
        self.note(actuator, text);
        false
    }
}
