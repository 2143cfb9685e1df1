//! The uniform JSON form.

use drystone_solve::problem::Csr;

use super::{ContactProblem, Kind};
use crate::text::{At, Fault, Node};

const FIELDS: &[&str] = &["name", "kind", "d", "nc", "W", "q", "mu", "mu_r", "global", "source"];

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
    let q = numbers(&root.need("q")?, Some(dimension * contacts))?;
    let w = matrix(&root.need("W")?)?;
    Ok(ContactProblem { name, kind, dimension, w, q, mu, mu_r })
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
    let shape_at = at.need("shape")?;
    let shape = indices(&shape_at, u32::MAX as usize)?;
    let &[rows, columns] = shape.as_slice() else {
        return Err(shape_at.fault(format!("must have 2 numbers, got {}", shape.len())));
    };
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
