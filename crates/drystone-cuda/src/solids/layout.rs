//! The structure that kernels and host share: `kernels/solids.h` has the same.

use crate::layout::Args;

/// Numbers of a body.
pub(crate) const SOLID_NUMBERS: usize = 24;
/// Contacts of a pair, at most, and numbers of one that was found.
pub(crate) const MOST_CONTACTS: usize = 8;
pub(crate) const FOUND_NUMBERS: usize = 10;

/// Numbers of a step's report, beside those of the grains'.
pub(crate) mod told {
    pub const PAIRS: usize = 20;
    pub const BENT: usize = 21;
    pub const COARSE: usize = 22;
    pub const THROWN: usize = 23;
    /// How many there are.
    pub const ALL: usize = 24;
}

/// The argument of the solids' kernels: the posed problem, device addresses, numbers and counts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SolidArgs {
    pub posed: Args,
    pub grid: u64,
    pub told: u64,
    pub solid: u64,
    pub mu: u64,
    pub fixed: u64,
    pub place: u64,
    pub place_after: u64,
    pub turn: u64,
    pub turn_after: u64,
    pub motion: u64,
    pub motion_after: u64,
    pub free: u64,
    pub ahead: u64,
    pub reach: u64,
    pub extent: u64,
    pub still: u64,
    pub touched: u64,
    pub cell_first: u64,
    pub in_cells: u64,
    pub counts: u64,
    pub near_first: u64,
    pub near_owner: u64,
    pub near_other: u64,
    pub near_low: u64,
    pub near_count: u64,
    pub near_start: u64,
    pub near_pair: u64,
    pub found: u64,
    pub entries: u64,
    pub first: u64,
    pub owner: u64,
    pub other: u64,
    pub low: u64,
    pub start: u64,
    pub pair_at: u64,
    pub slot: u64,
    pub sides: u64,
    pub colours: u64,
    pub holder: u64,
    pub feature: u64,
    pub touch: u64,
    pub normal: u64,
    pub arc: u64,
    pub gamma: u64,
    pub old_first: u64,
    pub old_other: u64,
    pub old_start: u64,
    pub old_feature: u64,
    pub old_gamma: u64,
    pub old_touch: u64,
    pub old_arc: u64,
    pub seen: u64,
    pub contact_sums: u64,
    pub body_sums: u64,
    pub h: f64,
    pub gx: f64,
    pub gy: f64,
    pub gz: f64,
    pub base: f64,
    pub share: f64,
    pub more: f64,
    pub reach_share: f64,
    pub reach_all: f64,
    pub resolved: f64,
    pub arcs: f64,
    pub turns: f64,
    pub tolerance: f64,
    pub compliance: f64,
    pub leash: f64,
    pub solids: u32,
    pub fixed_count: u32,
    pub surfaces: u32,
    pub buckets: u32,
    pub near: u32,
    pub pairs: u32,
    pub contacts: u32,
    pub moving: u32,
    pub positions: u32,
    pub old_pairs: u32,
    pub best: u32,
    pub from: u32,
    pub to: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::members;

    const SOURCE: &str = include_str!("../../kernels/solids.h");
    const OWN: &str = include_str!("layout.rs");

    #[test]
    fn both_languages_have_the_same_members_in_the_same_order() {
        let begin = OWN.find("struct SolidArgs {").unwrap();
        let body = &OWN[begin..begin + OWN[begin..].find("\n}").unwrap()];
        let names = body.lines().filter_map(|l| l.trim().strip_prefix("pub ")?.split(':').next());
        assert_eq!(names.collect::<Vec<_>>(), members(SOURCE, "solids"));
        assert_eq!(size_of::<SolidArgs>(), size_of::<Args>() + 69 * 8 + 13 * 4 + 4);
    }

    #[test]
    fn numbers_are_at_the_same_places() {
        for (name, place) in [
            ("SOLID_NUMBERS", SOLID_NUMBERS),
            ("MOST_CONTACTS", MOST_CONTACTS),
            ("FOUND_NUMBERS", FOUND_NUMBERS),
            ("TOLD_PAIRS", told::PAIRS),
            ("TOLD_BENT", told::BENT),
            ("TOLD_COARSE", told::COARSE),
            ("TOLD_THROWN", told::THROWN),
            ("TOLD_SOLIDS", told::ALL),
        ] {
            assert!(SOURCE.contains(&format!("#define {name} {place}u")), "{name}");
        }
    }
}
