//! Where results go, looked at before anything is computed.

use std::path::{Path, PathBuf};

use drystone_record::file;

use crate::failure::Failure;
use crate::own::{self, Kind};

/// A file that a command was asked to write.
pub struct Output<'a> {
    option: &'static str,
    path: &'a Path,
    /// How its name must end.
    ending: Option<&'static str>,
    kind: Kind,
}

impl<'a> Output<'a> {
    /// A result of a kind, whatever its name.
    pub fn of(kind: Kind, option: &'static str, path: Option<&'a PathBuf>) -> Option<Self> {
        path.map(|path| Self { option, path, ending: None, kind })
    }

    /// A report.
    pub fn report(option: &'static str, path: Option<&'a PathBuf>) -> Option<Self> {
        Self::of(Kind::Report, option, path)
    }

    /// A table.
    pub fn table(option: &'static str, path: Option<&'a PathBuf>) -> Option<Self> {
        Self::of(Kind::Table, option, path)
    }

    /// A picture.
    pub fn png(option: &'static str, path: Option<&'a PathBuf>) -> Option<Self> {
        path.map(|path| Self { option, path, ending: Some("png"), kind: Kind::Png })
    }

    /// A plot.
    pub fn svg(option: &'static str, path: Option<&'a PathBuf>) -> Option<Self> {
        path.map(|path| Self { option, path, ending: Some("svg"), kind: Kind::Svg })
    }

    /// A page.
    pub fn html(option: &'static str, path: Option<&'a PathBuf>) -> Option<Self> {
        path.map(|path| Self { option, path, ending: Some("html"), kind: Kind::Html })
    }

    /// Whether it gives others their names, and nothing is written to it itself.
    pub fn numbered(self, so: bool) -> Self {
        Self { kind: if so { Kind::Numbered } else { self.kind }, ..self }
    }

    /// Standard output.
    pub fn is_standard(&self) -> bool {
        self.path.as_os_str() == "-"
    }

    /// Nothing to overwrite: standard output, a pipe or a device.
    fn is_stream(&self) -> bool {
        self.is_standard() || std::fs::metadata(self.path).is_ok_and(|m| !m.is_file() && !m.is_dir())
    }
}

/// Refuses places that cannot be written, two results in one place, results over `input`, names that promise
/// another format, and places of files that are no results of the same kind.
pub fn check<'a>(
    input: Option<&Path>,
    outputs: impl IntoIterator<Item = Option<Output<'a>>>,
) -> Result<(), Failure> {
    let mut taken: Vec<(PathBuf, &str)> =
        input.and_then(|i| i.canonicalize().ok()).map(|i| (i, "the input")).into_iter().collect();
    for output in outputs.into_iter().flatten() {
        let (option, shown) = (output.option, output.path.display());
        file::check_writable(output.path).map_err(|e| Failure::input(format!("{shown}: {e}")))?;
        let ending = output.path.extension().map(|e| e.to_ascii_lowercase());
        if let Some(wanted) = output.ending
            && !output.is_stream()
            && ending.as_deref() != Some(wanted.as_ref())
        {
            return Err(Failure::input(format!("{option} {shown}: the name must end in .{wanted}")));
        }
        let place = place(output.path);
        match taken.iter().find(|(other, _)| *other == place) {
            Some((_, other)) if !output.is_stream() || output.is_standard() => {
                return Err(Failure::input(format!("{option} {shown}: {other} is there already")));
            }
            _ => taken.push((place, option)),
        }
        refuse_foreign(option, output.path, output.kind)?;
    }
    Ok(())
}

/// Refuses places of files that are no results of a kind.
pub fn refuse_foreign(option: &str, path: &Path, kind: Kind) -> Result<(), Failure> {
    match own::foreign(path, kind) {
        None => Ok(()),
        Some(what) => Err(Failure::input(format!(
            "{option} {}: {what} is there, and is not overwritten: choose another name, or remove it",
            path.display()
        ))),
    }
}

/// Refuses results where a folder of results goes, and standard output for a folder.
pub fn apart<'a>(
    option: &str,
    folder: &Path,
    outputs: impl IntoIterator<Item = Option<Output<'a>>>,
) -> Result<(), Failure> {
    if folder.as_os_str() == "-" {
        return Err(Failure::input(format!("{option} -: a folder is needed, not standard output")));
    }
    let there = place(folder);
    match outputs.into_iter().flatten().find(|output| !output.is_standard() && place(output.path) == there) {
        Some(o) => {
            Err(Failure::input(format!("{} {}: {option} is there already", o.option, o.path.display())))
        }
        None => Ok(()),
    }
}

/// One spelling for all paths of a file that need not exist.
fn place(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}
