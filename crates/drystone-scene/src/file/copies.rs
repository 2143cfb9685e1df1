//! `copies` of a body: many of one kind, in places that a rule makes.
//!
//! ```text
//!     copies = { type = "grid", count = [4, 4, 2], spacing = [0.1, 0.1, 0.1] }
//!     copies = { type = "lattice", cell = "fcc", spacing = 0.1, min = [..], max = [..] }
//!     copies = { type = "random", count = 200, min = [..], max = [..], turned = true, sizes = [0.8, 1.2] }
//!     copies = { type = "jittered", count = 500, across = [5, 5], cell = [0.1, 0.1, 0.1], jitter = 0.005 }
//!     copies = { type = "strewn", count = 500, size = [1, 1, 2] }     at random, denser
//!     copies = { type = "wall", count = [10, 6] }                     bricks in running bond
//!     copies = { type = "curve", points = [[..], ..], spacing = 0.2 }
//!     copies = { type = "csv", file = "places.csv" }
//! ```

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use drystone::random::Random;
use drystone::{BodyDef, MassProperties, Pose, Shape};
use glam::{DQuat, DVec3};

use super::heap;
use super::library::Library;
use super::settings::{not_negative, positive};
use crate::text::{At, Fault};

/// Bodies that a file may make: more are taken for a slip.
static MOST_BODIES: AtomicI64 = AtomicI64::new(10_000_000);

/// Lets scene files make at most so many bodies from now on, ten million unless told otherwise: for programs
/// that read files of people whom they do not know.
pub fn limit_bodies(most: usize) {
    MOST_BODIES.store(most.min(i64::MAX as usize) as i64, Ordering::Relaxed);
}

/// See [`limit_bodies`].
pub(super) fn most_bodies() -> i64 {
    MOST_BODIES.load(Ordering::Relaxed)
}
/// Throws for one body before a box counts as full.
const THROWS: usize = 2000;
/// Pieces that a smooth curve is drawn with between two points.
const PIECES: usize = 64;

/// Rules, each with its fields beside `type`.
pub(super) const KINDS: &[(&str, &[&str])] = &[
    ("grid", &["count", "spacing"]),
    ("lattice", &["cell", "spacing", "min", "max"]),
    ("random", &["count", "min", "max", "gap", "turned", "sizes", "seed"]),
    ("jittered", &["count", "across", "cell", "jitter", "seed", "clear"]),
    ("strewn", &["count", "size", "seed"]),
    ("wall", &["count", "gap", "ends"]),
    ("curve", &["points", "count", "spacing", "closed", "smooth", "aligned"]),
    ("csv", &["file", "scale"]),
];

/// The balls that random copies of a file fill: later ones keep clear of them.
#[derive(Default)]
pub(super) struct Filled {
    balls: RefCell<Vec<(DVec3, f64)>>,
}

/// The bodies that `copies` makes of one.
pub(super) fn read(at: &At, def: &BodyDef, library: &Library) -> Result<Vec<BodyDef>, Fault> {
    let names: Vec<(&str, usize)> = KINDS.iter().enumerate().map(|(k, (name, _))| (*name, k)).collect();
    let kind = at.need("type")?.choice(&names)?;
    at.only(&[&["type"], KINDS[kind].1].concat())?;
    let made = match KINDS[kind].0 {
        "grid" => grid(at)?.into_iter().map(|(n, x)| moved(def, x, &n)).collect(),
        "lattice" => numbered(def, lattice(at)?),
        "random" => random(at, def, library)?,
        "jittered" => heap::jittered(at, def)?,
        "strewn" => heap::strewn(at, def)?,
        "wall" => wall(at, def)?,
        "curve" => curve(at, def)?,
        _ => csv(at, def, library)?,
    };
    Ok(made)
}

pub(super) fn moved(def: &BodyDef, by: DVec3, number: &str) -> BodyDef {
    let mut copy = def.clone();
    copy.position += by;
    copy.name = def.name.as_ref().map(|n| format!("{n}[{number}]"));
    copy
}

pub(super) fn numbered(def: &BodyDef, places: Vec<DVec3>) -> Vec<BodyDef> {
    places.into_iter().enumerate().map(|(k, x)| moved(def, x, &k.to_string())).collect()
}

