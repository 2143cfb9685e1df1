//! FCLib's HDF5 files: `/fclib_local` with W and q, or `/fclib_global` and `/fclib_global_rolling` with M, H,
//! f and w. Bilateral rows have multipliers λ and zero velocity,
//!
//! ```text
//!     local    u = W r + V λ + q,   0 = Vᵀ r + R λ + s
//!     global   M v = f + H r + G λ,   u = Hᵀ v + w,   0 = Gᵀ v + b
//! ```
//!
//! A matrix is a group of m, n, nz and the arrays p, i, x: nz ≥ 0 triplets (i rows, p columns), -1 compressed
//! columns, -2 compressed rows.

use std::ops::Range;

use drystone_solve::Set;
use drystone_solve::problem::Csr;

use super::eliminate::eliminate;
use super::hdf5::{Data, File, Node, write};
use super::{ContactProblem, Kind};

type Read<T> = Result<T, (String, String)>;

/// Reads a problem; the error is a field and what is wrong with it.
pub(super) fn problem(bytes: &[u8], name: &str) -> Read<ContactProblem> {
    let file = File::open(bytes).map_err(|e| ("file".into(), e))?;
    let at = |field: &str| {
        let field = field.to_string();
        move |e: String| (field, e)
    };
    let roots =
        [("fclib_local", false, false), ("fclib_global", true, false), ("fclib_global_rolling", true, true)];
    let mut found = None;
    for (root, global, rolling) in roots {
        if file.has(root).map_err(at(root))? {
            found = Some((root, global, rolling));
        }
    }
    let Some((root, global, rolling)) = found else {
        let text = "has neither fclib_local nor fclib_global nor fclib_global_rolling";
        return Err(("file".into(), text.into()));
    };
    let reals = |field: &str| file.reals(&format!("{root}/{field}")).map_err(at(field));
    let matrix = |field: &str| matrix(&file, &format!("{root}/{field}")).map_err(at(field));
    let has = |field: &str| file.has(&format!("{root}/{field}")).map_err(at(field));
    let mu = reals("vectors/mu")?;
    // FCLib has no rolling contacts in the local form; ours have their coefficients beside the others.
    let rolling = rolling || has("vectors/mu_r")?;
    let mu_r = if rolling { reals("vectors/mu_r")? } else { Vec::new() };
    let fits = |field: &str, found: usize, wanted: usize, of: &str| match found == wanted {
        true => Ok(()),
        false => Err((field.to_string(), format!("has {found} numbers, but there are {wanted} {of}"))),
    };
    let bilateral;
    let (w, q) = if global {
        let (m, mut h) = (matrix("M")?, matrix("H")?);
        let (f, mut w) = (reals("vectors/f")?, reals("vectors/w")?);
        fits("f", f.len(), m.rows(), "rows of M")?;
        fits("w", w.len(), h.columns, "columns of H")?;
        bilateral = if has("G")? {
            let (g, b) = (matrix("G")?, reals("vectors/b")?);
            if g.rows() != m.rows() {
                return Err(("G".into(), format!("has {} rows, M has {}", g.rows(), m.rows())));
            }
            fits("b", b.len(), g.columns, "columns of G")?;
            h = beside(&h, &g);
            w.extend(b);
            g.columns
        } else {
            0
        };
        eliminate(&m, &h, &f, &w).map_err(|(field, text)| (field.into(), text))?
    } else {
        let (mut w, mut q) = (matrix("W")?, reals("vectors/q")?);
        bilateral = if has("V")? || has("R")? {
            let (v, r, s) = (matrix("V")?, matrix("R")?, reals("vectors/s")?);
            let n = r.rows();
            if r.columns != n || (v.rows(), v.columns) != (w.rows(), n) {
                let text = format!(
                    "is {} x {} and R {n} x {}, but W is {} x {}",
                    v.rows(),
                    v.columns,
                    r.columns,
                    w.rows(),
                    w.columns
                );
                return Err(("V".into(), text));
            }
            fits("s", s.len(), n, "rows of R")?;
            w = below(&beside(&w, &v), &beside(&v.transposed(), &r));
            q.extend(s);
            n
        } else {
            0
        };
        (w, q)
    };
    let dimension = file.whole(&format!("{root}/spacedim")).map_err(at("spacedim"))?;
    // Some files of rolling contacts say the dimension of space.
    let dimension = if rolling { 5 } else { dimension };
    if ![2, 3, 5].contains(&dimension) {
        return Err(("spacedim".into(), format!("must be 2, 3 or 5, got {dimension}")));
    }
    let kind = match (global, rolling) {
        (false, false) => Kind::Fc,
        (false, true) => Kind::Rfc,
        (true, false) => Kind::Gfc,
        (true, true) => Kind::Grfc,
    };
    Ok(ContactProblem {
        name: name.into(),
        kind,
        dimension: dimension as usize,
        w,
        q,
        mu,
        mu_r,
        others: vec![Set::Free; bilateral],
        // Those of published files are not to be relied on: most writers never stored r.
        guess: Vec::new(),
        solution: Vec::new(),
    })
}

