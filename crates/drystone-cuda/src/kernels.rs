//! The kernels: their PTX, made from `kernels/` by `scripts/kernels`, and their names.

use std::ffi::CStr;

/// The PTX, which the driver compiles for the device it finds.
pub const PTX: &str = include_str!("../kernels/kernels.ptx");

/// The sources, in the order in which they are read.
pub const SOURCES: [&str; 8] = [
    include_str!("../kernels/kernels.cu"),
    include_str!("../kernels/shim.h"),
    include_str!("../kernels/data.h"),
    include_str!("../kernels/sums.h"),
    include_str!("../kernels/sets.h"),
    include_str!("../kernels/blocks.h"),
    include_str!("../kernels/start.h"),
    include_str!("../kernels/iterate.h"),
];

/// A kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kernel {
    StartMeasure,
    StartScale,
    StartBodies,
    StartLipschitz,
    StepBlocks,
    StepParts,
    StepBodies,
    Look,
    WriteRows,
}

/// Names of the kernels, in the order of [`Kernel`].
pub(crate) const NAMES: [&CStr; 9] = [
    c"start_measure",
    c"start_scale",
    c"start_bodies",
    c"start_lipschitz",
    c"step_blocks",
    c"step_parts",
    c"step_bodies",
    c"look",
    c"write_rows",
];

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
        let named = SOURCES[0].lines().filter(|line| line.starts_with("#include")).count();
        assert_eq!(named, SOURCES.len() - 1);
    }

    #[test]
    fn the_argument_is_as_large_on_both_sides() {
        let size = size_of::<crate::layout::Args>();
        let told = PTX.lines().filter(|l| l.contains("_param_0[") && l.contains(".param .align"));
        assert_eq!(told.clone().count(), NAMES.len());
        for line in told {
            assert!(line.contains(&format!("[{size}]")), "{line}");
        }
    }

    #[test]
    fn every_kernel_is_in_the_ptx_and_nothing_is_fused() {
        for name in NAMES {
            let entry = format!(".visible .entry {}(", name.to_str().unwrap());
            assert!(PTX.contains(&entry), "{entry}");
        }
        // Without a rounding of its own an instruction may be fused by the driver's compiler.
        for fused in ["\tfma.", "mul.f64", "add.f64", "sub.f64"] {
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
