//! The items of a picture made ready for rays: opaque solids and translucent ones each in a tree, grounds in
//! a list.

use glam::{DMat3, DVec3, Vec3};

use super::bvh::Bvh;
use super::figure::Figure;
use super::ray::{Brick, Frame, Pill, Ray, ball_span, triangle_crossing};
use super::smooth::corner_normals;
use super::{Picture, Solid};

/// One thing to intersect. Spheres, by far the most common, are held in place; the others in side tables.
#[derive(Clone, Copy, Debug)]
enum Primitive {
    Ball { centre: DVec3, radius: f64 },
    Brick(u32),
    Pill(u32),
    Figure(u32),
    Triangle(u32),
}

/// Where a ray meets a surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// Distance along the ray, m.
    pub t: f64,
    /// Index of the item in the picture.
    pub item: u32,
    /// Unit normal on the side that the ray comes from, as the light takes it.
    pub normal: DVec3,
    /// Where rays towards the light begin: the point itself, except on smoothed triangles, where it is the
    /// point of the round surface that they stand for. Their own edges would throw shadows on it
    /// [Hanika2021].
    pub start: DVec3,
    /// Distance to the nearest edge of the face, m; `None` where the solid is round or a mesh.
    pub to_edge: Option<f64>,
}

/// A plane with the index of its item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    pub item: u32,
    pub frame: Frame,
    pub normal: DVec3,
    pub opaque: bool,
}

impl Plane {
    /// Where the ray meets the free side of the plane.
    pub fn crossing(&self, ray: &Ray) -> Option<f64> {
        let towards = -self.normal.dot(ray.direction);
        let height = self.normal.dot(ray.origin - self.frame.origin);
        (towards > 0.0 && height > 0.0).then(|| height / towards)
    }
}

/// Solids of one kind of opacity, in a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Solids {
    tree: Bvh,
    /// The primitive and its item, in the order of the tree.
    primitives: Vec<(Primitive, u32)>,
    bricks: Vec<Brick>,
    pills: Vec<Pill>,
    figures: Vec<(Frame, Figure)>,
    triangles: Vec<[DVec3; 3]>,
    /// Normals at their corners.
    normals: Vec<[Vec3; 3]>,
}

/// Everything that rays can meet.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub opaque: Solids,
    pub translucent: Solids,
    pub planes: Vec<Plane>,
    /// Half the middle item's extent, m: the scale on which crevices between bodies are dark. 0 without
    /// bodies.
    pub body_size: f64,
    /// Items that could not be drawn.
    pub left_out: usize,
}

impl Scene {
    pub fn new(picture: &Picture) -> Self {
        let mut gather = [Gather::default(), Gather::default()];
        let mut planes = Vec::new();
        let mut sizes = Vec::new();
        let mut left_out = 0;
        for (index, item) in picture.items.iter().enumerate() {
            if !item.is_drawable() {
                left_out += 1;
                continue;
            }
            let opaque = item.opacity >= 1.0;
            let to_local = DMat3::from_quat(item.rotation.normalize().conjugate());
            let frame = Frame { origin: item.position, to_local };
            if let Solid::Ground = item.solid {
                let normal = frame.normal_to_world(DVec3::Z);
                planes.push(Plane { item: index as u32, frame, normal, opaque });
                continue;
            }
            if let (true, Some((low, high))) = (opaque, item.solid.bounds(item.position, item.rotation)) {
                sizes.push(0.5 * (high - low).max_element());
            }
            gather[usize::from(!opaque)].add(&item.solid, frame, index as u32);
        }
        let body_size = if sizes.is_empty() {
            0.0
        } else {
            let middle = sizes.len() / 2;
            *sizes.select_nth_unstable_by(middle, f64::total_cmp).1
        };
        let [opaque, translucent] = gather.map(|g| g.finish(picture.camera.from));
        Self { opaque, translucent, planes, body_size, left_out }
    }

