//! Where geometry meets the solver: contacts become blocks of a cone complementarity problem.

pub(crate) mod loads;
mod rolling;
mod row;
pub(crate) mod rows;
pub(crate) mod velocity;

use std::mem::offset_of;

use drystone_solve::Problem;
use drystone_solve::colour::Colouring;
use drystone_solve::cone::MAX_ROWS;
use drystone_solve::memory;
use drystone_solve::parallel::{self, Shared};
use drystone_solve::problem::{Ask, Bodies, Point, Points, WORLD};
use glam::{DMat3, DVec3};

use crate::collide::{Velocities, velocity};
use crate::contact::{Contact, Touch};
use crate::joint::JointState;
use crate::model::Model;
use crate::spatial_order::Order;
use crate::state::State;
use rolling::{Placed, Turning};
pub use row::Row;
use rows::{Purpose, Rows};

/// A problem under construction, with its buffers and the way back from blocks to contacts.
pub struct Assembler {
    /// The problem.
    pub problem: Problem,
    /// Contact number of each point block.
    pub order: Vec<u32>,
    /// The warm start, in the problem's rows.
    pub guess: Vec<f64>,
    /// The joints' rows.
    pub(crate) rows: Rows,
    /// Contacts that resist rolling or spinning.
    turning: Turning,
    colouring: Colouring,
    regions: Vec<u32>,
    velocities: Vec<[f64; 6]>,
    pairs: Vec<(u32, u32)>,
    nothing: Vec<()>,
    /// What arrays over contacts took that were given back, bytes.
    held: usize,
}

/// Contacts, or bodies, that one thread works on at a time.
const ROWS_PER_TASK: usize = 2048;
/// How many contacts ahead, in the order of the problem, their impulses are asked for: in memory they lie
/// elsewhere.
const PREFETCH_CONTACTS: usize = 8;

impl Default for Assembler {
    fn default() -> Self {
        Self {
            problem: Problem::Bodies(Bodies::default()),
            order: Vec::new(),
            guess: Vec::new(),
            rows: Rows::default(),
            turning: Turning::default(),
            colouring: Colouring::default(),
            regions: Vec::new(),
            velocities: Vec::new(),
            pairs: Vec::new(),
            nothing: Vec::new(),
            held: 0,
        }
    }
}

impl Assembler {
    /// Memory over contacts that the last problem took, bytes.
    pub fn bytes(&self) -> usize {
        let lists = size_of_val(self.order.as_slice()) + size_of_val(self.guess.as_slice());
        self.held.max(self.bodies().points.bytes() + lists)
    }

    /// Gives back the memory of the problem, which is lost, except for the joints' rows.
    pub(crate) fn release(&mut self) {
        self.held = self.bytes();
        let Problem::Bodies(p) = &mut self.problem else { return };
        (p.inv_mass, p.inv_inertia, p.v_free) = (Vec::new(), Vec::new(), Vec::new());
        p.points = Points::default();
        (self.order, self.guess, self.velocities) = (Vec::new(), Vec::new(), Vec::new());
    }

    /// The matrix-free problem.
    pub fn bodies(&self) -> &Bodies {
        match &self.problem {
            Problem::Bodies(b) => b,
            Problem::Explicit(_) => unreachable!("made matrix-free"),
        }
    }

    /// v = v_free + M⁻¹ D γ by body slot.
    pub(crate) fn velocities(&mut self, order: &Order, gamma: &[f64], to: &mut Vec<[f64; 6]>) {
        self.sorted_velocities(gamma);
        let sorted = std::mem::take(&mut self.velocities);
        self.by_slot(order, &sorted, to);
        self.velocities = sorted;
    }

    /// Velocities in the order of the bodies, put by slot.
    pub(crate) fn by_slot(&mut self, order: &Order, sorted: &Velocities, to: &mut Vec<[f64; 6]>) {
        to.resize(sorted.len(), [0.0; 6]);
        parallel::map_chunks(to, ROWS_PER_TASK, &mut self.nothing, |first, run| {
            (first as u32..).zip(run).for_each(|(slot, v)| *v = sorted[order.rank(slot) as usize]);
        });
    }

    /// The same in the order of the bodies.
    pub(crate) fn sorted_velocities(&mut self, gamma: &[f64]) -> &Velocities {
        let mut sorted = std::mem::take(&mut self.velocities);
        self.bodies().velocities(gamma, &mut sorted);
        self.velocities = sorted;
        &self.velocities
    }

