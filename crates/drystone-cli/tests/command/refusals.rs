//! Bad usage: exit status 2, a message that helps on standard error, nothing on standard output, nothing
//! written.

use crate::scratch::{Scratch, holds, outcome, refused};

/// A line, and what the refusal must say.
type Case = (&'static str, &'static [&'static str]);

fn all_refused(name: &str, cases: &[Case]) {
    let scratch = Scratch::new(name);
    for (line, say) in cases {
        let said = scratch.bad(line);
        for part in *say {
            assert!(said.contains(part), "drystone {line}: '{part}' is missing in: {said}");
        }
        assert!(!said.contains("panicked"), "drystone {line}: {said}");
    }
    let left = std::fs::read_dir(scratch.at(".")).unwrap().count();
    assert_eq!(left, 0, "a refused command leaves no files");
}

#[test]
fn unknown_names_get_the_nearest_and_the_list() {
    all_refused(
        "refusals-names",
        &[
            ("run packin", &["'packin'", "did you mean 'packing'", "shaker", "slide", ".toml"]),
            ("run packing --set shap=box", &["'shap'", "did you mean 'shape'", "fraction", "height"]),
            ("run packing --set shape=boxx", &["shape", "'boxx'", "did you mean 'box'", "capsule"]),
            ("run packing --solver pgss", &["'pgss'", "did you mean 'pgs'", "pgj", "pssor"]),
            ("run packing --solver pgs:omga=1", &["'omga'", "did you mean 'omega'", "lambda"]),
            (
                "run packing --stabilisation pots",
                &["'pots'", "did you mean 'post'", "none", "scaled", "clamped"],
            ),
            ("run packing --stabilisation post:reech=1", &["'reech'", "did you mean 'reach'", "rounds"]),
            ("run packing --broadphase saap", &["'saap'", "did you mean 'sap'", "grid", "brute"]),
            ("run packing --integrator eular", &["'eular'", "did you mean 'euler'"]),
            ("run packing --integrator euler:theta=1", &["'theta'", "euler"]),
            ("run packing --model cpp", &["'cpp'", "ccp"]),
            ("run packing --backend gpu", &["'gpu'", "did you mean 'cpu'"]),
            ("run packing --colour sped", &["'sped'", "did you mean 'speed'", "kind", "force"]),
            ("run packing --camera frnt", &["'frnt'", "iso", "front", "side", "top"]),
            ("picture packing --to p.png --camera frnt", &["'frnt'", "iso", "front", "side", "top"]),
            (
                "picture packing --to p.png --colour sped",
                &["'sped'", "did you mean 'speed'", "kind", "force"],
            ),
            (
                "compare packing --quantity residul",
                &["'residul'", "did you mean 'residual'", "violation", "delta"],
            ),
            ("compare packing --solvers pgs,pgg", &["'pgg'", "did you mean 'pg", "pssor"]),
            ("bench packin", &["'packin'", "did you mean 'packing'", "spheres-1e3"]),
            ("bench packing --solver pgss", &["'pgss'", "did you mean 'pgs'"]),
            (
                "study packing --vary stepp=0.01,0.02 --measure penetration_m.max",
                &["'stepp'", "did you mean 'step'"],
            ),
            ("study packing --vary step=0.01,0.02 --measure penetration_m.mex", &["mex", "max"]),
            ("run packing --treads 2", &["--treads", "--threads"]),
            ("scenes --jsn", &["--jsn", "--json"]),
            ("solver --json", &["solver", "solvers"]),
        ],
    );
}

#[test]
fn numbers_out_of_range_are_refused_by_their_option() {
    all_refused(
        "refusals-numbers",
        &[
            ("run packing --step 0", &["--step", "positive", "0"]),
            ("run packing --step=-0.01", &["--step", "positive", "-0.01"]),
            ("run packing --step nan", &["--step", "finite", "NaN"]),
            ("run packing --step inf", &["--step", "finite", "inf"]),
            ("run packing --step ten", &["--step", "ten"]),
            ("run packing --time=-1", &["--time", "negative"]),
            ("run packing --time nan", &["--time", "finite"]),
            ("run packing --time inf", &["--time", "finite"]),
            ("run packing --steps=-1", &["--steps", "-1"]),
            ("run packing --steps 1.5", &["--steps", "1.5"]),
            ("run packing --steps 99999999999999999999", &["--steps"]),
            ("run packing --tolerance=-1", &["--tolerance", "negative", "-1"]),
            ("run packing --tolerance nan", &["--tolerance", "finite"]),
            ("run packing --tolerance inf", &["--tolerance", "finite"]),
            ("run packing --iterations=-1", &["--iterations", "-1"]),
            ("run packing --position-iterations=-1", &["--position-iterations", "-1"]),
            ("run packing --budget-ms=-1", &["--budget-ms", "negative"]),
            ("run packing --budget-ms nan", &["--budget-ms", "finite"]),
            ("run packing --envelope=-1", &["envelope", "negative"]),
            ("run packing --envelope nan", &["envelope", "finite"]),
            ("run packing --threads 0", &["--threads", "1"]),
            ("run packing --threads=-1", &["--threads"]),
            ("run packing --threads 1000000", &["--threads", "1000000"]),
            ("bench packing --threads 0", &["--threads", "1"]),
            ("run packing --solver pgs:omega=-1", &["omega", "above 0", "-1"]),
            ("run packing --solver pgs:omega=nan", &["omega", "finite"]),
            ("run packing --solver pgs:omega=", &["omega", "number"]),
            ("run packing --solver pgs:lambda=2", &["lambda", "(0, 1]"]),
            ("run packing --solver pgs:omega", &["omega", "key=value"]),
            ("run packing --solver pgs:omega=1,omega=2", &["omega", "twice"]),
            ("run packing --stabilisation scaled:K=0", &["K", "(0, 1]"]),
            ("run packing --stabilisation scaled:K=2", &["K", "(0, 1]"]),
            ("run packing --stabilisation clamped:A=-1", &["A", "above 0"]),
            ("run packing --size 0x0", &["--size", "0x0"]),
            ("run packing --size 640", &["--size", "640"]),
            ("run packing --cut w=0", &["--cut", "w=0"]),
            ("run packing --cut y=inf", &["--cut", "y=inf"]),
            ("state packing --to s.json --at-time=-1", &["--at-time", "negative"]),
            ("state packing --to s.json --at-time nan", &["--at-time", "finite"]),
            ("picture packing --to p.png --at-time inf", &["--at-time", "finite"]),
        ],
    );
}

#[test]
fn scene_parameters_out_of_range_are_refused_by_their_name() {
    all_refused(
        "refusals-parameters",
        &[
            ("run packing --set n", &["--set n", "KEY=VALUE"]),
            ("run packing --set n=", &["n:", "whole number"]),
            ("run packing --set n=0", &["n:", "from 1", "'0'"]),
            ("run packing --set n=-5", &["n:", "from 1", "'-5'"]),
            ("run packing --set n=2.5", &["n:", "whole number", "'2.5'"]),
            ("run packing --set n=1e300", &["n:", "whole number"]),
            ("run packing --set n=nan", &["n:", "'nan'"]),
            ("run packing --set fraction=0.9", &["fraction:", "'0.9'"]),
            ("run packing --set fraction=0", &["fraction:", "'0'"]),
            ("run packing --set height=0.001", &["height:", "larger"]),
            ("run packing --set height=-1", &["height:", "above 0"]),
            ("run packing --set shape=foo", &["shape:", "sphere", "box", "capsule", "mixed", "'foo'"]),
            ("run packing --set shape=", &["shape:", "sphere"]),
            ("run packing --set T=0", &["T:", "above 0"]),
            ("run packing --set h=0", &["h:", "above 0"]),
            ("run packing --set h=inf", &["h:", "'inf'"]),
            ("run packing --set mu=-1", &["mu:", "'-1'"]),
            ("run packing --set mu=nan", &["mu:", "'nan'"]),
            ("run packing --set seed=-1", &["seed:", "whole number"]),
            ("run pyramid --set layers=0", &["layers:", "'0'"]),
            ("run stack --set n=0", &["n:", "'0'"]),
            ("run stack --set ratio=0", &["ratio:", "'0'"]),
            ("run incline --set angle_deg=nan", &["angle_deg:", "'nan'"]),
            ("run slide --set v0=inf", &["v0:", "'inf'"]),
        ],
    );
}

#[test]
fn contradictions_and_missing_words_are_refused() {
    all_refused(
        "refusals-contradictions",
        &[
            ("run packing --time 1 --steps 5", &["--time", "--steps"]),
            ("run", &["SCENE"]),
            ("run packing stack", &["stack"]),
            ("run packing --step 0.01 --step 0.02", &["--step", "multiple times"]),
            ("run packing --report", &["--report"]),
            ("check", &["FILE"]),
            ("state packing", &["--to"]),
            ("picture packing", &["--to"]),
            ("scenes extra", &["extra"]),
            ("", &["Usage"]),
        ],
    );
}

#[test]
fn what_is_not_there_yet_says_so() {
    all_refused(
        "refusals-later",
        &[
            ("run packing --integrator moreau:theta=0.4", &["--integrator", "theta", "0.5 to 1"]),
            ("run packing --integrator moreau:theta=1.4", &["--integrator", "theta", "0.5 to 1"]),
            ("run pendulum --integrator rattle --iterations 0", &["rattle", "iterations = 0"]),
            ("run packing --substeps 0", &["substeps", "1 to 1000"]),
            ("run packing --sleep=speed=0", &["--sleep", "speed", "positive"]),
            ("run packing --sleep=time=-1", &["--sleep", "time", "not negative"]),
            ("run packing --sleep=depth=1", &["--sleep", "depth", "speed", "time"]),
            ("run packing --record rec --record-every 0", &["--record-every", "steps", "seconds"]),
            ("run packing --record rec --record-what all", &["--record-what", "contacts"]),
            ("run packing --record rec --checkpoint 1h", &["--checkpoint", "seconds"]),
            ("run packing --checkpoint 10", &["--record"]),
        ],
    );
}

#[test]
fn words_that_no_script_would_send() {
    let scratch = Scratch::new("refusals-odd");
    let say = |args: &[&str]| {
        let mut command = scratch.command("");
        command.args(args);
        let said = refused(&args.join(" "), outcome(command));
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        said
    };
    holds(&say(&["run", ""]), &["packing"]);
    holds(&say(&["run", "päcking 😀"]), &["'päcking 😀'", "packing"]);
    holds(&say(&["run", &"x".repeat(3000)]), &["packing"]);
    holds(&say(&["run", "packing", "--solver", ""]), &["name"]);
    holds(&say(&["run", "packing", "--solver", "😀"]), &["'😀'", "pgs"]);
    holds(&say(&["run", "packing", "--set", "ñ=5"]), &["'ñ'", "shape"]);
    holds(&say(&["run", "packing", "--set", "n=５"]), &["n:", "'５'"]);
    holds(&say(&["run", "packing", "--set", "="]), &["shape"]);
    holds(&say(&["run", "packing", "--report", ""]), &["--report"]);
    holds(&say(&["run", "."]), &[".toml", ".json"]);
}

#[test]
fn values_out_of_range_are_refused() {
    all_refused(
        "refusals-defects",
        &[
            ("run packing --budget-ms 1e300 --steps 1 --quiet", &["--budget-ms"]),
            ("run packing --stabilisation post:rounds=0.5 --steps 1 --quiet", &["rounds", "whole"]),
            ("run packing --forces-every 0 --steps 1 --quiet", &["--forces-every"]),
            ("run packing --camera frnt --steps 1 --quiet", &["did you mean 'front'"]),
            ("run packing --model coulom --steps 1 --quiet", &["coulomb"]),
            ("run packing --dump-problems problems --steps 1 --quiet", &["--dump-problems", "EVERY:FOLDER"]),
            (
                "run packing --dump-problems 0:problems --steps 1 --quiet",
                &["--dump-problems", "EVERY:FOLDER"],
            ),
            ("run packing --step -0.01 --steps 1 --quiet", &["--step", "positive"]),
            ("compare packing --at-time nan --sweeps 1 --report -", &["--at-time", "finite"]),
            ("compare packing --at-time 0.1 --sweeps 1 --report - --solvers ,", &["--solvers"]),
        ],
    );
}
