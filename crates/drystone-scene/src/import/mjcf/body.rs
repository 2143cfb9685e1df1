//! Bodies with their joints and masses.

use drystone::{MassProperties, Pose};
use glam::{DMat3, DVec3};

use super::key::Slot;
use super::{Read, Reader};
use crate::import::tree::Element;
use crate::import::{Body, Freedom, Geometry, Link, check_mass, check_moment, joined};

/// Share of a body's mass that stands between two joints of one body.
const BETWEEN: f64 = 0.02;
/// Elements of a body that say nothing about how it moves.
const SILENT: &[&str] = &["site", "camera", "light"];

/// An element of a body, where its frame is in the body's, and its class.
struct Part<'e> {
    node: &'e Element,
    frame: Pose,
    class: String,
}

/// Whether something in a body moves against it.
fn moves(node: &Element) -> bool {
    let joint = |e: &Element| e.is("joint") || e.is("freejoint");
    let inner = node.children.iter().filter(|e| e.is("body") || e.is("frame"));
    inner.into_iter().any(|e| e.children.iter().any(joint) || moves(e))
}

impl Reader {
    /// What stands, and all that is on it.
    pub(super) fn world(&mut self, children: &[&Element]) -> Read<()> {
        let mut parts = Vec::new();
        for node in children {
            self.part(node, Pose::IDENTITY, "main", &mut parts)?;
        }
        let (mass, shapes) = self.matter(&parts)?;
        self.robot.bodies.push(Body {
            name: if self.bodies.contains("ground") { "ground of the file" } else { "ground" }.into(),
            pose: Pose::IDENTITY,
            fixed: true,
            ground: true,
            mass,
            shapes,
        });
        self.places.insert("world".into(), (0, Pose::IDENTITY));
        self.inner(&parts, 0, &Pose::IDENTITY, &Pose::IDENTITY)
    }

