//! From positions to contacts: bounds, broad phase, narrow phase, in the order of stable keys.
//!
//! A contact exists before the bodies touch, when its gap is within the envelope: a fixed distance, plus what the two
//! can approach in one step, plus μ h |u_T|. With the second part a fast body meets its target's surface inside the step
//! instead of passing through. The third is the gap at which the relaxed model lets a sliding body hover
//! [TasoraAnitescu2011, eq. 43]: without it the contact would be lost there, and the body would hop. It is never more
//! than the smaller body's inner radius, and bodies that pass without coming near make no contact at all, so that a body
//! which flies past does not feel what it passes.

use glam::DVec3;
use rayon::prelude::*;

use super::Aabb;
use super::broadphase::{self, BroadPhase};
use super::narrowphase::{self, ContactPoint, Manifold};
use crate::contact::{Contact, ContactKey};
use crate::model::{ColliderSlot, Model};
use crate::shape::{Pose, Shape};
use crate::state::State;

/// Pairs a thread takes at a time.
const CHUNK: usize = 1024;

/// Velocities that decide how far ahead contacts are looked for: linear and angular (world axes), by body slot.
pub type Velocities = [[f64; 6]];

/// Broad and narrow phase with their buffers.
pub struct Detector {
    broadphase: Option<Box<dyn BroadPhase>>,
    kind: Option<broadphase::Kind>,
    boxes: Vec<Aabb>,
    movable: Vec<bool>,
    poses: Vec<Pose>,
    /// The last pairs of collider slots.
    pub pairs: Vec<(u32, u32)>,
    chunks: Vec<Vec<Contact>>,
}

impl Detector {
    /// With a broad phase by name, or one chosen by the sizes at the first call.
    pub fn new(kind: Option<broadphase::Kind>) -> Self {
        Self {
            broadphase: kind.map(broadphase::make),
            kind,
            boxes: Vec::new(),
            movable: Vec::new(),
            poses: Vec::new(),
            pairs: Vec::new(),
            chunks: Vec::new(),
        }
    }

    /// The broad phase in use.
    pub fn kind(&self) -> Option<broadphase::Kind> {
        self.kind
    }

    /// Finds all pairs that could come within `envelope` of each other during a step of `h` at velocities `v`.
    pub fn find_pairs(&mut self, model: &Model, state: &State, v: &Velocities, h: f64, envelope: f64) {
        self.boxes.clear();
        self.movable.clear();
        let mu = model.colliders.iter().map(|c| c.mu).fold(0.0, f64::max);
        for (k, c) in model.colliders.iter().enumerate() {
            let still = model.collider_aabb(state, k);
            let Some((v, inv_mass)) =
                v.get(c.body as usize).map(|v| (v, model.bodies[c.body as usize].inv_mass))
            else {
                self.boxes.push(still);
                self.movable.push(false);
                continue;
            };
            let way = h * DVec3::new(v[0], v[1], v[2]);
            let spin =
                if c.radius.is_finite() { h * DVec3::new(v[3], v[4], v[5]).length() * c.radius } else { 0.0 };
            let hover = mu * (way.length() + spin);
            let swept = Aabb { min: still.min.min(still.min + way), max: still.max.max(still.max + way) };
            self.boxes.push(swept.grown(0.5 * envelope + spin + hover));
            self.movable.push(inv_mass > 0.0);
        }
        let (boxes, movable) = (&self.boxes, &self.movable);
        let broadphase = self.broadphase.get_or_insert_with(|| {
            let kind = broadphase::choose(boxes, movable);
            self.kind = Some(kind);
            broadphase::make(kind)
        });
        broadphase.pairs(boxes, movable, &mut self.pairs);
        self.pairs.retain(|&(i, j)| model.may_touch(i, j));
    }

    /// The contacts of the known pairs at the positions of `state`, sorted by key.
    pub fn find_contacts(
        &mut self,
        model: &Model,
        state: &State,
        v: &Velocities,
        h: f64,
        envelope: f64,
        out: &mut Vec<Contact>,
    ) {
        out.clear();
        self.poses.clear();
        self.poses.extend(
            (0..model.colliders.len()).map(|k| model.collider_pose(state, k).unwrap_or(Pose::IDENTITY)),
        );
        let look = Look { model, state, v, h, envelope, poses: &self.poses };
        let n = self.pairs.len().div_ceil(CHUNK);
        if n < 4 || rayon::current_num_threads() == 1 {
            self.pairs.iter().for_each(|&(i, j)| look.pair(i, j, out));
            return;
        }
        self.chunks.resize_with(n.max(self.chunks.len()), Vec::new);
        self.chunks[..n].par_iter_mut().zip(self.pairs.par_chunks(CHUNK)).for_each(|(found, pairs)| {
            found.clear();
            pairs.iter().for_each(|&(i, j)| look.pair(i, j, found));
        });
        self.chunks[..n].iter().for_each(|found| out.extend_from_slice(found));
    }
}

struct Look<'a> {
    model: &'a Model,
    state: &'a State,
    v: &'a Velocities,
    h: f64,
    envelope: f64,
    poses: &'a [Pose],
}

