//! Steps a flat state with Box3D: `peer-box3d default|accurate STATE.json OUT.json`.

mod joint;
mod world;

fn main() {
    peer_flat::main("peer-box3d", |args| {
        let &[setting, from, to] = args else {
            return Err("usage: peer-box3d default|accurate STATE.json OUT.json".into());
        };
        peer_flat::file_to_file(from, to, |state| world::run(state, setting))
    });
}
