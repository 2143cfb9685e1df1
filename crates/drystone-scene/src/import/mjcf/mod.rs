//! MJCF, MuJoCo's form: nested bodies with joints and geoms in them, and classes of defaults.
//!
//! ```text
//!     sections ──> defaults, meshes, efforts ──> worldbody ──> bodies, links ──> equalities between them
//! ```

mod attributes;
mod body;
mod couple;
mod geom;
mod key;
mod names;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use drystone::Pose;
use glam::DVec3;

use super::tree::Element;
use super::{Robot, Wrong};

type Read<T> = Result<T, Wrong>;

/// Sections that say nothing about how a robot moves.
const SILENT: &[&str] = &["size", "visual", "statistic", "custom", "contact"];

struct Reader {
    /// By class and tag: attributes.
    defaults: HashMap<(String, String), HashMap<String, String>>,
    /// Names of these classes.
    known: HashSet<String>,
    /// Names of all bodies and joints.
    bodies: HashSet<String>,
    joints: HashSet<String>,
    meshes: HashMap<String, (PathBuf, DVec3)>,
    compiler: Compiler,
    /// By joint: what its actuators can do.
    efforts: HashMap<String, f64>,
    /// By body: its number, and where its own frame is in the world.
    places: HashMap<String, (usize, Pose)>,
    robot: Robot,
    /// What the numbers of a key's `qpos` place, in their order.
    slots: Vec<key::Slot>,
    /// The file's first element.
    top: ((usize, usize), String),
}

/// How the file is to be read.
struct Compiler {
    degrees: bool,
    autolimits: bool,
    /// Axes of Euler angles: small letters turn with the body, capitals stay.
    euler: String,
    /// Whether masses come from geoms even where `inertial` is given.
    from_geoms: bool,
    total_mass: Option<f64>,
    folder: PathBuf,
}

/// `key`: name or number of the keyframe to start from; none: the first.
pub(super) fn read(root: &Element, folder: &Path, key: Option<&str>) -> Read<Robot> {
    let name = root.attribute("model").unwrap_or("robot").into();
    let compiler = Compiler {
        degrees: true,
        autolimits: true,
        euler: "xyz".into(),
        from_geoms: false,
        total_mass: None,
        folder: folder.into(),
    };
    let mut reader = Reader {
        defaults: HashMap::new(),
        known: HashSet::from(["main".into()]),
        bodies: HashSet::new(),
        joints: HashSet::new(),
        meshes: HashMap::new(),
        compiler,
        efforts: HashMap::new(),
        places: HashMap::new(),
        robot: Robot { name, ..Robot::default() },
        slots: Vec::new(),
        top: (root.place, root.tag.clone()),
    };
    for node in &root.children {
        match node.tag.as_str() {
            "compiler" => reader.compiler(node, folder)?,
            "option" => {
                if let Some(g) = reader.vector(node, "main", "gravity")? {
                    reader.robot.gravity = Some(g);
                }
            }
            "default" => {
                // A second section goes on where the first ended.
                let known = reader.defaults.iter().filter(|((class, _), _)| class == "main");
                let known = known.map(|((_, tag), list)| (tag.clone(), list.clone())).collect();
                reader.classes(node, "main", &known)?;
            }
            _ => {}
        }
    }
    reader.names(root)?;
    let section = |tag: &'static str| root.children.iter().filter(move |n| n.is(tag));
    for node in section("asset") {
        reader.assets(node)?;
    }
    let tendons: Vec<&Element> = section("tendon").flat_map(|n| &n.children).collect();
    for node in section("actuator") {
        reader.actuators(node, &tendons)?;
    }
    let world: Vec<&Element> = section("worldbody").flat_map(|n| &n.children).collect();
    reader.world(&world)?;
    for node in section("equality").flat_map(|n| &n.children) {
        reader.equality(node)?;
    }
    let keys: Vec<&Element> = section("keyframe").flat_map(|n| &n.children).filter(|n| n.is("key")).collect();
    reader.key(&keys, key)?;
    for node in &tendons {
        reader.note(node, "is left out: nothing couples its joints");
    }
    let read =
        ["compiler", "option", "default", "asset", "actuator", "worldbody", "equality", "tendon", "keyframe"];
    for node in root.children.iter().filter(|n| !read.contains(&n.tag.as_str())) {
        if !SILENT.contains(&node.tag.as_str()) {
            reader.leave(node);
        }
    }
    reader.scale_masses();
    Ok(reader.robot)
}

