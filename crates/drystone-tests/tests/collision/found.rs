//! What the fuzzer found, one of each kind, spelled out. Each failed before its fix.

use std::f64::consts::TAU;
use std::sync::Arc;

use drystone::collide::narrowphase::{Manifold, contacts};
use drystone::collide::query;
use drystone::random::Random;
use drystone::shape::{Hull, Pose, Shape};
use glam::{DQuat, DVec3};

use crate::checks::{Case, check_case};

fn holds(a: &Shape, pose_a: Pose, b: &Shape, pose_b: Pose, reach: f64) {
    let case = Case { a: a.clone(), pose_a, b: b.clone(), pose_b, reach };
    check_case(&case).unwrap_or_else(|error| panic!("{error}"));
}

fn hull(points: &[DVec3]) -> Shape {
    Shape::from(Hull::new(points).expect("points with volume"))
}

fn rounded(core: Shape, radius: f64) -> Shape {
    Shape::Rounded { core: Arc::new(core), radius }
}

/// A frustum with `sides` sides, radius 1 below and `top` above, from z = -1 to 1. Above, every side has its
/// own corner.
fn frustum(sides: u32, top: f64) -> Vec<DVec3> {
    let corner = |k: u32| {
        let (sin, cos) = (TAU * f64::from(k / 2) / f64::from(sides)).sin_cos();
        let (r, z) = if k.is_multiple_of(2) { (1.0, -1.0) } else { (top, 1.0) };
        DVec3::new(r * cos, r * sin, z)
    };
    (0..2 * sides).map(corner).collect()
}

/// Thin rods that touch in the middle and cross at 0.87°: at their ends they lie beside each other, ten radii
/// apart.
#[test]
fn slender_rods_that_cross() {
    let rod = Shape::Cylinder { radius: 0.001, half_length: 0.75 };
    let tilt = DQuat::from_rotation_x(0.015);
    for reach in [0.0, 1e-3, f64::INFINITY] {
        holds(&rod, Pose::IDENTITY, &rod, Pose::new(DVec3::X * -0.002, tilt), reach);
    }
}

/// Needles about a common centre: their sides face each other over a long stretch, but lie side by side on
/// little of it.
#[test]
fn needles_in_each_other() {
    let needle = rounded(Shape::Cone { radius: 1.0, height: 1000.0 }, 2.0);
    let tilt = Pose::new(DVec3::ZERO, DQuat::from_rotation_x(0.031));
    holds(&needle, tilt, &needle, Pose::IDENTITY, 0.0);
}

/// Different hulls with as many corners, as large, with the same first corner, in one pose: who is called A
/// must not matter.
#[test]
fn hulls_alike_in_one_pose() {
    let corner = |x: i32, y: i32, z: i32| DVec3::new(f64::from(x), f64::from(y), f64::from(z));
    let some = [
        corner(-1, -1, -1),
        corner(1, -1, 1),
        corner(1, -1, 0),
        corner(-1, 0, 1),
        corner(-1, -1, 1),
        corner(1, 0, 1),
        corner(-1, 0, 0),
        corner(1, 1, -1),
    ];
    let cube: Vec<DVec3> = (0..8).map(|k| corner(k % 2 * 2 - 1, k / 2 % 2 * 2 - 1, k / 4 * 2 - 1)).collect();
    holds(&hull(&some), Pose::IDENTITY, &hull(&cube), Pose::IDENTITY, 0.0);
    holds(&hull(&frustum(28, 0.5)), Pose::IDENTITY, &hull(&frustum(28, 1.0)), Pose::IDENTITY, 0.0);
}