impl Look<'_> {
    fn linear(&self, body: u32) -> DVec3 {
        let v = &self.v[body as usize];
        DVec3::new(v[0], v[1], v[2])
    }

    fn angular(&self, body: u32) -> DVec3 {
        let v = &self.v[body as usize];
        DVec3::new(v[3], v[4], v[5])
    }

    fn pair(&self, i: u32, j: u32, out: &mut Vec<Contact>) {
        let (ci, cj) = (&self.model.colliders[i as usize], &self.model.colliders[j as usize]);
        let flip = self.model.bodies[ci.body as usize].inv_mass == 0.0;
        if let (Shape::Sphere { radius: ra }, Shape::Sphere { radius: rb }) = (&ci.shape, &cj.shape) {
            let (pa, pb) = (self.poses[i as usize].position, self.poses[j as usize].position);
            let apart = pa - pb;
            let touch = ra + rb + self.envelope;
            if apart.length_squared() > touch * touch {
                // Two balls that would merely fly past each other make no contact, but sliding ones may hover.
                let way = self.h * (self.linear(ci.body) - self.linear(cj.body));
                let spin = self.h * (self.spin(ci, cj) + self.spin(cj, ci));
                let hover = self.model.pair_mu(i, j) * (way.length() + spin);
                let hover = hover.min(self.model.pair_size(i, j));
                let reach = touch + hover;
                if apart.length_squared() > reach * reach && !swept_spheres_meet(apart, way, reach) {
                    return;
                }
            }
            let point = narrowphase::sphere_sphere(pa, *ra, pb, *rb);
            self.push(i, j, flip, &point, out);
            return;
        }
        let way = self.h * (self.linear(ci.body) - self.linear(cj.body));
        let spin = self.h * (self.spin(ci, cj) + self.spin(cj, ci));
        let mut manifold = Manifold::default();
        let reach = self.envelope + (way.length() + spin) * (1.0 + self.model.pair_mu(i, j));
        let (pi, pj) = (&self.poses[i as usize], &self.poses[j as usize]);
        narrowphase::contacts(&ci.shape, pi, &cj.shape, pj, reach, &mut manifold);
        let nearest = manifold.points().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
        if nearest > self.envelope && nearest.is_finite() && self.flies_past(i, j, nearest, way, spin) {
            return;
        }
        let mut points = [0usize; narrowphase::MAX_POINTS];
        let found = manifold.points();
        let order = &mut points[..found.len()];
        order.iter_mut().enumerate().for_each(|(k, o)| *o = k);
        order.sort_unstable_by_key(|&k| found[k].feature);
        for &k in order.iter() {
            self.push(i, j, flip, &found[k], out);
        }
    }

    /// Speed of the surface of `c` near `other` by rotation alone, at most, m/s.
    fn spin(&self, c: &ColliderSlot, other: &ColliderSlot) -> f64 {
        let omega = self.angular(c.body).length();
        if omega == 0.0 {
            return 0.0;
        }
        let apart = self.state.position[c.body as usize] - self.state.position[other.body as usize];
        omega * c.radius.min(apart.length() + other.radius)
    }

    /// Whether two shapes at distance `gap` never come within reach of a contact on the straight way of this step. A
    /// contact's plane has no end, so without this test a body that passes a corner would bounce off thin air.
    /// Conservative advancement: from distance d the shapes may safely move on by d.
    fn flies_past(&self, i: u32, j: u32, mut gap: f64, way: DVec3, spin: f64) -> bool {
        let (ci, cj) = (&self.model.colliders[i as usize], &self.model.colliders[j as usize]);
        let size = self.model.pair_size(i, j);
        let hover = (self.model.pair_mu(i, j) * (way.length() + spin)).min(size);
        // What rotation may add during the step is simply kept as a distance.
        let near = self.envelope + hover + spin;
        let length = way.length();
        let mut pose = self.poses[i as usize];
        let mut manifold = Manifold::default();
        let mut gone = 0.0;
        for _ in 0..32 {
            if gap <= near + 1e-3 * size {
                return false;
            }
            gone += gap - near;
            if gone >= length {
                return true;
            }
            pose.position = self.poses[i as usize].position + way * (gone / length);
            narrowphase::contacts(
                &ci.shape,
                &pose,
                &cj.shape,
                &self.poses[j as usize],
                f64::INFINITY,
                &mut manifold,
            );
            gap = manifold.points().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
        }
        false
    }

    fn push(&self, i: u32, j: u32, flip: bool, p: &ContactPoint, out: &mut Vec<Contact>) {
        let (mut a, mut b) = (self.model.colliders[i as usize].body, self.model.colliders[j as usize].body);
        let mut normal = p.normal;
        if flip {
            (a, b) = (b, a);
            normal = -normal;
        }
        let point = 0.5 * (p.on_a + p.on_b);
        let mu = self.model.pair_mu(i, j);
        if p.gap > self.envelope {
            let at = |body: u32, surface: DVec3| {
                self.linear(body) + self.angular(body).cross(surface - self.state.position[body as usize])
            };
            let half = 0.5 * p.gap * normal;
            let u = at(a, point + half) - at(b, point - half);
            let along = u.dot(normal);
            let slip = (u - along * normal).length();
            let hover = (self.h * mu * slip).min(self.model.pair_size(i, j));
            if p.gap > self.envelope + self.h * (-along).max(0.0) + hover {
                return;
            }
        }
        out.push(Contact {
            key: ContactKey::new([i, j], [0, 0], p.feature),
            bodies: [a, b],
            point,
            normal,
            gap: p.gap,
            mu,
            impulse: DVec3::ZERO,
        });
    }
}

/// Whether |apart + s way| ≤ reach for some s in [0, 1].
fn swept_spheres_meet(apart: DVec3, way: DVec3, reach: f64) -> bool {
    let toward = -apart.dot(way);
    let length = way.length_squared();
    if toward <= 0.0 || length == 0.0 {
        return false;
    }
    let s = (toward / length).min(1.0);
    (apart + s * way).length_squared() <= reach * reach
}
