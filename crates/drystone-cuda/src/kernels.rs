//! The kernels: their PTX, made from `kernels/` by `scripts/kernels`, and their names.

use std::ffi::CStr;

use crate::grains::GrainArgs;
use crate::layout::Args;
use crate::solids::SolidArgs;

/// The PTX, which the driver compiles for the device it finds.
pub const PTX: &str = include_str!("../kernels/kernels.ptx");

/// The sources, in the order in which they are read.
pub const SOURCES: [&str; 25] = [
    include_str!("../kernels/kernels.cu"),
    include_str!("../kernels/shim.h"),
    include_str!("../kernels/data.h"),
    include_str!("../kernels/sums.h"),
    include_str!("../kernels/sets.h"),
    include_str!("../kernels/blocks.h"),
    include_str!("../kernels/start.h"),
    include_str!("../kernels/iterate.h"),
    include_str!("../kernels/grains.h"),
    include_str!("../kernels/scan.h"),
    include_str!("../kernels/cells.h"),
    include_str!("../kernels/near.h"),
    include_str!("../kernels/colours.h"),
    include_str!("../kernels/grain_step.h"),
    include_str!("../kernels/grain_sweep.h"),
    include_str!("../kernels/grain_end.h"),
    include_str!("../kernels/patch.h"),
    include_str!("../kernels/box_box.h"),
    include_str!("../kernels/capsule.h"),
    include_str!("../kernels/solids.h"),
    include_str!("../kernels/solid_points.h"),
    include_str!("../kernels/solid_near.h"),
    include_str!("../kernels/solid_step.h"),
    include_str!("../kernels/solid_sweep.h"),
    include_str!("../kernels/solid_end.h"),
];

macro_rules! kernels {
    ($($kernel:ident = $name:literal of $argument:ident,)*) => {
        /// A kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kernel {
            $($kernel,)*
        }

        /// Names of the kernels, in the order of [`Kernel`].
        pub(crate) const NAMES: &[&CStr] = &[$($name,)*];

        /// How large the argument of each is, bytes.
        #[cfg(test)]
        const SIZES: &[usize] = &[$(size_of::<$argument>(),)*];
    };
}

kernels! {
    StartMeasure = c"start_measure" of Args,
    StartScale = c"start_scale" of Args,
    StartBodies = c"start_bodies" of Args,
    StartLipschitz = c"start_lipschitz" of Args,
    StepBlocks = c"step_blocks" of Args,
    StepParts = c"step_parts" of Args,
    StepBodies = c"step_bodies" of Args,
    Look = c"look" of Args,
    WriteRows = c"write_rows" of Args,
    ScanChunks = c"scan_chunks" of GrainArgs,
    ScanTotals = c"scan_totals" of GrainArgs,
    ScanEach = c"scan_each" of GrainArgs,
    GrainsPredict = c"grains_predict" of GrainArgs,
    GrainsBounds = c"grains_bounds" of GrainArgs,
    CellsClear = c"cells_clear" of GrainArgs,
    CellsCount = c"cells_count" of GrainArgs,
    CellsFill = c"cells_fill" of GrainArgs,
    CellsSort = c"cells_sort" of GrainArgs,
    NearCount = c"near_count" of GrainArgs,
    NearTold = c"near_told" of GrainArgs,
    NearWrite = c"near_write" of GrainArgs,
    NearTouch = c"near_touch" of GrainArgs,
    NearLink = c"near_link" of GrainArgs,
    ColoursClear = c"colours_clear" of GrainArgs,
    ColoursName = c"colours_name" of GrainArgs,
    ColoursTake = c"colours_take" of GrainArgs,
    ColoursTally = c"colours_tally" of GrainArgs,
    ColoursPlace = c"colours_place" of GrainArgs,
    Refresh = c"grains_refresh_f" of GrainArgs,
    Sweep = c"grains_sweep_f" of GrainArgs,
    SweepLast = c"grains_sweep_last_f" of GrainArgs,
    Turn = c"grains_turn_f" of GrainArgs,
    PoseSingle = c"grains_pose_f" of GrainArgs,
    StartSingle = c"grains_start_f" of GrainArgs,
    ContactsSingle = c"grains_contacts_f" of GrainArgs,
    BodiesSingle = c"grains_bodies_f" of GrainArgs,
    LookSingle = c"grains_look_f" of GrainArgs,
    MultipliersSingle = c"grains_multipliers_f" of GrainArgs,
    ShiftSingle = c"grains_shift_f" of GrainArgs,
    PoseDouble = c"grains_pose_d" of GrainArgs,
    StartDouble = c"grains_start_d" of GrainArgs,
    ContactsDouble = c"grains_contacts_d" of GrainArgs,
    BodiesDouble = c"grains_bodies_d" of GrainArgs,
    LookDouble = c"grains_look_d" of GrainArgs,
    MultipliersDouble = c"grains_multipliers_d" of GrainArgs,
    GrainsVelocities = c"grains_velocities" of GrainArgs,
    GrainsJudge = c"grains_judge" of GrainArgs,
    GrainsIntegrate = c"grains_integrate" of GrainArgs,
    GrainsMeasure = c"grains_measure" of GrainArgs,
    SolidsPredict = c"solids_predict" of SolidArgs,
    SolidsEnclose = c"solids_enclose" of SolidArgs,
    SolidsInertia = c"solids_inertia" of SolidArgs,
    SolidsIntegrate = c"solids_integrate" of SolidArgs,
    SolidsNearCount = c"solids_near_count" of SolidArgs,
    SolidsNearTold = c"solids_near_told" of SolidArgs,
    SolidsNearWrite = c"solids_near_write" of SolidArgs,
    SolidsTouch = c"solids_touch" of SolidArgs,
    SolidsForetell = c"solids_foretell" of SolidArgs,
    SolidsTally = c"solids_tally" of SolidArgs,
    SolidsNearLink = c"solids_near_link" of SolidArgs,
    SolidsTold = c"solids_told" of SolidArgs,
    SolidsPairs = c"solids_pairs" of SolidArgs,
    SolidsLink = c"solids_link" of SolidArgs,
    SolidsContacts = c"solids_contacts" of SolidArgs,
    SolidsPose = c"solids_pose" of SolidArgs,
    SolidsLists = c"solids_lists" of SolidArgs,
    SolidsBegin = c"solids_begin" of SolidArgs,
    SolidsOrder = c"solids_order" of SolidArgs,
    SolidsRefresh = c"solids_refresh" of SolidArgs,
    SolidsSweep = c"solids_sweep" of SolidArgs,
    SolidsSweepLast = c"solids_sweep_last" of SolidArgs,
    SolidsTurn = c"solids_turn" of SolidArgs,
    SolidsLook = c"solids_look" of SolidArgs,
    SolidsMultipliers = c"solids_multipliers" of SolidArgs,
    SolidsVelocities = c"solids_velocities" of SolidArgs,
    SolidsJudge = c"solids_judge" of SolidArgs,
    SolidsMeasure = c"solids_measure" of SolidArgs,
    SolidsShift = c"solids_shift" of SolidArgs,
}

