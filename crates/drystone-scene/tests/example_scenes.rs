//! The scenes that people start from load without a note, and take their first steps as they should.

use std::path::{Path, PathBuf};

use drystone_scene::{check, load};

/// Steps of each.
const STEPS: usize = 25;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenes")
}

/// All scenes of the folder; what others include is none.
fn scenes() -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder()).unwrap().map(|f| f.unwrap().path());
    let mut all: Vec<PathBuf> =
        files.filter(|f| f.extension().is_some_and(|e| e == "toml") && !f.ends_with("quake.toml")).collect();
    all.sort();
    all
}

#[test]
fn they_are_as_many_as_the_list_says() {
    let list = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let all = scenes();
    assert!(all.len() >= 12);
    for path in &all {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(list.contains(&format!("[{name}]({name})")), "{name} is not in README.md");
    }
    assert_eq!(list.matches(".toml](").count(), all.len());
}

#[test]
fn they_are_read_without_a_note() {
    for path in scenes() {
        let said = check(&path).unwrap_or_else(|e| panic!("{e}"));
        assert!(!said.contains("note:"), "{said}");
        assert!(!drystone_scene::parameters(&path.to_string_lossy(), &[]).unwrap().is_empty());
    }
}

#[test]
fn they_take_their_first_steps() {
    for path in scenes() {
        let shown = path.display();
        // Enough of each kind, and no more.
        let few: Vec<(String, String)> = [("n", "60"), ("rows", "4"), ("height", "0.3"), ("rate", "20")]
            .iter()
            .filter(|(k, _)| {
                let all = drystone_scene::parameters(&path.to_string_lossy(), &[]).unwrap();
                all.iter().any(|p| p.name == *k && p.range.is_none_or(|[_, most]| most >= 60.0 || *k != "n"))
            })
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .collect();
        let mut scene = load(&path.to_string_lossy(), &few).unwrap_or_else(|e| panic!("{shown}: {e}"));
        let mut world = scene.world(scene.settings.clone()).unwrap_or_else(|e| panic!("{shown}: {e}"));
        assert!(drystone_scene::overlaps(&mut world).is_none(), "{shown}");
        drystone_scene::assemble(&mut world, &path.to_string_lossy()).unwrap();
        for _ in 0..STEPS {
            let report = world.step().unwrap_or_else(|e| panic!("{shown}: {e}"));
            scene.probe.observe(&world);
            assert!(
                report.certificate.residual_max <= 1.0001 * scene.settings.tolerance,
                "{shown}: step {} is not solved: {:e} m/s",
                report.step,
                report.certificate.residual_max
            );
            assert!(
                report.penetration_max < 0.01,
                "{shown}: step {}: {} m",
                report.step,
                report.penetration_max
            );
        }
        assert!(world.state().position.iter().all(|x| x.is_finite()), "{shown}");
        assert!(scene.probe.stop().is_none(), "{shown}: {:?}", scene.probe.stop());
    }
}

/// The files of examples/gallery are the program's own scenes: masses, places and ways of all that moves.
#[test]
fn files_of_the_gallery_are_its_scenes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gallery");
    let list = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let files = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    assert!(files.len() >= 8);
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(list.contains(&format!("[{name}.toml]({name}.toml)")), "{name}");
        assert!(!check(&path).unwrap_or_else(|e| panic!("{e}")).contains("note:"), "{name}");
        let [mut own, mut file] = [name.as_str(), &path.to_string_lossy()].map(|what| {
            let scene = load(what, &[]).unwrap();
            scene.world(scene.settings.clone()).unwrap()
        });
        assert_eq!(own.settings(), file.settings(), "{name}");
        let mut moving: Vec<[usize; 2]> = own.model().dynamic().map(|i| [i, i]).collect();
        assert!(moving.iter().map(|i| i[0]).eq(file.model().dynamic()), "{name}");
        if name == "spider" {
            // The program makes its parts leg by leg, the file femora before shins.
            for [i, j] in &mut moving {
                let wanted = &own.model().bodies[*i].name;
                *j = file.model().bodies.iter().position(|b| b.name == *wanted).unwrap();
            }
        }
        for step in 0..=10 {
            for &[i, j] in &moving {
                let [a, b] = [(&own, i), (&file, j)]
                    .map(|(w, k)| (w.model().bodies[k].mass.mass, w.state().position[k]));
                assert!((a.0 - b.0).abs() <= 1e-9 * a.0, "{name}: body {i}: {} and {} kg", a.0, b.0);
                assert!(a.1.distance(b.1) < 1e-6, "{name}: body {i} after {step} steps: {} and {}", a.1, b.1);
            }
            own.step().unwrap();
            file.step().unwrap();
        }
    }
}