/// [A B]
fn beside(a: &Csr, b: &Csr) -> Csr {
    let shifted = |(j, x): (usize, f64)| ((a.columns + j) as u32, x);
    let row = |i: usize| a.row(i).map(|(j, x)| (j as u32, x)).chain(b.row(i).map(shifted)).collect();
    Csr::from_rows(a.columns + b.columns, (0..a.rows()).map(row).collect())
}

/// A above B
fn below(a: &Csr, b: &Csr) -> Csr {
    let both = [a, b].into_iter().flat_map(|m| (0..m.rows()).map(move |i| (m, i)));
    Csr::from_rows(a.columns, both.map(|(m, i)| m.row(i).map(|(j, x)| (j as u32, x)).collect()).collect())
}

/// Rows and columns of a part.
fn part(m: &Csr, rows: Range<usize>, columns: Range<usize>) -> Csr {
    let inside = |(j, x): (usize, f64)| columns.contains(&j).then(|| ((j - columns.start) as u32, x));
    Csr::from_rows(columns.len(), rows.map(|i| m.row(i).filter_map(inside).collect()).collect())
}

/// Larger matrices than this are a damaged size.
const LARGEST: i64 = 1 << 28;

fn matrix(file: &File, path: &str) -> Result<Csr, String> {
    let size = |name: &str| {
        let x = file.whole(&format!("{path}/{name}"))?;
        match (0..=LARGEST).contains(&x) {
            true => Ok(x as usize),
            false => Err(format!("{name} must lie between 0 and {LARGEST}, got {x}")),
        }
    };
    let (rows, columns) = (size("m")?, size("n")?);
    let form = file.whole(&format!("{path}/nz"))?;
    let (p, i) = (file.wholes(&format!("{path}/p"))?, file.wholes(&format!("{path}/i"))?);
    let x = file.reals(&format!("{path}/x"))?;
    // Before rows are made: a damaged size would ask for the memory.
    let lines = if form == -1 { columns } else { rows };
    if form < 0 && p.len() < lines + 1 {
        return Err(format!("p must have {} numbers, has {}", lines + 1, p.len()));
    }
    let mut all: Vec<Vec<(u32, f64)>> = vec![Vec::new(); rows];
    let mut place = |row: i64, column: i64, x: f64| {
        if !(0..rows as i64).contains(&row) || !(0..columns as i64).contains(&column) {
            return Err(format!("has an entry at ({row}, {column}), but is {rows} x {columns}"));
        }
        all[row as usize].push((column as u32, x));
        Ok(())
    };
    if form >= 0 {
        let n = form as usize;
        if [p.len(), i.len(), x.len()].iter().any(|l| *l < n) {
            return Err(format!("says {n} entries, but has fewer"));
        }
        for k in 0..n {
            place(i[k], p[k], x[k])?;
        }
    } else {
        if !(-2..=-1).contains(&form) {
            return Err(format!("nz must be -2, -1 or the number of entries, got {form}"));
        }
        for line in 0..lines {
            let range = usize::try_from(p[line]).ok().zip(usize::try_from(p[line + 1]).ok());
            let entries = range.and_then(|(a, b)| Some((i.get(a..b)?, x.get(a..b)?)));
            let (i, x) = entries.ok_or_else(|| format!("p does not fit the entries in line {line}"))?;
            for (&other, &x) in i.iter().zip(x) {
                let (row, column) = if form == -1 { (other, line as i64) } else { (line as i64, other) };
                place(row, column, x)?;
            }
        }
    }
    Ok(Csr::from_rows(columns, all))
}

fn group(m: &Csr) -> Node {
    let whole = |x: &mut dyn Iterator<Item = i64>| Node::Data(Data::Whole(x.collect()));
    Node::Group(vec![
        ("m", Node::whole(m.rows() as i64)),
        ("n", Node::whole(m.columns as i64)),
        ("nz", Node::whole(-2)),
        ("nzmax", Node::whole(m.data.len() as i64)),
        ("p", whole(&mut m.indptr.iter().map(|x| *x as i64))),
        ("i", whole(&mut m.indices.iter().map(|x| *x as i64))),
        ("x", Node::reals(&m.data)),
    ])
}