/// One shape in two orientations about one centre: the orientations tell them apart.
#[test]
fn one_shape_in_two_orientations() {
    let turns = [DQuat::from_rotation_x(0.3), DQuat::from_rotation_z(1.0), DQuat::from_rotation_y(2.0)];
    let shapes = [
        Shape::Box { half: DVec3::new(1.0, 0.5, 0.25) },
        Shape::Capsule { radius: 0.5, half_length: 1.0 },
        Shape::Cylinder { radius: 0.5, half_length: 1.0 },
        Shape::Cone { radius: 0.5, height: 1.0 },
        Shape::Ellipsoid { half: DVec3::new(1.0, 0.5, 0.25) },
        hull(&frustum(5, 0.5)),
        rounded(Shape::Box { half: DVec3::splat(0.5) }, 0.1),
    ];
    for shape in &shapes {
        for turn in turns {
            holds(shape, Pose::IDENTITY, shape, Pose::new(DVec3::ZERO, turn), 0.1);
        }
    }
}

/// Faces of 2 km that are flat up to a tenth of a micrometre, a metre apart: directions count that the
/// squares of distances cannot tell apart.
#[test]
fn large_faces_all_but_parallel() {
    let box_of = |noise: [[f64; 3]; 8]| {
        let corner = |k: usize| {
            let side = |bit: usize| if k >> bit & 1 == 0 { 0.0 } else { 2000.0 };
            DVec3::new(side(0), side(1), side(2)) + DVec3::from(noise[k]) * 1e-8
        };
        rounded(hull(&(0..8).map(corner).collect::<Vec<_>>()), 1.317_546_349_279)
    };
    let shape = box_of([
        [3.326, 7.875, -5.188],
        [-3.233, -0.368, 9.456],
        [1.848, 8.462, 4.999],
        [-7.855, -2.214, 5.779],
        [7.052, -5.607, 4.338],
        [-3.578, 7.402, 5.693],
        [9.929, 1.041, 0.576],
        [5.875, -6.711, -4.522],
    ]);
    for k in 0..20 {
        let away = 2002.635 + 1e-5 * f64::from(k);
        let turn = DQuat::from_rotation_x(-TAU / 4.0) * DQuat::from_rotation_y(2e-11 * f64::from(k));
        holds(&shape, Pose::IDENTITY, &shape, Pose::new(DVec3::Y * -away, turn), 0.0);
    }
}

/// Two frusta head to tail in one place: more ways out that are all but equally long than the expanding
/// polytope has room for.
#[test]
fn many_ways_out() {
    let mut random = Random::new(9);
    let mut noisy = |p: &DVec3| 1000.0 * (*p + 1e-10 * random.unit_vector());
    let shape = hull(&frustum(33, 0.5).iter().map(&mut noisy).collect::<Vec<_>>());
    let upside_down = Pose::new(DVec3::ZERO, DQuat::from_rotation_x(TAU / 2.0));
    holds(&shape, upside_down, &shape, Pose::IDENTITY, 0.0);
}

/// A pyramid whose tip is a tuft of corners 10⁻¹⁰ apart. Faces merged there are uneven as seen from one of
/// them to the next: a walk along edges to the furthest corner could end on the tip.
#[test]
fn a_tip_of_many_corners() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut noisy = |p: &DVec3| *p * DVec3::new(2.0, 2.0, 1.0) + 1e-10 * random.unit_vector();
        let pyramid = hull(&frustum(39, 0.0).iter().map(&mut noisy).collect::<Vec<_>>());
        let small = Shape::Cone { radius: 0.002, height: 0.001 };
        holds(&pyramid, Pose::IDENTITY, &small, Pose::IDENTITY, 0.0);
    }
}

/// Boxes that touch along edges 5·10⁻¹¹ off parallel: where along the edges is a matter of rounding.
#[test]
fn edges_that_touch_all_but_parallel() {
    let shape = Shape::Box { half: DVec3::new(2.0, 1.0, 1.0) };
    let turn_a = DQuat::from_xyzw(0.0, 0.707_106_781_160_849_2, 0.0, 0.707_106_781_212_245_8);
    let turn_b = DQuat::from_rotation_x(TAU / 4.0);
    let place = DVec3::new(3.000_000_000_145_371_3, -2.0, -2.0);
    holds(&shape, Pose::new(DVec3::ZERO, turn_a), &shape, Pose::new(place, turn_b), 0.0);
}

