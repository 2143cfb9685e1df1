//! What began, goes on and ended in a step: contacts, overlaps with sensors, limits of joints. Only where it
//! is asked for ([`crate::World::record_events`]).
//!
//! A contact exists before bodies touch. Two colliders *touch* in a step if one of their contacts has an
//! impulse or a gap that is not positive. Events are in the order of collider ids, whatever the number of
//! threads. After a state was restored none are pending, and those of the next step follow from it.

use glam::DVec3;

use crate::collider::ColliderId;
use crate::joint::JointId;
use crate::model::BodyId;

/// When in its life something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// It was not there in the step before.
    Begin,
    /// It was, and still is.
    Persist,
    /// It was, and is no longer.
    End,
}

impl Phase {
    /// As Python and messages spell it.
    pub fn name(self) -> &'static str {
        ["begin", "persist", "end"][self as usize]
    }
}

/// Two colliders that touch, or have ceased to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContactEvent {
    /// Begin, persist or end.
    pub phase: Phase,
    /// Their bodies, of which the first is dynamic.
    pub bodies: [BodyId; 2],
    /// The colliders, in the order of the bodies.
    pub colliders: [ColliderId; 2],
    /// Impulse on the first body during the step, N s, world axes; zero at the end.
    pub impulse: DVec3,
    /// The same over the step, N.
    pub force: DVec3,
    /// Mean of the contact points, weighted by their normal impulses where there are some, m, world; at the
    /// end, the last one.
    pub point: DVec3,
    /// Of the contact that presses most, unit, from the second body to the first.
    pub normal: DVec3,
}

/// Something in a sensor, or no longer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SensorEvent {
    /// Begin, persist or end.
    pub phase: Phase,
    /// The sensor and its body.
    pub sensor: (BodyId, ColliderId),
    /// What overlaps it.
    pub other: (BodyId, ColliderId),
}

/// A joint's coordinate at one of its limits, or no longer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct JointEvent {
    /// Begin, persist or end.
    pub phase: Phase,
    /// The joint.
    pub joint: JointId,
    /// Which of its free coordinates.
    pub coordinate: usize,
    /// What the limit pushes with, N or N m; zero at the end.
    pub force: f64,
}

/// The events of the last step.
#[derive(Default)]
pub(crate) struct Events {
    pub on: bool,
    /// What is known of a state that was restored, which is nobody's news: the next step goes on from it.
    pub recalled: bool,
    pub contacts: Vec<ContactEvent>,
    pub sensors: Vec<SensorEvent>,
    pub joints: Vec<JointEvent>,
}

/// Gives what is there now its phases, and appends what has ended. Both lists are sorted by `key`.
pub(crate) fn follow<T: Copy, K: Ord>(
    last: &[T],
    mut now: Vec<T>,
    key: impl Fn(&T) -> K,
    phase: impl Fn(&mut T) -> &mut Phase,
    end: impl Fn(&mut T),
) -> Vec<T> {
    now.sort_by_key(&key);
    let mut at = 0;
    let mut ended = Vec::new();
    let mut leave = |old: &T| {
        let mut old = *old;
        if *phase(&mut old) != Phase::End {
            *phase(&mut old) = Phase::End;
            end(&mut old);
            ended.push(old);
        }
    };
    for new in &mut now {
        while at < last.len() && key(&last[at]) < key(new) {
            leave(&last[at]);
            at += 1;
        }
        let mut known = false;
        while at < last.len() && key(&last[at]) == key(new) {
            known |= *phase(&mut { last[at] }) != Phase::End;
            at += 1;
        }
        *phase(new) = if known { Phase::Persist } else { Phase::Begin };
    }
    last[at..].iter().for_each(leave);
    now.extend(ended);
    now.sort_by_key(&key);
    now
}
