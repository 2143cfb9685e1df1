//! Moments of solids of revolution about the z axis, from the profile ρ(z): V = π∫ρ² dz, c = π∫ρ² z dz / V,
//! ∫z² dV = π∫ρ² z² dz and ∫x² dV = ∫y² dV = π/4 ∫ρ⁴ dz.

use std::f64::consts::PI;

use glam::{DMat3, DVec3};

use super::Moments;

/// A piece of the outline, run through with rising z (falling z takes away).
pub(super) enum Piece {
    /// From one (ρ, z) to another.
    Line([f64; 2], [f64; 2]),
    /// An arc about (ρ, z) of the given radius between two angles, counted from the ρ axis towards z.
    Arc { centre: [f64; 2], radius: f64, from: f64, to: f64 },
}

/// Nodes and weights of Gauss-Legendre quadrature with 16 points on [−1, 1], the positive half: exact for the
/// polynomials of lines, and to the last digits for the trigonometric ones of arcs of up to half a turn.
const NODES: [[f64; 2]; 8] = [
    [0.095_012_509_837_637_44, 0.189_450_610_455_068_5],
    [0.281_603_550_779_258_9, 0.182_603_415_044_923_6],
    [0.458_016_777_657_227_4, 0.169_156_519_395_002_54],
    [0.617_876_244_402_643_7, 0.149_595_988_816_576_73],
    [0.755_404_408_355_003, 0.124_628_971_255_533_87],
    [0.865_631_202_387_831_7, 0.095_158_511_682_492_78],
    [0.944_575_023_073_232_6, 0.062_253_523_938_647_894],
    [0.989_400_934_991_649_9, 0.027_152_459_411_754_095],
];

/// The moments of the solid inside the outline.
pub(super) fn moments(outline: &[Piece]) -> Moments {
    // About a point of the axis near the solid, so that shifting to the centroid loses little.
    let about = outline.first().map_or(0.0, |p| p.at(0.0).1);
    let [mut volume, mut first, mut second, mut across] = [0.0; 4];
    for piece in outline {
        for [node, weight] in NODES {
            for s in [-node, node] {
                let (rho, z, dz) = piece.at(s);
                let (slice, z) = (weight * dz * PI * rho * rho, z - about);
                volume += slice;
                first += slice * z;
                second += slice * z * z;
                across += 0.25 * slice * rho * rho;
            }
        }
    }
    let arm = first / volume;
    Moments {
        volume,
        centroid: DVec3::Z * (about + arm),
        second: DMat3::from_diagonal(DVec3::new(across, across, second - first * arm)),
    }
}

impl Piece {
    /// ρ, z and dz/ds at s from −1 to 1.
    fn at(&self, s: f64) -> (f64, f64, f64) {
        match self {
            Piece::Line(a, b) => {
                let (rho, z) = (b[0] - a[0], b[1] - a[1]);
                let share = 0.5 * (1.0 + s);
                (a[0] + share * rho, a[1] + share * z, 0.5 * z)
            }
            Piece::Arc { centre, radius, from, to } => {
                let half = 0.5 * (to - from);
                let (sin, cos) = (0.5 * (from + to) + s * half).sin_cos();
                (centre[0] + radius * cos, centre[1] + radius * sin, radius * cos * half)
            }
        }
    }
}
