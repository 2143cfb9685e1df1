//! Ranks that are processes, by MPI.

use std::cell::Cell;
use std::time::Instant;

use drystone_ranks::{Comm, Neighbour, Traffic};
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// Velocities on their way.
const VELOCITIES: i32 = 1;
/// Bodies and contacts on their way.
const LETTERS: i32 = 2;
/// Bytes that one message holds at most.
const MOST: usize = 1 << 30;

/// All processes of a run.
pub struct Processes {
    world: SimpleCommunicator,
    traffic: Cell<Traffic>,
}

impl Processes {
    /// All that were started together.
    pub fn new(world: SimpleCommunicator) -> Self {
        Self { world, traffic: Cell::default() }
    }

    fn told(&self, begun: Instant, messages: u64, bytes: u64, reductions: u64) {
        let mut t = self.traffic.get();
        t.messages += messages;
        t.bytes += bytes;
        t.reductions += reductions;
        t.seconds += begun.elapsed().as_secs_f64();
        self.traffic.set(t);
    }
}

impl Comm for Processes {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn add(&self, words: &mut [i64]) {
        if self.size() == 1 {
            return;
        }
        let begun = Instant::now();
        let own = words.to_vec();
        self.world.all_reduce_into(&own[..], words, SystemOperation::sum());
        self.told(begun, 0, 0, 1);
    }

    fn most(&self, numbers: &mut [f64]) {
        if self.size() == 1 {
            return;
        }
        let begun = Instant::now();
        let own = numbers.to_vec();
        self.world.all_reduce_into(&own[..], numbers, SystemOperation::max());
        self.told(begun, 0, 0, 1);
    }

    fn swap(&self, to: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        if self.size() == 1 {
            return to;
        }
        let begun = Instant::now();
        let me = self.rank();
        let sizes: Vec<u64> = to.iter().map(|letter| letter.len() as u64).collect();
        let mut sizes_in = vec![0u64; self.size()];
        self.world.all_to_all_into(&sizes[..], &mut sizes_in[..]);
        let mut from: Vec<Vec<u8>> = sizes_in.iter().map(|n| vec![0; *n as usize]).collect();
        from[me].copy_from_slice(&to[me]);
        let (mut messages, mut bytes) = (0, 0);
        mpi::request::scope(|scope| {
            let mut comes = Vec::new();
            for (rank, letter) in from.iter_mut().enumerate().filter(|(rank, _)| *rank != me) {
                let other = self.world.process_at_rank(rank as i32);
                for piece in letter.chunks_mut(MOST) {
                    comes.push(other.immediate_receive_into_with_tag(scope, piece, LETTERS));
                }
            }
            let mut goes = Vec::new();
            for (rank, letter) in to.iter().enumerate().filter(|(rank, _)| *rank != me) {
                let other = self.world.process_at_rank(rank as i32);
                for piece in letter.chunks(MOST) {
                    goes.push(other.immediate_send_with_tag(scope, piece, LETTERS));
                    messages += 1;
                    bytes += piece.len() as u64;
                }
            }
            comes.into_iter().for_each(|r| r.wait_without_status());
            goes.into_iter().for_each(|r| r.wait_without_status());
        });
        self.told(begun, messages, bytes, 0);
        from
    }

    fn exchange(
        &self,
        neighbours: &[Neighbour],
        send: &[f64],
        receive: &mut [f64],
        meanwhile: &mut dyn FnMut(),
    ) {
        let begun = Instant::now();
        let mut computing = 0.0;
        let (mut messages, mut bytes) = (0, 0);
        mpi::request::scope(|scope| {
            let mut comes = Vec::new();
            let mut rest = receive;
            for n in neighbours.iter().filter(|n| n.receives > 0) {
                let (piece, others) = std::mem::take(&mut rest).split_at_mut(n.receives);
                rest = others;
                let other = self.world.process_at_rank(n.rank as i32);
                comes.push(other.immediate_receive_into_with_tag(scope, piece, VELOCITIES));
            }
            let mut goes = Vec::new();
            let mut rest = send;
            for n in neighbours.iter().filter(|n| n.sends > 0) {
                let (piece, others) = rest.split_at(n.sends);
                rest = others;
                let other = self.world.process_at_rank(n.rank as i32);
                goes.push(other.immediate_send_with_tag(scope, piece, VELOCITIES));
                messages += 1;
                bytes += 8 * n.sends as u64;
            }
            let start = Instant::now();
            meanwhile();
            computing = start.elapsed().as_secs_f64();
            comes.into_iter().for_each(|r| r.wait_without_status());
            goes.into_iter().for_each(|r| r.wait_without_status());
        });
        self.told(begun, messages, bytes, 0);
        let mut t = self.traffic.get();
        t.seconds -= computing;
        self.traffic.set(t);
    }

    fn traffic(&self) -> Traffic {
        self.traffic.get()
    }
}
