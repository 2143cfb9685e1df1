//! The analysis: what the factor will look like, from the pattern alone.
//!
//! After a minimum-degree order, the elimination tree \[Liu1990\] and the rows below each node give
//! supernodes: runs of nodes with (nearly) the same rows, which are eliminated as one dense front. A few
//! zeros are stored where that makes fronts larger.

use super::order::minimum_degree;

/// A symmetric matrix of dense blocks: its nodes and which pairs of them have a block. Every node has a
/// diagonal block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::solver) struct Pattern {
    /// Rows of each node.
    pub sizes: Vec<u32>,
    /// Pairs (i, j) with i < j, sorted, without repetition.
    pub pairs: Vec<(u32, u32)>,
    /// Where each node's diagonal block begins in the values, and then where each pair's does.
    pub start: Vec<usize>,
}

impl Pattern {
    /// Sorts the pairs; their order and repetitions do not matter.
    pub fn new(sizes: Vec<u32>, mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.iter_mut().for_each(|p| *p = (p.0.min(p.1), p.0.max(p.1)));
        pairs.retain(|p| p.0 != p.1);
        pairs.sort_unstable();
        pairs.dedup();
        let mut start = Vec::with_capacity(sizes.len() + pairs.len() + 1);
        let mut at = 0;
        for s in &sizes {
            start.push(at);
            at += (s * s) as usize;
        }
        for (i, j) in &pairs {
            start.push(at);
            at += (sizes[*i as usize] * sizes[*j as usize]) as usize;
        }
        start.push(at);
        Self { sizes, pairs, start }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.sizes.len()
    }

    /// Length of the values: every diagonal block, then the block of every pair, each by rows; a pair's rows
    /// are those of its first node.
    pub fn values(&self) -> usize {
        *self.start.last().unwrap_or(&0)
    }

    /// Where the block of a pair begins; `i` < `j`, and the pair exists.
    pub fn pair(&self, i: u32, j: u32) -> usize {
        let at = self.pairs.binary_search(&(i, j)).expect("a pair of the pattern");
        self.start[self.nodes() + at]
    }

    /// Both ways.
    pub fn neighbours(&self) -> Vec<Vec<u32>> {
        let mut out = vec![Vec::new(); self.nodes()];
        for (i, j) in &self.pairs {
            out[*i as usize].push(*j);
            out[*j as usize].push(*i);
        }
        out
    }
}

/// A run of nodes that are eliminated together.
#[derive(Clone, Debug, Default)]
pub(super) struct Supernode {
    /// Its own nodes, then those below, all in elimination order (original numbers).
    pub nodes: Vec<u32>,
    /// How many of them are its own.
    pub own: usize,
    /// Scalar rows of its own nodes, and of all.
    pub width: usize,
    pub height: usize,
    /// Children whose updates it takes over: the last ones on the stack.
    pub children: Vec<u32>,
    /// Blocks of the matrix that enter here: value offset, row node, column node, and whether the stored
    /// block (by rows) is the other way round.
    pub entries: Vec<(usize, u32, u32, bool)>,
    /// Where its columns begin in the factor.
    pub start: usize,
}

/// The factor's structure.
#[derive(Clone, Debug, Default)]
pub(in crate::solver) struct Symbolic {
    pub(super) supernodes: Vec<Supernode>,
    pub(super) sizes: Vec<u32>,
    /// First scalar row of each node.
    pub(super) first: Vec<usize>,
    pub(super) stored: usize,
    pub(super) stack: usize,
    pub(super) largest: usize,
    flops: f64,
}

/// A supernode takes its parent in as long as that stores at most this share of zeros.
const ZEROS: f64 = 0.15;

