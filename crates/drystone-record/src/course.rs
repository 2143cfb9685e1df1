//! The course of one or two recorded runs: numbers for a screen, charts for a page.

use std::fmt::Write;

use crate::plot::{Axis, Chart, Grid, Series};
use crate::recording::Recording;

/// A chart's title, axis, whether that is logarithmic, and the columns in it.
const CHARTS: [(&str, &str, bool, &[&str]); 5] = [
    ("energy", "J", false, &["kinetic_j", "potential_j"]),
    ("residual", "m/s", true, &["residual_m_s"]),
    ("overlap", "m", true, &["overlap_max_m", "overlap_mean_m"]),
    ("contacts", "contacts", false, &["contacts", "touching"]),
    ("time of a step", "ms", false, &["total_ms", "solve_ms", "correct_ms", "narrowphase_ms"]),
];

/// Points of a line at most: more cannot be seen.
const POINTS: usize = 2000;
/// Characters of a line on a screen.
const WIDE: usize = 60;

/// The charts of runs, over each other; names tell them apart.
pub fn charts(runs: &[(String, &Recording)]) -> Grid {
    let charts = CHARTS.iter().map(|(title, unit, log, columns)| {
        let y = if *log { Axis::log(*unit) } else { Axis::linear(*unit) };
        let mut chart = Chart::new(*title, Axis::linear("time (s)"), y);
        for (k, (run, recording)) in runs.iter().enumerate() {
            let time = recording.column("time_s").unwrap_or_default();
            for name in *columns {
                let values = recording.column(name).unwrap_or_default();
                let stride = time.len().div_ceil(POINTS).max(1);
                let points = time.iter().copied().zip(values).step_by(stride).collect();
                let label = if runs.len() > 1 { format!("{run}: {name}") } else { name.to_string() };
                let series = Series::new(label, points);
                chart = chart.with(if k > 0 { series.dashed() } else { series });
            }
        }
        chart
    });
    Grid { charts: charts.collect(), columns: 2 }
}

/// The run in numbers, and its course as lines of eight heights.
pub fn text(run: &str, recording: &Recording) -> String {
    let mut out = String::new();
    let steps = recording.steps();
    let of = |name: &str| recording.column(name).unwrap_or_default();
    let last = |name: &str| of(name).last().copied().unwrap_or(0.0);
    let _ = writeln!(
        out,
        "{run}: {}, {} steps to {:.6} s, {} frames, {} bodies and {} joints seen",
        recording.scene(),
        steps.len(),
        last("time_s"),
        recording.len(),
        recording.bodies_seen(),
        recording.catalogue().joints.len(),
    );
    if steps.is_empty() {
        return out;
    }
    let converged = of("converged").iter().filter(|x| **x > 0.0).count();
    let _ = writeln!(out, "  solved        {converged} of {} steps within the tolerance", steps.len());
    let _ = writeln!(out, "  iterations    {:.1} a step", mean(&of("iterations")));
    for (name, unit) in [
        ("kinetic_j", "J"),
        ("potential_j", "J"),
        ("residual_m_s", "m/s"),
        ("overlap_max_m", "m"),
        ("contacts", ""),
        ("total_ms", "ms"),
    ] {
        let values = of(name);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let _ = writeln!(
            out,
            "  {name:<13} {:>11} at the end, {:>11} at most, {:>11} on average {unit}\n                {}",
            short(last(name)),
            short(most),
            short(mean(&values)),
            spark(&values)
        );
    }
    out
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn short(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") }
}

/// Largest values of equal stretches as blocks between the least and the greatest of all.
fn spark(values: &[f64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let finite: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let stretch = finite.len().div_ceil(WIDE).max(1);
    let block = |part: &[f64]| {
        let top = part.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let share = if high > low { (top - low) / (high - low) } else { 0.0 };
        BLOCKS[((8.0 * share) as usize).min(7)]
    };
    finite.chunks(stretch).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_rise_with_their_values() {
        assert_eq!(spark(&[0.0, 1.0, 2.0, f64::NAN, 7.0]), "▁▂▃█");
        assert_eq!(spark(&[3.0, 3.0]), "▁▁");
        assert_eq!(spark(&[0.0; 600]).chars().count(), WIDE);
    }
}
