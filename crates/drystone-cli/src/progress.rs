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
                let pace = pace(r.step - number, begun.elapsed(), steps.saturating_sub(r.step));
                eprintln!(
                    "drystone: step {} of {steps}, {pace}{} contacts, residual {:.1e} m/s",
                    r.step, r.contacts, r.certificate.residual_max
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

/// How fast it goes and how long it will take; nothing where a single step says too little.
fn pace(done: u64, time: Duration, left: u64) -> String {
    let seconds = time.as_secs_f64();
    if done == 0 || seconds <= 0.0 {
        return String::new();
    }
    let rate = done as f64 / seconds;
    let rate = if rate >= 1.0 { format!("{rate:.1} steps/s") } else { format!("{:.1} s/step", 1.0 / rate) };
    format!("{rate}, {:.0} s to go, ", left as f64 * seconds / done as f64)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_foretold_from_nothing() {
        assert_eq!(pace(0, Duration::from_secs(31), 4), "");
        assert_eq!(pace(60, Duration::from_secs(30), 100), "2.0 steps/s, 50 s to go, ");
        assert_eq!(pace(1, Duration::from_secs(40), 3), "40.0 s/step, 120 s to go, ");
    }
}
