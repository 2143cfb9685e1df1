//! Free motion of one body: the exponential map and the gyroscopic term.

use glam::{DMat3, DQuat, DVec3};

/// Half angles, squared, below which five terms of a series are enough: what comes next is below 1e-20.
const SMALL_ANGLE: f64 = 2.5e-3;

/// ρ ← ρ e^{0, ½ ω Δt} with ω in body axes [TasoraAnitescu2011, eq. 2-4]: stays on the unit sphere whatever
/// the step. The result is normalised, which removes the rounding that would pile up over long runs.
pub fn rotate(rotation: DQuat, omega: DVec3, dt: f64) -> DQuat {
    (rotation * exponential(0.5 * dt * omega)).normalize()
}

/// The same up to rounding, for a single look ahead: nothing piles up.
pub(crate) fn rotated(rotation: DQuat, omega: DVec3, dt: f64) -> DQuat {
    rotation * exponential(0.5 * dt * omega)
}

/// e^{0, half}: the rotation by twice that vector.
#[inline]
fn exponential(half: DVec3) -> DQuat {
    let square = half.length_squared();
    let (sinc, cos) = if square < SMALL_ANGLE {
        // sin(x)/x and cos(x) by their series, right to the last digit here; the quotient itself loses digits
        // near 0.
        let x = square;
        let sinc = 1.0 - x / 6.0 * (1.0 - x / 20.0 * (1.0 - x / 42.0 * (1.0 - x / 72.0)));
        (sinc, 1.0 - x / 2.0 * (1.0 - x / 12.0 * (1.0 - x / 30.0 * (1.0 - x / 56.0 * (1.0 - x / 90.0)))))
    } else {
        let angle = square.sqrt();
        (angle.sin() / angle, angle.cos())
    };
    let v = half * sinc;
    DQuat::from_xyzw(v.x, v.y, v.z, cos)
}

/// A body that nothing acts on, after `dt`: its angular velocity in body axes, and the rotation to multiply
/// its own with, a unit up to rounding.
///
/// A step is three of the midpoint rule, the middle one backwards, with lengths that cancel their errors of
/// third order \[Yoshida1990\]: fourth order, and energy and |I ω| are kept as each of the three keeps them
/// (see `midpoint`).
///
/// What spins about an axis of inertia, or nearly so, as a wheel does, is done in one: the midpoint rule is
/// off by the share of |ω|Δt in what it changes ω by. Rods and discs need no steps at all.
pub fn free_rotation(inertia: &DMat3, omega: DVec3, dt: f64) -> (DVec3, DQuat) {
    if let Some(top) = Top::of(inertia) {
        return top.free_rotation(omega, dt);
    }
    let angle = omega.length() * dt.abs();
    if angle < 0.2 && angle > 0.0 {
        let next = midpoint(inertia, omega, dt);
        if angle * (next - omega).length() * dt.abs() < STEADY {
            return (next, exponential(0.25 * dt * (omega + next)));
        }
    }
    free_rotation_cut(inertia, omega, dt, angle / 0.2)
}

/// A body with the same inertia I₁ about all axes across e, and I₃ about e.
struct Top {
    axis: usize,
    /// I₃ / I₁
    ratio: f64,
}

impl Top {
    fn of(inertia: &DMat3) -> Option<Self> {
        let i = DVec3::new(inertia.x_axis.x, inertia.y_axis.y, inertia.z_axis.z);
        if *inertia != DMat3::from_diagonal(i) {
            return None;
        }
        let same = |x: f64, y: f64| (x - y).abs() <= 4.0 * f64::EPSILON * x;
        let axis = (0..3).find(|k| same(i[(k + 1) % 3], i[(k + 2) % 3]))?;
        Some(Self { axis, ratio: i[axis] / i[(axis + 1) % 3] })
    }