impl Symbolic {
    /// Analyses `pattern`.
    pub fn new(pattern: &Pattern) -> Self {
        let n = pattern.nodes();
        let order = minimum_degree(pattern);
        let mut place = vec![0u32; n];
        order.iter().enumerate().for_each(|(k, i)| place[*i as usize] = k as u32);
        // Neighbours that come later, in the order's numbers.
        let mut later: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut earlier: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (i, j) in &pattern.pairs {
            let (a, b) = (place[*i as usize], place[*j as usize]);
            later[a.min(b) as usize].push(a.max(b));
            earlier[a.max(b) as usize].push(a.min(b));
        }
        let parent = tree(&earlier);
        let post = postorder(&parent);
        // From here on nodes are numbered by the postorder.
        let mut rank = vec![0u32; n];
        post.iter().enumerate().for_each(|(k, i)| rank[*i as usize] = k as u32);
        let original: Vec<u32> = post.iter().map(|k| order[*k as usize]).collect();
        let parent: Vec<Option<u32>> =
            post.iter().map(|k| parent[*k as usize].map(|p| rank[p as usize])).collect();
        let size = |k: u32| pattern.sizes[original[k as usize] as usize] as usize;
        // Rows below each node.
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut mark = vec![u32::MAX; n];
        let mut counts = vec![0usize; n];
        for k in 0..n {
            let mut below: Vec<u32> = Vec::new();
            mark[k] = k as u32;
            let from_children = children[k].iter().flat_map(|c| rows[*c as usize].iter().copied());
            let own = later[post[k] as usize].iter().map(|j| rank[*j as usize]);
            for r in own.chain(from_children) {
                if mark[r as usize] != k as u32 {
                    mark[r as usize] = k as u32;
                    below.push(r);
                }
            }
            below.sort_unstable();
            counts[k] = below.iter().map(|r| size(*r)).sum::<usize>();
            rows[k] = below;
            if let Some(p) = parent[k] {
                children[p as usize].push(k as u32);
            }
        }
        let mut out = Self { sizes: pattern.sizes.clone(), ..Self::default() };
        let mut at = 0;
        for s in &pattern.sizes {
            out.first.push(at);
            at += *s as usize;
        }
        let owner = out.collect_supernodes(n, &parent, &counts, &rows, &original, size);
        out.link(&owner, &rank, &place, pattern);
        out.measure();
        out
    }

    /// Groups nodes (numbered by the postorder) and returns the supernode of each.
    fn collect_supernodes(
        &mut self,
        n: usize,
        parent: &[Option<u32>],
        counts: &[usize],
        rows: &[Vec<u32>],
        original: &[u32],
        size: impl Fn(u32) -> usize,
    ) -> Vec<u32> {
        let mut owner = vec![0u32; n];
        let mut k = 0;
        while k < n {
            let begin = k;
            let (mut width, mut zeros) = (size(k as u32), 0);
            while k + 1 < n && parent[k] == Some(k as u32 + 1) {
                let next = size(k as u32 + 1);
                // Rows that the run would gain, all zero in its columns.
                let gained = counts[k + 1] + next - counts[k];
                let with = zeros + gained * width;
                let all = (width + next) * (width + next + counts[k + 1]);
                if with as f64 > ZEROS * all as f64 {
                    break;
                }
                zeros = with;
                width += next;
                k += 1;
            }
            let own = k + 1 - begin;
            let mut nodes: Vec<u32> = (begin..=k).map(|j| original[j]).collect();
            nodes.extend(rows[k].iter().map(|r| original[*r as usize]));
            (begin..=k).for_each(|j| owner[j] = self.supernodes.len() as u32);
            let height = width + counts[k];
            self.supernodes.push(Supernode { nodes, own, width, height, ..Supernode::default() });
            k += 1;
        }
        owner
    }

