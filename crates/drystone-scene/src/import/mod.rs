//! Robots that other programs wrote, as scene files: URDF and MJCF. What was not understood is told, with its
//! lines.
//!
//! ```text
//!     file ──> Robot (bodies, joints, notes) ──> text of a scene file
//! ```

mod mjcf;
mod tree;
mod urdf;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use drystone::limits::{MASSES, MOMENTS};
use drystone::{MassProperties, Pose};
use glam::{DMat3, DQuat, DVec3};
use roxmltree::{Document, Node};

use crate::SceneError;

/// What is wanted of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// The first body does not move.
    pub fixed_base: bool,
    /// Motors hold every joint where it starts, as strongly as the file says.
    pub hold: bool,
    /// Of an MJCF file: the keyframe that it starts from, by name or by number from 0; `none`: from none.
    /// Not given: the first, if there is one.
    pub key: Option<&'a str>,
}

/// A scene file made of a robot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The text of the scene file.
    pub text: String,
    /// A line each for what was not understood, or assumed.
    pub notes: Vec<String>,
    /// Bodies and joints.
    pub bodies: usize,
    /// Joints that can move.
    pub joints: usize,
}

/// Makes a scene file of a robot's file (`.urdf`, or `.xml` in MuJoCo's form); `to` is where it will be, so
/// that paths of meshes are relative to it.
///
/// # Errors
/// For files that cannot be read, with line and column where they are not what they should be.
pub fn import(path: &Path, to: &Path, options: Options<'_>) -> Result<Imported, SceneError> {
    let fail = |message: String| SceneError { file: Some(path.into()), ..SceneError::new(message) };
    let text = std::fs::read_to_string(path).map_err(|e| fail(format!("cannot be read: {e}")))?;
    if text.trim_start_matches('\u{feff}').trim_start().starts_with(|c| c != '<') {
        return Err(fail("is no robot: a URDF (.urdf) or a model in MuJoCo's form (.xml) is".into()));
    }
    let document =
        parsed(&text).map_err(|(place, message)| SceneError { place: Some(place), ..fail(message) })?;
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let root = document.root_element();
    let read = match root.tag_name().name() {
        "robot" if options.key.is_some() => {
            Err(Wrong::at(&document, root, "a URDF has no keys: they are of MuJoCo's form"))
        }
        "robot" => urdf::read(&document, &folder),
        "mujoco" => {
            tree::with_included(root, &folder).and_then(|root| mjcf::read(&root, &folder, options.key))
        }
        other => Err(Wrong::at(
            &document,
            root,
            format!("<{other}> is no robot: <robot> (URDF) or <mujoco> (MJCF) is"),
        )),
    };
    let robot = read.map_err(|w| SceneError {
        file: w.file.or_else(|| Some(path.into())),
        place: Some(w.place),
        field: Some(w.tag).filter(|t| !t.is_empty()),
        message: w.message,
    })?;
    if let Some(what) = robot.endless() {
        return Err(fail(format!("{what} comes out as no finite number: are its numbers too large?")));
    }
    Ok(write::scene(robot, path, to, options))
}

/// The document of a text; what is wrong with it comes with line and column.
fn parsed(text: &str) -> Result<Document<'_>, ((usize, usize), String)> {
    let settings = roxmltree::ParsingOptions { nodes_limit: 1_000_000, ..Default::default() };
    let document = Document::parse_with_options(text, settings).map_err(|e| match e {
        // One that is cut off: at its end.
        roxmltree::Error::UnclosedRootNode | roxmltree::Error::UnexpectedEndOfStream => {
            let last = text.rsplit('\n').next().unwrap_or_default();
            let place = (text.matches('\n').count() + 1, last.chars().count() + 1);
            (place, "the file ends here, within an element: is it cut off?".into())
        }
        e => {
            // It says its place itself, too.
            let text = e.to_string().replace(&format!(" at {}", e.pos()), "");
            ((e.pos().row as usize, e.pos().col as usize), text)
        }
    })?;
    if let Some(deep) = too_deep(document.root_element()) {
        let place = document.text_pos_at(deep.range().start);
        let message = format!("elements are nested deeper than {MAX_DEPTH}");
        return Err(((place.row as usize, place.col as usize), message));
    }
    Ok(document)
}

