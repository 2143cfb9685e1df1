//! Formulas, words and loops of a scene file: what is left afterwards is a tree of plain values.
//!
//! ```text
//!     h = "= 0.1 / n"                       a formula of declared parameters and loop variables
//!     name = "brick ${row}, ${column}"      its value within a text
//!     for = { row = "n", column = 4 }       in a table of a list: one copy for each row and column, counted from 0
//!     if = "row % 2 == 0"                   in a table of a list: left out where it does not hold
//! ```

use std::borrow::Cow;
use std::fmt;

use drystone_solve::solver::nearest;

use super::copies;
use crate::expression::{Expression, Wrong};
use crate::text::{At, Entry, Fault, Node, Value};

/// Copies that the loops of a file may make in all: more are made by `copies` of a body, in a fraction of the
/// memory.
const MOST_COPIES: usize = 1_000_000;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Number(f64),
    Text(String),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // 3 and not 3.0, 0.1 and not 0.1000000001.
            Item::Number(x) => write!(f, "{x}"),
            Item::Text(t) => f.write_str(t),
        }
    }
}

/// Names that formulas know, the innermost last.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    names: Vec<(String, Item)>,
}

impl Scope {
    pub fn set(&mut self, name: &str, item: Item) {
        self.names.push((name.into(), item));
    }

    fn get(&self, name: &str) -> Option<&Item> {
        self.names.iter().rev().find(|(known, _)| known == name).map(|(_, item)| item)
    }

    /// The value of a formula; a name alone may be a word.
    fn formula(&self, text: &str) -> Result<Item, String> {
        let shown = text.trim();
        if let Some(item @ Item::Text(_)) = self.get(shown) {
            return Ok(item.clone());
        }
        let number = |name: &str| match self.get(name) {
            Some(Item::Number(x)) => Some(*x),
            _ => None,
        };
        let say = |w: Wrong| {
            let name = w.message.strip_prefix("there is no '").and_then(|m| m.strip_suffix('\''));
            let message = match name {
                Some(name) if matches!(self.get(name), Some(Item::Text(_))) => {
                    format!("'{name}' is a word, not a number")
                }
                Some(name) => {
                    let names: Vec<&str> = self.names.iter().map(|(n, _)| n.as_str()).collect();
                    let hint = match (nearest(name, &names), names.is_empty()) {
                        (Some(n), _) => format!("; did you mean '{n}'?"),
                        (None, true) => " (the file declares no parameters)".into(),
                        (None, false) => format!(" (known: {})", names.join(", ")),
                    };
                    w.message.clone() + &hint
                }
                None => {
                    format!("{} at character {}", w.message, text[..w.at.min(text.len())].chars().count() + 1)
                }
            };
            format!("{message}, in the formula '{shown}'")
        };
        let value = Expression::parse(text).and_then(|e| e.value(&number)).map_err(say)?;
        if value.is_finite() {
            Ok(Item::Number(value))
        } else {
            Err(format!("the formula '{shown}' comes out as {value}"))
        }
    }

    /// The value of a node: a number, a word, or a formula.
    pub fn item(&self, at: &At) -> Result<Item, Fault> {
        match &at.node.value {
            Value::Number(_) => at.number().map(Item::Number),
            Value::Bool(b) => Ok(Item::Number(f64::from(u8::from(*b)))),
            Value::Text(t) => match formula_of(t) {
                Some(formula) => self.formula(formula).map_err(|e| at.fault(e)),
                None => Ok(Item::Text(t.to_string())),
            },
            other => Err(at.fault(format!("must be a number or a string, got {}", other.kind()))),
        }
    }

    /// A text with the values of what stands in `${...}`.
    fn filled(&self, text: &str) -> Result<String, String> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(start) = rest.find("${") {
            let end = rest[start..].find('}').ok_or_else(|| format!("'{text}': a ${{ has no }}"))? + start;
            out += &rest[..start];
            out += &self.formula(&rest[start + 2..end])?.to_string();
            rest = &rest[end + 1..];
        }
        Ok(out + rest)
    }
}