/// What a kernel takes.
pub(crate) trait Argument {}
impl Argument for Args {}
impl Argument for GrainArgs {}
impl Argument for SolidArgs {}

/// FNV-1a of the sources, 64 bits: what the first line of the PTX must say.
pub fn source_hash() -> u64 {
    hash(SOURCES.iter().flat_map(|text| text.bytes()))
}

/// FNV-1a, 64 bits.
pub fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ptx_is_that_of_the_sources() {
        let told = PTX.lines().next().and_then(|line| line.strip_prefix("// source "));
        let expected = format!("{:016x}", source_hash());
        assert_eq!(told, Some(expected.as_str()), "the kernels have changed: run scripts/kernels");
    }

    #[test]
    fn the_sources_are_those_that_the_first_one_names() {
        // One of them is read twice, in two precisions.
        let mut named: Vec<&str> = SOURCES[0].lines().filter(|line| line.starts_with("#include")).collect();
        named.dedup_by_key(|line| line.to_string());
        let mut once = Vec::new();
        named.into_iter().for_each(|line| {
            if !once.contains(&line) {
                once.push(line)
            }
        });
        assert_eq!(once.len(), SOURCES.len() - 1);
    }

    #[test]
    fn the_argument_is_as_large_on_both_sides() {
        for (name, size) in NAMES.iter().zip(SIZES) {
            let told = format!(" {}_param_0[{size}]", name.to_str().unwrap());
            assert!(PTX.lines().any(|l| l.contains(".param .align") && l.contains(&told)), "{told}");
        }
    }

    #[test]
    fn every_kernel_is_in_the_ptx_and_nothing_is_fused() {
        for name in NAMES {
            let entry = format!(".visible .entry {}(", name.to_str().unwrap());
            assert!(PTX.contains(&entry), "{entry}");
        }
        // Without a rounding of its own an instruction may be fused by the driver's compiler.
        for fused in ["\tfma.", "mul.f64", "add.f64", "sub.f64", "mul.f32", "add.f32", "sub.f32"] {
            assert!(!PTX.contains(fused), "{fused}: results would not be those of plain C");
        }
        // Tickets are counted, nothing else.
        let atomic = PTX.lines().map(str::trim).filter(|l| l.starts_with("atom.") || l.starts_with("red."));
        assert!(
            atomic.clone().count() > 0 && atomic.clone().all(|l| l.contains(".add.u32")),
            "{:?}",
            atomic.collect::<Vec<_>>()
        );
    }
}
