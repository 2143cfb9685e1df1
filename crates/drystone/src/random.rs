//! A small deterministic random generator for scenes, tests and randomised methods.
//!
//! [BlackmanVigna2021, xoshiro256++], its 256 bits of state filled from a 64-bit seed by SplitMix64
//! [SteeleLeaFlood2014, splitmix64], as its authors advise. Directions and rotations are drawn by rejection
//! [Marsaglia1972, pp. 645–646], which needs only the four operations and the square root: every platform
//! that follows IEEE 754 draws the same scene to the last bit, which sines and cosines would not promise.

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// The generator; its whole state, so that a saved copy goes on where the original did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator whose draws depend on `seed` alone.
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        // SplitMix64 is a bijection of a counter, so its four words are never all zero: the one state that is
        // stuck.
        Self { state: std::array::from_fn(|_| split_mix(&mut counter)) }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let drawn = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        drawn
    }

    /// Uniform in [0, 1): a multiple of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform between `lo` and `hi`; `hi` itself can only come out by rounding.
    pub fn range(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.uniform()
    }

    /// Uniform in the box between the corners `lo` and `hi`.
    pub fn in_box(&mut self, lo: DVec3, hi: DVec3) -> DVec3 {
        let x = self.range(lo.x, hi.x);
        let y = self.range(lo.y, hi.y);
        let z = self.range(lo.z, hi.z);
        DVec3::new(x, y, z)
    }

    /// Uniform in the ball of radius 1 about the origin.
    pub fn in_ball(&mut self) -> DVec3 {
        loop {
            let point = self.in_box(DVec3::NEG_ONE, DVec3::ONE);
            if point.length_squared() < 1.0 {
                return point;
            }
        }
    }

    /// Uniform on the sphere of radius 1: ξ = (2 a √(1−s), 2 b √(1−s), 1−2s) with (a, b) uniform in the unit
    /// disc and s = a² + b² [Marsaglia1972, pp. 645–646].
    pub fn unit_vector(&mut self) -> DVec3 {
        let (a, b, s) = self.in_disc();
        let across = 2.0 * (1.0 - s).sqrt();
        DVec3::new(a * across, b * across, 1.0 - 2.0 * s)
    }

    /// A rotation uniform over all rotations: a unit quaternion uniform on the sphere in four dimensions,
    /// (a₁, b₁, a₂ √((1−s₁)/s₂), b₂ √((1−s₁)/s₂)) [Marsaglia1972, pp. 645–646].
    pub fn rotation(&mut self) -> DQuat {
        let (x, y, first) = self.in_disc();
        let (z, w, second) = self.in_disc();
        let scale = ((1.0 - first) / second).sqrt();
        // The formula is of length 1 up to rounding; normalising keeps the last bits out of later drift
        // checks.
        DQuat::from_xyzw(x, y, z * scale, w * scale).normalize()
    }

    /// A point uniform in the unit disc, its centre left out, and its squared distance from there.
    fn in_disc(&mut self) -> (f64, f64, f64) {
        loop {
            let a = self.range(-1.0, 1.0);
            let b = self.range(-1.0, 1.0);
            let s = a * a + b * b;
            if s < 1.0 && s > 0.0 {
                return (a, b, s);
            }
        }
    }
}

