//! Reading. Every offset comes from the file, so every access is checked.

use super::SIGNATURE;

/// A file in memory.
pub struct File<'a> {
    bytes: &'a [u8],
    root: u64,
}

/// The numbers of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Integers of any width.
    Whole(Vec<i64>),
    /// Doubles or floats.
    Real(Vec<f64>),
}

type Read<T> = Result<T, String>;

/// Groups within groups deeper than this are a circle.
const MAX_DEPTH: usize = 64;

/// A message of an object header.
struct Message<'a> {
    kind: u16,
    data: &'a [u8],
}

impl<'a> File<'a> {
    /// Looks at the superblock.
    pub fn open(bytes: &'a [u8]) -> Read<Self> {
        if bytes.get(..8) != Some(&SIGNATURE[..]) {
            return Err("is not an HDF5 file".into());
        }
        let version = *bytes.get(8).ok_or("is cut short")?;
        let file = Self { bytes, root: 0 };
        if version > 1 {
            return Err(format!("HDF5 superblock version {version}: only 0 and 1 are supported"));
        }
        if file.slice(13, 2)? != [8, 8] {
            return Err("HDF5 with offsets or lengths that are not 8 bytes wide is not supported".into());
        }
        let base = if version == 0 { 24 } else { 28 };
        if file.number(base, 8)? != 0 {
            return Err("HDF5 with a user block is not supported".into());
        }
        let root = file.number(base + 40, 8)?;
        Ok(Self { root, ..file })
    }

