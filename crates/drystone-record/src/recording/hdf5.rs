//! HDF5 by `rust-hdf5`. Whoever wants another library changes this file alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rust_hdf5::{DatatypeMessage, H5File, H5Group, H5Type, Hyperslab, RegularHyperslab, Selection};

use super::RecordError;
use super::store::{Joined, Part, Source, Store, Table, Values};

/// Tables of more numbers are compressed, in chunks of about so many.
const CHUNK_NUMBERS: usize = 1 << 15;

/// Writes and reads HDF5.
pub(super) struct Hdf5 {
    /// Whether long tables are compressed.
    pub compress: bool,
}

fn bad(file: &Path, e: impl std::fmt::Display) -> RecordError {
    RecordError::File { file: file.into(), text: e.to_string() }
}

/// Groups of a file by path, made as they are asked for.
struct Groups<'a> {
    file: &'a H5File,
    known: BTreeMap<String, H5Group>,
    compress: bool,
}

impl Groups<'_> {
    fn of(&mut self, path: &str) -> rust_hdf5::Result<&H5Group> {
        if !self.known.contains_key(path) {
            let group = match path.rsplit_once('/') {
                None if path.is_empty() => self.file.root_group(),
                None => self.file.create_group(path)?,
                Some((parent, name)) => self.of(parent)?.create_group(name)?,
            };
            self.known.insert(path.into(), group);
        }
        Ok(&self.known[path])
    }

    fn write(&mut self, table: &Table) -> rust_hdf5::Result<()> {
        let (group, name) = table.path.rsplit_once('/').unwrap_or(("", &table.path));
        let compress = self.compress;
        let group = self.of(group)?;
        match &table.values {
            Values::F32(x) => numbers(group, name, x, table.columns, compress),
            Values::F64(x) => numbers(group, name, x, table.columns, compress),
            Values::I64(x) => numbers(group, name, x, table.columns, compress),
            Values::Text(x) => {
                let texts: Vec<&str> = x.iter().map(String::as_str).collect();
                group.write_vlen_strings(name, &texts).map(|_| ())
            }
        }
    }
}

fn shape(rows: usize, columns: usize) -> Vec<usize> {
    if columns == 1 { vec![rows] } else { vec![rows, columns] }
}

fn numbers<T: H5Type>(
    group: &H5Group,
    name: &str,
    x: &[T],
    columns: usize,
    compress: bool,
) -> rust_hdf5::Result<()> {
    let dims = shape(x.len() / columns, columns);
    let mut builder = group.new_dataset::<T>().shape(&dims);
    if compress && x.len() > CHUNK_NUMBERS {
        let mut chunk = dims.clone();
        chunk[0] = CHUNK_NUMBERS / columns;
        builder = builder.chunk(&chunk).shuffle_deflate(1);
    }
    let set = builder.create(name)?;
    if x.is_empty() { Ok(()) } else { set.write_raw(x) }
}

/// Rows `start` to `start + rows` of a table, as one block: the library writes every block of a selection
/// down, and of single numbers that would be more than the numbers themselves.
fn rows(start: usize, rows: usize, columns: usize) -> Selection {
    let (mut begin, mut block) = (vec![start as u64], vec![rows as u64]);
    if columns > 1 {
        begin.push(0);
        block.push(columns as u64);
    }
    let count = vec![1; begin.len()];
    let form = RegularHyperslab { start: begin, stride: block.clone(), count, block };
    Selection::Hyperslab { rank: form.start.len(), form: Hyperslab::Regular(form) }
}

impl Store for Hdf5 {
    fn write(&self, to: &Path, notes: &[(&str, String)], tables: &[Table]) -> Result<(), RecordError> {
        let written = || {
            let file = H5File::create(to)?;
            for (name, text) in notes {
                file.set_attr_string(name, text)?;
            }
            let mut groups = Groups { file: &file, known: BTreeMap::new(), compress: self.compress };
            tables.iter().try_for_each(|table| groups.write(table))?;
            drop(groups);
            file.close_no_sync()
        };
        written().map_err(|e| bad(to, e))
    }

