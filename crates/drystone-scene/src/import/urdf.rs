//! URDF: links and joints of a tree. Links that joints hold fast are one body with what holds them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use drystone::{MassProperties, Pose};
use glam::{DMat3, DQuat, DVec3};
use roxmltree::{Document, Node};

use super::{
    Body, Form, Freedom, Geometry, Link, Robot, Wrong, check_mass, check_moment, joined, numbers,
    roll_pitch_yaw, triple,
};

type Read<T> = Result<T, Wrong>;

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|n| n.has_tag_name(name))
}

fn need<'a>(document: &Document, node: Node<'a, '_>, key: &str) -> Read<&'a str> {
    node.attribute(key).ok_or_else(|| Wrong::at(document, node, format!("the attribute '{key}' is missing")))
}

fn number(document: &Document, node: Node, key: &str) -> Read<Option<f64>> {
    match numbers(document, node, key)?.as_deref() {
        None => Ok(None),
        Some([x]) => Ok(Some(*x)),
        Some(list) => {
            Err(Wrong::at(document, node, format!("{key}: must be one number, got {}", list.len())))
        }
    }
}

fn origin(document: &Document, node: Node) -> Read<Pose> {
    let Some(at) = child(node, "origin") else { return Ok(Pose::IDENTITY) };
    let xyz = triple(document, at, "xyz")?.unwrap_or(DVec3::ZERO);
    Ok(Pose::new(xyz, roll_pitch_yaw(triple(document, at, "rpy")?.unwrap_or(DVec3::ZERO))))
}

