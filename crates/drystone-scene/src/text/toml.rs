//! TOML into the same tree.

use toml::de::{DeTable, DeValue};

use super::{Entry, Fault, Node, Value};

pub(super) fn parse(text: &str) -> Result<Node<'_>, Fault> {
    let document = DeTable::parse(text).map_err(|e| Fault {
        offset: Some(e.span().map_or(text.len(), |s| s.start)),
        field: String::new(),
        message: e.message().replace('\n', ", "),
    })?;
    let mut root = table(document.into_inner())?;
    root.offset = 0;
    Ok(root)
}

fn table(table: DeTable<'_>) -> Result<Node<'_>, Fault> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let offset = key.span().start;
        entries.push(Entry { offset, node: node(value)?, key: key.into_inner() });
    }
    Ok(Node { offset: 0, value: Value::Table(entries) })
}

fn node(spanned: toml::Spanned<DeValue<'_>>) -> Result<Node<'_>, Fault> {
    let offset = spanned.span().start;
    let fault = |message: String| Fault { offset: Some(offset), field: String::new(), message };
    let value = match spanned.into_inner() {
        DeValue::String(text) => Value::Text(text),
        DeValue::Boolean(b) => Value::Bool(b),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(x) => Value::Number(x as f64),
            Err(_) => return Err(fault(format!("{} is too large for an integer", i.as_str()))),
        },
        // TOML has inf and nan; whoever reads the number refuses them by the field's name.
        DeValue::Float(x) => match x.as_str().parse() {
            Ok(x) => Value::Number(x),
            Err(_) => return Err(fault(format!("{} is not a number", x.as_str()))),
        },
        DeValue::Datetime(_) => return Err(fault("a date has no meaning in a scene".into())),
        DeValue::Array(items) => Value::Array(items.into_iter().map(node).collect::<Result<_, _>>()?),
        DeValue::Table(t) => table(t)?.value,
    };
    Ok(Node { offset, value })
}
