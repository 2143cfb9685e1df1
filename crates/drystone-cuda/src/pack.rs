//! A problem in the form of the device: one run of words, copied at once, and where each array begins in it.

use drystone_solve::Set;
use drystone_solve::problem::{Bodies, WORLD};
use rayon::prelude::*;

use crate::engine::HostMemory;
use crate::error::Error;
use crate::layout::{Args, CHUNK, Control, PLACES, SUMS};

/// Items that one thread writes at a time.
const PIECE: usize = 2048;
/// Arrays begin at multiples of 32 bytes.
const ALIGNED: usize = 4;
/// Words of the control block.
pub(crate) const CONTROL: usize = size_of::<Control>().div_ceil(8 * ALIGNED) * ALIGNED;

/// Lists of the blocks on each body, in rising order.
#[derive(Debug, Default)]
pub(crate) struct Incidence {
    first: Vec<u32>,
    first_general: Vec<u32>,
    entry: Vec<u32>,
    next: Vec<u32>,
    /// By body, and the number of parts; empty where no list is long.
    first_part: Vec<u32>,
    /// First entry and end of every part.
    parts: Vec<u32>,
}

/// Points of a body that one thread adds up. Longer lists are cut into parts of as many, which threads of
/// their own add up first.
const PART: u32 = 64;

impl Incidence {
    /// Counts, and then puts every block into the lists of its bodies: 2 block + side.
    fn fill(&mut self, p: &Bodies) {
        let sides = || p.points.a.iter().zip(&p.points.b).chain(p.general.a.iter().zip(&p.general.b));
        self.first.clear();
        self.first.resize(p.bodies() + 1, 0);
        for (a, b) in sides() {
            self.first[*a as usize + 1] += 1;
            if *b != WORLD {
                self.first[*b as usize + 1] += 1;
            }
        }
        for i in 0..p.bodies() {
            self.first[i + 1] += self.first[i];
        }
        self.next.clear();
        self.next.extend_from_slice(&self.first[..p.bodies()]);
        self.entry.resize(self.first[p.bodies()] as usize, 0);
        self.put(0, &p.points.a, &p.points.b);
        self.first_general.clear();
        self.first_general.extend_from_slice(&self.next);
        self.put(p.points.len(), &p.general.a, &p.general.b);
        self.cut();
    }

    /// Cuts long lists of points into parts.
    fn cut(&mut self) {
        let Self { first, first_general, first_part, parts, .. } = self;
        first_part.clear();
        parts.clear();
        let lists = || first.iter().zip(first_general.iter());
        if lists().all(|(from, to)| to - from <= PART) {
            return;
        }
        for (from, to) in lists() {
            first_part.push(parts.len() as u32 / 2);
            if to - from > PART {
                let starts = (*from..*to).step_by(PART as usize);
                parts.extend(starts.flat_map(|start| [start, (start + PART).min(*to)]));
            }
        }
        first_part.push(parts.len() as u32 / 2);
    }

    /// Blocks from number `from` on, with these bodies.
    fn put(&mut self, from: usize, a: &[u32], b: &[u32]) {
        let Self { entry, next, .. } = self;
        let mut put = |body: u32, code: usize| {
            if body != WORLD {
                entry[next[body as usize] as usize] = code as u32;
                next[body as usize] += 1;
            }
        };
        for (i, (a, b)) in (from..).zip(a.iter().zip(b)) {
            put(*a, 2 * i);
            put(*b, 2 * i + 1);
        }
    }
}

/// Hands out places of arrays, one after the other.
pub(crate) struct Places {
    pub next: usize,
}

impl Places {
    /// Begins at word `at`.
    pub fn take(&mut self, words: usize) -> usize {
        let at = self.next;
        self.next += words.next_multiple_of(ALIGNED);
        at
    }

    /// The same for numbers of 32 bits.
    pub fn take_halves(&mut self, count: usize) -> usize {
        self.take(count.div_ceil(2))
    }
}

/// Writes items of `width` words, by several threads where there are many.
pub(crate) fn fill(words: &mut [u64], width: usize, write: impl Fn(usize, &mut [u64]) + Sync) {
    let run = |first: usize, words: &mut [u64]| {
        words.chunks_exact_mut(width).enumerate().for_each(|(i, item)| write(first + i, item));
    };
    if words.len() >= 4 * PIECE * width && rayon::current_num_threads() > 1 {
        let pieces = words.par_chunks_mut(PIECE * width).enumerate();
        pieces.for_each(|(k, words)| run(k * PIECE, words));
    } else {
        run(0, words);
    }
}

/// Two numbers a word.
pub(crate) fn fill_pairs(words: &mut [u64], from: &[u32]) {
    fill(words, 1, |i, word| {
        let high = from.get(2 * i + 1).copied().unwrap_or(0);
        word[0] = u64::from(from[2 * i]) | u64::from(high) << 32;
    });
}

fn three(field: &[Vec<f64>; 3], i: usize, fourth: f64) -> [u64; 4] {
    [field[0][i], field[1][i], field[2][i], fourth].map(f64::to_bits)
}

