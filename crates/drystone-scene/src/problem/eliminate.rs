//! From bodies to contacts: W = Hᵀ M⁻¹ H and q = Hᵀ M⁻¹ f + w.
//!
//! M couples the degrees of freedom of one body, or of one flexible part, and no others: it is split into its
//! connected parts, and each is factorised as a dense matrix.

use drystone_solve::disjoint::DisjointSets;
use drystone_solve::problem::Csr;

/// A part larger than this would take minutes.
const LARGEST: usize = 3000;

/// W and q; the text says what is wrong with M, H, f or w.
pub(super) fn eliminate(
    m: &Csr,
    h: &Csr,
    f: &[f64],
    w: &[f64],
) -> Result<(Csr, Vec<f64>), (&'static str, String)> {
    let n = m.rows();
    if m.columns != n {
        return Err(("M", format!("must be square, is {n} x {}", m.columns)));
    }
    if h.rows() != n {
        return Err(("H", format!("has {} rows, M has {n}", h.rows())));
    }
    let parts = connected(m);
    let rows = h.columns;
    let mut sums: Vec<Vec<(u32, f64)>> = vec![Vec::new(); rows];
    let mut q = w.to_vec();
    let mut place = vec![0; n];
    for part in parts {
        let size = part.len();
        if size > LARGEST {
            let text = format!("couples {size} degrees of freedom; more than {LARGEST} are not supported");
            return Err(("M", text));
        }
        for (k, &i) in part.iter().enumerate() {
            place[i] = k;
        }
        let mut dense = vec![0.0; size * size];
        let mut columns: Vec<(u32, Vec<f64>)> = Vec::new();
        for (k, &i) in part.iter().enumerate() {
            for (j, x) in m.row(i) {
                dense[k * size + place[j]] += x;
            }
            for (c, x) in h.row(i) {
                let c = c as u32;
                let at = columns.iter().position(|(column, _)| *column == c).unwrap_or_else(|| {
                    columns.push((c, vec![0.0; size]));
                    columns.len() - 1
                });
                columns[at].1[k] += x;
            }
        }
        if columns.is_empty() {
            continue;
        }
        let order = factorise(&mut dense, size).ok_or_else(|| {
            ("M", format!("cannot be inverted: the part with degree of freedom {} is singular", part[0]))
        })?;
        let mut force: Vec<f64> = part.iter().map(|&i| f[i]).collect();
        solve(&dense, &order, &mut force);
        for (c, column) in &columns {
            q[*c as usize] += column.iter().zip(&force).map(|(h, v)| h * v).sum::<f64>();
        }
        let solved: Vec<(u32, Vec<f64>)> = columns
            .iter()
            .map(|(c, column)| {
                let mut x = column.clone();
                solve(&dense, &order, &mut x);
                (*c, x)
            })
            .collect();
        for (c, column) in &columns {
            for (d, x) in &solved {
                sums[*c as usize].push((*d, column.iter().zip(x).map(|(h, v)| h * v).sum()));
            }
        }
    }
    Ok((Csr::from_rows(rows, sums), q))
}

/// The sets of indices that the entries of M tie together, each in rising order.
fn connected(m: &Csr) -> Vec<Vec<usize>> {
    let n = m.rows();
    let mut sets = DisjointSets::new(n);
    for i in 0..n {
        for (j, x) in m.row(i) {
            if x != 0.0 {
                sets.join(i as u32, j as u32);
            }
        }
    }
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); n];
    for i in 0..n {
        parts[sets.root(i as u32) as usize].push(i);
    }
    parts.retain(|p| !p.is_empty());
    parts
}

/// LU with row exchanges, in place; the order of the rows, or None for a singular matrix.
fn factorise(a: &mut [f64], n: usize) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..n).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs()))?;
        if a[pivot * n + k] == 0.0 || !a[pivot * n + k].is_finite() {
            return None;
        }
        if pivot != k {
            order.swap(pivot, k);
            for j in 0..n {
                a.swap(pivot * n + j, k * n + j);
            }
        }
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            a[i * n + k] = factor;
            if factor != 0.0 {
                for j in k + 1..n {
                    a[i * n + j] -= factor * a[k * n + j];
                }
            }
        }
    }
    Some(order)
}

fn solve(lu: &[f64], order: &[usize], b: &mut [f64]) {
    let n = b.len();
    let mut x: Vec<f64> = order.iter().map(|&i| b[i]).collect();
    for i in 0..n {
        for j in 0..i {
            x[i] -= lu[i * n + j] * x[j];
        }
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            x[i] -= lu[i * n + j] * x[j];
        }
        x[i] /= lu[i * n + i];
    }
    b.copy_from_slice(&x);
}
