//! Disjoint sets (union-find): which of the elements 0, 1, ..., n - 1 hang together.
//!
//! Every element names a parent, and an element that is its own parent is the root of its set.
//! [`DisjointSets::join`] hangs the larger of two roots below the smaller one, so that the root of a set is
//! its smallest element, whatever the order in which pairs are joined: numbers that are given by root are the
//! same from run to run. [`DisjointSets::root`] halves the way on which it climbs. Without ranks m operations
//! cost O(m log n) at worst, as \[TarjanVanLeeuwen1984\] show for halving with any rule of linking, and in
//! practice little more than one memory access each.

/// A partition of the elements 0, 1, ..., n - 1.
#[derive(Clone, Debug, Default)]
pub struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    /// `n` sets of one element each.
    pub fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).collect() }
    }

    /// Makes it `n` sets of one element each; keeps the memory.
    pub fn reset(&mut self, n: usize) {
        self.parent.clear();
        self.parent.extend(0..n as u32);
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// The smallest element of the set of `i`. Panics unless `i` is an element.
    #[inline]
    pub fn root(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            self.parent[i as usize] = self.parent[self.parent[i as usize] as usize];
            i = self.parent[i as usize];
        }
        i
    }

    /// Makes the sets of `i` and `j` one. Panics unless both are elements.
    #[inline]
    pub fn join(&mut self, i: u32, j: u32) {
        let (a, b) = (self.root(i), self.root(j));
        self.parent[a.max(b) as usize] = a.min(b);
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.parent.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(sets: &mut DisjointSets) -> Vec<u32> {
        (0..sets.len() as u32).map(|i| sets.root(i)).collect()
    }

    #[test]
    fn the_root_is_the_smallest_element_in_any_order_of_joining() {
        let pairs = [(6, 4), (1, 5), (4, 2), (5, 1), (3, 3), (6, 7)];
        for first in 0..pairs.len() {
            let mut sets = DisjointSets::new(8);
            for k in 0..pairs.len() {
                let (i, j) = pairs[(first + k) % pairs.len()];
                sets.join(i, j);
            }
            assert_eq!(roots(&mut sets), [0, 1, 2, 3, 2, 1, 2, 2], "from pair {first} on");
        }
    }

    #[test]
    fn a_long_chain_has_one_root() {
        let n = 1000;
        let mut sets = DisjointSets::new(n);
        (1..n as u32).rev().for_each(|i| sets.join(i - 1, i));
        assert!(roots(&mut sets).iter().all(|root| *root == 0));
    }

    #[test]
    fn reset_takes_all_sets_apart() {
        let mut sets = DisjointSets::new(3);
        sets.join(0, 2);
        sets.reset(4);
        assert_eq!(roots(&mut sets), [0, 1, 2, 3]);
        sets.reset(0);
        assert!(sets.is_empty());
    }
}