    /// Children and entries. `rank` numbers the order, `place` the original nodes.
    fn link(&mut self, owner: &[u32], rank: &[u32], place: &[u32], pattern: &Pattern) {
        let number = |i: u32| rank[place[i as usize] as usize];
        for s in 0..self.supernodes.len() {
            let node = &self.supernodes[s];
            if let Some(&r) = node.nodes.get(node.own) {
                let p = owner[number(r) as usize] as usize;
                self.supernodes[p].children.push(s as u32);
            }
        }
        for i in 0..pattern.nodes() as u32 {
            let s = owner[number(i) as usize] as usize;
            self.supernodes[s].entries.push((pattern.start[i as usize], i, i, false));
        }
        for (k, (i, j)) in pattern.pairs.iter().enumerate() {
            let start = pattern.start[pattern.nodes() + k];
            // The stored block's rows are those of i: as they are where i comes later.
            let (row, column, turned) =
                if number(*i) > number(*j) { (*i, *j, false) } else { (*j, *i, true) };
            let s = owner[number(column) as usize] as usize;
            self.supernodes[s].entries.push((start, row, column, turned));
        }
    }

    fn measure(&mut self) {
        let mut stack = 0usize;
        for s in 0..self.supernodes.len() {
            let taken: usize = self.supernodes[s]
                .children
                .iter()
                .map(|c| {
                    let c = &self.supernodes[*c as usize];
                    (c.height - c.width) * (c.height - c.width)
                })
                .sum();
            let node = &mut self.supernodes[s];
            node.start = self.stored;
            self.stored += node.width * node.height;
            let left = node.height - node.width;
            stack = stack - taken + left * left;
            self.stack = self.stack.max(stack + taken);
            self.largest = self.largest.max(node.height);
            self.flops += (left + 1..=node.height).map(|m| (m * m) as f64).sum::<f64>();
        }
    }

    /// Additions and multiplications of one factorisation.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    /// work = the rows of x that belong to `nodes`, one after the other.
    pub(super) fn gather(&self, nodes: &[u32], x: &[f64], work: &mut [f64]) {
        let mut at = 0;
        for i in nodes {
            let (first, n) = (self.first[*i as usize], self.sizes[*i as usize] as usize);
            work[at..at + n].copy_from_slice(&x[first..first + n]);
            at += n;
        }
    }

    /// The reverse of `gather`.
    pub(super) fn scatter(&self, nodes: &[u32], work: &[f64], x: &mut [f64]) {
        let mut at = 0;
        for i in nodes {
            let (first, n) = (self.first[*i as usize], self.sizes[*i as usize] as usize);
            x[first..first + n].copy_from_slice(&work[at..at + n]);
            at += n;
        }
    }

    /// Scalar rows.
    pub fn rows(&self) -> usize {
        self.sizes.iter().map(|s| *s as usize).sum()
    }

    /// Memory of the structure, bytes.
    pub fn bytes(&self) -> usize {
        let of = |s: &Supernode| {
            size_of_val(s.nodes.as_slice()) + size_of_val(s.entries.as_slice()) + size_of::<Supernode>()
        };
        self.supernodes.iter().map(of).sum::<usize>()
    }
}

/// The elimination tree, by climbing from each neighbour with paths made short on the way.
fn tree(earlier: &[Vec<u32>]) -> Vec<Option<u32>> {
    let n = earlier.len();
    let mut parent = vec![None; n];
    let mut ancestor: Vec<Option<u32>> = vec![None; n];
    for k in 0..n as u32 {
        for &j in &earlier[k as usize] {
            let mut at = j;
            while at != k {
                let up = ancestor[at as usize].replace(k);
                match up {
                    None => {
                        parent[at as usize] = Some(k);
                        break;
                    }
                    Some(next) => at = next,
                }
            }
        }
    }
    parent
}

/// Children before parents, subtrees together.
fn postorder(parent: &[Option<u32>]) -> Vec<u32> {
    let n = parent.len();
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut roots = Vec::new();
    for k in 0..n as u32 {
        match parent[k as usize] {
            Some(p) => children[p as usize].push(k),
            None => roots.push(k),
        }
    }
    let mut out = Vec::with_capacity(n);
    let mut open: Vec<(u32, usize)> = Vec::new();
    for r in roots {
        open.push((r, 0));
        while let Some((k, next)) = open.last_mut() {
            match children[*k as usize].get(*next) {
                Some(&c) => {
                    *next += 1;
                    open.push((c, 0));
                }
                None => {
                    out.push(*k);
                    open.pop();
                }
            }
        }
    }
    out
}
