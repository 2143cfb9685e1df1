//! Tables of rows that many contacts share: read and written by the numbers of the rows, by several threads
//! at once.

use super::F64Lanes;
use crate::parallel::Shared;

/// Eight numbers of a body, one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Row64(pub [f64; 8]);

impl Row64 {
    /// All numbers of all rows: loops over eight at a time take twice as long.
    pub fn flat(rows: &mut [Self]) -> &mut [f64] {
        // SAFETY: a row is eight numbers and nothing else.
        unsafe { std::slice::from_raw_parts_mut(rows.as_mut_ptr().cast(), 8 * rows.len()) }
    }
}

/// The bodies of some contacts, by side. All of their numbers are below a bound, so that no look at a row has
/// to ask again.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    ids: [&'a [u32]; 2],
    bound: usize,
}

impl<'a> Ends<'a> {
    /// Panics unless all numbers are below `bound`.
    #[inline(always)]
    pub fn new(ids: [&'a [u32]; 2], bound: usize) -> Self {
        for side in ids {
            let most = side.iter().fold(0, |most: u32, id| most.max(*id));
            assert!(side.is_empty() || (most as usize) < bound, "body {most}, but there are {bound}");
        }
        Self { ids, bound }
    }

    /// Bodies of contacts `i .. i + COUNT` on one side.
    #[inline(always)]
    fn of<V: F64Lanes>(&self, side: usize, i: usize) -> &'a [u32] {
        &self.ids[side][i..i + V::COUNT]
    }
}

/// The first `COUNT` rows of `ids`, of which there are as many; the others are the first one again.
#[inline(always)]
fn pick<'a, V: F64Lanes, T>(ids: &[u32], row: impl Fn(usize) -> &'a T) -> [&'a T; 8] {
    let mut rows = [row(ids[0] as usize); 8];
    let mut k = 1;
    while k < V::COUNT {
        rows[k] = row(ids[k] as usize);
        k += 1;
    }
    rows
}

/// Rows of eight numbers (a body's velocity and mass) or of six (its inertia).
#[derive(Clone, Copy)]
pub(crate) struct Table<'a, T>(pub &'a [T]);

impl<'a, T> Table<'a, T> {
    #[inline(always)]
    fn pick<V: F64Lanes>(&self, ends: &Ends, side: usize, i: usize) -> [&'a T; 8] {
        assert!(ends.bound <= self.0.len());
        // SAFETY: all ends are below their bound, and there are as many rows.
        pick::<V, T>(ends.of::<V>(side, i), |row| unsafe { self.0.get_unchecked(row) })
    }
}

impl Table<'_, Row64> {
    /// The columns of the rows of contacts `i .. i + COUNT` on one side.
    #[inline(always)]
    pub fn gather<V: F64Lanes>(&self, ends: &Ends, side: usize, i: usize) -> [V; 8] {
        V::columns(self.pick::<V>(ends, side, i).map(|row| &row.0))
    }
}

impl Table<'_, [f64; 6]> {
    /// The columns of the rows of contacts `i .. i + COUNT` on one side.
    #[inline(always)]
    pub fn gather<V: F64Lanes>(&self, ends: &Ends, side: usize, i: usize) -> [V; 6] {
        V::columns_of_six(self.pick::<V>(ends, side, i))
    }
}

/// Rows that several threads use, each those of its own contacts.
pub(crate) struct SharedRows<'a> {
    rows: Shared<Row64>,
    count: usize,
    lent: std::marker::PhantomData<&'a mut [Row64]>,
}

impl<'a> SharedRows<'a> {
    pub fn new(rows: &'a mut [Row64]) -> Self {
        Self { count: rows.len(), rows: Shared(rows.as_mut_ptr()), lent: std::marker::PhantomData }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The rows of the bodies of some contacts.
    ///
    /// # Safety
    /// Nobody else uses a row of these bodies as long as the result is there.
    #[inline(always)]
    pub unsafe fn own(&self, ends: Ends<'a>) -> OwnRows<'a> {
        assert!(ends.bound <= self.count);
        OwnRows { rows: self.rows, ends }
    }
}

/// Rows that one thread has for itself: those of the ends of some contacts. See [`SharedRows::own`].
pub(crate) struct OwnRows<'a> {
    rows: Shared<Row64>,
    ends: Ends<'a>,
}

impl OwnRows<'_> {
    /// The columns of the rows of contacts `i .. i + COUNT` on one side.
    #[inline(always)]
    pub fn gather<V: F64Lanes>(&self, side: usize, i: usize) -> [V; 8] {
        // SAFETY: ends have rows, and nobody else uses them.
        V::columns(pick::<V, _>(self.ends.of::<V>(side, i), |row| unsafe { &(*self.rows.at(row)).0 }))
    }

    /// Writes whole rows: the reverse of `gather`.
    #[inline(always)]
    pub fn scatter<V: F64Lanes>(&mut self, columns: [V; 8], side: usize, i: usize) {
        let (lines, ids) = (V::lines(columns), self.ends.of::<V>(side, i));
        let mut k = 0;
        while k < V::COUNT {
            // SAFETY: as in `gather`.
            V::store_line(lines[k], unsafe { &mut (*self.rows.at(ids[k] as usize)).0 });
            k += 1;
        }
    }

    /// Adds to the rows one after the other: a row may occur more than once.
    #[inline(always)]
    pub fn add<V: F64Lanes>(&mut self, columns: [V; 8], side: usize, i: usize) {
        let (lines, ids) = (V::lines(columns), self.ends.of::<V>(side, i));
        let mut k = 0;
        while k < V::COUNT {
            // SAFETY: as in `gather`.
            V::add_line(lines[k], unsafe { &mut (*self.rows.at(ids[k] as usize)).0 });
            k += 1;
        }
    }
}
