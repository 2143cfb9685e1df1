//! `scenes`, `solvers`, `--help` and `--version`.

use serde_json::Value;

use crate::scratch::{Scratch, holds, number};

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no text '{key}' in {value}"))
}

#[test]
fn scenes_tell_name_parameters_units_and_paper() {
    let scratch = Scratch::new("catalogue-scenes");
    let all: Value = serde_json::from_str(&scratch.good("scenes --json")).unwrap();
    let people = scratch.good("scenes");
    let mut names = Vec::new();
    for scene in all.as_array().unwrap() {
        let name = text(scene, "name");
        assert!(!text(scene, "title").is_empty() && !text(scene, "title").contains('\n'), "{name}: one line");
        assert!(
            text(scene, "citation").contains(|c: char| c.is_ascii_digit()),
            "{name}: the paper has a year"
        );
        holds(&people, &[name, text(scene, "title"), text(scene, "citation")]);
        let mut units = 0;
        for p in scene["params"].as_array().unwrap() {
            assert!(!text(p, "name").is_empty() && !text(p, "help").is_empty(), "{name}: {p}");
            text(p, "default");
            units += usize::from(!text(p, "unit").is_empty());
            holds(&people, &[text(p, "name"), text(p, "help")]);
        }
        assert!(units >= 2, "{name}: h and T at least have a unit");
        names.push(name);
    }
    for name in ["packing", "shaker", "pyramid", "stack", "incline", "slide"] {
        assert!(names.contains(&name), "{name} is missing");
    }
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), names.len(), "a name stands for two scenes: {names:?}");
}

#[test]
fn the_listed_defaults_are_the_defaults() {
    let scratch = Scratch::new("catalogue-defaults");
    let all: Value = serde_json::from_str(&scratch.good("scenes --json")).unwrap();
    for scene in all.as_array().unwrap() {
        let name = text(scene, "name");
        // A smaller one of the largest, or the test would do nothing but fill boxes.
        let small = if name == "shaker" { " --set n=200" } else { "" };
        let set: String =
            scene["params"].as_array().unwrap().iter().fold(String::new(), |line, p| {
                match text(p, "default") {
                    "" => line,
                    default => format!("{line} --set {}={default}", text(p, "name")),
                }
            });
        let plain = scratch.report(&format!("{name}{small} --steps 2"));
        let spelled = scratch.report(&format!("{name}{set}{small} --steps 2"));
        assert_eq!(plain["state_hash"], spelled["state_hash"], "{name}{set}");
        assert_eq!(number(&plain, "step_s"), number(&spelled, "step_s"));
    }
}

#[test]
fn solvers_tell_parameters_use_and_citation() {
    let scratch = Scratch::new("catalogue-solvers");
    let all: Value = serde_json::from_str(&scratch.good("solvers --json")).unwrap();
    let people = scratch.good("solvers");
    let mut names = Vec::new();
    for solver in all.as_array().unwrap() {
        let name = text(solver, "name");
        for key in ["title", "use_when", "citation"] {
            assert!(!text(solver, key).is_empty(), "{name}: {key}");
        }
        assert!(
            ["sweep", "multiplication", "factorisation", "solve", "iteration", "pivot"]
                .contains(&text(solver, "unit")),
            "{name}"
        );
        // Both laws are taken by all, and said to be.
        assert_eq!(solver["models"], serde_json::json!(["ccp", "coulomb"]), "{name}");
        let outer = solver["by_outer_iteration"].as_array().unwrap();
        let own = solver["by_itself"].as_array().unwrap();
        assert_eq!(own.len() + outer.len(), 2, "{name}: each law once");
        let exact = scratch.report(&format!("stack --steps 2 --model coulomb --solver {name}"));
        assert_eq!(exact["model"], "coulomb", "{name}");
        holds(&people, &[name, text(solver, "title"), text(solver, "citation")]);
        // What it says it takes, it takes.
        let params: Vec<String> = solver["params"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| {
                assert!(!text(p, "help").is_empty(), "{name}: {p}");
                format!("{}={}", text(p, "name"), text(p, "default"))
            })
            .collect();
        let plain = scratch.report(&format!("stack --steps 3 --solver {name}"));
        let colon = if params.is_empty() { "" } else { ":" };
        let spelled = scratch.report(&format!("stack --steps 3 --solver {name}{colon}{}", params.join(",")));
        assert_eq!(plain["state_hash"], spelled["state_hash"], "{name}: {params:?}");
        names.push(name);
    }
    holds(&people, &["ccp by itself, coulomb by outer iterations", "ccp and coulomb on a cone of facets"]);
    let by_outer: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .filter(|s| s["by_outer_iteration"] == serde_json::json!(["coulomb"]))
        .map(|s| text(s, "name"))
        .collect();
    assert_eq!(by_outer, ["pgj", "apgd", "bb", "cpg", "admm", "prox"]);
    for name in ["auto", "pgj", "pgs", "pssor", "apgd", "bb", "nncg", "apgs", "cpg", "nsgs-ac", "nsgs-sphere"]
    {
        assert!(names.contains(&name), "{name} is missing");
    }
}

#[test]
fn help_names_every_option_and_version_the_version() {
    let scratch = Scratch::new("catalogue-help");
    let help = scratch.good("run --help");
    let options = "--set --time --steps --step --integrator --model --solver --tolerance --iterations --budget-ms \
                   --position-iterations --stabilisation --broadphase --envelope --threads --backend --allow-overlap --settle \
                   --sleep --snapshots --record --report --dump-problems --quiet";
    holds(&help, &options.split_whitespace().collect::<Vec<_>>());
    let commands = scratch.good("--help");
    holds(&commands, &["run", "scenes", "solvers", "check", "solve", "compare", "bench", "state", "picture"]);
    assert_eq!(scratch.good("--version").trim(), format!("drystone {}", env!("CARGO_PKG_VERSION")));
    for command in ["scenes", "solvers", "check", "solve", "compare", "bench", "state", "picture", "study"] {
        assert!(scratch.good(&format!("{command} --help")).contains("Usage: drystone"), "{command}");
    }
}
