//! Ctrl-C as a flag: what is at hand is finished in good order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// Whether Ctrl-C was pressed since [`watch`].
#[derive(Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// It was.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// From now on Ctrl-C no longer ends the program.
pub fn watch() -> Result<Interrupt, Failure> {
    let flag = Interrupt::default();
    let raised = flag.clone();
    ctrlc::set_handler(move || raised.0.store(true, Ordering::Relaxed)).map_err(Failure::run)?;
    Ok(flag)
}
