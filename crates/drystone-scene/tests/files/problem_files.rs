//! Readers of contact problems, on files written down by hand.

use std::path::PathBuf;

use drystone_scene::problem::{self, ContactProblem, Kind};
use drystone_solve::problem::{Csr, Explicit};
use drystone_solve::solver::{Status, Stop, make};
use drystone_solve::{FrictionLaw, Problem, Set};

/// A folder that goes with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn read(&self, name: &str, text: &str, kind: Option<Kind>) -> Result<ContactProblem, String> {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        problem::read(&path, kind).map_err(|e| e.to_string().replace(self.0.to_str().unwrap(), ""))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn dense(p: &ContactProblem) -> Vec<Vec<f64>> {
    let mut w = vec![vec![0.0; p.w.columns]; p.w.rows()];
    for (i, row) in w.iter_mut().enumerate() {
        for (j, x) in p.w.row(i) {
            row[j] += x;
        }
    }
    w
}

/// Two planar contacts; W is not symmetric, so that rows and columns cannot be confused.
const W: [[f64; 4]; 4] =
    [[4.0, 0.5, 1.0, 0.0], [0.25, 3.0, 0.0, 2.0], [1.0, 0.0, 5.0, 0.0], [0.0, -2.0, 0.0, 6.0]];
const TAIL: &str = "\n-1 0.5 -2 0.25\n0.3 0.4\nanything that follows is ignored\n";

#[test]
fn every_storage_of_a_matrix_is_read() {
    let folder = Folder::new("problem-storages");
    let by_columns: String = (0..16).map(|k| format!("{} ", W[k % 4][k / 4])).collect();
    let block = |i: usize, j: usize| -> String {
        (0..4).map(|k| format!("{}\n", W[2 * i + k % 2][2 * j + k / 2])).collect()
    };
    let blocks = format!(
        "2 2 1 4 4 4 2 2\n2 4\n2 4\n3 4\n0 2 4\n0 1 0 1\n0\n{}1\n{}2\n{}3\n{}",
        block(0, 0),
        block(0, 1),
        block(1, 0),
        block(1, 1)
    );
    let mut triplets = Vec::new();
    for i in 0..4 {
        for j in 0..4 {
            if W[i][j] != 0.0 {
                // In two halves: duplicates are summed.
                triplets.push(format!("    {i} {j} : {}", 0.5 * W[i][j]));
                triplets.push(format!("    {i} {j} : {}", 0.5 * W[i][j]));
            }
        }
    }
    let banner = "CSparse Version 3.2.0, Sept 12, 2017.  Copyright (c) Timothy A. Davis, 2006-2016\n";
    let count = triplets.len();
    let triplet =
        format!("2 2 2 4 4 1\n{banner}triplet: 4-by-4, nzmax: {count} nnz: {count}\n{}", triplets.join("\n"));
    let lines = |label: &str, entry: &dyn Fn(usize, usize) -> f64| {
        let (mut text, mut at) = (String::new(), 0);
        for line in 0..4 {
            let here: Vec<usize> = (0..4).filter(|k| entry(line, *k) != 0.0).collect();
            text += &format!("    {label} {line} : locations {at} to {}\n", at + here.len() - 1);
            at += here.len();
            for k in here {
                text += &format!("      {k} : {}\n", entry(line, k));
            }
        }
        text
    };
    let half = count / 2;
    let csc = format!(
        "2 2 2 4 4 2\n{banner}4-by-4, nzmax: {half} nnz: {half}, 1-norm: 8\n{}",
        lines("col", &|j, i| W[i][j])
    );
    let csr = format!(
        "2 2 2 4 4 3\n{banner}csr: 4-by-4, nzmax: {half} nnz: {half}, 1-norm: 8\n{}",
        lines("row", &|i, j| W[i][j])
    );
    let full = format!("2 2 0 4 4 4 4\n{by_columns}");
    for (what, text) in
        [("dense", full), ("blocks", blocks), ("triplet", triplet), ("csc", csc), ("csr", csr)]
    {
        let p = folder.read("p.dat", &(text + TAIL), None).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(dense(&p), W.map(|row| row.to_vec()), "{what}");
        assert_eq!(
            (p.q.as_slice(), p.mu.as_slice()),
            ([-1.0, 0.5, -2.0, 0.25].as_slice(), [0.3, 0.4].as_slice())
        );
        assert_eq!((p.kind, p.dimension, p.contacts()), (Kind::Fc, 2, 2));
        assert!((p.asymmetry() - 2.0 * (0.125f64.powi(2) * 2.0 + 8.0).sqrt() / norm(&W)).abs() < 1e-12);
    }
}

