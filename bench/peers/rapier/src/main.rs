//! Steps a flat state with Rapier: `peer-rapier f32|f64 default|accurate STATE.json OUT.json`.

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
    peer_flat::main("peer-rapier", |args| {
        let &[precision, setting, from, to] = args else {
            return Err("usage: peer-rapier f32|f64 default|accurate STATE.json OUT.json".into());
        };
        peer_flat::file_to_file(from, to, |state| match precision {
            "f32" => single::world::run(state, "rapier-f32", setting),
            "f64" => double::world::run(state, "rapier-f64", setting),
            other => Err(format!("unknown precision {other}: f32 or f64")),
        })
    });
}
