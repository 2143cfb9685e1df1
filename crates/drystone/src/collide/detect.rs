//! From positions to contacts: bounds, broad phase, narrow phase, in the order of stable keys.
//!
//! A contact exists before the bodies touch, when its gap is within the envelope: the pair's own distance,
//! plus what the two can approach in one step, plus μ h |u_T|. With the second part a fast body meets its
//! target's surface inside the step instead of passing through. The third is the gap at which the relaxed
//! model lets a sliding body hover [TasoraAnitescu2011, eq. 43]: without it the contact would be lost there,
//! and the body would hop. It is never more than the smaller body's inner radius, and bodies that pass
//! without coming near make no contact at all, so that a body which flies past does not feel what it passes.
//!
//! Pairs are looked for among boxes with a skin around them, and kept as long as no collider leaves its own
//! [Verlet1967]: where grains have come to rest that is nearly always. What is paired in vain the narrow
//! phase drops, so when they were looked for changes no contact.

use drystone_solve::{memory, parallel};
use glam::DVec3;

use super::Aabb;
use super::broadphase::{self, BroadPhase};
use super::envelope::Envelope;
use super::midphase::Workspace;
use super::pair::{Ball, Look, Yield};
use super::periodic::{Ghosts, WrappedPair};
use super::speed::{Velocities, hover_limit};
use crate::contact::{Contact, Touch};
use crate::model::{ColliderSlot, Model, NOBODY};
use crate::shape::{Pose, Shape};
use crate::spatial_order::{Line, PairSort};
use crate::state::State;

/// Pairs a thread takes at a time.
const PAIRS_PER_TASK: usize = 1024;
/// The same where shapes have parts, each of which is as much work as a pair.
const CHUNK_OF_PARTS: usize = 64;

/// The skin, over the inner radius of the collider, or the mean of those that move where that is less: a
/// floor under sand has the skin of a grain.
const SKIN: f64 = 0.05;
/// The same, over what the collider moves in a step: up to its inner radius.
const SKIN_AHEAD: f64 = 4.0;

/// Broad and narrow phase with their buffers.
pub struct Detector {
    broadphase: Option<Box<dyn BroadPhase>>,
    kind: Option<broadphase::Kind>,
    /// For how many boxes the broad phase was chosen, unless it was named. Asked again when they have
    /// doubled: all of them give the same answer, so nothing but the time depends on it.
    chosen_for: Option<usize>,
    /// Where each collider may be during this step, with a skin, when the pairs were found, and in which
    /// model and order that was.
    skins: Vec<Aabb>,
    revision: u64,
    order: u64,
    line: Line,
    movable: Vec<bool>,
    poses: Vec<Pose>,
    balls: Vec<Ball>,
    /// The last pairs of collider slots, in the order of the state.
    pub pairs: Vec<(u32, u32)>,
    /// The last pairs across the faces of a periodic box.
    pub(crate) wrapped: Vec<WrappedPair>,
    ghosts: Ghosts,
    sorter: PairSort,
    /// How many pairs of each piece are kept.
    kept: Vec<usize>,
    chunks: Vec<Chunk>,
    /// Contacts with those across the faces of a periodic box still to come.
    unsorted: Vec<Contact>,
    /// Whether some shape is not one convex piece.
    parts: bool,
    tested: usize,
    /// By body slot: who has no contacts now; empty if nobody is left out.
    pub(crate) absent: Vec<bool>,
}

/// What one task finds, and its memory.
#[derive(Default)]
struct Chunk {
    found: Vec<Contact>,
    work: Workspace,
    tested: usize,
}

impl Detector {
    /// With a broad phase by name, or one chosen by number and sizes as they are met.
    pub fn new(kind: Option<broadphase::Kind>) -> Self {
        Self {
            broadphase: kind.map(broadphase::make),
            kind,
            chosen_for: if kind.is_none() { Some(0) } else { None },
            skins: Vec::new(),
            revision: 0,
            order: 0,
            line: Line::default(),
            movable: Vec::new(),
            poses: Vec::new(),
            balls: Vec::new(),
            pairs: Vec::new(),
            wrapped: Vec::new(),
            ghosts: Ghosts::default(),
            sorter: PairSort::default(),
            kept: Vec::new(),
            chunks: Vec::new(),
            unsorted: Vec::new(),
            parts: false,
            tested: 0,
            absent: Vec::new(),
        }
    }

