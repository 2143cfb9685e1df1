//! A convex shape as the general pair sees it: a core, and a ball of some radius rolled around it.
//!
//! With h(n) = max n·x the support function of the core, that of the shape is h(n) + radius. Distances of
//! shapes are distances of cores less the radii, so that round shapes may overlap by as much as their radii
//! and still count as apart.
//!
//! Every core is the hull of a few *pieces*: points, circles, or one smooth surface. Along any direction one
//! piece holds the furthest point, and while it is the same piece the furthest point moves smoothly;
//! [`Convex::curvature`] says how fast.
//!
//! An ellipsoid with semi-axes a ≥ b ≥ c has no radius of curvature below c²/a, therefore a ball of that
//! radius rolls freely inside it [Schneider2014, thm. 3.2.12], and it is the sum of that ball and a smaller
//! core whose support function is h(n) - c²/a.

use glam::{DMat3, DVec3};

use super::feature::Feature;
use crate::shape::{Hull, Pose, Shape};

/// The part of the smallest radius of curvature of an ellipsoid that is taken as its radius: a core with all
/// of it would come to a point.
const ROLLING: f64 = 0.9;

/// The geometry of a core, in the frame of the shape.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    Point,
    /// From -half to half along z.
    Segment {
        half: f64,
    },
    Box {
        half: DVec3,
    },
    Cylinder {
        radius: f64,
        half: f64,
    },
    /// `apex` and `base` are heights along z.
    Cone {
        radius: f64,
        apex: f64,
        base: f64,
    },
    /// Squares of the semi-axes, and by how much the core is smaller than the ellipsoid.
    Ellipsoid {
        squares: DVec3,
        less: f64,
    },
    Hull(&'a Hull),
}

/// A core and the radius around it.
#[derive(Clone, Copy)]
pub(crate) struct Convex<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) radius: f64,
}

impl<'a> Convex<'a> {
    /// Nothing for shapes that are not bounded and convex.
    pub(crate) fn of(shape: &'a Shape) -> Option<Self> {
        let sharp = |kind| Some(Self { kind, radius: 0.0 });
        match shape {
            Shape::Sphere { radius } => Some(Self { kind: Kind::Point, radius: *radius }),
            Shape::Capsule { radius, half_length } => {
                Some(Self { kind: Kind::Segment { half: *half_length }, radius: *radius })
            }
            Shape::Box { half } => sharp(Kind::Box { half: *half }),
            Shape::Cylinder { radius, half_length } => {
                sharp(Kind::Cylinder { radius: *radius, half: *half_length })
            }
            Shape::Cone { radius, height } => {
                sharp(Kind::Cone { radius: *radius, apex: 0.75 * height, base: -0.25 * height })
            }
            Shape::Ellipsoid { half } => {
                let least = half.min_element();
                let radius = ROLLING * least * (least / half.max_element());
                Some(Self { kind: Kind::Ellipsoid { squares: *half * *half, less: radius }, radius })
            }
            Shape::Hull(hull) => sharp(Kind::Hull(hull)),
            Shape::Rounded { core, radius } => {
                let inner = Self::of(core)?;
                Some(Self { kind: inner.kind, radius: inner.radius + radius })
            }
            Shape::HalfSpace | Shape::Mesh(_) | Shape::HeightField(_) | Shape::Compound(_) => None,
        }
    }

    /// Whether the core is the hull of finitely many points.
    pub(super) fn is_polytope(&self) -> bool {
        !matches!(self.kind, Kind::Cylinder { .. } | Kind::Cone { .. } | Kind::Ellipsoid { .. })
    }

