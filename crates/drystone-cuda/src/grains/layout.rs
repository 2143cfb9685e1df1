//! The structures that kernels and host share: `kernels/grains.h` has the same.

/// In `other`: the number of a fixed shape, not of a grain.
pub(crate) const FIXED: u32 = 1 << 31;
/// Numbers of a fixed shape.
pub(crate) const FIXED_NUMBERS: usize = 26;
/// Where the velocity of a shape that is led begins in them, its angular velocity, and the mark that it is.
pub(crate) const FIXED_SPEED: usize = 18;
pub(crate) const FIXED_SPIN: usize = 21;
pub(crate) const FIXED_LED: usize = 24;
/// Kinds of fixed shapes.
pub(crate) mod shape {
    pub const SPHERE: f64 = 0.0;
    pub const HALF_SPACE: f64 = 1.0;
    pub const BOX: f64 = 2.0;
    pub const CAPSULE: f64 = 3.0;
}

/// Numbers of a step's report, by place.
pub(crate) mod told {
    pub const RESIDUAL: usize = 0;
    pub const VIOLATION: usize = 1;
    pub const BACKWARD: usize = 2;
    pub const OVERLAP: usize = 3;
    pub const SQUARES: usize = 4;
    pub const COMPLEMENTARITY: usize = 5;
    pub const MULTIPLIERS: usize = 6;
    pub const BIAS: usize = 7;
    pub const SUPPORT: usize = 8;
    pub const TOUCHING: usize = 9;
    pub const DEPTH: usize = 10;
    pub const RHS: usize = 11;
    pub const KINETIC: usize = 12;
    pub const WRONG: usize = 13;
    pub const WORST: usize = 14;
    pub const UNRESOLVED: usize = 15;
    pub const DEEPEST: usize = 16;
    pub const WAY: usize = 17;
    pub const CUT: usize = 18;
    pub const CONTACTS: usize = 19;
    /// How many there are.
    pub const ALL: usize = 20;
}

/// Colours there are.
pub(crate) const COLOURS: usize = 64;

/// Words of the grid.
pub(crate) const GRID: usize = 6;

/// The argument of the grains' kernels: device addresses, numbers and counts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GrainArgs {
    pub control: u64,
    pub grid: u64,
    pub told: u64,
    pub place: u64,
    pub place_after: u64,
    pub turn: u64,
    pub turn_after: u64,
    pub motion: u64,
    pub motion_after: u64,
    pub free: u64,
    pub mass: u64,
    pub surface: u64,
    pub mu: u64,
    pub fixed: u64,
    pub fixed_before: u64,
    pub centres: u64,
    pub bucket: u64,
    pub cell_count: u64,
    pub cell_first: u64,
    pub cell_cursor: u64,
    pub in_cells: u64,
    pub counts: u64,
    pub first: u64,
    pub scan_from: u64,
    pub scan_to: u64,
    pub scan_sums: u64,
    pub owner: u64,
    pub other: u64,
    pub touch: u64,
    pub soft: u64,
    pub low: u64,
    pub colour: u64,
    pub slot: u64,
    pub sides: u64,
    pub colours: u64,
    pub tally: u64,
    pub tally_first: u64,
    pub taken: u64,
    pub top: u64,
    pub seen: u64,
    pub old_first: u64,
    pub old_other: u64,
    pub old_gamma: u64,
    pub gamma: u64,
    pub row: u64,
    pub rub: u64,
    pub drift: u64,
    pub places: u64,
    pub velocity: u64,
    pub ahead: u64,
    pub start: u64,
    pub light: u64,
    pub contact_sums: u64,
    pub grain_sums: u64,
    pub stride: u64,
    pub h: f64,
    pub gx: f64,
    pub gy: f64,
    pub gz: f64,
    pub base: f64,
    pub share: f64,
    pub more: f64,
    pub most_mu: f64,
    pub kappa: f64,
    pub reach: f64,
    pub resolved: f64,
    pub tolerance: f64,
    pub compliance: f64,
    pub leash: f64,
    pub grains: u32,
    pub fixed_count: u32,
    pub surfaces: u32,
    pub buckets: u32,
    pub contacts: u32,
    pub scan_count: u32,
    pub moving: u32,
    pub positions: u32,
    pub old_contacts: u32,
    pub best: u32,
    pub run: u32,
    pub led: u32,
    pub again: u32,
    pub from: u32,
    pub to: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::{fields, members};

    const SOURCE: &str = include_str!("../../kernels/grains.h");

    #[test]
    fn both_languages_have_the_same_members_in_the_same_order() {
        assert_eq!(fields(&format!("{:?}", GrainArgs::default())), members(SOURCE, "grains"));
        assert_eq!(size_of::<GrainArgs>(), 55 * 8 + 14 * 8 + 15 * 4 + 4);
    }

    #[test]
    fn numbers_of_a_report_are_at_the_same_places() {
        for (name, place) in [
            ("RESIDUAL", told::RESIDUAL),
            ("VIOLATION", told::VIOLATION),
            ("BACKWARD", told::BACKWARD),
            ("OVERLAP", told::OVERLAP),
            ("SQUARES", told::SQUARES),
            ("COMPLEMENTARITY", told::COMPLEMENTARITY),
            ("MULTIPLIERS", told::MULTIPLIERS),
            ("BIAS", told::BIAS),
            ("SUPPORT", told::SUPPORT),
            ("TOUCHING", told::TOUCHING),
            ("DEPTH", told::DEPTH),
            ("RHS", told::RHS),
            ("KINETIC", told::KINETIC),
            ("WRONG", told::WRONG),
            ("WORST", told::WORST),
            ("UNRESOLVED", told::UNRESOLVED),
            ("DEEPEST", told::DEEPEST),
            ("WAY", told::WAY),
            ("CUT", told::CUT),
            ("CONTACTS", told::CONTACTS),
        ] {
            let line = SOURCE.lines().find(|l| l.starts_with(&format!("#define TOLD_{name} ")));
            let number = line.and_then(|l| l.split_whitespace().nth(2)).expect(name);
            assert_eq!(number, format!("{place}u"), "{name}");
        }
        assert!(SOURCE.contains(&format!("#define TOLD {}u", told::ALL)));
        let colours = include_str!("../../kernels/colours.h");
        assert!(colours.contains(&format!("#define COLOURS {COLOURS}u")));
        for (name, place) in
            [("NUMBERS", FIXED_NUMBERS), ("SPEED", FIXED_SPEED), ("SPIN", FIXED_SPIN), ("LED", FIXED_LED)]
        {
            assert!(SOURCE.contains(&format!("#define FIXED_{name} {place}u")), "{name}");
        }
    }
}
