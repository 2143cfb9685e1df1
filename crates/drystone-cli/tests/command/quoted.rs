//! Figures that the documents quote are those of today. `docs/quoted.toml` names the place, the command and
//! the values; what takes a few seconds is asked in every run of the tests, all of it with
//! `--run-ignored all`, and `docs/make.sh TABLE` puts today's figures in.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::scratch::Scratch;

#[derive(Deserialize)]
struct List {
    quote: Vec<Quote>,
}

/// A line of a document with figures in it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quote {
    /// What `docs/make.sh` calls it by.
    table: String,
    /// Path from the root of the repository.
    file: String,
    /// The line, or a part of it that no other line has, with `{}` for every value.
    line: String,
    /// What `drystone run` is given.
    run: String,
    /// `path`, `path*factor` in the report, and after a colon how it is printed: `2s` two significant digits,
    /// `3f` three decimals, `1e` one decimal and an exponent.
    values: Vec<String>,
    /// What it takes here, s: up to [`CHEAP`] it is asked in every run of the tests.
    seconds: f64,
    /// Depends on the machine: put in by `docs/make.sh`, and not asked.
    #[serde(default)]
    measured: bool,
}

const CHEAP: f64 = 1.0;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn quotes() -> Vec<Quote> {
    let text = fs::read_to_string(root().join("docs/quoted.toml")).unwrap();
    let list: List = toml::from_str(&text).unwrap_or_else(|e| panic!("docs/quoted.toml: {e}"));
    list.quote
}

/// A number as it stands in the documents.
fn printed(x: f64, form: &str) -> String {
    let (digits, kind) = form.split_at(form.len() - 1);
    let digits: usize = digits.parse().unwrap_or_else(|_| panic!("'{form}' is no format: 2s, 3f or 1e"));
    match kind {
        "f" => format!("{x:.digits$}"),
        "e" => format!("{x:.digits$e}"),
        "s" => {
            // Rounded first: 0.0996 with two digits is 0.10.
            let rounded: f64 = format!("{x:.*e}", digits.max(1) - 1).parse().unwrap();
            let power = if rounded == 0.0 { 0 } else { rounded.abs().log10().floor() as i32 };
            format!("{rounded:.*}", (digits as i32 - 1 - power).max(0) as usize)
        }
        _ => panic!("'{form}' is no format: 2s, 3f or 1e"),
    }
}

/// What a value of the list is in a report.
fn value(report: &Value, text: &str) -> String {
    let (what, form) = text.split_once(':').unwrap_or_else(|| panic!("'{text}' has no format"));
    let (path, factor) = what.split_once('*').unwrap_or((what, "1"));
    let found = path.trim().split('.').fold(report, |v, key| match key.parse::<usize>() {
        Ok(k) if v.is_array() => &v[k],
        _ => &v[key],
    });
    let x = found.as_f64().unwrap_or_else(|| panic!("{path} is {found}, not a number"));
    printed(x * factor.trim().parse::<f64>().unwrap(), form.trim())
}

/// The line of a quote with today's figures.
fn today(quote: &Quote, report: &Value) -> String {
    let mut parts = quote.line.split("{}");
    let mut line = parts.next().unwrap_or_default().to_string();
    for (part, v) in parts.zip(&quote.values) {
        line += &value(report, v);
        line += part;
    }
    assert_eq!(quote.line.matches("{}").count(), quote.values.len(), "{}", quote.line);
    line
}

/// Runs what the quotes ask for, each command once, and returns what stands elsewhere than in today's
/// figures.
fn stale(quotes: &[Quote]) -> Vec<String> {
    let scratch = Scratch::new(&format!("quoted-{}", quotes.len()));
    let mut reports: HashMap<&str, Value> = HashMap::new();
    let mut wrong = Vec::new();
    for quote in quotes {
        let report = reports.entry(&quote.run).or_insert_with(|| {
            let o = scratch.run(&format!("run {} --report - --quiet", quote.run));
            serde_json::from_str(&o.out).unwrap_or_else(|e| panic!("run {}: {e}: {}", quote.run, o.err))
        });
        let line = today(quote, report);
        let text =
            fs::read_to_string(root().join(&quote.file)).unwrap_or_else(|e| panic!("{}: {e}", quote.file));
        if !text.contains(&line) {
            wrong.push(format!("{}: today `drystone run {}` says\n    {line}", quote.file, quote.run));
        }
    }
    wrong
}