    /// How many pairs of convex parts, and of parts and triangles, the last search for contacts looked at.
    pub fn tested(&self) -> usize {
        self.tested
    }

    /// The broad phase in use.
    pub fn kind(&self) -> Option<broadphase::Kind> {
        self.kind
    }

    /// Finds all pairs that could come within `envelope` of each other during a step of `h` at velocities
    /// `v`, and maybe some more.
    pub fn find_pairs<'a>(
        &mut self,
        model: &Model,
        state: &State,
        v: &Velocities,
        h: f64,
        envelope: impl Into<Envelope<'a>>,
    ) {
        let enclose = Enclose::new(model, state, v, h, envelope.into());
        let n = model.colliders.len();
        self.parts = model.facts().others > 0 && !parallel::all(n, |k| model.colliders[k].shape.is_convex());
        let stamp = state.order.stamp();
        let same = self.revision != 0 && (self.revision, self.order) == (model.revision(), stamp);
        let line = &self.line;
        if same
            && self.skins.len() == n
            && parallel::all(n, |p| self.skins[p].encloses(&enclose.of(line.collider(p))))
        {
            return;
        }
        if !same {
            // Images across the faces of a periodic box have no place in line.
            self.line.up(model, if model.periodic.is_none() { Some(&state.order) } else { None });
        }
        (self.revision, self.order) = (model.revision(), stamp);
        let typical = model.facts().typical();
        let movable = |c: &ColliderSlot| model.bodies.get(c.body as usize).is_some_and(|b| b.inv_mass > 0.0);
        self.skins.resize(n, Aabb { min: DVec3::ZERO, max: DVec3::ZERO });
        self.movable.resize(n, false);
        let line = &self.line;
        let columns = (&mut self.skins[..], &mut self.movable[..]);
        parallel::for_each_run(n, columns, PAIRS_PER_CHECK, |first, (skins, moves)| {
            for (p, (to, moves)) in (first..).zip(skins.iter_mut().zip(moves)) {
                let k = line.collider(p);
                let c = &model.colliders[k];
                let v = v.get(c.body as usize).unwrap_or(&[0.0; 6]);
                let size = c.shape.inner_radius().min(typical);
                let skin = SKIN * size + (SKIN_AHEAD * h * DVec3::new(v[0], v[1], v[2]).length()).min(size);
                (*to, *moves) = (enclose.of(k).grown(skin), movable(c));
            }
        });
        if let Some(periodic) = &model.periodic {
            // Images move from box to box: nothing is kept.
            self.revision = 0;
            let spans = |p: usize| {
                let still = model.collider_aabb(state, line.collider(p));
                [0, 1, 2].map(|k| still.max[k] - still.min[k] >= periodic.length(k) * (1.0 - 1e-12))
            };
            self.ghosts.add(periodic, spans, &mut self.skins, &mut self.movable);
        }
        let (boxes, movable) = (&self.skins, &self.movable);
        if self.chosen_for.is_some_and(|n| boxes.len() > 2 * n) {
            let kind = broadphase::choose(boxes, movable);
            if self.kind != Some(kind) {
                self.broadphase = Some(broadphase::make(kind));
                self.kind = Some(kind);
            }
            self.chosen_for = Some(boxes.len());
        }
        if let Some(broadphase) = &mut self.broadphase {
            broadphase.pairs(boxes, movable, &mut self.pairs);
        }
        self.wrapped.clear();
        if model.periodic.is_some() {
            self.ghosts.resolve(n, &mut self.pairs, &mut self.wrapped);
            self.wrapped.retain(|p| model.may_touch(p.colliders[0], p.colliders[1]));
        }
        let near = Near { model, skins: &self.skins, line: &self.line };
        keep(&mut self.pairs, &mut self.kept, |(p, q)| near.pair(p as usize, q as usize));
        self.line.order(model, &state.order, &mut self.pairs);
        if model.periodic.is_some() && stamp != 0 {
            self.sorter.sort(model, &state.order, &mut self.pairs);
        }
        if n >= memory::MANY_BODIES {
            self.broadphase.iter_mut().for_each(|phase| phase.release());
            (self.movable, self.sorter) = (Vec::new(), PairSort::default());
            // Boxes of spheres meet more often than spheres do.
            self.pairs.shrink_to_fit();
        }
    }

    /// The contacts of the known pairs at the positions of `state`, in the state's order and by key.
    pub fn find_contacts<'a>(
        &mut self,
        model: &Model,
        state: &State,
        v: &Velocities,
        h: f64,
        envelope: impl Into<Envelope<'a>>,
        out: &mut Vec<Contact>,
    ) {
        self.find(model, state, v, h, envelope.into(), &[], out);
    }

    /// The same, as much of each contact as `C` keeps, without those among bodies that are `asleep` (by body
    /// slot; empty if none is) and between them and others that do not move.
    pub(crate) fn find<C: Touch + Send>(
        &mut self,
        model: &Model,
        state: &State,
        v: &Velocities,
        h: f64,
        envelope: Envelope,
        asleep: &[bool],
        out: &mut Vec<C>,
    ) {
        out.clear();
        let n = model.colliders.len();
        let (mu, arm) = (model.most_mu(), model.materials.largest_arm());
        let ball = |c: &ColliderSlot, pose: &Pose| {
            let radius = if let Shape::Sphere { radius } = c.shape { radius } else { f64::NAN };
            let moves = model.bodies.get(c.body as usize).is_some_and(|b| b.inv_mass > 0.0);
            let v = v.get(c.body as usize).unwrap_or(&[0.0; 6]);
            let (speed, turn) =
                (DVec3::new(v[0], v[1], v[2]).length(), DVec3::new(v[3], v[4], v[5]).length());
            let belt = c.belt().length();
            let idle = !asleep.is_empty()
                && if moves { asleep.get(c.body as usize) == Some(&true) } else { *v == [0.0; 6] };
            let way = h * (speed + turn * c.radius);
            let ahead = way + (mu * (way + h * belt) + h * arm * turn).min(hover_limit(&c.shape));
            let absent = self.absent.get(c.body as usize) == Some(&true);
            Ball {
                centre: pose.position,
                radius,
                ahead,
                mu: c.mu,
                material: c.material,
                body: c.body,
                moves,
                idle,
                absent,
            }
        };
        // A sphere's centre is all that is asked for, and walls are few: they are placed where they are asked
        // for.
        let placed = 8 * model.facts().others > n;
        let pose = |k: usize| model.collider_pose(state, k).unwrap_or(Pose::IDENTITY);
        self.poses.clear();
        parallel::extend(&mut self.poses, if placed { n } else { 0 }, pose);
        self.balls.clear();
        parallel::extend(&mut self.balls, n, |k| {
            ball(&model.colliders[k], &self.poses.get(k).copied().unwrap_or_else(|| pose(k)))
        });
        let look =
            Look { model, state, v, h, envelope, poses: &self.poses, balls: &self.balls, wrapped: None };
        let chunk = if self.parts { CHUNK_OF_PARTS } else { PAIRS_PER_TASK };
        // Tasks are done in waves, so that what they find passes through little memory.
        let alone = self.pairs.len() < 4 * chunk || rayon::current_num_threads() == 1;
        let wave = if alone { 1 } else { 4 * rayon::current_num_threads() };
        self.chunks.resize_with(wave.max(self.chunks.len()), Chunk::default);
        self.tested = 0;
        for pairs in self.pairs.chunks(wave * chunk) {
            let tasks = &mut self.chunks[..wave];
            if alone {
                tasks.iter_mut().zip(pairs.chunks(chunk)).for_each(|(task, pairs)| task.run(&look, pairs));
            } else {
                let tasks = tasks[..pairs.len().div_ceil(chunk)].iter_mut();
                parallel::for_each_of(tasks, |t, task| {
                    task.run(&look, &pairs[t * chunk..pairs.len().min((t + 1) * chunk)]);
                });
            }
            let tasks = &self.chunks[..pairs.len().div_ceil(chunk)];
            self.tested += tasks.iter().map(|task| task.tested).sum::<usize>();
            if self.wrapped.is_empty() {
                gather(tasks, out, |c| C::of(c, model, || look.pair_size(c.key.colliders)));
            } else {
                tasks.iter().for_each(|task| self.unsorted.extend_from_slice(&task.found));
            }
        }
        if let Some(periodic) = model.periodic.as_ref().filter(|_| !self.wrapped.is_empty()) {
            let task = &mut self.chunks[0];
            for pair in &self.wrapped {
                let wrapped = Some((*pair, periodic.shift(pair.image)));
                task.run(&Look { wrapped, ..look }, &[(pair.colliders[0], pair.colliders[1])]);
                self.unsorted.extend_from_slice(&task.found);
                self.tested += task.tested;
            }
            let place = |c: &Contact| (state.order.place(model, c.key.colliders), c.key.feature);
            self.unsorted.sort_unstable_by_key(place);
            out.extend(self.unsorted.drain(..).map(|c| C::of(&c, model, || look.pair_size(c.key.colliders))));
        }
        if n >= memory::MANY_BODIES {
            (self.poses, self.balls) = (Vec::new(), Vec::new());
        }
    }
}