    /// Elements, those of frames with the poses of these.
    fn part<'e>(&mut self, node: &'e Element, frame: Pose, class: &str, out: &mut Vec<Part<'e>>) -> Read<()> {
        if !node.is("frame") {
            out.push(Part { node, frame, class: class.into() });
            return Ok(());
        }
        let frame = frame.compose(&self.pose(node, class)?);
        let class = node.attribute("childclass").unwrap_or(class);
        for child in &node.children {
            self.part(child, frame, class, out)?;
        }
        Ok(())
    }

    /// Mass and shapes of a body's geoms, in its frame.
    fn matter(&mut self, parts: &[Part]) -> Read<(Option<MassProperties>, Vec<Geometry>)> {
        let (mut mass, mut shapes) = (None, Vec::new());
        for p in parts.iter().filter(|p| p.node.is("geom")) {
            let (own, shape) = self.geom(p.node, &p.class)?;
            mass = joined(mass, own, &p.frame);
            shapes.extend(shape.map(|g| Geometry { pose: p.frame.compose(&g.pose), ..g }));
        }
        let given = parts.iter().find(|p| p.node.is("inertial")).filter(|_| !self.compiler.from_geoms);
        if let Some(p) = given {
            mass = joined(None, Some(self.inertial(p.node)?), &p.frame);
        }
        Ok((mass, shapes))
    }

    /// The bodies in a body: `local` is where its frame is in that of body `number`, which it may have become
    /// part of.
    fn inner(&mut self, parts: &[Part], number: usize, local: &Pose, pose: &Pose) -> Read<()> {
        for p in parts.iter().filter(|p| p.node.is("body")) {
            let inner = p.frame.compose(&self.pose(p.node, &p.class)?);
            self.body(p.node, (number, local.compose(&inner)), pose.compose(&inner), &p.class)?;
        }
        Ok(())
    }

    /// A body and all in it. What has no joint is one body with what it is in.
    fn body(&mut self, node: &Element, held: (usize, Pose), pose: Pose, class: &str) -> Read<()> {
        let class = node.attribute("childclass").unwrap_or(class);
        let mut parts = Vec::new();
        for child in &node.children {
            self.part(child, Pose::IDENTITY, class, &mut parts)?;
        }
        let kind = |r: &Self, p: &Part| match p.node.tag.as_str() {
            "freejoint" => "free".to_string(),
            _ => r.get(p.node, &p.class, "type").unwrap_or("hinge").to_string(),
        };
        let is_joint = |p: &&Part| p.node.is("joint") || p.node.is("freejoint");
        let free = parts.iter().filter(is_joint).any(|p| kind(self, p) == "free");
        let joints: Vec<&Part> = parts.iter().filter(is_joint).filter(|p| kind(self, p) != "free").collect();
        let (mass, shapes) = self.matter(&parts)?;
        let known = ["joint", "freejoint", "geom", "inertial", "body"];
        for p in &parts {
            let tag = p.node.tag.as_str();
            if !known.contains(&tag) && !SILENT.contains(&tag) {
                self.leave(p.node);
            }
        }
        let merged = joints.is_empty() && !free;
        let mount = merged && held.0 == 0 && !shapes.is_empty() && moves(node);
        let (number, local) = if mount {
            // What a robot is mounted by is a part of the robot, and no more in its way than its other parts
            // are.
            let name = node.attribute("name").map(String::from);
            let name = name.unwrap_or_else(|| self.unnamed());
            self.robot.bodies.push(Body { name, pose, fixed: true, ground: false, mass, shapes });
            (self.robot.bodies.len() - 1, Pose::IDENTITY)
        } else if merged {
            let (parent, local) = held;
            let to = &mut self.robot.bodies[parent];
            to.mass = joined(to.mass, mass, &local);
            let moved = |g: Geometry| Geometry { pose: local.compose(&g.pose), ..g };
            to.shapes.extend(shapes.into_iter().map(moved));
            (parent, local)
        } else {
            let name = node.attribute("name").map(String::from);
            let name = name.unwrap_or_else(|| self.unnamed());
            let mut parent = held.0;
            for (k, joint) in joints.iter().enumerate() {
                let b = self.robot.bodies.len();
                if k + 1 < joints.len() {
                    self.between(joint.node, &name, k, mass, pose);
                }
                let (link, start) = self.joint(joint, parent, b, &pose)?;
                self.slots.push(Slot::Joint(self.robot.links.len(), start));
                self.robot.links.push(link);
                parent = b;
            }
            if free {
                self.slots.push(Slot::Free(self.robot.bodies.len()));
            }
            self.robot.bodies.push(Body { name, pose, fixed: false, ground: false, mass, shapes });
            (self.robot.bodies.len() - 1, Pose::IDENTITY)
        };
        if let Some(name) = node.attribute("name") {
            self.places.insert(name.into(), (number, pose));
        }
        self.inner(&parts, number, &local, &pose)
    }

    /// Something light for a body's joint to end at, where the body has several.
    fn between(&mut self, joint: &Element, name: &str, k: usize, mass: Option<MassProperties>, pose: Pose) {
        let m = BETWEEN * mass.map_or(1.0, |m| m.mass);
        self.note(joint, format!("one of several of a body: {m:.3} kg stand between"));
        self.robot.bodies.push(Body {
            name: format!("{name}, between {k}"),
            pose,
            fixed: false,
            ground: false,
            mass: Some(MassProperties::principal(m, DVec3::splat(0.4 * m * 0.05 * 0.05))),
            shapes: Vec::new(),
        });
    }

    /// The joint, and what its coordinate is called where it starts.
    fn joint(&mut self, part: &Part, a: usize, b: usize, pose: &Pose) -> Read<(Link, f64)> {
        let (node, class) = (part.node, part.class.as_str());
        let kind = self.get(node, class, "type").unwrap_or("hinge").to_string();
        let freedom = match kind.as_str() {
            "hinge" => Freedom::Turn,
            "slide" => Freedom::Slide,
            "ball" => Freedom::Ball,
            other => return Err(node.wrong(format!("type '{other}' is not understood"))),
        };
        let at = part.frame.point(self.vector(node, class, "pos")?.unwrap_or(DVec3::ZERO));
        let axis = self.vector(node, class, "axis")?.unwrap_or(DVec3::Z).try_normalize();
        let axis = axis.ok_or_else(|| node.wrong("its axis is a zero vector"))?;
        let angle = |x: f64| if freedom == Freedom::Turn { self.angle(x) } else { x };
        let start = angle(self.number(node, class, "ref")?.unwrap_or(0.0));
        let range: Option<[f64; 2]> = match self.list(node, class, "range")?.as_deref() {
            None => None,
            Some(&[lower, upper]) => Some([lower, upper]),
            Some(list) => return Err(node.wrong(format!("range: must be 2 numbers, got {}", list.len()))),
        };
        let limited = match self.word(node, class, "limited", &["true", "false", "auto"])? {
            Some("true") => true,
            Some("false") => false,
            // A range that does not rise, as 0 0, means none.
            _ => self.compiler.autolimits && range.is_some_and(|[l, u]| l < u),
        };
        let of_one = limited && freedom != Freedom::Ball;
        if let Some([lower, upper]) = range.filter(|[l, u]| of_one && l > u) {
            return Err(node.wrong(format!("range: must be the least and the most, got {lower} and {upper}")));
        }
        let limits = range.filter(|_| of_one).map(|r| r.map(|x| angle(x) - start));
        let stiffness = self.not_negative(node, class, "stiffness")?.filter(|k| *k > 0.0);
        let rest = angle(self.number(node, class, "springref")?.unwrap_or(0.0)) - start;
        let name = node.attribute("name").unwrap_or_default().to_string();
        let ground = &self.robot.bodies[a];
        let link = Link {
            freedom,
            a: Some(a).filter(|_| !ground.fixed || !ground.shapes.is_empty()),
            b,
            anchor: pose.point(at),
            axis: pose.rotation * (part.frame.rotation * axis),
            limits: limits.map(|[l, u]| [l.min(0.0), u.max(0.0)]),
            effort: self.efforts.get(&name).copied().filter(|e| e.is_finite()),
            friction: self.not_negative(node, class, "frictionloss")?.unwrap_or(0.0),
            damping: self.not_negative(node, class, "damping")?.unwrap_or(0.0),
            spring: stiffness.map(|k| (k, rest)),
            loops: false,
            name,
        };
        if freedom == Freedom::Ball && (stiffness.is_some() || limited) {
            self.note(node, "stiffness and range of a ball joint are left out");
        }
        if self.number(node, class, "armature")?.is_some_and(|m| m > 0.0) {
            self.robot.leave_at("joint armature", node.line());
        }
        if limits.is_some_and(|[l, u]| l > 0.0 || u < 0.0) {
            self.note(node, "where it starts is not within its range: the range is widened to it");
        }
        Ok((link, start))
    }

    fn inertial(&self, node: &Element) -> Read<MassProperties> {
        let pose = self.pose(node, "main")?;
        let mass = self.number(node, "main", "mass")?;
        let mass = mass.ok_or_else(|| node.wrong("'mass' is missing"))?;
        if mass > 0.0 {
            check_mass("mass", mass).map_err(|why| node.wrong(why))?;
        }
        for key in ["diaginertia", "fullinertia"] {
            for moment in self.list(node, "main", key)?.into_iter().flatten() {
                check_moment(key, moment).map_err(|why| node.wrong(why))?;
            }
        }
        let inertia =
            match (self.vector(node, "main", "diaginertia")?, self.list(node, "main", "fullinertia")?) {
                (Some(d), _) => DMat3::from_diagonal(d),
                (None, Some(f)) => {
                    let &[xx, yy, zz, xy, xz, yz] = f.as_slice() else {
                        return Err(node.wrong("fullinertia: must be 6 numbers"));
                    };
                    DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz))
                }
                _ => return Err(node.wrong("'diaginertia' or 'fullinertia' is missing")),
            };
        let r = DMat3::from_quat(pose.rotation);
        let all = MassProperties { mass, centre: pose.position, inertia: r * inertia * r.transpose() };
        all.check().map_err(|e| node.wrong(e))?;
        Ok(all)
    }
}
