//! On which side of a plane a point lies: the exact sign of a determinant.
//!
//! A fast evaluation answers whenever its error bound allows; otherwise the determinant is summed without
//! rounding as an expansion, a sum of numbers that do not overlap [Shewchuk1997, grow-expansion]. With every
//! answer exact, the combinatorics of the hull cannot contradict themselves, whatever the points.

use glam::DVec3;

/// Half an ulp of 1.
const HALF_ULP: f64 = 0.5 * f64::EPSILON;

/// Positive if `p` is on the side of the plane through a, b, c from which they run counter-clockwise,
/// negative if it is on the other, zero if on the plane: the sign of (b−a)×(c−a)·(p−a), without error.
///
/// Coordinates must be 0 or between 2⁻¹⁰⁰ and 1 in magnitude, so that no product underflows.
pub(super) fn side(a: DVec3, b: DVec3, c: DVec3, p: DVec3) -> f64 {
    let (u, v, w) = (b - a, c - a, p - a);
    let (xy, yx) = (u.x * v.y, u.y * v.x);
    let (yz, zy) = (u.y * v.z, u.z * v.y);
    let (zx, xz) = (u.z * v.x, u.x * v.z);
    let det = (yz - zy) * w.x + (zx - xz) * w.y + (xy - yx) * w.z;
    let size = (yz.abs() + zy.abs()) * w.x.abs()
        + (zx.abs() + xz.abs()) * w.y.abs()
        + (xy.abs() + yx.abs()) * w.z.abs();
    // [Shewchuk1997, orient3d, first filter]: (7 + 56 ε) ε times the size, rounded up.
    if det.abs() > 8.0 * HALF_ULP * size { det } else { exact(a, b, c, p) }
}

fn exact(a: DVec3, b: DVec3, c: DVec3, p: DVec3) -> f64 {
    let apart = |x: DVec3| [difference(x.x, a.x), difference(x.y, a.y), difference(x.z, a.z)];
    let (u, v, w) = (apart(b), apart(c), apart(p));
    let mut sum = Expansion { terms: Vec::with_capacity(32) };
    for (i, j, k, sign) in
        [(0, 1, 2, 1.0), (1, 2, 0, 1.0), (2, 0, 1, 1.0), (1, 0, 2, -1.0), (2, 1, 0, -1.0), (0, 2, 1, -1.0)]
    {
        // Most differences are exact: their errors are zero and all products with them.
        for x in u[i].into_iter().filter(|x| *x != 0.0) {
            for y in v[j].into_iter().filter(|y| *y != 0.0) {
                let [low, high] = product(x, y);
                for z in w[k].into_iter().filter(|z| *z != 0.0) {
                    for part in [product(low, z), product(high, z)].as_flattened() {
                        sum.add(sign * part);
                    }
                }
            }
        }
    }
    sum.sign()
}

/// a − b as error and rounded value.
fn difference(a: f64, b: f64) -> [f64; 2] {
    two_sum(a, -b)
}

/// a + b as error and rounded value [Shewchuk1997, two-sum].
fn two_sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let b_virtual = sum - a;
    let a_virtual = sum - b_virtual;
    [(a - a_virtual) + (b - b_virtual), sum]
}

/// a b as error and rounded value.
fn product(a: f64, b: f64) -> [f64; 2] {
    let rounded = a * b;
    [a.mul_add(b, -rounded), rounded]
}

/// A number as the exact sum of terms that do not overlap, rising in magnitude, none zero.
struct Expansion {
    terms: Vec<f64>,
}

impl Expansion {
    /// [Shewchuk1997, grow-expansion], leaving out zeros.
    fn add(&mut self, x: f64) {
        if x == 0.0 {
            return;
        }
        let mut carried = x;
        let mut kept = 0;
        for k in 0..self.terms.len() {
            let [error, sum] = two_sum(carried, self.terms[k]);
            carried = sum;
            if error != 0.0 {
                self.terms[kept] = error;
                kept += 1;
            }
        }
        self.terms.truncate(kept);
        if carried != 0.0 {
            self.terms.push(carried);
        }
    }

