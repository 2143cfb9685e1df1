//! Text with places: a tree of values that remember where they stand, read from JSON or TOML, so that every
//! complaint about a file can say line and column.

mod at;
mod json;
mod toml;

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::SceneError;

pub(crate) use at::At;

/// A value and the byte at which it begins.
#[derive(Clone, Debug)]
pub(crate) struct Node<'t> {
    pub offset: usize,
    pub value: Value<'t>,
}

/// What JSON and TOML have in common.
#[derive(Clone, Debug)]
pub(crate) enum Value<'t> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'t, str>),
    Array(Vec<Node<'t>>),
    Table(Vec<Entry<'t>>),
}

/// A key of a table, where it stands, and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'t> {
    pub key: Cow<'t, str>,
    pub offset: usize,
    pub node: Node<'t>,
}

impl Value<'_> {
    /// For "expected a number, got ...".
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }
}

impl<'t> Node<'t> {
    /// The value of a key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node<'t>> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.node),
            _ => None,
        }
    }

    /// The same without the text it was read from, and with offsets that begin at `base`.
    pub fn into_owned(self, base: usize) -> Node<'static> {
        let value = match self.value {
            Value::Null => Value::Null,
            Value::Bool(b) => Value::Bool(b),
            Value::Number(x) => Value::Number(x),
            Value::Text(t) => Value::Text(Cow::Owned(t.into_owned())),
            Value::Array(list) => Value::Array(list.into_iter().map(|n| n.into_owned(base)).collect()),
            Value::Table(list) => Value::Table(
                list.into_iter()
                    .map(|e| Entry {
                        key: Cow::Owned(e.key.into_owned()),
                        offset: e.offset + base,
                        node: e.node.into_owned(base),
                    })
                    .collect(),
            ),
        };
        Node { offset: self.offset + base, value }
    }

    /// The deepest node on a path like `bodies[3].pos[1]`: the node itself, or the last one on the way that
    /// exists.
    pub fn locate(&self, path: &str) -> &Node<'t> {
        let mut here = self;
        for step in path.split(['.', '[']).filter(|s| !s.is_empty()) {
            let next = match (&here.value, step.strip_suffix(']')) {
                (Value::Array(items), Some(index)) => index.parse().ok().and_then(|i: usize| items.get(i)),
                (_, None) => here.get(step),
                _ => None,
            };
            match next {
                Some(node) => here = node,
                None => break,
            }
        }
        here
    }
}

/// A complaint that knows its byte, not yet its line.
#[derive(Debug)]
pub(crate) struct Fault {
    pub offset: Option<usize>,
    pub field: String,
    pub message: String,
}

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Toml,
}

/// A file's text, for turning bytes into lines and columns, and those of the files that it includes.
#[derive(Debug)]
pub(crate) struct Source {
    pub file: Option<PathBuf>,
    pub text: String,
    pub format: Format,
    /// Their offsets begin after the text, each after the one before.
    included: RefCell<Vec<(usize, Source)>>,
}

impl Source {
    /// Of a text.
    pub fn new(file: Option<PathBuf>, text: String, format: Format) -> Self {
        Self { file, text, format, included: RefCell::default() }
    }

    /// Reads `.toml`, `.json` or `.json.gz`.
    pub fn open(path: &Path) -> Result<Self, SceneError> {
        let refuse = |message: String| SceneError { file: Some(path.into()), ..SceneError::new(message) };
        let name = path.to_string_lossy();
        let format = if name.ends_with(".toml") {
            Format::Toml
        } else if name.ends_with(".json") || name.ends_with(".json.gz") {
            Format::Json
        } else {
            return Err(refuse("the name must end in .toml, .json or .json.gz".into()));
        };
        let mut bytes = std::fs::read(path).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        if name.ends_with(".gz") {
            let mut plain = Vec::new();
            flate2::read::MultiGzDecoder::new(bytes.as_slice())
                .read_to_end(&mut plain)
                .map_err(|e| refuse(format!("cannot be decompressed: {e}")))?;
            bytes = plain;
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) => {
                let good = e.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(&e.as_bytes()[..good]).into_owned();
                let source = Self::new(Some(path.into()), text, format);
                let message = "not UTF-8 from here on".into();
                return Err(source.error(Fault { offset: Some(good), field: String::new(), message }));
            }
        };
        Ok(Self::new(Some(path.into()), text, format))
    }

    /// Its file, and those that were included so far.
    pub fn files(&self) -> Vec<PathBuf> {
        let included = self.included.borrow();
        let others = included.iter().flat_map(|(_, other)| other.files());
        self.file.clone().into_iter().chain(others).collect()
    }

    /// The tree of values.
    pub fn parse(&self) -> Result<Node<'_>, SceneError> {
        match self.format {
            Format::Json => json::parse(&self.text),
            Format::Toml => toml::parse(&self.text),
        }
        .map_err(|fault| self.error(fault))
    }

    /// The tree of another file, which knows where it stands in that one.
    pub fn include(&self, path: &Path) -> Result<Node<'static>, SceneError> {
        let other = Self::open(path)?;
        let mut included = self.included.borrow_mut();
        let base = included.last().map_or(self.text.len(), |(base, s)| base + s.text.len()) + 1;
        let tree = other.parse()?.into_owned(base);
        included.push((base, other));
        Ok(tree)
    }

    /// The folders of this file and of those that it includes, by the offsets at which they begin.
    pub fn folders(&self) -> Vec<(usize, PathBuf)> {
        let folder =
            |s: &Self| s.file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_path_buf();
        let included = self.included.borrow();
        std::iter::once((0, folder(self)))
            .chain(included.iter().map(|(base, s)| (*base, folder(s))))
            .collect()
    }

    /// The file of a byte, and its line and column there.
    pub fn spot(&self, offset: usize) -> (Option<PathBuf>, (usize, usize)) {
        let included = self.included.borrow();
        match included.iter().rev().find(|(base, _)| *base <= offset) {
            Some((base, other)) => (other.file.clone(), other.place(offset - base)),
            None => (self.file.clone(), self.place(offset)),
        }
    }

    /// The fault as an error with file, line and column.
    pub fn error(&self, fault: Fault) -> SceneError {
        let (file, place) = match fault.offset {
            Some(offset) => {
                let (file, place) = self.spot(offset);
                (file, Some(place))
            }
            None => (self.file.clone(), None),
        };
        let field = Some(fault.field).filter(|f| !f.is_empty());
        SceneError { file, place, field, message: fault.message }
    }

    /// Adds file, line and column to an error that knows only its field.
    pub fn locate(&self, root: &Node, mut error: SceneError) -> SceneError {
        error.file = self.file.clone();
        if let (None, Some(field)) = (error.place, &error.field) {
            let (file, place) = self.spot(root.locate(field).offset);
            (error.file, error.place) = (file, Some(place));
        }
        error
    }

    /// Line and column of a byte, from 1; columns count characters.
    fn place(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}
