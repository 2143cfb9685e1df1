//! A place in the tree while it is read: knows its path, and complains with it.

use drystone_solve::solver::nearest;
use glam::DVec3;

use super::{Entry, Fault, Node, Value};

/// A node and the way to it.
#[derive(Clone, Copy)]
pub(crate) struct At<'a, 't> {
    pub node: &'a Node<'t>,
    parent: Option<&'a At<'a, 't>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a, 't> At<'a, 't> {
    pub fn root(node: &'a Node<'t>) -> Self {
        Self { node, parent: None, step: Step::Root }
    }

    /// `bodies[3].pos[1]`
    pub fn field(&self) -> String {
        let before = self.parent.map(|p| p.field()).unwrap_or_default();
        match self.step {
            Step::Root => before,
            Step::Key(key) if before.is_empty() => key.into(),
            Step::Key(key) => before + "." + key,
            Step::Index(i) => format!("{before}[{i}]"),
        }
    }

    pub fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { offset: Some(self.node.offset), field: self.field(), message: message.into() }
    }

    fn wrong(&self, wanted: &str) -> Fault {
        self.fault(format!("must be {wanted}, got {}", self.node.value.kind()))
    }

    fn entries(&self) -> Result<&'a [Entry<'t>], Fault> {
        match &self.node.value {
            Value::Table(entries) => Ok(entries),
            _ => Err(self.wrong("a table")),
        }
    }

    /// Refuses keys that are not in `valid`, with the nearest that is.
    pub fn only(&self, valid: &[&str]) -> Result<(), Fault> {
        for entry in self.entries()? {
            if !valid.contains(&entry.key.as_ref()) {
                let hint =
                    nearest(&entry.key, valid).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
                let message = format!("unknown field '{}'{hint} (known: {})", entry.key, valid.join(", "));
                return Err(Fault { offset: Some(entry.offset), field: self.field(), message });
            }
        }
        Ok(())
    }

    /// The value of a key, if given.
    pub fn get<'b>(&'b self, key: &'b str) -> Option<At<'b, 't>> {
        let node = self.node.get(key)?;
        Some(At { node, parent: Some(self), step: Step::Key(key) })
    }

    /// The value of a key that must be there.
    pub fn need<'b>(&'b self, key: &'b str) -> Result<At<'b, 't>, Fault> {
        self.entries()?;
        self.get(key).ok_or_else(|| self.fault(format!("the field '{key}' is missing")))
    }

    /// The items of an array.
    pub fn items<'b>(&'b self) -> Result<impl ExactSizeIterator<Item = At<'b, 't>> + 'b, Fault> {
        match &self.node.value {
            Value::Array(items) => Ok(items.iter().enumerate().map(|(i, node)| At {
                node,
                parent: Some(self),
                step: Step::Index(i),
            })),
            _ => Err(self.wrong("an array")),
        }
    }

    pub fn number(&self) -> Result<f64, Fault> {
        match self.node.value {
            Value::Number(x) if x.is_finite() => Ok(x),
            Value::Number(x) => Err(self.fault(format!("must be finite, got {x}"))),
            _ => Err(self.wrong("a number")),
        }
    }

    /// A whole number in a range.
    pub fn whole(&self, least: i64, most: i64) -> Result<i64, Fault> {
        let x = self.number()?;
        if x.fract() == 0.0 && x >= least as f64 && x <= most as f64 {
            return Ok(x as i64);
        }
        Err(self.fault(format!("must be a whole number from {least} to {most}, got {x}")))
    }

    pub fn text(&self) -> Result<&'a str, Fault> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong("a string")),
        }
    }

    pub fn boolean(&self) -> Result<bool, Fault> {
        match self.node.value {
            Value::Bool(b) => Ok(b),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// One of several names.
    pub fn choice<T: Copy>(&self, names: &[(&str, T)]) -> Result<T, Fault> {
        let text = self.text()?;
        if let Some((_, value)) = names.iter().find(|(name, _)| *name == text) {
            return Ok(*value);
        }
        let valid: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let hint = nearest(text, &valid).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        Err(self.fault(format!("'{text}' is not known{hint} (valid: {})", valid.join(", "))))
    }

    /// An array of exactly N finite numbers.
    pub fn numbers<const N: usize>(&self) -> Result<[f64; N], Fault> {
        let items = self.items()?;
        if items.len() != N {
            return Err(self.fault(format!("must have {N} numbers, got {}", items.len())));
        }
        let mut all = [0.0; N];
        for (x, item) in all.iter_mut().zip(items) {
            *x = item.number()?;
        }
        Ok(all)
    }

    pub fn vector(&self) -> Result<DVec3, Fault> {
        self.numbers().map(DVec3::from_array)
    }
}
