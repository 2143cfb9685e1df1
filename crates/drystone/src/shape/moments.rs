//! Volume, centroid and second moments of homogeneous solids, and how they add up.

use glam::{DMat3, DVec3};

use super::Pose;

/// The integrals over a solid of density 1 that rigid-body motion needs: ∫dV, ∫x dV / V and ∫(x−c)(x−c)ᵀ dV.
///
/// Kept about the centroid, where no digits are lost when the solid lies far from the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// V, m³.
    pub volume: f64,
    /// c, m.
    pub centroid: DVec3,
    /// ∫ (x−c)(x−c)ᵀ dV, m⁵.
    pub second: DMat3,
}

/// a bᵀ.
pub(super) fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// Twice the area of a triangle as a vector along its normal: longest side times height.
///
/// The height is made orthogonal to the side twice. A plain cross product would cancel where the triangle is
/// thin, and turn the normal towards the long side: the far corner would lie off the plane.
pub(super) fn double_area([a, b, c]: [DVec3; 3]) -> DVec3 {
    cross_of_sides([b - a, c - b, a - c])
}

/// The same from the sides, each from one corner to the next.
pub(super) fn cross_of_sides([ab, bc, ca]: [DVec3; 3]) -> DVec3 {
    let [x, y, z] = [ab, bc, ca].map(|side| side.length_squared());
    let (base, other) = if x >= y && x >= z {
        (ab, bc)
    } else if y >= z {
        (bc, ca)
    } else {
        (ca, ab)
    };
    let along = base.normalize_or_zero();
    let height = other - along * other.dot(along);
    base.cross(height - along * height.dot(along))
}

impl Moments {
    /// Of nothing.
    pub const ZERO: Self = Self { volume: 0.0, centroid: DVec3::ZERO, second: DMat3::ZERO };

    /// Centred on the origin, with ∫x², ∫y², ∫z² along the diagonal.
    pub fn centred(volume: f64, squares: DVec3) -> Self {
        Self { volume, centroid: DVec3::ZERO, second: DMat3::from_diagonal(squares) }
    }

    /// The sum of disjoint solids; where solids overlap, matter counts twice. A part may have negative
    /// volume: a hole.
    pub fn sum(parts: impl Iterator<Item = Moments> + Clone) -> Self {
        let volume: f64 = parts.clone().map(|p| p.volume).sum();
        if volume == 0.0 {
            return Self::ZERO;
        }
        let about = parts.clone().map(|p| p.centroid).next().unwrap_or_default();
        let centroid = about + parts.clone().map(|p| p.volume * (p.centroid - about)).sum::<DVec3>() / volume;
        let second = parts.fold(DMat3::ZERO, |sum, p| {
            let arm = p.centroid - centroid;
            sum + p.second + p.volume * outer(arm, arm)
        });
        Self { volume, centroid, second }
    }

    /// Of the solid carried by a pose.
    pub fn placed(&self, pose: &Pose) -> Self {
        let r = DMat3::from_quat(pose.rotation);
        let second = r * self.second * r.transpose();
        // Rounding in R S Rᵀ would leave a trace of asymmetry.
        Self {
            volume: self.volume,
            centroid: pose.point(self.centroid),
            second: 0.5 * (second + second.transpose()),
        }
    }

    /// Inertia tensor about the centroid for a total mass: I = m/V (tr S · 1 − S), kg m².
    pub fn inertia(&self, mass: f64) -> DMat3 {
        let s = &self.second;
        // Off the trace: tr S − S_xx would cancel where a solid is long.
        let d = DVec3::new(s.y_axis.y + s.z_axis.z, s.x_axis.x + s.z_axis.z, s.x_axis.x + s.y_axis.y);
        let off = DMat3::from_cols(s.x_axis.with_x(0.0), s.y_axis.with_y(0.0), s.z_axis.with_z(0.0));
        (DMat3::from_diagonal(d) - off) * (mass / self.volume)
    }
}

/// Moments of the solid inside a closed surface of triangles (counter-clockwise from outside), by the
/// divergence theorem: the sum over tetrahedra between each triangle and one common point, signed
/// [Tonon2004].
///
/// For a tetrahedron with one corner at the common point and the others at a, b, c from there, 6V = a·(b×c),
/// the centroid is (a+b+c)/4 and ∫xxᵀ dV = V/20 (aaᵀ + bbᵀ + ccᵀ + ssᵀ), s = a+b+c. `about` should lie in or
/// near the solid: sums of far tetrahedra cancel.
pub(super) fn of_surface(about: DVec3, triangles: impl Iterator<Item = [DVec3; 3]>) -> Moments {
    let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for triangle in triangles {
        let [a, b, c] = triangle.map(|p| p - about);
        let v = a.dot(b.cross(c)) / 6.0;
        let s = a + b + c;
        volume += v;
        first += v * 0.25 * s;
        second += (v / 20.0) * (outer(a, a) + outer(b, b) + outer(c, c) + outer(s, s));
    }
    if volume == 0.0 {
        return Moments::ZERO;
    }
    let arm = first / volume;
    Moments { volume, centroid: about + arm, second: second - volume * outer(arm, arm) }
}