fn norm(w: &[[f64; 4]; 4]) -> f64 {
    w.iter().flatten().map(|x| x * x).sum::<f64>().sqrt()
}

/// A block of 2 kg on the floor with one planar contact: v = (v_n, v_t), M = 2, H = I, weight impulse f.
#[test]
fn bodies_are_eliminated() {
    let folder = Folder::new("problem-global");
    // M couples three degrees of freedom in two parts; the contact sees them through H.
    let text = "2 1\n0 3 3 3 3\n2 0 1\n0 4 0\n1 0 3\n0 3 2 3 2\n1 0 2\n0 1 0\n5 -8 10\n0.5 -0.25\n0.6\n";
    let p = folder.read("GFC_block.dat", text, None).unwrap();
    // By hand: M⁻¹ = [[.6, 0, -.2], [0, .25, 0], [-.2, 0, .4]], H = [[1, 0], [0, 1], [2, 0]].
    let expected = [[0.6 - 0.8 + 1.6, 0.0], [0.0, 0.25]];
    for (row, wanted) in dense(&p).iter().zip(expected) {
        for (x, y) in row.iter().zip(wanted) {
            assert!((x - y).abs() < 1e-14, "{row:?}");
        }
    }
    // M⁻¹ f = (1, -2, 3).
    assert!(
        (p.q[0] - (1.0 + 6.0 + 0.5)).abs() < 1e-14 && (p.q[1] - (-2.0 - 0.25)).abs() < 1e-14,
        "{:?}",
        p.q
    );
    assert_eq!(p.kind, Kind::Gfc);
    // The name decides, unless the caller does.
    assert_eq!(folder.read("block.dat", text, Some(Kind::Gfc)).unwrap().kind, Kind::Gfc);
    let e = folder.read("block.dat", text, None).unwrap_err();
    assert!(e.contains("/block.dat:") && e.contains("W: is 3 x 3") && e.contains("--kind gfc"), "{e}");
    let singular = text.replace("2 0 1\n0 4 0\n1 0 3", "2 0 1\n0 0 0\n1 0 3");
    let e = folder.read("gfc.dat", &singular, None).unwrap_err();
    assert!(e.contains("/gfc.dat: M: cannot be inverted") && e.contains("degree of freedom 1"), "{e}");
}

#[test]
fn rolling_friction_and_the_solution() {
    let folder = Folder::new("problem-rolling");
    // W = I: u = r + q. q pulls down and sideways; the moment rows want more than the cone gives.
    let identity: String = (0..25).map(|k| if k % 6 == 0 { "1 " } else { "0 " }).collect();
    let text = format!("5 1 0 5 5 5 5\n{identity}\n-1 0.1 0 0.5 0\n0.5\n0.25\n");
    let p = folder.read("ball.dat", &text, None).unwrap();
    assert_eq!((p.kind, p.dimension, p.mu_r.as_slice()), (Kind::Rfc, 5, [0.25].as_slice()));
    let s =
        make("apgd").unwrap().solve(&p.ccp(), None, &Stop { tolerance: 1e-12, ..Stop::default() }).unwrap();
    assert_eq!(s.status, Status::Converged);
    // The nearest point of the cone to -q: n + μ_r (n μ_r - 0.5) = 1.
    let n = (1.0 + 0.25 * 0.5) / (1.0 + 0.25 * 0.25);
    let expected = [n, -0.1, 0.0, -0.25 * n, 0.0];
    for (x, y) in s.gamma.iter().zip(expected) {
        assert!((x - y).abs() < 1e-10, "{:?}", s.gamma);
    }
    let u: Vec<f64> = s.gamma.iter().zip(&p.q).map(|(r, q)| r + q).collect();
    assert!(p.natural_map(drystone_solve::FrictionLaw::Ccp, &s.gamma, &u) < 1e-10);
    assert!(
        (p.natural_map(drystone_solve::FrictionLaw::Ccp, &[0.0; 5], &p.q)
            - expected.iter().map(|x| x * x).sum::<f64>().sqrt())
        .abs()
            < 1e-12
    );
}