/// Three whole numbers whose product is bodies.
pub(super) fn counts<const N: usize>(count: &At) -> Result<[i64; N], Fault> {
    let n: Vec<i64> = count.items()?.map(|i| i.whole(1, most_bodies())).collect::<Result<_, _>>()?;
    let Ok(n) = <[i64; N]>::try_from(n.as_slice()) else {
        return Err(count.fault(format!("must have {N} numbers, got {}", n.len())));
    };
    if n.iter().fold(1i64, |all, k| all.saturating_mul(*k)) > most_bodies() {
        return Err(count.fault(format!("makes more than {} bodies", most_bodies())));
    }
    Ok(n)
}

/// Displacements and their numbers, x the fastest; `at` has `count` and `spacing`.
pub(super) fn grid(at: &At) -> Result<Vec<(String, DVec3)>, Fault> {
    let [nx, ny, nz] = counts(&at.need("count")?)?;
    let spacing = at.need("spacing")?.vector()?;
    let mut all = Vec::with_capacity((nx * ny * nz) as usize);
    for iz in 0..nz {
        for iy in 0..ny {
            for ix in 0..nx {
                let by = spacing * DVec3::new(ix as f64, iy as f64, iz as f64);
                all.push((format!("{ix},{iy},{iz}"), by));
            }
        }
    }
    Ok(all)
}

/// The points of a crystal in a box; `spacing` is the distance of nearest neighbours.
fn lattice(at: &At) -> Result<Vec<DVec3>, Fault> {
    let d = positive(&at.need("spacing")?, "m")?;
    let (half, third) = (0.5, 1.0 / 3.0);
    // Edges of the cell in distances of neighbours, and the points in it.
    let (r2, r3) = (2f64.sqrt(), 3f64.sqrt());
    let cells: [(&str, ([f64; 3], &[[f64; 3]])); 4] = [
        ("sc", ([1.0; 3], &[[0.0; 3]])),
        ("bcc", ([2.0 / r3; 3], &[[0.0; 3], [half; 3]])),
        ("fcc", ([r2; 3], &[[0.0; 3], [half, half, 0.0], [half, 0.0, half], [0.0, half, half]])),
        (
            "hcp",
            (
                [1.0, r3, (8f64 / 3.0).sqrt()],
                &[[0.0; 3], [half, half, 0.0], [half, half * third, half], [0.0, half + half * third, half]],
            ),
        ),
    ];
    let (edges, points) = at.need("cell")?.choice(&cells)?;
    let (min, max) = corners(at)?;
    let edges = DVec3::from_array(edges) * d;
    let n = ((max - min) / edges).floor() + DVec3::ONE;
    let most = n.element_product() * points.len() as f64;
    if most > most_bodies() as f64 {
        return Err(at.fault(format!("makes about {most:.0} bodies, more than {}", most_bodies())));
    }
    let mut all = Vec::new();
    let slack = 1e-9 * d;
    for iz in 0..n.z as i64 {
        for iy in 0..n.y as i64 {
            for ix in 0..n.x as i64 {
                for p in points {
                    let cell = DVec3::new(ix as f64, iy as f64, iz as f64);
                    let x = min + (cell + DVec3::from_array(*p)) * edges;
                    if x.cmple(max + slack).all() {
                        all.push(x);
                    }
                }
            }
        }
    }
    Ok(all)
}

fn corners(at: &At) -> Result<(DVec3, DVec3), Fault> {
    let (min, max_at) = (at.need("min")?.vector()?, at.need("max")?);
    let max = max_at.vector()?;
    if !min.cmple(max).all() {
        return Err(max_at.fault("must not be below 'min'"));
    }
    Ok((min, max))
}

/// The radius of a ball about the body's origin that holds all of it.
fn reach(def: &BodyDef) -> f64 {
    let of = |c: &drystone::Collider| c.local.position.length() + c.shape.bounding_radius();
    def.colliders.iter().map(of).fold(0.0, f64::max)
}

