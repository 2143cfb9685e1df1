//! Files know each other in one direction: what a file uses does not use that file in turn, at however many
//! removes. Files of one room (a folder of the crate's sources with the file of its name) may, since they are
//! parts of one thing. (`drystone-ranks` is one room as a whole.)

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Module = Vec<String>;

/// A crate's files, and what they name.
#[derive(Default)]
struct Sources {
    /// By module: its text without comments and unit tests.
    text: BTreeMap<Module, String>,
    /// By module and name: where a name comes from that the module only passes on.
    passed_on: BTreeMap<(Module, String), Module>,
}

/// Without comments, and without what follows the first module of unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// All paths of a tree such as `a::{b, c::{d, e as f}}`.
fn paths(tree: &str, out: &mut Vec<String>) {
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        out.push(path.to_string());
        return;
    };
    let (before, inside) = (&tree[..open], &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())]);
    let (mut depth, mut start) = (0, 0);
    for (i, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inside[start..i].trim();
                if !part.is_empty() {
                    paths(&format!("{}{part}", before.trim()), out);
                }
                start = i + 1;
            }
            _ => {}
        }
    }
}

/// The trees of all `use` lines: whether each passes names on, and its paths.
fn uses(code: &str) -> Vec<(bool, Vec<String>)> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let line = rest[..at].rfind('\n').map_or(0, |n| n + 1);
        let before = rest[line..at].trim();
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end);
        if before.is_empty() || before.starts_with("pub") {
            let mut all = Vec::new();
            paths(&rest[at + 4..end], &mut all);
            found.push((before.starts_with("pub"), all));
        }
        rest = &rest[end.max(at + 4)..];
    }
    found
}

impl Sources {
    fn read(folder: &Path) -> Self {
        let mut sources = Self::default();
        sources.add(folder, &mut Vec::new());
        let all: Vec<(Module, String)> = sources.text.clone().into_iter().collect();
        for (module, code) in &all {
            for path in uses(code).into_iter().filter(|(passes, _)| *passes).flat_map(|(_, paths)| paths) {
                if let Some((to, _)) = sources.place(module, &path) {
                    let name = path.rsplit("::").next().unwrap_or_default().to_string();
                    sources.passed_on.insert((module.clone(), name), to);
                }
            }
        }
        sources
    }

    fn add(&mut self, folder: &Path, at: &mut Module) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            if path.is_dir() {
                at.push(name);
                self.add(&path, at);
                at.pop();
            } else if path.extension().is_some_and(|e| e == "rs") {
                let mut module = at.clone();
                if !(name == "mod" || at.is_empty() && (name == "lib" || name == "main")) {
                    module.push(name);
                }
                let text = code(&std::fs::read_to_string(&path).unwrap());
                self.text.entry(module).or_default().push_str(&text);
            }
        }
    }

    /// The file that a path names something of, and what is left of the path.
    fn place(&self, from: &Module, path: &str) -> Option<(Module, Vec<String>)> {
        let mut names: Vec<String> = path.split("::").map(|s| s.trim().to_string()).collect();
        let mut base = match names[0].as_str() {
            "crate" => Vec::new(),
            "self" => from.clone(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            first => {
                let mut child = from.clone();
                child.push(first.to_string());
                self.text.contains_key(&child).then(|| from.clone())?
            }
        };
        if matches!(names[0].as_str(), "crate" | "self" | "super") {
            names.remove(0);
        }
        while names.first().is_some_and(|n| n == "super") {
            base.pop();
            names.remove(0);
        }
        let whole = [base, names].concat();
        let known = (0..=whole.len()).rev().find(|n| self.text.contains_key(&whole[..*n]))?;
        Some((whole[..known].to_vec(), whole[known..].to_vec()))
    }

    /// The file in which it is written.
    fn target(&self, from: &Module, path: &str) -> Option<Module> {
        let (mut module, mut left) = self.place(from, path)?;
        // A name may be passed on a few times.
        for _ in 0..8 {
            let Some(name) = left.first() else { break };
            let Some(to) = self.passed_on.get(&(module.clone(), name.clone())) else { break };
            if *to == module {
                break;
            }
            module = to.clone();
            left.truncate(1);
        }
        Some(module)
    }

    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of = |(module, code): (&'_ Module, &String)| -> BTreeSet<Module> {
            let named = uses(code).into_iter().filter(|(passes, _)| !passes).flat_map(|(_, paths)| paths);
            let inline = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let inline = inline.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
            let all = named.chain(inline.map(String::from));
            all.filter_map(|path| self.target(module, &path)).filter(|to| to != module).collect()
        };
        self.text.iter().map(|each| (each.0, of(each))).collect()
    }

    /// Pairs of files of different rooms that use each other, at however many removes.
    fn circles(&self) -> Vec<[String; 2]> {
        let arrows = self.arrows();
        let reach = |from: &Module| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(next) = open.pop() {
                for to in arrows.get(&next).into_iter().flatten() {
                    if seen.insert(to.clone()) {
                        open.push(to.clone());
                    }
                }
            }
            seen
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> = self.text.keys().map(|m| (m, reach(m))).collect();
        let mut found = Vec::new();
        for (a, from_a) in &reached {
            for b in from_a.iter().filter(|b| *a < *b && a.first() != b.first()) {
                if reached[b].contains(*a) {
                    found.push([a.join("/"), b.join("/")]);
                }
            }
        }
        found
    }
}

#[test]
fn files_of_different_rooms_do_not_use_each_other() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in [
        "drystone-solve",
        "drystone",
        "drystone-record",
        "drystone-scene",
        "drystone-view",
        "drystone-cuda",
        "drystone-cli",
    ] {
        let sources = Sources::read(&crates.join(name).join("src"));
        assert!(
            sources.text.len() > 10 && sources.arrows().values().map(BTreeSet::len).sum::<usize>() > 20,
            "{name}"
        );
        let circles = sources.circles();
        assert!(
            circles.is_empty(),
            "{name}: {} pairs of files use each other, such as {:?}",
            circles.len(),
            &circles[..circles.len().min(5)]
        );
    }
}

#[test]
fn the_reader_sees_circles() {
    let mut sources = Sources::default();
    let mut add = |module: &[&str], code: &str| {
        let module: Module = module.iter().map(|s| s.to_string()).collect();
        sources.text.insert(module, super::circles::code(code));
    };
    add(&[], "mod a;\nmod b;\nmod c;\n");
    add(&["a"], "pub mod part;\nuse crate::b::{Thing, other::{self, More}};\n");
    add(&["a", "part"], "use super::Whole;\n");
    add(&["b"], "fn f() { crate::c::g() } // crate::a::h\n");
    add(&["c"], "use crate::d::E;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n");
    assert_eq!(sources.circles(), Vec::<[String; 2]>::new());
    let again: Module = vec!["c".into()];
    sources.text.insert(again, "use crate::a::part::Piece;\nuse super::a::A;\n".into());
    let pair = |a: &str, b: &str| [a.to_string(), b.to_string()];
    let all = [pair("a", "b"), pair("a", "c"), pair("a/part", "b"), pair("a/part", "c"), pair("b", "c")];
    assert_eq!(sources.circles(), all);
}