/// Where colliders may be during a step.
struct Enclose<'a> {
    model: &'a Model,
    state: &'a State,
    v: &'a Velocities,
    h: f64,
    envelope: Envelope<'a>,
    mu: f64,
    arm: f64,
}

impl<'a> Enclose<'a> {
    fn new(model: &'a Model, state: &'a State, v: &'a Velocities, h: f64, envelope: Envelope<'a>) -> Self {
        let (mu, arm) = (model.most_mu(), model.materials.largest_arm());
        Self { model, state, v, h, envelope, mu, arm }
    }

    fn of(&self, k: usize) -> Aabb {
        let c = &self.model.colliders[k];
        let still = self.model.collider_aabb(self.state, k);
        if c.body == NOBODY {
            return still;
        }
        // Without a velocity a body is at rest.
        let v = self.v.get(c.body as usize).unwrap_or(&[0.0; 6]);
        let way = self.h * DVec3::new(v[0], v[1], v[2]);
        let turn = self.h * DVec3::new(v[3], v[4], v[5]).length();
        if turn > 0.0 && !c.radius.is_finite() {
            // Ground without end that turns may come anywhere.
            return Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
        }
        let spin = if turn > 0.0 { turn * c.radius } else { 0.0 };
        let hover = self.mu * (way.length() + spin + self.h * c.belt().length()) + self.arm * turn;
        let hover = hover.min(hover_limit(&c.shape));
        let swept = Aabb { min: still.min.min(still.min + way), max: still.max.max(still.max + way) };
        let near = self.envelope.of_collider(c.shape.inner_radius(), c.body);
        swept.grown(near + spin + hover)
    }
}