#[test]
fn quoted_figures_that_are_quick_are_todays() {
    let cheap: Vec<Quote> = quotes().into_iter().filter(|q| q.seconds <= CHEAP && !q.measured).collect();
    assert!(!cheap.is_empty(), "nothing is asked");
    let wrong = stale(&cheap);
    assert!(wrong.is_empty(), "run docs/make.sh TABLE:\n{}", wrong.join("\n"));
}

#[test]
#[ignore = "takes minutes: all figures that the documents quote"]
fn quoted_figures_are_todays() {
    let all: Vec<Quote> = quotes().into_iter().filter(|q| !q.measured).collect();
    let wrong = stale(&all);
    assert!(wrong.is_empty(), "run docs/make.sh TABLE:\n{}", wrong.join("\n"));
}

/// Puts today's figures into the documents: what `docs/make.sh TABLE` runs.
#[test]
#[ignore = "writes documents; run by docs/make.sh with DRYSTONE_TABLE"]
fn write_quoted_figures() {
    let Ok(table) = std::env::var("DRYSTONE_TABLE") else { return };
    let mine: Vec<Quote> = quotes().into_iter().filter(|q| q.table == table).collect();
    let tables = || quotes().into_iter().map(|q| q.table).collect::<std::collections::BTreeSet<_>>();
    assert!(!mine.is_empty(), "there is no table '{table}' in docs/quoted.toml: {:?}", tables());
    let scratch = Scratch::new("quoted-write");
    let mut reports: HashMap<&str, Value> = HashMap::new();
    for quote in &mine {
        let report = reports.entry(&quote.run).or_insert_with(|| {
            let o = scratch.run(&format!("run {} --report - --quiet", quote.run));
            serde_json::from_str(&o.out).unwrap_or_else(|e| panic!("run {}: {e}: {}", quote.run, o.err))
        });
        let path = root().join(&quote.file);
        let text = fs::read_to_string(&path).unwrap();
        let (new, line) = (filled(&text, quote, report), today(quote, report));
        let new = new.unwrap_or_else(|| panic!("{}: no line is like {}", quote.file, quote.line));
        println!("{}: {line}", quote.file);
        fs::write(path, new).unwrap();
    }
}

/// A text with the figures of a quote put in; none where no place is like it.
fn filled(text: &str, quote: &Quote, report: &Value) -> Option<String> {
    let parts: Vec<&str> = quote.line.split("{}").collect();
    for (start, _) in text.match_indices(parts[0]) {
        // Figures have no bar and no line end in them.
        let mut at = start + parts[0].len();
        let ends = parts[1..].iter().all(|part| {
            let rest = &text[at..];
            let found = match part.is_empty() {
                true => Some(rest.find(['|', '\n', ' ']).unwrap_or(rest.len())),
                false => rest.find(part).filter(|k| !rest[..*k].contains(['|', '\n'])),
            };
            found.inspect(|k| at += k + part.len()).is_some()
        });
        if ends {
            return Some(format!("{}{}{}", &text[..start], today(quote, report), &text[at..]));
        }
    }
    None
}

#[test]
fn figures_are_printed_as_documents_have_them() {
    for (x, form, text) in [
        (0.38123, "2s", "0.38"),
        (0.0996, "2s", "0.10"),
        (12.34, "2s", "12"),
        (1234.0, "2s", "1200"),
        (0.0, "2s", "0.0"),
        (1.5e-7, "1e", "1.5e-7"),
        (3.0, "0f", "3"),
    ] {
        assert_eq!(printed(x, form), text, "{x} as {form}");
    }
    let quote = Quote {
        table: "t".into(),
        file: "f".into(),
        line: "| a | {} | {} m |".into(),
        run: String::new(),
        values: vec!["x*1e3:1f".into(), "list.1:0f".into()],
        seconds: 0.0,
        measured: false,
    };
    let report = serde_json::json!({"x": 0.0042, "list": [1, 7]});
    let text = "| b | 1.0 | 2 m |\n| a | 9.9 | 3 m |\nend";
    let new = filled(text, &quote, &report).unwrap();
    assert_eq!(new, "| b | 1.0 | 2 m |\n| a | 4.2 | 7 m |\nend");
    assert_eq!(filled("| c | 1 | 2 m |", &quote, &report), None);
}
