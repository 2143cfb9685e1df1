//! Writing: a tree of groups and datasets, one index node and one table for each group.

use super::SIGNATURE;
use super::read::Data;

/// A group or a dataset.
pub enum Node {
    /// Members by name.
    Group(Vec<(&'static str, Node)>),
    /// Numbers: a scalar as an array of one.
    Data(Data),
}

impl Node {
    /// One whole number.
    pub fn whole(x: i64) -> Self {
        Node::Data(Data::Whole(vec![x]))
    }

    /// An array of doubles.
    pub fn reals(x: &[f64]) -> Self {
        Node::Data(Data::Real(x.to_vec()))
    }
}

/// Members that one table holds at most.
const LEAF: usize = 16;
/// Children that an index node has room for.
const INTERNAL: usize = 16;

struct Out {
    bytes: Vec<u8>,
}

impl Out {
    fn put(&mut self, x: u64, width: usize) {
        self.bytes.extend_from_slice(&x.to_le_bytes()[..width]);
    }

    fn align(&mut self) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.bytes.len() as u64
    }

    /// An object header with these messages; its address.
    fn header(&mut self, messages: &[(u16, Vec<u8>)]) -> u64 {
        let at = self.align();
        let size: usize = messages.iter().map(|(_, data)| 8 + data.len().next_multiple_of(8)).sum();
        self.put(1, 2);
        self.put(messages.len() as u64, 2);
        self.put(1, 4);
        self.put(size as u64, 4);
        self.put(0, 4);
        for (kind, data) in messages {
            self.put(*kind as u64, 2);
            self.put(data.len().next_multiple_of(8) as u64, 2);
            self.put(0, 4);
            self.bytes.extend_from_slice(data);
            self.align();
        }
        at
    }

    fn data(&mut self, data: &Data) -> u64 {
        let at = self.align();
        let (count, kind) = match data {
            Data::Whole(x) => {
                x.iter().for_each(|x| self.put(*x as i32 as u32 as u64, 4));
                // Class 0, version 1, signed, 4 bytes, 32 bits from bit 0.
                (x.len(), vec![0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0])
            }
            Data::Real(x) => {
                x.iter().for_each(|x| self.put(x.to_bits(), 8));
                // Class 1, version 1, sign at bit 63, exponent 11 bits at 52 with bias 1023, mantissa 52 bits
                // at 0.
                (x.len(), vec![0x11, 0x20, 63, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52, 0xff, 3, 0, 0])
            }
        };
        let size = self.bytes.len() as u64 - at;
        let mut space = vec![1, 1, 0, 0, 0, 0, 0, 0];
        space.extend_from_slice(&(count as u64).to_le_bytes());
        let mut layout = vec![3, 1];
        layout.extend_from_slice(&(if size == 0 { u64::MAX } else { at }).to_le_bytes());
        layout.extend_from_slice(&size.to_le_bytes());
        // No fill value: version 2, space given early, never written.
        self.header(&[(1, space), (3, kind), (5, vec![2, 1, 1, 0]), (8, layout)])
    }

    /// Writes a node after all it contains; its address, and for a group those of its index and names.
    fn node(&mut self, node: &Node) -> (u64, Option<[u64; 2]>) {
        let members = match node {
            Node::Data(data) => return (self.data(data), None),
            Node::Group(members) => members,
        };
        debug_assert!(members.len() <= 2 * LEAF, "one table holds all members");
        let mut written: Vec<(&str, (u64, Option<[u64; 2]>))> =
            members.iter().map(|(name, node)| (*name, self.node(node))).collect();
        written.sort_by_key(|(name, _)| *name);
        // Names: an empty one first, then each at a multiple of eight.
        let names_at = self.align();
        self.put(0, 8);
        let mut offsets = Vec::new();
        for (name, _) in &written {
            offsets.push(self.align() - names_at);
            self.bytes.extend_from_slice(name.as_bytes());
            self.bytes.push(0);
        }
        let names_size = self.align() - names_at;
        let heap = self.align();
        self.bytes.extend_from_slice(b"HEAP\0\0\0\0");
        self.put(names_size, 8);
        // Nothing in it is free.
        self.put(1, 8);
        self.put(names_at, 8);
        let table = self.align();
        self.bytes.extend_from_slice(b"SNOD\x01\0");
        self.put(written.len() as u64, 2);
        for ((_, (address, inside)), offset) in written.iter().zip(&offsets) {
            self.entry(*offset, *address, *inside);
        }
        let full = table as usize + 8 + 2 * LEAF * 40;
        self.bytes.resize(full, 0);
        let tree = self.align();
        self.bytes.extend_from_slice(b"TREE\0\0");
        self.put(if written.is_empty() { 0 } else { 1 }, 2);
        self.put(u64::MAX, 8);
        self.put(u64::MAX, 8);
        self.put(0, 8);
        self.put(table, 8);
        self.put(offsets.last().copied().unwrap_or(0), 8);
        let full = tree as usize + 24 + 8 * (4 * INTERNAL + 1);
        self.bytes.resize(full, 0);
        let mut message = tree.to_le_bytes().to_vec();
        message.extend_from_slice(&heap.to_le_bytes());
        (self.header(&[(0x11, message)]), Some([tree, heap]))
    }

    /// A symbol table entry; groups carry the addresses of their index.
    fn entry(&mut self, name: u64, address: u64, inside: Option<[u64; 2]>) {
        self.put(name, 8);
        self.put(address, 8);
        self.put(inside.is_some() as u64, 8);
        let [tree, heap] = inside.unwrap_or([0, 0]);
        self.put(tree, 8);
        self.put(heap, 8);
    }
}

/// A file with this tree below its root.
pub fn write(root: Vec<(&'static str, Node)>) -> Vec<u8> {
    let mut out = Out { bytes: vec![0; 96] };
    let (address, inside) = out.node(&Node::Group(root));
    let end = out.align();
    let mut front = Out { bytes: Vec::new() };
    front.bytes.extend_from_slice(&SIGNATURE);
    front.bytes.extend_from_slice(&[0, 0, 0, 0, 0, 8, 8, 0]);
    front.put(LEAF as u64, 2);
    front.put(INTERNAL as u64, 2);
    front.put(0, 4);
    front.put(0, 8);
    front.put(u64::MAX, 8);
    front.put(end, 8);
    front.put(u64::MAX, 8);
    front.entry(0, address, inside);
    out.bytes[..96].copy_from_slice(&front.bytes);
    out.bytes
}
