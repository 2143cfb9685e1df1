//! Names with parameters, as the command line spells them: `name:key=value,key=value`.

use serde::Serialize;

/// A parameter: its name, default and meaning.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Param {
    /// Key.
    pub name: &'static str,
    /// Default value, as text.
    pub default: &'static str,
    /// One line.
    pub help: &'static str,
}

/// A parsed `name:key=value,...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Before the colon.
    pub name: String,
    /// In the order given.
    pub params: Vec<(String, String)>,
}

/// A name or parameter that makes no sense; says what would.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct BadSpec(pub String);

impl BadSpec {
    /// "unknown solver 'x'; did you mean 'y'? valid: ..."
    pub fn unknown(what: &str, given: &str, valid: &[&str]) -> Self {
        let hint = nearest(given, valid).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        let list = if valid.is_empty() { "none".to_string() } else { valid.join(", ") };
        Self(format!("unknown {what} '{given}'{hint} (valid: {list})"))
    }
}

/// The valid name closest to `given`, if any is close; letters may be large or small, and the beginning of a
/// name is close to it.
pub fn nearest<'a>(given: &str, valid: &[&'a str]) -> Option<&'a str> {
    let small = given.to_lowercase();
    let begins = |v: &&&str| small.chars().count() >= 3 && v.to_lowercase().starts_with(&small);
    if let Some(v) = valid.iter().filter(begins).min_by_key(|v| v.len()) {
        return Some(v);
    }
    valid
        .iter()
        .map(|v| (strsim::damerau_levenshtein(&small, &v.to_lowercase()), *v))
        .filter(|(d, v)| *d <= 1 + v.len() / 3 && *d < v.len().max(given.chars().count()))
        .min()
        .map(|(_, v)| v)
}

impl Spec {
    /// Splits the text; refuses empty names, a colon without parameters, missing `=`, and keys given twice.
    pub fn parse(text: &str) -> Result<Self, BadSpec> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, rest),
            None => (text, ""),
        };
        if name.is_empty() {
            return Err(BadSpec(format!("'{text}' has no name before its parameters")));
        }
        if rest.is_empty() && text.ends_with(':') {
            return Err(BadSpec(format!("'{text}' has a colon and no parameters after it")));
        }
        let mut params: Vec<(String, String)> = Vec::new();
        for part in rest.split(',').filter(|p| !p.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(BadSpec(format!("parameter '{part}' of '{name}' needs the form key=value")));
            };
            if params.iter().any(|(k, _)| k == key) {
                return Err(BadSpec(format!("parameter '{key}' of '{name}' is given twice")));
            }
            params.push((key.into(), value.into()));
        }
        Ok(Self { name: name.into(), params })
    }

    /// Refuses keys that `valid` does not list.
    pub fn check(&self, valid: &[Param]) -> Result<(), BadSpec> {
        let names: Vec<&str> = valid.iter().map(|p| p.name).collect();
        match self.params.iter().find(|(k, _)| !names.contains(&k.as_str())) {
            None => Ok(()),
            Some((k, _)) => Err(BadSpec::unknown(&format!("parameter of '{}':", self.name), k, &names)),
        }
    }

    /// The text given for a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.params.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// A finite number, or the default.
    pub fn number(&self, key: &str, default: f64) -> Result<f64, BadSpec> {
        match self.text(key) {
            None => Ok(default),
            Some(text) => text.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| {
                BadSpec(format!("parameter '{key}' of '{}' must be a finite number, got '{text}'", self.name))
            }),
        }
    }

    /// A number above zero and at most `most`, or the default.
    pub fn positive(&self, key: &str, default: f64, most: f64) -> Result<f64, BadSpec> {
        let x = self.number(key, default)?;
        if x > 0.0 && x <= most {
            return Ok(x);
        }
        let range = if most.is_finite() { format!("in (0, {most}]") } else { "above 0".into() };
        Err(BadSpec(format!("parameter '{key}' of '{}' must be {range}, got {x}", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_and_checked() {
        let s = Spec::parse("pgs:omega=0.6,lambda=0.9").unwrap();
        assert_eq!(s.number("omega", 1.0), Ok(0.6));
        assert_eq!(s.number("absent", 2.0), Ok(2.0));
        assert!(Spec::parse("pgs:omega").unwrap_err().0.contains("key=value"));
        assert!(Spec::parse("pgs:omega=1,omega=2").unwrap_err().0.contains("twice"));
        assert!(Spec::parse(":omega=1").is_err());
        assert!(Spec::parse("pgs:").unwrap_err().0.contains("no parameters"));
        assert!(Spec::parse("pgs:omega=NaN").unwrap().number("omega", 1.0).is_err());
    }
}
