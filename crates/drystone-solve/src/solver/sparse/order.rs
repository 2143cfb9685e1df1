//! A fill-reducing order: minimum degree on the quotient graph, with the approximate degrees, element
//! absorption, mass elimination and supervariables of [AmestoyDavisDuff1996]. Nodes have weights (their
//! rows), and ties go to the lowest number, so that the order depends on nothing but the graph.

use std::collections::BTreeSet;

use super::symbolic::Pattern;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Still to be eliminated.
    Variable,
    /// Eliminated, and its clique not yet part of a larger one.
    Element,
    /// Merged into another variable, eliminated with another pivot, or absorbed by a larger element.
    Gone,
}

struct Graph<'a> {
    state: Vec<State>,
    /// Rows of a variable with all that were merged into it; of an element's members.
    weight: Vec<usize>,
    /// Neighbours that are variables (an element's members, once eliminated).
    variables: Vec<Vec<u32>>,
    /// Neighbouring elements.
    elements: Vec<Vec<u32>>,
    degree: Vec<usize>,
    /// Next node of those that are eliminated together with this one.
    next: Vec<u32>,
    tail: Vec<u32>,
    mark: Vec<u32>,
    stamp: u32,
    queue: BTreeSet<(usize, u32)>,
    pattern: &'a Pattern,
}

const NONE: u32 = u32::MAX;

/// The order in which to eliminate the nodes of `pattern`.
pub fn minimum_degree(pattern: &Pattern) -> Vec<u32> {
    let n = pattern.nodes();
    let mut g = Graph {
        state: vec![State::Variable; n],
        weight: pattern.sizes.iter().map(|s| *s as usize).collect(),
        variables: pattern.neighbours(),
        elements: vec![Vec::new(); n],
        degree: vec![0; n],
        next: vec![NONE; n],
        tail: (0..n as u32).collect(),
        mark: vec![0; n],
        stamp: 0,
        queue: BTreeSet::new(),
        pattern,
    };
    for i in 0..n {
        g.degree[i] = g.variables[i].iter().map(|j| g.weight[*j as usize]).sum();
        g.queue.insert((g.degree[i], i as u32));
    }
    let mut left: usize = g.weight.iter().sum();
    let mut heads = Vec::new();
    // |Le \ Lp| by element, valid where the stamp says so.
    let (mut outside, mut seen) = (vec![0usize; n], vec![0u32; n]);
    while let Some((_, p)) = g.queue.pop_first() {
        left -= g.weight[p as usize];
        heads.push(p);
        let members = g.form_element(p);
        g.stamp += 1;
        let stamp = g.stamp;
        let total: usize = members.iter().map(|i| g.weight[*i as usize]).sum();
        for &i in &members {
            for &e in &g.elements[i as usize] {
                let e = e as usize;
                if seen[e] != stamp {
                    seen[e] = stamp;
                    outside[e] = g.weight[e];
                }
                outside[e] -= g.weight[i as usize];
            }
        }
        // Marks Lp and p, to prune what the new element covers.
        g.stamp += 1;
        let inside = g.stamp;
        members.iter().for_each(|i| g.mark[*i as usize] = inside);
        g.mark[p as usize] = inside;
        let mut keep = Vec::with_capacity(members.len());
        let mut hashes: Vec<(u64, u32)> = Vec::new();
        for &i in &members {
            let k = i as usize;
            let before = g.degree[k];
            g.queue.remove(&(before, i));
            let mut elements = std::mem::take(&mut g.elements[k]);
            // An element that lies within the new one says nothing more.
            elements.retain(|e| {
                let alive = g.state[*e as usize] == State::Element;
                if alive && outside[*e as usize] == 0 {
                    g.state[*e as usize] = State::Gone;
                }
                alive && outside[*e as usize] > 0
            });
            let mut variables = std::mem::take(&mut g.variables[k]);
            variables.retain(|j| g.state[*j as usize] == State::Variable && g.mark[*j as usize] != inside);
            let own: usize = variables.iter().map(|j| g.weight[*j as usize]).sum();
            let far: usize = elements.iter().map(|e| outside[*e as usize]).sum();
            let within = total - g.weight[k];
            if own + far == 0 {
                // Nothing but the new element: eliminated at once, with p.
                left -= g.weight[k];
                g.merge(p, i);
                continue;
            }
            let room = left - g.weight[k];
            g.degree[k] = (before + within).min(within + own + far).min(room);
            elements.push(p);
            let hash = variables.iter().chain(&elements).fold(0u64, |h, x| h.wrapping_add(mix(*x)));
            hashes.push((hash, i));
            (g.variables[k], g.elements[k]) = (variables, elements);
            keep.push(i);
        }
        hashes.sort_unstable();
        for group in hashes.chunk_by(|a, b| a.0 == b.0) {
            for (at, (_, i)) in group.iter().enumerate() {
                if g.state[*i as usize] != State::Variable {
                    continue;
                }
                for (_, j) in &group[at + 1..] {
                    if g.state[*j as usize] == State::Variable && g.same(*i, *j) {
                        let w = g.weight[*j as usize];
                        g.weight[*i as usize] += w;
                        g.degree[*i as usize] = g.degree[*i as usize].saturating_sub(w);
                        g.merge(*i, *j);
                    }
                }
            }
        }
        keep.retain(|i| g.state[*i as usize] == State::Variable);
        keep.iter().for_each(|i| {
            g.queue.insert((g.degree[*i as usize], *i));
        });
        g.weight[p as usize] = keep.iter().map(|i| g.weight[*i as usize]).sum();
        g.variables[p as usize] = keep;
        g.state[p as usize] = State::Element;
    }
    let mut order = Vec::with_capacity(n);
    for p in heads {
        let mut at = p;
        while at != NONE {
            order.push(at);
            at = g.next[at as usize];
        }
    }
    debug_assert_eq!(order.len(), g.pattern.nodes());
    order
}