const JSON: &str = r#"{"name": "two", "kind": "fc", "d": 2, "nc": 2,
 "W": {"shape": [4, 4], "indptr": [0, 1, 2, 3, 4], "indices": [0, 1, 2, 3], "data": [1, 2, 3, 4]},
 "q": [-1, 0, -2, 0], "mu": [0.3, 0.4], "source": "by hand"}"#;

#[test]
fn json_faults_name_file_line_and_field() {
    let folder = Folder::new("problem-json");
    let p = folder.read("p.json", JSON, None).unwrap();
    assert_eq!((p.name.as_str(), p.contacts(), dense(&p)[2][2]), ("two", 2, 3.0));
    let cases: &[(&str, &str, &[&str])] = &[
        ("\"d\": 2", "\"d\": 4", &["/p.json:1:", "d: must be 2, 3 or 5"]),
        ("\"kind\": \"fc\"", "\"kind\": \"cf\"", &["kind", "'cf'", "fc, gfc, rfc, grfc"]),
        ("\"nc\": 2", "\"nc\": 3", &["/p.json:3:", "mu: must have 3 numbers, got 2"]),
        ("\"mu\": [0.3", "\"mu\": [-0.3", &["/p.json:3:", "mu[0]", "not negative"]),
        ("\"q\": [-1", "\"q\": [NaN", &["/p.json:3:8", "q[0]", "NaN"]),
        ("\"indptr\": [0, 1", "\"indptr\": [0, 9", &["/p.json:2:", "W.indptr"]),
        ("\"indptr\": [0, 1, 2", "\"indptr\": [0, 2, 1", &["W.indptr", "must rise"]),
        ("\"indices\": [0", "\"indices\": [7", &["W.indices[0]"]),
        ("\"shape\": [4, 4]", "\"shape\": [4, 5]", &["W.shape: is 4 x 5", "4 rows"]),
        ("\"shape\": [4, 4]", "\"shape\": [4, 3]", &["W.shape: is 4 x 3", "4 rows"]),
        ("\"kind\": \"fc\"", "\"kind\": \"rfc\"", &["/p.json:1:", "d: is 2, but kind rfc has 5"]),
        ("\"mu\"", "\"others\": [{\"set\": \"fre\"}], \"mu\"", &["others[0].set", "did you mean 'free'"]),
        ("\"mu\"", "\"others\": [{\"set\": \"free\"}], \"mu\"", &["q: must have 5 numbers"]),
        (
            "\"mu\"",
            "\"others\": [{\"set\": \"free\", \"lo\": 1}], \"mu\"",
            &["others[0]", "unknown field 'lo'"],
        ),
        ("\"source\"", "\"global\": {}, \"source\"", &["global: kind fc has no bodies"]),
        ("\"source\"", "\"sauce\"", &["unknown field 'sauce'", "did you mean 'source'"]),
        ("\"data\"", "\"date\"", &["W", "unknown field 'date'"]),
        (", \"mu\": [0.3, 0.4]", "", &["the field 'mu' is missing"]),
    ];
    for (from, to, say) in cases {
        assert!(JSON.contains(from), "{from}");
        let e = folder.read("p.json", &JSON.replace(from, to), None).unwrap_err();
        for part in *say {
            assert!(e.contains(part), "{from} -> {to}: '{part}' is missing in: {e}");
        }
    }
    let e = folder.read("p.json", JSON, Some(Kind::Gfc)).unwrap_err();
    assert!(e.contains("kind"), "{e}");
}

