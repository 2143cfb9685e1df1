//! Files of named tables: what recordings need of a container, and no more. HDF5 is the one there is
//! (`hdf5.rs`).

use std::path::Path;

use super::RecordError;

/// A table's numbers or texts, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
    Text(Vec<String>),
}

impl Values {
    /// Numbers in the precision that was asked for.
    pub fn real(values: Vec<f64>, double: bool) -> Self {
        if double { Self::F64(values) } else { Self::F32(values.into_iter().map(|x| x as f32).collect()) }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::F32(x) => x.len(),
            Self::F64(x) => x.len(),
            Self::I64(x) => x.len(),
            Self::Text(x) => x.len(),
        }
    }
}

/// A table: columns of 1 are a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    /// `group/name`, or deeper.
    pub path: String,
    pub values: Values,
    pub columns: usize,
}

impl Table {
    pub fn new(path: impl Into<String>, values: Values, columns: usize) -> Self {
        Self { path: path.into(), values, columns }
    }
}

/// A part of a table that lies in another file.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Name of the file, in the same folder.
    pub file: String,
    pub rows: usize,
}

/// A table put together from parts.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    pub path: String,
    /// Path of the parts in their files.
    pub source: String,
    /// Whether the parts are numbers in double precision, single, or whole numbers.
    pub kind: Values,
    pub columns: usize,
}

/// Writes whole files.
pub(super) trait Store: Send {
    /// A file with notes at its top; closed when this returns, and not yet sure to outlive a power cut.
    fn write(&self, to: &Path, notes: &[(&str, String)], tables: &[Table]) -> Result<(), RecordError>;

    /// A file in the VTKHDF form: notes of groups, tables of its own, and tables put together from parts, one
    /// after the other.
    fn write_index(
        &self,
        to: &Path,
        steps: usize,
        own: &[Table],
        joined: &[Joined],
        parts: &[Part],
    ) -> Result<(), RecordError>;
}

/// Reads files.
pub(super) trait Source {
    /// A note at the top.
    fn note(&self, name: &str) -> Result<String, RecordError>;
    /// Whether there is such a table.
    fn has(&self, path: &str) -> bool;
    /// Numbers of any kind, from row `start` on, `rows` of them.
    fn reals(&self, path: &str, start: usize, rows: usize) -> Result<Vec<f64>, RecordError>;
    fn whole(&self, path: &str, start: usize, rows: usize) -> Result<Vec<i64>, RecordError>;
    fn texts(&self, path: &str) -> Result<Vec<String>, RecordError>;
    /// Rows of a table.
    fn rows(&self, path: &str) -> Result<usize, RecordError>;
}