fn mix(x: u32) -> u64 {
    (x as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
}

impl Graph<'_> {
    /// Lp: the variables that the elimination of `p` joins. Its old elements are absorbed.
    fn form_element(&mut self, p: u32) -> Vec<u32> {
        self.stamp += 1;
        let stamp = self.stamp;
        self.mark[p as usize] = stamp;
        let mut members = Vec::new();
        let mut take = |mark: &mut [u32], state: &[State], j: u32| {
            if state[j as usize] == State::Variable && mark[j as usize] != stamp {
                mark[j as usize] = stamp;
                members.push(j);
            }
        };
        for j in std::mem::take(&mut self.variables[p as usize]) {
            take(&mut self.mark, &self.state, j);
        }
        for e in std::mem::take(&mut self.elements[p as usize]) {
            if self.state[e as usize] != State::Element {
                continue;
            }
            self.state[e as usize] = State::Gone;
            for j in std::mem::take(&mut self.variables[e as usize]) {
                take(&mut self.mark, &self.state, j);
            }
        }
        members
    }

    /// `j` goes where `i` goes.
    fn merge(&mut self, i: u32, j: u32) {
        self.state[j as usize] = State::Gone;
        let tail = self.tail[i as usize];
        self.next[tail as usize] = j;
        self.tail[i as usize] = self.tail[j as usize];
        self.variables[j as usize] = Vec::new();
        self.elements[j as usize] = Vec::new();
    }

    /// Whether two variables have the same neighbours, apart from each other.
    fn same(&mut self, i: u32, j: u32) -> bool {
        let (a, b) = (i as usize, j as usize);
        if self.elements[a].len() != self.elements[b].len() {
            return false;
        }
        self.stamp += 1;
        let stamp = self.stamp;
        for &x in self.variables[a].iter().chain(&self.elements[a]) {
            self.mark[x as usize] = stamp;
        }
        // Both are members of the new element, so that neither has the other among its variables.
        let live = |g: &Self, k: usize| {
            g.variables[k].iter().filter(|x| g.state[**x as usize] == State::Variable).count()
        };
        if live(self, a) != live(self, b) {
            return false;
        }
        let state = &self.state;
        let variables = self.variables[b].iter().filter(|x| state[**x as usize] == State::Variable);
        variables.chain(&self.elements[b]).all(|x| self.mark[*x as usize] == stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(n: usize) -> Pattern {
        let mut pairs = Vec::new();
        for y in 0..n {
            for x in 0..n {
                let i = (y * n + x) as u32;
                if x + 1 < n {
                    pairs.push((i, i + 1));
                }
                if y + 1 < n {
                    pairs.push((i, i + n as u32));
                }
            }
        }
        Pattern::new(vec![1; n * n], pairs)
    }

    #[test]
    fn an_order_is_a_permutation() {
        let order = minimum_degree(&grid(13));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(i, x)| i == *x as usize));
    }

    #[test]
    fn stars_and_grids_fill_little() {
        // A star whose hub comes first: eliminating that first would join all its 200 leaves.
        let star = Pattern::new(vec![1; 201], (1..201).map(|i| (0, i)).collect());
        let flops = super::super::Symbolic::new(&star).flops();
        assert!(flops < 5_000.0, "{flops}");
        // A 30 x 30 grid in its natural order has a band of 30, which costs 900 * 30 * 30.
        let flops = super::super::Symbolic::new(&grid(30)).flops();
        assert!(flops < 300_000.0, "{flops}");
    }
}