    /// Builds D, b, M⁻¹ and the cones [TasoraAnitescu2011, eq. 31-34] from the contacts, in coloured order.
    /// `v_free` gives the free velocities of dynamic bodies and the own velocities of all others; those
    /// others are folded into the bias; empty: all are at rest. Bodies that are `held` (by slot; empty if
    /// none is) do not move, whatever they weigh. `row` says bias and friction contact by contact. The law is
    /// the relaxed one until [`Problem::set_model`] says otherwise.
    pub(crate) fn build<C: Touch + Sync>(
        &mut self,
        model: &Model,
        state: &State,
        contacts: &[C],
        v_free: &Velocities,
        held: &[bool],
        row: impl Fn(usize, &C) -> Row + Sync,
    ) {
        let Self { problem: Problem::Bodies(p), order, colouring, regions, guess, turning, pairs, .. } = self
        else {
            unreachable!("made matrix-free")
        };
        (p.model, self.held) = (Default::default(), 0);
        // Bodies of the problem are numbered by their rank.
        let n = model.bodies.len();
        parallel::resize(&mut p.inv_mass, n, 0.0);
        parallel::resize(&mut p.inv_inertia, n, [0.0; 6]);
        parallel::resize(&mut p.v_free, n, [0.0; 6]);
        let (mass, inertia, free) = (
            Shared(p.inv_mass.as_mut_ptr()),
            Shared(p.inv_inertia.as_mut_ptr()),
            Shared(p.v_free.as_mut_ptr()),
        );
        parallel::for_each_small(n, |slot| {
            let (body, rank) = (&model.bodies[slot], state.order.rank(slot as u32) as usize);
            assert!(rank < n, "{rank} is no place among {n} bodies");
            let moves = held.get(slot) != Some(&true);
            // SAFETY: every rank is one body's.
            unsafe {
                *mass.at(rank) = if moves { body.inv_mass } else { 0.0 };
                *inertia.at(rank) = match moves {
                    true => world_inertia(&body.inv_inertia, state.rotation[slot]),
                    false => [0.0; 6],
                };
                *free.at(rank) = *velocity(v_free, slot as u32);
            }
        });
        // Which of the two is pushed, as ranks, and whether that is the contact's second: its first is held
        // then.
        let inv_mass = &p.inv_mass;
        let pushed = |bodies: [u32; 2]| {
            let [a, b] = bodies.map(|slot| state.order.rank(slot));
            match [a, b].map(|rank| inv_mass[rank as usize] > 0.0) {
                [_, false] => ((a, WORLD), false),
                [true, true] => ((a, b), false),
                [false, true] => ((b, WORLD), true),
            }
        };
        state.order.regions(regions);
        let known = (!regions.is_empty()).then_some(regions.as_slice());
        turning.select(contacts.len(), |i| row(i, &contacts[i]).turns());
        parallel::resize(pairs, turning.points.len(), (0, 0));
        parallel::for_each_run(turning.points.len(), &mut pairs[..], ROWS_PER_TASK, |first, run| {
            for (i, pair) in turning.points[first..].iter().zip(run) {
                *pair = pushed(contacts[*i as usize].bodies()).0;
            }
        });
        colouring.run_pairs(n, pairs, known);
        std::mem::swap(order, &mut colouring.order);
        if turning.points.len() < contacts.len() {
            order.iter_mut().for_each(|k| *k = turning.points[*k as usize]);
        }
        p.points.clear();
        p.points.spans.extend_from_slice(&colouring.spans);
        p.points.regions.extend_from_slice(&colouring.regions);
        if n >= memory::MANY_BODIES {
            *colouring = Colouring::default();
            (*pairs, *regions) = (Vec::new(), Vec::new());
        }
        p.points.fill(order.len(), |k| {
            let i = order[k] as usize;
            let c = &contacts[i];
            let (mut bodies, mut normal, mut images) = (c.bodies(), c.normal(), c.images(model));
            let ((a, b), turned) = pushed(bodies);
            if turned {
                bodies.reverse();
                images.reverse();
                normal = -normal;
            }
            // Each body is pushed at its own surface: that is where it will be touched once the gap is
            // closed.
            let half = 0.5 * c.gap() * normal;
            let on = [c.point() + half, c.point() - half];
            let arm = |side: usize| on[side] - (state.position[bodies[side] as usize] + images[side]);
            let Row { bias, drift, mu, compliance, .. } = row(i, c);
            let mut bias = bias * normal + drift;
            let mut arm_b = DVec3::ZERO;
            if b == WORLD {
                let v = velocity(v_free, bodies[1]);
                if v != &[0.0; 6] {
                    let turn = DVec3::new(v[3], v[4], v[5]);
                    bias -= DVec3::new(v[0], v[1], v[2]) + turn.cross(arm(1));
                }
            } else {
                arm_b = arm(1);
            }
            Point {
                bodies: (a, b),
                normal: normal.into(),
                arm_a: arm(0).into(),
                arm_b: arm_b.into(),
                bias: bias.into(),
                mu,
                compliance,
            }
        });
        if turning.points.len() < contacts.len() {
            for (i, c) in contacts.iter().enumerate() {
                let row = row(i, c);
                if row.turns() {
                    turning.stage(&placed(model, state, i, c, row), v_free);
                }
            }
        }
        guess.clear();
    }

