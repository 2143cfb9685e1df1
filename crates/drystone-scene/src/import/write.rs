//! A robot as the text of a scene file.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use drystone::limits::FARTHEST;
use drystone::{MassProperties, Pose};
use glam::{DQuat, DVec3};

use super::{Body, Form, Freedom, Geometry, Imported, Link, Options, Robot};
use crate::mesh;

/// Mass of a body that the file gives none, kg, and the size that its inertia is of, m.
const LEAST: (f64, f64) = (1e-2, 0.02);

pub(super) fn scene(mut robot: Robot, from: &Path, to: &Path, options: Options<'_>) -> Imported {
    let mut notes = std::mem::take(&mut robot.notes);
    for (tag, (count, line)) in &robot.left {
        let times = if *count == 1 { String::new() } else { format!(", {count} times") };
        notes.push(format!("{line}: <{tag}> is not understood{times}"));
    }
    if options.fixed_base {
        fix_base(&mut robot);
    }
    for body in robot.bodies.iter_mut().filter(|b| !b.fixed && b.mass.is_none()) {
        let (m, r) = LEAST;
        notes.push(format!("'{}' has no mass: {m} kg are taken", body.name));
        body.mass = Some(MassProperties::principal(m, DVec3::splat(0.4 * m * r * r)));
    }
    let mounted = robot.bodies.iter().any(|b| b.fixed);
    let lift = if mounted { 0.0 } else { -lowest(robot.bodies.iter()) };
    // An arm may hang below the plate that it is mounted on: the floor is below all that moves.
    let low = if mounted { lowest(robot.bodies.iter().filter(|b| !b.fixed)).min(0.0) } else { 0.0 };
    let has_ground = robot.bodies.iter().any(|b| b.shapes.iter().any(|g| g.form == Form::Plane));
    let floor = (!has_ground).then_some(low);
    if floor.is_some_and(|z| z < 0.0) {
        notes.push(format!(
            "the floor is at z = {} m: so far down the robot reaches at the start",
            short(low)
        ));
    }
    let text = text(&robot, lift, floor, from, to, options, &notes);
    Imported { text, notes, bodies: robot.bodies.len(), joints: robot.links.len() }
}

/// Fixes the robot's first body where it stands, unless the file joins it to something fixed already.
fn fix_base(robot: &mut Robot) {
    let Some(first) = robot.bodies.iter().position(|b| !b.ground) else { return };
    let is_fixed = |a: Option<usize>| a.is_none_or(|a| robot.bodies[a].fixed);
    let joined = robot.links.iter().any(|link| link.b == first && is_fixed(link.a));
    robot.bodies[first].fixed |= !joined;
}

/// The lowest point of all shapes, m.
fn lowest<'a>(bodies: impl Iterator<Item = &'a Body>) -> f64 {
    let mut low = f64::INFINITY;
    for body in bodies {
        for g in &body.shapes {
            let pose = body.pose.compose(&g.pose);
            let below = |reach: f64| pose.position.z - reach;
            let axis = (pose.rotation * DVec3::Z).z.abs();
            low = low.min(match &g.form {
                Form::Sphere(r) => below(*r),
                Form::Capsule(r, l) => below(r + axis * l),
                Form::Cylinder(r, l) => below(axis * l + r * (1.0 - axis * axis).max(0.0).sqrt()),
                Form::Box(half) | Form::Ellipsoid(half) => {
                    let m = pose.rotation.inverse() * DVec3::Z;
                    let reach = match g.form {
                        Form::Box(_) => m.abs().dot(*half),
                        _ => (m * *half).length(),
                    };
                    below(reach)
                }
                Form::Plane => continue,
                Form::Mesh(path, scale) => match mesh::read(path, *scale) {
                    Ok(s) => s.vertices.iter().map(|v| pose.point(*v).z).fold(f64::INFINITY, f64::min),
                    Err(_) => continue,
                },
            });
        }
    }
    if low.is_finite() { low } else { 0.0 }
}