impl Reader {
    fn note(&mut self, node: &Element, text: impl std::fmt::Display) {
        self.robot.note_at(&node.line(), &node.tag, node.attribute("name"), text);
    }

    /// A complaint about the whole file.
    fn whole(&self, message: String) -> Wrong {
        let (place, tag) = self.top.clone();
        Wrong { place, tag, message, file: None }
    }

    fn leave(&mut self, node: &Element) {
        self.robot.leave_at(&node.tag, node.line());
    }

    fn compiler(&mut self, node: &Element, folder: &Path) -> Read<()> {
        let word = |key, valid: &[&str]| self.word(node, "main", key, valid);
        let angle = word("angle", &["degree", "radian"])?;
        let limits = word("autolimits", &["true", "false"])?;
        let from = word("inertiafromgeom", &["true", "false", "auto"])?;
        if word("coordinate", &["local", "global"])? == Some("global") {
            return Err(node.wrong("coordinate: global coordinates are not understood"));
        }
        let [angle, limits, from] = [angle, limits, from].map(|w| w.map(String::from));
        let c = &mut self.compiler;
        if let Some(angle) = angle {
            c.degrees = angle == "degree";
        }
        if let Some(limits) = limits {
            c.autolimits = limits == "true";
        }
        if let Some(from) = from {
            c.from_geoms = from == "true";
        }
        if let Some(order) = node.attribute("eulerseq") {
            if order.len() != 3 || !order.chars().all(|c| "xyzXYZ".contains(c)) {
                return Err(node.wrong(format!("eulerseq: must be three of x, y, z, X, Y, Z, got '{order}'")));
            }
            c.euler = order.into();
        }
        if let Some(f) = node.attribute("meshdir").or(node.attribute("assetdir")) {
            c.folder = folder.join(f);
        }
        if let Some(m) = self.number(node, "main", "settotalmass")?.filter(|m| *m > 0.0) {
            super::check_mass("settotalmass", m).map_err(|why| node.wrong(why))?;
            self.compiler.total_mass = Some(m);
        }
        Ok(())
    }

    /// Makes all masses of what moves as much as the file asks for.
    fn scale_masses(&mut self) {
        let moving = self.robot.bodies.iter_mut().filter(|b| !b.fixed);
        let masses: Vec<_> = moving.filter_map(|b| b.mass.as_mut()).collect();
        let total: f64 = masses.iter().map(|m| m.mass).sum();
        let Some(factor) = self.compiler.total_mass.map(|m| m / total).filter(|f| f.is_finite()) else {
            return;
        };
        for m in masses {
            m.mass *= factor;
            m.inertia *= factor;
        }
    }

    fn assets(&mut self, node: &Element) -> Read<()> {
        for n in &node.children {
            match n.tag.as_str() {
                "mesh" => {
                    let Some(file) = n.attribute("file") else {
                        self.note(n, "a mesh without a file is not understood");
                        continue;
                    };
                    let path = self.compiler.folder.join(file);
                    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
                    let scale = self.vector(n, "main", "scale")?.unwrap_or(DVec3::ONE);
                    self.meshes.insert(n.attribute("name").map_or(stem, String::from), (path, scale));
                }
                "texture" | "material" | "skin" => {}
                _ => self.leave(n),
            }
        }
        Ok(())
    }
}