/// What a set is called on the device, and its numbers.
pub(crate) fn code(set: Set) -> (u32, [f64; 2]) {
    match set {
        Set::Free => (0, [0.0; 2]),
        Set::NonNegative => (1, [0.0; 2]),
        Set::Interval { lo, hi } => (2, [lo, hi]),
        Set::Friction2 { mu } => (3, [mu, 0.0]),
        Set::Friction3 { mu } => (4, [mu, 0.0]),
        Set::Rolling5 { mu, mu_r } => (5, [mu, mu_r]),
    }
}

/// Words of the input and of the working memory, and the arguments of all kernels, whose addresses are words
/// into either: inputs from 0 on, the rest from `input` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    pub args: Args,
    pub input: usize,
    pub work: usize,
}

impl Packed {
    /// Turns places into addresses.
    pub fn at(&self, input: u64, work: u64) -> Args {
        let mut args = self.args;
        let absent = u64::MAX;
        let place = |at: &mut u64, base: u64| *at = if *at == absent { 0 } else { base + 8 * *at };
        for at in [
            &mut args.normal,
            &mut args.arm_a,
            &mut args.arm_b,
            &mut args.drift,
            &mut args.soft,
            &mut args.sides,
            &mut args.first_row,
            &mut args.kind,
            &mut args.limits,
            &mut args.jacobian,
            &mut args.bias,
            &mut args.compliance,
            &mut args.mass,
            &mut args.free,
            &mut args.first_entry,
            &mut args.first_general,
            &mut args.entry,
            &mut args.first_part,
            &mut args.part,
            &mut args.first_value,
            &mut args.column,
            &mut args.value,
            &mut args.block_of,
            &mut args.diagonal,
            &mut args.guess,
        ] {
            place(at, input);
        }
        for at in [
            &mut args.control,
            &mut args.scale,
            &mut args.share,
            &mut args.gamma,
            &mut args.force,
            &mut args.velocity,
            &mut args.ahead,
            &mut args.part_sums,
            &mut args.block_sums,
            &mut args.body_sums,
            &mut args.rows,
        ] {
            place(at, work);
        }
        args
    }
}

/// Writes a problem and a guess into host memory.
pub(crate) fn pack(
    p: &Bodies,
    guess: Option<&[f64]>,
    lists: &mut Incidence,
    to: &mut HostMemory,
) -> Result<Packed, Error> {
    let (n, general, bodies) = (p.points.len(), p.general.a.len(), p.bodies());
    let (blocks, general_rows) = (n + general, p.general.jacobian.len());
    if blocks.max(bodies) >= (u32::MAX / 2) as usize {
        return Err(Error::Unsupported(format!(
            "{blocks} blocks and {bodies} bodies are too many to number"
        )));
    }
    lists.fill(p);
    let mut places = Places { next: 0 };
    let halves = |count: usize| count.div_ceil(2);
    let mut take = |words: usize| if words == 0 { u64::MAX } else { places.take(words) as u64 };
    let mut args = Args {
        normal: take(4 * n),
        arm_a: take(4 * n),
        arm_b: take(4 * n),
        drift: take(if p.points.drift[0].is_empty() { 0 } else { 4 * n }),
        soft: take(if p.points.compliance[0].is_empty() { 0 } else { 2 * n }),
        sides: take(blocks),
        first_row: take(halves(p.general.first_row.len())),
        kind: take(halves(general)),
        limits: take(2 * general),
        jacobian: take(12 * general_rows),
        bias: take(general_rows),
        compliance: take(p.general.compliance.len()),
        mass: take(8 * bodies),
        free: take(8 * bodies),
        first_entry: take(halves(bodies + 1)),
        first_general: take(halves(bodies)),
        entry: take(halves(lists.entry.len())),
        first_part: take(halves(lists.first_part.len())),
        part: take(lists.parts.len() / 2),
        guess: take(guess.map_or(0, <[f64]>::len)),
        parts: lists.parts.len() as u32 / 2,
        bodies: bodies as u32,
        points: n as u32,
        blocks: blocks as u32,
        general_rows: general_rows as u32,
        width: 8,
        ..ABSENT
    };
    let input = places.next;
    to.reserve(input)?;
    write(p, guess, lists, &args, to.words());
    let work = working_memory(&mut args);
    Ok(Packed { args, input, work })
}

