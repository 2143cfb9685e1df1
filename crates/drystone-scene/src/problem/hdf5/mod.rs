//! The part of HDF5 that FCLib's files use, read and written without a library: superblock version 0, groups
//! as symbol tables, object headers version 1, and datasets of integers and doubles that lie in one piece.
//! Whatever else a file may have is refused by name.

mod read;
mod write;

pub use read::{Data, File};
pub use write::{Node, write};

const SIGNATURE: [u8; 8] = [0x89, b'H', b'D', b'F', 0x0d, 0x0a, 0x1a, 0x0a];
