//! Tables as Parquet, for pandas, DuckDB and their like: flat ones of whole numbers, real numbers and texts,
//! any of which may be empty.
//!
//! Of the format [<https://parquet.apache.org/docs/file-format/>] only what such a table needs: row groups of
//! one page a column, plain values, gzip. Metadata are in Thrift's compact protocol.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Rows of a group: a reader has one in memory at a time.
const GROUP: usize = 1 << 16;
const MAGIC: &[u8; 4] = b"PAR1";

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64 bits with a sign.
    Whole,
    /// Double precision.
    Real,
    /// UTF-8.
    Text,
}

impl Kind {
    /// The physical type's number.
    fn number(self) -> i64 {
        match self {
            Kind::Whole => 2,
            Kind::Real => 5,
            Kind::Text => 6,
        }
    }
}

/// Makes a Parquet file of a CSV file with a header; `kind` says what a column of a name holds. It appears at
/// once and whole.
///
/// # Errors
/// For files that cannot be read or written, and cells that are not what their column holds.
pub fn from_csv(rows: &Path, to: &Path, kind: fn(&str) -> Kind) -> std::io::Result<()> {
    let beside = to.with_extension("parquet.tmp");
    let written = write(rows, &beside, kind).and_then(|()| std::fs::rename(&beside, to));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn bad(text: String) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, text)
}

fn write(rows: &Path, to: &Path, kind: fn(&str) -> Kind) -> std::io::Result<()> {
    let mut lines = BufReader::new(File::open(rows)?).lines();
    let head = lines.next().ok_or_else(|| bad(format!("{}: has no header", rows.display())))??;
    let columns: Vec<(String, Kind)> =
        cells(&head).into_iter().map(|name| (name.clone(), kind(&name))).collect();
    let mut file = Writer { out: BufWriter::new(File::create(to)?), at: 0, groups: Vec::new(), rows: 0 };
    file.put(MAGIC)?;
    let mut group: Vec<Page> = columns.iter().map(|_| Page::default()).collect();
    let mut count = 0;
    for (number, line) in lines.enumerate() {
        let cells = cells(&line?);
        if cells.len() != columns.len() {
            let text = format!("{} cells instead of {}", cells.len(), columns.len());
            return Err(bad(format!("{}:{}: {text}", rows.display(), number + 2)));
        }
        for ((page, cell), (name, kind)) in group.iter_mut().zip(&cells).zip(&columns) {
            page.add(cell, *kind)
                .map_err(|e| bad(format!("{}:{}: {name}: {e}, got '{cell}'", rows.display(), number + 2)))?;
        }
        count += 1;
        if count == GROUP {
            file.group(&mut group, &columns, count)?;
            count = 0;
        }
    }
    if count > 0 {
        file.group(&mut group, &columns, count)?;
    }
    file.end(&columns)
}

/// The cells of a line of CSV. (Texts of ours have no line breaks.)
fn cells(line: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let (mut inside, mut text) = (false, line.chars().peekable());
    while let Some(c) = text.next() {
        let last = all.len() - 1;
        match c {
            '"' if inside && text.peek() == Some(&'"') => {
                text.next();
                all[last].push('"');
            }
            '"' => inside = !inside,
            ',' if !inside => all.push(String::new()),
            c => all[last].push(c),
        }
    }
    all
}

/// The values of a column in a group.
#[derive(Default)]
struct Page {
    values: Vec<u8>,
    /// One bit a row: whether it has a value.
    there: Vec<u8>,
    rows: usize,
}

