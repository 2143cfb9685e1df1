//! `drystone bench`: fixed scenes, a warm-up, medians. Ratios between rows of one run are what counts.

use std::path::PathBuf;
use std::time::Instant;

use drystone::{Settings, Shape, Stage, World};
use drystone_record::usage;
use drystone_solve::solver::BadSpec;
use serde::Serialize;

use crate::failure::Failure;
use crate::interrupt::{self, Interrupt};
use crate::outputs::{self, Output};
use crate::roofline::{self, Roofline};
use crate::simulation::pool;
use crate::terminal::{INTERRUPTED, say, write};
use drystone_cuda::backend::Backend;

/// A fixed measurement.
struct Bench {
    name: &'static str,
    title: &'static str,
    scene: &'static str,
    set: &'static [(&'static str, &'static str)],
    /// Steps before the measured ones.
    warm_up: usize,
    steps: usize,
    /// Sweeps of each velocity problem, all of them done.
    iterations: usize,
    /// Run only when named: it takes long.
    only_by_name: bool,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "packing",
        title: "the papers' 220 spheres, settling",
        scene: "packing",
        set: &[],
        warm_up: 200,
        steps: 100,
        iterations: 50,
        only_by_name: false,
    },
    Bench {
        name: "boxes",
        title: "220 boxes, settling",
        scene: "packing",
        set: &[("shape", "box")],
        warm_up: 200,
        steps: 50,
        iterations: 50,
        only_by_name: false,
    },
    Bench {
        name: "spheres-1e3",
        title: "1,000 spheres, column of 25 m",
        scene: "packing",
        set: &[("n", "1000"), ("height", "25")],
        warm_up: 150,
        steps: 50,
        iterations: 50,
        only_by_name: false,
    },
    Bench {
        name: "spheres-1e4",
        title: "10,000 spheres, column of 25 m",
        scene: "packing",
        set: &[("n", "10000"), ("height", "25")],
        warm_up: 150,
        steps: 20,
        iterations: 50,
        only_by_name: false,
    },
    Bench {
        name: "spheres-1e5",
        title: "100,000 spheres, column of 25 m",
        scene: "packing",
        set: &[("n", "100000"), ("height", "25")],
        warm_up: 150,
        steps: 5,
        iterations: 50,
        only_by_name: true,
    },
    Bench {
        name: "layer-1e3",
        title: "1,000 spheres, layer of 8 m, settling",
        scene: "packing",
        set: &[("n", "1000"), ("height", "8")],
        warm_up: 40,
        steps: 5,
        iterations: 50,
        only_by_name: true,
    },
    Bench {
        name: "layer-1e4",
        title: "10,000 spheres, layer of 8 m, settling",
        scene: "packing",
        set: &[("n", "10000"), ("height", "8")],
        warm_up: 40,
        steps: 5,
        iterations: 50,
        only_by_name: true,
    },
    Bench {
        name: "layer-1e5",
        title: "100,000 spheres, layer of 8 m, settling",
        scene: "packing",
        set: &[("n", "100000"), ("height", "8")],
        warm_up: 40,
        steps: 5,
        iterations: 50,
        only_by_name: true,
    },
    Bench {
        name: "layer-1e6",
        title: "1,000,000 spheres, layer of 8 m, settling",
        scene: "packing",
        set: &[("n", "1000000"), ("height", "8")],
        warm_up: 40,
        steps: 5,
        iterations: 50,
        only_by_name: true,
    },
];

#[derive(clap::Args)]
pub struct Args {
    /// Benches by name [default: all but the longest].
    names: Vec<String>,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Solver with parameters [default: pgs; with --backend cuda apgd].
    #[arg(long, value_name = "NAME[:k=v,...]")]
    solver: Option<String>,
    /// Where problems are solved.
    #[arg(long, value_name = "cpu|cuda|auto", default_value = "cpu")]
    backend: String,
    /// List the benches and stop.
    #[arg(long)]
    list: bool,
    /// Results as JSON; - is standard output. Folders on the way are made.
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    title: &'static str,
    solver: String,
    threads: usize,
    bodies: usize,
    contacts: usize,
    steps: usize,
    iterations: usize,
    /// Medians over the measured steps.
    ms_total: f64,
    ms_stage: std::collections::BTreeMap<&'static str, f64>,
    cpu_ms_mean: f64,
    ns_per_contact_iteration: f64,
    bytes_per_contact: f64,
    /// Of the fastest step, as the stream is of the fastest pass; where the solver's traffic is known.
    roofline: Option<Roofline>,
    /// The same of a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<DeviceUse>,
    /// Making the scene and its world, s.
    setup_s: f64,
    /// The world's part of that, s.
    world_s: f64,
    peak_rss_mib: f64,
    /// Of the process less what it had before the first bench, over the bodies; none after a larger one.
    peak_bytes_per_body: Option<f64>,
}