#[test]
fn text_faults_name_file_line_and_field() {
    let folder = Folder::new("problem-text");
    let good = "2\n1\n0 2 2\n2 2\n1 0\n0 1\n-1 0.5\n0.3\n";
    assert_eq!(folder.read("p.dat", good, None).unwrap().q, [-1.0, 0.5]);
    let cases: &[(&str, &str, &[&str])] = &[
        ("2\n1\n", "7\n1\n", &["/p.dat:1:1", "d:", "found '7'"]),
        ("2\n1\n", "2\nx\n", &["/p.dat:2:1", "nc:", "found 'x'"]),
        ("0 2 2", "9 2 2", &["/p.dat:3:1", "W:"]),
        ("0 2 2\n2 2", "0 2 2\n2 3", &["W:", "sizes"]),
        ("1 0\n0 1", "1 0\nzero 1", &["/p.dat:6:1", "W: expected a finite number, found 'zero'"]),
        ("-1 0.5", "-1 inf", &["/p.dat:7:4", "q[1]: expected a finite number, found 'inf'"]),
        ("0.3\n", "", &["mu[0]", "cut short"]),
        ("0.3", "-0.3", &["mu[0]", "not negative"]),
    ];
    for (from, to, say) in cases {
        let e = folder.read("p.dat", &good.replacen(from, to, 1), None).unwrap_err();
        for part in *say {
            assert!(e.contains(part), "{from} -> {to}: '{part}' is missing in: {e}");
        }
    }
    // A size that no file could have must not ask for the memory.
    let e = folder.read("p.dat", "3 200000000 0 600000000 600000000", None).unwrap_err();
    assert!(e.contains("W:"), "{e}");
    assert!(
        problem::read(folder.0.join("none.dat"), None).unwrap_err().to_string().contains("cannot be read")
    );
    for (name, say) in [("p.hdf5", "is not an HDF5 file"), ("p.txt", ".dat, .hdf5 or .h5")] {
        assert!(folder.read(name, "", None).unwrap_err().contains(say));
    }
}

fn rolling() -> ContactProblem {
    let mut w = vec![Vec::new(); 10];
    for (i, row) in w.iter_mut().enumerate() {
        row.push((i as u32, 2.0 + i as f64));
        row.push(((i as u32 + 3) % 10, -0.25));
    }
    ContactProblem {
        name: "two".into(),
        kind: Kind::Rfc,
        dimension: 5,
        w: drystone_solve::problem::Csr::from_rows(10, w),
        q: (0..10).map(|i| i as f64 - 4.5).collect(),
        mu: vec![0.5, 0.25],
        mu_r: vec![0.1, 0.2],
        others: Vec::new(),
        guess: vec![0.5; 10],
        solution: (0..10).map(|i| 0.1 * i as f64).collect(),
    }
}

fn flat() -> ContactProblem {
    ContactProblem { kind: Kind::Fc, dimension: 2, mu: vec![0.3; 5], mu_r: Vec::new(), ..rolling() }
}

/// What is written is what is read, in both forms.
#[test]
fn written_problems_are_read_back() {
    let folder = Folder::new("problems-written");
    for p in [rolling(), flat(), jointed(&[Set::Free, Set::Free])] {
        assert!(p.save(&folder.0).unwrap(), "both forms");
        for name in ["two.json", "two.hdf5"] {
            let back = problem::read(folder.0.join(name), None).unwrap();
            assert_eq!((back.kind, back.dimension), (p.kind, p.dimension), "{name}");
            assert_eq!((&back.w, &back.q, &back.mu, &back.mu_r), (&p.w, &p.q, &p.mu, &p.mu_r), "{name}");
            assert_eq!(back.others, p.others, "{name}");
            // Of HDF5 files the problem alone is read.
            let kept = if name == "two.json" { (&p.guess, &p.solution) } else { (&Vec::new(), &Vec::new()) };
            assert_eq!((&back.guess, &back.solution), kept, "{name}");
        }
    }
    // Limits and motors: JSON has words for them, FCLib has not.
    let sets = [
        Set::Interval { lo: -0.5, hi: f64::INFINITY },
        Set::NonNegative,
        Set::Free,
        Set::Interval { lo: f64::NEG_INFINITY, hi: 2.0 },
    ];
    let p = jointed(&sets);
    assert!(!p.save(&folder.0).unwrap() && p.to_fclib().is_none());
    // And says which: the first of them.
    assert!(p.beyond_fclib().unwrap().contains("spinning friction"));
    assert_eq!(jointed(&[Set::Free, Set::NonNegative]).beyond_fclib(), Some("limits"));
    assert_eq!(jointed(&[Set::Free, Set::Free]).beyond_fclib(), None);
    let back = problem::read(folder.0.join("two.json"), None).unwrap();
    assert_eq!((&back.w, &back.q, &back.others), (&p.w, &p.q, &p.others));
}