/// What follows `=`; a lone `=` is a text (a key of the keyboard).
fn formula_of(text: &str) -> Option<&str> {
    text.strip_prefix('=').filter(|f| !f.trim().is_empty())
}

/// The tree with values in place of formulas and copies in place of loops.
pub(super) fn expand<'t>(root: &At<'_, 't>, scope: &Scope) -> Result<Node<'t>, Fault> {
    let mut work = Work { scope: scope.clone(), copies: 0 };
    let Value::Table(entries) = &root.node.value else { return Ok(root.node.clone()) };
    no_loop(root)?;
    let mut out = Vec::with_capacity(entries.len());
    for e in entries {
        let node = match (e.key.as_ref(), root.get(&e.key)) {
            // Declarations are read elsewhere.
            ("parameters", _) | (_, None) => e.node.clone(),
            (_, Some(at)) => work.node(&at)?,
        };
        out.push(Entry { key: e.key.clone(), offset: e.offset, node });
    }
    Ok(Node { offset: root.node.offset, value: Value::Table(out) })
}

/// Refuses a loop in a table that is no item of a list: there is nowhere for its copies to go.
fn no_loop(at: &At) -> Result<(), Fault> {
    let Value::Table(entries) = &at.node.value else { return Ok(()) };
    let Some(entry) = entries.iter().find(|e| e.key == "for" || e.key == "if") else { return Ok(()) };
    let (key, field) = (entry.key.as_ref(), at.field());
    let last = field.rsplit('.').next().unwrap_or_default();
    let how = match field.contains(['.', '[']) {
        _ if field.is_empty() => "it belongs into a [[body]], [[joint]], ... of its own".into(),
        true => format!("make it a list of one: {last} = [{{ ... }}], where a list may be"),
        false => format!("make it a table of a list: [[{field}]], where there may be several"),
    };
    let message = format!("'{key}' makes copies of a table in a list, and this one is in none: {how}");
    let field = if field.is_empty() { key.to_string() } else { format!("{field}.{key}") };
    Err(Fault { offset: Some(entry.offset), field, message })
}

struct Work {
    scope: Scope,
    copies: usize,
}

impl Work {
    fn node<'t>(&mut self, at: &At<'_, 't>) -> Result<Node<'t>, Fault> {
        let value = match &at.node.value {
            Value::Text(text) => self.text(at, text)?,
            Value::Array(_) => {
                let mut out = Vec::new();
                for item in at.items()? {
                    if let Value::Table(_) = item.node.value {
                        self.copies(&item, &mut out)?;
                    } else {
                        out.push(self.node(&item)?);
                    }
                }
                Value::Array(out)
            }
            Value::Table(_) => {
                no_loop(at)?;
                self.table(at)?
            }
            plain => plain.clone(),
        };
        Ok(Node { offset: at.node.offset, value })
    }