/// Random places in a box in which the balls about the bodies do not overlap.
fn random(at: &At, def: &BodyDef, library: &Library) -> Result<Vec<BodyDef>, Fault> {
    let count_at = at.need("count")?;
    let count = count_at.whole(1, most_bodies())? as usize;
    let (min, max) = corners(at)?;
    let gap = at.get("gap").map_or(Ok(0.0), |g| not_negative(&g, "m"))?;
    let turned = at.get("turned").map_or(Ok(false), |t| t.boolean())?;
    let sizes: [f64; 2] = match at.get("sizes") {
        None => [1.0; 2],
        Some(s) => {
            for x in s.items()? {
                positive(&x, "")?;
            }
            let sizes = s.numbers()?;
            if sizes[0] > sizes[1] {
                return Err(s.fault("must be the least and the largest size"));
            }
            scaled(def, 1.0).map_err(|e| s.fault(e))?;
            sizes
        }
    };
    let seed = at.get("seed").map_or(Ok(1), |s| s.whole(0, 1 << 53))?;
    let mut random = Random::new(seed as u64);
    let largest = reach(def) * sizes[1] + 0.5 * gap;
    if !largest.is_finite() {
        return Err(at.fault("a shape without end has no place in a box"));
    }
    let mut balls = library.filled.balls.borrow_mut();
    let widest = balls.iter().map(|b| b.1).fold(largest, f64::max).max(1e-12);
    let mut cells = Cells { edge: 2.0 * widest, at: HashMap::new() };
    balls.iter().enumerate().for_each(|(k, b)| cells.add(b.0, k));
    // The large ones first: what is left between them is for the small.
    let mut scales: Vec<f64> = (0..count).map(|_| random.range(sizes[0], sizes[1])).collect();
    scales.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut made = Vec::with_capacity(count);
    for (k, scale) in scales.into_iter().enumerate() {
        let r = reach(def) * scale + 0.5 * gap;
        let (low, high) = (min + r, max - r);
        if !low.cmple(high).all() {
            return Err(
                at.fault(format!("a body reaches {r} m from its centre: the box is too narrow for it"))
            );
        }
        let free = |x: DVec3| cells.near(x).all(|i| balls[i].0.distance(x) >= balls[i].1 + r);
        let found = (0..THROWS).map(|_| def.position + random.in_box(low, high)).find(|x| free(*x));
        let Some(x) = found else {
            return Err(count_at.fault(format!(
                "{k} of {count} bodies fit into the box at random (about a third of its volume): take a larger box, \
                 fewer bodies, or type = \"lattice\""
            )));
        };
        cells.add(x, balls.len());
        balls.push((x, r));
        let mut copy =
            if scale == 1.0 { def.clone() } else { scaled(def, scale).map_err(|e| at.fault(e))? };
        copy.position = x;
        copy.name = def.name.as_ref().map(|n| format!("{n}[{k}]"));
        if turned {
            copy.rotation = random.rotation() * def.rotation;
        }
        made.push(copy);
    }
    Ok(made)
}

/// The number of the last cube along an axis.
const FAR: i64 = 1 << 62;

/// Places sorted into cubes.
struct Cells {
    edge: f64,
    at: HashMap<[i64; 3], Vec<usize>>,
}

impl Cells {
    fn key(&self, x: DVec3) -> [i64; 3] {
        // Places as far as that share the last cube, so that each cube has neighbours that can be counted.
        (x / self.edge).floor().to_array().map(|x| (x as i64).clamp(-FAR, FAR))
    }

    fn add(&mut self, x: DVec3, k: usize) {
        self.at.entry(self.key(x)).or_default().push(k);
    }

    fn near(&self, x: DVec3) -> impl Iterator<Item = usize> + '_ {
        let [a, b, c] = self.key(x);
        let around = (-1..=1).flat_map(|i| (-1..=1).flat_map(move |j| (-1..=1).map(move |k| [i, j, k])));
        around.filter_map(move |[i, j, k]| self.at.get(&[a + i, b + j, c + k])).flatten().copied()
    }
}

