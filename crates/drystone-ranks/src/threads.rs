//! Ranks that are threads of one process: for tests, and for whoever has no MPI.

use std::cell::Cell;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Instant;

use crate::comm::{Comm, Neighbour, Traffic};

/// What all of them share.
struct Room {
    barrier: Barrier,
    /// By rank: what it has to add, or the numbers of which the largest is wanted.
    words: Vec<Mutex<Vec<i64>>>,
    numbers: Vec<Mutex<Vec<f64>>>,
    /// By sender and receiver.
    letters: Vec<Vec<Mutex<Vec<u8>>>>,
    velocities: Vec<Vec<Mutex<Vec<f64>>>>,
}

/// One of several threads.
pub struct Threads {
    rank: usize,
    room: Arc<Room>,
    traffic: Cell<Traffic>,
}

/// Runs `work` on `size` threads, each with its own rank, and returns what they return.
pub fn run<R: Send>(size: usize, work: impl Fn(&Threads) -> R + Sync) -> Vec<R> {
    let room = Arc::new(Room {
        barrier: Barrier::new(size),
        words: (0..size).map(|_| Mutex::default()).collect(),
        numbers: (0..size).map(|_| Mutex::default()).collect(),
        letters: (0..size).map(|_| (0..size).map(|_| Mutex::default()).collect()).collect(),
        velocities: (0..size).map(|_| (0..size).map(|_| Mutex::default()).collect()).collect(),
    });
    let work = &work;
    std::thread::scope(|scope| {
        let begin = |rank: usize| {
            let room = room.clone();
            scope.spawn(move || work(&Threads { rank, room, traffic: Cell::default() }))
        };
        let all: Vec<_> = (0..size).map(begin).collect();
        all.into_iter().map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    })
}

/// A lock that a thread which panicked may have left.
fn open<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(|e| e.into_inner())
}

impl Threads {
    fn told(&self, begun: Instant, messages: u64, bytes: u64, reductions: u64) {
        let mut t = self.traffic.get();
        t.messages += messages;
        t.bytes += bytes;
        t.reductions += reductions;
        t.seconds += begun.elapsed().as_secs_f64();
        self.traffic.set(t);
    }

    /// Everybody puts something down, then everybody looks at all of it.
    fn table<T: Clone + Copy>(&self, table: &[Mutex<Vec<T>>], mine: &mut [T], join: impl Fn(T, T) -> T) {
        *open(&table[self.rank]) = mine.to_vec();
        self.room.barrier.wait();
        for (rank, other) in table.iter().enumerate() {
            let other = open(other);
            match rank {
                0 => mine.copy_from_slice(&other),
                _ => mine.iter_mut().zip(other.iter()).for_each(|(a, b)| *a = join(*a, *b)),
            }
        }
        self.room.barrier.wait();
    }
}

impl Comm for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.room.words.len()
    }

    fn add(&self, words: &mut [i64]) {
        let begun = Instant::now();
        self.table(&self.room.words, words, |a, b| a + b);
        self.told(begun, 0, 0, 1);
    }

    fn most(&self, numbers: &mut [f64]) {
        let begun = Instant::now();
        self.table(&self.room.numbers, numbers, f64::max);
        self.told(begun, 0, 0, 1);
    }

    fn swap(&self, to: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let begun = Instant::now();
        let (mut messages, mut bytes) = (0, 0);
        for (rank, letter) in to.into_iter().enumerate() {
            if rank != self.rank && !letter.is_empty() {
                messages += 1;
                bytes += letter.len() as u64;
            }
            *open(&self.room.letters[self.rank][rank]) = letter;
        }
        self.room.barrier.wait();
        let from =
            (0..self.size()).map(|rank| std::mem::take(&mut *open(&self.room.letters[rank][self.rank])));
        let from = from.collect();
        self.room.barrier.wait();
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
        meanwhile();
        let begun = Instant::now();
        let mut at = 0;
        for n in neighbours {
            *open(&self.room.velocities[self.rank][n.rank]) = send[at..at + n.sends].to_vec();
            at += n.sends;
        }
        self.room.barrier.wait();
        let mut to = 0;
        for n in neighbours {
            let from = open(&self.room.velocities[n.rank][self.rank]);
            receive[to..to + n.receives].copy_from_slice(&from[..n.receives]);
            to += n.receives;
        }
        self.room.barrier.wait();
        self.told(begun, neighbours.len() as u64, 8 * at as u64, 0);
    }

    fn traffic(&self) -> Traffic {
        self.traffic.get()
    }
}
