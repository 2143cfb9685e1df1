//! The contacts of one pair of colliders: pairs of parts, narrow phase, and which of the points count in this
//! step.

use std::ops::Range;

use glam::DVec3;

use super::envelope::Envelope;
use super::manifold_cache::{self, Last};
use super::midphase::{Side, Surface, Visitor, Workspace, is_ground, part_pairs, relative, touches};
use super::narrowphase::{self, ContactPoint, Manifold};
use super::periodic::{self, WrappedPair};
use super::speed::{Velocities, hover_limit, velocity};
use crate::contact::{Contact, ContactKey};
use crate::material::MaterialId;
use crate::model::{ColliderSlot, Model};
use crate::shape::{Pose, Shape};
use crate::state::State;

/// Everything that decides which contacts there are.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub model: &'a Model,
    pub state: &'a State,
    pub v: &'a Velocities,
    pub h: f64,
    pub envelope: Envelope<'a>,
    /// World placements by collider slot; empty where few are asked for.
    pub poses: &'a [Pose],
    /// By collider slot.
    pub balls: &'a [Ball],
    /// For a pair across the faces of a periodic box: where the second collider and its body are taken.
    pub wrapped: Option<(WrappedPair, DVec3)>,
}

/// All that a contact of two balls needs, in one line of the cache: the slots of bodies and colliders, four
/// times as large and in the order in which they were added, are not looked at.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Ball {
    pub centre: DVec3,
    /// Of a sphere, m; NaN for all other shapes.
    pub radius: f64,
    /// How much further than the envelope this one may make a contact reach, at most, m.
    pub ahead: f64,
    pub mu: f64,
    pub material: Option<MaterialId>,
    pub body: u32,
    /// Whether the body is dynamic.
    pub moves: bool,
    /// Whether it stays where it is, and its contacts with others that do are known.
    pub idle: bool,
    /// Whether it takes no part.
    pub absent: bool,
}

/// What the contacts of two colliders have in common.
struct Between {
    colliders: [u32; 2],
    /// A, which is dynamic, then B.
    bodies: [u32; 2],
    /// Whether A has the second collider.
    turned: bool,
    mu: f64,
    /// Up to this distance there is a contact at rest, m.
    near: f64,
}

/// Where contacts go, and memory to find them with.
pub(super) struct Yield<'a> {
    pub out: &'a mut Vec<Contact>,
    pub work: &'a mut Workspace,
    /// Counts pairs of parts.
    pub tested: &'a mut usize,
    /// Where the contacts of the pair are among those of the last step; goes on from pair to pair.
    pub last: Range<usize>,
}

/// How two colliders move relative to each other during the step.
#[derive(Clone, Copy)]
struct Approach {
    /// Of the first relative to the second by translation, m.
    way: DVec3,
    /// What rotation of both may add, m.
    spin: f64,
    mu: f64,
    /// What the surfaces run over their own bodies, m.
    belt: f64,
    /// Up to this distance there is a contact at rest, m.
    near: f64,
}

impl Approach {
    /// The gap at which friction may let things of the given size hover, m.
    fn hover(&self, size: f64) -> f64 {
        (self.mu * (self.way.length() + self.spin + self.belt)).min(size)
    }
}

