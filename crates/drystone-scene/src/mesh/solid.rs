//! The solid that a closed surface encloses: whether there is one, and its volume, centre and inertia.
//!
//! Integrals over the solid are sums over tetrahedra from one point to every triangle, signed by the side on
//! which it lies: with corners a, b, c from that point, V = a · (b × c) / 6, first moment V (a + b + c) / 4,
//! and second moment ∫ x xᵀ = V/20 (a aᵀ + b bᵀ + c cᵀ + s sᵀ), s = a + b + c [Tonon2004].

use std::collections::HashMap;

use drystone::Shape;
use drystone::shape::Moments;
use glam::{DMat3, DVec3};

use super::{MeshError, Place, Surface};

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

impl Surface {
    /// Volume, centre and second moment of what it encloses; meaningful when [`Surface::check_solid`] finds
    /// no fault.
    pub fn moments(&self) -> Moments {
        let (low, high) = self.bounds();
        let base = 0.5 * (low + high);
        let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
        for k in 0..self.triangles.len() {
            let [a, b, c] = self.corners(k).map(|v| v - base);
            let v = a.dot(b.cross(c)) / 6.0;
            let s = a + b + c;
            volume += v;
            first += s * (v / 4.0);
            second += (outer(a, a) + outer(b, b) + outer(c, c) + outer(s, s)) * (v / 20.0);
        }
        let centre = first / volume;
        Moments { volume, centroid: base + centre, second: second - outer(centre, centre) * volume }
    }

    /// The surface as a collision shape, solid or not.
    pub fn shape(&self) -> Result<Shape, String> {
        Shape::mesh(self.vertices.clone(), self.triangles.clone())
    }

    /// Says why the surface encloses no solid: it is open, its triangles disagree about where outside is, or
    /// it is inside out.
    pub fn check_solid(&self) -> Result<(), MeshError> {
        let mut sides: HashMap<(u32, u32), (u32, u32)> = HashMap::with_capacity(3 * self.triangles.len() / 2);
        // Of each edge: how often it is passed from the lower to the higher corner, and the other way.
        for &[a, b, c] in &self.triangles {
            for (i, j) in [(a, b), (b, c), (c, a)] {
                let (forth, back) = sides.entry((i.min(j), i.max(j))).or_default();
                *(if i < j { forth } else { back }) += 1;
            }
        }
        let mut faults = (0, 0);
        let mut first: Option<(usize, String)> = None;
        for (k, &[a, b, c]) in self.triangles.iter().enumerate() {
            for (i, j) in [(a, b), (b, c), (c, a)] {
                let (forth, back) = sides.get(&(i.min(j), i.max(j))).copied().unwrap_or_default();
                if forth == back {
                    continue;
                }
                let alone = forth + back == 1;
                *(if alone { &mut faults.0 } else { &mut faults.1 }) += 1;
                let (p, q) = (self.vertices[i as usize], self.vertices[j as usize]);
                first.get_or_insert_with(|| {
                    let what = if alone {
                        "has no triangle on its other side"
                    } else {
                        "is passed twice in one direction: neighbours disagree about where outside is"
                    };
                    (k, format!("the edge from {p} to {q} {what}"))
                });
            }
        }
        if let Some((k, what)) = first {
            let (open, twisted) = faults;
            let many = match (open, twisted) {
                (o, 0) => format!("{o} such edges"),
                (0, t) => format!("{t} such sides"),
                (o, t) => format!("{o} open edges, {t} sides out of order"),
            };
            let text = format!("the surface is not closed: {what} ({many} in all)");
            return Err(MeshError::new(Place::Triangle(k + 1), text));
        }
        let volume = self.moments().volume;
        let (low, high) = self.bounds();
        let size = (high - low).length();
        if volume < 0.0 {
            let text = format!(
                "inside out: its corners go clockwise seen from outside, so that its volume is {volume:.6e} m³; \
                 turn its faces over"
            );
            return Err(MeshError::new(Place::Whole, text));
        }
        if !(volume > 1e-12 * size.powi(3)) {
            return Err(MeshError::new(Place::Whole, format!("encloses no volume: {volume:e} m³")));
        }
        Ok(())
    }
}
