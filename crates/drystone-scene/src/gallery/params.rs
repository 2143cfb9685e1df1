//! Parameters of gallery scenes: text in, checked values out.

use drystone_solve::solver::nearest;
use serde::Serialize;

use crate::SceneError;

/// A parameter: what `drystone scenes` says of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ParamInfo {
    /// Key of `--set`.
    pub name: &'static str,
    /// Value if not set, as text; empty if it then follows from the others.
    pub default: &'static str,
    /// m, s, kg, deg ..., empty for a bare number or a word.
    pub unit: &'static str,
    /// One line.
    pub help: &'static str,
}

/// Short for a table of parameters.
pub(super) const fn param(
    name: &'static str,
    default: &'static str,
    unit: &'static str,
    help: &'static str,
) -> ParamInfo {
    ParamInfo { name, default, unit, help }
}

/// The parameters of one scene, given or default.
pub struct Params {
    values: Vec<(&'static ParamInfo, String)>,
}

impl Params {
    /// Takes what is set; refuses names the scene does not have.
    pub fn new(
        scene: &str,
        infos: &'static [ParamInfo],
        set: &[(String, String)],
    ) -> Result<Self, SceneError> {
        let mut values: Vec<(&'static ParamInfo, String)> =
            infos.iter().map(|info| (info, info.default.to_string())).collect();
        for (key, text) in set {
            match values.iter_mut().find(|(info, _)| info.name == key) {
                Some(value) => value.1 = text.trim().to_string(),
                None => {
                    let names: Vec<&str> = infos.iter().map(|info| info.name).collect();
                    let hint =
                        nearest(key, &names).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
                    return Err(SceneError::new(format!(
                        "the scene '{scene}' has no parameter '{key}'{hint} (valid: {})",
                        names.join(", ")
                    )));
                }
            }
        }
        Ok(Self { values })
    }

    fn value(&self, name: &str) -> (&'static ParamInfo, &str) {
        // Scenes ask only for what their own table lists; a test builds each of them.
        let found = self.values.iter().find(|(info, _)| info.name == name);
        found.map(|(info, text)| (*info, text.as_str())).expect("a parameter of the scene's own table")
    }

    /// An error about a parameter, under its name.
    pub(super) fn refuse(&self, name: &str, message: impl Into<String>) -> SceneError {
        SceneError { field: Some(name.into()), ..SceneError::new(message) }
    }

    /// A number with `least <= x <= most`.
    pub fn number(&self, name: &str, least: f64, most: f64) -> Result<f64, SceneError> {
        let range = format!("from {least} to {most}");
        self.numeric(name, &range, |x| x >= least && x <= most)
    }

    /// A number with `0 < x <= most`.
    pub fn positive(&self, name: &str, most: f64) -> Result<f64, SceneError> {
        self.numeric(name, &format!("above 0, at most {most}"), |x| x > 0.0 && x <= most)
    }

    /// Whether there is a value at all: not where the default is to follow from other parameters.
    pub fn is_set(&self, name: &str) -> bool {
        !self.value(name).1.is_empty()
    }

    fn numeric(&self, name: &str, range: &str, good: impl Fn(f64) -> bool) -> Result<f64, SceneError> {
        let (info, text) = self.value(name);
        let x = text.parse::<f64>().ok().filter(|x| x.is_finite() && good(*x));
        let unit = if info.unit.is_empty() { String::new() } else { format!(" {}", info.unit) };
        x.ok_or_else(|| self.refuse(name, format!("must be a number {range}{unit}, got '{text}'")))
    }

    /// A whole number in a range.
    pub fn whole(&self, name: &str, least: u64, most: u64) -> Result<u64, SceneError> {
        let (_, text) = self.value(name);
        // 1e5 is how people write a hundred thousand.
        let float = || {
            text.parse::<f64>().ok().filter(|x| x.fract() == 0.0 && (0.0..9e15).contains(x)).map(|x| x as u64)
        };
        let n = text.parse::<u64>().ok().or_else(float).filter(|n| (least..=most).contains(n));
        n.ok_or_else(|| {
            self.refuse(name, format!("must be a whole number from {least} to {most}, got '{text}'"))
        })
    }

    /// One of several words.
    pub fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, SceneError> {
        let (_, text) = self.value(name);
        words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
            let valid: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let hint = nearest(text, &valid).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
            self.refuse(name, format!("must be one of {}, got '{text}'{hint}", valid.join(", ")))
        })
    }
}
