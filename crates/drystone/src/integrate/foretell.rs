//! Arcs of contacts, foretold: see `predictor.rs`.

use super::predictor::Predictor;
use crate::collide::Envelope;
use crate::contact::{Contact, Touch};
use crate::gyration::turns_freely;
use crate::motion::rotated;
use crate::settings::{Settings, Stabilisation};
use crate::setup::Setup;
use crate::shape::Shape;
use crate::state::State;
use crate::workspace::{Collision, FreeMotion};
use glam::DVec3;

/// Turns of a step that matter, rad: those of less leave errors of their square.
pub(crate) const MIN_TURN: f64 = 0.01;

/// Whether the scheme is not one that the papers give as it is.
fn applies(settings: &Settings) -> bool {
    let lifts = matches!(settings.stabilisation, Stabilisation::Post { .. });
    lifts && settings.integrator.theta() == 1.0 && settings.iterations > 0
}

/// Foretells the gaps of contacts of bodies that turn; contacts that only the turns bring about are added.
pub(crate) fn foretell(setup: Setup, state: &mut State, free: &FreeMotion, to: &mut Collision) {
    let Collision { detector, contacts, predictor, .. } = to;
    predictor.arcs.clear();
    predictor.added.clear();
    if !applies(setup.settings) || contacts.is_empty() || !pick(setup, free, contacts, &mut predictor.stays) {
        return;
    }
    let Predictor { arcs, added: keys, stays, ends } = predictor;
    let (model, h, envelope, v_free) = (setup.model, setup.settings.h, setup.envelope(), &free.v);
    let start: Vec<(usize, glam::DQuat)> =
        (0..stays.len()).filter(|i| !stays[*i]).map(|i| (i, state.rotation[i])).collect();
    for (i, q) in &start {
        state.rotation[*i] = match free.turned.get(*i) {
            Some((_, turn)) if turns_freely(&model.bodies[*i]) => *q * *turn,
            _ => rotated(*q, q.conjugate() * spin(&v_free[*i]), h),
        }
        .normalize();
    }
    // Without their ways: what is near at the end, wherever it goes.
    let way = |k: usize| {
        let c = &model.colliders[k];
        let v = v_free.get(c.body as usize).filter(|_| c.radius.is_finite()).copied().unwrap_or_default();
        h * (DVec3::new(v[0], v[1], v[2]).length() + spin(&v).length() * c.radius)
    };
    let touching = contacts
        .iter()
        .flat_map(|c| c.key.colliders)
        .filter(|k| !stays[model.colliders[*k as usize].body as usize]);
    let mut more = vec![0.0; model.bodies.len()];
    for k in touching {
        let body = model.colliders[k as usize].body as usize;
        more[body] = way(k as usize).max(more[body]);
    }
    let reach = Envelope { more: &more, ..envelope };
    detector.find(model, state, v_free, h, reach, stays, ends);
    let place = |c: &Contact| (state.order.place(model, c.key.colliders), c.key.feature);
    let mut added = Vec::new();
    for e in ends.iter().filter(|c| c.bodies.iter().any(|b| !stays[*b as usize])) {
        let images = e.images(model);
        let here = place(e);
        // What the turns say of the gap to first order, with the levers of the start.
        let along = |c: &Contact, levers: [DVec3; 2]| {
            let [a, b] = [0, 1].map(|k| {
                let i = c.bodies[k] as usize;
                if stays[i] { DVec3::ZERO } else { spin(&v_free[i]).cross(levers[k]) }
            });
            h * c.normal.dot(a - b)
        };
        if let Ok(at) = contacts.binary_search_by_key(&here, place) {
            let c = &contacts[at];
            let half = 0.5 * c.gap * c.normal;
            let on = [c.point + half, c.point - half];
            let levers = [0, 1].map(|k| on[k] - state.position[c.bodies[k] as usize] - images[k]);
            let arc = e.gap - c.gap - along(c, levers);
            let new = c.impulse == DVec3::ZERO;
            arcs.insert(c.key, if new { passive(arc, h * opening(c, levers, v_free)) } else { arc });
            continue;
        }
        let [a, b] = e.bodies.map(|b| &v_free[b as usize]);
        let way = h * e.normal.dot(DVec3::new(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
        let size = model.pair_size(e.key.colliders[0], e.key.colliders[1]);
        if e.gap + way > envelope.of_pair(size, e.bodies) {
            continue;
        }
        // A new one, as its points on both bodies were at the start.
        let half = 0.5 * e.gap * e.normal;
        let on = [e.point + half, e.point - half];
        let levers = [0, 1].map(|k| {
            let i = e.bodies[k] as usize;
            let lever = on[k] - state.position[i] - images[k];
            match start.binary_search_by_key(&i, |s| s.0) {
                Ok(at) => start[at].1 * (state.rotation[i].conjugate() * lever),
                Err(_) => lever,
            }
        });
        let [a, b] = [0, 1].map(|k| levers[k] + state.position[e.bodies[k] as usize] + images[k]);
        let mut c = *e;
        (c.point, c.gap) = (0.5 * (a + b), e.normal.dot(a - b));
        // One that turns past the middle of another would be held on the far side.
        if c.gap < -size {
            continue;
        }
        arcs.insert(c.key, passive(e.gap - c.gap - along(&c, levers), h * opening(&c, levers, v_free)));
        added.push(c);
    }
    if !added.is_empty() {
        keys.extend(added.iter().map(|c| c.key));
        keys.sort_unstable();
        contacts.append(&mut added);
        contacts.sort_unstable_by_key(place);
    }
    start.into_iter().for_each(|(i, q)| state.rotation[i] = q);
}

/// Who turns by enough; whether there is anybody.
fn pick(setup: Setup, free: &FreeMotion, contacts: &[Contact], stays: &mut Vec<bool>) -> bool {
    let model = setup.model;
    stays.clear();
    stays.resize(model.bodies.len(), true);
    let mut some = false;
    for k in contacts.iter().flat_map(|c| c.key.colliders) {
        let c = &model.colliders[k as usize];
        let round = matches!(c.shape, Shape::Sphere { .. }) && c.local.is_none();
        let b = c.body as usize;
        let on_joint = free.jointed.get(b) == Some(&true);
        if !round
            && !on_joint
            && c.radius.is_finite()
            && setup.settings.h * spin(&free.v[b]).length() > MIN_TURN
        {
            (stays[b], some) = (false, true);
        }
    }
    some
}

/// κ with which a contact that was not pressed before does no work: it parts at no more than it closes.
fn passive(arc: f64, opens: f64) -> f64 {
    arc.max(opens.min(0.0))
}

/// How fast a contact opens, m/s.
fn opening(c: &Contact, levers: [DVec3; 2], v: &[[f64; 6]]) -> f64 {
    let [a, b] = [0, 1].map(|k| {
        let v = &v[c.bodies[k] as usize];
        DVec3::new(v[0], v[1], v[2]) + spin(v).cross(levers[k])
    });
    c.normal.dot(a - b)
}

fn spin(v: &[f64; 6]) -> DVec3 {
    DVec3::new(v[3], v[4], v[5])
}
