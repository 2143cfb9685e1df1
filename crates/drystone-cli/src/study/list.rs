//! The lists of `drystone study`, and the options of a run that each of their points stands for.

use drystone_solve::solver::{BadSpec, nearest};

use crate::failure::Failure;

/// Options of a run that can be varied, besides `set.KEY`.
const OPTIONS: &[&str] = &[
    "step",
    "iterations",
    "position-iterations",
    "tolerance",
    "solver",
    "stabilisation",
    "envelope",
    "budget-ms",
    "broadphase",
    "threads",
];
/// Two more that together stand for `iterations` and `position-iterations`.
pub const SWEEPS: &str = "sweeps";
const POSITION_SHARE: &str = "position-share";
/// What is not handed on to the runs: options with a value, and flags.
const OWN_OPTIONS: &[&str] = &["vary", "for", "measure", "plot", "title", "report"];
const OWN_FLAGS: &[&str] = &["log-x", "log-y", "quiet"];

/// What `--vary` or `--for` says: names, and for each point a value of every name and what to call it.
pub struct List {
    pub names: Vec<String>,
    pub values: Vec<Vec<String>>,
    pub labels: Vec<String>,
}

impl List {
    /// Reads `NAME=V1,V2`, `NAME=V1;V2`, `NAME+NAME=V+V` and `NAME=TEXT@V`; refuses names that cannot be
    /// varied, with the name that may be meant: `parameters` are those of the scene.
    pub fn parse(option: &str, text: &str, parameters: &[String]) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::input(format!("{option} {text}: {what}"));
        let (names, values) = text.split_once('=').ok_or_else(|| wrong("expected NAME=V1,V2,...".into()))?;
        let names: Vec<String> = names.split('+').map(|n| n.trim().to_string()).collect();
        for (i, name) in names.iter().enumerate() {
            let known = OPTIONS.contains(&name.as_str()) || [SWEEPS, POSITION_SHARE].contains(&name.as_str());
            if !known && name.strip_prefix("set.").is_none_or(str::is_empty) {
                let own = [OPTIONS, &[SWEEPS, POSITION_SHARE, "set.KEY"]].concat();
                let sets: Vec<&str> = parameters.iter().map(String::as_str).collect();
                let bare = name.strip_prefix("set.").unwrap_or(name);
                let near = nearest(bare, &[&own[..], &sets].concat());
                if let Some(p) = near.filter(|p| sets.contains(p) && !own.contains(p)) {
                    return Err(wrong(format!(
                        "unknown name '{name}'; did you mean 'set.{p}'? (parameters of the scene: {}; others: {})",
                        sets.join(", "),
                        own.join(", ")
                    )));
                }
                return Err(wrong(BadSpec::unknown("name", name, &own).0));
            }
            if names[..i].contains(name) {
                return Err(wrong(format!("'{name}' is there twice")));
            }
        }
        let separator = if values.contains(';') { ';' } else { ',' };
        let parts = values.split(separator).map(str::trim).filter(|v| !v.is_empty());
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for part in parts {
            let (label, value) = part.split_once('@').unwrap_or((part, part));
            // A single value may contain a plus: 1e+5.
            let most = if names.len() == 1 { 1 } else { usize::MAX };
            values.push(value.splitn(most, '+').map(|v| v.trim().to_string()).collect::<Vec<_>>());
            labels.push(label.trim().to_string());
        }
        if values.is_empty() {
            return Err(wrong("there are no values".into()));
        }
        if let Some(v) = values.iter().find(|v| v.len() != names.len()) {
            let text =
                format!("'{}' has {} values for {} names joined by +", v.join("+"), v.len(), names.len());
            return Err(wrong(text));
        }
        Ok(Self { names, values, labels })
    }

    /// Every name with its value at a point.
    pub fn pairs(&self, point: usize) -> Vec<(&str, &str)> {
        self.names.iter().map(String::as_str).zip(self.values[point].iter().map(String::as_str)).collect()
    }
}

/// The run's options for values of the names.
pub fn options_of(set: &[(&str, &str)]) -> Result<Vec<String>, Failure> {
    let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let mut options = Vec::new();
    for (name, value) in set.iter().filter(|(n, _)| ![SWEEPS, POSITION_SHARE].contains(n)) {
        match name.strip_prefix("set.") {
            Some(key) => options.extend(["--set".to_string(), format!("{key}={value}")]),
            None => options.push(format!("--{name}={value}")),
        }
    }
    match (value(SWEEPS), value(POSITION_SHARE)) {
        (None, None) => {}
        (None, Some(_)) => return Err(Failure::input("position-share is a share of sweeps: vary those too")),
        (Some(sweeps), share) => {
            if let Some((twice, _)) =
                set.iter().find(|(n, _)| ["iterations", "position-iterations"].contains(n))
            {
                return Err(Failure::input(format!("sweeps decide '{twice}': give one or the other")));
            }
            let total: usize = sweeps
                .parse()
                .map_err(|_| Failure::input(format!("sweeps={sweeps}: must be a whole number")))?;
            let share = share.unwrap_or("0");
            let part = share.parse::<f64>().ok().filter(|s| (0.0..=1.0).contains(s));
            let part =
                part.ok_or_else(|| Failure::input(format!("position-share={share}: must be from 0 to 1")))?;
            let position = (part * total as f64).round() as usize;
            options.push(format!("--iterations={}", total - position));
            options.push(format!("--position-iterations={position}"));
        }
    }
    Ok(options)
}

