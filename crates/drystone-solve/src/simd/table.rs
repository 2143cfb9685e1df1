//! Tables of rows that many contacts share: read and written by the numbers of the rows, from several threads
//! at once.

use std::marker::PhantomData;

use super::F64Lanes;

/// Eight numbers of a body, one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Row64(pub [f64; 8]);

impl Row64 {
    /// All numbers of all rows.
    pub fn flat(rows: &mut [Self]) -> &mut [f64] {
        // SAFETY: a row is eight numbers and nothing else.
        unsafe { std::slice::from_raw_parts_mut(rows.as_mut_ptr().cast(), 8 * rows.len()) }
    }
}

/// Rows of eight numbers (a body's velocity and mass) or of six (its inertia).
#[derive(Clone, Copy)]
pub(crate) struct Table<'a, T>(*const T, PhantomData<&'a [T]>);

/// The same, to be written too.
#[derive(Clone, Copy)]
pub(crate) struct TableMut<'a, T>(*mut T, PhantomData<&'a mut [T]>);

// SAFETY: whoever reads or writes a row promises that no other thread does, or that none writes.
unsafe impl<T: Sync> Sync for Table<'_, T> {}
unsafe impl<T: Send> Sync for TableMut<'_, T> {}

/// The first `COUNT` rows of `ids`; the others are the first one again.
///
/// # Safety
/// `ids` are `COUNT` numbers of rows, which nobody writes meanwhile.
#[inline(always)]
unsafe fn pick<'a, V: F64Lanes, T>(table: *const T, ids: *const u32) -> [&'a T; 8] {
    // SAFETY: as the caller promises.
    unsafe {
        let mut rows = [&*table.add(*ids as usize); 8];
        let mut k = 1;
        while k < V::COUNT {
            rows[k] = &*table.add(*ids.add(k) as usize);
            k += 1;
        }
        rows
    }
}

impl<'a, T> Table<'a, T> {
    pub fn new(rows: &'a [T]) -> Self {
        Self(rows.as_ptr(), PhantomData)
    }
}

impl Table<'_, Row64> {
    /// The columns of rows `ids`.
    ///
    /// # Safety
    /// `ids` are `COUNT` numbers of rows, which nobody writes meanwhile.
    #[inline(always)]
    pub unsafe fn gather<V: F64Lanes>(&self, ids: *const u32) -> [V; 8] {
        // SAFETY: as the caller promises.
        V::columns(unsafe { pick::<V, _>(self.0, ids) }.map(|row| &row.0))
    }
}

impl Table<'_, [f64; 6]> {
    /// The columns of rows `ids`.
    ///
    /// # Safety
    /// `ids` are `COUNT` numbers of rows, which nobody writes meanwhile.
    #[inline(always)]
    pub unsafe fn gather<V: F64Lanes>(&self, ids: *const u32) -> [V; 6] {
        // SAFETY: as the caller promises.
        V::columns_of_six(unsafe { pick::<V, _>(self.0, ids) })
    }
}

impl<'a> TableMut<'a, Row64> {
    pub fn new(rows: &'a mut [Row64]) -> Self {
        Self(rows.as_mut_ptr(), PhantomData)
    }

    /// The same rows, to be read.
    pub fn read(&self) -> Table<'a, Row64> {
        Table(self.0, PhantomData)
    }

    /// The columns of rows `ids`.
    ///
    /// # Safety
    /// As [`Table::gather`].
    #[inline(always)]
    pub unsafe fn gather<V: F64Lanes>(&self, ids: *const u32) -> [V; 8] {
        // SAFETY: as the caller promises.
        unsafe { self.read().gather(ids) }
    }

    /// Writes whole rows: the reverse of `gather`.
    ///
    /// # Safety
    /// `ids` are `COUNT` numbers of rows, which nobody else uses meanwhile.
    #[inline(always)]
    pub unsafe fn scatter<V: F64Lanes>(&self, columns: [V; 8], ids: *const u32) {
        let lines = V::lines(columns);
        let mut k = 0;
        while k < V::COUNT {
            // SAFETY: as the caller promises.
            V::store_line(lines[k], unsafe { &mut (*self.0.add(*ids.add(k) as usize)).0 });
            k += 1;
        }
    }

    /// Adds to the rows one after the other: a row may occur more than once.
    ///
    /// # Safety
    /// As [`TableMut::scatter`].
    #[inline(always)]
    pub unsafe fn add<V: F64Lanes>(&self, columns: [V; 8], ids: *const u32) {
        let lines = V::lines(columns);
        let mut k = 0;
        while k < V::COUNT {
            // SAFETY: as the caller promises.
            V::add_line(lines[k], unsafe { &mut (*self.0.add(*ids.add(k) as usize)).0 });
            k += 1;
        }
    }
}