/// The problem with W and q as an FCLib file; what follows the contacts must be bilateral rows.
pub(super) fn file(p: &ContactProblem) -> Vec<u8> {
    let (n, all_rows) = (p.dimension * p.contacts(), p.rows());
    let mut vectors = vec![("q", Node::reals(&p.q[..n])), ("mu", Node::reals(&p.mu))];
    let mut local = vec![("W", group(&part(&p.w, 0..n, 0..n)))];
    if all_rows > n {
        local.push(("V", group(&part(&p.w, 0..n, n..all_rows))));
        local.push(("R", group(&part(&p.w, n..all_rows, n..all_rows))));
        vectors.push(("s", Node::reals(&p.q[n..])));
    }
    if !p.mu_r.is_empty() {
        vectors.push(("mu_r", Node::reals(&p.mu_r)));
    }
    local.push(("vectors", Node::Group(vectors)));
    local.push(("spacedim", Node::whole(p.dimension as i64)));
    let mut root = vec![("fclib_local", Node::Group(local))];
    // r of the contacts, l of the bilateral rows, and u = W r + V l + q.
    let found = |r: &[f64]| {
        let u: Vec<f64> = (0..n).map(|i| p.w.row_dot(i, r) + p.q[i]).collect();
        let mut all = vec![("r", Node::reals(&r[..n])), ("u", Node::reals(&u))];
        if all_rows > n {
            all.push(("l", Node::reals(&r[n..])));
        }
        Node::Group(all)
    };
    if p.guess.len() == all_rows && all_rows > 0 {
        let guesses = vec![("number_of_guesses", Node::whole(1)), ("1", found(&p.guess))];
        root.push(("guesses", Node::Group(guesses)));
    }
    if p.solution.len() == all_rows && all_rows > 0 {
        root.push(("solution", found(&p.solution)));
    }
    write(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M = diag(2, 4, 5), one planar contact on the first two coordinates, one bilateral row on the second
    /// and third.
    #[test]
    fn bilateral_rows_of_bodies_follow_the_contacts() {
        let m = Csr::from_rows(3, vec![vec![(0, 2.0)], vec![(1, 4.0)], vec![(2, 5.0)]]);
        let h = Csr::from_rows(2, vec![vec![(0, 1.0)], vec![(1, 1.0)], vec![]]);
        let g = |rows: usize| Csr::from_rows(1, [vec![], vec![(0, 2.0)], vec![(0, 1.0)]][..rows].to_vec());
        let bytes = |g: &Csr, b: &[f64]| {
            let vectors = vec![
                ("f", Node::reals(&[-2.0, 4.0, 10.0])),
                ("w", Node::reals(&[0.5, 0.0])),
                ("mu", Node::reals(&[0.3])),
                ("b", Node::reals(b)),
            ];
            let all = vec![
                ("M", group(&m)),
                ("H", group(&h)),
                ("G", group(g)),
                ("vectors", Node::Group(vectors)),
                ("spacedim", Node::whole(2)),
            ];
            write(vec![("fclib_global", Node::Group(all))])
        };
        let p = problem(&bytes(&g(3), &[0.25]), "p").unwrap();
        assert_eq!((p.kind, p.contacts(), p.others.as_slice()), (Kind::Gfc, 1, [Set::Free].as_slice()));
        // v without multipliers is (-1, 1, 2): q = (-1 + 0.5, 1) and 2 + 2 + 0.25.
        assert_eq!(p.q, [-0.5, 1.0, 4.25]);
        let rows: Vec<Vec<(usize, f64)>> = (0..3).map(|i| p.w.row(i).collect()).collect();
        assert_eq!(rows[0], [(0, 0.5)]);
        assert_eq!(rows[1], [(1, 0.25), (2, 0.5)]);
        assert_eq!(rows[2], [(1, 0.5), (2, 1.2)]);
        assert_eq!(problem(&bytes(&g(2), &[0.25]), "p").unwrap_err().0, "G");
        assert_eq!(problem(&bytes(&g(3), &[]), "p").unwrap_err().0, "b");
    }

    /// What the reference implementation looks for: `/guesses/1` and `/solution`, contacts and bilateral rows
    /// apart.
    #[test]
    fn multipliers_are_written_beside_the_problem() {
        let p = ContactProblem {
            name: "p".into(),
            kind: Kind::Fc,
            dimension: 2,
            w: Csr::from_rows(3, vec![vec![(0, 2.0), (2, 1.0)], vec![(1, 4.0)], vec![(0, 1.0), (2, 3.0)]]),
            q: vec![-1.0, 0.5, 0.25],
            mu: vec![0.3],
            mu_r: Vec::new(),
            others: vec![Set::Free],
            guess: vec![0.5, 0.125, -0.25],
            solution: vec![1.0, 0.0, -0.5],
        };
        let bytes = file(&p);
        let read = File::open(&bytes).unwrap();
        assert_eq!(read.whole("guesses/number_of_guesses"), Ok(1));
        for (path, numbers) in [
            ("guesses/1/r", vec![0.5, 0.125]),
            ("guesses/1/u", vec![-0.25, 1.0]),
            ("guesses/1/l", vec![-0.25]),
            ("solution/r", vec![1.0, 0.0]),
            ("solution/u", vec![0.5, 0.5]),
            ("solution/l", vec![-0.5]),
        ] {
            assert_eq!(read.reals(path), Ok(numbers), "{path}");
        }
        let bare = file(&ContactProblem { guess: Vec::new(), solution: Vec::new(), ..p });
        let read = File::open(&bare).unwrap();
        assert_eq!((read.has("guesses"), read.has("solution")), (Ok(false), Ok(false)));
    }
}
