//! Stage 7: positions follow velocities.

pub(crate) mod foretell;
pub(crate) mod free_velocities;
pub(crate) mod moved;
pub(crate) mod predictor;

use drystone_solve::parallel;
use glam::{DQuat, DVec3};

use crate::body::Motion;
use crate::gyration::{Gyration, turns_freely};
use crate::motion::{free_rotation, rotate};
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::FreeMotion;

/// Bodies that one thread moves in a row.
const BODIES_PER_TASK: usize = 2048;

/// q ← Λ(q, θ v⁺ + (1-θ) v, h) of all but the `others`: θ = 1 in the half-implicit scheme, any from ½ to 1 in
/// Moreau's [RenoufAcary2006, eq. 2].
pub(crate) fn integrate(
    setup: Setup,
    s: &mut State,
    motion: &FreeMotion,
    others: impl Fn(usize) -> bool + Sync,
) {
    let (h, theta) = (setup.settings.h, setup.settings.integrator.theta());
    let FreeMotion { v: solved, turned: free, jointed, .. } = motion;
    let gyration = Gyration::new(setup.settings, free, jointed);
    let (model, n) = (setup.model, setup.model.bodies.len());
    for columns in [&s.position, &s.velocity, &s.omega] {
        assert_eq!(columns.len(), n, "one number for each body");
    }
    assert_eq!(s.rotation.len(), n, "one rotation for each body");
    let vectors = [&mut s.position, &mut s.velocity, &mut s.omega].map(Vec::as_mut_slice);
    let (columns, rest) = ((vectors, &mut s.rotation[..]), &s.rest);
    let move_on = |i: usize, [x, v, omega]: [&mut DVec3; 3], q: &mut DQuat| {
        let body = &model.bodies[i];
        if !body.alive || body.motion == Motion::Static || rest.is_asleep(i) || others(i) {
            return;
        }
        let theta = if body.motion == Motion::Dynamic { theta } else { 1.0 };
        let before = (*v, *omega);
        let mut take = |new: &[f64; 6]| {
            *v = DVec3::new(new[0], new[1], new[2]);
            *omega = q.conjugate() * DVec3::new(new[3], new[4], new[5]);
        };
        if body.guide.is_some() || body.motion == Motion::Dynamic {
            take(&solved[i]);
        }
        if let Some(plane) = &body.planar {
            // The solver holds the lock to its tolerance; here it is exact.
            *v = plane.within(*v);
            *omega = q.conjugate() * plane.about(*q * *omega);
        }
        *x += h * (theta * *v + (1.0 - theta) * before.0);
        if let Some(plane) = &body.planar {
            *x = plane.nearest(*x);
        }
        if *omega == DVec3::ZERO && before.1 == DVec3::ZERO {
            return;
        }
        *q = match (gyration.kicked(body, i), free.get(i)) {
            (Some((free, _)), _) => {
                // Kicked where the step began, then free: contacts do no work on what spins, however far it
                // turns in a step.
                let (after, turn) = free_rotation(&body.mass.inertia, before.1 + (*omega - *free), h);
                *omega = after;
                (*q * turn).normalize()
            }
            // Joints hold velocities to the end: free motion, and what changes it on top.
            (None, Some((free, turn))) if turns_freely(body) => {
                rotate(*q * *turn, theta * (*omega - *free), h)
            }
            _ => rotate(*q, theta * *omega + (1.0 - theta) * before.1, h),
        };
    };
    parallel::for_each_run(n, columns, BODIES_PER_TASK, |first, (mut vectors, rotation)| {
        for (k, q) in rotation.iter_mut().enumerate() {
            move_on(first + k, vectors.each_mut().map(|column| &mut column[k]), q);
        }
    });
}

/// The position-based limit [TasoraAnitescu2011, end of §5.2; Muller2006]: without a velocity problem, the
/// velocities follow from where the corrections put the bodies.
pub(crate) fn take_velocities_from_positions(setup: Setup, state: &mut State, moved: &[[f64; 6]]) {
    let h = setup.settings.h;
    for i in setup.model.dynamic().filter(|i| !state.rest.is_asleep(*i)).collect::<Vec<_>>() {
        let d = &moved[i];
        state.velocity[i] += DVec3::new(d[0], d[1], d[2]) / h;
        state.omega[i] += state.rotation[i].conjugate() * DVec3::new(d[3], d[4], d[5]) / h;
    }
}
