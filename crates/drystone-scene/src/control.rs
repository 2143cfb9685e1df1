//! Controls: what a driver moves while a scene runs. Each commands motors, or brakes, of the scene's joints.
//!
//! A control has a value in units of its own and follows its input, from -1 to 1, by at most `rate` a second:
//! either the input says where it is to be between the ends of its range, or, for a lever that stays
//! (`hold`), how fast it is moved. Nothing happens to a motor until the first input of a control that
//! commands it: the scene's own program goes on.

use drystone::function::Function;
use drystone::joint::{Command, Law, Motor};
use drystone::{JointId, World};
use drystone_solve::solver::nearest;
use serde::Serialize;

/// Keys that the viewer's page has a use for, and what for: a control that is bound to one takes it away.
pub const PAGE_KEYS: &[(&str, &str)] = &[
    ("KeyP", "play or pause"),
    ("Comma", "a frame back"),
    ("Period", "a frame on"),
    ("Home", "start"),
    ("End", "end"),
    ("BracketLeft", "slower"),
    ("BracketRight", "faster"),
    ("KeyL", "loop"),
    ("Digit1", "view from the corner"),
    ("Digit2", "view from the front"),
    ("Digit3", "view from the side"),
    ("Digit4", "view from the top"),
    ("Equal", "zoom in"),
    ("Minus", "zoom out"),
    ("KeyK", "next colour"),
    ("KeyQ", "contact forces"),
    ("KeyJ", "joints"),
    ("KeyX", "cut"),
    ("KeyN", "next body"),
    ("KeyO", "next contact"),
    ("KeyV", "follow the body"),
    ("KeyB", "throw a ball"),
    ("KeyC", "drop a cube"),
    ("KeyS", "screenshot"),
    ("KeyD", "light or dark"),
    ("KeyM", "panel"),
    ("Slash", "the list of keys"),
];

/// Keys beside letters, digits and those of the number pad that a control may have. Not those that a browser,
/// the system or a keyboard's layout has a use for: Escape, Tab, Shift, F5.
const KEYS: &[&str] = &[
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "Space",
    "Enter",
    "Backspace",
    "Delete",
    "Insert",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "Comma",
    "Period",
    "Slash",
    "Semicolon",
    "Quote",
    "BracketLeft",
    "BracketRight",
    "Backslash",
    "Minus",
    "Equal",
    "Backquote",
    "IntlBackslash",
    "NumpadAdd",
    "NumpadSubtract",
    "NumpadMultiply",
    "NumpadDivide",
    "NumpadDecimal",
    "NumpadEnter",
];

/// Whether a browser calls a key so, and a control may have it; otherwise what is wrong, with the name that
/// may be meant.
fn check_key(key: &str) -> Result<(), String> {
    let one = |rest: &str, good: fn(&char) -> bool| {
        let mut letters = rest.chars();
        letters.next().is_some_and(|c| good(&c)) && letters.next().is_none()
    };
    let letter = key.strip_prefix("Key").is_some_and(|r| one(r, char::is_ascii_uppercase));
    let digit =
        ["Digit", "Numpad"].iter().any(|p| key.strip_prefix(p).is_some_and(|r| one(r, char::is_ascii_digit)));
    if letter || digit || KEYS.contains(&key) {
        return Ok(());
    }
    let meant = match key.chars().next() {
        Some(c) if key.len() == 1 && c.is_ascii_alphabetic() => {
            Some(format!("Key{}", c.to_ascii_uppercase()))
        }
        Some(c) if key.len() == 1 && c.is_ascii_digit() => Some(format!("Digit{c}")),
        Some(' ') => Some("Space".into()),
        _ => nearest(key, KEYS).map(String::from),
    };
    let hint = meant.map(|m| format!("; did you mean '{m}'?")).unwrap_or_default();
    Err(format!(
        "there is no key '{key}' for a control{hint} (KeyA, Digit1, ArrowUp, Space, ... as browsers call them)"
    ))
}

/// What of a joint's coordinate is commanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The command of a speed motor, m/s or rad/s.
    Speed,
    /// The command of a position motor, m or rad.
    Position,
    /// The command of a force motor, N or N m.
    Force,
    /// Dry friction, N or N m: a brake.
    Friction,
    /// The amplitude of a position motor that swings, over its own: 0 stands in the middle, -1 swings the
    /// other way.
    Gain,
}

/// A coordinate that a control commands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Target {
    /// The joint's number in the scene.
    pub joint: u32,
    /// Which of its free coordinates.
    pub coordinate: usize,
    /// What of it.
    pub quantity: Quantity,
    /// Command over the control's value; what several controls command is added up.
    pub scale: f64,
}