/// How a device was used in the measured steps.
#[derive(Serialize)]
struct DeviceUse {
    /// Whether it took whole steps, and why not.
    whole_step: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
    /// Steps, of all, that the processor took.
    steps_on_cpu: u64,
    /// Device memory over the contacts.
    bytes_per_contact: Option<f64>,
    bytes_per_contact_iteration: Option<f64>,
    /// Of the fastest step's solve, with its start and its judge.
    gb_per_s: Option<f64>,
    /// What its memory moves at most.
    peak_gb_per_s: Option<f64>,
    share: Option<f64>,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    if args.list {
        for b in BENCHES {
            let note = if b.only_by_name { " (only when named)" } else { "" };
            say(&format!("{:<14} {}{note}\n", b.name, b.title))?;
        }
        return Ok(0);
    }
    let names: Vec<&str> = BENCHES.iter().map(|b| b.name).collect();
    if let Some(unknown) = args.names.iter().find(|n| !names.contains(&n.as_str())) {
        return Err(Failure::input(BadSpec::unknown("bench", unknown, &names)));
    }
    let backend = Backend::choose(&args.backend)?;
    let default = if backend.is_device() { "apgd" } else { "pgs" };
    let solver = backend.solver(args.solver.as_deref().unwrap_or(default))?;
    drystone_solve::solver::make(&solver).map_err(Failure::input)?;
    outputs::check(None, [Output::report("--report", args.report.as_ref())])?;
    let threads = pool(args.threads)?;
    let to_pipe = args.report.as_ref().is_some_and(|p| p.as_os_str() == "-");
    if !to_pipe {
        say(&format!(
            "{:<13} {:>7} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>9} {:>7} {:>9}\n",
            "bench",
            "bodies",
            "contacts",
            "ms/step",
            "broad",
            "narrow",
            "solve",
            "correct",
            "ns/c/it",
            "B/c",
            "peak MiB",
            "B/body",
            "set-up s"
        ))?;
    }
    let stop = interrupt::watch();
    let base = usage::peak_rss_mib();
    let mut rows = Vec::new();
    for bench in BENCHES {
        let wanted = if args.names.is_empty() {
            !bench.only_by_name
        } else {
            args.names.iter().any(|n| n == bench.name)
        };
        if !wanted {
            continue;
        }
        let row = measure(bench, &backend, &solver, threads, base, &stop)
            .map_err(|e| backend.failure().map_or(e, Failure::input))?;
        let Some(row) = row else {
            eprintln!("drystone: interrupted during {}: what was measured before is reported", bench.name);
            break;
        };
        if !to_pipe {
            say(&line(&row))?;
        }
        rows.push(row);
    }
    if let Some(path) = &args.report {
        write(path, &(serde_json::to_string_pretty(&rows).map_err(Failure::run)? + "\n"))?;
    }
    Ok(if stop.came() { INTERRUPTED } else { 0 })
}

