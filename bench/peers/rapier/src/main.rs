//! Steps a flat state with Rapier: `peer-rapier f32|f64 default|accurate STATE.json OUT.json`.

mod state;

/// Single precision, Rapier's usual build.
#[path = "."]
mod single {
    use rapier3d as rapier;
    #[path = "world.rs"]
    pub mod world;
}

/// Double precision.
// Rapier's precision is a choice of crate; the code is the same for both, with casts that do nothing here.
#[allow(clippy::duplicate_mod, clippy::unnecessary_cast)]
#[path = "."]
mod double {
    use rapier3d_f64 as rapier;
    #[path = "world.rs"]
    pub mod world;
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Err(what) = work(&args) {
        eprintln!("peer-rapier: {what}");
        std::process::exit(2);
    }
}

fn work(args: &[String]) -> Result<(), String> {
    let [precision, setting, from, to] = args else {
        return Err("usage: peer-rapier f32|f64 default|accurate STATE.json OUT.json".into());
    };
    let text = std::fs::read_to_string(from).map_err(|e| format!("{from}: {e}"))?;
    let state: state::State = serde_json::from_str(&text).map_err(|e| format!("{from}: {e}"))?;
    let snapshots = match precision.as_str() {
        "f32" => single::world::run(&state, "rapier-f32", setting),
        "f64" => double::world::run(&state, "rapier-f64", setting),
        other => Err(format!("unknown precision {other}: f32 or f64")),
    }?;
    let text = serde_json::to_string(&snapshots).map_err(|e| format!("{to}: {e}"))?;
    std::fs::write(to, text).map_err(|e| format!("{to}: {e}"))
}
