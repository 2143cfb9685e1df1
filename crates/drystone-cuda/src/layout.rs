//! The structures that kernels and host share: `kernels/data.h` has the same.

/// How the step follows the problem.
pub(crate) mod rule {
    pub const CURVATURE: u32 = 0;
    pub const PAPER: u32 = 1;
    pub const JACOBI: u32 = 2;
    pub const SWEEPS: u32 = 3;
}

/// Why the iteration waits for the host.
pub(crate) mod halt {
    pub const LOOK: u32 = 1;
    pub const LIMIT: u32 = 2;
    pub const DIVERGED: u32 = 4;
    pub const STALLED: u32 = 8;
}

/// Sums that one kernel makes, at most.
pub(crate) const SUMS: usize = 5;
/// Items that are added up together.
pub(crate) const CHUNK: usize = 256;
/// Steps from one look at the residual to the next.
pub(crate) const EVERY: usize = 4;
/// Places of multipliers, forces and velocities: now, before, trial, best.
pub(crate) const PLACES: usize = 4;

/// The state of the iteration.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    pub theta: f64,
    pub beta: f64,
    pub next_theta: f64,
    pub next_beta: f64,
    pub lipschitz: f64,
    pub most: f64,
    pub kappa: f64,
    pub omega: f64,
    pub lambda: f64,
    pub threshold: f64,
    pub measure: f64,
    pub length: f64,
    pub descent: f64,
    pub curvature: f64,
    pub objective: f64,
    pub start_objective: f64,
    pub best_measure: f64,
    pub residual: f64,
    pub work: f64,
    pub bottom: f64,
    pub softest: f64,
    pub noise: f64,
    pub settle_below: f64,
    pub settle_from: f64,
    pub rule: u32,
    pub safeguard: u32,
    pub cone: u32,
    pub plain: u32,
    pub now: u32,
    pub before: u32,
    pub trial: u32,
    pub best: u32,
    pub used: u32,
    pub limit: u32,
    pub halt: u32,
    pub best_is_start: u32,
    pub rejected: u32,
    pub wish_best: u32,
    pub ahead_place: u32,
    pub has_ahead: u32,
    pub runs: u32,
    pub since: u32,
    pub settling: u32,
    pub rounds: u32,
    pub settle_after: u32,
    pub spare: u32,
    pub tickets: [u32; 8],
}

/// The argument of every kernel: device addresses, 0 for what is not there, and counts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Args {
    pub control: u64,
    pub normal: u64,
    pub arm_a: u64,
    pub arm_b: u64,
    pub drift: u64,
    pub soft: u64,
    pub sides: u64,
    pub first_row: u64,
    pub kind: u64,
    pub limits: u64,
    pub jacobian: u64,
    pub bias: u64,
    pub compliance: u64,
    pub mass: u64,
    pub free: u64,
    pub first_entry: u64,
    pub first_general: u64,
    pub entry: u64,
    pub first_part: u64,
    pub part: u64,
    pub first_value: u64,
    pub column: u64,
    pub value: u64,
    pub block_of: u64,
    pub diagonal: u64,
    pub guess: u64,
    pub scale: u64,
    pub share: u64,
    pub gamma: u64,
    pub force: u64,
    pub velocity: u64,
    pub ahead: u64,
    pub part_sums: u64,
    pub block_sums: u64,
    pub body_sums: u64,
    pub rows: u64,
    pub gamma_stride: u64,
    pub bodies: u32,
    pub points: u32,
    pub blocks: u32,
    pub general_rows: u32,
    pub width: u32,
    pub parts: u32,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const SOURCE: &str = include_str!("../kernels/data.h");

    /// Names of the members of a C structure, in order.
    pub fn members(source: &str, structure: &str) -> Vec<String> {
        let begin = source.find(&format!("struct {structure} {{")).expect("it is there");
        let body = &source[begin..];
        let body = &body[body.find('{').unwrap() + 1..body.find("};").unwrap()];
        let mut plain = String::new();
        let mut rest = body;
        while let Some(at) = rest.find("/*") {
            plain += &rest[..at];
            rest = &rest[at + rest[at..].find("*/").unwrap() + 2..];
        }
        plain += rest;
        let last = |declared: &str| {
            let name = declared.trim().rsplit([' ', '*']).next().unwrap().to_string();
            name.split('[').next().unwrap().to_string()
        };
        plain
            .split(';')
            .filter(|d| !d.trim().is_empty())
            .flat_map(|d| d.split(',').map(last).collect::<Vec<_>>())
            .collect()
    }

    /// Names in the order in which Debug writes them.
    pub fn fields(debug: &str) -> Vec<String> {
        let parts = debug.split(": ").map(|part| part.rsplit([' ', '{']).next().unwrap().to_string());
        let mut names: Vec<String> = parts.collect();
        names.pop();
        names
    }

    #[test]
    fn both_languages_have_the_same_members_in_the_same_order() {
        assert_eq!(fields(&format!("{:?}", Control::default())), members(SOURCE, "control"));
        assert_eq!(fields(&format!("{:?}", Args::default())), members(SOURCE, "args"));
    }

    #[test]
    fn there_is_no_padding() {
        assert_eq!(size_of::<Control>(), 24 * 8 + 22 * 4 + 8 * 4);
        assert_eq!(size_of::<Args>(), 37 * 8 + 6 * 4);
    }
}
