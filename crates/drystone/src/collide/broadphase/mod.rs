//! Broad phase: all pairs of boxes that overlap, without looking at all pairs.
//!
//! Three ways to the same answer, chosen by [`Kind`]: [`Brute`] looks at every pair and is what the others
//! are tested against, [`Sap`] keeps sorted lists of box ends from call to call, [`Grid`] sorts the boxes
//! into cells afresh each time. The answer is a function of the boxes alone, sorted, so that neither the way
//! chosen, nor the number of threads, nor what was asked before can change a simulation.
//!
//! # Which is faster
//! Processor time in milliseconds a call, on one core of a current server, for n bodies between five walls
//! that all move by 1 % of a typical size between calls. Grains: of one size on a jittered lattice, 3.4 pairs
//! each. Power law: on the same lattice, sizes of density ∝ d^(-3.5) from 0.3 upwards. "Sweep" is the sweep
//! along a single axis that [`Sap`] was weighed against.
//!
//! | n       | grains: grid | sap  | sweep | power law: grid | sap  | sweep |
//! |--------:|-------------:|-----:|------:|----------------:|-----:|------:|
//! | 10³     | 0.46         | 0.18 | 0.40  | 0.51            | 0.13 | 0.16  |
//! | 1.1·10⁴ | 2.9          | 6.2  | 16    | 3.8             | 1.7  | 6.6   |
//! | 9.7·10⁴ | 38           | 201  | 555   | 35              | 69   | 291   |
//! | 10⁶     | 370          | 2214 |       |                 |      |       |
//!
//! The grid takes time in proportion to n and does not care how far bodies move; sweep and prune gains where
//! they move less (51 ms instead of 201 ms at 0.1 %). [`choose`] follows from this.

mod brute;
mod bucket;
mod grid;
mod level;
mod sap;
mod subdivide;

pub use brute::Brute;
pub use grid::Grid;
pub use sap::Sap;

use super::Aabb;

/// A way to find the overlapping pairs of a set of boxes.
pub trait BroadPhase: Send {
    /// Its name, as [`Kind::from_name`] takes it.
    fn name(&self) -> &'static str;

    /// Replaces the content of `pairs` by every pair (i, j), i < j, of boxes that overlap (touching counts)
    /// and of which at least one is movable, in lexicographic order, each once.
    ///
    /// Bounds may be infinite. A box without a finite point (such as one with min = +∞ and max = -∞, for a
    /// slot whose body was removed) or with a NaN pairs with nothing. The number of boxes and which of them
    /// are movable may differ from call to call; the answer depends on the arguments only.
    ///
    /// # Panics
    /// When `boxes` and `movable` differ in length.
    fn pairs(&mut self, boxes: &[Aabb], movable: &[bool], pairs: &mut Vec<(u32, u32)>);

    /// Gives back memory whose contents the next call has no use for.
    fn release(&mut self) {}
}

/// The broad phases there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// [`Brute`]: every pair; for tests and a handful of bodies.
    Brute,
    /// [`Sap`]: sweep and prune, for bodies of all sizes that move little between calls.
    Sap,
    /// [`Grid`]: cells, for many bodies.
    Grid,
}

impl Kind {
    /// The names that [`Kind::from_name`] knows.
    pub const NAMES: [&'static str; 3] = ["brute", "sap", "grid"];

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Kind::Brute, Kind::Sap, Kind::Grid].into_iter().find(|kind| kind.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A fresh broad phase of the given kind.
pub fn make(kind: Kind) -> Box<dyn BroadPhase> {
    match kind {
        Kind::Brute => Box::new(Brute),
        Kind::Sap => Box::<Sap>::default(),
        Kind::Grid => Box::<Grid>::default(),
    }
}

/// Fewer movable boxes than this are not worth a grid: about where the columns of the table above cross.
const MIN_GRID: usize = 4000;

/// From here on sweep and prune loses whatever the sizes.
const MAX_SAP: usize = 30_000;

/// Movable boxes are alike when all but one in a hundred are at most so many times the median. (A few
/// boulders among the grains are no reason to give up the grid: they have levels of their own.)
const ALIKE: f64 = 4.0;

/// The kind that should be fastest for boxes like these: a grid for many of like size, otherwise sweep and
/// prune.
pub fn choose(boxes: &[Aabb], movable: &[bool]) -> Kind {
    let mut sizes: Vec<f64> =
        boxes.iter().zip(movable).filter(|(b, m)| **m && occupied(b)).map(|(b, _)| extent(b)).collect();
    if sizes.len() < MIN_GRID {
        return Kind::Sap;
    }
    if sizes.len() >= MAX_SAP {
        return Kind::Grid;
    }
    let n = sizes.len();
    let mut part = |rank: usize| *sizes.select_nth_unstable_by(rank, f64::total_cmp).1;
    let (median, large) = (part(n / 2), part(n - 1 - n / 100));
    if large <= ALIKE * median { Kind::Grid } else { Kind::Sap }
}

/// Whether the box holds a finite point; not so for the box of a removed body, nor with a NaN among the
/// bounds.
fn occupied(bounds: &Aabb) -> bool {
    bounds.min.cmple(bounds.max).all()
        && bounds.min.max_element() < f64::INFINITY
        && bounds.max.min_element() > f64::NEG_INFINITY
}

/// The longest side.
fn extent(bounds: &Aabb) -> f64 {
    (bounds.max - bounds.min).max_element()
}

/// The pair as it is reported: smaller slot first.
fn ordered(a: u32, b: u32) -> (u32, u32) {
    if a < b { (a, b) } else { (b, a) }
}

/// Checks what every broad phase asks of its arguments.
fn check(boxes: &[Aabb], movable: &[bool]) {
    assert_eq!(boxes.len(), movable.len(), "one flag for each box");
    assert!(boxes.len() <= (u32::MAX >> 1) as usize, "slots are numbered with 31 bits");
}
