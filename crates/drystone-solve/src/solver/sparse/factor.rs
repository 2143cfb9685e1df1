//! The numbers: a multifrontal Cholesky factorisation [DuffReid1983]. Every supernode gathers its matrix
//! entries and its children's Schur complements in a dense front, eliminates its own columns, and leaves its
//! complement for its parent on a stack.

use super::dense::partial_cholesky;
use super::symbolic::Symbolic;

/// A factor and its buffers, kept from call to call.
#[derive(Debug, Default)]
pub(in crate::solver) struct Factor {
    columns: Vec<f64>,
    front: Vec<f64>,
    stack: Vec<f64>,
    /// Row of each node within the current front.
    place: Vec<u32>,
    work: Vec<f64>,
}

impl Factor {
    /// Factors the matrix with the given values (see `Pattern`). Pivots not above `floor` drop out; returns
    /// how many did. None if `more`, asked every few columns, says no: then there is no factor.
    pub fn compute(
        &mut self,
        s: &Symbolic,
        values: &[f64],
        floor: f64,
        more: &dyn Fn() -> bool,
    ) -> Option<usize> {
        self.columns.resize(s.stored, 0.0);
        self.place.resize(s.sizes.len(), 0);
        self.stack.clear();
        self.stack.reserve(s.stack);
        self.front.resize(s.largest * s.largest, 0.0);
        self.work.resize(s.largest, 0.0);
        let mut dropped = 0;
        for node in &s.supernodes {
            let (height, width) = (node.height, node.width);
            let front = &mut self.front[..height * height];
            front.fill(0.0);
            let mut at = 0;
            for i in &node.nodes {
                self.place[*i as usize] = at;
                at += s.sizes[*i as usize];
            }
            for &(start, row, column, turned) in &node.entries {
                let (rows, columns) = (s.sizes[row as usize] as usize, s.sizes[column as usize] as usize);
                let (r, c) = (self.place[row as usize] as usize, self.place[column as usize] as usize);
                let block = &values[start..start + rows * columns];
                for j in 0..columns {
                    let into = &mut front[(c + j) * height + r..][..rows];
                    for (i, x) in into.iter_mut().enumerate() {
                        *x += block[if turned { j * rows + i } else { i * columns + j }];
                    }
                }
            }
            // Children were pushed in order, so the last one is on top.
            for c in node.children.iter().rev() {
                let child = &s.supernodes[*c as usize];
                let size = child.height - child.width;
                let base = self.stack.len() - size * size;
                let below = &child.nodes[child.own..];
                let mut from_column = 0;
                for (at, j) in below.iter().enumerate() {
                    let to_column = self.place[*j as usize] as usize;
                    for dj in 0..s.sizes[*j as usize] as usize {
                        let source = &self.stack[base + (from_column + dj) * size..][..size];
                        let target = &mut front[(to_column + dj) * height..][..height];
                        let mut from_row = from_column;
                        for i in &below[at..] {
                            let n = s.sizes[*i as usize] as usize;
                            let to_row = self.place[*i as usize] as usize;
                            let (to, from) =
                                (&mut target[to_row..to_row + n], &source[from_row..from_row + n]);
                            to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
                            from_row += n;
                        }
                    }
                    from_column += s.sizes[*j as usize] as usize;
                }
                self.stack.truncate(base);
            }
            dropped += partial_cholesky(front, height, width, floor, more)?;
            self.columns[node.start..node.start + width * height].copy_from_slice(&front[..width * height]);
            for j in width..height {
                self.stack.extend_from_slice(&front[j * height + width..(j + 1) * height]);
            }
        }
        Some(dropped)
    }

