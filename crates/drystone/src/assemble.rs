//! Where geometry meets the solver: contacts become blocks of a cone complementarity problem.

use drystone_solve::Problem;
use drystone_solve::colour::Colouring;
use drystone_solve::cone::Set;
use drystone_solve::problem::{Bodies, General, WORLD};
use glam::{DMat3, DVec3};

use crate::collide::Velocities;
use crate::contact::{Contact, Touch};
use crate::model::Model;
use crate::order::Order;
use crate::state::State;

/// A problem under construction, with its buffers and the way back from blocks to contacts.
pub struct Assembler {
    /// The problem.
    pub problem: Problem,
    /// Contact number of each point block.
    pub order: Vec<u32>,
    /// The warm start, in the problem's rows.
    pub guess: Vec<f64>,
    colouring: Colouring,
    regions: Vec<u32>,
    velocities: Vec<[f64; 6]>,
}

impl Default for Assembler {
    fn default() -> Self {
        Self {
            problem: Problem::Bodies(Bodies::default()),
            order: Vec::new(),
            guess: Vec::new(),
            colouring: Colouring::default(),
            regions: Vec::new(),
            velocities: Vec::new(),
        }
    }
}

/// What the normal row and the friction of a contact are to be.
pub struct Row {
    /// Added to the normal velocity, m/s (or m, in a position problem).
    pub bias: f64,
    /// Coefficient of friction.
    pub mu: f64,
}

impl Assembler {
    /// Memory over contacts, bytes.
    pub fn bytes(&self) -> usize {
        self.bodies().points.bytes() + size_of_val(self.order.as_slice()) + size_of_val(self.guess.as_slice())
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
        let mut sorted = std::mem::take(&mut self.velocities);
        self.bodies().velocities(gamma, &mut sorted);
        to.clear();
        to.extend((0..sorted.len() as u32).map(|slot| sorted[order.rank(slot) as usize]));
        self.velocities = sorted;
    }

    /// Builds D, b, M⁻¹ and the cones [TasoraAnitescu2011, eq. 31-34] from the contacts, in coloured order.
    /// `v_free` gives the free velocities of dynamic bodies and the own velocities of all others; those others are
    /// folded into the bias. `row` says bias and friction contact by contact. The law is the relaxed one until
    /// [`Problem::set_model`] says otherwise.
    pub(crate) fn build<C: Touch>(
        &mut self,
        model: &Model,
        state: &State,
        contacts: &[C],
        v_free: &Velocities,
        row: impl Fn(&C) -> Row,
    ) {
        let Self { problem: Problem::Bodies(p), order, colouring, regions, guess, .. } = self else {
            unreachable!("made matrix-free")
        };
        p.model = Default::default();
        // Bodies of the problem are numbered by their rank.
        let n = model.bodies.len();
        p.inv_mass.resize(n, 0.0);
        p.inv_inertia.resize(n, [0.0; 6]);
        p.v_free.resize(n, [0.0; 6]);
        for (slot, body) in model.bodies.iter().enumerate() {
            let rank = state.order.rank(slot as u32) as usize;
            p.inv_mass[rank] = body.inv_mass;
            p.inv_inertia[rank] = world_inertia(&body.inv_inertia, state.rotation[slot]);
            p.v_free[rank] = v_free[slot];
        }
        let ranks = |bodies: [u32; 2]| {
            let [a, b] = bodies.map(|slot| state.order.rank(slot));
            (a, if p.inv_mass[b as usize] > 0.0 { b } else { WORLD })
        };
        state.order.regions(regions);
        let regions = (!regions.is_empty()).then_some(regions.as_slice());
        let pairs = contacts.iter().map(|c| ranks(c.bodies()));
        colouring.run_in_regions(n, pairs, regions);
        std::mem::swap(order, &mut colouring.order);
        p.points.clear();
        p.points.spans.extend_from_slice(&colouring.spans);
        p.points.regions.extend_from_slice(&colouring.regions);
        for &i in order.iter() {
            let c = &contacts[i as usize];
            let (bodies, normal) = (c.bodies(), c.normal());
            let (a, b) = ranks(bodies);
            // Each body is pushed at its own surface: that is where it will be touched once the gap is closed.
            let half = 0.5 * c.gap() * normal;
            let on = [c.point() + half, c.point() - half];
            let images = c.images(model);
            let arm = |side: usize| on[side] - (state.position[bodies[side] as usize] + images[side]);
            let Row { bias, mu } = row(c);
            let mut bias = bias * normal;
            let mut arm_b = DVec3::ZERO;
            if b == WORLD {
                let v = &v_free[bodies[1] as usize];
                if v != &[0.0; 6] {
                    let turn = DVec3::new(v[3], v[4], v[5]);
                    bias -= DVec3::new(v[0], v[1], v[2]) + turn.cross(arm(1));
                }
            } else {
                arm_b = arm(1);
            }
            p.points.push((a, b), normal.into(), arm(0).into(), arm_b.into(), bias.into(), mu);
        }
        lock_planes(model, &state.order, &mut p.general);
        guess.clear();
    }

    /// Fills the guess from the contacts' impulses.
    pub fn warm_start(&mut self, contacts: &[Contact]) {
        let Problem::Bodies(p) = &self.problem else { return };
        self.guess.clear();
        for (k, &i) in self.order.iter().enumerate() {
            let impulse = contacts[i as usize].impulse.to_array();
            self.guess.extend(
                p.points
                    .frame(k)
                    .map(|axis| axis[0] * impulse[0] + axis[1] * impulse[1] + axis[2] * impulse[2]),
            );
        }
        self.guess.resize(self.problem.rows(), 0.0);
    }

    /// Hands multipliers back to the contacts as impulses in world axes.
    pub fn hand_back(&self, gamma: &[f64], contacts: &mut [Contact]) {
        let points = &self.bodies().points;
        for (k, &i) in self.order.iter().enumerate() {
            let frame = points.frame(k);
            contacts[i as usize].impulse =
                (0..3).map(|r| gamma[3 * k + r] * DVec3::from_array(frame[r])).sum::<DVec3>();
        }
    }
}

/// One bilateral row for each body locked to a plane: no velocity across it. (That it does not tilt is in its inertia.)
fn lock_planes(model: &Model, order: &Order, rows: &mut General) {
    rows.clear();
    for i in model.dynamic() {
        if let Some(plane) = &model.bodies[i].planar {
            let mut row = [0.0; 12];
            row[..3].copy_from_slice(&plane.normal.to_array());
            rows.push((order.rank(i as u32), WORLD), Set::Free, &[row], &[0.0]);
        }
    }
    rows.one_colour();
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
