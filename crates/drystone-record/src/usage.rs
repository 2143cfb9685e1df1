//! What the process has used so far.

/// CPU time of all threads of this process, s.
pub fn cpu_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of our own.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) } != 0;
    if failed { f64::NAN } else { t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64 }
}

/// Largest resident memory so far, MiB.
pub fn peak_rss_mib() -> f64 {
    // SAFETY: rusage is plain numbers, for which all zeros is a value, and the pointer is to our own.
    let (failed, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &mut usage) != 0, usage)
    };
    // Linux counts in KiB, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1024.0 * 1024.0 } else { 1024.0 };
    if failed { f64::NAN } else { usage.ru_maxrss as f64 / unit }
}

#[cfg(test)]
mod tests {
    #[test]
    fn work_takes_cpu_time_and_memory() {
        let before = super::cpu_seconds();
        let mut x = vec![0u8; 8 << 20];
        for k in 0..x.len() {
            x[k] = (k % 251) as u8;
        }
        assert!(x.iter().map(|x| *x as u64).sum::<u64>() > 0);
        assert!(super::cpu_seconds() > before);
        assert!(super::peak_rss_mib() >= 8.0);
    }
}