/// Something that a driver can move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// What it is called.
    pub name: String,
    /// Unit of its value.
    pub unit: String,
    /// Least and greatest value.
    pub range: [f64; 2],
    /// Value without input.
    pub start: f64,
    /// How fast the value changes at most, units a second.
    pub rate: f64,
    /// Whether it stays where it was moved to.
    pub hold: bool,
    /// Keys for more and for less, as browsers call them (`KeyboardEvent.code`); either may be empty.
    pub keys: [String; 2],
    /// `axis N`, `-axis N`, `button N` or `buttons MORE LESS` of a gamepad; empty: none.
    pub gamepad: String,
    /// What it commands.
    pub targets: Vec<Target>,
}

impl Control {
    /// A control without keys, at zero, that follows its input at once.
    pub fn new(name: &str, unit: &str, range: [f64; 2]) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            range,
            // Not `clamp`: a range that falls is for `check` to tell.
            start: 0.0f64.max(range[0]).min(range[1]),
            rate: f64::INFINITY,
            hold: false,
            keys: Default::default(),
            gamepad: String::new(),
            targets: Vec::new(),
        }
    }

    /// Its keys for more and less, and its place on a gamepad.
    pub fn bound(mut self, more: &str, less: &str, gamepad: &str) -> Self {
        (self.keys, self.gamepad) = ([more.into(), less.into()], gamepad.into());
        self
    }

    /// How fast its value changes, units a second.
    pub fn at_rate(mut self, rate: f64) -> Self {
        self.rate = rate;
        self
    }

    /// A lever that stays where it is moved to.
    pub fn lever(mut self) -> Self {
        self.hold = true;
        self
    }

    /// Commands the first coordinate of a joint.
    pub fn commands(mut self, joint: u32, quantity: Quantity, scale: f64) -> Self {
        self.targets.push(Target { joint, coordinate: 0, quantity, scale });
        self
    }

    /// Says what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        self.check_fields().map_err(|(_, why)| why)
    }

    /// The field that is wrong, and why.
    pub(crate) fn check_fields(&self) -> Result<(), (&'static str, String)> {
        let [least, most] = self.range;
        if !(least.is_finite() && most.is_finite() && least < most) {
            return Err(("range", format!("range must be two rising numbers, got {least} and {most}")));
        }
        if !(least..=most).contains(&self.start) {
            let why = format!("start must be within the range {least} to {most}, got {}", self.start);
            return Err(("start", why));
        }
        if self.rate.is_nan() || self.rate <= 0.0 || self.hold && self.rate.is_infinite() {
            let why =
                if self.hold { "a control that holds needs a rate above 0" } else { "rate must be above 0" };
            let field = if self.hold && self.rate == f64::INFINITY { "hold" } else { "rate" };
            return Err((field, format!("{why}, got {}", self.rate)));
        }
        let keys = self.keys.iter().filter(|k| !k.is_empty());
        let bad: Vec<String> = keys.filter_map(|key| check_key(key).err()).collect();
        if !bad.is_empty() {
            return Err(("keys", bad.join("; ")));
        }
        if !self.keys[0].is_empty() && self.keys[0] == self.keys[1] {
            let why = format!("the key '{}' cannot be for more and for less", self.keys[0]);
            return Err(("keys", why));
        }
        if !self.gamepad.is_empty() && !is_gamepad(&self.gamepad) {
            let why = format!(
                "gamepad must be 'axis N', '-axis N', 'button N' or 'buttons MORE LESS' with numbers below 32, got '{}'",
                self.gamepad
            );
            return Err(("gamepad", why));
        }
        Ok(())
    }

    /// The value one step of `h` later.
    fn next(&self, value: f64, input: f64, h: f64) -> f64 {
        let [least, most] = self.range;
        if self.hold {
            return (value + input * self.rate * h).clamp(least, most);
        }
        let end = if input < 0.0 { least } else { most };
        let goal = self.start + input.abs() * (end - self.start);
        let way = self.rate * h;
        value + (goal - value).clamp(-way, way)
    }
}

fn is_gamepad(text: &str) -> bool {
    let number = |t: &str| t.parse::<u8>().is_ok_and(|n| n < 32);
    match text.split(' ').collect::<Vec<_>>().as_slice() {
        ["axis" | "-axis" | "button", n] => number(n),
        ["buttons", a, b] => number(a) && number(b),
        _ => false,
    }
}

/// The controls of a run, and where they are.
#[derive(Clone, Debug)]
pub struct Driver {
    controls: Vec<Control>,
    inputs: Vec<f64>,
    values: Vec<f64>,
    touched: Vec<bool>,
    /// One for each coordinate and quantity that is commanded.
    commanded: Vec<Commanded>,
}

