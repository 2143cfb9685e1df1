//! What rows are wanted for.

use crate::settings::Stabilisation;

/// Which problem the rows are for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The step's velocities.
    Velocity {
        /// s
        h: f64,
        /// What becomes of position errors.
        stabilisation: Stabilisation,
        /// Share of the errors of motors that follow a position which the step takes away.
        follow: f64,
        /// With motors, limits, friction and springs; without them the problem is about an instant, not about
        /// a step.
        laws: bool,
        /// Weight of the new velocity in the new position.
        theta: f64,
        /// With what the tangent leaves out.
        bends: bool,
        /// The speed above which what comes to a limit bounces, m/s; None where nothing does.
        bounce: Option<f64>,
    },
    /// Corrections of positions at the end of the step.
    Position {
        /// s
        h: f64,
        /// Largest correction of one row, over the joint's length.
        share: f64,
        /// What of the rows.
        wanted: Wanted,
    },
}

impl Purpose {
    /// The same for a joint that has a K of its own.
    #[inline]
    pub(crate) fn with_own(mut self, k: Option<f64>) -> Self {
        if k.is_some()
            && let Purpose::Velocity { stabilisation, follow, .. } = &mut self
            && let Stabilisation::Scaled { .. } = stabilisation
        {
            *stabilisation = stabilisation.with_own(k);
            *follow = stabilisation.motor_share();
        }
        self
    }
}

/// What is wanted of the rows of a position problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// How large errors are, no rows.
    Errors,
    /// All.
    Rows,
}