    /// Works out the joints' rows; a call of [`Assembler::build`] comes before.
    pub(crate) fn stage_rows(&mut self, model: &Model, state: &State, v: &Velocities, purpose: Purpose) {
        let Problem::Bodies(p) = &self.problem else { return };
        self.rows.stage(model, state, v, p, purpose);
    }

    /// Puts the joints' rows behind the contacts.
    pub(crate) fn build_rows(&mut self, order: &Order) {
        let Problem::Bodies(p) = &mut self.problem else { return };
        self.rows.finish(order, p.inv_mass.len(), &mut p.general);
        self.turning.append(p.inv_mass.len(), &mut p.general);
    }

    /// Fills the guess from the contacts' and the joints' impulses.
    pub fn warm_start(&mut self, contacts: &[Contact], joints: &[JointState]) {
        let Problem::Bodies(p) = &self.problem else { return };
        let order = &self.order;
        parallel::resize(&mut self.guess, 3 * order.len(), 0.0);
        parallel::for_each_run(
            order.len(),
            self.guess.as_chunks_mut::<3>().0,
            ROWS_PER_TASK,
            |first, run| {
                for (k, rows) in (first..).zip(run) {
                    if let Some(i) = order.get(k + PREFETCH_CONTACTS) {
                        memory::prefetch_item(&contacts[*i as usize].impulse);
                    }
                    let impulse = contacts[order[k] as usize].impulse.to_array();
                    *rows = p
                        .points
                        .frame(k)
                        .map(|axis| axis[0] * impulse[0] + axis[1] * impulse[1] + axis[2] * impulse[2]);
                }
            },
        );
        self.guess.resize(self.problem.rows(), 0.0);
        let general = &mut self.guess[3 * self.order.len()..];
        self.rows.warm_start(joints, &p.general.set, general);
        self.turning.warm_start(|i| contacts[i].impulse, general);
    }

    /// Hands multipliers back to the contacts as impulses in world axes.
    pub fn hand_back(&self, gamma: &[f64], contacts: &mut [Contact]) {
        let points = &self.bodies().points;
        let (to, n) = (Shared(contacts.as_mut_ptr()), contacts.len());
        parallel::for_each_small(self.order.len(), |k| {
            if let Some(i) = self.order.get(k + PREFETCH_CONTACTS).map(|i| *i as usize).filter(|i| *i < n) {
                memory::prefetch_item(
                    to.at(i).wrapping_byte_add(offset_of!(Contact, impulse)).cast::<DVec3>(),
                );
            }
            let (i, frame) = (self.order[k] as usize, points.frame(k));
            assert!(i < n, "no contact {i} among {n}");
            let impulse = (0..3).map(|r| gamma[3 * k + r] * DVec3::from_array(frame[r])).sum::<DVec3>();
            // SAFETY: there is such a contact, and it is one block's.
            unsafe { (*to.at(i)).impulse = impulse };
        });
        self.turning.hand_back(&gamma[3 * self.order.len()..], |i, impulse| contacts[i].impulse = impulse);
    }