/// The arguments of this command that its runs get too: not its own, nor options that it varies.
pub fn handed_on(given: &[String], varied: &[&str]) -> Vec<String> {
    let mut drop = OWN_OPTIONS.to_vec();
    drop.extend(varied);
    if varied.contains(&SWEEPS) {
        drop.extend(["iterations", "position-iterations"]);
    }
    without(given, &drop, OWN_FLAGS)
}

/// `arguments` without some options (with their values) and flags.
pub fn without(arguments: &[String], options: &[&str], flags: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let name = argument.strip_prefix("--").unwrap_or("");
        if options.contains(&name) {
            rest.next();
            continue;
        }
        let with_value = name.split_once('=').is_some_and(|(name, _)| options.contains(&name));
        // Options are added behind, so nothing may say that they have ended.
        if !with_value && !flags.contains(&name) && argument != "--" {
            kept.push(argument.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|t| t.to_string()).collect()
    }

    #[test]
    fn lists_are_split_at_commas_or_semicolons() {
        let list = List::parse("--vary", "iterations=10, 20,40", &[]).unwrap();
        assert_eq!(list.values.concat(), ["10", "20", "40"]);
        let list = List::parse("--for", "solver=pgs:omega=1,lambda=0.9;pgj", &[]).unwrap();
        assert_eq!(list.values.concat(), ["pgs:omega=1,lambda=0.9", "pgj"]);
        let list = List::parse("--for", "stabilisation=post:reach=0.2,rounds=1;", &[]).unwrap();
        assert_eq!(list.values.concat(), ["post:reach=0.2,rounds=1"]);
        let list = List::parse("--for", "step+set.mu=0.01+0.3,0.02+0.4", &[]).unwrap();
        assert_eq!(list.pairs(1), [("step", "0.02"), ("set.mu", "0.4")]);
        assert_eq!(list.labels, ["0.01+0.3", "0.02+0.4"]);
        let list = List::parse("--for", "step+iterations=coarse@0.1+5;0.01+9", &[]).unwrap();
        assert_eq!(
            (&list.labels[0][..], list.pairs(0)),
            ("coarse", vec![("step", "0.1"), ("iterations", "5")])
        );
        assert_eq!(List::parse("--vary", "set.n=1e+5", &[]).unwrap().values, [["1e+5"]]);
    }

    #[test]
    fn wrong_lists_are_refused_with_the_nearest_name() {
        let message =
            |text: &str| List::parse("--vary", text, &[]).err().map(|e| (e.code, e.message)).unwrap();
        let (code, text) = message("iteration=1,2");
        assert!(
            code == 2 && text.contains("did you mean 'iterations'") && text.contains("set.KEY"),
            "{text}"
        );
        let known = texts(&["r", "fraction", "steps_of_stair"]);
        let of = |text: &str| List::parse("--vary", text, &known).err().unwrap().message;
        assert!(
            of("r=").contains("did you mean 'set.r'? (parameters of the scene: r, fraction"),
            "{}",
            of("r=")
        );
        assert!(of("fracton=1,2").contains("did you mean 'set.fraction'"));
        assert!(of("iteration=1,2").contains("did you mean 'iterations'"));
        assert!(message("step").1.contains("NAME=V1"));
        assert!(message("step=,").1.contains("no values"));
        assert!(message("set.=1").1.contains("unknown name"));
        assert!(message("step+iterations=0.1,0.2+3").1.contains("1 values for 2 names"));
        assert!(message("step+step=1+1").1.contains("twice"));
    }

    #[test]
    fn sweeps_are_divided_by_the_share() {
        let all = options_of(&[("sweeps", "40"), ("position-share", "0.25"), ("set.mu", "0.3")]).unwrap();
        assert_eq!(all, ["--set", "mu=0.3", "--iterations=30", "--position-iterations=10"]);
        assert_eq!(options_of(&[("sweeps", "9")]).unwrap(), ["--iterations=9", "--position-iterations=0"]);
        for wrong in [
            &[("position-share", "0.5")][..],
            &[("sweeps", "9"), ("position-share", "1.5")],
            &[("sweeps", "x")],
            &[("sweeps", "9"), ("iterations", "3")],
        ] {
            assert_eq!(options_of(wrong).err().map(|e| e.code), Some(2), "{wrong:?}");
        }
    }

    #[test]
    fn runs_get_what_is_neither_varied_nor_the_studys_own() {
        let given = texts(&[
            "packing",
            "--vary",
            "step=1,2",
            "--step=0.1",
            "--log-x",
            "--set",
            "n=3",
            "--plot=a.svg",
            "--tolerance",
            "0",
        ]);
        assert_eq!(handed_on(&given, &["step"]), ["packing", "--set", "n=3", "--tolerance", "0"]);
        let given = texts(&["--iterations", "5", "--steps", "7", "--", "packing"]);
        assert_eq!(handed_on(&given, &["sweeps"]), ["--steps", "7", "packing"]);
    }
}
