//! Snapshots in the form that drivers of other engines write, so that one script judges all.

use drystone::{Motion, World};
use serde::Serialize;

use crate::report::Laps;

/// Moments to keep and what was kept.
pub struct Snapshots {
    wanted: Vec<f64>,
    taken: Vec<(f64, Vec<[f64; 13]>)>,
}

#[derive(Serialize)]
struct File<'a> {
    engine: &'static str,
    setting: &'a str,
    scene: &'a str,
    threads: usize,
    steps: u64,
    cut: bool,
    ms_last100: f64,
    ms_last100_med: f64,
    ms_last100_min: f64,
    ms_all: f64,
    cpu_last100: f64,
    cpu_all: f64,
    snaps: &'a [(f64, Vec<[f64; 13]>)],
    extra: Extra,
}

#[derive(Serialize)]
struct Extra {
    contacts: usize,
}

impl Snapshots {
    /// Wanted at these times; with none, only the end is kept.
    pub fn new(mut wanted: Vec<f64>) -> Self {
        wanted.sort_by(f64::total_cmp);
        Self { wanted, taken: Vec::new() }
    }

    /// Whether one is due at this time, s.
    pub fn is_due(&self, time: f64, world: &World) -> bool {
        self.wanted.first().is_some_and(|t| *t <= time + 0.5 * world.settings().h)
    }

    /// Takes a snapshot if one is due.
    pub fn observe(&mut self, world: &World) {
        let now = world.state().time + 0.5 * world.settings().h;
        let due = self.wanted.iter().take_while(|t| **t <= now).count();
        if due > 0 {
            self.wanted.drain(..due);
            self.take(world);
        }
    }

    fn take(&mut self, world: &World) {
        let (model, s) = (world.model(), world.state());
        let rows = model.slots().filter(|&i| model.bodies[i].motion != Motion::Static).map(|i| {
            let (x, q, v, w) = (s.position[i], s.rotation[i], s.velocity[i], s.world_omega(i));
            [x.x, x.y, x.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z]
        });
        self.taken.push((s.time, rows.collect()));
    }

    /// The file's text. `cut`: the run ended before its time.
    pub fn json(
        &mut self,
        world: &World,
        scene: &str,
        setting: &str,
        threads: usize,
        laps: Laps,
        cut: bool,
    ) -> Result<String, serde_json::Error> {
        if self.taken.last().is_none_or(|(t, _)| *t < world.state().time) {
            self.take(world);
        }
        serde_json::to_string(&File {
            engine: "drystone",
            setting,
            scene,
            threads,
            steps: world.state().step,
            cut,
            ms_last100: laps.mean,
            ms_last100_med: laps.median,
            ms_last100_min: laps.least,
            ms_all: laps.mean_all,
            cpu_last100: laps.cpu,
            cpu_all: laps.cpu_all,
            snaps: &self.taken,
            extra: Extra { contacts: world.contacts().len() },
        })
    }
}