/// None if Ctrl-C came before its end.
fn measure(
    bench: &Bench,
    backend: &Backend,
    solver: &str,
    threads: usize,
    base: f64,
    stop: &Interrupt,
) -> Result<Option<Row>, Failure> {
    let (before, started) = (usage::peak_rss_mib(), Instant::now());
    let set: Vec<(String, String)> = bench.set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let mut scene = drystone_scene::load(bench.scene, &set)?;
    let settings = Settings {
        solver: solver.into(),
        tolerance: 0.0,
        iterations: bench.iterations,
        ..scene.settings.clone()
    };
    let placed_s = started.elapsed().as_secs_f64();
    let mut world: World = scene.take_world(settings)?;
    let setup_s = started.elapsed().as_secs_f64();
    let mut stepper = backend.stepper(&mut world, true)?;
    for _ in 0..bench.warm_up {
        if stop.came() {
            return Ok(None);
        }
        stepper.step(&mut world).map_err(Failure::run)?;
    }
    let (mut totals, mut spans) = (Vec::new(), vec![Vec::new(); Stage::ALL.len()]);
    let (mut solve, mut work, mut least) = (0.0, 0.0, f64::INFINITY);
    let cpu = usage::cpu_seconds();
    for _ in 0..bench.steps {
        if stop.came() {
            return Ok(None);
        }
        let r = stepper.step(&mut world).map_err(Failure::run)?;
        let ms: Vec<f64> = r.spans.iter().map(|s| 1e3 * s.as_secs_f64()).collect();
        totals.push(ms.iter().sum::<f64>());
        for (k, x) in ms.iter().enumerate() {
            spans[k].push(*x);
        }
        solve += ms[Stage::Solve as usize];
        let done = (r.contacts * r.iterations) as f64;
        work += done;
        least = least.min(1e6 * ms[Stage::Solve as usize] / done.max(1.0));
    }
    stepper.fetch(&mut world).map_err(Failure::run)?;
    let contacts = world.contacts().len();
    let device = stepper.on_device(backend).map(|d| {
        let each = d.traffic.map(|bytes| bytes / contacts.max(1) as f64);
        let rate = each.map(|bytes| bytes / least);
        DeviceUse {
            whole_step: d.whole_step,
            why_not: d.why_not,
            steps_on_cpu: d.steps_on_cpu,
            bytes_per_contact: d.bytes.map(|bytes| bytes as f64 / contacts.max(1) as f64),
            bytes_per_contact_iteration: each,
            gb_per_s: rate,
            peak_gb_per_s: d.peak_gb_per_s,
            share: rate.zip(d.peak_gb_per_s).map(|(rate, peak)| rate / peak),
        }
    });
    let (bodies, ns) = (world.model().dynamic().count(), 1e6 * solve / work);
    let peak = usage::peak_rss_mib();
    let grains = world
        .model()
        .colliders
        .iter()
        .filter(|c| world.model().bodies[c.body as usize].inv_mass > 0.0)
        .all(|c| matches!(c.shape, Shape::Sphere { .. }));
    Ok(Some(Row {
        name: bench.name,
        title: bench.title,
        solver: solver.into(),
        threads,
        bodies,
        contacts,
        steps: bench.steps,
        iterations: bench.iterations,
        ms_total: median(&mut totals),
        ms_stage: Stage::ALL.iter().map(|s| (s.name(), median(&mut spans[*s as usize]))).collect(),
        cpu_ms_mean: 1e3 * (usage::cpu_seconds() - cpu) / bench.steps as f64,
        ns_per_contact_iteration: ns,
        bytes_per_contact: world.contact_bytes() as f64 / contacts.max(1) as f64,
        roofline: roofline::bytes(solver, grains).map(|b| Roofline::new(b, least, contacts)),
        device,
        setup_s,
        world_s: setup_s - placed_s,
        peak_rss_mib: peak,
        peak_bytes_per_body: (peak > before).then(|| (peak - base) * 1048576.0 / bodies as f64),
    }))
}

fn median(x: &mut [f64]) -> f64 {
    x.sort_by(f64::total_cmp);
    x.get(x.len() / 2).copied().unwrap_or(f64::NAN)
}

fn line(r: &Row) -> String {
    let stage = |s: Stage| r.ms_stage.get(s.name()).copied().unwrap_or(f64::NAN);
    let text = format!(
        "{:<13} {:>7} {:>9} {:>10.3} {:>9.3} {:>9.3} {:>9.3} {:>9.3} {:>7.1} {:>7.0} {:>9.1} {:>7} {:>9.3}\n",
        r.name,
        r.bodies,
        r.contacts,
        r.ms_total,
        stage(Stage::Broadphase),
        stage(Stage::Narrowphase),
        stage(Stage::Solve),
        stage(Stage::Correct),
        r.ns_per_contact_iteration,
        r.bytes_per_contact,
        r.peak_rss_mib,
        r.peak_bytes_per_body.map_or("-".into(), |b| format!("{b:.0}")),
        r.setup_s
    );
    let text = text + &r.device.as_ref().map_or(String::new(), device_line);
    let Some(roof) = &r.roofline else { return text };
    text + &format!(
        "{:<13} {:.0} bytes a contact and iteration, {:.1} GB/s: {:.0} % of the {:.1} GB/s that a plain loop streams\n",
        "  roofline",
        roof.bytes_per_contact_iteration,
        roof.gb_per_s,
        100.0 * roof.share,
        roof.stream_gb_per_s
    )
}

fn device_line(d: &DeviceUse) -> String {
    let number = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.0}"));
    let share = d.share.map_or("-".into(), |x| format!("{:.0}", 100.0 * x));
    match d.whole_step {
        true => format!(
            "{:<13} {} bytes of device memory a contact; {} bytes a contact and iteration, {} GB/s: {share} % of the {} GB/s of its \
             memory; {} steps on the processor\n",
            "  device",
            number(d.bytes_per_contact),
            number(d.bytes_per_contact_iteration),
            number(d.gb_per_s),
            number(d.peak_gb_per_s),
            d.steps_on_cpu
        ),
        false => format!(
            "{:<13} steps on the processor: {}\n",
            "  device",
            d.why_not.as_deref().unwrap_or("it was quicker in a trial")
        ),
    }
}