/// Upright boxes whose sides meet in one edge, one a little higher: all four edges around a side are as far
/// along the normal, and only two of them meet.
#[test]
fn upright_boxes_corner_to_corner() {
    let half = DVec3::new(0.148_134_733_629_939_95, 0.148_134_733_629_939_95, 0.217_474_944_445_210_62);
    let shape = Shape::Box { half };
    let turn = DQuat::from_xyzw(0.0, 0.0, 0.923_879_532_511_286_7, 0.382_683_432_365_089_84);
    let place = DVec3::new(0.357_628_882_987_926_83, 0.148_134_733_629_939_92, 0.434_789_099_297_616_7);
    holds(&shape, Pose::IDENTITY, &shape, Pose::new(place, turn), 0.0);
}

/// A coin under the rim of a wide, slightly tilted disc: along the normal the disc is seen as an ellipse,
/// smaller than round by more than the coin.
#[test]
fn coin_at_the_rim_of_a_tilted_disc() {
    let cone = Shape::Cone { radius: 1000.0, height: 500.0 };
    let tilt = DQuat::from_xyzw(
        -0.008_673_682_403_684_418,
        -0.004_048_632_625_558_074,
        0.027_854_612_053_207_526,
        0.999_566_154_086_255_8,
    );
    let coin = Shape::Cylinder { radius: 0.035_534_673_947_044_064, half_length: 0.008_883_668_486_761_016 };
    let coin = rounded(coin, 0.017_767_336_973_522_032);
    let place = Pose::at(DVec3::new(-997.367_491_724_901_2, -57.895_923_354_080_9, -132.596_439_451_921));
    holds(&cone, Pose::new(DVec3::ZERO, tilt), &coin, place, 0.007_609_090_417_255_257);
}

/// A thin ellipsoid whose rim touches the rim of a flat circular face, to the last digit.
#[test]
fn rim_on_rim() {
    let drum = rounded(Shape::Cylinder { radius: 1.0, half_length: 1.0 }, 2.0);
    let turn = DQuat::from_xyzw(
        0.353_553_390_593_273_8,
        0.146_446_609_406_726_24,
        0.353_553_390_593_273_8,
        0.853_553_390_593_273_7,
    );
    let sheet = Shape::Ellipsoid { half: DVec3::new(1.0, 0.642_700_846_875_715_3, 0.001) };
    let place = DVec3::new(-1.986_506_104_604_094_2, 0.928_245_139_037_040_8, -3.279_973_556_110_700_6);
    let upright = DQuat::from_rotation_y(TAU / 4.0);
    holds(&drum, Pose::new(DVec3::ZERO, turn), &sheet, Pose::new(place, upright), f64::INFINITY);
}

/// A box and a cone that touch: whether the last digit says that they overlap must not depend on how far one
/// looks.
#[test]
fn touching_to_the_last_digit() {
    let (slab, cone) =
        (Shape::Box { half: DVec3::new(1.0, 1.0, 0.5) }, Shape::Cone { radius: 0.5, height: 1.0 });
    let turn = DQuat::from_xyzw(0.0, 0.0, -2.913_126_592_772_496_8e-8, 0.999_999_999_999_999_6);
    let (above, lying) =
        (Pose::new(DVec3::Z, turn), Pose::new(DVec3::ZERO, DQuat::from_rotation_x(-TAU / 4.0)));
    let mut found = Manifold::default();
    contacts(&slab, &above, &cone, &lying, 0.0, &mut found);
    let touch = query::overlap(&slab, &above, &cone, &lying);
    assert_eq!(touch, !found.points().is_empty(), "{:?}", found.points());
}