    /// Hands multipliers back to the joints. `asks` are the rows that gave way.
    pub(crate) fn hand_back_rows(&mut self, gamma: &[f64], h: f64, asks: &[Ask]) {
        let Problem::Bodies(p) = &self.problem else { return };
        let contacts = self.order.len();
        self.rows.hand_back(&p.general, &gamma[3 * contacts..], h);
        let missed = |ask: &Ask| ask.compliance * (gamma[ask.row as usize] - ask.about);
        self.rows.note_missed(
            asks.iter().filter_map(|ask| Some(((ask.block as usize).checked_sub(contacts)?, missed(ask)))),
        );
    }

    /// Hands multipliers back to the joints that are no more than what the next step starts from.
    pub(crate) fn hand_back_loads(&mut self, gamma: &[f64]) {
        self.rows.hand_back_loads(&gamma[3 * self.order.len()..]);
    }

    /// The same for the first of two problems of a step: what the second one says is added to it.
    pub(crate) fn keep_rows(&mut self, gamma: &[f64], h: f64) {
        let Problem::Bodies(p) = &self.problem else { return };
        self.rows.keep(&p.general, &gamma[3 * self.order.len()..], h);
    }

    /// The work that block `i` does on its bodies in the name of something outside, J: walls, belts, motors,
    /// springs and corrections, not the scheme's own arcs and bounces. `v` are the velocities that belong to
    /// `gamma`, `shift` is what a compliance has taken off its first bias, `scheme` says of a contact which
    /// part of its normal bias is the scheme's (m/s; NaN for one that is a force).
    pub(crate) fn work(
        &self,
        i: usize,
        gamma: &[f64],
        v: &Velocities,
        shift: f64,
        scheme: impl Fn(usize) -> f64,
    ) -> f64 {
        let p = self.bodies();
        let gamma = &gamma[self.problem.block(i)];
        let own = match self.contact_of(i) {
            Some(contact) => scheme(contact),
            None => self.rows.scheme(i - self.order.len()),
        };
        let (mut b, mut u, mut free) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        self.problem.block_bias(i, &mut b);
        b[0] += shift;
        if own.is_nan() {
            // γ times the mean velocity, without the bias.
            p.block_relative(i, v, &mut u);
            p.block_relative(i, &p.v_free, &mut free);
            u[0] += shift;
            free[0] += shift;
            return gamma.iter().enumerate().map(|(k, x)| x * (0.5 * (u[k] + free[k]) - b[k])).sum();
        }
        b[0] -= own;
        -gamma.iter().zip(&b).map(|(x, b)| x * b).sum::<f64>()
    }

    /// The contact of a block, if it is one's.
    pub fn contact_of(&self, block: usize) -> Option<usize> {
        let point = self.order.get(block).copied();
        let contact = point.or_else(|| self.turning.contact_of(block - self.order.len()));
        contact.map(|i| i as usize)
    }
}

/// A contact with the arms at which it pushes its bodies.
fn placed<C: Touch>(model: &Model, state: &State, i: usize, c: &C, row: Row) -> Placed {
    let (bodies, normal) = (c.bodies(), c.normal());
    let images = c.images(model);
    let arm = |side: usize, half: f64| {
        c.point() + half * c.gap() * normal - (state.position[bodies[side] as usize] + images[side])
    };
    let rank = |slot: u32| state.order.rank(slot);
    let moves = model.bodies[bodies[1] as usize].inv_mass > 0.0;
    Placed {
        contact: i as u32,
        pair: (rank(bodies[0]), if moves { rank(bodies[1]) } else { WORLD }),
        other: bodies[1],
        normal,
        arms: [arm(0, 0.5), arm(1, -0.5)],
        row,
    }
}

/// R I⁻¹ Rᵀ as (xx, yy, zz, xy, xz, yz).
fn world_inertia(inv: &DMat3, q: glam::DQuat) -> [f64; 6] {
    if inv.x_axis == DVec3::X * inv.x_axis.x
        && inv.y_axis == DVec3::Y * inv.x_axis.x
        && inv.z_axis == DVec3::Z * inv.x_axis.x
    {
        let i = inv.x_axis.x;
        return [i, i, i, 0.0, 0.0, 0.0];
    }
    let r = DMat3::from_quat(q);
    let w = r * *inv * r.transpose();
    [
        w.x_axis.x,
        w.y_axis.y,
        w.z_axis.z,
        0.5 * (w.x_axis.y + w.y_axis.x),
        0.5 * (w.x_axis.z + w.z_axis.x),
        0.5 * (w.y_axis.z + w.z_axis.y),
    ]
}