/// What the broad phase finds, as pairs of colliders.
struct Near<'a> {
    model: &'a Model,
    skins: &'a [Aabb],
    line: &'a Line,
}

impl Near<'_> {
    /// The colliders of two boxes in line, the lower first, if they may come to touch.
    fn pair(&self, p: usize, q: usize) -> Option<(u32, u32)> {
        let (i, j) = (self.line.collider(p), self.line.collider(q));
        let (i, j, p, q) = if i < j { (i, j, p, q) } else { (j, i, q, p) };
        if !self.model.may_touch(i as u32, j as u32) {
            return None;
        }
        let radius = |k: usize| match self.model.colliders[k].shape {
            Shape::Sphere { radius } => Some(radius),
            _ => None,
        };
        if let (Some(a), Some(b)) = (radius(i), radius(j)) {
            let apart = (self.skins[p].max + self.skins[p].min - self.skins[q].max - self.skins[q].min) * 0.5;
            let reach = (way(&self.skins[p], a) + way(&self.skins[q], b)) * (1.0 + 1e-12);
            if apart.length_squared() > reach * reach {
                return None;
            }
        }
        Some((i as u32, j as u32))
    }
}

/// How far any point of a ball that stays in a box can be from the box's middle: the ball's centre stays in
/// the box less its radius on all sides.
fn way(bounds: &Aabb, radius: f64) -> f64 {
    let room = (0.5 * (bounds.max - bounds.min) - DVec3::splat(radius)).max(DVec3::ZERO);
    radius + room.length()
}

