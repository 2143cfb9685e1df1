//! A progress bar on a terminal; a line now and then where there is none.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use drystone::StepReport;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows rate, remaining time, contacts and residual.
pub struct Progress {
    bar: Option<ProgressBar>,
    shown: Instant,
    /// Of steps, without a terminal: how many in all, when the first was done and its number.
    lines: Option<(u64, Option<(Instant, u64)>)>,
}

/// Between two lines where there is no terminal.
const LINE: Duration = Duration::from_secs(30);

impl Progress {
    /// For `steps` steps; silent if `quiet`.
    pub fn new(steps: u64, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let lines = (!quiet && !terminal).then_some((steps, None));
        let bar = (!quiet && terminal).then(|| {
            let bar = ProgressBar::new(steps);
            let template = "{bar:30} {pos}/{len} steps  {per_sec}  eta {eta}  {msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, shown: Instant::now(), lines }
    }

    /// Tells of a step; redraws at most ten times a second.
    pub fn step(&mut self, r: &StepReport) {
        if let Some((steps, first)) = &mut self.lines {
            let (begun, number) = *first.get_or_insert_with(|| (Instant::now(), r.step));
            if self.shown.elapsed() >= LINE {
                self.shown = Instant::now();
                let rate = (r.step - number) as f64 / begun.elapsed().as_secs_f64();
                eprintln!(
                    "drystone: step {} of {steps}, {rate:.1} steps/s, {:.0} s to go, {} contacts, residual {:.1e} m/s",
                    r.step,
                    steps.saturating_sub(r.step) as f64 / rate.max(1e-9),
                    r.contacts,
                    r.certificate.residual_max
                );
            }
        }
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