#[derive(Clone, Debug)]
struct Commanded {
    target: Target,
    /// Numbers of the controls that command it, and their scales.
    by: Vec<(usize, f64)>,
    /// What its motor did before it was taken over: for amplitudes.
    own: Option<Motor>,
    /// Command of the last step.
    last: Option<f64>,
    /// Whether the motor already holds the last command.
    settled: bool,
}

impl Driver {
    /// The controls of a scene whose world this is.
    pub fn new(controls: Vec<Control>, world: &World) -> Self {
        let mut commanded: Vec<Commanded> = Vec::new();
        for (k, control) in controls.iter().enumerate() {
            for t in &control.targets {
                let same = |c: &&mut Commanded| {
                    (c.target.joint, c.target.coordinate, c.target.quantity)
                        == (t.joint, t.coordinate, t.quantity)
                };
                match commanded.iter_mut().find(same) {
                    Some(c) => c.by.push((k, t.scale)),
                    None => commanded.push(Commanded {
                        target: *t,
                        by: vec![(k, t.scale)],
                        own: law(world, t).and_then(|l| l.motor),
                        last: None,
                        settled: false,
                    }),
                }
            }
        }
        let n = controls.len();
        let values = controls.iter().map(|c| c.start).collect();
        Self { controls, inputs: vec![0.0; n], values, touched: vec![false; n], commanded }
    }

    /// The controls.
    pub fn controls(&self) -> &[Control] {
        &self.controls
    }

    /// Where each is, in its own units.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Moves a control: `input` from -1 to 1. One that is not there is nobody's.
    pub fn set(&mut self, world: &World, number: usize, input: f64) {
        if number >= self.controls.len() {
            return;
        }
        if !self.touched[number] {
            self.touched[number] = true;
            // From where the scene's own program has brought it.
            let t = world.state().time;
            let alone = |c: &&Commanded| c.by.len() == 1 && c.by[0].0 == number;
            if let Some(c) = self.commanded.iter().find(alone)
                && let Some(x) = now(&c.target, c.own.as_ref(), t).filter(|_| c.by[0].1 != 0.0)
            {
                let [least, most] = self.controls[number].range;
                self.values[number] = (x / c.by[0].1).clamp(least, most);
            }
        }
        self.inputs[number] = input.clamp(-1.0, 1.0);
    }

    /// Moves the controls on by one step and gives their commands to the world: call it before every step.
    pub fn before_step(&mut self, world: &mut World) {
        let h = world.settings().h;
        let before = self.values.clone();
        for k in (0..self.controls.len()).filter(|&k| self.touched[k]) {
            self.values[k] = self.controls[k].next(self.values[k], self.inputs[k], h);
        }
        for c in &mut self.commanded {
            if c.by.iter().any(|(k, _)| self.touched[*k]) {
                let sum = |values: &[f64]| c.by.iter().map(|(k, scale)| scale * values[*k]).sum::<f64>();
                c.command(world, c.last.unwrap_or(sum(&before)), sum(&self.values), h);
            }
        }
    }
}

fn law(world: &World, t: &Target) -> Option<Law> {
    let slot = t.joint;
    let generation = world.model().joints.get(slot as usize)?.generation;
    world.joint(JointId { slot, generation }).ok()?.laws.get(t.coordinate).cloned()
}

/// What a motor of the right kind commands at a time.
fn now(target: &Target, motor: Option<&Motor>, t: f64) -> Option<f64> {
    match (&motor?.command, target.quantity) {
        (Command::Speed(f), Quantity::Speed)
        | (Command::Position(f), Quantity::Position)
        | (Command::Force(f), Quantity::Force) => Some(f.value(t)),
        _ => None,
    }
}

