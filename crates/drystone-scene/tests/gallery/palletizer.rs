//! Boxes arrive, are pushed onto the pallet and stay there.

use crate::common::{number, run, scene};

const SMALL: [(&str, &str); 4] = [("columns", "2"), ("rows", "2"), ("layers", "2"), ("T", "22")];

#[test]
fn boxes_are_stacked_where_they_belong() {
    let (world, results) = run(scene("palletizer", &SMALL));
    assert_eq!(
        (&results["boxes"], &results["pushed"], &results["placed"]),
        (&8.into(), &8.into(), &8.into())
    );
    assert_eq!(results["standing"], true, "{results:?}");
    assert!(number(&results, "largest_overlap_m") < 1e-4, "{results:?}");
    // The second layer lies on the first, and that on the pallet, which has gone down by one box.
    let z = |i: usize| world.state().position[i].z;
    for i in 0..4 {
        assert!((z(i) - (0.125 - 0.25 - 0.004)).abs() < 1e-3, "{}", z(i));
        assert!((z(i + 4) - (0.125 - 0.004)).abs() < 1e-3, "{}", z(i + 4));
    }
    let speed = (0..8).map(|i| world.state().velocity[i].length()).fold(0.0, f64::max);
    assert!(speed < 1e-3, "{speed}");
}

#[test]
fn half_way_through_half_of_them_are_placed() {
    let (_, results) = run(scene("palletizer", &[&SMALL[..], &[("T", "9.9")]].concat()));
    assert_eq!((&results["pushed"], &results["placed"]), (&4.into(), &4.into()), "{results:?}");
}

#[test]
fn smooth_boxes_are_not_brought() {
    let (_, results) = run(scene("palletizer", &[&SMALL[..], &[("mu", "0"), ("T", "6")]].concat()));
    assert_eq!((&results["placed"], &results["standing"]), (&0.into(), &false.into()), "{results:?}");
}
