//! What `check` and `load` say of slips: loops where there is no list, and hulls in millimetres.

use std::path::PathBuf;

const BALL: &str =
    "[settings]\nT = 1\n[[body]]\nname = \"b\"\nmass = 1\nmu = 0\nshape = { type = \"sphere\", r = 0.1 }\n";

fn file(name: &str, text: &str) -> PathBuf {
    let file = std::env::temp_dir().join(format!("drystone-slips-{}-{name}.toml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    file
}

fn check(name: &str, text: &str) -> Result<String, String> {
    let file = file(name, text);
    let said = drystone_scene::check(&file).map_err(|e| e.to_string());
    std::fs::remove_file(&file).unwrap();
    said
}

#[test]
fn a_loop_where_there_is_no_list_says_where_one_is() {
    for (text, words) in [
        (BALL.replace("[settings]\n", "[settings]\nfor = { i = 3 }\n"), "settings.for: 'for' makes copies"),
        (
            BALL.replace("[settings]\n", "for = { i = 3 }\n[settings]\n"),
            "for: 'for' makes copies of a table in a list",
        ),
        (BALL.replace("[[body]]\n", "[body]\nfor = { i = 3 }\n"), "make it a table of a list: [[body]]"),
        (BALL.replace("r = 0.1", "r = 0.1, for = { i = 3 }"), "body[0].shape.for: 'for' makes copies"),
        (BALL.replace("r = 0.1", "r = 0.1, if = \"1 > 2\""), "make it a list of one: shape = [{ ... }]"),
    ] {
        let said = check("loop", &text).unwrap_err();
        assert!(said.contains(words) && said.contains(".toml:"), "'{words}' is not in: {said}");
    }
    // A list of one is one.
    let text =
        BALL.replace("{ type = \"sphere\", r = 0.1 }", "[{ for = { i = 2 }, type = \"sphere\", r = 0.1 }]");
    assert!(check("list", &text).is_ok());
}

#[test]
fn a_hull_in_millimetres_is_noted() {
    let hull = |size: f64, more: &str| {
        let points = format!("[[0, 0, 0], [{size}, 0, 0], [0, {size}, 0], [0, 0, {size}]]");
        BALL.replace(
            "{ type = \"sphere\", r = 0.1 }",
            &format!("{{ type = \"hull\", points = {points}{more} }}"),
        )
    };
    let note = "note: a hull of 4 points is 80 m long; if they are in millimetres";
    let said = check("hull", &hull(80.0, "")).unwrap();
    assert_eq!(said.matches(note).count(), 1, "{said}");
    assert!(!check("hull", &hull(0.08, "")).unwrap().contains("millimetres"));
    // Many of one kind are told once.
    let many =
        hull(80.0, "").replace("[[body]]\n", "[[body]]\nfor = { i = 3 }\nposition = [\"= 100 * i\", 0, 0]\n");
    let said = check("hulls", &many).unwrap();
    assert_eq!(said.matches(note).count(), 1, "{said}");
}

#[test]
fn all_that_is_wrong_with_includes_and_settings_is_told_at_once() {
    let text = "include = [\"nope.toml\", \"nope2.toml\"]\n[settings]\nT = 1\nh = -1\n";
    for text in [text.to_string(), text.to_string() + &BALL[BALL.find("[[body]]").unwrap()..]] {
        let said = check("includes", &text).unwrap_err();
        for words in [
            ":1:12: include[0]: ",
            "nope.toml: ",
            ":1:25: include[1]: ",
            "nope2.toml: ",
            ":4:5: settings.h: ",
        ] {
            assert!(said.contains(words), "'{words}' is not in: {said}");
        }
        assert_eq!(said.lines().count(), 3, "{said}");
    }
}

#[test]
fn a_loop_that_leads_away_is_an_error_and_the_only_one() {
    let with = |loops: &str| {
        let more = format!("[[body]]\nfor = {{ {loops} }}\nposition = [\"= 3 * i\", 0, \"= i\"]\n");
        BALL.replace("[[body]]\n", &more).replace("\"b\"", "\"b ${i}\"")
    };
    for (loops, words) in [
        ("i = { from = 0, to = 1, step = -1 }", "from 0 to 1 in steps of -1 leads away"),
        ("i = { from = 5, to = 1 }", "from 5 to 1 in steps of 1 leads away"),
        ("i = { from = 0, to = 1, step = 0 }", "the step must not be 0"),
        ("i = { from = 0, to = 1, stop = 1 }", "stop"),
        ("i = -3", "must be a whole number"),
        ("i = \"nonsense\"", "there is no 'nonsense'"),
    ] {
        let said = check("away", &with(loops)).unwrap_err();
        assert!(said.contains(words), "'{words}' is not in: {said}");
        assert!(said.lines().count() == 1 && !said.contains("no 'i'"), "{said}");
    }
    assert!(check("way", &with("i = { from = 1, to = 0, step = -1 }")).is_ok());
    // A formula may come out so that there is none.
    let none = with("k = 1, i = { from = 1, to = \"k - 1\" }") + &BALL[BALL.find("[[body]]").unwrap()..];
    assert!(check("none", &none).is_ok(), "{:?}", check("none", &none));
}

#[test]
fn a_long_time_is_short_to_read() {
    let said = check("long", &BALL.replace("T = 1\n", "T = 1e300\n")).unwrap();
    assert!(said.contains("h = 0.01 s, T = 1e300 s") || said.contains("T = 1e300 s"), "{said}");
    assert!(!said.contains("00000000"), "{said}");
}

#[test]
fn a_name_is_told_once() {
    let file = file("once", &format!("[parameters]\nmu = 0.3\n{}", BALL.replace("mu = 0", "mu = \"= mu\"")));
    let set = [("muu".to_string(), "1".to_string())];
    let said = drystone_scene::load(&file.to_string_lossy(), &set).err().unwrap().to_string();
    std::fs::remove_file(&file).unwrap();
    assert!(said.contains("(valid: mu, h, T, seed)"), "{said}");
}