    /// The furthest point of the core along `direction`, which need not be unit but not zero, and its piece.
    /// `hint` is the piece of a direction nearby: a hull starts there.
    #[inline]
    pub(super) fn support(&self, direction: DVec3, hint: u32) -> (DVec3, u32) {
        let piece = match self.kind {
            Kind::Point | Kind::Ellipsoid { .. } => 0,
            Kind::Segment { .. } | Kind::Cylinder { .. } => u32::from(direction.z >= 0.0),
            Kind::Box { .. } => {
                let d = direction;
                u32::from(d.x >= 0.0) | u32::from(d.y >= 0.0) << 1 | u32::from(d.z >= 0.0) << 2
            }
            Kind::Cone { radius, apex, base } => {
                let across = direction.truncate().length();
                u32::from(radius * across > (apex - base) * direction.z)
            }
            Kind::Hull(hull) => hull.support_from(hint, direction),
        };
        (self.piece_support(piece, direction), piece)
    }

    /// The piece that is furthest along `direction`, when nothing is known.
    #[inline]
    pub(super) fn start(&self, direction: DVec3) -> u32 {
        match self.kind {
            Kind::Hull(hull) => hull.support(direction),
            _ => self.support(direction, 0).1,
        }
    }

    /// The furthest point of one piece along `direction`.
    #[inline]
    pub(super) fn piece_support(&self, piece: u32, direction: DVec3) -> DVec3 {
        match self.kind {
            Kind::Point => DVec3::ZERO,
            Kind::Segment { half } => DVec3::Z * if piece == 1 { half } else { -half },
            Kind::Box { half } => DVec3::new(
                if piece & 1 != 0 { half.x } else { -half.x },
                if piece & 2 != 0 { half.y } else { -half.y },
                if piece & 4 != 0 { half.z } else { -half.z },
            ),
            Kind::Cylinder { radius, half } => rim(radius, if piece == 1 { half } else { -half }, direction),
            Kind::Cone { radius, apex, base } => {
                if piece == 0 {
                    DVec3::Z * apex
                } else {
                    rim(radius, base, direction)
                }
            }
            Kind::Ellipsoid { squares, less } => {
                let point = squares * direction;
                let q = point.dot(direction).sqrt();
                point / q - less * direction.normalize_or_zero()
            }
            Kind::Hull(hull) => hull.vertices()[piece as usize],
        }
    }

    /// The second derivatives of the support function of one piece at the unit vector `n`, along the tangents
    /// `u` and `v`: uu, uv, vv. Radii of curvature where the piece is a surface.
    pub(super) fn curvature(&self, piece: u32, n: DVec3, u: DVec3, v: DVec3) -> [f64; 3] {
        let circle = |radius: f64| {
            // r |n_xy| bends only along the tangent of the circle.
            let across = n.truncate().length().max(1e-150);
            let t = DVec3::new(-n.y / across, n.x / across, 0.0);
            let (tu, tv) = (t.dot(u), t.dot(v));
            let r = radius / across;
            [r * tu * tu, r * tu * tv, r * tv * tv]
        };
        match self.kind {
            Kind::Cylinder { radius, .. } => circle(radius),
            Kind::Cone { radius, .. } if piece == 1 => circle(radius),
            Kind::Ellipsoid { squares, less } => {
                let m = squares * n;
                let q = m.dot(n).sqrt();
                let (mu, mv) = (m.dot(u) / q, m.dot(v) / q);
                let (su, sv) = (squares * u, squares * v);
                [
                    (su.dot(u) - mu * mu) / q - less,
                    (su.dot(v) - mu * mv) / q,
                    (sv.dot(v) - mv * mv) / q - less,
                ]
            }
            _ => [0.0; 3],
        }
    }

    /// The axis along which a flat circular face looks, nearest to `direction`: ±z of a cylinder, -z of a
    /// cone.
    pub(super) fn cap(&self, direction: DVec3) -> Option<DVec3> {
        match self.kind {
            Kind::Cylinder { .. } => Some(if direction.z >= 0.0 { DVec3::Z } else { DVec3::NEG_Z }),
            Kind::Cone { .. } if direction.z < 0.0 => Some(DVec3::NEG_Z),
            _ => None,
        }
    }

