//! The numbers of a matrix that is not symmetric but has a symmetric pattern: a multifrontal LU factorisation
//! over the structure of [`Symbolic`], twice the work of Cholesky's. Pivots are chosen within each front's
//! own rows.

use super::lu_front::partial_lu;
use super::symbolic::Symbolic;

/// Factors and their buffers, kept from call to call.
#[derive(Debug, Default)]
pub(in crate::solver) struct Lu {
    /// By supernode: its columns of L and U.
    columns: Vec<f64>,
    /// By supernode: U right of its own columns, by columns.
    beyond: Vec<f64>,
    /// By supernode: where `beyond` begins, and where its swaps do.
    starts: Vec<[usize; 2]>,
    swaps: Vec<u32>,
    front: Vec<f64>,
    stack: Vec<f64>,
    place: Vec<u32>,
    work: Vec<f64>,
}

impl Lu {
    /// Factors the matrix whose blocks (i, j) with i ≤ j are in `values` (see `Pattern`), and whose blocks
    /// (j, i) are, transposed, at the same places of `mirror`. Pivots of at most `floor` drop out. False if
    /// `more`, asked every few columns, says no: then there are no factors.
    pub fn compute(
        &mut self,
        s: &Symbolic,
        values: &[f64],
        mirror: &[f64],
        floor: f64,
        more: &dyn Fn() -> bool,
    ) -> bool {
        self.columns.resize(s.stored, 0.0);
        self.place.resize(s.sizes.len(), 0);
        self.stack.clear();
        self.front.resize(s.largest * s.largest, 0.0);
        self.work.resize(s.largest, 0.0);
        self.beyond.clear();
        self.starts.clear();
        self.swaps.clear();
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
                // `values` has the block above the diagonal of the pair (i, j), whichever of them comes first
                // here.
                let (below, above) = if turned { (mirror, values) } else { (values, mirror) };
                for j in 0..columns {
                    for i in 0..rows {
                        let at = start + if turned { j * rows + i } else { i * columns + j };
                        front[(c + j) * height + r + i] += below[at];
                        if row != column {
                            front[(r + i) * height + c + j] += above[at];
                        }
                    }
                }
            }
            for c in node.children.iter().rev() {
                let child = &s.supernodes[*c as usize];
                let size = child.height - child.width;
                let base = self.stack.len() - size * size;
                let below = &child.nodes[child.own..];
                let mut from_column = 0;
                for j in below {
                    let to_column = self.place[*j as usize] as usize;
                    for dj in 0..s.sizes[*j as usize] as usize {
                        let source = &self.stack[base + (from_column + dj) * size..][..size];
                        let target = &mut front[(to_column + dj) * height..][..height];
                        let mut from_row = 0;
                        for i in below {
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
            let first_swap = self.swaps.len();
            self.swaps.resize(first_swap + width, 0);
            if !partial_lu(front, height, width, floor, &mut self.swaps[first_swap..], more) {
                return false;
            }
            self.columns[node.start..node.start + width * height].copy_from_slice(&front[..width * height]);
            self.starts.push([self.beyond.len(), first_swap]);
            for j in width..height {
                self.beyond.extend_from_slice(&front[j * height..j * height + width]);
                self.stack.extend_from_slice(&front[j * height + width..(j + 1) * height]);
            }
        }
        true
    }

    /// Replaces `x` by the solution of A x = x, in the nodes' own order.
    pub fn solve(&mut self, s: &Symbolic, x: &mut [f64]) {
        for (node, [_, first_swap]) in s.supernodes.iter().zip(&self.starts) {
            let (height, width) = (node.height, node.width);
            let l = &self.columns[node.start..node.start + width * height];
            let work = &mut self.work[..height];
            s.gather(&node.nodes, x, work);
            for (j, p) in self.swaps[*first_swap..first_swap + width].iter().enumerate() {
                work.swap(j, *p as usize);
            }
            for j in 0..width {
                let y = work[j];
                for (w, l) in work[j + 1..].iter_mut().zip(&l[j * height + j + 1..(j + 1) * height]) {
                    *w -= l * y;
                }
            }
            s.scatter(&node.nodes, work, x);
        }
        for (node, [beyond, _]) in s.supernodes.iter().zip(&self.starts).rev() {
            let (height, width) = (node.height, node.width);
            let u = &self.columns[node.start..node.start + width * height];
            let (own, below) = self.work[..height].split_at_mut(width);
            s.gather(&node.nodes[..node.own], x, own);
            s.gather(&node.nodes[node.own..], x, below);
            for (y, column) in below.iter().zip(self.beyond[*beyond..].chunks(width.max(1))) {
                own.iter_mut().zip(column).for_each(|(w, u)| *w -= u * y);
            }
            for j in (0..width).rev() {
                let y = own[j] / u[j * height + j];
                own[j] = y;
                own[..j].iter_mut().zip(&u[j * height..j * height + j]).for_each(|(w, u)| *w -= u * y);
            }
            s.scatter(&node.nodes[..node.own], own, x);
        }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let all = [&self.columns, &self.beyond, &self.front, &self.stack, &self.work];
        all.iter().map(|v| size_of_val(v.as_slice())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;
    use super::*;

    #[test]
    fn solutions_satisfy_the_dense_system() {
        let mut state = 7u64;
        let mut dice = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut lu = Lu::default();
        for nodes in [1usize, 2, 25, 60, 140] {
            let sizes: Vec<u32> = (0..nodes).map(|_| 1 + (6.0 * dice()) as u32).collect();
            let pairs: Vec<(u32, u32)> =
                (0..2 * nodes as u32).map(|i| (i / 2, (nodes as f64 * dice()) as u32)).collect();
            let p = Pattern::new(sizes.clone(), pairs);
            let values: Vec<f64> = (0..p.values()).map(|_| dice() - 0.5).collect();
            let mirror: Vec<f64> = (0..p.values()).map(|_| dice() - 0.5).collect();
            let mut first = vec![0];
            sizes.iter().for_each(|s| first.push(first.last().unwrap() + *s as usize));
            let n = *first.last().unwrap();
            let mut dense = vec![vec![0.0; n]; n];
            // Diagonal blocks that need their pivots, but hold the matrix together.
            let mut values = values;
            for i in 0..nodes {
                let s = sizes[i] as usize;
                for a in 0..s {
                    for b in 0..s {
                        let at = p.start[i] + a * s + b;
                        values[at] += if (a + 1) % s == b { 30.0 } else { 0.0 };
                        dense[first[i] + a][first[i] + b] = values[at];
                    }
                }
            }
            for (i, j) in &p.pairs {
                let (rows, columns) = (sizes[*i as usize] as usize, sizes[*j as usize] as usize);
                for a in 0..rows {
                    for b in 0..columns {
                        let at = p.pair(*i, *j) + a * columns + b;
                        dense[first[*i as usize] + a][first[*j as usize] + b] = values[at];
                        dense[first[*j as usize] + b][first[*i as usize] + a] = mirror[at];
                    }
                }
            }
            let s = Symbolic::new(&p);
            assert!(lu.compute(&s, &values, &mirror, 0.0, &|| true));
            let b: Vec<f64> = (0..n).map(|_| dice() - 0.5).collect();
            let mut x = b.clone();
            lu.solve(&s, &mut x);
            for i in 0..n {
                let sum: f64 = dense[i].iter().zip(&x).map(|(a, x)| a * x).sum();
                assert!((sum - b[i]).abs() < 1e-11, "{nodes} nodes, row {i}: {sum} for {}", b[i]);
            }
        }
    }
}
