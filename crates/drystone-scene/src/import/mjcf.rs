//! MJCF, MuJoCo's form: nested bodies with joints and geoms in them, and classes of defaults.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use drystone::{MassProperties, Pose, Shape};
use glam::{DMat3, DQuat, DVec3};
use roxmltree::{Document, Node};

use super::{Body, Form, Freedom, Geometry, Link, Robot, Wrong, joined, parse};
use crate::mesh;

type Read<T> = Result<T, Wrong>;

/// Share of a body's mass that stands between two joints of one body.
const BETWEEN: f64 = 0.02;
/// kg/m³, where nothing is said.
const DENSITY: f64 = 1000.0;

struct Reader<'a, 'i> {
    document: &'a Document<'i>,
    /// By class and tag: attributes.
    defaults: HashMap<(String, String), HashMap<String, String>>,
    meshes: HashMap<String, (PathBuf, DVec3)>,
    degrees: bool,
    autolimits: bool,
    /// By joint: what its actuators can do.
    efforts: HashMap<String, f64>,
    robot: Robot,
}

pub(super) fn read(document: &Document, folder: &Path) -> Read<Robot> {
    let root = document.root_element();
    let name = root.attribute("model").unwrap_or("robot").into();
    let mut reader = Reader {
        document,
        defaults: HashMap::new(),
        meshes: HashMap::new(),
        degrees: true,
        autolimits: true,
        efforts: HashMap::new(),
        robot: Robot { name, ..Robot::default() },
    };
    let mut folder = folder.to_path_buf();
    let parts: Vec<Node> = root.children().filter(Node::is_element).collect();
    for node in &parts {
        match node.tag_name().name() {
            "compiler" => {
                reader.degrees = node.attribute("angle") != Some("radian");
                reader.autolimits = node.attribute("autolimits") != Some("false");
                if node.attribute("coordinate") == Some("global") {
                    return Err(Wrong::at(document, *node, "global coordinates are not understood"));
                }
                if let Some(order) = node.attribute("eulerseq").filter(|o| *o != "xyz") {
                    return Err(Wrong::at(
                        document,
                        *node,
                        format!("eulerseq '{order}' is not understood: xyz is"),
                    ));
                }
                if let Some(f) = node.attribute("meshdir").or(node.attribute("assetdir")) {
                    folder = folder.join(f);
                }
            }
            "option" => reader.robot.gravity = super::triple(document, *node, "gravity")?,
            "default" => reader.classes(*node, "main", &HashMap::new()),
            _ => {}
        }
    }
    for node in &parts {
        match node.tag_name().name() {
            "compiler" | "option" | "default" | "worldbody" | "size" | "visual" | "statistic" | "custom" => {}
            "asset" => reader.assets(*node, &folder)?,
            "actuator" => reader.actuators(*node)?,
            "include" => {
                return Err(Wrong::at(document, *node, "included files are not read: put them into one"));
            }
            _ => reader.robot.leave(document, *node),
        }
    }
    for node in parts.iter().filter(|n| n.has_tag_name("worldbody")) {
        reader.body(*node, None, Pose::IDENTITY, "main")?;
    }
    Ok(reader.robot)
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Reads classes, each with what the one around it says.
    fn classes(&mut self, node: Node, class: &str, around: &HashMap<String, HashMap<String, String>>) {
        let mut own = around.clone();
        for n in node.children().filter(|n| n.is_element() && !n.has_tag_name("default")) {
            let to = own.entry(n.tag_name().name().into()).or_default();
            n.attributes().for_each(|a| drop(to.insert(a.name().into(), a.value().into())));
        }
        for (tag, list) in &own {
            self.defaults.insert((class.into(), tag.clone()), list.clone());
        }
        for n in node.children().filter(|n| n.has_tag_name("default")) {
            self.classes(n, n.attribute("class").unwrap_or("main"), &own);
        }
    }

    /// An attribute of an element, or of its class.
    fn get<'b>(&'b self, node: Node<'b, '_>, class: &str, key: &str) -> Option<&'b str> {
        let class = node.attribute("class").unwrap_or(class);
        let tag = node.tag_name().name().to_string();
        let default = || self.defaults.get(&(class.to_string(), tag)).and_then(|d| d.get(key));
        node.attribute(key).or_else(|| default().map(String::as_str))
    }

    fn list(&self, node: Node, class: &str, key: &str) -> Read<Option<Vec<f64>>> {
        let text = self.get(node, class, key).map(parse).transpose();
        text.map_err(|e| Wrong::at(self.document, node, format!("{key}: {e}")))
    }

    fn vector(&self, node: Node, class: &str, key: &str) -> Read<Option<DVec3>> {
        match self.list(node, class, key)?.as_deref() {
            None => Ok(None),
            Some(&[x, y, z]) => Ok(Some(DVec3::new(x, y, z))),
            Some(list) => {
                Err(Wrong::at(self.document, node, format!("{key}: must be 3 numbers, got {}", list.len())))
            }
        }
    }

    fn number(&self, node: Node, class: &str, key: &str) -> Read<Option<f64>> {
        Ok(self.list(node, class, key)?.and_then(|l| l.first().copied()))
    }

    fn angle(&self, x: f64) -> f64 {
        if self.degrees { x.to_radians() } else { x }
    }

    fn pose(&self, node: Node, class: &str) -> Read<Pose> {
        let position = self.vector(node, class, "pos")?.unwrap_or(DVec3::ZERO);
        let wrong = |key: &str| Wrong::at(self.document, node, format!("{key}: is no orientation"));
        let unit = |v: DVec3, key: &str| v.try_normalize().ok_or_else(|| wrong(key));
        let rotation = if let Some(q) = self.list(node, class, "quat")? {
            let &[w, x, y, z] = q.as_slice() else { return Err(wrong("quat")) };
            let q = DQuat::from_xyzw(x, y, z, w);
            if q.length_squared() == 0.0 {
                return Err(wrong("quat"));
            }
            q.normalize()
        } else if let Some(e) = self.vector(node, class, "euler")? {
            // Axes that turn with the body.
            let [x, y, z] = e.to_array().map(|a| self.angle(a));
            DQuat::from_rotation_x(x) * DQuat::from_rotation_y(y) * DQuat::from_rotation_z(z)
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

    fn assets(&mut self, node: Node, folder: &Path) -> Read<()> {
        for n in node.children().filter(Node::is_element) {
            match n.tag_name().name() {
                "mesh" => {
                    let Some(file) = n.attribute("file") else {
                        self.robot.note(self.document, n, "a mesh without a file is not understood");
                        continue;
                    };
                    let path = folder.join(file);
                    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
                    let scale = self.vector(n, "main", "scale")?.unwrap_or(DVec3::ONE);
                    self.meshes.insert(n.attribute("name").map_or(stem, String::from), (path, scale));
                }
                "texture" | "material" | "skin" => {}
                _ => self.robot.leave(self.document, n),
            }
        }
        Ok(())
    }

    fn actuators(&mut self, node: Node) -> Read<()> {
        for n in node.children().filter(Node::is_element) {
            let Some(joint) = n.attribute("joint") else {
                self.robot.leave(self.document, n);
                continue;
            };
            let gear = self.number(n, "main", "gear")?.unwrap_or(1.0).abs();
            let range = match self.list(n, "main", "forcerange")? {
                Some(f) => Some(f),
                None if n.has_tag_name("motor") => self.list(n, "main", "ctrlrange")?,
                None => None,
            };
            if let Some(most) = range.and_then(|r| r.into_iter().map(f64::abs).reduce(f64::max)) {
                *self.efforts.entry(joint.into()).or_default() += most * gear;
            }
        }
        Ok(())
    }

    /// A body and all in it. What has no joint is one body with what it is in.
    fn body(&mut self, node: Node<'a, 'i>, held: Option<(usize, Pose)>, pose: Pose, class: &str) -> Read<()> {
        let class = node.attribute("childclass").unwrap_or(class).to_string();
        let name = node.attribute("name").map(String::from);
        let children: Vec<Node> = node.children().filter(Node::is_element).collect();
        let is = |n: &&Node, tags: &[&str]| tags.contains(&n.tag_name().name());
        let mut joints: Vec<Node> =
            children.iter().filter(|n| is(n, &["joint", "freejoint"])).copied().collect();
        let kind = |r: &Self, n: Node| match n.tag_name().name() {
            "freejoint" => "free".to_string(),
            _ => r.get(n, &class, "type").unwrap_or("hinge").to_string(),
        };
        let world = node.has_tag_name("worldbody");
        let free = joints.iter().any(|j| kind(self, *j) == "free");
        joints.retain(|j| kind(self, *j) != "free");
        let (mut mass, mut shapes) = (None, Vec::new());
        for geom in children.iter().filter(|n| is(n, &["geom"])) {
            let (own, shape) = self.geom(*geom, &class)?;
            mass = joined(mass, own, &Pose::IDENTITY);
            shapes.extend(shape);
        }
        if let Some(inertial) = children.iter().find(|n| is(n, &["inertial"])) {
            mass = Some(self.inertial(*inertial)?);
        }
        for n in &children {
            if !is(&n, &["joint", "freejoint", "geom", "inertial", "body", "site", "camera", "light"]) {
                self.robot.leave(self.document, *n);
            }
        }
        let merged = held.filter(|_| joints.is_empty() && !free && !world);
        let (body, local) = match merged {
            Some((parent, local)) => {
                let to = &mut self.robot.bodies[parent];
                to.mass = joined(to.mass, mass, &local);
                to.shapes.extend(
                    shapes.into_iter().map(|g: Geometry| Geometry { pose: local.compose(&g.pose), ..g }),
                );
                (parent, local)
            }
            None => {
                let number = self.robot.bodies.len();
                let name =
                    name.unwrap_or_else(|| if world { "ground".into() } else { format!("body {number}") });
                let mut parent = held.map(|(p, _)| p);
                for (k, joint) in joints.iter().enumerate() {
                    let last = k + 1 == joints.len();
                    let b = self.robot.bodies.len();
                    if !last {
                        let m = BETWEEN * mass.map_or(1.0, |m: MassProperties| m.mass);
                        let between = MassProperties::principal(m, DVec3::splat(0.4 * m * 0.05 * 0.05));
                        let name = format!("{name}, between {k}");
                        self.robot.note(
                            self.document,
                            *joint,
                            format!("one of several of a body: {m:.3} kg stand between"),
                        );
                        self.robot.bodies.push(Body {
                            name,
                            pose,
                            fixed: false,
                            ground: false,
                            mass: Some(between),
                            shapes: Vec::new(),
                        });
                    }
                    let link = self.joint(*joint, &class, parent, b, &pose)?;
                    self.robot.links.push(link);
                    parent = Some(b);
                }
                self.robot.bodies.push(Body { name, pose, fixed: world, ground: world, mass, shapes });
                (self.robot.bodies.len() - 1, Pose::IDENTITY)
            }
        };
        for n in children.iter().filter(|n| is(n, &["body"])) {
            let inner = self.pose(*n, &class)?;
            self.body(*n, Some((body, local.compose(&inner))), pose.compose(&inner), &class)?;
        }
        Ok(())
    }

    fn joint(&mut self, node: Node, class: &str, a: Option<usize>, b: usize, pose: &Pose) -> Read<Link> {
        let kind = self.get(node, class, "type").unwrap_or("hinge").to_string();
        let freedom = match kind.as_str() {
            "hinge" => Freedom::Turn,
            "slide" => Freedom::Slide,
            "ball" => Freedom::Ball,
            other => return Err(Wrong::at(self.document, node, format!("type '{other}' is not understood"))),
        };
        let at = self.vector(node, class, "pos")?.unwrap_or(DVec3::ZERO);
        let axis = self.vector(node, class, "axis")?.unwrap_or(DVec3::Z).try_normalize();
        let axis = axis.ok_or_else(|| Wrong::at(self.document, node, "its axis is a zero vector"))?;
        let angle = |x: f64| if freedom == Freedom::Turn { self.angle(x) } else { x };
        let range = self.list(node, class, "range")?;
        let limited = match self.get(node, class, "limited") {
            Some("true") => true,
            Some("false") => false,
            _ => self.autolimits && range.is_some(),
        };
        let limits = match range.as_deref() {
            Some(&[lower, upper]) if limited => Some([angle(lower), angle(upper)]),
            _ => None,
        };
        let stiff = self.number(node, class, "stiffness")?.unwrap_or(0.0);
        let name = node.attribute("name").unwrap_or_default().to_string();
        let link = Link {
            freedom,
            a: a.filter(|a| !self.robot.bodies[*a].fixed || !self.robot.bodies[*a].shapes.is_empty()),
            b,
            anchor: pose.point(at),
            axis: pose.rotation * axis,
            limits: limits.map(|[l, u]| [l.min(0.0), u.max(0.0)]),
            effort: self.efforts.get(&name).copied(),
            friction: self.number(node, class, "frictionloss")?.unwrap_or(0.0),
            damping: self.number(node, class, "damping")?.unwrap_or(0.0),
            name,
        };
        if stiff > 0.0 {
            self.robot.note(self.document, node, "its stiffness is left out");
        }
        if limits.is_some_and(|[l, u]| l > 0.0 || u < 0.0) {
            self.robot.note(self.document, node, "0 is not within its range: the range is widened to it");
        }
        Ok(link)
    }

    fn inertial(&self, node: Node) -> Read<MassProperties> {
        let pose = self.pose(node, "main")?;
        let mass = self.number(node, "main", "mass")?;
        let mass = mass.ok_or_else(|| Wrong::at(self.document, node, "'mass' is missing"))?;
        let inertia =
            match (self.vector(node, "main", "diaginertia")?, self.list(node, "main", "fullinertia")?) {
                (Some(d), _) => DMat3::from_diagonal(d),
                (None, Some(f)) => {
                    let &[xx, yy, zz, xy, xz, yz] = f.as_slice() else {
                        return Err(Wrong::at(self.document, node, "fullinertia: must be 6 numbers"));
                    };
                    DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz))
                }
                _ => return Err(Wrong::at(self.document, node, "'diaginertia' or 'fullinertia' is missing")),
            };
        let r = DMat3::from_quat(pose.rotation);
        let all = MassProperties { mass, centre: pose.position, inertia: r * inertia * r.transpose() };
        all.check().map_err(|e| Wrong::at(self.document, node, e))?;
        Ok(all)
    }

    /// Mass of a geom in its body's frame, and the shape if it collides.
    fn geom(&mut self, node: Node, class: &str) -> Read<(Option<MassProperties>, Option<Geometry>)> {
        let mut pose = self.pose(node, class)?;
        let size = self.list(node, class, "size")?.unwrap_or_default();
        let kind = self.get(node, class, "type").unwrap_or("sphere").to_string();
        let missing = |n: usize| {
            Wrong::at(self.document, node, format!("size: a {kind} needs {n} numbers, got {}", size.len()))
        };
        let need = |n: usize| if size.len() >= n { Ok(()) } else { Err(missing(n)) };
        let along = match self.list(node, class, "fromto")?.as_deref() {
            Some(&[a, b, c, d, e, f]) => {
                let (from, to) = (DVec3::new(a, b, c), DVec3::new(d, e, f));
                let axis = (to - from).try_normalize();
                let axis =
                    axis.ok_or_else(|| Wrong::at(self.document, node, "fromto: two points at one place"))?;
                pose = Pose::new(0.5 * (from + to), DQuat::from_rotation_arc(DVec3::Z, axis));
                Some(0.5 * from.distance(to))
            }
            Some(list) => {
                return Err(Wrong::at(
                    self.document,
                    node,
                    format!("fromto: must be 6 numbers, got {}", list.len()),
                ));
            }
            None => None,
        };
        let long = |size: &[f64]| -> Read<(f64, f64)> {
            need(if along.is_some() { 1 } else { 2 })?;
            Ok((size[0], along.unwrap_or_else(|| size[1])))
        };
        let form = match kind.as_str() {
            "plane" => Form::Plane,
            "sphere" => {
                need(1)?;
                Form::Sphere(size[0])
            }
            "capsule" => long(&size).map(|(r, l)| Form::Capsule(r, l))?,
            "cylinder" => long(&size).map(|(r, l)| Form::Cylinder(r, l))?,
            "box" | "ellipsoid" => {
                need(3)?;
                let half = DVec3::new(size[0], size[1], size[2]);
                if kind == "box" { Form::Box(half) } else { Form::Ellipsoid(half) }
            }
            "mesh" => {
                let name = self.get(node, class, "mesh").unwrap_or_default().to_string();
                match self.meshes.get(&name).filter(|(p, _)| p.is_file()) {
                    Some((path, scale)) => Form::Mesh(path.clone(), *scale),
                    None => {
                        self.robot.note(
                            self.document,
                            node,
                            format!("the mesh '{name}' cannot be found, and is left out"),
                        );
                        return Ok((None, None));
                    }
                }
            }
            other => {
                self.robot.note(
                    self.document,
                    node,
                    format!("type '{other}' is not understood, and is left out"),
                );
                return Ok((None, None));
            }
        };
        let off = |key: &str| self.get(node, class, key) == Some("0");
        let mu = self.list(node, class, "friction")?.and_then(|f| f.first().copied());
        let mass = self.mass_of(node, class, &form, &pose)?;
        let shape = Geometry { form, pose, mu };
        Ok((mass, Some(shape).filter(|_| !(off("contype") && off("conaffinity")))))
    }

    fn mass_of(&self, node: Node, class: &str, form: &Form, pose: &Pose) -> Read<Option<MassProperties>> {
        let shape = match form {
            Form::Plane => return Ok(None),
            Form::Sphere(r) => Shape::Sphere { radius: *r },
            Form::Box(half) => Shape::Box { half: *half },
            Form::Ellipsoid(half) => Shape::Ellipsoid { half: *half },
            Form::Cylinder(r, l) => Shape::Cylinder { radius: *r, half_length: *l },
            Form::Capsule(r, l) => Shape::Capsule { radius: *r, half_length: *l },
            Form::Mesh(path, scale) => {
                let surface =
                    mesh::read(path, *scale).map_err(|e| Wrong::at(self.document, node, e.to_string()))?;
                Shape::hull(&surface.vertices).map_err(|e| Wrong::at(self.document, node, e))?
            }
        };
        shape.check().map_err(|e| Wrong::at(self.document, node, e))?;
        let density = self.number(node, class, "density")?.unwrap_or(DENSITY);
        let mass = self.number(node, class, "mass")?.unwrap_or(density * shape.volume());
        if mass <= 0.0 {
            return Ok(None);
        }
        Ok(joined(None, Some(MassProperties::of_shape(&shape, mass)), pose))
    }
}
