//! What steps took.

use drystone::Stage;
use serde::{Deserialize, Serialize};

use super::recorder::Recorder;

/// Milliseconds per step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Milliseconds {
    /// Everything, hooks and recording included.
    pub total: f64,
    /// Which shapes are near.
    pub broadphase: f64,
    /// Where they touch.
    pub narrowphase: f64,
    /// Building the problem, forces included.
    pub assemble: f64,
    /// The velocity problem.
    pub solve: f64,
    /// The position problem.
    pub correct: f64,
    /// Moving the bodies.
    pub integrate: f64,
    /// The judge.
    pub certificate: f64,
    /// Snapshots, series, progress.
    pub record: f64,
}

/// A step.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Lap {
    /// Wall seconds.
    pub total: f64,
    /// CPU seconds.
    pub cpu: f64,
    /// Force of what is not dynamic on what is, over its weight.
    pub support: f64,
    /// Seconds of the stages.
    pub spans: [f64; 7],
}

/// See [`Recorder::laps`].
#[derive(Clone, Copy, Debug)]
pub struct Laps {
    /// Mean wall ms of the last steps.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// Their least.
    pub least: f64,
    /// Mean wall ms of all steps.
    pub mean_all: f64,
    /// Mean CPU ms of the last steps.
    pub cpu: f64,
    /// Mean CPU ms of all steps.
    pub cpu_all: f64,
}

impl Recorder {
    /// Median and least wall time, and mean CPU time, of the last steps, ms; and the means of all steps.
    pub fn laps(&self) -> Laps {
        let mut wall: Vec<f64> = self.totals.last.iter().map(|l| 1e3 * l.total).collect();
        wall.sort_by(f64::total_cmp);
        let n = self.totals.last.len().max(1) as f64;
        let all = self.totals.steps.max(1) as f64;
        Laps {
            mean: wall.iter().sum::<f64>() / n,
            median: wall.get(wall.len() / 2).copied().unwrap_or(0.0),
            least: wall.first().copied().unwrap_or(0.0),
            mean_all: 1e3 * self.totals.all.total / all,
            cpu: 1e3 * self.totals.last.iter().map(|l| l.cpu).sum::<f64>() / n,
            cpu_all: 1e3 * self.totals.all.cpu / all,
        }
    }

    pub(super) fn sum_of_last(&self) -> Lap {
        let mut sum = Lap { total: 0.0, cpu: 0.0, support: 0.0, spans: [0.0; 7] };
        for l in &self.totals.last {
            sum.total += l.total;
            sum.cpu += l.cpu;
            for k in 0..7 {
                sum.spans[k] += l.spans[k];
            }
        }
        sum
    }
}

/// Means of so many steps that were added up.
pub(super) fn milliseconds(lap: &Lap, steps: u64) -> Milliseconds {
    let scale = 1e3 / steps.max(1) as f64;
    let of = |stage: Stage| scale * lap.spans[stage as usize];
    Milliseconds {
        total: scale * lap.total,
        broadphase: of(Stage::Broadphase),
        narrowphase: of(Stage::Narrowphase),
        assemble: of(Stage::Assemble),
        solve: of(Stage::Solve),
        correct: of(Stage::Correct),
        integrate: of(Stage::Integrate),
        certificate: of(Stage::Certificate),
        record: scale * (lap.total - lap.spans.iter().sum::<f64>()).max(0.0),
    }
}
