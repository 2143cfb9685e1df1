//! What rank 0 says, and the others do.

use drystone::{StepReport, World};
use drystone_cli::Elsewhere;
use drystone_ranks::{Comm, Plan, Ranks, Usage};
use drystone_solve::parallel;
use serde_json::{Value, json};

use crate::comm::Processes;

/// What is to be done next, by all ranks together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// To take the world that follows, and so many threads.
    Begin(usize),
    Step,
    /// To bring bodies and contacts to rank 0.
    Fetch,
    /// To tell rank 0 what was done.
    Tell,
    /// To end with this status.
    End(i32),
}

/// Tells an order, at rank 0, or hears it.
fn order(comm: &Processes, told: Option<Order>) -> Order {
    let numbers = told.map(|order| match order {
        Order::Begin(threads) => [0.0, threads as f64],
        Order::Step => [1.0, 0.0],
        Order::Fetch => [2.0, 0.0],
        Order::Tell => [3.0, 0.0],
        Order::End(status) => [4.0, f64::from(status)],
    });
    let mut heard = numbers.unwrap_or([f64::NEG_INFINITY; 2]);
    comm.most(&mut heard);
    match heard[0] {
        0.0 => Order::Begin(heard[1] as usize),
        1.0 => Order::Step,
        2.0 => Order::Fetch,
        3.0 => Order::Tell,
        _ => Order::End(heard[1] as i32),
    }
}

/// Ends the other ranks with this status.
pub fn end(comm: &Processes, status: i32) {
    order(comm, Some(Order::End(status)));
}

/// A message from rank 0 to all; `mine` is empty at the others.
fn from_first(comm: &Processes, mine: Vec<u8>) -> Vec<u8> {
    let to = if comm.rank() == 0 { vec![mine; comm.size()] } else { vec![Vec::new(); comm.size()] };
    comm.swap(to).swap_remove(0)
}

/// A world that every rank was sent a copy of, spread over them.
fn spread(comm: &'static Processes, bytes: &[u8]) -> Result<Ranks<'static>, String> {
    let world = World::load(bytes).map_err(|e| e.to_string())?;
    Ranks::new(comm, world).map_err(|e| e.to_string())
}

/// Does what rank 0 says, to the end; returns the exit status.
pub fn follow(comm: &'static Processes) -> i32 {
    // Signals go to all ranks of a machine. Rank 0 says what becomes of them.
    let _ = ctrlc::set_handler(|| {});
    let mut ranks = None;
    loop {
        match (order(comm, None), &mut ranks) {
            (Order::End(status), _) => return status,
            (Order::Begin(threads), _) => {
                // A pool that is there already has as many.
                let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let _ = builder.use_current_thread().build_global();
                // Rank 0 has the same error, and says so.
                ranks = spread(comm, &from_first(comm, Vec::new())).ok();
            }
            (Order::Step, Some(ranks)) => drop(parallel::with_team(|| ranks.step())),
            (Order::Fetch, Some(ranks)) => ranks.fetch(),
            (Order::Tell, Some(ranks)) => drop(gather(comm, &ranks.usage())),
            (_, None) => {}
        }
    }
}

/// What each rank has done, at rank 0.
fn gather(comm: &Processes, mine: &Usage) -> Result<Vec<Value>, String> {
    let text = |e: serde_json::Error| e.to_string();
    let letters = comm.gather(serde_json::to_vec(mine).map_err(text)?);
    let mine = letters.iter().filter(|letter| !letter.is_empty());
    mine.map(|letter| serde_json::from_slice(letter).map_err(text)).collect()
}

/// Rank 0.
pub struct Leader {
    comm: &'static Processes,
    ranks: Option<Ranks<'static>>,
}

impl Leader {
    pub fn new(comm: &'static Processes) -> Self {
        Self { comm, ranks: None }
    }

    fn ranks(&mut self, told: Order) -> Result<&mut Ranks<'static>, String> {
        let ranks = self.ranks.as_mut().ok_or("no world was begun")?;
        order(self.comm, Some(told));
        Ok(ranks)
    }
}

impl Elsewhere for Leader {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        (cores / self.comm.size()).max(1)
    }

    fn begin(&mut self, world: &mut World, threads: usize) -> Result<(), String> {
        // Named before any other rank is bothered.
        world.check_parts().map_err(|what| format!("not over ranks: {what}"))?;
        Plan::parse(&world.settings().solver, world.settings().model)?;
        world.global_order();
        let bytes = world.save().map_err(|e| format!("not over ranks: {e}"))?;
        order(self.comm, Some(Order::Begin(threads)));
        self.ranks = Some(spread(self.comm, &from_first(self.comm, bytes))?);
        Ok(())
    }

    fn step(&mut self) -> Result<StepReport, String> {
        let ranks = self.ranks(Order::Step)?;
        parallel::with_team(|| ranks.step()).map_err(|e| e.to_string())
    }

    fn fetch(&mut self, world: &mut World) -> Result<(), String> {
        self.ranks(Order::Fetch)?.fetch_into(world);
        Ok(())
    }

    fn told(&mut self) -> Result<Value, String> {
        let usage = self.ranks(Order::Tell)?.usage();
        let each = gather(self.comm, &usage)?;
        let balance = |key: &str| {
            let busy: Vec<f64> = each.iter().filter_map(|u| u[key].as_f64()).collect();
            let most = busy.iter().copied().fold(0.0, f64::max);
            let mean = busy.iter().sum::<f64>() / busy.len().max(1) as f64;
            if mean > 0.0 { most / mean } else { 1.0 }
        };
        Ok(json!({
            "count": each.len(),
            "largest_over_mean_busy": balance("busy_s_per_step"),
            "recent_largest_over_mean_busy": balance("recent_busy_s_per_step"),
            "each": each,
        }))
    }
}
