//! Standard output and exit status.

use drystone_record::file;

use crate::failure::Failure;

/// Exit status after Ctrl-C, as shells expect it.
pub const INTERRUPTED: i32 = 130;

/// Writes a text; a path that cannot be written is bad input.
pub fn write(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    let place = if path.as_os_str() == "-" { "standard output".into() } else { path.to_string_lossy() };
    file::write(path, text.as_bytes()).map_err(|e| Failure::writing(place, &e))
}

/// Writes to standard output; a full disk is an error, not a panic.
pub fn say(text: &str) -> Result<(), Failure> {
    file::write(std::path::Path::new("-"), text.as_bytes())
        .map_err(|e| Failure::run(format!("standard output: {e}")))
}