    /// In body axes the momentum goes round e with s = (I₃/I₁ - 1) ω₃ while e itself goes round the momentum
    /// [Goldstein2002, §5.6]:
    ///
    /// ```text
    ///     ω(t) = e^{s t e} ω,      R(t) = e^{t L/I₁} e^{-s t e},      L/I₁ = ω + s e
    /// ```
    fn free_rotation(&self, omega: DVec3, dt: f64) -> (DVec3, DQuat) {
        let e = DVec3::AXES[self.axis];
        let s = (self.ratio - 1.0) * omega[self.axis];
        let back = exponential(-0.5 * dt * s * e);
        let q = exponential(0.5 * dt * (omega + s * e)) * back;
        // The sine and cosine of s t from those of its half.
        let half = -back.xyz()[self.axis];
        let (sin, cos) = (2.0 * half * back.w, 1.0 - 2.0 * half * half);
        let across = omega - omega[self.axis] * e;
        (omega[self.axis] * e + cos * across + sin * e.cross(across), q)
    }
}

/// Errors of a rotation that are as good as rounding, rad.
const STEADY: f64 = 1e-11;

/// Pieces of a step beyond which it turns a body so far, by hundreds of radians, that nothing is known of
/// where it ends: ω stays as it is in body axes then, which keeps the energy and |I ω| as well.
const PIECES: f64 = 4096.0;

/// The same in at least `pieces` pieces, whatever ω is: a smooth function of ω.
pub(crate) fn free_rotation_cut(inertia: &DMat3, omega: DVec3, dt: f64, pieces: f64) -> (DVec3, DQuat) {
    if is_ball(inertia) || omega == DVec3::ZERO || pieces > PIECES {
        return (omega, rotate(DQuat::IDENTITY, omega, dt));
    }
    // Below this the midpoint rule itself is right to rounding.
    let weights: &[f64] = if pieces < 5e-4 { &[1.0] } else { &[OUTER, 1.0 - 2.0 * OUTER, OUTER] };
    let pieces = pieces.ceil().max(1.0);
    let (mut w, mut q) = (omega, DQuat::IDENTITY);
    for _ in 0..pieces as usize {
        for weight in weights {
            let part = weight * dt / pieces;
            let next = midpoint(inertia, w, part);
            q = rotate(q, 0.5 * (w + next), part);
            w = next;
        }
    }
    (w, q)
}

/// 1 / (2 - 2^(1/3))
const OUTER: f64 = 1.351_207_191_959_657_6;

/// The same inertia about all axes: ω × I ω = 0.
pub(crate) fn is_ball(inertia: &DMat3) -> bool {
    inertia.x_axis == DVec3::X * inertia.x_axis.x
        && inertia.y_axis == DVec3::Y * inertia.x_axis.x
        && inertia.z_axis == DVec3::Z * inertia.x_axis.x
}

/// Body-frame angular velocity after `dt` without torque: the implicit midpoint rule for Euler's equations,
///
/// ```text
///     I (ω₁ - ω₀) + Δt ω_m × I ω_m = 0,     ω_m = (ω₀ + ω₁) / 2
/// ```
///
/// Multiplying by ω_m, and by I ω_m, shows that it keeps both the kinetic energy and |I ω| exactly, so the
/// gyroscopic term never creates energy. (The papers evaluate f_c explicitly, which does.) Newton's method on
/// ω₁, which arrives while |ω|Δt is below one.
fn midpoint(inertia: &DMat3, w0: DVec3, dt: f64) -> DVec3 {
    let mut m = w0; // ω_m; the unknown is 2 I (ω_m - ω₀) + Δt ω_m × I ω_m = 0
    for _ in 0..8 {
        let im = *inertia * m;
        let f = 2.0 * (*inertia * (m - w0)) + dt * m.cross(im);
        let jacobian = 2.0 * *inertia + dt * (skew(m) * *inertia - skew(im));
        let step = jacobian.inverse() * f;
        m -= step;
        // The equation is quadratic: what is left of it is Δt step × I step.
        let left = dt * dt * step.length_squared() * (*inertia * step).length_squared();
        if left <= 1e-33 * im.length_squared() {
            break;
        }
    }
    2.0 * m - w0
}