    /// The nearest opaque surface, grounds included.
    pub fn nearest(&self, ray: &Ray) -> Option<Hit> {
        let mut best = self.opaque.nearest(ray);
        for plane in self.planes.iter().filter(|p| p.opaque) {
            if let Some(t) = plane.crossing(ray)
                && best.as_ref().is_none_or(|b| t < b.t)
            {
                best =
                    Some(Hit { t, item: plane.item, normal: plane.normal, start: ray.at(t), to_edge: None });
            }
        }
        best
    }

    /// All translucent surfaces in front of `t_max`, from near to far.
    pub fn veils(&self, ray: &Ray, t_max: f64, found: &mut Vec<Hit>) {
        found.clear();
        self.translucent.all(ray, t_max, found);
        for plane in self.planes.iter().filter(|p| !p.opaque) {
            if let Some(t) = plane.crossing(ray).filter(|&t| t < t_max) {
                found.push(Hit {
                    t,
                    item: plane.item,
                    normal: plane.normal,
                    start: ray.at(t),
                    to_edge: None,
                });
            }
        }
        found.sort_unstable_by(|a, b| a.t.total_cmp(&b.t).then(a.item.cmp(&b.item)));
    }

    /// Whether an opaque ground lies on the ray before `t_max`.
    pub fn ground_within(&self, ray: &Ray, t_max: f64) -> bool {
        self.planes.iter().any(|p| p.opaque && p.crossing(ray).is_some_and(|t| t < t_max))
    }
}

impl Solids {
    fn span(&self, primitive: &Primitive, ray: &Ray) -> Option<(f64, f64)> {
        match *primitive {
            Primitive::Ball { centre, radius } => ball_span(ray, centre, radius),
            Primitive::Brick(i) => self.bricks[i as usize].span(ray),
            Primitive::Pill(i) => self.pills[i as usize].span(ray),
            Primitive::Figure(i) => {
                let (frame, figure) = &self.figures[i as usize];
                figure.span(&frame.ray(ray))
            }
            Primitive::Triangle(i) => {
                triangle_crossing(ray, &self.triangles[i as usize]).map(|(t, ..)| (t, t))
            }
        }
    }

    /// First crossing in front of the origin.
    fn first_crossing(&self, primitive: &Primitive, ray: &Ray) -> Option<f64> {
        let (enter, leave) = self.span(primitive, ray)?;
        if enter > 0.0 { Some(enter) } else { (leave > 0.0).then_some(leave) }
    }

    fn hit(&self, place: usize, ray: &Ray, t: f64) -> Hit {
        let (primitive, item) = &self.primitives[place];
        let point = ray.at(t);
        let mut to_edge = None;
        let (mut smooth, mut lift) = (None, DVec3::ZERO);
        let outward = match *primitive {
            Primitive::Ball { centre, .. } => (point - centre).normalize_or(-ray.direction),
            Primitive::Brick(i) => {
                let brick = &self.bricks[i as usize];
                to_edge = Some(brick.distance_to_edge(point));
                brick.normal(point)
            }
            Primitive::Pill(i) => self.pills[i as usize].normal(point),
            Primitive::Figure(i) => {
                let (frame, figure) = &self.figures[i as usize];
                let local = frame.point(point);
                to_edge = figure.distance_to_edge(local);
                frame.normal_to_world(figure.normal(local))
            }
            Primitive::Triangle(i) => {
                let corners @ [a, b, c] = self.triangles[i as usize];
                let [l, m, n] = self.normals[i as usize].map(|n| n.as_dvec3());
                if let Some((_, u, v)) = triangle_crossing(ray, &corners) {
                    let shares = [1.0 - u - v, u, v];
                    smooth = Some(shares[0] * l + u * m + v * n);
                    // Up to the planes through the corners that the normals there stand on, mixed like the
                    // normals.
                    for ((share, corner), n) in shares.into_iter().zip(corners).zip([l, m, n]) {
                        lift += share * (corner - point).dot(n).max(0.0) * n;
                    }
                }
                (b - a).cross(c - a).normalize_or(-ray.direction)
            }
        };
        let facing = |n: DVec3| if outward.dot(ray.direction) > 0.0 { -n } else { n };
        let flat = facing(outward);
        let mut normal = smooth.and_then(|n| facing(n).try_normalize()).unwrap_or(flat);
        // A mean that looks away from the eye would be lit from behind: tilt it back to the rim.
        let away = normal.dot(ray.direction);
        if away > 0.0 {
            normal = (normal - 1.001 * away * ray.direction).normalize_or(flat);
        }
        // Seen from behind, the round surface lies below the triangles.
        let start = if flat == outward { point + lift } else { point };
        Hit { t, item: *item, normal, start, to_edge }
    }

