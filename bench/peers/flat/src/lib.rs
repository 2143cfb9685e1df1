//! What the runners of all engines share: the flat state, the file of snapshots, the loop of timed steps.

pub mod frame;
mod state;

pub use state::{Body, Drive, Extra, Joint, Row, Snapshots, Solid, State, Static};

/// A flat state in some engine's hands.
pub trait World {
    /// One step of the state's h: the only part that is timed.
    fn step(&mut self) -> Result<(), String>;

    /// The bodies, in the order of the state.
    fn rows(&self) -> Result<Vec<Row>, String>;

    /// What the engine says of its own forces.
    fn extra(&self) -> Extra;
}

/// Steps `world`, which holds `state`, from its start to its end.
pub fn run(
    mut world: impl World,
    state: &State,
    engine: &'static str,
    setting: &str,
) -> Result<Snapshots, String> {
    let steps = (state.time / state.h).round() as usize;
    let (mut laps, mut snaps, mut next) = (Vec::with_capacity(steps), Vec::new(), 0);
    for step in 1..=steps {
        let before = cpu_ms();
        world.step()?;
        laps.push(cpu_ms() - before);
        let time = step as f64 * state.h;
        let due = state.snaps.get(next).is_some_and(|t| time > t - 0.5 * state.h);
        next += usize::from(due);
        if due || step == steps {
            snaps.push((time, world.rows()?));
        }
    }
    let mean = |laps: &[f64]| laps.iter().sum::<f64>() / laps.len().max(1) as f64;
    Ok(Snapshots {
        engine,
        setting: setting.to_owned(),
        scene: state.name.clone(),
        threads: 1,
        steps,
        cut: false,
        cpu_last100: mean(&laps[steps.saturating_sub(100)..]),
        cpu_all: mean(&laps),
        snaps,
        extra: world.extra(),
    })
}

/// A runner's whole life: what `work` makes of the arguments, or its complaint and status 2.
pub fn main(name: &str, work: impl FnOnce(&[&str]) -> Result<(), String>) {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Err(what) = work(&args) {
        eprintln!("{name}: {what}");
        std::process::exit(2);
    }
}

/// Reads the state in the file `from`, steps it with `step`, and writes the snapshots to the file `to`.
pub fn file_to_file(
    from: &str,
    to: &str,
    step: impl FnOnce(&State) -> Result<Snapshots, String>,
) -> Result<(), String> {
    let text = std::fs::read_to_string(from).map_err(|e| format!("{from}: {e}"))?;
    let state: State = serde_json::from_str(&text).map_err(|e| format!("{from}: {e}"))?;
    let text = serde_json::to_string(&step(&state)?).map_err(|e| format!("{to}: {e}"))?;
    std::fs::write(to, text).map_err(|e| format!("{to}: {e}"))
}

/// Milliseconds of processor time this process has used.
fn cpu_ms() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec; the clock is one that every Linux has.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 * 1e-6
}