/// The body with all lengths times `s`, of the same density.
fn scaled(def: &BodyDef, s: f64) -> Result<BodyDef, String> {
    let mut copy = def.clone();
    for c in &mut copy.colliders {
        c.local.position *= s;
        c.shape = match &c.shape {
            Shape::Sphere { radius } => Shape::Sphere { radius: radius * s },
            Shape::Box { half } => Shape::Box { half: *half * s },
            Shape::Capsule { radius, half_length } => {
                Shape::Capsule { radius: radius * s, half_length: half_length * s }
            }
            Shape::Cylinder { radius, half_length } => {
                Shape::Cylinder { radius: radius * s, half_length: half_length * s }
            }
            Shape::Cone { radius, height } => Shape::Cone { radius: radius * s, height: height * s },
            Shape::Ellipsoid { half } => Shape::Ellipsoid { half: *half * s },
            Shape::Hull(hull) => {
                let points: Vec<DVec3> = hull.vertices().iter().map(|p| *p * s).collect();
                Shape::hull(&points)?
            }
            other => return Err(format!("a {} has one size only", other.name())),
        };
    }
    copy.mass = MassProperties {
        mass: def.mass.mass * s.powi(3),
        centre: def.mass.centre * s,
        inertia: def.mass.inertia * s.powi(5),
    };
    Ok(copy)
}

/// Rows of bricks along the body's x, each half a brick further than the one below; halves fill the ends.
fn wall(at: &At, def: &BodyDef) -> Result<Vec<BodyDef>, Fault> {
    let [long, high] = counts::<2>(&at.need("count")?)?;
    let gap = at.get("gap").map_or(Ok(0.0), |g| not_negative(&g, "m"))?;
    let halves = at.get("ends").map_or(Ok(true), |e| e.choice(&[("halves", true), ("toothed", false)]))?;
    let [collider] = def.colliders.as_slice() else {
        return Err(at.fault("a wall is of bodies with one shape, a box"));
    };
    let centred = collider.local == Pose::IDENTITY;
    let Some(half) = (match collider.shape {
        Shape::Box { half } if centred => Some(half),
        _ => None,
    }) else {
        return Err(at.fault("a wall is of bodies with one shape, a box at their centre"));
    };
    let (pitch, rise) = (2.0 * half.x + gap, 2.0 * half.z + gap);
    let mut small = def.clone();
    let half_brick = DVec3::new(0.5 * half.x - 0.25 * gap, half.y, half.z);
    if half_brick.x <= 0.0 {
        return Err(at.fault(format!("a gap of {gap} m leaves nothing of half a brick")));
    }
    small.colliders[0].shape = Shape::Box { half: half_brick };
    small.mass = MassProperties::of_shape(&small.colliders[0].shape, def.mass.mass * half_brick.x / half.x);
    let mut all = Vec::with_capacity((long * high) as usize);
    let mut put = |brick: &BodyDef, x: f64, row: i64, k: i64| {
        let by = def.rotation * DVec3::new(x, 0.0, row as f64 * rise);
        all.push(moved(brick, by, &format!("{row},{k}")));
    };
    for row in 0..high {
        if row % 2 == 0 {
            (0..long).for_each(|k| put(def, k as f64 * pitch, row, k));
            continue;
        }
        let inner = if halves { long - 1 } else { long };
        (0..inner).for_each(|k| put(def, (k as f64 + 0.5) * pitch, row, k));
        if halves {
            let end = half.x - half_brick.x;
            put(&small, -end, row, inner);
            put(&small, (long - 1) as f64 * pitch + end, row, inner + 1);
        }
    }
    Ok(all)
}