    fn slice(&self, at: u64, length: u64) -> Read<&'a [u8]> {
        let range = usize::try_from(at).ok().zip(usize::try_from(length).ok());
        range
            .and_then(|(at, n)| self.bytes.get(at..at.checked_add(n)?))
            .ok_or_else(|| format!("is cut short or damaged: {length} bytes at {at} are missing"))
    }

    /// A little-endian number of `width` bytes.
    fn number(&self, at: u64, width: u64) -> Read<u64> {
        Ok(little(self.slice(at, width)?))
    }

    /// The object at a path such as `fclib_local/W/x`, if it is there.
    pub fn has(&self, path: &str) -> Read<bool> {
        self.find(path).map(|o| o.is_some())
    }

    fn find(&self, path: &str) -> Read<Option<u64>> {
        let mut at = self.root;
        for (depth, name) in path.split('/').filter(|n| !n.is_empty()).enumerate() {
            if depth > MAX_DEPTH {
                return Err("has groups within groups without end".into());
            }
            match self.member(at, name)? {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    fn messages(&self, header: u64) -> Read<Vec<Message<'a>>> {
        if self.number(header, 1)? != 1 {
            return Err("HDF5 object headers of version 2: not supported".into());
        }
        let count = self.number(header + 2, 2)?;
        let mut parts = vec![(header + 16, self.number(header + 8, 4)?)];
        let mut found = Vec::new();
        let mut k = 0;
        while k < parts.len() && found.len() < count as usize {
            let (mut at, end) = (parts[k].0, parts[k].0.saturating_add(parts[k].1));
            while at + 8 <= end && found.len() < count as usize {
                let (kind, size) = (self.number(at, 2)? as u16, self.number(at + 2, 2)?);
                let data = self.slice(at + 8, size)?;
                if kind == 0x10 && data.len() >= 16 {
                    parts.push((little(&data[..8]), little(&data[8..16])));
                }
                found.push(Message { kind, data });
                at += 8 + size;
            }
            k += 1;
        }
        Ok(found)
    }

    /// The address of a group's member.
    fn member(&self, group: u64, name: &str) -> Read<Option<u64>> {
        let messages = self.messages(group)?;
        let Some(table) = messages.iter().find(|m| m.kind == 0x11 && m.data.len() >= 16) else {
            return match messages.iter().any(|m| m.kind == 0x02 || m.kind == 0x06) {
                true => Err("HDF5 groups of the new style: not supported".into()),
                false => Ok(None),
            };
        };
        let (tree, heap) = (little(&table.data[..8]), little(&table.data[8..16]));
        if self.slice(heap, 4)? != b"HEAP" {
            return Err("has a group whose names are damaged".into());
        }
        let names = (self.number(heap + 24, 8)?, self.number(heap + 8, 8)?);
        self.search(tree, names, name, 0)
    }

    fn search(&self, node: u64, names: (u64, u64), name: &str, depth: usize) -> Read<Option<u64>> {
        if depth > MAX_DEPTH {
            return Err("has a group whose index is a circle".into());
        }
        match self.slice(node, 4)? {
            b"TREE" => {
                for k in 0..self.number(node + 6, 2)? {
                    let child = self.number(node + 24 + 16 * k + 8, 8)?;
                    if let Some(found) = self.search(child, names, name, depth + 1)? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
            b"SNOD" => {
                for k in 0..self.number(node + 6, 2)? {
                    let entry = node + 8 + 40 * k;
                    let offset = self.number(entry, 8)?;
                    let rest = names.1.checked_sub(offset).ok_or("has a name outside its heap")?;
                    let text = self.slice(names.0 + offset, rest)?;
                    if text.split(|b| *b == 0).next() == Some(name.as_bytes()) {
                        return self.number(entry + 8, 8).map(Some);
                    }
                }
                Ok(None)
            }
            _ => Err("has a group whose index is damaged".into()),
        }
    }

    /// The numbers of the dataset at `path`.
    pub fn data(&self, path: &str) -> Read<Data> {
        let at = self.find(path)?.ok_or_else(|| format!("has no {path}"))?;
        let messages = self.messages(at)?;
        let part = |kind: u16| {
            let found = messages.iter().find(|m| m.kind == kind).map(|m| m.data);
            found.ok_or_else(|| format!("{path} is not a dataset"))
        };
        let (space, kind, layout) = (part(1)?, part(3)?, part(8)?);
        let short = || format!("{path} has a damaged header");
        let first = match space.first() {
            Some(1) => 8,
            Some(2) => 4,
            _ => return Err(format!("{path}: an unknown form of dimensions")),
        };
        let rank = *space.get(1).ok_or_else(short)? as usize;
        let mut count = 1u64;
        for k in 0..rank {
            let size = little(space.get(first + 8 * k..first + 8 * k + 8).ok_or_else(short)?);
            count = count.checked_mul(size).ok_or_else(short)?;
        }
        let (class, flags) = (kind.first().ok_or_else(short)? & 15, *kind.get(1).ok_or_else(short)?);
        let width = little(kind.get(4..8).ok_or_else(short)?);
        let raw = match layout {
            [3, 0, ..] => {
                let size = little(layout.get(2..4).ok_or_else(short)?) as usize;
                layout.get(4..4 + size).ok_or_else(short)?
            }
            [3, 1, ..] => {
                let (at, size) =
                    (layout.get(2..10).ok_or_else(short)?, layout.get(10..18).ok_or_else(short)?);
                if little(at) == u64::MAX { &[] } else { self.slice(little(at), little(size))? }
            }
            [3, 2, ..] => return Err(format!("{path} is stored in chunks, which are not supported")),
            _ => return Err(format!("{path} has an unknown layout")),
        };
        if !(1..=8).contains(&width) || flags & 1 != 0 {
            return Err(format!("{path}: only little-endian numbers of up to 8 bytes are supported"));
        }
        let needed = count.checked_mul(width).ok_or_else(short)?;
        let raw = usize::try_from(needed).ok().and_then(|n| raw.get(..n));
        let raw = raw.ok_or_else(|| format!("{path} is cut short"))?;
        let items = raw.chunks_exact(width as usize);
        match (class, width) {
            (0, _) => Ok(Data::Whole(items.map(|x| whole(x, flags & 8 != 0)).collect())),
            (1, 8) => Ok(Data::Real(items.map(|x| f64::from_bits(little(x))).collect())),
            (1, 4) => Ok(Data::Real(items.map(|x| f32::from_bits(little(x) as u32) as f64).collect())),
            _ => Err(format!("{path} does not hold numbers")),
        }
    }

    /// Numbers as doubles.
    pub fn reals(&self, path: &str) -> Read<Vec<f64>> {
        Ok(match self.data(path)? {
            Data::Real(x) => x,
            Data::Whole(x) => x.into_iter().map(|x| x as f64).collect(),
        })
    }

    /// Whole numbers.
    pub fn wholes(&self, path: &str) -> Read<Vec<i64>> {
        match self.data(path)? {
            Data::Whole(x) => Ok(x),
            Data::Real(_) => Err(format!("{path} must be whole numbers")),
        }
    }

    /// One whole number.
    pub fn whole(&self, path: &str) -> Read<i64> {
        match self.wholes(path)?.as_slice() {
            [x] => Ok(*x),
            other => Err(format!("{path} must be one number, has {}", other.len())),
        }
    }
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, b| sum << 8 | *b as u64)
}

fn whole(bytes: &[u8], signed: bool) -> i64 {
    let x = little(bytes);
    let unused = 64 - 8 * bytes.len() as u32;
    if signed { ((x << unused) as i64) >> unused } else { x as i64 }
}