/// Nesting beyond this is refused before the stack is in danger.
const MAX_DEPTH: usize = 200;

fn too_deep<'a, 'i>(root: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
    let mut depth = HashMap::from([(root.id(), 0)]);
    for node in root.descendants().filter(Node::is_element).skip(1) {
        let own = node.parent().and_then(|p| depth.get(&p.id())).map_or(0, |d| d + 1);
        if own > MAX_DEPTH {
            return Some(node);
        }
        depth.insert(node.id(), own);
    }
    None
}

/// A complaint with its place.
struct Wrong {
    place: (usize, usize),
    tag: String,
    message: String,
    /// An included file; none: the robot's own.
    file: Option<PathBuf>,
}

impl Wrong {
    fn at(document: &Document, node: Node, message: impl Into<String>) -> Self {
        let place = document.text_pos_at(node.range().start);
        let tag = node.tag_name().name().to_string();
        Self { place: (place.row as usize, place.col as usize), tag, message: message.into(), file: None }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Sphere(f64),
    Box(DVec3),
    Cylinder(f64, f64),
    Capsule(f64, f64),
    Ellipsoid(DVec3),
    Plane,
    Mesh(PathBuf, DVec3),
}

#[derive(Clone, Debug)]
struct Geometry {
    form: Form,
    /// In the body's frame.
    pose: Pose,
    mu: Option<f64>,
}

#[derive(Clone, Debug)]
struct Body {
    name: String,
    /// Of its frame in the world.
    pose: Pose,
    fixed: bool,
    /// What the robot stands on, and no part of it.
    ground: bool,
    mass: Option<MassProperties>,
    shapes: Vec<Geometry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freedom {
    Turn,
    Slide,
    Ball,
    /// None: a loop that is welded.
    None,
}

#[derive(Clone, Debug)]
struct Link {
    name: String,
    freedom: Freedom,
    /// Bodies; none: the world.
    a: Option<usize>,
    b: usize,
    anchor: DVec3,
    axis: DVec3,
    /// From where it starts.
    limits: Option<[f64; 2]>,
    effort: Option<f64>,
    friction: f64,
    damping: f64,
    /// Stiffness, and the coordinate at which the spring pulls nothing, from where it starts.
    spring: Option<(f64, f64)>,
    /// Whether it closes a loop: nothing drives it.
    loops: bool,
}

/// What a file says.
#[derive(Default)]
struct Robot {
    name: String,
    bodies: Vec<Body>,
    links: Vec<Link>,
    gravity: Option<DVec3>,
    notes: Vec<String>,
    /// Elements that nothing was made of: how often, and where the first is.
    left: BTreeMap<String, (usize, String)>,
}

impl Robot {
    /// What has a number that is not finite: those of the file are, but sums and products of large ones need
    /// not be.
    fn endless(&self) -> Option<String> {
        let pose = |p: &Pose| p.position.is_finite() && p.rotation.is_finite();
        let mass = |m: &MassProperties| {
            m.mass.is_finite() && m.centre.is_finite() && (0..3).all(|k| m.inertia.col(k).is_finite())
        };
        for b in &self.bodies {
            if !pose(&b.pose) || !b.shapes.iter().all(|g| pose(&g.pose)) {
                return Some(format!("the place of body '{}'", b.name));
            }
            if !b.mass.as_ref().is_none_or(mass) {
                return Some(format!("mass, centre or inertia of body '{}'", b.name));
            }
        }
        let links = self.links.iter();
        let good = |l: &&Link| {
            let limits = l.limits.unwrap_or_default();
            let (stiffness, rest) = l.spring.unwrap_or_default();
            let all = [limits[0], limits[1], l.effort.unwrap_or(0.0), l.friction, l.damping, stiffness, rest];
            l.anchor.is_finite() && l.axis.is_finite() && all.iter().all(|x| x.is_finite())
        };
        let mut wrong = links.filter(|l| !good(l));
        wrong.next().map(|l| format!("joint '{}'", l.name))
    }