    /// The largest term outweighs all others together.
    fn sign(&self) -> f64 {
        self.terms.last().copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The determinant in integers, where it is exact by nature.
    fn in_integers(points: [[i128; 3]; 4]) -> i128 {
        let [a, b, c, p] = points;
        let d = |x: [i128; 3]| [x[0] - a[0], x[1] - a[1], x[2] - a[2]];
        let (u, v, w) = (d(b), d(c), d(p));
        (u[1] * v[2] - u[2] * v[1]) * w[0]
            + (u[2] * v[0] - u[0] * v[2]) * w[1]
            + (u[0] * v[1] - u[1] * v[0]) * w[2]
    }

    #[test]
    fn agrees_with_integers_on_nearly_flat_tetrahedra() {
        let mut random = Random::new(5);
        let mut zeros = 0;
        let mut hard = 0;
        for _ in 0..20_000 {
            // Corners of 38 bits, the third one near the line of the first two, the last one near the plane
            // of all.
            let draw = |random: &mut Random, bits: u32| {
                (random.next_u64() >> (64 - bits)) as i128 - (1 << (bits - 1))
            };
            let mut point = |bits: u32| -> [i128; 3] { std::array::from_fn(|_| draw(&mut random, bits)) };
            let (a, b, beside) = (point(38), point(38), point(20));
            let c: [i128; 3] = std::array::from_fn(|k| a[k] + 2 * (b[k] - a[k]) + beside[k]);
            let (s, t) = (draw(&mut random, 3), draw(&mut random, 3));
            let shift = [draw(&mut random, 2), 0, 0].map(|x| if x > 0 { 0 } else { x });
            let p: [i128; 3] =
                std::array::from_fn(|k| a[k] + s * (b[k] - a[k]) + t * (c[k] - a[k]) + shift[k]);
            let exact = in_integers([a, b, c, p]);
            let unit = |x: [i128; 3]| DVec3::from_array(x.map(|x| x as f64 * 2f64.powi(-46)));
            let (a, b, c, p) = (unit(a), unit(b), unit(c), unit(p));
            let sign = side(a, b, c, p);
            assert_eq!(
                sign.partial_cmp(&0.0),
                Some(exact.cmp(&0)),
                "{a} {b} {c} {p}: {sign} against {exact}"
            );
            zeros += (exact == 0) as u32;
            hard += (exact != 0 && ((b - a).cross(c - a).dot(p - a) > 0.0) != (exact > 0)) as u32;
        }
        // The draw must include what it is for: flat ones, and ones that rounding gets wrong.
        assert!(zeros > 1000 && hard > 10, "{zeros} {hard}");
    }

    /// Where differences of coordinates round too: exchanging two points must change the sign and nothing
    /// else.
    #[test]
    fn the_order_of_the_points_changes_nothing_but_the_sign() {
        let plain = |a: DVec3, b: DVec3, c: DVec3, p: DVec3| (b - a).cross(c - a).dot(p - a);
        let mut random = Random::new(6);
        let (mut wrong, mut zeros) = (0, 0);
        for _ in 0..5000 {
            let scale = DVec3::new(0.5, 2f64.powi(-20), 2f64.powi(-40));
            let mut point = || random.in_box(DVec3::NEG_ONE, DVec3::ONE) * scale;
            let (a, b, c) = (point(), point(), point());
            let p = a + (b - a) * random.uniform() + (c - a) * random.uniform();
            let sign = side(a, b, c, p);
            for (x, y, z, w) in [(b, a, c, p), (a, c, b, p), (a, b, p, c), (p, b, c, a), (c, b, a, p)] {
                let other = side(x, y, z, w);
                assert_eq!(sign.partial_cmp(&0.0), 0.0.partial_cmp(&other), "{a} {b} {c} {p}");
                wrong += ((plain(x, y, z, w) < 0.0) != (plain(a, b, c, p) > 0.0)) as u32;
            }
            zeros += (sign == 0.0) as u32;
        }
        assert!(wrong > 1000 && zeros < 500, "{wrong} {zeros}");
    }
}