/// Nothing is there.
pub(crate) const ABSENT: Args = Args {
    control: u64::MAX,
    normal: u64::MAX,
    arm_a: u64::MAX,
    arm_b: u64::MAX,
    drift: u64::MAX,
    soft: u64::MAX,
    sides: u64::MAX,
    first_row: u64::MAX,
    kind: u64::MAX,
    limits: u64::MAX,
    jacobian: u64::MAX,
    bias: u64::MAX,
    compliance: u64::MAX,
    mass: u64::MAX,
    free: u64::MAX,
    first_entry: u64::MAX,
    first_general: u64::MAX,
    entry: u64::MAX,
    first_part: u64::MAX,
    part: u64::MAX,
    first_value: u64::MAX,
    column: u64::MAX,
    value: u64::MAX,
    block_of: u64::MAX,
    diagonal: u64::MAX,
    guess: u64::MAX,
    scale: u64::MAX,
    share: u64::MAX,
    gamma: u64::MAX,
    force: u64::MAX,
    velocity: u64::MAX,
    ahead: u64::MAX,
    part_sums: u64::MAX,
    block_sums: u64::MAX,
    body_sums: u64::MAX,
    rows: u64::MAX,
    gamma_stride: 0,
    bodies: 0,
    points: 0,
    blocks: 0,
    general_rows: 0,
    width: 0,
    parts: 0,
};

/// Places of what the device works on, by the counts of `args`; how many words that takes.
pub(crate) fn working_memory(args: &mut Args) -> usize {
    let [n, general_rows, blocks, bodies, width] =
        [args.points, args.general_rows, args.blocks, args.bodies, args.width].map(|x| x as usize);
    let stride = (4 * n + general_rows).next_multiple_of(ALIGNED);
    let mut places = Places { next: 0 };
    let mut take = |words: usize| places.take(words) as u64;
    args.control = take(CONTROL);
    args.rows = take(3 * n + general_rows);
    args.scale = take(4 * blocks);
    args.share = take(2 * blocks);
    args.gamma = take(PLACES * stride);
    args.force = take(PLACES * width * bodies);
    args.velocity = take(PLACES * width * bodies);
    args.ahead = take(2 * width * bodies);
    args.part_sums = take(8 * args.parts as usize);
    args.block_sums = take(SUMS * blocks.div_ceil(CHUNK));
    args.body_sums = take(SUMS * bodies.div_ceil(CHUNK));
    args.gamma_stride = stride as u64;
    places.next
}

fn write(p: &Bodies, guess: Option<&[f64]>, lists: &Incidence, args: &Args, words: &mut [u64]) {
    let (q, g, n) = (&p.points, &p.general, p.points.len());
    let mut array = |at: u64, count: usize, width: usize, write: &(dyn Fn(usize, &mut [u64]) + Sync)| {
        if at != u64::MAX {
            fill(&mut words[at as usize..at as usize + count * width], width, write);
        }
    };
    array(args.normal, n, 4, &|i, to| to.copy_from_slice(&three(&q.normal, i, q.bias[i])));
    array(args.arm_a, n, 4, &|i, to| to.copy_from_slice(&three(&q.arm_a, i, q.mu[i])));
    array(args.arm_b, n, 4, &|i, to| to.copy_from_slice(&three(&q.arm_b, i, 0.0)));
    array(args.drift, n, 4, &|i, to| to.copy_from_slice(&three(&q.drift, i, 0.0)));
    let soft = &q.compliance;
    array(args.soft, n, 2, &|i, to| to.copy_from_slice(&[soft[0][i], soft[1][i]].map(f64::to_bits)));
    array(args.sides, n + g.a.len(), 1, &|i, to| {
        let (a, b) = match i.checked_sub(n) {
            None => (q.a[i], q.b[i]),
            Some(i) => (g.a[i], g.b[i]),
        };
        to[0] = u64::from(a) | u64::from(b) << 32;
    });
    array(args.limits, g.a.len(), 2, &|i, to| to.copy_from_slice(&code(g.set[i]).1.map(f64::to_bits)));
    array(args.jacobian, g.jacobian.len(), 12, &|i, to| {
        to.copy_from_slice(&g.jacobian[i].map(f64::to_bits));
    });
    array(args.bias, g.bias.len(), 1, &|i, to| to[0] = g.bias[i].to_bits());
    array(args.compliance, g.compliance.len(), 1, &|i, to| to[0] = g.compliance[i].to_bits());
    array(args.mass, p.bodies(), 8, &|i, to| {
        let [xx, yy, zz, xy, xz, yz] = p.inv_inertia[i];
        to.copy_from_slice(&[p.inv_mass[i], 0.0, xx, yy, zz, xy, xz, yz].map(f64::to_bits));
    });
    array(args.free, p.bodies(), 8, &|i, to| {
        let [x, y, z, a, b, c] = p.v_free[i];
        to.copy_from_slice(&[x, y, z, 0.0, a, b, c, 0.0].map(f64::to_bits));
    });
    if let Some(guess) = guess {
        array(args.guess, guess.len(), 1, &|i, to| to[0] = guess[i].to_bits());
    }
    let kinds: Vec<u32> = g.set.iter().map(|set| code(*set).0).collect();
    for (at, from) in [
        (args.first_row, &g.first_row),
        (args.kind, &kinds),
        (args.first_entry, &lists.first),
        (args.first_general, &lists.first_general),
        (args.entry, &lists.entry),
        (args.first_part, &lists.first_part),
        (args.part, &lists.parts),
    ] {
        if at != u64::MAX {
            fill_pairs(&mut words[at as usize..at as usize + from.len().div_ceil(2)], from);
        }
    }
}