/// Crossed blades of 1 km that touch: many edges are as far along the normal, most of them nowhere near.
#[test]
fn crossed_blades() {
    let blade = Shape::Box { half: DVec3::new(500.0, 0.001_381_796_338_456_604_1, 1000.0) };
    let turn_a = DQuat::from_rotation_x(TAU / 8.0);
    let turn_b = DQuat::from_xyzw(
        -0.653_281_482_438_188_2,
        0.270_598_050_073_098_5,
        0.270_598_050_073_098_45,
        0.653_281_482_438_188_3,
    );
    let place = Pose::new(DVec3::X * 853.554_367_670_835, turn_b);
    holds(&blade, Pose::new(DVec3::ZERO, turn_a), &blade, place, 0.0);
}

/// Boxes of which one stands a little tilted over the other, turned by 45° and not at all: of the corners of
/// the patch, one of the four that are left speaks for the deepest.
#[test]
fn deepest_corner_of_a_patch() {
    let shape = Shape::Box { half: DVec3::new(0.5, 1.0, 0.5) };
    let turn = DQuat::from_xyzw(
        1.252_048_443_475_457_4e-5,
        -5.186_154_460_356_58e-6,
        0.382_683_432_329_948_2,
        0.923_879_532_426_447_5,
    );
    let place = DVec3::new(0.0, -2.710_488_401_956_861_7e-5, 1.000_027_103_598_403_6);
    holds(&shape, Pose::new(DVec3::ZERO, turn), &shape, Pose::at(place), 0.0);
    let shape = Shape::Box { half: DVec3::new(0.5, 2.0, 1.0) };
    let tilt = -0.000_110_999_053_548_703_38;
    let turn = DQuat::from_xyzw(0.0, tilt, tilt, 0.999_999_987_679_210_1);
    holds(&shape, Pose::new(DVec3::ZERO, turn), &shape, Pose::at(DVec3::Z * 2.000_111_023_693_761), 0.0);
}

/// Drums one beyond the other that overlap by a hair's breadth of their length: the normal at the ends is
/// that of their rims.
#[test]
fn drums_rim_to_rim() {
    let drum = Shape::Cylinder { radius: 2.0, half_length: 1.0 };
    let turn = DQuat::from_xyzw(0.0, -0.003_671_230_969_148_034, 0.0, 0.999_993_261_008_878_5);
    let place = DVec3::new(-4.014_360_765_027_416, -4.0, -2.044_188_064_406_637);
    holds(&drum, Pose::new(DVec3::ZERO, turn), &drum, Pose::at(place), 0.0);
}

/// Caps, a base and a side tilted by less than the root of rounding, of which each lies over a part of the
/// other: the best normal is between theirs.
#[test]
fn faces_off_parallel_by_less_than_a_root_of_rounding() {
    let disc = Shape::Cylinder { radius: 2.0, half_length: 0.510_560_769_054_703_6 };
    let place = DVec3::new(-2.225_477_701_373_837, -2.226_157_080_966_716, -2.226_157_080_966_716);
    let tilt = DQuat::from_xyzw(1.007_228_690_094_166_9e-8, 0.0, 0.0, 1.0);
    holds(&disc, Pose::IDENTITY, &disc, Pose::new(place, tilt), 0.0);

    let disc = Shape::Cylinder { radius: 1.0, half_length: 0.448_734_264_133_669_07 };
    let turn = DQuat::from_xyzw(0.0, 0.0, -2.756_029_146_260_312e-10, 1.0);
    let place = DVec3::new(-1.240_315_531_813_373, -1.242_628_810_441_187_6, -1.242_628_810_441_187_6);
    let tilt = DQuat::from_xyzw(-3.813_492_929_511_725e-9, 0.0, 1.0, 6.123_233_995_736_766e-17);
    holds(&disc, Pose::new(DVec3::ZERO, turn), &disc, Pose::new(place, tilt), 0.0);

    let drum = Shape::Cylinder { radius: 805.839_533_382_400_1, half_length: 805.839_533_382_400_1 };
    let tilt = DQuat::from_xyzw(0.0, -1.006_839_484_354_734_7e-8, 0.0, 1.0);
    let place = DVec3::new(-456.621_589_098_480_9, -1_468.560_485_705_314_7, -1_679.237_884_618_695_7);
    holds(&drum, Pose::new(DVec3::ZERO, tilt), &drum, Pose::at(place), 0.0);

    let disc = Shape::Cylinder { radius: 1.0, half_length: 0.5 };
    let cube = Shape::Box { half: DVec3::ONE };
    let turn = DQuat::from_xyzw(1.0, 0.0, -1.157_912_884_994_254_7e-9, 6.123_233_995_736_766e-17);
    let place = DVec3::splat(-1.638_071_187_457_699);
    holds(&disc, Pose::IDENTITY, &cube, Pose::new(place, turn), 0.0);

    let cone = Shape::Cone { radius: 1.0, height: 1.0 };
    let slab = Shape::Box { half: DVec3::new(1.0, 1.0, 0.5) };
    let tilt_cone = DQuat::from_xyzw(-1.078_542_848_358_375e-8, 0.0, 0.0, 0.999_999_999_999_999_9);
    let tilt_slab = DQuat::from_xyzw(0.0, 9.994_379_679_496_64e-13, 0.0, 1.0);
    holds(&cone, Pose::new(DVec3::ZERO, tilt_cone), &slab, Pose::new(DVec3::splat(-1.0), tilt_slab), 0.0);
}

