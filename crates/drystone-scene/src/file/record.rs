//! `[record]` of a scene file, and how often something happens.

use drystone_record::recording::{Every, What};

use super::library::Library;
use crate::record::Record;
use crate::text::{At, Fault, Value};

pub(super) const FIELDS: &[&str] =
    &["folder", "every", "events", "what", "precision", "compression", "checkpoint"];

/// Reads the table.
pub(super) fn read(at: &At, library: &Library) -> Result<Record, Fault> {
    at.only(FIELDS)?;
    Ok(Record {
        folder: at.get("folder").map(|f| library.path(&f)).transpose()?,
        every: at.get("every").map(|e| every(&e)).transpose()?,
        events: at.get("events").map(|e| e.boolean()).transpose()?,
        what: at.get("what").map(|w| what(&w)).transpose()?,
        double: at.get("precision").map(|p| p.choice(&[("f32", false), ("f64", true)])).transpose()?,
        compress: at
            .get("compression")
            .map(|c| c.choice(&[("none", false), ("deflate", true)]))
            .transpose()?,
        checkpoint: at.get("checkpoint").map(|e| every(&e)).transpose()?,
    })
}

fn what(at: &At) -> Result<What, Fault> {
    let mut what = What { contacts: false, joints: false };
    for word in at.items()? {
        match word.choice(&[("bodies", 0), ("contacts", 1), ("joints", 2)])? {
            1 => what.contacts = true,
            2 => what.joints = true,
            _ => {}
        }
    }
    Ok(what)
}

/// A number of steps, or text such as `"0.02s"`.
pub(super) fn every(at: &At) -> Result<Every, Fault> {
    let wanted = "must be a whole number of steps, or seconds as text such as \"0.02s\"";
    let Value::Text(text) = &at.node.value else {
        let x = at.number()?;
        let steps = x.fract() == 0.0 && (1.0..=i64::MAX as f64).contains(&x);
        return if steps { Ok(Every::Steps(x as u64)) } else { Err(at.fault(format!("{wanted}, got {x}"))) };
    };
    let seconds = text.strip_suffix('s').and_then(|t| t.trim().parse().ok());
    seconds
        .filter(|s: &f64| s.is_finite() && *s > 0.0)
        .map(Every::Seconds)
        .ok_or_else(|| at.fault(format!("{wanted}, got \"{text}\"")))
}

/// Where bodies of a file are, once those that do not move were put behind the others: numbers in the order
/// of the file; empty if that is their order anyway.
pub(super) fn order(fixed: impl Iterator<Item = bool> + Clone) -> Vec<usize> {
    let movable = fixed.clone().filter(|f| !f).count();
    let (mut moves, mut stands) = (0, movable);
    let place = |is_fixed: bool| {
        let next = if is_fixed { &mut stands } else { &mut moves };
        *next += 1;
        *next - 1
    };
    let order: Vec<usize> = fixed.map(place).collect();
    if order.is_sorted() { Vec::new() } else { order }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_file() {
        assert_eq!(order([true, false, true, false].into_iter()), [2, 0, 3, 1]);
        assert!(order([false, false, true].into_iter()).is_empty());
    }
}
