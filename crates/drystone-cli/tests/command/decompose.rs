//! `drystone decompose`: what it prints, keeps, writes and draws, and what it leaves behind when it is cut
//! short.

use std::process::Stdio;
use std::time::Duration;

use crate::scratch::{Scratch, holds};

const BRACKET: &str = include_str!("../../../drystone-scene/tests/scenes/bracket.obj");
const RING: &str = include_str!("../../../drystone-scene/tests/scenes/ring.obj");

fn names(scratch: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(scratch.at("")).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_bracket_is_two_boxes() {
    let scratch = Scratch::new("decompose-bracket");
    scratch.write("bracket.obj", BRACKET);
    let first = scratch.good("decompose bracket.obj --scale 0.1 --out parts.obj --picture deep/parts.png");
    holds(
        &first,
        &[
            "bracket.obj: 12 vertices, 20 triangles, volume 4.000000e-3 m³",
            "2 parts, volume 4.000000e-3 m³, volume error +0.000 %",
            "found in",
            "kept in bracket.parts-",
        ],
    );
    let parts = scratch.read("parts.obj");
    assert_eq!(parts.matches("\no part_").count(), 2);
    assert_eq!(parts.lines().filter(|l| l.starts_with("v ")).count(), 16);
    let png = std::fs::read(scratch.at("deep/parts.png")).unwrap();
    let decoder = png::Decoder::new(std::io::Cursor::new(png));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    // Two parts, two colours: pixels that are clearly blue, and others that are clearly red.
    let strong =
        |a: usize, b: usize| pixels.chunks_exact(3).filter(|p| p[a] > 70 && p[a] / 3 * 2 > p[b]).count();
    assert!(strong(2, 0) > 2000 && strong(0, 2) > 2000, "{} {}", strong(2, 0), strong(0, 2));

    let again = scratch.good("decompose bracket.obj --scale 0.1");
    holds(&again, &["read from bracket.parts-", "2 parts, volume 4.000000e-3 m³"]);
    assert_eq!(names(&scratch).len(), 4, "{:?}", names(&scratch));
}

#[test]
fn parts_and_threshold_say_when_to_stop() {
    let scratch = Scratch::new("decompose-ring");
    scratch.write("ring.obj", RING);
    let coarse = scratch.good("decompose ring.obj --parts 4 --threshold 0.001");
    holds(&coarse, &["4 parts", "note: the threshold of 0.10 % needs more parts"]);
    let fine = scratch.good("decompose ring.obj --parts 24 --threshold 0.05");
    assert!(!fine.contains("note:"), "{fine}");
    let stretched = scratch.good("decompose ring.obj --parts 1 --scale 1,2,-0.5");
    holds(&stretched, &["1 parts"]);
    let volume = |text: &str| -> f64 {
        text.split("volume ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    assert!((volume(&stretched) / volume(&fine) - 1.0).abs() < 1e-5);
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let scratch = Scratch::new("decompose-refused");
    scratch.write("ring.obj", RING);
    holds(&scratch.bad("decompose none.obj"), &["none.obj: cannot be read"]);
    scratch.write("bad.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n");
    holds(&scratch.bad("decompose bad.obj"), &["bad.obj:4: there is no vertex 9"]);
    scratch.write("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    holds(&scratch.bad("decompose open.obj"), &["open.obj: triangle 1: the surface is not closed"]);
    holds(&scratch.bad("decompose ring.obj --parts 0"), &["parts must be from 1 to 256, got 0"]);
    holds(&scratch.bad("decompose ring.obj --threshold -1"), &["threshold must be finite and not negative"]);
    holds(&scratch.bad("decompose ring.obj --scale 1,2"), &["--scale must be one number or three"]);
    holds(&scratch.bad("decompose ring.obj --scale 0"), &["--scale"]);
    std::fs::create_dir(scratch.at("folder")).unwrap();
    holds(&scratch.bad("decompose ring.obj --out folder"), &["folder"]);
    // Nothing was cut before it was refused.
    assert_eq!(names(&scratch), ["bad.obj", "folder", "open.obj", "ring.obj"]);
}

/// Cut short at any moment, no file is there that would be taken for parts.
#[cfg(unix)]
#[test]
fn cancelling_leaves_no_half_of_anything() {
    let scratch = Scratch::new("decompose-cancel");
    scratch.write("ring.obj", RING);
    let whole = scratch.good("decompose ring.obj --parts 24 --threshold 0");
    let kept = names(&scratch).into_iter().find(|n| n.contains(".parts-")).unwrap();
    let text = scratch.read(&kept);
    for wait in [0, 3, 10, 30, 100, 300] {
        std::fs::remove_file(scratch.at(&kept)).ok();
        let mut command = scratch.command("decompose ring.obj --parts 24 --threshold 0");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        // SAFETY: a signal to a child of ours that has not been waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        child.wait().unwrap();
        let there = std::fs::read_to_string(scratch.at(&kept)).ok();
        assert!(there.is_none_or(|t| t == text), "half a file after {wait} ms");
    }
    let last = |t: &str| t.lines().find(|l| l.contains("volume error")).unwrap().to_string();
    assert_eq!(last(&scratch.good("decompose ring.obj --parts 24 --threshold 0")), last(&whole));
}
