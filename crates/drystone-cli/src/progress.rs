//! A progress bar on a terminal, nothing in a pipe.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use drystone::StepReport;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows rate, remaining time, contacts and residual.
pub struct Progress {
    bar: Option<ProgressBar>,
    shown: Instant,
}

impl Progress {
    /// For `steps` steps; silent if `quiet` or if standard error is not a terminal.
    pub fn new(steps: u64, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(steps);
            let template = "{bar:30} {pos}/{len} steps  {per_sec}  eta {eta}  {msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, shown: Instant::now() }
    }

    /// Tells of a step; redraws at most ten times a second.
    pub fn step(&mut self, r: &StepReport) {
        let Some(bar) = &self.bar else { return };
        if self.shown.elapsed() < Duration::from_millis(100) {
            return;
        }
        self.shown = Instant::now();
        bar.set_position(r.step);
        bar.set_message(format!("{} contacts  residual {:.1e} m/s", r.contacts, r.certificate.residual_max));
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Something without steps to count: what it is and how long it has taken, on a terminal.
pub fn waiting(text: String) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_message(text);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