    /// Replaces `x` by the solution of A x = x, in the nodes' own order.
    pub fn solve(&mut self, s: &Symbolic, x: &mut [f64]) {
        for node in &s.supernodes {
            let (height, width) = (node.height, node.width);
            let l = &self.columns[node.start..node.start + width * height];
            let work = &mut self.work[..height];
            s.gather(&node.nodes, x, work);
            for j in 0..width {
                let column = &l[j * height..(j + 1) * height];
                let y = work[j] / column[j];
                work[j] = y;
                for i in j + 1..height {
                    work[i] -= column[i] * y;
                }
            }
            s.scatter(&node.nodes, work, x);
        }
        for node in s.supernodes.iter().rev() {
            let (height, width) = (node.height, node.width);
            let l = &self.columns[node.start..node.start + width * height];
            let work = &mut self.work[..height];
            s.gather(&node.nodes, x, work);
            for j in (0..width).rev() {
                let column = &l[j * height..(j + 1) * height];
                // Four sums that a machine can keep apart.
                let mut sums = [0.0; 4];
                for (l, y) in column[j + 1..].chunks(4).zip(work[j + 1..].chunks(4)) {
                    for k in 0..l.len() {
                        sums[k] += l[k] * y[k];
                    }
                }
                work[j] = (work[j] - (sums[0] + sums[1] + (sums[2] + sums[3]))) / column[j];
            }
            s.scatter(&node.nodes[..node.own], &work[..width], x);
        }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let all = [&self.columns, &self.front, &self.stack, &self.work];
        all.iter().map(|v| size_of_val(v.as_slice())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;
    use super::*;

    /// A random block pattern with a dominant diagonal, as values and as a dense matrix.
    fn random(nodes: usize, seed: u64) -> (Pattern, Vec<f64>, Vec<Vec<f64>>) {
        let mut state = seed;
        let mut dice = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let sizes: Vec<u32> = (0..nodes).map(|_| 1 + (6.0 * dice()) as u32).collect();
        let mut pairs = Vec::new();
        for i in 0..nodes as u32 {
            for _ in 0..2 {
                pairs.push((i, (nodes as f64 * dice()) as u32));
            }
        }
        let p = Pattern::new(sizes.clone(), pairs);
        let mut values: Vec<f64> = (0..p.values()).map(|_| dice() - 0.5).collect();
        let mut first = vec![0];
        sizes.iter().for_each(|s| first.push(first.last().unwrap() + *s as usize));
        let n = *first.last().unwrap();
        let mut dense = vec![vec![0.0; n]; n];
        for i in 0..nodes {
            let s = sizes[i] as usize;
            for a in 0..s {
                for b in 0..s {
                    let at = p.start[i] + a * s + b;
                    values[at] = if a == b { 40.0 } else { 0.1 * (a * b + a + b) as f64 };
                    dense[first[i] + a][first[i] + b] = values[at];
                }
            }
        }
        for (i, j) in &p.pairs {
            let (rows, columns) = (sizes[*i as usize] as usize, sizes[*j as usize] as usize);
            for a in 0..rows {
                for b in 0..columns {
                    let x = values[p.pair(*i, *j) + a * columns + b];
                    dense[first[*i as usize] + a][first[*j as usize] + b] = x;
                    dense[first[*j as usize] + b][first[*i as usize] + a] = x;
                }
            }
        }
        (p, values, dense)
    }

    #[test]
    fn solutions_satisfy_the_dense_system() {
        let mut factor = Factor::default();
        for (nodes, seed) in [(1, 1), (2, 2), (25, 3), (60, 4), (140, 5)] {
            let (p, values, dense) = random(nodes, seed);
            let s = Symbolic::new(&p);
            assert_eq!(factor.compute(&s, &values, 0.0, &|| true), Some(0));
            let b: Vec<f64> = (0..dense.len()).map(|i| (i as f64).cos()).collect();
            let mut x = b.clone();
            factor.solve(&s, &mut x);
            for (row, b) in dense.iter().zip(&b) {
                let sum: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
                assert!((sum - b).abs() < 1e-12, "{nodes}: {sum} {b}");
            }
        }
    }
}
