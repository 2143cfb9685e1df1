//! What a page may ask for: short messages of fixed kinds. Anything else is refused, and the connection
//! closed.

use crate::codec::{Broken, Put, Reader, VERSION};

/// The longest message that is looked at, bytes.
pub const LONGEST: usize = 600;
/// Most frames asked for at once.
pub const MOST_FRAMES: u32 = 1024;
/// How far from the origin a point may be, m.
const FARTHEST: f32 = 1e6;

/// What a body that is added looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// A ball.
    Ball,
    /// A cube.
    Cube,
}

/// A message from a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// The first one: the version of the messages that the page speaks.
    Hello(u16),
    /// Frames of a run: the first, and how many.
    Want {
        /// Number of the first.
        from: u32,
        /// At most [`MOST_FRAMES`].
        count: u32,
    },
    /// Ready for the next moment of a live run.
    Ready {
        /// Channels to send, one bit each.
        channels: u16,
        /// Whether to send contacts.
        contacts: bool,
    },
    /// Lets a live run go, or stops it.
    Run(bool),
    /// So many steps of a live run that is stopped.
    Step(u16),
    /// From the start.
    Restart,
    /// How fast a live run is to be, over real time.
    Pace(f32),
    /// Another value of a parameter that the scene declares: starts again.
    Set {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Moves a control: its number, and where to, from -1 to 1.
    Control {
        /// As in the first message to the page.
        number: u16,
        /// -1 to 1.
        value: f32,
    },
    /// Pulls a body by a spring.
    Drag {
        /// Its number.
        body: u32,
        /// The point that is pulled, in the body's axes from its centre of mass, m.
        point: [f32; 3],
        /// Where to, m, world.
        to: [f32; 3],
    },
    /// Lets go.
    Release,
    /// Adds a body.
    Add {
        /// What it looks like.
        what: Added,
        /// Radius or half its edge, m.
        size: f32,
        /// m
        at: [f32; 3],
        /// m/s
        velocity: [f32; 3],
    },
    /// Asks for what was driven so far.
    Inputs,
    /// Gravity of a live run from now on, m/s².
    Gravity([f32; 3]),
}

/// Three numbers that are somewhere.
fn vector(r: &mut Reader) -> Result<[f32; 3], Broken> {
    let v = [r.finite()?, r.finite()?, r.finite()?];
    if v.iter().all(|x| x.abs() <= FARTHEST) { Ok(v) } else { Err(Broken::Value("a point is too far away")) }
}

fn flag(r: &mut Reader) -> Result<bool, Broken> {
    match r.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Broken::Value("a flag must be 0 or 1")),
    }
}

fn within(x: f32, least: f32, most: f32) -> Result<f32, Broken> {
    if (least..=most).contains(&x) { Ok(x) } else { Err(Broken::Value("a number is out of its range")) }
}

impl Command {
    /// Reads a message.
    pub fn read(bytes: &[u8]) -> Result<Self, Broken> {
        if bytes.len() > LONGEST {
            return Err(Broken::Long(bytes.len() - LONGEST));
        }
        let mut r = Reader::new(bytes);
        let command = match r.u8()? {
            1 => Command::Hello(r.u16()?),
            2 => {
                let (from, count) = (r.u32()?, r.u32()?);
                if count == 0 || count > MOST_FRAMES {
                    return Err(Broken::Value("1 to 1024 frames can be asked for at once"));
                }
                Command::Want { from, count }
            }
            3 => Command::Ready { channels: r.u16()?, contacts: flag(&mut r)? },
            4 => Command::Run(flag(&mut r)?),
            5 => Command::Step(r.u16()?.clamp(1, 1000)),
            6 => Command::Restart,
            7 => Command::Pace(within(r.finite()?, 1e-3, 1e3)?),
            8 => Command::Set { name: r.text()?.into(), value: r.text()?.into() },
            9 => Command::Control { number: r.u16()?, value: within(r.finite()?, -1.0, 1.0)? },
            10 => Command::Drag { body: r.u32()?, point: vector(&mut r)?, to: vector(&mut r)? },
            11 => Command::Release,
            12 => {
                let what = if flag(&mut r)? { Added::Cube } else { Added::Ball };
                let size = within(r.finite()?, 1e-6, 1e3)?;
                Command::Add { what, size, at: vector(&mut r)?, velocity: vector(&mut r)? }
            }
            13 => Command::Inputs,
            14 => Command::Gravity(vector(&mut r)?),
            _ => return Err(Broken::Value("no command has this number")),
        };
        r.end()?;
        Ok(command)
    }

