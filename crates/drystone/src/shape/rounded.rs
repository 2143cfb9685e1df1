//! Moments of rounded shapes: all points within a radius of a convex core.

use std::f64::consts::{FRAC_PI_2, PI};

use glam::{DMat3, DVec3};

use super::moments::outer;
use super::revolve::{self, Piece};
use super::{Hull, Moments, Shape};

/// Of the core grown by r. Not a number for a core that cannot be one.
pub(super) fn moments(core: &Shape, r: f64) -> Moments {
    match core {
        Shape::Box { half } => cuboid(*half, r),
        Shape::Cylinder { radius, half_length } => cylinder(*radius, *half_length, r),
        Shape::Cone { radius, height } => cone(*radius, *height, r),
        Shape::Hull(hull) => polyhedron(hull, r),
        _ => Moments::centred(f64::NAN, DVec3::NAN),
    }
}

/// The box; slabs on its faces; quarter cylinders along its edges, which make three whole ones; eighths of a
/// ball at its corners. Along x, with ∫ξ over a quarter disc r³/3 and over an eighth of a ball π r⁴/16.
fn cuboid(half: DVec3, r: f64) -> Moments {
    let along = |a: f64, b: f64, c: f64| {
        let faces = 8.0 * b * c * ((a + r).powi(3) - a.powi(3)) / 3.0 + 8.0 * r * a * (b + c) * a * a / 3.0;
        let edges = 2.0 * PI * r * r * a * a * a / 3.0
            + 2.0 * (b + c) * (PI * r * r * a * a + 8.0 / 3.0 * a * r.powi(3) + 0.25 * PI * r.powi(4));
        let corners = 4.0 / 3.0 * PI * r.powi(3) * a * a + PI * a * r.powi(4) + 4.0 / 15.0 * PI * r.powi(5);
        8.0 * a * b * c * a * a / 3.0 + faces + edges + corners
    };
    let (a, b, c) = (half.x, half.y, half.z);
    let volume = 8.0 * (a * b * c + r * (a * b + b * c + c * a))
        + 2.0 * PI * r * r * (a + b + c)
        + 4.0 / 3.0 * PI * r.powi(3);
    Moments::centred(volume, DVec3::new(along(a, b, c), along(b, c, a), along(c, a, b)))
}

fn cylinder(radius: f64, l: f64, r: f64) -> Moments {
    let m = revolve::moments(&[
        Piece::Arc { centre: [radius, -l], radius: r, from: -FRAC_PI_2, to: 0.0 },
        Piece::Line([radius + r, -l], [radius + r, l]),
        Piece::Arc { centre: [radius, l], radius: r, from: 0.0, to: FRAC_PI_2 },
    ]);
    Moments { centroid: DVec3::ZERO, ..m }
}

/// Round the rim of the base up to the normal of the side, along the side, round the apex.
fn cone(radius: f64, height: f64, r: f64) -> Moments {
    let slope = radius.atan2(height);
    let (sin, cos) = slope.sin_cos();
    let (base, apex) = (-0.25 * height, 0.75 * height);
    revolve::moments(&[
        Piece::Arc { centre: [radius, base], radius: r, from: -FRAC_PI_2, to: slope },
        Piece::Line([radius + r * cos, base + r * sin], [r * cos, apex + r * sin]),
        Piece::Arc { centre: [0.0, apex], radius: r, from: slope, to: FRAC_PI_2 },
    ])
}

/// The core; a prism on every face; a sector of a cylinder along every edge; a sector of a ball at every
/// vertex.
fn polyhedron(hull: &Hull, r: f64) -> Moments {
    let mut parts = vec![*hull.moments()];
    parts.extend((0..hull.faces().len()).map(|f| prism(hull, f, r)));
    parts.extend((0..hull.edges().len()).map(|e| edge_sector(hull, e, r)));
    parts.extend((0..hull.vertices().len()).map(|v| vertex_sector(hull, v, r)));
    Moments::sum(parts.iter().copied())
}

/// A face raised by r: for a triangle with corners a, b, c from their mean, ∫xxᵀ dA = A/12 (aaᵀ + bbᵀ + ccᵀ).
fn prism(hull: &Hull, f: usize, r: f64) -> Moments {
    let normal = hull.faces()[f].normal;
    let corners = hull.face_vertices(f);
    let at = |k: usize| hull.vertices()[corners[k] as usize];
    Moments::sum((1..corners.len() - 1).map(|k| {
        let triangle = [at(0), at(k), at(k + 1)];
        let area = 0.5 * (triangle[1] - triangle[0]).cross(triangle[2] - triangle[0]).dot(normal);
        let middle = (triangle[0] + triangle[1] + triangle[2]) / 3.0;
        let spread = triangle.iter().fold(DMat3::ZERO, |sum, p| sum + outer(*p - middle, *p - middle));
        Moments {
            volume: area * r,
            centroid: middle + 0.5 * r * normal,
            second: area * r * (spread * (1.0 / 12.0) + outer(normal, normal) * (r * r / 12.0)),
        }
    }))
}

