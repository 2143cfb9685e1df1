//! The memory of the command and of the Python package: each names [`Memory`] as its allocator.
//!
//! What stages take and give back in every step is mimalloc's, which is fast because it keeps it at hand for
//! a second or so. The arrays of a million bodies are too large for that: what one stage has given back is
//! still there while the next one takes its own, and more so the faster the steps are. These come from the
//! system and return to it at once, and grow where they are: their pages are moved, not copied.

/// No other system can move pages: nothing is its own there.
#[cfg(not(target_os = "linux"))]
pub use mimalloc::MiMalloc as Memory;
#[cfg(target_os = "linux")]
pub use own::Memory;

/// Bytes of an array that is the system's.
#[cfg(any(target_os = "linux", test))]
const LARGE: usize = 16 << 20;

#[cfg(target_os = "linux")]
mod own {
    use std::alloc::{GlobalAlloc, Layout};

    use mimalloc::MiMalloc;

    use super::{LARGE, system};

    /// See the module.
    pub struct Memory;

    fn is_large(layout: &Layout) -> bool {
        layout.size() >= LARGE && layout.align() <= system::PAGE
    }

    // SAFETY: whose a piece of memory is follows from its layout alone, so that everything goes back to where
    // it came from.
    unsafe impl GlobalAlloc for Memory {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            match is_large(&layout) {
                true => system::take(layout.size()),
                // SAFETY: the caller keeps the contract of `alloc`.
                false => unsafe { MiMalloc.alloc(layout) },
            }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            match is_large(&layout) {
                true => system::take(layout.size()), // The system's pages are empty.
                // SAFETY: as above.
                false => unsafe { MiMalloc.alloc_zeroed(layout) },
            }
        }

        unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
            // SAFETY: `place` came from the same source, and nobody uses it any more.
            unsafe {
                match is_large(&layout) {
                    true => system::give_back(place, layout.size()),
                    false => MiMalloc.dealloc(place, layout),
                }
            }
        }

        unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            // SAFETY: the caller sees to it that `size` is one for this alignment; `place` came from the
            // source that its layout says, and whatever is copied is there on both sides.
            unsafe {
                let wanted = Layout::from_size_align_unchecked(size, layout.align());
                match (is_large(&layout), is_large(&wanted)) {
                    (true, true) => system::resize(place, layout.size(), size),
                    (false, false) => MiMalloc.realloc(place, layout, size),
                    _ => {
                        let to = self.alloc(wanted);
                        if !to.is_null() {
                            to.copy_from_nonoverlapping(place, layout.size().min(size));
                            self.dealloc(place, layout);
                        }
                        to
                    }
                }
            }
        }
    }
}

/// Whole pages; a null pointer where there are none.
#[cfg(target_os = "linux")]
mod system {
    use std::ptr::null_mut;

    use libc::{
        MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, MREMAP_MAYMOVE, PROT_READ, PROT_WRITE, c_void,
    };

    /// The least there is on any of its machines.
    pub const PAGE: usize = 4096;

    pub fn take(size: usize) -> *mut u8 {
        // SAFETY: a new place, which nothing else is at; what is said of it is a hint.
        unsafe {
            let place =
                libc::mmap(null_mut(), size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            in_large_pages(place, size)
        }
    }

    /// # Safety
    /// `place` was taken with that size, and is used by nobody any more.
    pub unsafe fn give_back(place: *mut u8, size: usize) {
        // SAFETY: as above. It cannot fail for a whole place.
        unsafe { libc::munmap(place.cast(), size) };
    }

    /// # Safety
    /// `place` was taken with size `before`, and is used by nobody any more if this gives another.
    pub unsafe fn resize(place: *mut u8, before: usize, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { in_large_pages(libc::mremap(place.cast(), before, size, MREMAP_MAYMOVE), size) }
    }

    /// A few large pages cost less than many small ones, to get and to find.
    fn in_large_pages(place: *mut c_void, size: usize) -> *mut u8 {
        if place == MAP_FAILED {
            return null_mut();
        }
        // SAFETY: a hint, which changes nothing that anybody reads, wherever it points.
        unsafe { libc::madvise(place, size, MADV_HUGEPAGE) };
        place.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grows and shrinks across the border, both ways, and keeps what is in it.
    #[test]
    fn what_is_in_an_array_stays_when_it_grows_and_shrinks() {
        let mut list: Vec<u64> = Vec::new();
        let mut lengths = Vec::new();
        for megabytes in [1, 15, 17, 40, 200, 33, 16, 2] {
            let length = megabytes << 17;
            list.truncate(length);
            list.shrink_to_fit();
            list.reserve_exact(length - list.len());
            list.extend(list.len() as u64..length as u64);
            assert!(list.iter().zip(0..).all(|(x, i)| *x == i), "{megabytes} MB");
            lengths.push(list.capacity());
        }
        assert_eq!(lengths.iter().max(), Some(&(200 << 17)));
    }

    #[test]
    fn zeros_are_zeros() {
        for _ in 0..3 {
            let mut list = vec![0u8; 3 * LARGE];
            assert!(list.iter().all(|x| *x == 0));
            list.fill(7);
        }
    }

    /// Pages that a process has, in bytes.
    #[cfg(target_os = "linux")]
    fn resident() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        4096 * text.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn large_arrays_return_to_the_system_at_once() {
        let before = resident();
        let list = vec![1u8; 32 * LARGE];
        let with = resident();
        drop(list);
        let after = resident();
        assert!(with > before + 24 * LARGE, "{before} {with}");
        assert!(after + 24 * LARGE < with, "{with} {after}");
    }
}