pub(super) fn read(document: &Document, folder: &Path) -> Read<Robot> {
    let root = document.root_element();
    let mut robot = Robot { name: root.attribute("name").unwrap_or("robot").into(), ..Robot::default() };
    let mut links: Vec<(Node, Option<MassProperties>, Vec<Geometry>)> = Vec::new();
    let mut joints: Vec<Node> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    let mut named: HashSet<&str> = HashSet::new();
    for node in root.children().filter(Node::is_element) {
        match node.tag_name().name() {
            "link" => {
                let name = need(document, node, "name")?;
                if index.insert(name, links.len()).is_some() {
                    return Err(Wrong::at(
                        document,
                        node,
                        format!("name: there are two links named '{name}'"),
                    ));
                }
                let mass = inertial(document, node, &mut robot)?;
                links.push((node, mass, shapes(document, node, folder, &mut robot)?));
            }
            "joint" => {
                if let Some(name) = node.attribute("name").filter(|n| !n.is_empty() && !named.insert(n)) {
                    return Err(Wrong::at(
                        document,
                        node,
                        format!("name: there are two joints named '{name}'"),
                    ));
                }
                joints.push(node);
            }
            "material" => {}
            _ => robot.leave(document, node),
        }
    }
    // Joint by parent, and who is a child.
    let mut below: Vec<Vec<(Node, usize)>> = vec![Vec::new(); links.len()];
    let mut parent: Vec<Option<(usize, Node)>> = vec![None; links.len()];
    for joint in joints {
        let link = |tag: &str| -> Read<usize> {
            let end = child(joint, tag)
                .ok_or_else(|| Wrong::at(document, joint, format!("the element <{tag}> is missing")))?;
            let name = need(document, end, "link")?;
            index
                .get(name)
                .copied()
                .ok_or_else(|| Wrong::at(document, end, format!("link: there is no link '{name}'")))
        };
        let (a, b) = (link("parent")?, link("child")?);
        if let Some((_, other)) = parent[b].replace((a, joint)) {
            let other = other.attribute("name").unwrap_or_default();
            let why = format!("its child has another parent, by the joint '{other}': a robot is a tree");
            return Err(Wrong::at(document, joint, why));
        }
        below[a].push((joint, b));
    }
    let roots: Vec<usize> = (0..links.len()).filter(|&i| parent[i].is_none()).collect();
    let first = match roots.as_slice() {
        &[first] => first,
        [] if links.is_empty() => return Err(Wrong::at(document, root, "has no <link>")),
        [] => return Err(loop_of(document, &parent, 0)),
        several => {
            let names: Vec<&str> =
                several.iter().filter_map(|&k| links[k].0.attribute("name")).take(5).collect();
            let text = format!(
                "{} links have no joint to a parent ({}): a robot is a tree, in which one link has none",
                several.len(),
                names.join(", ")
            );
            return Err(Wrong::at(document, links[several[1]].0, text));
        }
    };
    let mut reached = vec![false; links.len()];
    // Each link: its body, and where its frame is in the body's.
    let is_world = links[first].0.attribute("name") == Some("world");
    let mut todo = vec![(first, None::<(usize, Pose)>, Pose::IDENTITY, None::<Link>)];
    while let Some((k, held, pose, joint)) = todo.pop() {
        reached[k] = true;
        let (node, mass, geometry) = (links[k].0, links[k].1, std::mem::take(&mut links[k].2));
        let (body, local) = match held {
            Some((body, local)) => {
                let to = &mut robot.bodies[body];
                to.mass = joined(to.mass, mass, &local);
                let place = |g: Geometry| Geometry { pose: local.compose(&g.pose), ..g };
                to.shapes.extend(geometry.into_iter().map(place));
                (body, local)
            }
            None => {
                let name = node.attribute("name").unwrap_or_default().to_string();
                let fixed = is_world && k == first;
                robot.bodies.push(Body { name, pose, fixed, ground: fixed, mass, shapes: geometry });
                (robot.bodies.len() - 1, Pose::IDENTITY)
            }
        };
        if let Some(link) = joint {
            robot.links.push(Link { b: body, ..link });
        }
        for (joint, child) in std::mem::take(&mut below[k]) {
            let at = pose.compose(&origin(document, joint)?);
            match moving(document, joint, body, &at, &mut robot)? {
                Motion::Fixed => {
                    todo.push((child, Some((body, local.compose(&origin(document, joint)?))), at, None))
                }
                Motion::Free => todo.push((child, None, at, None)),
                Motion::Joint(link, start) => {
                    let turn = match link.freedom {
                        Freedom::Turn => {
                            Pose::new(at.position, DQuat::from_axis_angle(link.axis, start) * at.rotation)
                        }
                        _ => Pose::new(at.position + start * link.axis, at.rotation),
                    };
                    todo.push((child, None, turn, Some(link)));
                }
            }
        }
    }
    // Every other link has a parent, and none of these is on the tree: they go round.
    match reached.iter().position(|r| !r) {
        Some(k) => Err(loop_of(document, &parent, k)),
        None => Ok(robot),
    }
}

/// The complaint about joints that close a loop, which is where the parents of a link lead to.
fn loop_of(document: &Document, parent: &[Option<(usize, Node)>], from: usize) -> Wrong {
    let (mut seen, mut at, mut way) = (vec![false; parent.len()], from, Vec::new());
    while let Some((above, joint)) = parent[at].filter(|_| !std::mem::replace(&mut seen[at], true)) {
        way.push((at, joint));
        at = above;
    }
    let begin = way.iter().position(|(k, _)| *k == at).unwrap_or(0);
    let names: Vec<&str> =
        way[begin..].iter().filter_map(|(_, joint)| joint.attribute("name")).take(8).collect();
    let place = way.get(begin).map_or(document.root_element(), |(_, joint)| *joint);
    let text = format!(
        "the joints {} close a loop: a robot is a tree; leave one of them out here and add it to the scene file",
        names.join(", ")
    );
    Wrong::at(document, place, text)
}

enum Motion {
    Fixed,
    Free,
    /// And where it starts.
    Joint(Link, f64),
}

