//! Tables that grow while a run goes on: CSV, or Parquet; `-` is standard output.
//!
//! A Parquet file can only be read once it has its end. Until then rows are in a CSV file beside it,
//! `NAME.parquet.csv`, which a run that is killed leaves behind and a run that is resumed goes on with.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use crate::parquet::{self, Kind};

/// Where rows go.
enum Out {
    File(BufWriter<File>),
    Standard(BufWriter<Stdout>),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Out::File(to) => to.write(bytes),
            Out::Standard(to) => to.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Out::File(to) => to.flush(),
            Out::Standard(to) => to.flush(),
        }
    }
}

/// A table in the making.
pub struct Table {
    out: Out,
    path: PathBuf,
    kind: fn(&str) -> Kind,
    line: String,
}

/// Whether a file's name asks for Parquet.
pub fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet"))
}

/// Whether rows go to standard output.
fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Says what is wrong with a file's name.
///
/// # Errors
/// For an ending that is neither `.csv` nor `.parquet`; pipes and devices may be called anything.
pub fn check_name(path: &Path) -> Result<(), String> {
    let fits = is_standard(path)
        || is_parquet(path)
        || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
    let stream = std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir());
    if fits || stream { Ok(()) } else { Err("the name must end in .csv or .parquet".into()) }
}

/// Where rows are while the table grows.
fn rows_of(path: &Path) -> PathBuf {
    if is_parquet(path) {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".csv");
        return path.with_file_name(name);
    }
    path.into()
}

/// Quotes a text where commas or quotes ask for it.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

impl Table {
    /// Creates the file and writes its header; `kind` says what a column of a name holds.
    ///
    /// # Errors
    /// For a place that cannot be written.
    pub fn create(path: &Path, columns: &[&str], kind: fn(&str) -> Kind) -> std::io::Result<Self> {
        crate::file::make_folder(path)?;
        let mut table = match is_standard(path) {
            true => Self::standard(kind),
            false => Self::of(path, File::create(rows_of(path))?, kind),
        };
        let names: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
        writeln!(table.out, "{}", names.join(","))?;
        Ok(table)
    }

    /// Goes on with a table whose rows had so many bytes.
    ///
    /// # Errors
    /// For rows that are not there any more, or fewer.
    pub fn resume(path: &Path, bytes: u64, kind: fn(&str) -> Kind) -> std::io::Result<Self> {
        if is_standard(path) {
            return Ok(Self::standard(kind));
        }
        let file = File::options().append(true).open(rows_of(path))?;
        if !file.metadata()?.is_file() {
            return Ok(Self::of(path, file, kind));
        }
        let length = file.metadata()?.len();
        if length < bytes {
            let text = format!("has {length} bytes, and had {bytes} at the checkpoint");
            return Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, text));
        }
        file.set_len(bytes)?;
        Ok(Self::of(path, file, kind))
    }

    fn of(path: &Path, file: File, kind: fn(&str) -> Kind) -> Self {
        Self { out: Out::File(BufWriter::new(file)), path: path.into(), kind, line: String::new() }
    }

    fn standard(kind: fn(&str) -> Kind) -> Self {
        let out = Out::Standard(BufWriter::new(std::io::stdout()));
        Self { out, path: "-".into(), kind, line: String::new() }
    }

    /// Adds a whole number to the row.
    pub fn whole(&mut self, x: impl std::fmt::Display) -> &mut Self {
        let _ = write!(self.line, "{x},");
        self
    }

    /// Adds numbers to the row; what is not finite is left empty.
    pub fn reals(&mut self, numbers: impl IntoIterator<Item = f64>) -> &mut Self {
        for x in numbers {
            let size = x.abs();
            let _ = match x.is_finite() {
                false => self.line.write_str(","),
                true if x == 0.0 || (1e-5..1e17).contains(&size) => write!(self.line, "{x},"),
                true => write!(self.line, "{x:e},"),
            };
        }
        self
    }

    /// Adds a text to the row.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.line.push_str(&quoted(text));
        self.line.push(',');
        self
    }

    /// Ends the row.
    ///
    /// # Errors
    /// For a disk that is full.
    pub fn end(&mut self) -> std::io::Result<()> {
        self.line.pop();
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())?;
        self.line.clear();
        Ok(())
    }

    /// How many bytes of rows there are; they are on their way to the disk. None of a stream: what it had
    /// cannot be taken back.
    ///
    /// # Errors
    /// For a disk that is full.
    pub fn written(&mut self) -> std::io::Result<u64> {
        self.out.flush()?;
        match &self.out {
            Out::File(to) => Ok(to.get_ref().metadata()?.len()),
            Out::Standard(_) => Ok(0),
        }
    }

    /// Ends the table. `again`: the run may be resumed, and what it then goes on with is kept.
    ///
    /// # Errors
    /// For a disk that is full; the rows are kept.
    pub fn finish(&mut self, again: bool) -> std::io::Result<()> {
        self.out.flush()?;
        if is_parquet(&self.path) {
            let rows = rows_of(&self.path);
            parquet::from_csv(&rows, &self.path, self.kind)?;
            if !again {
                std::fs::remove_file(rows)?;
            }
        }
        Ok(())
    }
}
