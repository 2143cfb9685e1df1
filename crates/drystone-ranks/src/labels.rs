//! Which bodies belong together, over ranks: labels that travel along the borders.

use std::collections::HashMap;

use drystone_solve::disjoint::DisjointSets;

use crate::comm::Comm;
use crate::domain::Movers;
use crate::message::{Reader, Writer};
use crate::touch::NOBODY;

/// Sets of bodies that are connected, as far as this rank knows them.
pub struct Labels {
    /// By mover: one of those that it is connected to here, the same for all of them.
    pub root: Vec<u32>,
    /// By root: the place in the global order of the first body of the whole set, times the number of ranks,
    /// and its owner.
    pub first: Vec<f64>,
    /// By root: whether other ranks may have parts of the set.
    crosses: Vec<bool>,
}

impl Labels {
    /// `orders` are the movers' places in the global order, `pairs` what connects them.
    pub fn new(
        comm: &dyn Comm,
        movers: &Movers,
        orders: &[u32],
        pairs: impl Iterator<Item = [u32; 2]> + Clone,
    ) -> Self {
        let (n, size) = (movers.slots.len(), comm.size() as f64);
        let mut sets = DisjointSets::new(n);
        let both = || pairs.clone().filter(|pair| pair.iter().all(|k| *k != NOBODY));
        both().for_each(|[a, b]| sets.join(a, b));
        let root: Vec<u32> = (0..n as u32).map(|k| sets.root(k)).collect();
        let mut first = vec![f64::INFINITY; n];
        for k in 0..movers.own {
            let own = f64::from(orders[k]) * size + comm.rank() as f64;
            first[root[k] as usize] = first[root[k] as usize].min(own);
        }
        let mut crosses = vec![false; n];
        for (a, b) in both().map(|[a, b]| (a as usize, b as usize)) {
            crosses[root[a] as usize] |= a >= movers.own || b >= movers.own;
        }
        (movers.own..n).for_each(|k| crosses[root[k] as usize] = true);
        movers.sends.iter().for_each(|k| crosses[root[*k as usize] as usize] = true);
        // Each rank knows its part; the smallest label travels along the borders.
        while comm.size() > 1 {
            let mut told: Vec<[f64; 1]> = root.iter().map(|r| [first[*r as usize]]).collect();
            movers.tell(comm, &mut told);
            let mut changed = [0.0];
            for (r, [x]) in root[movers.own..].iter().zip(&told[movers.own..]) {
                let mine = &mut first[*r as usize];
                if x < mine {
                    (*mine, changed[0]) = (*x, 1.0);
                }
            }
            comm.most(&mut changed);
            if changed[0] == 0.0 {
                break;
            }
        }
        Self { root, first, crosses }
    }

    /// Joins what ranks know of each set, by root: numbers of which neither the order nor the grouping
    /// matters to `join`.
    pub fn join<const N: usize>(
        &self,
        comm: &dyn Comm,
        of: &mut [[f64; N]],
        nothing: f64,
        join: impl Fn(f64, f64) -> f64,
    ) {
        if comm.size() == 1 {
            return;
        }
        let is_told = |k: &usize| self.crosses[*k] && of[*k] != [nothing; N];
        let mut to = Writer::default();
        for k in (0..of.len()).filter(is_told) {
            to.word(self.first[k].to_bits());
            to.numbers(&of[k]);
        }
        let mut total: HashMap<u64, [f64; N]> = HashMap::new();
        for letter in comm.swap(vec![to.0; comm.size()]) {
            let mut from = Reader(&letter);
            while !from.is_empty() {
                let sum = total.entry(from.word()).or_insert([nothing; N]);
                let numbers: [f64; N] = from.list();
                sum.iter_mut().zip(numbers).for_each(|(a, b)| *a = join(*a, b));
            }
        }
        for k in (0..of.len()).filter(|k| self.crosses[*k]) {
            if let Some(sum) = total.get(&self.first[k].to_bits()) {
                of[k] = *sum;
            }
        }
    }

    /// The largest of what ranks know of each set, by root; nothing is below 0.
    pub fn most<const N: usize>(&self, comm: &dyn Comm, of: &mut [[f64; N]]) {
        self.join(comm, of, 0.0, f64::max);
    }
}