    /// Of the flat circular faces.
    pub(super) fn rim_radius(&self) -> f64 {
        match self.kind {
            Kind::Cylinder { radius, .. } | Kind::Cone { radius, .. } => radius,
            _ => 0.0,
        }
    }

    /// A point well inside the core.
    pub(super) fn middle(&self) -> DVec3 {
        match self.kind {
            Kind::Hull(hull) => hull.moments().centroid,
            _ => DVec3::ZERO,
        }
    }

    /// How far the core reaches from the origin of the shape, at most, m.
    pub(super) fn extent(&self) -> f64 {
        match self.kind {
            Kind::Point => 0.0,
            Kind::Segment { half } => half,
            Kind::Box { half } => half.length(),
            Kind::Cylinder { radius, half } => radius.hypot(half),
            Kind::Cone { radius, apex, base } => radius.hypot(base).max(apex),
            Kind::Ellipsoid { squares, .. } => squares.max_element().sqrt(),
            Kind::Hull(hull) => hull.bounding_radius(),
        }
    }

    /// Numbers that tell shapes of one kind apart: kind, radius, sizes.
    fn signature(&self) -> [f64; 5] {
        let [kind, x, y, z] = match self.kind {
            Kind::Point => [0.0; 4],
            Kind::Segment { half } => [1.0, half, 0.0, 0.0],
            Kind::Box { half } => [2.0, half.x, half.y, half.z],
            Kind::Cylinder { radius, half } => [3.0, radius, half, 0.0],
            Kind::Cone { radius, apex, .. } => [4.0, radius, apex, 0.0],
            Kind::Ellipsoid { squares, .. } => [5.0, squares.x, squares.y, squares.z],
            Kind::Hull(hull) => {
                let v = hull.vertices()[0];
                [6.0, hull.vertices().len() as f64, hull.bounding_radius(), v.dot(super::SKEW)]
            }
        };
        [kind, self.radius, x, y, z]
    }
}

fn rim(radius: f64, height: f64, direction: DVec3) -> DVec3 {
    let across = direction.truncate().length();
    if across > 0.0 {
        DVec3::new(radius * (direction.x / across), radius * (direction.y / across), height)
    } else {
        DVec3::new(radius, 0.0, height)
    }
}

/// A point of A less a point of B.
#[derive(Clone, Copy)]
pub(super) struct Vertex {
    pub(super) a: DVec3,
    pub(super) b: DVec3,
    /// a - b
    pub(super) w: DVec3,
    /// The pieces of A and B they belong to.
    pub(super) pieces: [u32; 2],
}

impl Vertex {
    pub(super) const NONE: Self =
        Self { a: DVec3::ZERO, b: DVec3::ZERO, w: DVec3::ZERO, pieces: [u32::MAX; 2] };
}

/// Two cores, in the frame of A.
pub(super) struct Pair<'a> {
    pub(super) a: Convex<'a>,
    pub(super) b: Convex<'a>,
    /// Axes and origin of B in the frame of A.
    pub(super) turn: DMat3,
    pub(super) offset: DVec3,
    /// Sum of the radii around the cores.
    pub(super) radii: f64,
    /// What lengths are measured by where only rounding counts: the reach of both cores from the origin of A.
    pub(super) scale: f64,
}

impl<'a> Pair<'a> {
    pub(super) fn new(a: Convex<'a>, pose_a: &Pose, b: Convex<'a>, pose_b: &Pose) -> Self {
        let back = pose_a.rotation.conjugate();
        let offset = back * (pose_b.position - pose_a.position);
        Self {
            a,
            b,
            turn: DMat3::from_quat(back * pose_b.rotation),
            offset,
            radii: a.radius + b.radius,
            scale: a.extent() + b.extent() + offset.length(),
        }
    }

    /// The same cores, B elsewhere.
    pub(super) fn with_offset(&self, offset: DVec3) -> Self {
        let scale = self.a.extent() + self.b.extent() + offset.length();
        Self { offset, scale, ..*self }
    }

