//! Shapes by one call each.

use std::sync::Arc;

use glam::DVec3;

use super::{Compound, HeightField, Hull, Pose, Shape, TriMesh};

impl Shape {
    /// A ball.
    pub fn sphere(radius: f64) -> Self {
        Shape::Sphere { radius }
    }

    /// A box with the given half extents.
    pub fn cuboid(half: DVec3) -> Self {
        Shape::Box { half }
    }

    /// A capsule about the z axis: a segment of length 2 `half_length`, grown by `radius`.
    pub fn capsule(radius: f64, half_length: f64) -> Self {
        Shape::Capsule { radius, half_length }
    }

    /// A cylinder about the z axis of height 2 `half_length`.
    pub fn cylinder(radius: f64, half_length: f64) -> Self {
        Shape::Cylinder { radius, half_length }
    }

    /// A cone about the z axis, its apex up and its centroid at the origin.
    pub fn cone(radius: f64, height: f64) -> Self {
        Shape::Cone { radius, height }
    }

    /// An ellipsoid with the given semi-axes.
    pub fn ellipsoid(half: DVec3) -> Self {
        Shape::Ellipsoid { half }
    }

    /// The convex hull of points, where they lie.
    ///
    /// ```
    /// use drystone::Shape;
    /// use glam::DVec3;
    /// let wedge = Shape::hull(&[DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z])?;
    /// assert!((wedge.volume() - 1.0 / 6.0).abs() < 1e-15);
    /// assert!(wedge.centroid().distance(DVec3::splat(0.25)) < 1e-15);
    /// # Ok::<(), String>(())
    /// ```
    pub fn hull(points: &[DVec3]) -> Result<Self, String> {
        Hull::new(points).map(Self::from)
    }

    /// A surface of triangles for static or kinematic bodies: see [`TriMesh::new`].
    pub fn mesh(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Self, String> {
        TriMesh::new(vertices, triangles).map(Self::from)
    }

    /// Ground for static or kinematic bodies: see [`HeightField::new`].
    pub fn height_field(
        columns: usize,
        rows: usize,
        spacing: [f64; 2],
        heights: Vec<f64>,
    ) -> Result<Self, String> {
        HeightField::new(columns, rows, spacing, heights).map(Self::from)
    }

    /// Convex parts in one frame: see [`Compound::new`].
    ///
    /// ```
    /// use drystone::{Pose, Shape};
    /// use glam::DVec3;
    /// let head = (Pose::at(DVec3::new(0.0, 0.0, 0.3)), Shape::cuboid(DVec3::new(0.1, 0.05, 0.05)));
    /// let handle = (Pose::IDENTITY, Shape::cylinder(0.02, 0.25));
    /// let hammer = Shape::compound(vec![head, handle])?;
    /// assert!(hammer.centroid().z > 0.1);
    /// # Ok::<(), String>(())
    /// ```
    pub fn compound(parts: Vec<(Pose, Shape)>) -> Result<Self, String> {
        Compound::new(parts).map(Self::from)
    }

    /// All points within `radius` of a box, cylinder, cone or hull.
    pub fn rounded(core: Shape, radius: f64) -> Result<Self, String> {
        let shape = Shape::Rounded { core: Arc::new(core), radius };
        shape.check()?;
        Ok(shape)
    }
}

impl From<Hull> for Shape {
    fn from(hull: Hull) -> Self {
        Shape::Hull(Arc::new(hull))
    }
}

impl From<TriMesh> for Shape {
    fn from(mesh: TriMesh) -> Self {
        Shape::Mesh(Arc::new(mesh))
    }
}

impl From<HeightField> for Shape {
    fn from(field: HeightField) -> Self {
        Shape::HeightField(Arc::new(field))
    }
}

impl From<Compound> for Shape {
    fn from(compound: Compound) -> Self {
        Shape::Compound(Arc::new(compound))
    }
}
