//! The uniform JSON form.

use drystone_solve::Set;
use drystone_solve::problem::Csr;

use super::eliminate::eliminate;
use super::{ContactProblem, Kind};
use crate::text::{At, Fault, Node};

const FIELDS: &[&str] =
    &["name", "kind", "d", "nc", "W", "q", "mu", "mu_r", "others", "guess", "solution", "global", "source"];

/// Names of the sets that may follow the contacts, and the fields of each.
pub(super) const SETS: &[(&str, &[&str])] = &[
    ("free", &[]),
    ("non_negative", &[]),
    ("interval", &["lo", "hi"]),
    ("friction2", &["mu"]),
    ("friction3", &["mu"]),
    ("rolling5", &["mu", "mu_r"]),
];

/// W and q that a file gives twice, as such and by its bodies, may differ by this share of their largest
/// entry.
const AGREEMENT: f64 = 1e-6;

pub(super) fn problem(root: &Node) -> Result<ContactProblem, Fault> {
    let root = At::root(root);
    root.only(FIELDS)?;
    let kind = root.need("kind")?.choice(Kind::NAMES)?;
    let d = root.need("d")?;
    let dimension = d.whole(2, 5)? as usize;
    if dimension == 4 {
        return Err(d.fault("must be 2, 3 or 5, got 4"));
    }
    let contacts = root.need("nc")?.whole(0, 1 << 30)? as usize;
    let name = match root.get("name") {
        Some(at) => at.text()?.to_string(),
        None => "problem".into(),
    };
    let mu = numbers(&root.need("mu")?, Some(contacts))?;
    let mu_r = match root.get("mu_r") {
        Some(at) => numbers(&at, Some(contacts))?,
        None if dimension == 5 => return Err(root.fault("the field 'mu_r' is missing: dimension 5 needs it")),
        None => Vec::new(),
    };
    let others = match root.get("others") {
        Some(at) => at.items()?.map(|item| set(&item)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let mut p = ContactProblem {
        name,
        kind,
        dimension,
        w: Csr::default(),
        q: Vec::new(),
        mu,
        mu_r,
        others,
        guess: Vec::new(),
        solution: Vec::new(),
    };
    let rows = p.rows();
    for (key, to) in [("guess", &mut p.guess), ("solution", &mut p.solution)] {
        if let Some(at) = root.get(key) {
            *to = numbers(&at, Some(rows))?;
        }
    }
    p.q = numbers(&root.need("q")?, Some(rows))?;
    let w = root.need("W")?;
    if let Some(shape) = w.get("shape") {
        let [m, n] = size(&shape)?;
        if [m, n] != [rows, rows] {
            return Err(shape.fault(p.misfit(m, n)));
        }
    }
    p.w = matrix(&w)?;
    if let Some(at) = root.get("global") {
        agrees(&at, &p)?;
    }
    Ok(p)
}

/// A block after the contacts.
fn set(at: &At) -> Result<Set, Fault> {
    let named = at.need("set")?;
    let name = named.choice(&SETS.iter().map(|(name, _)| (*name, *name)).collect::<Vec<_>>())?;
    let own = SETS.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, fields)| *fields);
    at.only(&[&["set"], own].concat())?;
    let number = |key: &str| at.need(key)?.number();
    // A side that is not given is open.
    let side = |key: &str, open: f64| at.get(key).map_or(Ok(open), |x| x.number());
    Ok(match name {
        "free" => Set::Free,
        "non_negative" => Set::NonNegative,
        "interval" => Set::Interval { lo: side("lo", f64::NEG_INFINITY)?, hi: side("hi", f64::INFINITY)? },
        "friction2" => Set::Friction2 { mu: number("mu")? },
        "friction3" => Set::Friction3 { mu: number("mu")? },
        _ => Set::Rolling5 { mu: number("mu")?, mu_r: number("mu_r")? },
    })
}

/// Whether the bodies of a file give its W and q.
fn agrees(at: &At, p: &ContactProblem) -> Result<(), Fault> {
    at.only(&["M", "H", "f", "w"])?;
    if !p.kind.is_global() {
        return Err(at.fault(format!("kind {:?} has no bodies: gfc and grfc do", p.kind).to_lowercase()));
    }
    let (m, h) = (matrix(&at.need("M")?)?, matrix(&at.need("H")?)?);
    let rows = p.rows();
    if h.columns != rows {
        let text = format!("has {} columns, but the problem has {rows} rows", h.columns);
        return Err(at.need("H")?.fault(text));
    }
    let f = numbers(&at.need("f")?, Some(m.rows()))?;
    let w = numbers(&at.need("w")?, Some(rows))?;
    let (by_bodies, q) = eliminate(&m, &h, &f, &w).map_err(|(field, text)| match at.get(field) {
        Some(place) => place.fault(text),
        None => at.fault(text),
    })?;
    let largest = |x: &[f64]| x.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let difference: Vec<f64> = q.iter().zip(&p.q).map(|(x, y)| x - y).collect();
    let pairs = [
        ("W", largest(&by_bodies.minus(&p.w).data), largest(&p.w.data)),
        ("q", largest(&difference), largest(&p.q).max(largest(&w))),
    ];
    for (name, off, size) in pairs {
        if off > AGREEMENT * size {
            let text =
                format!("gives another {name} than the file has: off by {off:e}, entries are up to {size:e}");
            return Err(at.fault(text));
        }
    }
    Ok(())
}

/// Two whole numbers: rows and columns.
fn size(at: &At) -> Result<[usize; 2], Fault> {
    let shape = indices(at, u32::MAX as usize)?;
    let &[rows, columns] = shape.as_slice() else {
        return Err(at.fault(format!("must have 2 numbers, got {}", shape.len())));
    };
    Ok([rows, columns])
}

fn numbers(at: &At, count: Option<usize>) -> Result<Vec<f64>, Fault> {
    let items = at.items()?;
    if let Some(count) = count.filter(|c| *c != items.len()) {
        return Err(at.fault(format!("must have {count} numbers, got {}", items.len())));
    }
    items.map(|item| item.number()).collect()
}

fn indices(at: &At, most: usize) -> Result<Vec<usize>, Fault> {
    at.items()?.map(|item| item.whole(0, most as i64).map(|i| i as usize)).collect()
}

/// Compressed sparse rows.
fn matrix(at: &At) -> Result<Csr, Fault> {
    at.only(&["shape", "indptr", "indices", "data"])?;
    let [rows, columns] = size(&at.need("shape")?)?;
    let data = numbers(&at.need("data")?, None)?;
    let pointers = at.need("indptr")?;
    let indptr = indices(&pointers, data.len())?;
    if indptr.len() != rows + 1 {
        return Err(pointers.fault(format!(
            "must have {} numbers, one more than rows, got {}",
            rows + 1,
            indptr.len()
        )));
    }
    if indptr[0] != 0 || indptr[rows] != data.len() || indptr.windows(2).any(|p| p[0] > p[1]) {
        let text = format!("must rise from 0 to the number of entries, {}", data.len());
        return Err(pointers.fault(text));
    }
    let at_indices = at.need("indices")?;
    let most = columns.saturating_sub(1);
    let found = indices(&at_indices, most)?;
    if found.len() != data.len() {
        return Err(at_indices.fault(format!(
            "must have {} numbers, one an entry, got {}",
            data.len(),
            found.len()
        )));
    }
    Ok(Csr { columns, indptr, indices: found.into_iter().map(|i| i as u32).collect(), data })
}