    /// Whether A and B stand in canonical order: by kind and size, hulls that are alike by their vertices,
    /// then by pose.
    pub(super) fn in_order(a: &Convex, pose_a: &Pose, b: &Convex, pose_b: &Pose) -> bool {
        // Large indices first, as for boxes: what has more structure is A.
        let (of_a, of_b) = (a.signature(), b.signature());
        if let (Kind::Hull(a), Kind::Hull(b)) = (&a.kind, &b.kind)
            && of_a == of_b
            && !std::ptr::eq(*a, *b)
        {
            let differ = |(p, q): (&DVec3, &DVec3)| super::greater(&p.to_array(), &q.to_array());
            if let Some(first) = a.vertices().iter().zip(b.vertices()).find_map(differ) {
                return first;
            }
        }
        super::in_order(&of_a, pose_a, &of_b, pose_b)
    }

    /// The vector `n` of the frame in the frame of B.
    #[inline]
    pub(super) fn in_b(&self, n: DVec3) -> DVec3 {
        DVec3::new(self.turn.x_axis.dot(n), self.turn.y_axis.dot(n), self.turn.z_axis.dot(n))
    }

    /// A point of B's frame.
    #[inline]
    pub(super) fn out_of_b(&self, point: DVec3) -> DVec3 {
        self.offset + self.turn * point
    }

    /// The pieces of the point of A - B least along `n`, when nothing is known.
    #[inline]
    pub(super) fn start(&self, n: DVec3) -> [u32; 2] {
        [self.a.start(-n), self.b.start(self.in_b(n))]
    }

    /// The point of A - B least along `n`: the separation of the cores along the unit vector n is n·w.
    #[inline]
    pub(super) fn support(&self, n: DVec3, hint: [u32; 2]) -> Vertex {
        let (a, piece_a) = self.a.support(-n, hint[0]);
        let (b, piece_b) = self.b.support(self.in_b(n), hint[1]);
        let b = self.out_of_b(b);
        Vertex { a, b, w: a - b, pieces: [piece_a, piece_b] }
    }

    /// The same for given pieces.
    pub(super) fn piece_support(&self, n: DVec3, pieces: [u32; 2]) -> Vertex {
        let a = self.a.piece_support(pieces[0], -n);
        let b = self.out_of_b(self.b.piece_support(pieces[1], self.in_b(n)));
        Vertex { a, b, w: a - b, pieces }
    }

    /// Second derivatives of -n·w for given pieces, along tangents u and v of the unit vector n.
    pub(super) fn curvature(&self, n: DVec3, pieces: [u32; 2], u: DVec3, v: DVec3) -> [f64; 3] {
        let a = self.a.curvature(pieces[0], -n, u, v);
        let b = self.b.curvature(pieces[1], self.in_b(n), self.in_b(u), self.in_b(v));
        [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
    }

    pub(super) fn is_polytope(&self) -> bool {
        self.a.is_polytope() && self.b.is_polytope()
    }

    /// The normals of flat faces of A and B near the unit vector `n`, turned from B to A; `pieces` are
    /// furthest along it.
    pub(super) fn faces_near(&self, n: DVec3, pieces: [u32; 2]) -> [Option<DVec3>; 2] {
        let normal = |feature: Feature| match feature {
            Feature::Face { normal, .. } | Feature::Disc { normal, .. } => Some(normal),
            _ => None,
        };
        let a = normal(self.a.feature(-n, pieces[0], DVec3::ZERO)).map(|m| -m);
        let b = normal(self.b.feature(self.in_b(n), pieces[1], DVec3::ZERO)).map(|m| self.turn * m);
        [a, b]
    }

    /// From the middle of B to the middle of A.
    pub(super) fn middles(&self) -> DVec3 {
        self.a.middle() - self.out_of_b(self.b.middle())
    }
}