/// One step of SplitMix64 [SteeleLeaFlood2014, splitmix64].
fn split_mix(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use glam::DMat3;

    use super::*;

    const DRAWS: usize = 200_000;

    #[test]
    fn follows_the_published_sequences() {
        let mut random = Random { state: [1, 2, 3, 4] };
        let drawn: Vec<u64> = (0..10).map(|_| random.next_u64()).collect();
        let published = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
            9973669472204895162,
            14011001112246962877,
            12406186145184390807,
            15849039046786891736,
            10450023813501588000,
        ];
        assert_eq!(drawn, published);

        let mut counter = 1234567;
        let seeds: Vec<u64> = (0..5).map(|_| split_mix(&mut counter)).collect();
        let published = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
            16408922859458223821,
        ];
        assert_eq!(seeds, published);
    }

    #[test]
    fn seeds_make_different_sequences_and_copies_the_same() {
        let mut one = Random::new(1);
        let mut two = Random::new(2);
        assert_ne!(one.next_u64(), two.next_u64());
        let mut copy = one.clone();
        assert_eq!((one.next_u64(), one.rotation()), (copy.next_u64(), copy.rotation()));
        assert_eq!(one, copy);
    }

    #[test]
    fn uniform_is_flat() {
        let mut random = Random::new(7);
        let mut bins = [0usize; 100];
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..DRAWS {
            let x = random.uniform();
            assert!((0.0..1.0).contains(&x));
            bins[(x * 100.0) as usize] += 1;
            sum += x;
            squares += x * x;
        }
        let n = DRAWS as f64;
        // Five standard deviations of each estimate.
        assert!((sum / n - 0.5).abs() < 5.0 * (1.0 / 12.0 / n).sqrt());
        assert!((squares / n - 1.0 / 3.0).abs() < 5.0 * (4.0 / 45.0 / n).sqrt());
        // χ² with 99 degrees of freedom: mean 99, variance 198.
        let expected = n / 100.0;
        let chi: f64 = bins.iter().map(|&b| (b as f64 - expected).powi(2) / expected).sum();
        assert!((chi - 99.0).abs() < 5.0 * 198f64.sqrt(), "{chi}");
    }

    #[test]
    fn range_stays_between_its_ends() {
        let mut random = Random::new(3);
        let drawn: Vec<f64> = (0..1000).map(|_| random.range(-3.0, -1.0)).collect();
        assert!(drawn.iter().all(|x| (-3.0..-1.0).contains(x)));
        assert!(drawn.iter().any(|x| *x < -2.9) && drawn.iter().any(|x| *x > -1.1));
    }

    #[test]
    fn ball_and_sphere_have_their_moments() {
        let mut random = Random::new(11);
        let n = DRAWS as f64;
        let (mut inside, mut radius, mut surface, mut spread) = (DVec3::ZERO, 0.0, DVec3::ZERO, DMat3::ZERO);
        for _ in 0..DRAWS {
            let p = random.in_ball();
            assert!(p.length() < 1.0);
            inside += p / n;
            radius += p.length() / n;
            let u = random.unit_vector();
            assert!((u.length() - 1.0).abs() < 1e-14);
            surface += u / n;
            spread += DMat3::from_cols(u * u.x, u * u.y, u * u.z) * (1.0 / n);
        }
        // Mean distance 3/4, second moment I/3; no standard deviation here exceeds 0.6.
        let tolerance = 5.0 * 0.6 / n.sqrt();
        assert!(inside.abs().max_element() < tolerance && surface.abs().max_element() < tolerance);
        assert!((radius - 0.75).abs() < tolerance);
        assert!(spread.abs_diff_eq(DMat3::IDENTITY * (1.0 / 3.0), tolerance));
    }

    #[test]
    fn rotations_are_uniform() {
        let mut random = Random::new(13);
        let n = DRAWS as f64;
        let (mut image, mut trace_squared, mut trace) = (DVec3::ZERO, 0.0, 0.0);
        for _ in 0..DRAWS {
            let q = random.rotation();
            assert!((q.length() - 1.0).abs() < 1e-14);
            image += q * DVec3::X / n;
            let m = DMat3::from_quat(q);
            let t = m.x_axis.x + m.y_axis.y + m.z_axis.z;
            trace += t / n;
            trace_squared += t * t / n;
        }
        // The trace is the character of an irreducible representation: under the uniform measure its mean is
        // 0 and its mean square 1. Traces lie in [-1, 3], so five standard deviations of t² are below 5 · 3 /
        // √n.
        assert!(image.abs().max_element() < 5.0 * 0.6 / n.sqrt());
        assert!(trace.abs() < 5.0 / n.sqrt(), "{trace}");
        assert!((trace_squared - 1.0).abs() < 15.0 / n.sqrt(), "{trace_squared}");
    }
}
