//! Makes texts that are nearly right of texts that are right.

use drystone::random::Random;

/// Numbers that are at the edge of something.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e-9",
    "-1e-300",
    "1e300",
    "nan",
    "inf",
    "-inf",
    "3.5",
    "9007199254740993",
    "1e19",
    "-5",
    "1e-320",
    "100",
    "7",
];
/// Seeds that were learned, at most.
const MOST: usize = 2000;

pub struct Mutator {
    random: Random,
    seeds: Vec<Vec<u8>>,
    /// Of the seeds, how many were given.
    own: usize,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    pub fn new(random: Random, seeds: Vec<Vec<u8>>, words: &[&str]) -> Self {
        let own = seeds.len();
        let words = words.iter().chain(NUMBERS).map(|w| w.as_bytes().to_vec()).collect();
        Self { random, seeds, own, words }
    }

    fn below(&mut self, n: usize) -> usize {
        (self.random.next_u64() % n.max(1) as u64) as usize
    }

    /// A seed with one to six changes.
    pub fn next(&mut self) -> Vec<u8> {
        let k = self.below(self.seeds.len());
        let mut case = self.seeds[k].clone();
        for _ in 0..1 + self.below(6) {
            self.change(&mut case);
        }
        case.truncate(20_000);
        case
    }

    /// Keeps a case as a seed, if it was read and there is room.
    pub fn learn(&mut self, case: &[u8], good: bool) -> bool {
        if !good || case.len() > 10_000 {
            return false;
        }
        if self.seeds.len() < MOST {
            self.seeds.push(case.to_vec());
        } else {
            let k = self.own + self.below(MOST - self.own);
            self.seeds[k] = case.to_vec();
        }
        true
    }

    fn change(&mut self, case: &mut Vec<u8>) {
        let at = self.below(case.len());
        match self.below(10) {
            0 => {
                // A byte.
                let byte = self.random.next_u64() as u8;
                if let Some(b) = case.get_mut(at) {
                    *b = byte;
                }
            }
            1 => {
                // A bit.
                let bit = self.below(8);
                if let Some(b) = case.get_mut(at) {
                    *b ^= 1 << bit;
                }
            }
            2 | 3 => {
                // A word in place of another.
                let (from, to) = word(case, at);
                let k = self.below(self.words.len());
                case.splice(from..to, self.words[k].clone());
            }
            4 => {
                // A word more.
                let k = self.below(self.words.len());
                let mut new = self.words[k].clone();
                new.push(b' ');
                case.splice(at..at, new);
            }
            5 => {
                // A line less.
                let (from, to) = line(case, at);
                case.drain(from..to);
            }
            6 => {
                // A line twice, or elsewhere.
                let (from, to) = line(case, at);
                let text = case[from..to].to_vec();
                let there = self.below(case.len() + 1);
                let there = line(case, there).0;
                case.splice(there..there, text);
            }
            7 => {
                // A piece of another seed.
                let k = self.below(self.seeds.len());
                let other = self.seeds[k].clone();
                let start = self.below(other.len());
                let from = line(&other, start).0;
                let next = self.below(300);
                let to = line(&other, (from + next).min(other.len())).1;
                let there = line(case, at).0;
                case.splice(there..there, other[from..to.max(from)].to_vec());
            }
            8 => {
                // A word of its own elsewhere.
                let (from, to) = word(case, at);
                let text = case[from..to].to_vec();
                let there = self.below(case.len());
                let (a, b) = word(case, there);
                case.splice(a..b, text);
            }
            _ => case.truncate(at),
        }
    }
}

/// The word around a byte.
fn word(text: &[u8], at: usize) -> (usize, usize) {
    let inner = |b: &u8| b.is_ascii_alphanumeric() || b"_.-+".contains(b);
    let from = text[..at.min(text.len())].iter().rposition(|b| !inner(b)).map_or(0, |i| i + 1);
    let to = text[from..].iter().position(|b| !inner(b)).map_or(text.len(), |i| from + i);
    (from, to)
}

/// The line around a byte, with its end.
fn line(text: &[u8], at: usize) -> (usize, usize) {
    let from = text[..at.min(text.len())].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let to = text[from..].iter().position(|b| *b == b'\n').map_or(text.len(), |i| from + i + 1);
    (from, to)
}