/// Contacts in the plane, then other blocks; FCLib's V is there once, so W is symmetric.
fn jointed(others: &[Set]) -> ContactProblem {
    let mut p = flat();
    p.mu.truncate((10 - others.len()) / 2);
    p.others = others.to_vec();
    p.w = p.w.symmetric_part();
    p
}

/// A block after the contacts is part of the problem and of the published test.
#[test]
fn bilateral_rows_hold_and_keep_their_multipliers() {
    let p = jointed(&[Set::Free, Set::Free]);
    let stop = Stop { tolerance: 1e-12, iterations: 20_000, ..Stop::default() };
    let s = make("prox").unwrap().solve(&p.ccp(), None, &stop).unwrap();
    let mut u = Vec::new();
    p.ccp().apply(&s.gamma, &mut u);
    assert!(u[8].abs() < 1e-10 && u[9].abs() < 1e-10, "they do not move: {u:?}");
    assert!(s.gamma[8] < 0.0, "and may pull: {:?}", s.gamma);
    assert!(p.natural_map(FrictionLaw::Ccp, &s.gamma, &u) < 1e-9);
    // Off by 0.5 in a bilateral row's velocity: that, and nothing else, is what the natural map adds.
    u[9] += 0.5;
    assert!((p.natural_map(FrictionLaw::Ccp, &s.gamma, &u) - 0.5).abs() < 1e-6);
}

/// Compliance belongs to W; contacts come first, whatever the order of the blocks was.
#[test]
fn any_problem_becomes_a_file() {
    let w = Csr::from_rows(
        4,
        vec![vec![(0, 3.0), (2, 0.5)], vec![(1, 2.0)], vec![(0, 0.5), (2, 4.0)], vec![(3, 5.0)]],
    );
    let sets = vec![Set::Free, Set::Friction2 { mu: 0.4 }, Set::NonNegative];
    let mut e = Explicit::new(w, vec![1.0, -2.0, 0.25, -3.0], sets);
    e.compliance = vec![0.0, 0.125, 0.0, 0.0];
    let p = ContactProblem::from_problem("p", &Problem::Explicit(e));
    assert_eq!((p.dimension, p.contacts(), p.mu.as_slice()), (2, 1, [0.4].as_slice()));
    assert_eq!(p.others, [Set::Free, Set::NonNegative]);
    assert_eq!(p.q, [-2.0, 0.25, 1.0, -3.0]);
    let expected = [[2.125, 0.0, 0.0, 0.0], [0.0, 4.0, 0.5, 0.0], [0.0, 0.5, 3.0, 0.0], [0.0, 0.0, 0.0, 5.0]];
    assert_eq!(dense(&p), expected.map(|row| row.to_vec()));
}

/// W and q beside the bodies they come from: sizes, and that they are the same problem.
#[test]
fn bodies_beside_a_matrix_must_agree_with_it() {
    let folder = Folder::new("problem-beside");
    let diagonal = |x: [f64; 2]| {
        format!(
            r#"{{"shape": [2, 2], "indptr": [0, 1, 2], "indices": [0, 1], "data": [{}, {}]}}"#,
            x[0], x[1]
        )
    };
    let text = |w: [f64; 2], f: &str| {
        format!(
            r#"{{"kind": "gfc", "d": 2, "nc": 1, "W": {}, "q": [-2, 0.5], "mu": [0.3],
            "global": {{"M": {}, "H": {}, "f": {f}, "w": [0, 0]}}}}"#,
            diagonal(w),
            diagonal([2.0, 4.0]),
            diagonal([1.0, 2.0])
        )
    };
    // W = 1/2 and 4/4, q = -4/2 and 2 · 1/4.
    assert_eq!(folder.read("p.json", &text([0.5, 1.0], "[-4, 1]"), None).unwrap().q, [-2.0, 0.5]);
    for (w, f, say) in [
        ([0.5, 1.5], "[-4, 1]", "global: gives another W"),
        ([0.5, 1.0], "[-4, 2]", "global: gives another q"),
        ([0.5, 1.0], "[-4]", "global.f: must have 2 numbers"),
        ([0.5, 1.0], "[-4, NaN]", "global.f[1]"),
    ] {
        let e = folder.read("p.json", &text(w, f), None).unwrap_err();
        assert!(e.contains(say), "{e}");
    }
}

