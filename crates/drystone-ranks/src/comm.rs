//! How ranks talk to each other.

use serde::Serialize;

/// One rank that velocities are exchanged with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Who.
    pub rank: usize,
    /// Numbers that go there.
    pub sends: usize,
    /// Numbers that come from there.
    pub receives: usize,
}

/// What a rank has sent, and how long it has waited for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Messages to other ranks.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Sums and largest numbers over all ranks.
    pub reductions: u64,
    /// In all of these, s.
    pub seconds: f64,
}

/// All ranks of a run. Every function but the first two is called by all of them in the same order.
pub trait Comm {
    /// Which one this is, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Sums over all ranks.
    fn add(&self, words: &mut [i64]);

    /// The largest over all ranks; no number is one that is none.
    fn most(&self, numbers: &mut [f64]);

    /// One message to every rank, and one from every rank.
    fn swap(&self, to: Vec<Vec<u8>>) -> Vec<Vec<u8>>;

    /// Numbers to and from neighbours, one after the other in `send` and `receive`; `meanwhile` is done while
    /// they are on their way.
    fn exchange(
        &self,
        neighbours: &[Neighbour],
        send: &[f64],
        receive: &mut [f64],
        meanwhile: &mut dyn FnMut(),
    );

    /// What this rank has sent so far.
    fn traffic(&self) -> Traffic;

    /// A message from every rank, at rank 0.
    fn gather(&self, mine: Vec<u8>) -> Vec<Vec<u8>> {
        let mut to = vec![Vec::new(); self.size()];
        to[0] = mine;
        self.swap(to)
    }
}

/// The only rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Comm for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn add(&self, _: &mut [i64]) {}

    fn most(&self, _: &mut [f64]) {}

    fn swap(&self, to: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        to
    }

    fn exchange(&self, _: &[Neighbour], _: &[f64], _: &mut [f64], meanwhile: &mut dyn FnMut()) {
        meanwhile();
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}
