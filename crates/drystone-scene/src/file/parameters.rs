//! `[parameters]`: the numbers and words that a file declares, for `--set`, `study` and the sliders of a live
//! run.

use super::expand::{Item, Scope};
use crate::text::{At, Fault, Source, Value};
use crate::{Overrides, SceneError};

/// What a file declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// As `--set` calls it.
    pub name: String,
    /// Its value where nothing else is said.
    pub default: String,
    /// Its value now.
    pub value: String,
    /// Empty for bare numbers and words.
    pub unit: String,
    /// One line.
    pub about: String,
    /// Least and most.
    pub range: Option<[f64; 2]>,
    /// The words that it may be; empty: any.
    pub choices: Vec<String>,
    /// Whole numbers alone.
    pub whole: bool,
}

pub(super) const FIELDS: &[&str] = &["default", "unit", "range", "about", "whole", "choices"];
/// Words that formulas have a meaning for.
const RESERVED: &[&str] = &["pi", "true", "false", "and", "or", "not", "if", "t"];

/// Declarations in the order of the file, with the values that `set` gives them, and as names for formulas.
pub(super) fn read(
    source: &Source,
    root: &At,
    set: &Overrides,
) -> Result<(Vec<Parameter>, Scope), SceneError> {
    let mut scope = Scope::default();
    let Some(table) = root.get("parameters") else { return Ok((Vec::new(), scope)) };
    let place = |fault: Fault| source.error(fault);
    let Value::Table(entries) = &table.node.value else {
        return Err(place(table.fault("must be a table of names and values")));
    };
    let mut names: Vec<(usize, &str)> = entries.iter().map(|e| (e.offset, e.key.as_ref())).collect();
    names.sort_unstable();
    let mut all = Vec::new();
    for (offset, name) in names {
        let letters = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !letters || name.starts_with(|c: char| c.is_ascii_digit()) || RESERVED.contains(&name) {
            let why = if RESERVED.contains(&name) { "has a meaning in formulas" } else { "is no name" };
            let message = format!("'{name}' {why}: names are of letters, digits and _");
            let field = format!("parameters.{name}");
            return Err(place(Fault { offset: Some(offset), field, message }));
        }
        let at = table.need(name).map_err(place)?;
        let given = set.iter().rev().find(|(key, _)| key == name).map(|(_, text)| text.as_str());
        let (parameter, item) = one(&at, name, given, &scope).map_err(|wrong| match wrong {
            Error::Declared(fault) => place(fault),
            Error::Given(message) => SceneError { field: Some(name.into()), ..SceneError::new(message) },
        })?;
        scope.set(name, item);
        all.push(parameter);
    }
    Ok((all, scope))
}

enum Error {
    Declared(Fault),
    Given(String),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Declared(fault)
    }
}

fn one(at: &At, name: &str, given: Option<&str>, scope: &Scope) -> Result<(Parameter, Item), Error> {
    let table = matches!(at.node.value, Value::Table(_));
    if table {
        at.only(FIELDS)?;
    }
    let default = if table { at.need("default")? } else { *at };
    let text = |key: &str| at.get(key).map_or(Ok(String::new()), |t| t.text().map(String::from));
    let own = if table {
        (text("unit")?, text("about")?, at.get("range"), at.get("choices"), at.get("whole"))
    } else {
        Default::default()
    };
    let (unit, about, range_at, choices_at, whole_at) = own;
    let range: Option<[f64; 2]> = range_at.as_ref().map(|r| r.numbers()).transpose()?;
    if let (Some(at), Some([a, b])) = (&range_at, range)
        && a > b
    {
        return Err(at.fault(format!("must be the least and the most, got [{a}, {b}]")).into());
    }
    let whole = whole_at.as_ref().map_or(Ok(false), |w| w.boolean())?;
    let mut choices = Vec::new();
    if let Some(list) = &choices_at {
        for c in list.items()? {
            choices.push(c.text()?.to_string());
        }
    }
    let fits = |item: &Item| -> Result<(), String> {
        match item {
            Item::Number(x) => {
                let x = *x;
                if let Some([a, b]) = range.filter(|[a, b]| !(*a..=*b).contains(&x)) {
                    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                    return Err(format!("must be from {a} to {b}{unit}, got {x}"));
                }
                if whole && x.fract() != 0.0 {
                    return Err(format!("must be a whole number, got {x}"));
                }
                Ok(())
            }
            Item::Text(t) if !choices.is_empty() && !choices.contains(t) => {
                Err(format!("must be one of {}, got '{t}'", choices.join(", ")))
            }
            Item::Text(_) => Ok(()),
        }
    };
    let declared = scope.item(&default)?;
    fits(&declared).map_err(|e| default.fault(e))?;
    let item = match (given, &declared) {
        (None, _) => declared.clone(),
        (Some(text), Item::Number(_)) => {
            let word = match text {
                "true" => Some(1.0),
                "false" => Some(0.0),
                _ => text.parse::<f64>().ok().filter(|x| x.is_finite()),
            };
            Item::Number(word.ok_or_else(|| Error::Given(format!("must be a number, got '{text}'")))?)
        }
        (Some(text), Item::Text(_)) => Item::Text(text.into()),
    };
    fits(&item).map_err(Error::Given)?;
    let name = name.to_string();
    let (default, value) = (declared.to_string(), item.to_string());
    Ok((Parameter { name, default, value, unit, about, range, choices, whole }, item))
}