/// Along an edge of length l, a sector of angle θ between the normals of its faces. With u halfway between
/// these and w across: A = θ r²/2, ∫u dA = 2/3 r³ sin(θ/2), ∫u² dA = r⁴/8 (θ + sin θ), ∫w² dA = r⁴/8 (θ − sin
/// θ).
fn edge_sector(hull: &Hull, e: usize, r: f64) -> Moments {
    let edge = &hull.edges()[e];
    let [a, b] = edge.ends.map(|v| hull.vertices()[v as usize]);
    let [m, n] = edge.faces.map(|f| hull.faces()[f as usize].normal);
    let length = a.distance(b);
    let along = (b - a) / length;
    let angle = between(m, n);
    let u = (m + n).normalize_or_zero();
    let w = along.cross(u);
    let area = 0.5 * angle * r * r;
    let reach = if angle > 0.0 { 2.0 / 3.0 * r.powi(3) * (0.5 * angle).sin() / area } else { 2.0 / 3.0 * r };
    let quarter = r.powi(4) / 8.0;
    let uu = quarter * (angle + angle.sin()) - area * reach * reach;
    let ww = quarter * (angle - angle.sin());
    Moments {
        volume: area * length,
        centroid: 0.5 * (a + b) + reach * u,
        second: length
            * (uu * outer(u, u) + ww * outer(w, w) + (area * length * length / 12.0) * outer(along, along)),
    }
}

/// At a vertex, the ball of radius r over the directions in which the vertex is furthest: a spherical polygon
/// between the normals of its faces. Its sides are great arcs across the edges: the one across the edge of
/// direction e leaves the polygon along e everywhere. Over the polygon, with ω its area and θ the angles of
/// the arcs,
///     ∫n dω = −½ Σ θ e,   ∫nnᵀ dω = ⅓ (ω 1 − Σ (∫ n dθ) eᵀ),
/// both by the divergence theorem on the sphere, for the tangential parts of a constant a and of a (c·n):
/// their divergences are −2 a·n and a·c − 3 (a·n)(c·n). ([Arvo1995] has all orders.) Along the radius, ∫ρ² dρ
/// = r³/3 and so on.
///
/// In the last formula the sum is left out: each arc comes up at both ends of its edge, with opposite e, and
/// there is no arm to this term. So `second` is right only for all vertices together, whose sectors make up
/// one ball.
fn vertex_sector(hull: &Hull, v: usize, r: f64) -> Moments {
    let here = hull.vertices()[v];
    let mut first = DVec3::ZERO;
    let mut arcs: Vec<[DVec3; 2]> = Vec::new();
    for &k in hull.neighbours(v) {
        let Some(edge) = hull.edge_between(v as u32, k) else { continue };
        let out = (hull.vertices()[k as usize] - here).normalize_or_zero();
        // Counter-clockwise about the vertex: the face to the right of the way out comes first.
        let [left, right] = edge.faces.map(|f| hull.faces()[f as usize].normal);
        let [m, n] = if edge.ends[0] == v as u32 { [right, left] } else { [left, right] };
        first -= 0.5 * between(m, n) * out;
        arcs.push([m, n]);
    }
    let omega = solid_angle(&arcs);
    // Over no directions to speak of, there is nothing to place either.
    if omega <= 0.0 {
        return Moments { centroid: here, ..Moments::ZERO };
    }
    let volume = omega * r.powi(3) / 3.0;
    let arm = first * (r.powi(4) / 4.0) / volume;
    let second = DMat3::IDENTITY * (omega / 3.0 * r.powi(5) / 5.0) - volume * outer(arm, arm);
    Moments { volume, centroid: here + arm, second }
}

/// The angle between unit vectors, good where it is small and where it is not.
fn between(m: DVec3, n: DVec3) -> f64 {
    2.0 * (m - n).length().atan2((m + n).length())
}

/// Area of the spherical polygon whose sides are the arcs: the sum of triangles from a point amid its
/// corners, each by tan(ω/2) = a·(b×c) / (1 + a·b + b·c + c·a) [VanOosteromStrackee1983, eq. 8].
fn solid_angle(arcs: &[[DVec3; 2]]) -> f64 {
    let middle = arcs.iter().flatten().copied().sum::<DVec3>().normalize_or_zero();
    let triangle = |[m, n]: &[DVec3; 2]| {
        let volume = middle.dot(m.cross(*n));
        2.0 * volume.atan2(1.0 + middle.dot(*m) + m.dot(*n) + n.dot(middle))
    };
    arcs.iter().map(triangle).sum()
}
