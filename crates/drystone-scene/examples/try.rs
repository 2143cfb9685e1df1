//! scratch
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "check" {
        for f in &args[2..] {
            let t = std::time::Instant::now();
            match drystone_scene::check(f) { Ok(s) => println!("ok {s} [{:?}]", t.elapsed()), Err(e) => println!("ERR {e} [{:?}]", t.elapsed()) }
        }
        return;
    }
    let set: Vec<(String, String)> = args[2..].iter().map(|a| { let (k, v) = a.split_once('=').unwrap(); (k.into(), v.into()) }).collect();
    let t = std::time::Instant::now();
    let mut scene = match drystone_scene::load(&args[1], &set) { Ok(s) => s, Err(e) => { println!("ERR {e}"); return; } };
    println!("load {:?} bodies {}", t.elapsed(), scene.bodies.len());
    let mut w = scene.world(scene.settings.clone()).unwrap();
    println!("initial overlaps {:?}", w.deep_overlaps(1e-12).len());
    let steps = (scene.duration / scene.settings.h).round() as usize;
    let t = std::time::Instant::now();
    let mut last = None;
    for _ in 0..steps { last = Some(w.step().unwrap()); scene.probe.observe(&w); if t.elapsed().as_secs() > 120 { println!("cut at {}", w.state().time); break; } }
    println!("{:?} contacts {:?} speeds {:?}", t.elapsed(), last.map(|l| (l.contacts, l.iterations, l.penetration_max)), w.speeds());
    for (k, v) in scene.probe.results(&w) { println!("   {k} = {v}"); }
}