    fn text<'t>(&self, at: &At<'_, 't>, text: &Cow<'t, str>) -> Result<Value<'t>, Fault> {
        if let Some(formula) = formula_of(text) {
            return match self.scope.formula(formula).map_err(|e| at.fault(e))? {
                Item::Number(x) => Ok(Value::Number(x)),
                Item::Text(t) => Ok(Value::Text(t.into())),
            };
        }
        if text.contains("${") {
            return self.scope.filled(text).map(|t| Value::Text(t.into())).map_err(|e| at.fault(e));
        }
        Ok(Value::Text(text.clone()))
    }

    fn table<'t>(&mut self, at: &At<'_, 't>) -> Result<Value<'t>, Fault> {
        let Value::Table(entries) = &at.node.value else { return Ok(at.node.value.clone()) };
        let mut out = Vec::with_capacity(entries.len());
        for e in entries.iter().filter(|e| e.key != "for" && e.key != "if") {
            if let Some(child) = at.get(&e.key) {
                out.push(Entry { key: e.key.clone(), offset: e.offset, node: self.node(&child)? });
            }
        }
        Ok(Value::Table(out))
    }

    /// A table of a list: once, or once for each turn of its loops.
    fn copies<'t>(&mut self, at: &At<'_, 't>, out: &mut Vec<Node<'t>>) -> Result<(), Fault> {
        let Some(loops) = at.get("for") else {
            return self.one(at, out);
        };
        let Value::Table(entries) = &loops.node.value else {
            return Err(loops.fault("must be a table of loop variables, such as { i = 10 }"));
        };
        let mut names: Vec<(usize, &str)> = entries.iter().map(|e| (e.offset, e.key.as_ref())).collect();
        // As they stand in the file: the first is the outermost.
        names.sort_unstable();
        let names: Vec<&str> = names.into_iter().map(|(_, name)| name).collect();
        self.turn(at, &loops, &names, out)
    }

    fn turn<'t>(
        &mut self,
        at: &At<'_, 't>,
        loops: &At,
        names: &[&str],
        out: &mut Vec<Node<'t>>,
    ) -> Result<(), Fault> {
        let Some((name, inner)) = names.split_first() else { return self.one(at, out) };
        for item in self.items(&loops.need(name)?)? {
            self.scope.set(name, item);
            let done = self.turn(at, loops, inner, out);
            self.scope.names.pop();
            done?;
        }
        Ok(())
    }

    fn one<'t>(&mut self, at: &At<'_, 't>, out: &mut Vec<Node<'t>>) -> Result<(), Fault> {
        if let Some(test) = at.get("if") {
            let holds = match &test.node.value {
                Value::Bool(b) => *b,
                _ => self.counted(&test)? != 0.0,
            };
            if !holds {
                return Ok(());
            }
        }
        self.copies += 1;
        let most = MOST_COPIES.min(copies::most_bodies().max(0) as usize);
        if self.copies > most {
            return Err(
                at.fault(format!("loops make more than {most} copies: 'copies' of a body has room for more"))
            );
        }
        out.push(Node { offset: at.node.offset, value: self.table(at)? });
        Ok(())
    }

    /// A number or a formula, with or without its `=`.
    fn counted(&self, at: &At) -> Result<f64, Fault> {
        if let Value::Text(text) = &at.node.value {
            let formula = formula_of(text).unwrap_or(text);
            return match self.scope.formula(formula).map_err(|e| at.fault(e))? {
                Item::Number(x) => Ok(x),
                Item::Text(t) => Err(at.fault(format!("must be a number, got '{t}'"))),
            };
        }
        at.number()
    }

    /// What a loop variable is, turn by turn: 0 to n - 1, `{ from, to, step }`, or a list.
    fn items(&self, at: &At) -> Result<Vec<Item>, Fault> {
        let whole = |x: f64| {
            let most = MOST_COPIES as f64;
            let good = x.fract() == 0.0 && (0.0..=most).contains(&x);
            if good {
                Ok(x as usize)
            } else {
                Err(at.fault(format!("must be a whole number from 0 to {most}, got {x}")))
            }
        };
        match &at.node.value {
            Value::Array(_) => {
                let one = |i: At| match &i.node.value {
                    Value::Text(_) => self.scope.item(&i),
                    _ => i.number().map(Item::Number),
                };
                at.items()?.map(one).collect()
            }
            Value::Table(_) => {
                at.only(&["from", "to", "step"])?;
                let from = at.get("from").map_or(Ok(0.0), |x| self.counted(&x))?;
                let to = self.counted(&at.need("to")?)?;
                let step = at.get("step").map_or(Ok(1.0), |x| self.counted(&x))?;
                if step == 0.0 {
                    return Err(at.fault("the step must not be 0"));
                }
                // A last one that only rounding has moved past the end counts.
                let n = ((to - from) / step + 1e-9).floor() + 1.0;
                // A formula may come out so that there is none.
                let given = |key| at.get(key).is_some_and(|x| matches!(x.node.value, Value::Text(_)));
                if n < 1.0 && !["from", "to", "step"].into_iter().any(given) {
                    let why = format!("from {from} to {to} in steps of {step} leads away: nothing is made");
                    return Err(at.fault(why));
                }
                Ok((0..whole(n.max(0.0))?).map(|k| Item::Number(from + k as f64 * step)).collect())
            }
            _ => Ok((0..whole(self.counted(at)?)?).map(|k| Item::Number(k as f64)).collect()),
        }
    }
}