/// Pairs that one thread looks at in a row.
const PAIRS_PER_CHECK: usize = 8192;

/// Replaces every pair by what `of` makes of it, or drops it; the order stays.
fn keep(
    pairs: &mut Vec<(u32, u32)>,
    kept: &mut Vec<usize>,
    of: impl Fn((u32, u32)) -> Option<(u32, u32)> + Sync,
) {
    parallel::map_chunks(pairs, PAIRS_PER_CHECK, kept, |_, run| {
        let mut count = 0;
        for k in 0..run.len() {
            if let Some(pair) = of(run[k]) {
                run[count] = pair;
                count += 1;
            }
        }
        count
    });
    let mut end = 0;
    for (piece, &count) in kept.iter().enumerate() {
        pairs.copy_within(piece * PAIRS_PER_CHECK..piece * PAIRS_PER_CHECK + count, end);
        end += count;
    }
    pairs.truncate(end);
}

/// Appends what `of` keeps of all that the tasks have found, in their order.
fn gather<C: Send>(tasks: &[Chunk], out: &mut Vec<C>, of: impl Fn(&Contact) -> C + Sync) {
    if let [only] = tasks {
        memory::reserve(out, only.found.len());
        return out.extend(only.found.iter().map(of));
    }
    let counts: Vec<usize> = tasks.iter().map(|task| task.found.len()).collect();
    parallel::append(out, &counts, |t| tasks[t].found.iter().map(&of));
}

impl Chunk {
    fn run(&mut self, look: &Look, pairs: &[(u32, u32)]) {
        self.found.clear();
        self.tested = 0;
        let Some(&(i, j)) = pairs.first() else { return };
        let start = look.remembered(0, [i, j]).start;
        let (out, work, tested) = (&mut self.found, &mut self.work, &mut self.tested);
        let mut to = Yield { out, work, tested, last: start..start };
        pairs.iter().for_each(|&(i, j)| look.pair(i, j, &mut to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn what_is_kept_stays_in_order() {
        let all: Vec<(u32, u32)> = (0..3 * PAIRS_PER_CHECK as u32 + 5).map(|k| (k, k + 1)).collect();
        for share in [1, 2, 7, u32::MAX] {
            let (mut pairs, of) =
                (all.clone(), |(i, j): (u32, u32)| (i % share == 1 % share).then_some((j, i)));
            keep(&mut pairs, &mut Vec::new(), of);
            assert_eq!(pairs, all.iter().filter_map(|p| of(*p)).collect::<Vec<_>>());
        }
    }

    /// No ball in a box reaches further than is said, and one that lies in a corner reaches as far.
    #[test]
    fn balls_stay_within_their_way() {
        let mut random = Random::new(4);
        for _ in 0..200 {
            let (radius, room) = (0.5, random.in_box(DVec3::ZERO, DVec3::ONE));
            let bounds = Aabb::around(DVec3::X, room + radius);
            let furthest = (0..100).map(|_| {
                let centre = random.in_box(bounds.min + radius, bounds.max - radius);
                (centre - DVec3::X).length() + radius
            });
            let said = way(&bounds, radius);
            assert!(furthest.fold(0.0, f64::max) <= said * (1.0 + 1e-12));
            assert!((said - (room.length() + radius)).abs() < 1e-12);
        }
    }
}