fn skew(a: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, a.z, -a.y), DVec3::new(-a.z, 0.0, a.x), DVec3::new(a.y, -a.x, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_about_an_axis_is_exact_for_any_step() {
        let w = DVec3::new(0.0, 0.0, 3.0);
        let q = rotate(DQuat::IDENTITY, w, 2.0);
        assert!((q.mul_vec3(DVec3::X) - DVec3::new(6f64.cos(), 6f64.sin(), 0.0)).length() < 1e-14);
        let tiny = rotate(DQuat::IDENTITY, w, 1e-9);
        assert!((tiny.z - 1.5e-9).abs() < 1e-22);
    }

    #[test]
    fn derivative_is_half_rho_omega() {
        // [TasoraAnitescu2011, eq. 5-6]
        let q = DQuat::from_euler(glam::EulerRot::XYZ, 0.3, 0.7, -0.2);
        let w = DVec3::new(0.4, -0.2, 0.9);
        let dt = 1e-6;
        let num = (rotate(q, w, dt) - rotate(q, w, -dt)) * (0.5 / dt);
        let exact = (q * DQuat::from_xyzw(w.x, w.y, w.z, 0.0)) * 0.5;
        assert!((num - exact).length() < 1e-9);
    }

    /// Against itself at a much smaller step; and L keeps its direction.
    #[test]
    fn free_rotation_is_of_fourth_order() {
        let i = DMat3::from_diagonal(DVec3::new(0.3, 0.5, 0.7));
        let start = DVec3::new(0.1, 3.0, 0.2);
        let after = |steps: usize| {
            let (mut w, mut q) = (start, DQuat::IDENTITY);
            for _ in 0..steps {
                let (next, turn) = free_rotation(&i, w, 2.0 / steps as f64);
                (w, q) = (next, (q * turn).normalize());
            }
            (q, q * (i * w))
        };
        let (exact, _) = after(4000);
        let off = |steps: usize| (after(steps).0 * exact.conjugate()).to_scaled_axis().length();
        let (a, b) = (off(40), off(80));
        assert!((a / b).log2() > 3.7, "{a:.2e} and {b:.2e}");
        assert!((after(200).1 - i * start).length() < 1e-6, "{}", (after(200).1 - i * start).length());
    }

    /// Against the midpoint rule in many pieces, about each axis, for long and flat bodies and any speed.
    #[test]
    fn tops_are_exact() {
        let omega = DVec3::new(1.7, -0.9, 2.3);
        for axis in 0..3 {
            for i3 in [0.02, 0.9, 1.8] {
                let mut i = DVec3::ONE;
                i[axis] = i3;
                let i = DMat3::from_diagonal(i);
                for dt in [0.01, 0.4] {
                    let (w, q) = free_rotation(&i, omega, dt);
                    let (near, turn) = free_rotation_cut(&i, omega, dt, 64.0);
                    let off = (q * turn.conjugate()).to_scaled_axis().length();
                    assert!((w - near).length() < 1e-8 && off < 1e-8, "{w} {near} {off:e}");
                    // The momentum stays where it is.
                    assert!((q * (i * w) - i * omega).length() < 1e-15 * 8.0);
                }
            }
        }
        assert!(Top::of(&DMat3::from_diagonal(DVec3::new(1.0, 2.0, 3.0))).is_none());
    }

    /// Of a body without axes that are alike, from a fraction of a radian a step to a thousand.
    #[test]
    fn free_rotation_keeps_energy_and_momentum_however_fast() {
        let i =
            DMat3::from_cols(DVec3::new(2.0, 0.1, 0.0), DVec3::new(0.1, 1.0, 0.2), DVec3::new(0.0, 0.2, 2.5));
        for speed in [1.0, 20.0, 300.0, 5000.0, 100_000.0, 1e12] {
            let start = speed * DVec3::new(0.1, 5.0, 0.2);
            let mut w = start;
            let (e, l) = (w.dot(i * w), (i * w).length());
            for _ in 0..50 {
                w = free_rotation(&i, w, 0.01).0;
            }
            assert!((w - start).length() > 0.01 * speed || speed >= 100_000.0, "it must have moved");
            assert!((w.dot(i * w) / e - 1.0).abs() < 1e-10, "{speed}");
            assert!(((i * w).length() / l - 1.0).abs() < 1e-10, "{speed}");
        }
    }
}
