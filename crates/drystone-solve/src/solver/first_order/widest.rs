//! Code over [`Vector`]s on the widest ones this machine has, chosen at run time.

use crate::solver::sweep::vector::Vector;

/// A piece of work written for any number of lanes; `run` must be forced inline and do the same for all.
pub(in crate::solver) trait Kernel {
    /// What it returns.
    type Out;

    /// Does it.
    ///
    /// # Safety
    /// The machine has the instructions of `V`.
    unsafe fn run<V: Vector>(self) -> Self::Out;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512<K: Kernel>(kernel: K) -> K::Out {
    unsafe { kernel.run::<std::arch::x86_64::__m512d>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<K: Kernel>(kernel: K) -> K::Out {
    unsafe { kernel.run::<std::arch::x86_64::__m256d>() }
}

/// Runs `kernel`.
pub(in crate::solver) fn widest<K: Kernel>(kernel: K) -> K::Out {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: each only where the machine has the instructions.
    unsafe {
        if is_x86_feature_detected!("avx512f") {
            return avx512(kernel);
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return avx2(kernel);
        }
    }
    // SAFETY: scalar code runs everywhere.
    unsafe { kernel.run::<f64>() }
}
