//! What a step reads and does not change.

use crate::collide::Envelope;
use crate::field::Field;
use crate::model::Model;
use crate::settings::Settings;
use crate::stiff::force::StiffForce;

/// Distance at which contacts exist before touching beyond what gravity does in a step, over the size of the
/// pair.
const ENVELOPE_SHARE: f64 = 0.002;

/// What a step reads and does not change.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    pub model: &'a Model,
    /// Of a substep, with its own h.
    pub settings: &'a Settings,
    pub fields: &'a [Field],
    pub stiff: &'a [StiffForce],
}

impl Setup<'_> {
    /// The distance at which contacts exist before touching, at rest.
    pub fn envelope(&self) -> Envelope<'static> {
        envelope(self.settings)
    }
}

/// The distance at which contacts exist before touching, at rest: see [`Settings::envelope`].
pub(crate) fn envelope(s: &Settings) -> Envelope<'static> {
    match s.envelope {
        Some(distance) => distance.into(),
        None => Envelope { base: s.gravity.length() * s.h * s.h, share: ENVELOPE_SHARE, more: &[] },
    }
}