/// `floor`: its height, if the robot's file has none.
fn text(
    robot: &Robot,
    lift: f64,
    floor: Option<f64>,
    from: &Path,
    to: &Path,
    options: Options<'_>,
    notes: &[String],
) -> String {
    let mut out = String::new();
    let mut put = |line: String| {
        let _ = writeln!(out, "{line}");
    };
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    put(format!("# Made of {} by drystone import.", printable(&name)));
    notes.iter().for_each(|n| put(format!("# {}", printable(n))));
    put(format!("\nname = {}\n", quoted(&robot.name)));
    put("[parameters]".into());
    put("mu = { default = 0.8, range = [0, 2], about = \"friction where the robot's file says none\" }\n"
        .into());
    put("[settings]\nh = 0.002\nT = 10".into());
    if let Some(g) = robot.gravity {
        put(format!("gravity = {}", list(g)));
    }
    if let Some(z) = floor {
        let taken = robot.bodies.iter().any(|b| b.name == "floor");
        let name = if taken { "floor of the scene" } else { "floor" };
        let place = if z == 0.0 { String::new() } else { format!("\nposition = [0, 0, {}]", short(z)) };
        put(format!(
            "\n[[body]]\nname = \"{name}\"\nmotion = \"static\"\nshape = {{ type = \"plane\" }}{place}\nmu = \"= mu\""
        ));
    }
    for body in &robot.bodies {
        put(body_text(body, lift, to));
    }
    for link in &robot.links {
        put(link_text(robot, link, lift, options));
    }
    out
}

/// Without control characters, which have no place in a scene file.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in printable(text).chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            c => out.push(c),
        }
    }
    out + "\""
}

/// As few digits as say the number to a billionth.
fn short(x: f64) -> String {
    let x = if x.abs() < 1e-12 { 0.0 } else { x };
    if x != 0.0 && !(1e-4..1e9).contains(&x.abs()) {
        return format!("{x:e}");
    }
    let text = format!("{x:.9}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn list(v: DVec3) -> String {
    format!("[{}]", v.to_array().map(short).join(", "))
}

fn turn(q: DQuat) -> String {
    let q = q.normalize();
    let n = [q.w, q.x, q.y, q.z].map(|x| format!("{x:.12}")).map(|t| {
        let t = t.trim_end_matches('0').trim_end_matches('.').to_string();
        if t == "-0" { "0".into() } else { t }
    });
    format!("[{}]", n.join(", "))
}

fn placed(pose: &Pose) -> String {
    let mut text = String::new();
    if pose.position != DVec3::ZERO {
        text += &format!(", position = {}", list(pose.position));
    }
    if pose.rotation.angle_between(DQuat::IDENTITY) > 1e-12 {
        text += &format!(", rotation = {}", turn(pose.rotation));
    }
    text
}

fn body_text(body: &Body, lift: f64, to: &Path) -> String {
    let mut text = format!("\n[[body]]\nname = {}\n", quoted(&body.name));
    if body.fixed {
        text += "motion = \"static\"\n";
    }
    let shapes: Vec<String> = body.shapes.iter().map(|g| shape_text(g, to)).collect();
    if !shapes.is_empty() {
        text += &format!("shape = [\n    {},\n]\n", shapes.join(",\n    "));
    }
    text += &format!("position = {}\n", list(body.pose.position + DVec3::Z * lift));
    if body.pose.rotation.angle_between(DQuat::IDENTITY) > 1e-12 {
        text += &format!("rotation = {}\n", turn(body.pose.rotation));
    }
    if let (false, Some(m)) = (body.fixed, &body.mass) {
        // Small ones count: no digit of them is left out.
        let exact = |x: f64| if x == 0.0 { "0".to_string() } else { format!("{x:e}") };
        let row = |k: usize| format!("[{}]", m.inertia.row(k).to_array().map(exact).join(", "));
        let rows: Vec<String> = (0..3).map(row).collect();
        text += &format!(
            "mass = {}\ncentre = {}\ninertia = [{}]\n",
            exact(m.mass),
            list(m.centre),
            rows.join(", ")
        );
    }
    // Neighbours of neighbours touch in most drawings.
    text + if body.ground { "mu = \"= mu\"" } else { "group = 1\nmu = \"= mu\"" }
}

fn shape_text(g: &Geometry, to: &Path) -> String {
    let form = match &g.form {
        Form::Sphere(r) => format!("type = \"sphere\", r = {}", short(*r)),
        Form::Box(half) => format!("type = \"box\", half = {}", list(*half)),
        Form::Cylinder(r, l) => {
            format!("type = \"cylinder\", r = {}, half_length = {}", short(*r), short(*l))
        }
        Form::Capsule(r, l) => format!("type = \"capsule\", r = {}, half_length = {}", short(*r), short(*l)),
        Form::Ellipsoid(half) => format!("type = \"ellipsoid\", half = {}", list(*half)),
        Form::Plane => "type = \"plane\"".into(),
        Form::Mesh(path, scale) => {
            let scale =
                if *scale == DVec3::ONE { String::new() } else { format!(", scale = {}", list(*scale)) };
            format!("type = \"hull\", file = {}{scale}", quoted(&relative(path, to).to_string_lossy()))
        }
    };
    let mu = g.mu.map(|m| format!(", mu = {}", short(m))).unwrap_or_default();
    format!("{{ {form}{}{mu} }}", placed(&g.pose))
}

/// A path as seen from the folder of the scene file, where both are below one folder.
fn relative(path: &Path, to: &Path) -> PathBuf {
    let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.into());
    let (path, folder) = (absolute(path), absolute(to.parent().unwrap_or(Path::new(""))));
    path.strip_prefix(&folder).map(PathBuf::from).unwrap_or(path)
}