fn moving(document: &Document, joint: Node, a: usize, at: &Pose, robot: &mut Robot) -> Read<Motion> {
    let kind = need(document, joint, "type")?;
    let freedom = match kind {
        "fixed" => return Ok(Motion::Fixed),
        "floating" => return Ok(Motion::Free),
        "revolute" | "continuous" => Freedom::Turn,
        "prismatic" => Freedom::Slide,
        "spherical" => Freedom::Ball,
        other => {
            robot.note(document, joint, format!("type '{other}' is not understood: taken as fixed"));
            return Ok(Motion::Fixed);
        }
    };
    for n in joint.children().filter(Node::is_element) {
        if !["origin", "parent", "child", "axis", "limit", "dynamics"].contains(&n.tag_name().name()) {
            robot.leave(document, n);
        }
    }
    let axis = match child(joint, "axis") {
        Some(n) => triple(document, n, "xyz")?.unwrap_or(DVec3::X),
        None => DVec3::X,
    };
    let axis = axis.try_normalize().ok_or_else(|| Wrong::at(document, joint, "its axis is a zero vector"))?;
    let mut link = Link {
        name: joint.attribute("name").unwrap_or_default().into(),
        freedom,
        a: Some(a),
        b: 0,
        anchor: at.position,
        axis: at.rotation * axis,
        limits: None,
        effort: None,
        friction: 0.0,
        damping: 0.0,
        spring: None,
        loops: false,
    };
    let mut start = 0.0;
    if let Some(limit) = child(joint, "limit") {
        link.effort = number(document, limit, "effort")?.filter(|e| *e > 0.0);
        let bound = |key| Ok::<_, Wrong>(number(document, limit, key)?.unwrap_or(0.0));
        let (lower, upper) = (bound("lower")?, bound("upper")?);
        if kind != "continuous" && lower < upper {
            start = 0f64.clamp(lower, upper);
            if start != 0.0 {
                robot.note(document, joint, format!("0 is not within its limits: it starts at {start}"));
            }
            link.limits = Some([lower - start, upper - start]);
        } else if kind != "continuous" && lower > upper {
            robot.note(document, joint, format!("limits from {lower} to {upper} mean none"));
        }
    }
    if let Some(dynamics) = child(joint, "dynamics") {
        for (key, to) in [("friction", &mut link.friction), ("damping", &mut link.damping)] {
            let value = number(document, dynamics, key)?.unwrap_or(0.0);
            if value < 0.0 {
                robot.note(document, joint, format!("{key} of {value} is below 0, and is left out"));
            }
            *to = value.max(0.0);
        }
    }
    Ok(Motion::Joint(link, start))
}

fn inertial(document: &Document, link: Node, robot: &mut Robot) -> Read<Option<MassProperties>> {
    let Some(node) = child(link, "inertial") else { return Ok(None) };
    let pose = origin(document, node)?;
    let value = match child(node, "mass") {
        Some(m) => {
            let value = number(document, m, "value")?.unwrap_or(0.0);
            if value < 0.0 {
                return Err(Wrong::at(document, m, format!("value: must not be below 0, got {value} kg")));
            }
            value
        }
        None => 0.0,
    };
    if value == 0.0 {
        return Ok(None);
    }
    check_mass("value", value)
        .map_err(|why| Wrong::at(document, child(node, "mass").unwrap_or(node), why))?;
    let ball = DMat3::IDENTITY * (0.4 * value * 0.05 * 0.05);
    let Some(at) = child(node, "inertia") else {
        robot.note(document, link, "has a mass and no <inertia>: a ball of its mass and 5 cm is taken");
        return Ok(Some(MassProperties { mass: value, centre: pose.position, inertia: ball }));
    };
    let get = |key| {
        let moment = number(document, at, key)?.unwrap_or(0.0);
        check_moment(key, moment).map_err(|why| Wrong::at(document, at, why))?;
        Ok::<_, Wrong>(moment)
    };
    let (xx, yy, zz) = (get("ixx")?, get("iyy")?, get("izz")?);
    let (xy, xz, yz) = (get("ixy")?, get("ixz")?, get("iyz")?);
    let inertia = DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz));
    let r = DMat3::from_quat(pose.rotation);
    let mass = MassProperties { mass: value, centre: pose.position, inertia: r * inertia * r.transpose() };
    if let Err(why) = mass.check() {
        robot.note(document, link, format!("{why}: a ball of its mass and 5 cm is taken"));
        return Ok(Some(MassProperties { inertia: ball, ..mass }));
    }
    Ok(Some(mass))
}

