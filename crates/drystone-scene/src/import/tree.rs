//! An XML file with all that it includes, as one tree; every element knows the file and the line that it
//! stands in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use roxmltree::Node;

use super::Wrong;

/// Files that include files, at most so deep.
const MAX_DEPTH: usize = 8;
/// Files that a model may be of.
const MOST_FILES: usize = 256;

/// An element.
pub(super) struct Element {
    pub tag: String,
    attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    /// Line and column.
    pub place: (usize, usize),
    /// The included file that it stands in; none: the file itself.
    pub file: Option<Arc<Path>>,
}

impl Element {
    /// The value of an attribute.
    pub fn attribute(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    pub fn is(&self, tag: &str) -> bool {
        self.tag == tag
    }

    /// A complaint about it.
    pub fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong {
            place: self.place,
            tag: self.tag.clone(),
            message: message.into(),
            file: self.file.as_deref().map(PathBuf::from),
        }
    }

    /// Where it stands, for notes: the line, with the file where it is an included one.
    pub fn line(&self) -> String {
        let row = self.place.0;
        match self.file.as_deref().and_then(Path::file_name) {
            Some(name) => format!("{}, line {row}", name.to_string_lossy()),
            None => format!("line {row}"),
        }
    }
}

/// The tree below a node, with what `<include file="..."/>` names in the place of that element; paths are
/// relative to the folder of the first file, as MuJoCo has it.
pub(super) fn with_included(root: Node, folder: &Path) -> Result<Element, Wrong> {
    let mut work = Work { folder, seen: Vec::new() };
    let mut out = Vec::new();
    work.add(root, None, 0, &mut out)?;
    out.pop().ok_or_else(|| Wrong::at(root.document(), root, "there is nothing in it"))
}

struct Work<'f> {
    folder: &'f Path,
    /// Files that are part of the tree already.
    seen: Vec<PathBuf>,
}

impl Work<'_> {
    fn add(
        &mut self,
        node: Node,
        file: Option<&Arc<Path>>,
        depth: usize,
        out: &mut Vec<Element>,
    ) -> Result<(), Wrong> {
        let place = node.document().text_pos_at(node.range().start);
        let pair = |a: roxmltree::Attribute| (a.name().to_string(), a.value().to_string());
        let mut element = Element {
            tag: node.tag_name().name().into(),
            attributes: node.attributes().map(pair).collect(),
            children: Vec::new(),
            place: (place.row as usize, place.col as usize),
            file: file.cloned(),
        };
        if element.is("include") {
            return self.include(&element, depth, out);
        }
        for child in node.children().filter(Node::is_element) {
            self.add(child, file, depth, &mut element.children)?;
        }
        out.push(element);
        Ok(())
    }

    fn include(&mut self, element: &Element, depth: usize, out: &mut Vec<Element>) -> Result<(), Wrong> {
        let name =
            element.attribute("file").ok_or_else(|| element.wrong("the attribute 'file' is missing"))?;
        let path = self.folder.join(name);
        let shown = path.display();
        if depth == MAX_DEPTH || self.seen.len() == MOST_FILES {
            return Err(element.wrong(format!("files include files more than {MAX_DEPTH} deep")));
        }
        let known = path.canonicalize().unwrap_or_else(|_| path.clone());
        if self.seen.contains(&known) {
            return Err(element.wrong(format!("{shown}: is included twice")));
        }
        let text = std::fs::read_to_string(&path)
            .map_err(|e| element.wrong(format!("{shown}: cannot be read: {e}")))?;
        let file: Arc<Path> = path.as_path().into();
        let inside = |place: (usize, usize), message: String| Wrong {
            place,
            tag: String::new(),
            message,
            file: Some(path.clone()),
        };
        let document = super::parsed(&text).map_err(|(place, message)| inside(place, message))?;
        self.seen.push(known);
        for child in document.root_element().children().filter(Node::is_element) {
            self.add(child, Some(&file), depth + 1, out)?;
        }
        Ok(())
    }
}
