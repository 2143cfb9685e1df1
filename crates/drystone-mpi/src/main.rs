//! `mpirun -n N drystone-mpi run SCENE ...`: one run over N ranks. Without `mpirun` it runs on one.
//!
//! Rank 0 is the command `drystone`, with all that it reads and writes, whose steps are taken over ranks; the
//! others do what it says ([`ranks`]).

mod comm;
mod ranks;

use comm::Processes;
use drystone_ranks::Comm;
use mpi::Threading;
use mpi::traits::*;

/// As that of `drystone`.
#[global_allocator]
static ALLOCATOR: drystone_memory::Memory = drystone_memory::Memory;

/// Exit status where MPI cannot begin.
const NO_MPI: i32 = 2;
/// Exit status of all ranks where one has failed.
const PANIC: i32 = 101;

fn main() {
    #[cfg(unix)]
    unsafe {
        // SAFETY: resetting a signal to its default action before any thread exists.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("drystone-mpi: MPI was initialised already");
        std::process::exit(NO_MPI);
    };
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // One rank that panics ends them all, and says which it was.
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        eprintln!("drystone-mpi: rank {rank} of {size} has failed");
        say(info);
        mpi::topology::SimpleCommunicator::world().abort(PANIC);
    }));
    // For all of the program, which ends with it.
    let comm: &'static Processes = Box::leak(Box::new(Processes::new(world)));
    let status = match comm.rank() {
        0 => {
            let status = drystone_cli::main("drystone-mpi", Some(Box::new(ranks::Leader::new(comm))));
            ranks::end(comm, status);
            status
        }
        _ => ranks::follow(comm),
    };
    drop(universe);
    std::process::exit(status);
}
