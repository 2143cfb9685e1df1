//! The engine's own memory as NumPy arrays, without copies.
//!
//! Arrays never change. They look at the memory of the state as it is; before the world changes anything, it
//! hands the columns that somebody still looks at over to them, and goes on with copies. [`Inside`] sees to
//! it: nobody gets a `&mut World` without. So nothing is copied unless an array is kept, and nothing is read
//! that somebody writes.

use std::mem::take;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock, Weak};

use drystone::{Contact, World};
use glam::{DQuat, DVec3};
use numpy::ndarray::{ArrayView, Dimension, ShapeBuilder, StrideShape};
use numpy::{Element, Ix1, Ix2, PyArray, PyArrayMethods};
use pyo3::prelude::*;

use crate::errors::input;

/// What a world lends.
#[derive(Clone, Copy)]
pub enum What {
    Centres,
    Rotations,
    Velocities,
    Spins,
    Contacts,
}

/// A column that the world has parted with.
enum Memory {
    Vectors { _kept: Vec<DVec3> },
    Rotations { _kept: Vec<DQuat> },
    Contacts { _kept: Vec<Contact> },
}

/// A column as it was at one moment: the world's memory, or, once it has parted with it, that here.
#[derive(Default)]
pub struct Column(OnceLock<Memory>);

/// Columns that somebody looks at.
#[derive(Default)]
struct Lent([Weak<Column>; 5]);

/// A world, and who looks at its memory.
pub struct Inside {
    world: World,
    lent: Lent,
}

impl Inside {
    pub fn new(world: World) -> Self {
        Self { world, lent: Lent::default() }
    }

    /// Hands over what somebody looks at. The world may be changed afterwards.
    fn part(&mut self) -> &mut World {
        let world = &mut self.world;
        let mut hand = |what: What, memory: fn(&mut World) -> Memory| {
            // Who still had it when it was looked for may let go of it meanwhile: that does no harm.
            let kept = take(&mut self.lent.0[what as usize]).upgrade();
            if let Some(column) = kept {
                let _first = column.0.set(memory(world));
            }
        };
        hand(What::Centres, |w| Memory::Vectors { _kept: w.part_with_positions() });
        hand(What::Rotations, |w| Memory::Rotations { _kept: w.part_with_rotations() });
        hand(What::Velocities, |w| Memory::Vectors { _kept: w.part_with_velocities() });
        hand(What::Spins, |w| Memory::Vectors { _kept: w.part_with_angular_velocities() });
        hand(What::Contacts, |w| Memory::Contacts { _kept: w.part_with_contacts() });
        world
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.part();
    }
}

impl Deref for Inside {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Inside {
    fn deref_mut(&mut self) -> &mut World {
        self.part()
    }
}

impl Inside {
    /// The column as it is now, for as long as somebody keeps what this returns.
    fn lend(&mut self, what: What) -> Arc<Column> {
        let held = &mut self.lent.0[what as usize];
        held.upgrade().unwrap_or_else(|| {
            let column = Arc::new(Column::default());
            *held = Arc::downgrade(&column);
            column
        })
    }
}

/// What an array shows a row of.
///
/// # Safety
/// A value is `N` numbers of this type, one beside the other, and nothing else.
pub unsafe trait Row {
    type Number: Element;
    const N: usize;
}

// SAFETY: these are C structures of that many numbers, and arrays.
unsafe impl Row for DVec3 {
    type Number = f64;
    const N: usize = 3;
}
// SAFETY: as above.
unsafe impl Row for DQuat {
    type Number = f64;
    const N: usize = 4;
}
// SAFETY: as above.
unsafe impl Row for [u32; 2] {
    type Number = u32;
    const N: usize = 2;
}
// SAFETY: it is one.
unsafe impl Row for f64 {
    type Number = f64;
    const N: usize = 1;
}

/// A field of all things in a column that is lent.
pub struct Rows<F: Row> {
    column: Arc<Column>,
    place: *const F::Number,
    rows: usize,
    /// From row to row, in numbers.
    stride: usize,
}

// SAFETY: they are looked at only, through whoever holds the column; nobody writes there while somebody does
// (see the module).
unsafe impl<F: Row> Send for Rows<F> {}

impl<F: Row> Rows<F> {
    /// The `field` of `all`, which are the column `what`.
    fn new<S>(world: &mut Inside, what: What, all: fn(&World) -> &[S], field: fn(&S) -> &F) -> Self {
        let number = size_of::<F::Number>();
        assert!(size_of::<F>() == F::N * number && size_of::<S>().is_multiple_of(number));
        let column = world.lend(what);
        let all = all(world);
        // From the place of the first thing, not of its field: the others are reached from there.
        let within = |first: &S| {
            let at = (field(first) as *const F as usize).wrapping_sub(first as *const S as usize);
            assert!(at <= size_of::<S>() - size_of::<F>());
            at
        };
        let place = all.as_ptr().cast::<u8>().wrapping_add(all.first().map_or(0, within));
        Self { column, place: place.cast(), rows: all.len(), stride: size_of::<S>() / number }
    }

    /// One number a row.
    pub fn numbers(self, py: Python<'_>) -> PyResult<Py<PyArray<F::Number, Ix1>>> {
        assert!(F::N == 1);
        let shape = (self.rows,).strides((self.stride,));
        self.array(py, shape)
    }

    /// All numbers of each row.
    pub fn table(self, py: Python<'_>) -> PyResult<Py<PyArray<F::Number, Ix2>>> {
        let shape = (self.rows, F::N).strides((self.stride, 1));
        self.array(py, shape)
    }

    fn array<D: Dimension>(
        self,
        py: Python<'_>,
        shape: StrideShape<D>,
    ) -> PyResult<Py<PyArray<F::Number, D>>> {
        let lease = Bound::new(py, Lease { _column: self.column })?;
        // SAFETY: that many rows are there, and stay as they are for as long as the lease has the column,
        // wherever the world goes meanwhile.
        let seen = unsafe { ArrayView::from_shape_ptr(shape, self.place) };
        // SAFETY: the lease lives as long as the array. Nobody can write through it: it is made read-only
        // here, before anybody has it, and NumPy takes that back only where the base can be written to.
        let array = unsafe { PyArray::borrow_from_array(&seen, lease.into_any()) };
        array.try_readwrite().map_err(input)?.make_nonwriteable();
        Ok(array.unbind())
    }
}

/// Keeps a column for an array.
#[pyclass(frozen, name = "_Lease", module = "drystone")]
struct Lease {
    _column: Arc<Column>,
}

/// Vectors of the state: all but rotations and contacts.
pub fn vectors(world: &mut Inside, what: What) -> Rows<DVec3> {
    let all: fn(&World) -> &[DVec3] = match what {
        What::Centres => |w| &w.state().position,
        What::Velocities => |w| &w.state().velocity,
        What::Spins => |w| &w.state().omega,
        What::Rotations | What::Contacts => panic!("these are no vectors"),
    };
    Rows::new(world, what, all, |x| x)
}

/// Rotations of the state.
pub fn rotations(world: &mut Inside) -> Rows<DQuat> {
    Rows::new(world, What::Rotations, |w| &w.state().rotation, |q| q)
}

/// A field of the contacts.
pub fn contacts<F: Row>(world: &mut Inside, field: fn(&Contact) -> &F) -> Rows<F> {
    Rows::new(world, What::Contacts, World::contacts, field)
}