impl Page {
    fn add(&mut self, cell: &str, kind: Kind) -> Result<(), &'static str> {
        if self.rows.is_multiple_of(8) {
            self.there.push(0);
        }
        if !cell.is_empty() {
            self.there[self.rows / 8] |= 1 << (self.rows % 8);
            match kind {
                Kind::Whole => {
                    let x: i64 = cell.parse().map_err(|_| "must be a whole number")?;
                    self.values.extend(x.to_le_bytes());
                }
                Kind::Real => {
                    let x: f64 = cell.parse().map_err(|_| "must be a number")?;
                    self.values.extend(x.to_le_bytes());
                }
                Kind::Text => {
                    self.values.extend((cell.len() as u32).to_le_bytes());
                    self.values.extend(cell.as_bytes());
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Header and content, and how long the content is unpacked.
    fn packed(&self) -> std::io::Result<(Vec<u8>, usize)> {
        // One run of bits, in groups of eight [Parquet's run length and bit packing hybrid].
        let mut levels = Vec::new();
        varint(&mut levels, (self.there.len() as u64) << 1 | 1);
        levels.extend(&self.there);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&(levels.len() as u32).to_le_bytes())?;
        gzip.write_all(&levels)?;
        gzip.write_all(&self.values)?;
        let (content, size) = (gzip.finish()?, 4 + levels.len() + self.values.len());
        let mut head = Thrift::default();
        head.int(1, I32, 0); // A page of data.
        head.int(2, I32, size as i64);
        head.int(3, I32, content.len() as i64);
        head.open(5);
        head.int(1, I32, self.rows as i64);
        head.int(2, I32, 0); // Plain values.
        head.int(3, I32, 3); // Levels as above.
        head.int(4, I32, 3);
        head.close();
        head.close();
        head.out.extend(content);
        Ok((head.out, size))
    }
}

/// A column of a group in the file.
struct Chunk {
    offset: usize,
    packed: usize,
    unpacked: usize,
}

struct Writer {
    out: BufWriter<File>,
    at: usize,
    groups: Vec<(usize, Vec<Chunk>)>,
    rows: usize,
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.at += bytes.len();
        self.out.write_all(bytes)
    }

    fn group(&mut self, pages: &mut [Page], columns: &[(String, Kind)], rows: usize) -> std::io::Result<()> {
        let mut chunks = Vec::with_capacity(columns.len());
        for page in pages {
            let (bytes, size) = std::mem::take(page).packed()?;
            chunks.push(Chunk { offset: self.at, packed: bytes.len(), unpacked: size });
            self.put(&bytes)?;
        }
        self.rows += rows;
        self.groups.push((rows, chunks));
        Ok(())
    }

    fn end(mut self, columns: &[(String, Kind)]) -> std::io::Result<()> {
        let mut meta = Thrift::default();
        meta.int(1, I32, 1);
        meta.list(2, STRUCT, columns.len() + 1);
        meta.item();
        meta.text(4, "table");
        meta.int(5, I32, columns.len() as i64);
        meta.close();
        for (name, kind) in columns {
            meta.item();
            meta.int(1, I32, kind.number());
            meta.int(3, I32, 1); // May be empty.
            meta.text(4, name);
            if *kind == Kind::Text {
                meta.int(6, I32, 0); // UTF-8.
            }
            meta.close();
        }
        meta.int(3, I64, self.rows as i64);
        meta.list(4, STRUCT, self.groups.len());
        for (rows, chunks) in &self.groups {
            meta.item();
            meta.list(1, STRUCT, columns.len());
            for (chunk, (name, kind)) in chunks.iter().zip(columns) {
                meta.item();
                meta.int(2, I64, chunk.offset as i64);
                meta.open(3);
                meta.int(1, I32, kind.number());
                meta.list(2, I32, 2);
                meta.element(0);
                meta.element(3);
                meta.list(3, BINARY, 1);
                meta.bytes(name);
                meta.int(4, I32, 2); // gzip
                meta.int(5, I64, *rows as i64);
                meta.int(6, I64, chunk.unpacked as i64);
                meta.int(7, I64, chunk.packed as i64);
                meta.int(9, I64, chunk.offset as i64);
                meta.close();
                meta.close();
            }
            meta.int(2, I64, chunks.iter().map(|c| c.unpacked as i64).sum());
            meta.int(3, I64, *rows as i64);
            meta.close();
        }
        meta.text(6, concat!("drystone ", env!("CARGO_PKG_VERSION")));
        meta.close();
        self.put(&meta.out)?;
        self.put(&(meta.out.len() as u32).to_le_bytes())?;
        self.put(MAGIC)?;
        self.out.flush()
    }
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Writes structures of Thrift's compact protocol. The outermost is open from the beginning.
struct Thrift {
    out: Vec<u8>,
    /// The last field of each open structure.
    last: Vec<u8>,
}

impl Default for Thrift {
    fn default() -> Self {
        Self { out: Vec::new(), last: vec![0] }
    }
}

fn varint(out: &mut Vec<u8>, mut x: u64) {
    while x > 0x7f {
        out.push(x as u8 | 0x80);
        x >>= 7;
    }
    out.push(x as u8);
}

impl Thrift {
    fn field(&mut self, id: u8, kind: u8) {
        let last = self.last.last_mut();
        let before = last.map_or(0, |l| std::mem::replace(l, id));
        self.out.push((id - before) << 4 | kind);
    }

    /// Zigzag.
    fn element(&mut self, x: i64) {
        varint(&mut self.out, (x << 1 ^ x >> 63) as u64);
    }

    fn int(&mut self, id: u8, kind: u8, x: i64) {
        self.field(id, kind);
        self.element(x);
    }

    fn bytes(&mut self, text: &str) {
        varint(&mut self.out, text.len() as u64);
        self.out.extend(text.as_bytes());
    }

    fn text(&mut self, id: u8, text: &str) {
        self.field(id, BINARY);
        self.bytes(text);
    }

    fn list(&mut self, id: u8, kind: u8, length: usize) {
        self.field(id, LIST);
        if length < 15 {
            self.out.push((length as u8) << 4 | kind);
        } else {
            self.out.push(0xf0 | kind);
            varint(&mut self.out, length as u64);
        }
    }

    /// Begins a structure in a list.
    fn item(&mut self) {
        self.last.push(0);
    }

    /// Begins a structure in a field.
    fn open(&mut self, id: u8) {
        self.field(id, STRUCT);
        self.last.push(0);
    }

    /// Ends a structure.
    fn close(&mut self) {
        self.out.push(0);
        self.last.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_unquoted() {
        assert_eq!(cells("1,,\"a,b\",\"say \"\"x\"\"\""), ["1", "", "a,b", "say \"x\""]);
    }

    #[test]
    fn numbers_have_the_protocols_bytes() {
        // Examples of the protocol's specification: zigzag of -1 is 1, and 150 takes two bytes.
        let mut t = Thrift::default();
        t.element(-1);
        t.int(3, I64, 75);
        t.close();
        assert_eq!(t.out, [1, 0x36, 0x96, 0x01, 0]);
    }

    #[test]
    fn wrong_cells_are_told_with_their_place() {
        let folder = std::env::temp_dir().join(format!("drystone-parquet-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (rows, to) = (folder.join("t.csv"), folder.join("t.parquet"));
        let kind = |name: &str| if name == "n" { Kind::Whole } else { Kind::Real };
        std::fs::write(&rows, "n,x\n1,0.5\n2,\n").unwrap();
        from_csv(&rows, &to, kind).unwrap();
        let bytes = std::fs::read(&to).unwrap();
        assert!(bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
        std::fs::write(&rows, "n,x\n1,0.5\n2.5,1\n").unwrap();
        let text = from_csv(&rows, &to, kind).unwrap_err().to_string();
        assert!(text.contains("t.csv:3: n: must be a whole number, got '2.5'"), "{text}");
        assert_eq!(std::fs::read(&to).unwrap(), bytes, "the one before is still there");
        assert!(!folder.join("t.parquet.tmp").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
