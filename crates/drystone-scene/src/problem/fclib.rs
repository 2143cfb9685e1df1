//! FCLib's HDF5 files: `/fclib_local` with W and q, or `/fclib_global` and `/fclib_global_rolling` with M, H, f and w.
//! A matrix is a group of m, n, nz and the arrays p, i, x: nz ≥ 0 triplets (i rows, p columns), -1 compressed columns, -2
//! compressed rows.

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
    if file.has(&format!("{root}/G")).map_err(at("G"))? {
        return Err(("G".into(), "bilateral constraints are not supported".into()));
    }
    let mu = reals("vectors/mu")?;
    let mu_r = if rolling { reals("vectors/mu_r")? } else { Vec::new() };
    let (w, q) = if global {
        let (m, h) = (matrix("M")?, matrix("H")?);
        let (f, w) = (reals("vectors/f")?, reals("vectors/w")?);
        if f.len() != m.rows() {
            return Err(("f".into(), format!("has {} numbers, M has {} rows", f.len(), m.rows())));
        }
        if w.len() != h.columns {
            return Err(("w".into(), format!("has {} numbers, H has {} columns", w.len(), h.columns)));
        }
        eliminate(&m, &h, &f, &w).map_err(|(field, text)| (field.into(), text))?
    } else {
        (matrix("W")?, reals("vectors/q")?)
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
    Ok(ContactProblem { name: name.into(), kind, dimension: dimension as usize, w, q, mu, mu_r })
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
        let lines = if form == -1 { columns } else { rows };
        if p.len() < lines + 1 {
            return Err(format!("p must have {} numbers, has {}", lines + 1, p.len()));
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

/// The problem with W and q as an FCLib file.
pub(super) fn file(p: &ContactProblem) -> Vec<u8> {
    let whole = |x: &mut dyn Iterator<Item = i64>| Node::Data(Data::Whole(x.collect()));
    let w = Node::Group(vec![
        ("m", Node::whole(p.w.rows() as i64)),
        ("n", Node::whole(p.w.columns as i64)),
        ("nz", Node::whole(-2)),
        ("nzmax", Node::whole(p.w.data.len() as i64)),
        ("p", whole(&mut p.w.indptr.iter().map(|x| *x as i64))),
        ("i", whole(&mut p.w.indices.iter().map(|x| *x as i64))),
        ("x", Node::reals(&p.w.data)),
    ]);
    let mut vectors = vec![("q", Node::reals(&p.q)), ("mu", Node::reals(&p.mu))];
    if !p.mu_r.is_empty() {
        vectors.push(("mu_r", Node::reals(&p.mu_r)));
    }
    let local =
        vec![("W", w), ("vectors", Node::Group(vectors)), ("spacedim", Node::whole(p.dimension as i64))];
    write(vec![("fclib_local", Node::Group(local))])
}