impl Look<'_> {
    fn linear(&self, body: u32) -> DVec3 {
        let v = velocity(self.v, body);
        DVec3::new(v[0], v[1], v[2])
    }

    fn angular(&self, body: u32) -> DVec3 {
        let v = velocity(self.v, body);
        DVec3::new(v[3], v[4], v[5])
    }

    /// Of a point that moves with the body.
    fn velocity(&self, body: u32, point: DVec3) -> DVec3 {
        self.linear(body) + self.angular(body).cross(point - self.centre(body))
    }

    /// The body's centre of mass, in the image that the pair is looked at in.
    fn centre(&self, body: u32) -> DVec3 {
        let x = self.state.position[body as usize];
        match &self.wrapped {
            Some((pair, shift)) if self.model.colliders[pair.colliders[1] as usize].body == body => {
                x + *shift
            }
            _ => x,
        }
    }

    /// The collider's placement, in the image that the pair is looked at in.
    fn pose(&self, collider: u32) -> Pose {
        let pose = match self.poses.get(collider as usize) {
            Some(pose) => *pose,
            None => self.model.collider_pose(self.state, collider as usize).unwrap_or(Pose::IDENTITY),
        };
        match &self.wrapped {
            Some((pair, shift)) if pair.colliders[1] == collider => {
                Pose { position: pose.position + *shift, ..pose }
            }
            _ => pose,
        }
    }

    /// What overlaps of a contact are measured by: [`Model::pair_size`].
    pub(super) fn pair_size(&self, [i, j]: [u32; 2]) -> f64 {
        let (a, b) = (self.balls[i as usize].radius, self.balls[j as usize].radius);
        if a.is_nan() || b.is_nan() { self.model.pair_size(i, j) } else { a.min(b) }
    }

    /// Up to which distance two colliders have a contact at rest, m.
    fn near(&self, pair: [u32; 2]) -> f64 {
        self.envelope.of_pair(self.pair_size(pair), pair.map(|k| self.balls[k as usize].body))
    }

    /// Appends the contacts of colliders `i` < `j`, sorted by key.
    pub(super) fn pair(&self, i: u32, j: u32, to: &mut Yield) {
        let (bi, bj) = (&self.balls[i as usize], &self.balls[j as usize]);
        if bi.idle && bj.idle || bi.absent || bj.absent {
            return;
        }
        let radii = bi.radius + bj.radius;
        if !radii.is_nan() {
            *to.tested += 1;
            // The way, the spin and the hover of a pair are at most those of both added up.
            let near = self.envelope.of_pair(bi.radius.min(bj.radius), [bi.body, bj.body]);
            let reach = (radii + near + bi.ahead + bj.ahead) * (1.0 + 1e-12);
            if self.wrapped.is_some() || bi.centre.distance_squared(bj.centre) <= reach * reach {
                self.spheres([i, j], near, to.out);
            }
            return;
        }
        let (ci, cj) = (&self.model.colliders[i as usize], &self.model.colliders[j as usize]);
        let approach = Approach {
            way: self.h * (self.linear(ci.body) - self.linear(cj.body)),
            spin: self.h * (self.spin(ci, cj) + self.spin(cj, ci)),
            mu: self.model.pair_hover(i, j),
            belt: self.h * self.belt([ci, cj]),
            near: self.near([i, j]),
        };
        let side = |k: u32| Side {
            collider: k,
            part: 0,
            shape: &self.model.colliders[k as usize].shape,
            pose: self.pose(k),
        };
        let reach = self.reach(&approach, hover_limit(&ci.shape).min(hover_limit(&cj.shape)));
        let start = to.out.len();
        to.last = self.remembered(to.last.start, [i, j]);
        part_pairs(side(i), side(j), reach, &mut |a, b| match (a.shape, b.shape) {
            _ if is_ground(a.shape) && is_ground(b.shape) => {}
            (_, Shape::Mesh(mesh)) => self.surface(&a, &b, mesh.as_ref(), false, &approach, to),
            (_, Shape::HeightField(field)) => self.surface(&a, &b, field.as_ref(), false, &approach, to),
            (Shape::Mesh(mesh), _) => self.surface(&b, &a, mesh.as_ref(), true, &approach, to),
            (Shape::HeightField(field), _) => self.surface(&b, &a, field.as_ref(), true, &approach, to),
            _ => self.convex(&a, &b, &approach, to),
        });
        to.out[start..].sort_unstable_by_key(|c| c.key);
    }

    /// How far apart two shapes of a size can be and still need a contact, m.
    fn reach(&self, approach: &Approach, size: f64) -> f64 {
        approach.near + approach.way.length() + approach.spin + approach.hover(size)
    }

    /// Two balls that would merely fly past each other make no contact, but sliding ones may hover.
    fn spheres(&self, pair: [u32; 2], near: f64, out: &mut Vec<Contact>) {
        let [a, b] = pair.map(|k| &self.balls[k as usize]);
        let shift = self.wrapped.map_or(DVec3::ZERO, |(_, shift)| shift);
        let (pa, pb) = (a.centre, b.centre + shift);
        let (apart, size) = (pa - pb, a.radius.min(b.radius));
        let touch = a.radius + b.radius + near;
        if apart.length_squared() > touch * touch {
            let [ci, cj] = pair.map(|k| &self.model.colliders[k as usize]);
            let way = self.h * (self.linear(a.body) - self.linear(b.body));
            let spin = self.h * (self.spin(ci, cj) + self.spin(cj, ci));
            let hover = self.model.pair_hover(pair[0], pair[1])
                * (way.length() + spin + self.h * self.belt([ci, cj]));
            let reach = touch + hover.min(size);
            if apart.length_squared() > reach * reach && !swept_spheres_meet(apart, way, reach) {
                return;
            }
        }
        let point = narrowphase::sphere_sphere(pa, a.radius, pb, b.radius);
        let between = Between {
            colliders: pair,
            bodies: if a.moves { [a.body, b.body] } else { [b.body, a.body] },
            turned: !a.moves,
            mu: self.model.materials.mu((a.mu, a.material), (b.mu, b.material)),
            near,
        };
        self.push_between(&between, [0, 0], size, &point, out);
    }

    /// The contact points of two convex parts.
    fn convex(&self, a: &Side, b: &Side, approach: &Approach, to: &mut Yield) {
        *to.tested += 1;
        let mut manifold =
            Manifold::after(self.last([a.collider, b.collider], to).features([a.part, b.part]));
        let size = a.shape.inner_radius().min(b.shape.inner_radius());
        let reach = self.reach(approach, size);
        narrowphase::contacts(a.shape, &a.pose, b.shape, &b.pose, reach, &mut manifold);
        let nearest = manifold.points().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
        if nearest > approach.near && nearest.is_finite() && self.flies_past(a, b, nearest, size, approach) {
            return;
        }
        for p in manifold.points() {
            self.push([a.collider, b.collider], [a.part, b.part], size, p, to.out);
        }
    }

    /// Where the last step's contacts of two colliders are, at `start` or after it.
    pub(super) fn remembered(&self, start: usize, colliders: [u32; 2]) -> Range<usize> {
        let place = |colliders| self.state.order.place(self.model, colliders);
        manifold_cache::find(&self.state.multipliers, start, colliders, place)
    }

    fn last(&self, colliders: [u32; 2], to: &Yield) -> Last<'_> {
        Last::new(&self.state.multipliers[to.last.clone()], colliders, self.image())
    }

    fn image(&self) -> u32 {
        self.wrapped.map_or(0, |(pair, _)| periodic::code(pair.image))
    }

    /// A convex part against a mesh or a height field; `swapped` where that is the first of the pair.
    fn surface<S: Surface>(
        &self,
        part: &Side,
        ground: &Side,
        surface: &S,
        swapped: bool,
        approach: &Approach,
        to: &mut Yield,
    ) {
        let size = part.shape.inner_radius();
        let way = if swapped { -approach.way } else { approach.way };
        let (into, origin) = (ground.pose.rotation.conjugate(), ground.pose.position);
        let mut colliders = [part.collider, ground.collider];
        let [a, b] = colliders.map(|k| self.model.colliders[k as usize].body);
        if swapped {
            colliders.reverse();
        }
        let visitor = Visitor {
            shape: part.shape,
            pose: relative(&ground.pose, &part.pose),
            world: part.pose,
            frame: ground.pose,
            way: into * way,
            drift: into * (self.h * (self.velocity(a, origin) - self.velocity(b, origin))),
            turn: into * (self.h * (self.angular(a) - self.angular(b))),
            near: approach.near + approach.hover(size) + approach.spin,
            size,
            depth: part.shape.bounding_radius(),
            exact: false,
            last: Some(self.last(colliders, to).with_surface(part.part, swapped)),
        };
        *to.tested += touches(surface, &visitor, to.work);
        for touch in &to.work.found {
            let (parts, point) = touch.placed(part.part, &ground.pose, swapped);
            self.push(colliders, parts, size, &point, to.out);
        }
    }

    /// How fast the surfaces run over their own bodies, at most, m/s.
    fn belt(&self, colliders: [&ColliderSlot; 2]) -> f64 {
        colliders.iter().map(|c| c.belt().length()).sum()
    }

    /// Speed of the surface of `c` near `other` by rotation alone, at most, m/s.
    fn spin(&self, c: &ColliderSlot, other: &ColliderSlot) -> f64 {
        let omega = self.angular(c.body).length();
        if omega == 0.0 {
            return 0.0;
        }
        let apart = self.centre(c.body) - self.centre(other.body);
        omega * c.radius.min(apart.length() + other.radius)
    }

    /// How far points of two colliders that turn may be from their tangents at the end of the step, at most,
    /// m.
    fn bend(&self, [i, j]: [u32; 2]) -> f64 {
        let [a, b] = [i, j].map(|k| &self.model.colliders[k as usize]);
        let of = |c: &ColliderSlot, other: &ColliderSlot| match (&c.shape, &c.local) {
            (Shape::Sphere { .. }, None) => 0.0,
            _ => 0.5 * self.h * self.h * self.angular(c.body).length() * self.spin(c, other),
        };
        of(a, b) + of(b, a)
    }

    /// Whether two shapes at distance `gap` never come within reach of a contact on the straight way of this
    /// step. A contact's plane has no end, so without this test a body that passes a corner would bounce off
    /// thin air. Conservative advancement: from distance d the shapes may safely move on by d.
    fn flies_past(&self, a: &Side, b: &Side, mut gap: f64, size: f64, approach: &Approach) -> bool {
        // What rotation may add during the step is simply kept as a distance.
        let near = approach.near + approach.hover(size) + approach.spin;
        let length = approach.way.length();
        let mut pose = a.pose;
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
            pose.position = a.pose.position + approach.way * (gone / length);
            narrowphase::contacts(a.shape, &pose, b.shape, &b.pose, f64::INFINITY, &mut manifold);
            gap = manifold.points().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
        }
        false
    }

    fn push(
        &self,
        colliders: [u32; 2],
        parts: [u32; 2],
        size: f64,
        p: &ContactPoint,
        out: &mut Vec<Contact>,
    ) {
        let (bodies, turned) = self.model.ordered_bodies(colliders);
        let mu = self.model.pair_mu(colliders[0], colliders[1]);
        let near = self.near(colliders);
        self.push_between(&Between { colliders, bodies, turned, mu, near }, parts, size, p, out);
    }

    fn push_between(
        &self,
        between: &Between,
        parts: [u32; 2],
        size: f64,
        p: &ContactPoint,
        out: &mut Vec<Contact>,
    ) {
        let Between { colliders, bodies: [a, b], turned, mu, near } = *between;
        let normal = if turned { -p.normal } else { p.normal };
        let point = 0.5 * (p.on_a + p.on_b);
        if p.gap > near {
            let half = 0.5 * p.gap * normal;
            let u = self.velocity(a, point + half) - self.velocity(b, point - half);
            let along = u.dot(normal);
            let slip = (u - along * normal).length()
                + self.belt(colliders.map(|k| &self.model.colliders[k as usize]));
            let roll = (self.model.pair_hover(colliders[0], colliders[1]) - mu)
                * self.model.pair_size(colliders[0], colliders[1])
                * (self.angular(a) - self.angular(b)).length();
            let hover = (self.h * (mu * slip + roll)).min(size);
            let ahead = p.gap - near - hover;
            // What turns may bring another point there.
            if ahead > self.h * (-along).max(0.0) && ahead > self.bend(colliders) - self.h * along {
                return;
            }
        }
        out.push(Contact {
            key: ContactKey::new(colliders, parts, p.feature).with_image(self.image()),
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
