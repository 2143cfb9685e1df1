//! Ctrl-C as a flag: what is at hand is finished in good order.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::failure::Failure;
use crate::run::{INTERRUPTED, write};

/// Whether Ctrl-C was pressed since [`watch`].
#[derive(Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// It was.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}

/// From now on Ctrl-C no longer ends the program; a second one does.
pub fn watch() -> Result<Interrupt, Failure> {
    let flag = Interrupt::default();
    let raised = flag.clone();
    let handler = move || {
        if raised.0.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    };
    ctrlc::set_handler(handler).map_err(Failure::run)?;
    Ok(flag)
}

/// From now on Ctrl-C writes what is known of a solve, and how long it took, and ends the program: a solve in one piece has
/// nothing to show before its end.
pub fn leave(name: &str, mut known: Value, report: Option<PathBuf>) -> Result<(), Failure> {
    let (name, begun) = (name.to_string(), Instant::now());
    let handler = move || {
        let wall_s = begun.elapsed().as_secs_f64();
        known["wall_s"] = wall_s.into();
        let written = report.as_ref().map(|path| write(path, &format!("{known:#}\n")));
        eprintln!("drystone: {name}: interrupted after {wall_s:.1} s, nothing found yet");
        if let Some(Err(failure)) = written {
            eprintln!("drystone: {}", failure.message);
        }
        std::process::exit(INTERRUPTED);
    };
    ctrlc::set_handler(handler).map_err(Failure::run)
}