    fn write_index(
        &self,
        to: &Path,
        steps: usize,
        own: &[Table],
        joined: &[Joined],
        parts: &[Part],
    ) -> Result<(), RecordError> {
        let written = || {
            let file = H5File::create(to)?;
            let mut groups = Groups { file: &file, known: BTreeMap::new(), compress: self.compress };
            let top = groups.of("VTKHDF")?;
            top.set_attr_array_numeric("Version", &[2i64, 3])?;
            let ascii = DatatypeMessage::FixedString { size: 8, padding: 1, charset: 0 };
            top.set_attr_typed("Type", ascii, b"PolyData".to_vec())?;
            groups.of("VTKHDF/Steps")?.set_attr_numeric("NSteps", &(steps as i64))?;
            own.iter().try_for_each(|table| groups.write(table))?;
            for table in joined {
                let (group, name) = table.path.rsplit_once('/').unwrap_or(("", &table.path));
                let group = groups.of(group)?;
                match table.kind {
                    Values::F32(_) => virtually::<f32>(group, name, table, parts)?,
                    Values::F64(_) => virtually::<f64>(group, name, table, parts)?,
                    _ => virtually::<i64>(group, name, table, parts)?,
                }
            }
            drop(groups);
            file.close()
        };
        written().map_err(|e| bad(to, e))
    }
}

fn virtually<T: H5Type>(
    group: &H5Group,
    name: &str,
    table: &Joined,
    parts: &[Part],
) -> rust_hdf5::Result<()> {
    let total: usize = parts.iter().map(|p| p.rows).sum();
    let mut builder = group.new_dataset::<T>().shape(shape(total, table.columns));
    let mut start = 0;
    for part in parts.iter().filter(|p| p.rows > 0) {
        let there = rows(start, part.rows, table.columns);
        let here = rows(0, part.rows, table.columns);
        builder = builder.virtual_mapping(there, &part.file, &table.source, here);
        start += part.rows;
    }
    builder.create(name).map(|_| ())
}

/// A file that is read.
pub(super) struct Opened {
    file: H5File,
    path: PathBuf,
}

impl Opened {
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let options = H5File::options().no_locking();
        Ok(Self { file: options.open(path).map_err(|e| bad(path, e))?, path: path.into() })
    }

    fn table(&self, path: &str) -> Result<rust_hdf5::H5Dataset, RecordError> {
        self.file.dataset(path).map_err(|e| bad(&self.path, format!("{path}: {e}")))
    }
}

/// Where a run of rows begins, and how many of what.
fn slab(shape: &[usize], start: usize, rows: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut begin, mut count) = (vec![0; shape.len()], shape.to_vec());
    (begin[0], count[0]) = (start, rows);
    (begin, count)
}

impl Source for Opened {
    fn note(&self, name: &str) -> Result<String, RecordError> {
        self.file.attr_string(name).map_err(|e| bad(&self.path, format!("{name}: {e}")))
    }

    fn has(&self, path: &str) -> bool {
        self.file.dataset(path).is_ok()
    }

    fn reals(&self, path: &str, start: usize, rows: usize) -> Result<Vec<f64>, RecordError> {
        let set = self.table(path)?;
        if rows == 0 {
            return Ok(Vec::new());
        }
        let (start, count) = slab(&set.shape(), start, rows);
        set.read_numeric_slice_as(&start, &count).map_err(|e| bad(&self.path, format!("{path}: {e}")))
    }

    fn whole(&self, path: &str, start: usize, rows: usize) -> Result<Vec<i64>, RecordError> {
        let set = self.table(path)?;
        if rows == 0 {
            return Ok(Vec::new());
        }
        let (start, count) = slab(&set.shape(), start, rows);
        set.read_slice(&start, &count).map_err(|e| bad(&self.path, format!("{path}: {e}")))
    }

    fn texts(&self, path: &str) -> Result<Vec<String>, RecordError> {
        let set = self.table(path)?;
        set.read_vlen_strings().map_err(|e| bad(&self.path, format!("{path}: {e}")))
    }

    fn rows(&self, path: &str) -> Result<usize, RecordError> {
        Ok(self.table(path)?.shape().first().copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index has a selection for each table and segment, however many rows those have.
    #[test]
    fn a_selection_of_many_rows_is_short() {
        for columns in [1, 3] {
            let bytes = rows(7, 1_000_000, columns).encode().unwrap();
            assert!(bytes.len() < 200, "{} bytes", bytes.len());
        }
    }
}