    /// As a page writes it.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let three = |out: &mut Vec<u8>, v: &[f32; 3]| v.iter().for_each(|x| out.f32(*x));
        match self {
            Command::Hello(version) => {
                out.u8(1);
                out.u16(*version);
            }
            Command::Want { from, count } => {
                out.u8(2);
                out.u32(*from);
                out.u32(*count);
            }
            Command::Ready { channels, contacts } => {
                out.u8(3);
                out.u16(*channels);
                out.u8(u8::from(*contacts));
            }
            Command::Run(on) => out.extend([4, u8::from(*on)]),
            Command::Step(n) => {
                out.u8(5);
                out.u16(*n);
            }
            Command::Restart => out.u8(6),
            Command::Pace(x) => {
                out.u8(7);
                out.f32(*x);
            }
            Command::Set { name, value } => {
                out.u8(8);
                out.text(name);
                out.text(value);
            }
            Command::Control { number, value } => {
                out.u8(9);
                out.u16(*number);
                out.f32(*value);
            }
            Command::Drag { body, point, to } => {
                out.u8(10);
                out.u32(*body);
                three(&mut out, point);
                three(&mut out, to);
            }
            Command::Release => out.u8(11),
            Command::Add { what, size, at, velocity } => {
                out.extend([12, u8::from(*what == Added::Cube)]);
                out.f32(*size);
                three(&mut out, at);
                three(&mut out, velocity);
            }
            Command::Inputs => out.u8(13),
            Command::Gravity(g) => {
                out.u8(14);
                three(&mut out, g);
            }
        }
        out
    }

    /// Refuses pages of other versions.
    pub fn is_hello(&self) -> bool {
        *self == Command::Hello(VERSION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point() -> impl Strategy<Value = [f32; 3]> {
        prop::array::uniform3(-1e6f32..1e6)
    }

    fn any_command() -> impl Strategy<Value = Command> {
        prop_oneof![
            any::<u16>().prop_map(Command::Hello),
            (any::<u32>(), 1..=MOST_FRAMES).prop_map(|(from, count)| Command::Want { from, count }),
            (any::<u16>(), any::<bool>())
                .prop_map(|(channels, contacts)| Command::Ready { channels, contacts }),
            any::<bool>().prop_map(Command::Run),
            (1..=1000u16).prop_map(Command::Step),
            Just(Command::Restart),
            (1e-3f32..1e3).prop_map(Command::Pace),
            ("[a-z_]{0,40}", ".{0,40}").prop_map(|(name, value)| Command::Set { name, value }),
            (any::<u16>(), -1.0f32..=1.0).prop_map(|(number, value)| Command::Control { number, value }),
            (any::<u32>(), point(), point()).prop_map(|(body, point, to)| Command::Drag { body, point, to }),
            Just(Command::Release),
            (any::<bool>(), 1e-6f32..1e3, point(), point()).prop_map(|(cube, size, at, velocity)| {
                Command::Add { what: if cube { Added::Cube } else { Added::Ball }, size, at, velocity }
            }),
            Just(Command::Inputs),
            point().prop_map(Command::Gravity),
        ]
    }

    proptest! {
        #[test]
        fn commands_are_read_as_written(command in any_command()) {
            let bytes = command.write();
            prop_assert_eq!(Command::read(&bytes), Ok(command));
            let mut long = bytes.clone();
            long.push(0);
            prop_assert!(Command::read(&long).is_err());
            prop_assert!(Command::read(&bytes[..bytes.len() - 1]).is_err());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
            if let Ok(command) = Command::read(&bytes) {
                // What is accepted is in range, and so is what is written of it.
                prop_assert_eq!(Command::read(&command.write()), Ok(command));
            }
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let far = Command::Drag { body: 0, point: [0.0; 3], to: [f32::NAN, 0.0, 0.0] };
        for bad in [
            Command::Want { from: 0, count: 0 },
            Command::Want { from: 0, count: MOST_FRAMES + 1 },
            Command::Pace(0.0),
            Command::Control { number: 0, value: 1.5 },
            far,
            Command::Gravity([0.0, 0.0, -1e9]),
            Command::Add { what: Added::Ball, size: -1.0, at: [0.0; 3], velocity: [0.0; 3] },
        ] {
            assert!(Command::read(&bad.write()).is_err(), "{bad:?}");
        }
        assert!(Command::read(&[]).is_err());
        assert!(Command::read(&vec![1; LONGEST + 1]).is_err());
    }
}
