//! From snapshots to bytes.

use super::bytes::{Put, half};
use super::{CONTACTS, FRAME, KEY, TURN, Track, set};
use crate::snapshot::{CHANNELS, ContactLine, Snapshot};

/// Remembers what was sent, and sends what is new.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    tracks: Vec<Track>,
    alive: Vec<bool>,
    values: Vec<Vec<u16>>,
    frames: u32,
    begun: bool,
}

impl Encoder {
    /// The first frame has this number.
    pub fn from(number: u32) -> Self {
        Self { frames: number, ..Self::default() }
    }

    /// The next frame is a key frame.
    pub fn restart(&mut self) {
        self.begun = false;
    }

    /// Frames so far.
    pub fn frames(&self) -> u32 {
        self.frames
    }

    /// The frame of a moment: of the channels in `mask` (bit k for channel k of [`CHANNELS`]) and, if asked
    /// for, contacts.
    pub fn encode(&mut self, now: &Snapshot, mask: u16, contacts: bool) -> Vec<u8> {
        let n = now.position.len();
        let key = !self.begun;
        if key {
            self.tracks.clear();
            self.alive.clear();
            self.values = vec![Vec::new(); CHANNELS.len()];
        }
        self.tracks.resize(n, Track::default());
        self.alive.resize(n, false);
        let mask = mask & ((1 << CHANNELS.len()) - 1);
        let mut out = Vec::with_capacity(64 + n / 4);
        out.u8(FRAME);
        out.u8(if key { KEY } else { 0 } | if contacts { CONTACTS } else { 0 });
        out.u16(mask);
        out.u32(now.epoch);
        out.u32(self.frames);
        out.u64(now.step);
        out.f64(now.time);
        out.u32(n as u32);
        out.f64(now.quantum);
        out.u8(now.numbers.len() as u8);
        now.numbers.iter().for_each(|x| out.f32(*x));
        let came = set::write(&mut out, n, |i| now.alive[i] != self.alive[i]);
        came.iter().for_each(|i| self.alive[*i as usize] = now.alive[*i as usize]);
        self.poses(now, key, &mut out);
        came.iter().for_each(|i| self.tracks[*i as usize].rest());
        for (k, channel) in CHANNELS.iter().enumerate().filter(|(k, _)| mask >> k & 1 == 1) {
            let values: Vec<u16> = now.values[k].iter().map(|x| channel.code(*x)).collect();
            let before = &mut self.values[k];
            before.resize(n, 0);
            for i in set::write(&mut out, n, |i| values[i] != before[i]) {
                out.u16(values[i as usize]);
            }
            self.values[k] = values;
        }
        if contacts {
            lines(now, &mut out);
        }
        self.frames += 1;
        self.begun = true;
        out
    }

    fn poses(&mut self, now: &Snapshot, key: bool, out: &mut Vec<u8>) {
        let n = now.position.len();
        let quanta = |x: f64| (x / now.quantum).round().clamp(-2e9, 2e9) as i32;
        let ahead: Vec<([i32; 3], [i16; 4])> = self.tracks.iter().map(Track::ahead).collect();
        let place = |i: usize| {
            // What is gone, or nowhere, stays where it was.
            let x = now.position[i];
            if now.alive[i] && x.is_finite() { x.to_array().map(quanta) } else { self.tracks[i].x }
        };
        let turn = |i: usize| {
            if now.ball[i] || !now.alive[i] {
                return self.tracks[i].q;
            }
            let q = now.rotation[i].to_array();
            let last = self.tracks[i].q;
            let along: f64 = (0..4).map(|k| q[k] * f64::from(last[k])).sum();
            let sign = if along < 0.0 { -TURN } else { TURN };
            q.map(|c| (c * sign).round() as i16)
        };
        let new: Vec<([i32; 3], [i16; 4])> = (0..n).map(|i| (place(i), turn(i))).collect();
        for i in set::write(out, n, |i| new[i].0 != ahead[i].0) {
            let (x, p) = (new[i as usize].0, ahead[i as usize].0);
            for k in 0..3 {
                // A page takes whole numbers over as they are, all at once.
                if key { out.u32(x[k] as u32) } else { out.zigzag(i64::from(x[k].wrapping_sub(p[k]))) }
            }
        }
        for i in set::write(out, n, |i| new[i].1 != ahead[i].1) {
            let (q, p) = (new[i as usize].1, ahead[i as usize].1);
            (0..4).for_each(|k| out.zigzag(i64::from(q[k].wrapping_sub(p[k]))));
        }
        for (track, (x, q)) in self.tracks.iter_mut().zip(new) {
            track.go(x, q);
        }
    }
}

fn lines(now: &Snapshot, out: &mut Vec<u8>) {
    let largest = |f: &dyn Fn(&ContactLine) -> f64| now.contacts.iter().map(f).fold(0.0, f64::max);
    let force = largest(&|c| c.force.abs().max_element()).max(1e-30);
    let gap = largest(&|c| c.gap.abs()).max(1e-30);
    out.varint(now.all_contacts as u64);
    out.varint(now.contacts.len() as u64);
    out.f32((force / TURN) as f32);
    out.f32((gap / TURN) as f32);
    let mut before = 0;
    for c in &now.contacts {
        let [a, b] = c.bodies;
        out.varint(u64::from(a - before));
        before = a;
        out.zigzag(i64::from(b) - i64::from(a));
        let offset = (c.point - now.position[a as usize]) / now.quantum;
        offset.to_array().iter().for_each(|x| out.zigzag(x.round().clamp(-2e9, 2e9) as i64));
        c.force.to_array().iter().for_each(|f| out.u16((f / force * TURN).round() as i16 as u16));
        out.u16((c.gap / gap * TURN).round() as i16 as u16);
    }
}

impl crate::snapshot::Channel {
    /// A value in two bytes.
    pub(crate) fn code(&self, x: f32) -> u16 {
        if self.whole { x as u16 } else { half(x) }
    }
}