    /// Counts an element that nothing is made of.
    fn leave(&mut self, document: &Document, node: Node) {
        let line = document.text_pos_at(node.range().start).row;
        self.leave_at(node.tag_name().name(), format!("line {line}"));
    }

    fn leave_at(&mut self, tag: &str, line: String) {
        self.left.entry(tag.into()).or_insert((0, line)).0 += 1;
    }

    fn note(&mut self, document: &Document, node: Node, text: impl std::fmt::Display) {
        let line = document.text_pos_at(node.range().start).row;
        self.note_at(&format!("line {line}"), node.tag_name().name(), node.attribute("name"), text);
    }

    fn note_at(&mut self, line: &str, tag: &str, name: Option<&str>, text: impl std::fmt::Display) {
        let name = name.map(|n| format!(" '{n}'")).unwrap_or_default();
        self.notes.push(format!("{line}: <{tag}>{name}: {text}"));
    }
}

/// Numbers of an attribute, apart by spaces.
fn numbers(document: &Document, node: Node, key: &str) -> Result<Option<Vec<f64>>, Wrong> {
    let Some(text) = node.attribute(key) else { return Ok(None) };
    parse(text).map(Some).map_err(|e| Wrong::at(document, node, format!("{key}: {e}")))
}

fn parse(text: &str) -> Result<Vec<f64>, String> {
    let one =
        |w: &str| w.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or(format!("'{w}' is not a number"));
    text.split_whitespace().map(one).collect()
}

/// Refuses a mass that bodies may not have, kg.
fn check_mass(key: &str, mass: f64) -> Result<(), String> {
    let (least, most) = (MASSES.start(), MASSES.end());
    if MASSES.contains(&mass) {
        Ok(())
    } else {
        Err(format!("{key}: must be within {least:e} to {most:e} kg, got {mass:e}"))
    }
}

/// Refuses a moment of inertia that bodies may not have, kg m²; those off the diagonal have any sign.
fn check_moment(key: &str, moment: f64) -> Result<(), String> {
    let most = MOMENTS.end();
    if moment.abs() <= *most {
        Ok(())
    } else {
        Err(format!("{key}: must be within {most:e} kg m², got {moment:e}"))
    }
}

/// Three numbers.
fn triple(document: &Document, node: Node, key: &str) -> Result<Option<DVec3>, Wrong> {
    let Some(list) = numbers(document, node, key)? else { return Ok(None) };
    let &[x, y, z] = list.as_slice() else {
        return Err(Wrong::at(document, node, format!("{key}: must be 3 numbers, got {}", list.len())));
    };
    Ok(Some(DVec3::new(x, y, z)))
}

/// Both as one rigid body, in the frame of the first; `pose` is where the second's frame is in it.
fn joined(a: Option<MassProperties>, b: Option<MassProperties>, pose: &Pose) -> Option<MassProperties> {
    let b = b.map(|b| {
        let r = DMat3::from_quat(pose.rotation);
        MassProperties {
            mass: b.mass,
            centre: pose.position + pose.rotation * b.centre,
            inertia: r * b.inertia * r.transpose(),
        }
    });
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (one, other) => return one.or(other),
    };
    let mass = a.mass + b.mass;
    let centre = (a.mass * a.centre + b.mass * b.centre) / mass;
    let about = |p: &MassProperties| {
        let d = p.centre - centre;
        let outer = DMat3::from_cols(d * d.x, d * d.y, d * d.z);
        p.inertia + (DMat3::IDENTITY * d.length_squared() - outer) * p.mass
    };
    Some(MassProperties { mass, centre, inertia: about(&a) + about(&b) })
}

/// Rolls about x, pitches about y, yaws about z: axes that stay.
fn roll_pitch_yaw(angles: DVec3) -> DQuat {
    DQuat::from_rotation_z(angles.z) * DQuat::from_rotation_y(angles.y) * DQuat::from_rotation_x(angles.x)
}