fn shapes(document: &Document, link: Node, folder: &Path, robot: &mut Robot) -> Read<Vec<Geometry>> {
    let mut all = Vec::new();
    for node in link.children().filter(Node::is_element) {
        match node.tag_name().name() {
            "collision" => {}
            // Colours and what they are of; where nothing collides, nothing is made of it.
            "visual" | "inertial" => continue,
            _ => {
                robot.leave(document, node);
                continue;
            }
        }
        let pose = origin(document, node)?;
        let Some(at) = child(node, "geometry").and_then(|g| g.children().find(Node::is_element)) else {
            continue;
        };
        let get = |key| {
            number(document, at, key)?.ok_or_else(|| Wrong::at(document, at, format!("'{key}' is missing")))
        };
        let form = match at.tag_name().name() {
            "box" => match triple(document, at, "size")? {
                Some(size) => Form::Box(0.5 * size),
                None => return Err(Wrong::at(document, at, "'size' is missing")),
            },
            "sphere" => Form::Sphere(get("radius")?),
            "cylinder" => Form::Cylinder(get("radius")?, 0.5 * get("length")?),
            "capsule" => Form::Capsule(get("radius")?, 0.5 * get("length")?),
            "mesh" => {
                let name = need(document, at, "filename")?;
                let scale = triple(document, at, "scale")?.unwrap_or(DVec3::ONE);
                match find(name, folder) {
                    Ok(path) => Form::Mesh(path, scale),
                    Err(why) => {
                        robot.note(document, at, format!("{name}: {why}, and is left out"));
                        continue;
                    }
                }
            }
            _ => {
                robot.leave(document, at);
                continue;
            }
        };
        let sizes = sizes(&form);
        if let Some((key, x)) = sizes.iter().find(|(_, x)| *x < 0.0) {
            return Err(Wrong::at(document, at, format!("{key}: must be above 0 m, got {x}")));
        }
        if let Some((key, _)) = sizes.iter().find(|(_, x)| *x == 0.0) {
            robot.note(document, at, format!("{key} is 0: nothing collides there, and it is left out"));
            continue;
        }
        all.push(Geometry { form, pose, mu: None });
    }
    Ok(all)
}

/// What must be above 0 of a shape, by the attributes that say it.
fn sizes(form: &Form) -> Vec<(&'static str, f64)> {
    let three = |key, v: DVec3| v.to_array().map(|x| (key, x)).to_vec();
    match form {
        Form::Sphere(r) => vec![("radius", *r)],
        Form::Cylinder(r, l) => vec![("radius", *r), ("length", 2.0 * l)],
        // One without a length is a ball.
        Form::Capsule(r, l) if *l >= 0.0 => vec![("radius", *r)],
        Form::Capsule(r, l) => vec![("radius", *r), ("length", 2.0 * l)],
        Form::Box(half) | Form::Ellipsoid(half) => three("size", 2.0 * *half),
        // Below 0 mirrors.
        Form::Mesh(_, scale) => three("scale", scale.abs()),
        Form::Plane => Vec::new(),
    }
}

/// The file that a name means: beside the robot's, or in a package of that name above it.
fn find(name: &str, folder: &Path) -> Result<PathBuf, &'static str> {
    let bare = name.strip_prefix("file://").unwrap_or(name);
    let mut places = Vec::new();
    if let Some(inside) = bare.strip_prefix("package://") {
        let absolute = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.into());
        let after = inside.split_once('/').map_or(inside, |(_, rest)| rest);
        places.extend(absolute.ancestors().flat_map(|f| [f.join(inside), f.join(after)]));
    } else {
        places.push(folder.join(bare));
    }
    let found = places.into_iter().find(|p| p.is_file()).ok_or("there is no such file")?;
    match found.extension().map(|e| e.to_ascii_lowercase()) {
        Some(e) if e == "stl" || e == "obj" => Ok(found),
        _ => Err("only .stl and .obj are read"),
    }
}
