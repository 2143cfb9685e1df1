//! From bytes to what they say: the page does the same in JavaScript.

use glam::{DQuat, DVec3};

use super::bytes::{Broken, Reader, from_half};
use super::{CONTACTS, FRAME, KEY, MOST_BODIES, TURN, Track, set};
use crate::snapshot::{CHANNELS, ContactLine};

/// What a frame says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// Which stage it belongs to.
    pub epoch: u32,
    /// Its number.
    pub index: u32,
    /// Steps done.
    pub step: u64,
    /// s
    pub time: f64,
    /// Whether each body is there.
    pub alive: Vec<bool>,
    /// Centres of mass, m.
    pub position: Vec<DVec3>,
    /// Body to world; identity for balls.
    pub rotation: Vec<DQuat>,
    /// By channel and body; empty where it was not sent.
    pub values: Vec<Vec<f32>>,
    /// See [`crate::NUMBERS`].
    pub numbers: Vec<f32>,
    /// Contacts that there are.
    pub all_contacts: u64,
    /// Contacts that were sent.
    pub contacts: Vec<ContactLine>,
}

/// Reads frames one after the other.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    tracks: Vec<Track>,
    alive: Vec<bool>,
    values: Vec<Vec<u16>>,
    next: Option<u32>,
}

impl Decoder {
    /// Reads the next frame, or a key frame.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Decoded, Broken> {
        let mut r = Reader::new(bytes);
        if r.u8()? != FRAME {
            return Err(Broken::Value("not a frame"));
        }
        let flags = r.u8()?;
        let mask = r.u16()?;
        let (epoch, index, step, time) = (r.u32()?, r.u32()?, r.u64()?, r.f64()?);
        let n = r.u32()? as usize;
        let quantum = r.f64()?;
        if n > MOST_BODIES || mask >> CHANNELS.len() != 0 || flags & !(KEY | CONTACTS) != 0 {
            return Err(Broken::Value("no frame has such a head"));
        }
        let key = flags & KEY != 0;
        if key {
            self.tracks.clear();
            self.alive.clear();
            self.values = vec![Vec::new(); CHANNELS.len()];
        } else if self.next != Some(index) {
            return Err(Broken::Value("the frame before this one is missing"));
        }
        // A set of n takes at least n/512 bytes: no message can ask for more memory than a multiple of its
        // own size.
        if n > 512 * (r.left() + 1) {
            return Err(Broken::Short);
        }
        self.next = None;
        let mut numbers = Vec::new();
        for _ in 0..r.u8()? {
            numbers.push(r.f32()?);
        }
        self.tracks.resize(n, Track::default());
        self.alive.resize(n, false);
        let came = set::read(&mut r, n)?;
        came.iter().for_each(|i| self.alive[*i as usize] ^= true);
        let mut new: Vec<([i32; 3], [i16; 4])> = self.tracks.iter().map(Track::ahead).collect();
        for i in set::read(&mut r, n)? {
            for x in &mut new[i as usize].0 {
                *x = x.wrapping_add(if key { r.u32()? as i32 } else { r.zigzag()? as i32 });
            }
        }
        for i in set::read(&mut r, n)? {
            for q in &mut new[i as usize].1 {
                *q = q.wrapping_add(r.zigzag()? as i16);
            }
        }
        for (track, (x, q)) in self.tracks.iter_mut().zip(new) {
            track.go(x, q);
        }
        came.iter().for_each(|i| self.tracks[*i as usize].rest());
        let mut values = vec![Vec::new(); CHANNELS.len()];
        for (k, channel) in CHANNELS.iter().enumerate().filter(|(k, _)| mask >> k & 1 == 1) {
            self.values[k].resize(n, 0);
            for i in set::read(&mut r, n)? {
                self.values[k][i as usize] = r.u16()?;
            }
            let number = |c: &u16| if channel.whole { f32::from(*c) } else { from_half(*c) };
            values[k] = self.values[k].iter().map(number).collect();
        }
        let place = |t: &Track| DVec3::from_array(t.x.map(f64::from)) * quantum;
        let position: Vec<DVec3> = self.tracks.iter().map(place).collect();
        let mut decoded = Decoded {
            epoch,
            index,
            step,
            time,
            alive: self.alive.clone(),
            rotation: self.tracks.iter().map(|t| rotation(t.q)).collect(),
            position,
            values,
            numbers,
            all_contacts: 0,
            contacts: Vec::new(),
        };
        if flags & CONTACTS != 0 {
            contacts(&mut r, quantum, &mut decoded)?;
        }
        r.end()?;
        self.next = Some(index.wrapping_add(1));
        Ok(decoded)
    }
}

fn rotation(q: [i16; 4]) -> DQuat {
    let q = DQuat::from_array(q.map(|c| f64::from(c) / TURN));
    if q.length_squared() > 0.0 { q.normalize() } else { DQuat::IDENTITY }
}

fn contacts(r: &mut Reader, quantum: f64, to: &mut Decoded) -> Result<(), Broken> {
    to.all_contacts = r.varint()?;
    let shown = r.varint()?;
    let (force, gap) = (f64::from(r.f32()?), f64::from(r.f32()?));
    let n = to.position.len() as i64;
    let mut a = 0i64;
    for _ in 0..shown {
        a = a.saturating_add_unsigned(r.varint()?);
        let b = a.saturating_add(r.zigzag()?);
        if !(0..n).contains(&a) || !(0..n).contains(&b) {
            return Err(Broken::Value("a contact's body is not there"));
        }
        let mut offset = DVec3::ZERO;
        for k in 0..3 {
            offset[k] = r.zigzag()? as f64 * quantum;
        }
        let mut f = DVec3::ZERO;
        for k in 0..3 {
            f[k] = f64::from(r.u16()? as i16) * force;
        }
        let gap = f64::from(r.u16()? as i16) * gap;
        let point = to.position[a as usize] + offset;
        to.contacts.push(ContactLine { bodies: [a as u32, b as u32], point, force: f, gap });
    }
    Ok(())
}
