//! What is read is what was written, to half a quantum; what is not a frame is refused.

use glam::{DQuat, DVec3};
use proptest::prelude::*;

use super::*;
use crate::snapshot::{CHANNELS, ContactLine, Snapshot};

fn vector(range: f64) -> impl Strategy<Value = DVec3> {
    prop::array::uniform3(-range..range).prop_map(DVec3::from_array)
}

fn moment(n: usize) -> impl Strategy<Value = Snapshot> {
    let bodies = prop::collection::vec((vector(50.0), vector(3.0), any::<bool>(), 0.0..9f32), n);
    let contacts =
        prop::collection::vec((0..n as u32, 0..n as u32, vector(1e4), vector(1.0), -1.0..1.0), 0..9);
    (bodies, contacts, any::<u32>()).prop_map(move |(bodies, contacts, step)| {
        let mut contacts: Vec<ContactLine> = contacts
            .into_iter()
            .map(|(a, b, force, at, gap)| ContactLine {
                bodies: [a, b],
                point: bodies[a as usize].0 + at,
                force,
                gap,
            })
            .collect();
        contacts.sort_by_key(|c| c.bodies);
        Snapshot {
            epoch: 3,
            step: step.into(),
            time: 0.01 * f64::from(step),
            quantum: 1.0 / 1024.0,
            position: bodies.iter().map(|b| b.0).collect(),
            rotation: bodies.iter().map(|b| DQuat::from_scaled_axis(b.1)).collect(),
            alive: bodies.iter().map(|b| b.2).collect(),
            ball: (0..n).map(|i| i % 3 == 0).collect(),
            values: (0..CHANNELS.len()).map(|k| bodies.iter().map(|b| b.3 + k as f32).collect()).collect(),
            numbers: vec![1.0, -2.5],
            all_contacts: contacts.len() + 5,
            contacts,
        }
    })
}

fn same(read: &Decoded, wrote: &Snapshot, mask: u16) {
    assert_eq!((read.epoch, read.step, read.time), (wrote.epoch, wrote.step, wrote.time));
    assert_eq!(read.alive, wrote.alive);
    assert_eq!(read.numbers, wrote.numbers);
    for i in (0..read.alive.len()).filter(|&i| read.alive[i]) {
        let off = (read.position[i] - wrote.position[i]).abs().max_element();
        assert!(off <= 0.5001 * wrote.quantum, "{off}");
        if !wrote.ball[i] {
            assert!(read.rotation[i].dot(wrote.rotation[i]).abs() > 1.0 - 1e-8);
        }
        for (k, c) in CHANNELS.iter().enumerate() {
            match mask >> k & 1 {
                0 => assert!(read.values[k].is_empty()),
                _ if c.whole => assert_eq!(read.values[k][i], wrote.values[k][i].floor()),
                _ => assert!(
                    (read.values[k][i] - wrote.values[k][i]).abs() <= wrote.values[k][i] / 2000.0 + 1e-7
                ),
            }
        }
    }
    assert_eq!(read.contacts.len(), wrote.contacts.len());
    let largest = wrote.contacts.iter().map(|c| c.force.abs().max_element()).fold(0.0, f64::max);
    for (r, w) in read.contacts.iter().zip(&wrote.contacts) {
        assert_eq!(r.bodies, w.bodies);
        assert!((r.force - w.force).abs().max_element() <= 1.01 * largest / TURN);
        assert!((r.gap - w.gap).abs() < 1e-4);
        if wrote.alive[w.bodies[0] as usize] {
            assert!((r.point - w.point).abs().max_element() <= 1.01 * wrote.quantum);
        }
    }
}

proptest! {
    #[test]
    fn frames_are_read_as_written(all in prop::collection::vec(moment(70), 1..5), more in moment(150), mask in 0..32u16) {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for now in all.iter().chain([&more]) {
            let bytes = encoder.encode(now, mask, true);
            same(&decoder.read(&bytes).unwrap(), now, mask);
        }
        encoder.restart();
        let bytes = encoder.encode(&all[0], mask, true);
        // Who comes later begins with a key frame.
        same(&Decoder::default().read(&bytes).unwrap(), &all[0], mask);
        same(&decoder.read(&bytes).unwrap(), &all[0], mask);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Decoder::default().read(&bytes);
        let mut framed = vec![FRAME, KEY | CONTACTS];
        framed.extend(&bytes);
        let _ = Decoder::default().read(&framed);
    }

    #[test]
    fn damaged_frames_make_no_panic(now in moment(70), at in any::<prop::sample::Index>(), with in any::<u8>()) {
        let mut bytes = Encoder::default().encode(&now, 31, true);
        let k = at.index(bytes.len());
        bytes[k] = with;
        let _ = Decoder::default().read(&bytes);
        bytes.truncate(k);
        prop_assert!(Decoder::default().read(&bytes).is_err());
    }
}

fn heap(n: usize, time: f64) -> Snapshot {
    let side = (n as f64).cbrt().ceil() as usize;
    let place = |i: usize| DVec3::new((i % side) as f64, (i / side % side) as f64, (i / side / side) as f64);
    Snapshot {
        quantum: 1.0 / 1024.0,
        position: (0..n).map(|i| place(i) - DVec3::Z * 0.1 * time).collect(),
        rotation: vec![DQuat::IDENTITY; n],
        alive: vec![true; n],
        ball: vec![true; n],
        values: vec![vec![0.5; n]; CHANNELS.len()],
        time,
        ..Snapshot::default()
    }
}

#[test]
fn what_rests_or_goes_on_costs_next_to_nothing() {
    let n = 100_000;
    let mut encoder = Encoder::default();
    let first = encoder.encode(&heap(n, 0.0), 31, false).len();
    // Twelve bytes of place and two of each of five channels.
    assert!(first < 23 * n, "{first}");
    let rest = encoder.encode(&heap(n, 0.0), 31, false).len();
    assert!(rest < n / 32, "{rest}");
    encoder.encode(&heap(n, 1.0), 31, false);
    let going = encoder.encode(&heap(n, 2.0), 31, false).len();
    assert!(going < 5 * n, "{going}");
}

#[test]
fn a_missing_frame_is_told() {
    let mut encoder = Encoder::default();
    let frames: Vec<_> = [0.0, 1.0, 2.0].map(|t| encoder.encode(&heap(9, t), 0, false)).into();
    let mut decoder = Decoder::default();
    decoder.read(&frames[0]).unwrap();
    assert!(decoder.read(&frames[2]).unwrap_err().to_string().contains("missing"));
}
