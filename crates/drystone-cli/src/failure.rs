//! Ways to end badly, with their exit status.

/// A message for standard error and the exit status.
#[derive(Debug)]
pub struct Failure {
    /// 1: the simulation failed; 2: bad input or usage.
    pub code: i32,
    /// What happened and what would be right.
    pub message: String,
}

impl Failure {
    /// Bad input or usage.
    pub fn input(message: impl std::fmt::Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// The simulation failed.
    pub fn run(message: impl std::fmt::Display) -> Self {
        Self { code: 1, message: message.to_string() }
    }
}

impl From<drystone_scene::SceneError> for Failure {
    fn from(e: drystone_scene::SceneError) -> Self {
        Self::input(e)
    }
}
