//! JSON [RFC8259] into a tree with places. Strict, and on purpose aware of what other programs write by
//! mistake: bare NaN and Infinity, numbers beyond f64, keys given twice, text after the end.

use std::borrow::Cow;

use super::{Entry, Fault, Node, Value};

/// Nesting beyond this is refused before the stack is in danger.
const MAX_DEPTH: usize = 64;

pub(super) fn parse(text: &str) -> Result<Node<'_>, Fault> {
    let mut scanner = Scanner { text, at: 0, path: Vec::new() };
    // Some programs open their files with a byte order mark.
    scanner.at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let node = scanner.value()?;
    scanner.space();
    if scanner.at < text.len() {
        return Err(scanner.fault(scanner.at, "text after the end of the JSON value"));
    }
    Ok(node)
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    path: Vec<Step<'t>>,
}

enum Step<'t> {
    Key(Cow<'t, str>),
    Index(usize),
}

impl<'t> Scanner<'t> {
    fn fault(&self, offset: usize, message: impl Into<String>) -> Fault {
        let mut field = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) if field.is_empty() => field += key,
                Step::Key(key) => field = field + "." + key,
                Step::Index(i) => field += &format!("[{i}]"),
            }
        }
        Fault { offset: Some(offset), field, message: message.into() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The character here, for messages.
    fn found(&self) -> String {
        match self.text[self.at..].chars().next() {
            Some(c) => format!("found {c:?}"),
            None => "the file ends here: is it cut short?".into(),
        }
    }

    fn value(&mut self) -> Result<Node<'t>, Fault> {
        self.space();
        if self.path.len() > MAX_DEPTH {
            return Err(self.fault(self.at, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let offset = self.at;
        let value = match self.peek() {
            Some(b'{') => self.table()?,
            Some(b'[') => self.array()?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(c) if c.is_ascii_alphabetic() => self.word()?,
            _ => return Err(self.fault(offset, format!("expected a value, {}", self.found()))),
        };
        Ok(Node { offset, value })
    }

    fn table(&mut self) -> Result<Value<'t>, Fault> {
        self.at += 1;
        let mut entries: Vec<Entry<'t>> = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Table(entries));
        }
        loop {
            self.space();
            let offset = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.fault(offset, format!("expected a key in double quotes, {}", self.found())));
            }
            let key = self.string()?;
            if entries.iter().any(|e| e.key == key) {
                return Err(self.fault(offset, format!("the key '{key}' is given twice")));
            }
            self.path.push(Step::Key(key.clone()));
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.fault(self.at, format!("expected ':' after the key, {}", self.found())));
            }
            self.at += 1;
            let node = self.value()?;
            self.path.pop();
            entries.push(Entry { key, offset, node });
            if self.closes(b'}')? {
                return Ok(Value::Table(entries));
            }
        }
    }

    fn array(&mut self) -> Result<Value<'t>, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.path.push(Step::Index(items.len()));
            items.push(self.value()?);
            self.path.pop();
            if self.closes(b']')? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// After an item: a comma goes on, the bracket ends.
    fn closes(&mut self, bracket: u8) -> Result<bool, Fault> {
        self.space();
        let ends = match self.peek() {
            Some(b',') => false,
            Some(c) if c == bracket => true,
            _ => {
                let text = format!("expected ',' or '{}', {}", bracket as char, self.found());
                return Err(self.fault(self.at, text));
            }
        };
        self.at += 1;
        Ok(ends)
    }

    /// true, false, null; NaN and Infinity by name.
    fn word(&mut self) -> Result<Value<'t>, Fault> {
        let start = self.at;
        while matches!(self.peek(), Some(c) if c.is_ascii_alphanumeric() || c == b'_') {
            self.at += 1;
        }
        match &self.text[start..self.at] {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" => Ok(Value::Null),
            word => Err(self.not_finite(start, word)),
        }
    }

    fn not_finite(&self, start: usize, word: &str) -> Fault {
        let low = word.trim_start_matches('-').to_ascii_lowercase();
        if ["nan", "inf", "infinity"].contains(&low.as_str()) {
            self.fault(start, format!("{word} is not a number JSON or a scene can have: give a finite one"))
        } else {
            self.fault(start, format!("expected a value, found the bare word '{word}'"))
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Value<'t>, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
            if matches!(self.peek(), Some(c) if c.is_ascii_alphabetic()) {
                let word = self.text[start..].split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next();
                return Err(self.not_finite(start, word.unwrap_or("-")));
            }
        }
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        let mut good = whole > 0 && !(leading_zero && whole > 1);
        if self.peek() == Some(b'.') {
            self.at += 1;
            good &= self.digits() > 0;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            good &= self.digits() > 0;
        }
        let text = &self.text[start..self.at];
        match text.parse::<f64>() {
            Ok(x) if good && x.is_finite() => Ok(Value::Number(x)),
            Ok(_) if good => Err(self.fault(start, format!("{text} is too large for a number"))),
            _ if self.at == self.text.len() => Err(self.fault(self.at, self.found())),
            _ => Err(self.fault(start, format!("'{text}' is not a JSON number"))),
        }
    }

    fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        self.at += 1;
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut copied = start;
        loop {
            match self.peek() {
                None => return Err(self.fault(self.at, "the file ends inside a string: is it cut short?")),
                Some(b'"') => {
                    let rest = &self.text[copied..self.at];
                    self.at += 1;
                    return Ok(match owned {
                        None => Cow::Borrowed(rest),
                        Some(text) => Cow::Owned(text + rest),
                    });
                }
                Some(b'\\') => {
                    let text = owned.get_or_insert_default();
                    text.push_str(&self.text[copied..self.at]);
                    let c = self.escape()?;
                    owned.get_or_insert_default().push(c);
                    copied = self.at;
                }
                Some(0..0x20) => return Err(self.fault(self.at, "a control character inside a string")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        self.at += 2;
        Ok(match self.text.as_bytes().get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let high = self.hex(start)?;
                let mut code = char::from_u32(high);
                if code.is_none() && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    let low = self.hex(start)?;
                    code = char::decode_utf16([high as u16, low as u16]).next().and_then(Result::ok);
                }
                code.ok_or_else(|| self.fault(start, "half of a surrogate pair"))?
            }
            _ => return Err(self.fault(start, "an unknown escape in a string")),
        })
    }

    fn hex(&mut self, start: usize) -> Result<u32, Fault> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|c| c.is_ascii_hexdigit()));
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        self.at += 4;
        code.ok_or_else(|| self.fault(start, "\\u needs four hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (usize, String, String) {
        let f = parse(text).unwrap_err();
        (f.offset.unwrap(), f.field, f.message)
    }

    #[test]
    fn agrees_with_another_reader() {
        fn plain(node: &Node) -> serde_json::Value {
            match &node.value {
                Value::Null => serde_json::Value::Null,
                Value::Bool(b) => (*b).into(),
                Value::Number(x) => (*x).into(),
                Value::Text(t) => t.as_ref().into(),
                Value::Array(a) => a.iter().map(plain).collect(),
                Value::Table(t) => t.iter().map(|e| (e.key.to_string(), plain(&e.node))).collect(),
            }
        }
        let text = r#" {"a": [1.5, -2e-3, 0.0, true, false, null, []], "b\n\u00e9": {"c": "\ud83d\ude00 \"x\" \\ é"}, "d": {}} "#;
        let expected: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(plain(&parse(text).unwrap()), expected);
    }

    #[test]
    fn faults_say_where() {
        assert_eq!(fault(r#"{"a": [1, {"b": NaN}]}"#).0, 16);
        assert_eq!(fault(r#"{"a": [1, {"b": NaN}]}"#).1, "a[1].b");
        assert!(fault(r#"{"a": -Infinity}"#).2.starts_with("-Infinity is not a number"));
        assert!(fault(r#"{"a": nill}"#).2.contains("bare word 'nill'"));
        assert_eq!(fault(r#"{"a": [1, 2"#).0, 11);
        assert!(fault(r#"{"a": [1, 2"#).2.contains("cut short"));
        assert!(fault(r#"{"a": 1."#).2.contains("cut short"));
        assert!(fault(r#"{"a": "xy"#).2.contains("cut short"));
        assert!(fault(r#"{"a": 01}"#).2.contains("not a JSON number"));
        assert!(fault(r#"{"a": 1e400}"#).2.contains("too large"));
        assert!(fault(r#"{"a": 1, "a": 2}"#).2.contains("given twice"));
        assert!(fault(r#"{"a": 1} x"#).2.contains("after the end"));
        assert!(fault(r#"{a: 1}"#).2.contains("double quotes"));
        assert!(fault(r#"{"a": "\ud800"}"#).2.contains("surrogate"));
        assert!(fault(&"[".repeat(100)).2.contains("deeper"));
        assert!(fault("").2.contains("cut short"));
    }
}
