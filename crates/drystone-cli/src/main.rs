//! The drystone command: see the library beside it.

/// Scratch memory of every stage goes through the allocator each step: a fast one is worth having.
#[global_allocator]
static ALLOCATOR: drystone_memory::Memory = drystone_memory::Memory;

fn main() {
    // A reader that goes away (`drystone ... | head`) ends the program instead of making it panic.
    #[cfg(unix)]
    unsafe {
        // SAFETY: resetting a signal to its default action before any thread exists.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    std::process::exit(drystone_cli::main("drystone", None));
}