    fn nearest(&self, ray: &Ray) -> Option<Hit> {
        let mut best = None;
        self.tree.traverse::<true>(ray, f64::INFINITY, |place, t_max| {
            if let Some(t) = self.first_crossing(&self.primitives[place].0, ray)
                && t < *t_max
            {
                *t_max = t;
                best = Some((place, t));
            }
            false
        });
        best.map(|(place, t)| self.hit(place, ray, t))
    }

    /// Whether anything lies on the ray before `t_max`.
    pub fn blocks(&self, ray: &Ray, t_max: f64) -> bool {
        let mut blocked = false;
        self.tree.traverse::<false>(ray, t_max, |place, _| {
            blocked = self.first_crossing(&self.primitives[place].0, ray).is_some_and(|t| t < t_max);
            blocked
        });
        blocked
    }

    fn all(&self, ray: &Ray, t_max: f64, found: &mut Vec<Hit>) {
        self.tree.traverse::<false>(ray, t_max, |place, _| {
            if let Some((enter, leave)) = self.span(&self.primitives[place].0, ray) {
                for t in [enter, leave].into_iter().take(if enter == leave { 1 } else { 2 }) {
                    if t > 0.0 && t < t_max {
                        found.push(self.hit(place, ray, t));
                    }
                }
            }
            false
        });
    }
}

/// Primitives as they come in, before the tree puts them in order.
#[derive(Default)]
struct Gather {
    solids: Solids,
    boxes: Vec<(DVec3, DVec3)>,
}

impl Gather {
    fn add(&mut self, solid: &Solid, frame: Frame, item: u32) {
        let to_world = frame.to_local.transpose();
        let bounds = solid.bounds(frame.origin, glam::DQuat::from_mat3(&to_world));
        let s = &mut self.solids;
        let primitive = match solid {
            Solid::Ground => return,
            Solid::Sphere { radius } => Primitive::Ball { centre: frame.origin, radius: *radius },
            Solid::Box { half } => {
                s.bricks.push(Brick { frame, half: *half });
                Primitive::Brick(s.bricks.len() as u32 - 1)
            }
            Solid::Capsule { radius, half_length } => {
                s.pills.push(Pill { frame, radius: *radius, half_length: *half_length });
                Primitive::Pill(s.pills.len() as u32 - 1)
            }
            Solid::Cylinder { .. }
            | Solid::Cone { .. }
            | Solid::Ellipsoid { .. }
            | Solid::Convex { .. }
            | Solid::Rounded { .. } => {
                let Some(figure) = Figure::of(solid) else { return };
                s.figures.push((frame, figure));
                Primitive::Figure(s.figures.len() as u32 - 1)
            }
            Solid::Mesh { vertices, triangles, crease } => {
                let normals = corner_normals(vertices, triangles, *crease);
                let turn = to_world.as_mat3();
                for (corners, normals) in triangles.iter().zip(normals) {
                    let t = corners.map(|i| frame.origin + to_world * vertices[i as usize]);
                    s.triangles.push(t);
                    s.normals.push(normals.map(|n| turn * n));
                    s.primitives.push((Primitive::Triangle(s.triangles.len() as u32 - 1), item));
                    self.boxes.push((t[0].min(t[1]).min(t[2]), t[0].max(t[1]).max(t[2])));
                }
                return;
            }
        };
        if let Some(b) = bounds {
            s.primitives.push((primitive, item));
            self.boxes.push(b);
        }
    }

    fn finish(self, eye: DVec3) -> Solids {
        let tree = Bvh::build(&self.boxes, eye);
        let primitives = tree.order.iter().map(|&i| self.solids.primitives[i as usize]).collect();
        Solids { tree, primitives, ..self.solids }
    }
}