/// Places along a line through points, at equal distances.
fn curve(at: &At, def: &BodyDef) -> Result<Vec<BodyDef>, Fault> {
    let list = at.need("points")?;
    let points: Vec<DVec3> = list.items()?.map(|p| p.vector()).collect::<Result<_, _>>()?;
    let flag = |key: &str| at.get(key).map_or(Ok(false), |b| b.boolean());
    let (closed, smooth, aligned) = (flag("closed")?, flag("smooth")?, flag("aligned")?);
    let mut line = if smooth { smoothed(&points, closed) } else { points.clone() };
    if closed && !smooth {
        line.extend(points.first());
    }
    let lengths: Vec<f64> = line.windows(2).map(|w| w[0].distance(w[1])).collect();
    let total: f64 = lengths.iter().sum();
    if points.len() < 2 || total <= 0.0 {
        return Err(list.fault("must be two points or more, at different places"));
    }
    let parts = match (at.get("count"), at.get("spacing")) {
        (Some(n), None) => {
            let n = n.whole(1, most_bodies())? as usize;
            if closed { n } else { (n - 1).max(1) }
        }
        (None, Some(d)) => {
            let n = (total / positive(&d, "m")?).round().max(1.0);
            if n > most_bodies() as f64 {
                return Err(d.fault(format!("makes more than {} bodies", most_bodies())));
            }
            n as usize
        }
        _ => return Err(at.fault("needs 'count' or 'spacing', not both")),
    };
    let count = match at.get("count") {
        Some(n) => n.whole(1, most_bodies())? as usize,
        None => parts + usize::from(!closed),
    };
    let mut all = Vec::with_capacity(count);
    let (mut piece, mut before) = (0, 0.0);
    for k in 0..count {
        let s = total * k as f64 / parts as f64;
        while piece + 1 < lengths.len() && before + lengths[piece] < s {
            before += lengths[piece];
            piece += 1;
        }
        let (a, b) = (line[piece], line[piece + 1]);
        let x = a.lerp(b, if lengths[piece] > 0.0 { ((s - before) / lengths[piece]).min(1.0) } else { 0.0 });
        let mut copy = moved(def, x, &k.to_string());
        if aligned && let Some(along) = (b - a).try_normalize() {
            copy.rotation = heading(along) * def.rotation;
        }
        all.push(copy);
    }
    Ok(all)
}

/// Turns x into a direction, and keeps y level.
fn heading(along: DVec3) -> DQuat {
    let yaw = DQuat::from_rotation_z(along.y.atan2(along.x));
    yaw * DQuat::from_rotation_y(-along.z.atan2(along.x.hypot(along.y)))
}

/// Through all points, with slopes of the chords between neighbours (Catmull and Rom's curve).
fn smoothed(points: &[DVec3], closed: bool) -> Vec<DVec3> {
    let n = points.len() as i64;
    if n < 2 {
        return points.to_vec();
    }
    let get = |i: i64| {
        if closed {
            points[i.rem_euclid(n) as usize]
        } else if i < 0 {
            2.0 * points[0] - points[1]
        } else if i >= n {
            2.0 * points[n as usize - 1] - points[n as usize - 2]
        } else {
            points[i as usize]
        }
    };
    let spans = if closed { n } else { n - 1 };
    let mut line = vec![get(0)];
    for i in 0..spans {
        let (p0, p1, p2, p3) = (get(i - 1), get(i), get(i + 1), get(i + 2));
        for k in 1..=PIECES {
            let t = k as f64 / PIECES as f64;
            let cubic = 2.0 * p1
                + (p2 - p0) * t
                + (2.0 * p0 - 5.0 * p1 + 4.0 * p2 - p3) * (t * t)
                + (3.0 * p1 - p0 - 3.0 * p2 + p3) * (t * t * t);
            line.push(0.5 * cubic);
        }
    }
    line
}

const COLUMNS: &[&str] = &["x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz", "name"];

/// A body for each line of a table whose first line names the columns.
fn csv(at: &At, def: &BodyDef, library: &Library) -> Result<Vec<BodyDef>, Fault> {
    let file = at.need("file")?;
    let scale = at.get("scale").map_or(Ok(1.0), |s| positive(&s, ""))?;
    let path = library.path(&file)?;
    let text = std::fs::read_to_string(&path)
        .map_err(|e| file.fault(format!("{}: cannot be read: {e}", path.display())))?;
    rows(&path, &text, def, scale).map_err(|e| file.fault(e))
}

