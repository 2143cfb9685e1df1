//! A problem with an explicit matrix in the form of the device: all its blocks are general ones, and its rows
//! take the place of bodies.

use drystone_solve::Problem;
use drystone_solve::problem::Explicit;

use crate::engine::HostMemory;
use crate::error::Error;
use crate::layout::Args;
use crate::pack::{ABSENT, Packed, Places, code, fill, fill_pairs, working_memory};

/// Writes a problem and a guess into host memory. `problem` is `p`.
pub(crate) fn pack(
    problem: &Problem,
    p: &Explicit,
    guess: Option<&[f64]>,
    to: &mut HostMemory,
) -> Result<Packed, Error> {
    let (rows, blocks, entries) = (p.q.len(), p.sets.len(), p.w.data.len());
    if rows.max(entries) >= (u32::MAX / 2) as usize {
        return Err(Error::Unsupported(format!("{rows} rows and {entries} entries are too many to number")));
    }
    let mut places = Places { next: 0 };
    let halves = |count: usize| count.div_ceil(2);
    let mut take = |words: usize| if words == 0 { u64::MAX } else { places.take(words) as u64 };
    let mut args = Args {
        first_row: take(halves(blocks + 1)),
        kind: take(halves(blocks)),
        limits: take(2 * blocks),
        bias: take(rows),
        compliance: take(p.compliance.len()),
        first_value: take(halves(rows + 1)),
        column: take(halves(entries)),
        value: take(entries),
        block_of: take(halves(rows)),
        diagonal: take(blocks),
        guess: take(guess.map_or(0, <[f64]>::len)),
        bodies: rows as u32,
        blocks: blocks as u32,
        general_rows: rows as u32,
        width: 1,
        ..ABSENT
    };
    let input = places.next;
    to.reserve(input)?;
    let words = to.words();
    let mut numbers = |at: u64, from: &[f64]| {
        if at != u64::MAX {
            fill(&mut words[at as usize..at as usize + from.len()], 1, |i, to| to[0] = from[i].to_bits());
        }
    };
    let limits: Vec<f64> = p.sets.iter().flat_map(|set| code(*set).1).collect();
    let diagonal: Vec<f64> = (0..blocks).map(|i| problem.block_diagonal(i)[0]).collect();
    numbers(args.limits, &limits);
    numbers(args.bias, &p.q);
    numbers(args.compliance, &p.compliance);
    numbers(args.value, &p.w.data);
    numbers(args.diagonal, &diagonal);
    numbers(args.guess, guess.unwrap_or(&[]));
    let kinds: Vec<u32> = p.sets.iter().map(|set| code(*set).0).collect();
    let first_value: Vec<u32> = p.w.indptr.iter().map(|i| *i as u32).collect();
    let block_of: Vec<u32> = (0..blocks).flat_map(|i| problem.block(i).map(move |_| i as u32)).collect();
    for (at, from) in [
        (args.first_row, &p.first_row),
        (args.kind, &kinds),
        (args.first_value, &first_value),
        (args.column, &p.w.indices),
        (args.block_of, &block_of),
    ] {
        if at != u64::MAX {
            fill_pairs(&mut words[at as usize..at as usize + from.len().div_ceil(2)], from);
        }
    }
    let work = working_memory(&mut args);
    Ok(Packed { args, input, work })
}
