//! Ways to end badly, with their exit status.

use drystone_record::picture::PngError;

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

    /// A result could not be written: bad input if its place is the reason, else (a full disk, say) a run
    /// that failed.
    pub fn writing(place: impl std::fmt::Display, e: &std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        let misplaced = matches!(
            e.kind(),
            Kind::NotFound
                | Kind::PermissionDenied
                | Kind::IsADirectory
                | Kind::NotADirectory
                | Kind::ReadOnlyFilesystem
                | Kind::InvalidInput
                | Kind::InvalidFilename
        );
        let code = if misplaced { 2 } else { 1 };
        Self { code, message: format!("{place}: {e}") }
    }

    /// A picture could not be written.
    pub fn png(e: PngError) -> Self {
        match e {
            PngError::File { path, source } => Self::writing(path, &source),
            PngError::Encode(_) => Self::run(e),
        }
    }

    /// The simulation failed.
    pub fn run(message: impl std::fmt::Display) -> Self {
        Self { code: 1, message: message.to_string() }
    }
}

impl From<drystone_cuda::backend::BackendError> for Failure {
    fn from(e: drystone_cuda::backend::BackendError) -> Self {
        Self::input(e)
    }
}

impl From<drystone_scene::SceneError> for Failure {
    fn from(e: drystone_scene::SceneError) -> Self {
        Self::input(e)
    }
}