fn link_text(robot: &Robot, link: &Link, lift: f64, options: Options<'_>) -> String {
    let kind = match link.freedom {
        Freedom::Turn => "revolute",
        Freedom::Slide => "prismatic",
        Freedom::Ball => "ball",
        Freedom::None => "fixed",
    };
    let a = link.a.map_or("world", |a| robot.bodies[a].name.as_str());
    let mut text = format!(
        "\n[[joint]]\ntype = \"{kind}\"\nname = {}\na = {}\nb = {}\nanchor = {}\n",
        quoted(&link.name),
        quoted(a),
        quoted(&robot.bodies[link.b].name),
        list(link.anchor + DVec3::Z * lift)
    );
    if matches!(link.freedom, Freedom::Ball | Freedom::None) {
        return text;
    }
    text += &format!("axis = {}\n", list(link.axis));
    // Ends beyond all places are none.
    let ends = link.limits.map(|l| l.map(|x| x.clamp(-FARTHEST, FARTHEST)));
    if let Some([lower, upper]) = ends.filter(|l| l.iter().any(|x| x.abs() < FARTHEST)) {
        text += &format!("limits = [{}, {}]\n", short(lower), short(upper));
    }
    if link.friction > 0.0 {
        text += &format!("friction = {}\n", short(link.friction));
    }
    let mut spring = Vec::new();
    if let Some((stiffness, rest)) = link.spring {
        spring.push(format!("stiffness = {}", short(stiffness)));
        if rest != 0.0 {
            spring.push(format!("rest = {}", short(rest)));
        }
    }
    if link.damping > 0.0 {
        spring.push(format!("damping = {}", short(link.damping)));
    }
    if !spring.is_empty() {
        text += &format!("spring = {{ {} }}\n", spring.join(", "));
    }
    if options.hold && !link.loops {
        let limit = link.effort.map(|e| format!(", limit = {}", short(e))).unwrap_or_default();
        text += &format!("motor = {{ position = 0{limit} }}\n");
    }
    text
}