/// A damaged file is an error, whatever byte is wrong.
#[test]
fn damaged_hdf5_never_panics() {
    let folder = Folder::new("problems-damaged");
    let good = jointed(&[Set::Free, Set::Free]).to_fclib().unwrap();
    let path = folder.0.join("p.hdf5");
    let mut refused = 0;
    for k in (0..good.len()).step_by(3) {
        let mut bad = good.clone();
        bad[k] ^= 0xff;
        std::fs::write(&path, &bad).unwrap();
        refused += problem::read(&path, None).is_err() as usize;
    }
    assert!(refused > 200, "{refused} of {}", good.len());
    for k in (0..good.len()).step_by(61) {
        std::fs::write(&path, &good[..k]).unwrap();
        let e = problem::read(&path, None).unwrap_err().to_string();
        assert!(e.contains("p.hdf5"), "{e}");
    }
}

/// Three contacts alone with the numbers given on W's diagonal.
fn alone(diagonal: [f64; 3], q: f64) -> ContactProblem {
    let w = (0..9).map(|i| vec![(i as u32, diagonal[i / 3])]).collect();
    ContactProblem {
        name: "alone".into(),
        kind: Kind::Fc,
        dimension: 3,
        w: drystone_solve::problem::Csr::from_rows(9, w),
        q: [-1.0, 1.0, 3.0].repeat(3).iter().map(|x| q * x).collect(),
        mu: vec![0.1; 3],
        mu_r: Vec::new(),
        others: Vec::new(),
        guess: Vec::new(),
        solution: Vec::new(),
    }
}

#[test]
fn matrices_that_are_no_contact_problems_are_refused_by_name() {
    let folder = Folder::new("problems-indefinite");
    alone([1.0, -1.0, 1.0], 1.0).save(&folder.0).unwrap();
    let e = problem::read(folder.0.join("alone.json"), None).unwrap_err().to_string();
    assert!(e.contains("not positive semidefinite") && e.contains("row 3"), "{e}");
    let mut p = alone([0.0, 1.0, 1.0], 1.0);
    p.w = drystone_solve::problem::Csr::from_rows(
        9,
        (0..9).map(|i| vec![(i as u32, if i < 3 { 0.0 } else { 1.0 }), ((i as u32 + 3) % 9, 0.5)]).collect(),
    );
    p.save(&folder.0).unwrap();
    let e = problem::read(folder.0.join("alone.json"), None).unwrap_err().to_string();
    assert!(e.contains("not positive semidefinite") && e.contains("row 0"), "{e}");
}

/// A contact without any entry in W cannot do what q asks; one whose q asks for nothing is no trouble.
#[test]
fn contacts_that_cannot_move_are_named() {
    for model in [drystone_solve::FrictionLaw::Ccp, drystone_solve::FrictionLaw::Coulomb] {
        assert_eq!(alone([1.0; 3], 1.0).cannot_move(model), None);
        assert_eq!(alone([1.0, 0.0, 0.0], 1.0).cannot_move(model), Some(1));
        let mut p = alone([0.0, 1.0, 1.0], 1.0);
        p.q[0] = 1.0;
        assert_eq!(p.cannot_move(model), None);
        let c = drystone_solve::certificate::certificate(&alone([0.0; 3], 1.0).under(model), &[0.0; 9]);
        assert!(c.residual_max >= 0.9, "{c:?}");
    }
}

/// Numbers whose squares are none: the problem is solved in another unit, with the same digits.
#[test]
fn very_small_and_very_large_problems_are_solved_in_their_own_unit() {
    let solve = |mut p: ContactProblem| {
        let unit = p.normalise();
        let stop = Stop { tolerance: 1e-12 * p.scale(), iterations: 1000, ..Stop::default() };
        let s = make("auto").unwrap().solve(&p.ccp(), None, &stop).unwrap();
        assert_eq!(s.status, Status::Converged);
        (unit, s.gamma)
    };
    let (unit, plain) = solve(alone([1.0, 2.0, 3.0], 1.0));
    assert_eq!(unit, 1.0);
    for size in [1e-170, 1e160, 1e-300] {
        let (unit, gamma) = solve(alone([1.0, 2.0, 3.0], size));
        for (x, y) in gamma.iter().zip(&plain) {
            assert!((x * unit / size - y).abs() <= 1e-9, "{size}: {} against {y}", x * unit / size);
        }
    }
}
