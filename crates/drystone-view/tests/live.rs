//! Live runs: commands are obeyed, and what was driven is done again to the same bits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use drystone::World;
use drystone_scene::Scene;
use drystone_scene::inputs::{Input, InputLog, Replay};
use drystone_view::command::{Added, Command};
use drystone_view::live::{Link, Live, Make, Now, Options};

fn make(scene: &'static str) -> Make<'static> {
    Box::new(move |set: &[(String, String)]| {
        let scene = drystone_scene::load(scene, set).map_err(|e| e.to_string())?;
        let world = scene.world(scene.settings.clone()).map_err(|e| e.to_string())?;
        Ok((scene, world))
    })
}

/// Waits for a moment of which something holds.
fn wait(link: &Link, what: &str, is: impl Fn(&Now) -> bool) -> Now {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        link.want();
        let now = link.now();
        if is(&now) {
            return now;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("waited in vain until {what}");
}

fn step(now: &Now) -> u64 {
    now.snapshot.as_ref().map_or(0, |s| s.step)
}

/// Runs a scene live while `drive` does what it likes.
fn drive(
    scene: &'static str,
    set: &[(&str, &str)],
    pace: f64,
    drive: impl FnOnce(Link) + Send + 'static,
) -> InputLog {
    let set = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let options = Options {
        scene: scene.into(),
        set,
        parameters: Vec::new(),
        paused: true,
        pace,
        exact: false,
        notes: Vec::new(),
    };
    let (live, link) = Live::new(make(scene), options).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let driver = std::thread::spawn(move || {
        drive(link);
        flag.store(true, Ordering::Relaxed);
    });
    let log = live.run(&stop).log;
    driver.join().unwrap();
    log
}

fn again(log: &InputLog) -> (Replay, World, Scene) {
    let (scene, mut world) = make(Box::leak(log.scene.clone().into_boxed_str()))(&log.set).unwrap();
    let mut replay = Replay::new(log.clone(), scene.controls.clone(), &world);
    for _ in 0..log.end.as_ref().unwrap().step {
        replay.before_step(&mut world).unwrap();
        world.step().unwrap();
    }
    (replay, world, scene)
}

#[test]
fn a_driven_truck_goes_again_to_the_same_bits() {
    let log = drive("forklift", &[("program", "drive")], 4.0, |link| {
        link.send(Command::Run(true));
        link.send(Command::Control { number: 0, value: 1.0 });
        wait(&link, "it is under way", |now| step(now) > 120);
        link.send(Command::Control { number: 1, value: 0.5 });
        link.send(Command::Drag { body: 7, point: [0.0, 0.0, 0.3], to: [3.0, 1.0, 1.0] });
        wait(&link, "it has turned", |now| step(now) > 240);
        link.send(Command::Release);
        link.send(Command::Add {
            what: Added::Cube,
            size: 0.2,
            at: [1.0, 2.0, 1.0],
            velocity: [0.0, -3.0, 0.0],
        });
        link.send(Command::Control { number: 0, value: 0.0 });
        wait(&link, "there is one body more", |now| {
            step(now) > 320 && now.snapshot.as_ref().unwrap().alive.len() == 10
        });
    });
    let kinds = |is: fn(&Input) -> bool| log.events.iter().filter(|e| is(&e.1)).count();
    assert_eq!(kinds(|i| matches!(i, Input::Control(..))), 3);
    assert_eq!(kinds(|i| matches!(i, Input::Drag(..) | Input::Release | Input::Add { .. })), 3);
    let text = log.json();
    let read: InputLog = serde_json::from_str(&text).unwrap();
    assert_eq!(read, log, "the file says all of it");
    let (replay, world, _) = again(&log);
    assert_eq!(replay.agrees(&world), Some(true));
    assert!(world.state().position[0].x > 0.5, "the truck has moved: {}", world.state().position[0]);
    // Without the inputs it ends elsewhere: the test can fail.
    let (replay, world, _) = again(&InputLog { events: Vec::new(), ..log });
    assert_eq!(replay.agrees(&world), Some(false));
}

#[test]
fn a_run_that_is_too_slow_is_capped_and_still_the_same() {
    // A hundred times real time is more than any machine can: the governor takes iterations away.
    let log = drive("packing", &[("n", "300")], 100.0, |link| {
        link.send(Command::Run(true));
        wait(&link, "fewer iterations are allowed", |now| {
            now.snapshot.as_ref().unwrap().numbers[14] < 1000.0
        });
        wait(&link, "it goes on", |now| step(now) > 60);
    });
    assert!(log.events.iter().any(|e| matches!(e.1, Input::Iterations(n) if n < 1000)), "{:?}", log.events);
    let (replay, world, _) = again(&log);
    assert_eq!(replay.agrees(&world), Some(true));
}

#[test]
fn it_stops_steps_and_begins_again() {
    drive("stack", &[("n", "3")], 1.0, |link| {
        let now = wait(&link, "it is there", |now| now.snapshot.is_some());
        assert_eq!(step(&now), 0, "it waits");
        link.send(Command::Step(3));
        wait(&link, "three steps are done", |now| step(now) == 3);
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(step(&wait(&link, "it is still there", |_| true)), 3);
        let epoch = now.snapshot.unwrap().epoch;
        link.send(Command::Set { name: "n".into(), value: "5".into() });
        let now = wait(&link, "it has begun again", |now| now.snapshot.as_ref().unwrap().epoch > epoch);
        assert_eq!((step(&now), now.snapshot.unwrap().alive.len()), (0, 6));
        link.send(Command::Set { name: "n".into(), value: "nonsense".into() });
        let now = wait(&link, "it says why not", |now| now.status.1.contains("whole number"));
        assert_eq!(now.snapshot.unwrap().alive.len(), 6, "the old one goes on");
        // What names nothing is nothing.
        link.send(Command::Drag { body: 4000, point: [0.0; 3], to: [0.0; 3] });
        link.send(Command::Control { number: 77, value: 1.0 });
        link.send(Command::Inputs);
        let now = wait(&link, "the inputs are there", |now| now.inputs.0 > 0);
        assert!(now.inputs.1.contains("\"events\":[]"), "{}", now.inputs.1);
    });
}

fn balls(log: &InputLog) -> usize {
    log.events.iter().filter(|e| matches!(e.1, Input::Add { .. })).count()
}

fn ball(at: [f32; 3]) -> Command {
    Command::Add { what: Added::Ball, size: 0.01, at, velocity: [0.0; 3] }
}

#[test]
fn bodies_are_added_where_there_is_room_and_not_without_end() {
    let log = drive("stack", &[("n", "2")], 1.0, |link| {
        for _ in 0..200 {
            link.send(ball([0.0, 0.0, 50.0]));
        }
        wait(&link, "it says why not", |now| now.status.1.contains("would overlap other bodies"));
        for k in 0..1100 {
            link.send(ball([0.1 * (k / 40) as f32, 0.1 * (k % 40) as f32, 60.0]));
        }
        wait(&link, "it says that there are enough", |now| now.status.1.contains("1000 bodies"));
        link.send(Command::Restart);
        wait(&link, "it has begun again", |now| !now.status.1.contains("1000 bodies"));
        link.send(ball([0.0, 0.0, 50.0]));
        link.send(Command::Inputs);
        wait(&link, "there is one again", |now| now.inputs.1.contains("\"add\""));
    });
    assert_eq!(balls(&log), 1);
    let log = drive("stack", &[("n", "2")], 1.0, |link| {
        for k in 0..1100 {
            link.send(ball([0.1 * (k / 40) as f32, 0.1 * (k % 40) as f32, 60.0]));
            link.send(ball([0.1 * (k / 40) as f32, 0.1 * (k % 40) as f32, 60.0]));
        }
        wait(&link, "it says that there are enough", |now| now.status.1.contains("1000 bodies"));
    });
    assert_eq!(balls(&log), drystone_view::live::MOST_ADDED);
}

/// Time that is lost counts as steps do: from the first start on.
#[test]
fn lost_time_is_counted_over_restarts() {
    drive("packing", &[("n", "300")], 100.0, |link| {
        link.send(Command::Run(true));
        let lost = |now: &Now| now.snapshot.as_ref().map_or(0.0, |s| s.numbers[13]);
        let before = wait(&link, "time is lost", |now| lost(now) > 0.3);
        let epoch = before.snapshot.as_ref().unwrap().epoch;
        link.send(Command::Restart);
        let after = wait(&link, "it has begun again", |now| now.snapshot.as_ref().unwrap().epoch > epoch);
        assert!(lost(&after) >= lost(&before), "{} s, then {} s", lost(&before), lost(&after));
    });
}
