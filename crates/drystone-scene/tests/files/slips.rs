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