/// Boxes over each other along a sliver, between edges that cross at 10⁻⁷: where they cross is the least
/// distance.
#[test]
fn edges_that_cross_all_but_parallel() {
    let shape =
        Shape::Box { half: DVec3::new(48.571_479_751_064_52, 24.285_739_875_532_26, 12.142_869_937_766_13) };
    let tilt = DQuat::from_xyzw(
        -1.187_017_893_772_925_6e-7,
        -1.499_728_494_974_161e-8,
        5.972_361_409_821_69e-8,
        0.999_999_999_999_991,
    );
    let place = DVec3::new(-48.571_479_751_064_52, -48.571_479_751_064_52, 24.285_747_097_933_48);
    let (a, b) = (
        Pose::new(DVec3::ZERO, tilt),
        Pose::new(place, DQuat::from_xyzw(-1.0, 0.0, 0.0, 2.220_446_049_250_313e-16)),
    );
    holds(&shape, a, &shape, b, 0.0);
    // From all 729 sets of constraints of the quadratic programme, with 50 digits.
    let distance = query::distance(&shape, &a, &shape, &b);
    assert!((distance - 2.115_107_428_4e-6).abs() < 1e-12, "{distance}");
}

/// An edge of 2 km against a corner, to the last digit: of the patch nothing is left but a sliver off the
/// corner.
#[test]
fn edge_on_a_corner() {
    let cube = Shape::Box { half: DVec3::splat(1000.0) };
    let turn = DQuat::from_xyzw(
        -4.883_946_522_910_177e-9,
        0.382_683_432_365_089_8,
        -2.022_996_887_694_315_7e-9,
        0.923_879_532_511_286_7,
    );
    let place = DVec3::new(-2_414.213_562_373_095, -2000.0, -999.999_989_427_308_6);
    holds(&cube, Pose::new(DVec3::ZERO, turn), &cube, Pose::at(place), f64::INFINITY);
}

/// A grain of a millimetre in the middle of a box of a kilometre: its point of contact is one of its own.
#[test]
fn a_grain_deep_in_a_box() {
    let grain = hull(&[
        DVec3::ZERO,
        DVec3::new(0.001, -0.001, 0.0),
        DVec3::new(0.001, 0.0, 0.001),
        DVec3::new(-0.001, 0.001, -0.001),
        DVec3::new(0.0, 0.001, 0.001),
    ]);
    let tilt = DQuat::from_xyzw(9.462_650_631_478_045e-11, 0.0, 0.0, 1.0);
    let cube = Shape::Box { half: DVec3::splat(1000.0) };
    holds(&grain, Pose::new(DVec3::ZERO, tilt), &cube, Pose::IDENTITY, 0.0);
}