impl Commanded {
    /// From one command to the next over a step. What refuses it (a joint that is gone) is left alone.
    fn command(&mut self, world: &mut World, from: f64, to: f64, h: f64) {
        self.last = Some(to);
        let moving = from != to;
        if !moving && self.settled {
            return;
        }
        self.settled = !moving;
        let Some(mut law) = law(world, &self.target) else { return };
        let t = world.state().time;
        let way = |from: f64, to: f64| match moving {
            true => Function::Ramp { from, to, start: t, end: t + h },
            false => Function::Constant(to),
        };
        let limit = self.own.as_ref().map_or(f64::INFINITY, |m| m.limit);
        let motor = |command: Command| Some(Motor { command, limit });
        match self.target.quantity {
            Quantity::Speed => law.motor = motor(Command::Speed(way(from, to))),
            Quantity::Position => law.motor = motor(Command::Position(way(from, to))),
            Quantity::Force => law.motor = motor(Command::Force(way(from, to))),
            Quantity::Friction => law.friction = to.max(0.0),
            Quantity::Gain => {
                let Some(Command::Position(Function::Sine { mean, amplitude, frequency, phase })) =
                    self.own.as_ref().map(|m| &m.command)
                else {
                    return;
                };
                let swing = |gain: f64| Function::Sine {
                    mean: *mean,
                    amplitude: gain.clamp(-1.0, 1.0) * amplitude,
                    frequency: *frequency,
                    phase: *phase,
                };
                law.motor = motor(Command::Position(match moving {
                    true => way(swing(from).value(t), swing(to).value(t + h)),
                    false => swing(to),
                }));
            }
        }
        let generation = world.model().joints[self.target.joint as usize].generation;
        let id = JointId { slot: self.target.joint, generation };
        let _ = world.set_law(id, self.target.coordinate, law);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone::{BodyDef, JointDef, MassProperties, Settings};
    use glam::DVec3;

    /// A rotor whose motor swings, and a slider with a speed motor.
    fn machine() -> World {
        let mut world = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
        let mass = MassProperties::principal(1.0, DVec3::ONE);
        let rotor = world.add_body(BodyDef::bare(mass)).unwrap();
        let slider = world.add_body(BodyDef::bare(mass)).unwrap();
        let swing = Function::Sine { mean: 0.0, amplitude: 0.5, frequency: 1.0, phase: 0.0 };
        world
            .add_joint(
                JointDef::revolute(None, rotor, DVec3::ZERO, DVec3::Z).motor(0, Motor::position(swing)),
            )
            .unwrap();
        let hold = Motor::speed(0.25).limited(1e4);
        world.add_joint(JointDef::prismatic(None, slider, DVec3::ZERO, DVec3::X).motor(0, hold)).unwrap();
        world
    }

    fn coordinate(world: &World, joint: u32) -> f64 {
        world.joint_coordinates(JointId { slot: joint, generation: 0 }).unwrap()[0]
    }

    #[test]
    fn a_control_takes_over_where_the_program_is_and_follows_at_its_rate() {
        let mut world = machine();
        let speed = Control::new("speed", "m/s", [-2.0, 2.0]).at_rate(1.0).commands(1, Quantity::Speed, 1.0);
        let mut driver = Driver::new(vec![speed], &world);
        let mut steps = |driver: &mut Driver, n: usize| {
            for _ in 0..n {
                driver.before_step(&mut world);
                world.step().unwrap();
            }
            (driver.values()[0], world.state().velocity[1].x)
        };
        assert!((steps(&mut driver, 10).1 - 0.25).abs() < 1e-9, "untouched, the program goes on");
        driver.set(&machine(), 0, 1.0);
        let (value, v) = steps(&mut driver, 50);
        assert!((value - 0.75).abs() < 1e-9 && (v - 0.75).abs() < 1e-6, "{value} {v}");
        driver.set(&machine(), 0, 0.0);
        let (value, v) = steps(&mut driver, 200);
        assert!(value == 0.0 && v.abs() < 1e-6, "{value} {v}");
    }

    #[test]
    fn a_lever_stays_and_an_amplitude_scales() {
        let mut world = machine();
        let lever =
            Control::new("lift", "m", [0.0, 0.4]).at_rate(0.5).lever().commands(1, Quantity::Position, 1.0);
        let stride = Control { start: 1.0, ..Control::new("stride", "", [-1.0, 1.0]) };
        let stride = stride.at_rate(2.0).lever().commands(0, Quantity::Gain, 1.0);
        let mut driver = Driver::new(vec![lever, stride], &world);
        driver.set(&world, 0, 1.0);
        driver.set(&world, 1, -1.0);
        for k in 0..150 {
            if k == 60 {
                driver.set(&world, 0, 0.0);
            }
            driver.before_step(&mut world);
            world.step().unwrap();
        }
        assert!((driver.values()[0] - 0.3).abs() < 1e-9);
        assert!((coordinate(&world, 1) - 0.3).abs() < 1e-6);
        assert_eq!(driver.values()[1], -1.0);
        // One and a half seconds: the swing's own command is 0 there, and a quarter second later -0.5.
        for _ in 0..25 {
            driver.before_step(&mut world);
            world.step().unwrap();
        }
        assert!((coordinate(&world, 0) - 0.5).abs() < 1e-3, "{}", coordinate(&world, 0));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let good = Control::new("x", "", [0.0, 1.0]).bound("KeyR", "KeyF", "buttons 5 4");
        assert_eq!(good.check(), Ok(()));
        for (bad, word) in [
            (Control { range: [1.0, 0.0], ..good.clone() }, "range"),
            (Control { start: 2.0, ..good.clone() }, "start"),
            (good.clone().lever(), "rate"),
            (Control { rate: 0.0, ..good.clone() }, "rate"),
            (Control { gamepad: "stick".into(), ..good.clone() }, "gamepad"),
        ] {
            assert!(bad.check().unwrap_err().contains(word));
        }
    }
}