fn rows(path: &Path, text: &str, def: &BodyDef, scale: f64) -> Result<Vec<BodyDef>, String> {
    let shown = path.display();
    let mut lines = text.lines().enumerate().map(|(k, l)| (k + 1, l.split('#').next().unwrap_or_default()));
    let mut lines = lines.by_ref().filter(|(_, l)| !l.trim().is_empty());
    let Some((first, head)) = lines.next() else { return Err(format!("{shown}: there is nothing in it")) };
    let names: Vec<&str> = head.split(',').map(|w| w.trim().trim_matches('"')).collect();
    if let Some(stranger) = names.iter().find(|n| !COLUMNS.contains(n)) {
        return Err(format!(
            "{shown}:{first}: there is no column '{stranger}' (known: {})",
            COLUMNS.join(", ")
        ));
    }
    let column = |name: &str| names.iter().position(|n| *n == name);
    if let Some(missing) = ["x", "y", "z"].iter().find(|n| column(n).is_none()) {
        return Err(format!("{shown}:{first}: the column '{missing}' is missing"));
    }
    let mut all = Vec::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(|w| w.trim().trim_matches('"')).collect();
        if cells.len() != names.len() {
            return Err(format!("{shown}:{number}: must have {} columns, got {}", names.len(), cells.len()));
        }
        let get = |name: &str, default: f64| match column(name) {
            None => Ok(default),
            Some(k) => {
                let x = cells[k].parse::<f64>().ok().filter(|x| x.is_finite());
                x.ok_or_else(|| format!("{shown}:{number}: {name}: '{}' is not a number", cells[k]))
            }
        };
        let triple =
            |[a, b, c]: [&str; 3]| Ok::<_, String>(DVec3::new(get(a, 0.0)?, get(b, 0.0)?, get(c, 0.0)?));
        let mut copy = moved(def, triple(["x", "y", "z"])? * scale, &all.len().to_string());
        let q = DQuat::from_xyzw(get("qx", 0.0)?, get("qy", 0.0)?, get("qz", 0.0)?, get("qw", 1.0)?);
        if q.length_squared() == 0.0 {
            return Err(format!("{shown}:{number}: a zero quaternion is no orientation"));
        }
        copy.rotation = q.normalize() * def.rotation;
        copy.velocity += triple(["vx", "vy", "vz"])?;
        copy.angular_velocity += triple(["wx", "wy", "wz"])?;
        if let Some(k) = column("name").filter(|k| !cells[*k].is_empty()) {
            copy.name = Some(cells[k].into());
        }
        all.push(copy);
        if all.len() as i64 > most_bodies() {
            return Err(format!("{shown}:{number}: more than {} bodies", most_bodies()));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(radius: f64) -> BodyDef {
        let mut def = BodyDef::dynamic(Shape::Sphere { radius }, 1.0);
        def.name = Some("ball".into());
        def
    }

    #[test]
    fn smooth_curves_pass_through_their_points() {
        let points = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.5), DVec3::Y];
        for closed in [false, true] {
            let line = smoothed(&points, closed);
            for p in points {
                assert!(line.iter().any(|x| x.distance(p) < 1e-12), "{p}");
            }
        }
    }

    #[test]
    fn headings_turn_x_and_keep_y_level() {
        for v in [DVec3::X, DVec3::Y, -DVec3::X, DVec3::new(1.0, 2.0, 3.0), DVec3::Z] {
            let q = heading(v.normalize());
            assert!((q * DVec3::X - v.normalize()).length() < 1e-12, "{v}");
            assert!((q * DVec3::Y).z.abs() < 1e-12, "{v}");
        }
    }

    #[test]
    fn tables_name_their_lines() {
        let path = Path::new("t.csv");
        let good = rows(path, "x,y,z,name,vx\n1,2,3,a,0.5\n\n# none\n4,5,6,,0\n", &ball(0.1), 0.1).unwrap();
        assert_eq!(good.len(), 2);
        assert!((good[0].position - DVec3::new(0.1, 0.2, 0.3)).length() < 1e-15);
        assert_eq!((good[0].name.as_deref(), good[1].name.as_deref()), (Some("a"), Some("ball[1]")));
        assert_eq!(good[0].velocity.x, 0.5);
        let wrong = |text: &str| rows(path, text, &ball(0.1), 1.0).unwrap_err();
        assert_eq!(wrong("x,y,z\n1,2\n"), "t.csv:2: must have 3 columns, got 2");
        assert_eq!(wrong("x,y,z\n1,2,u\n"), "t.csv:2: z: 'u' is not a number");
        assert!(wrong("x,y,w\n").contains("there is no column 'w'"));
        assert!(wrong("x,y\n").contains("the column 'z' is missing"));
        assert!(wrong("").contains("nothing in it"));
    }
}
