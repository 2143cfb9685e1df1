//! The row of a contact.

use glam::DVec3;

/// What the normal row and the friction of a contact are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Added to the normal velocity, m/s (or m, in a position problem).
    pub bias: f64,
    /// Added to the tangential velocity, m/s, world axes: belts.
    pub drift: DVec3,
    /// Coefficient of friction.
    pub mu: f64,
    /// Of the normal row, (m/s)/(N s).
    pub compliance: f64,
    /// Arms of resistance to rolling and spinning, m.
    pub rolling: f64,
    /// See there.
    pub spinning: f64,
    /// Size of the pair, m, where the arms are not zero.
    pub size: f64,
    /// The last step's normal impulse there, N s.
    pub pressed: f64,
    /// Of the compression's normal impulse, which share the expansion gives back at least.
    pub expansion: f64,
    /// What `bias` would be if nothing bounced, m/s.
    pub resting: f64,
}

impl Row {
    pub(super) fn turns(&self) -> bool {
        self.rolling > 0.0 || self.spinning > 0.0
    }
}
