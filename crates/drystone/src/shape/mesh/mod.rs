//! Surfaces of triangles.

mod edges;
mod extremes;
mod weld;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::{Moments, Pose, moments};
use crate::collide::Aabb;
use crate::collide::midphase::{Bvh, Skin};
use edges::{Edges, Flaw};
use extremes::Extremes;

/// A surface of triangles, counter-clockwise seen from outside.
///
/// Fit for ground, walls and moulds: static and kinematic bodies. It may be open; only
/// [`TriMesh::mass_properties`] asks for a closed one. Its triangles push to the side from which their
/// corners go counter-clockwise and not to the other, so that a sheet needs triangles on both sides to hold
/// bodies on both.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Data", into = "Data")]
pub struct TriMesh {
    vertices: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    normals: Vec<DVec3>,
    edges: Edges,
    bvh: Bvh,
    skin: Skin,
    extremes: Extremes,
    bounding_radius: f64,
    /// As if closed.
    moments: Moments,
}

/// What a file holds of a mesh.
#[derive(Serialize, Deserialize)]
struct Data {
    vertices: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
}

impl TryFrom<Data> for TriMesh {
    type Error = String;
    fn try_from(data: Data) -> Result<Self, String> {
        TriMesh::new(data.vertices, data.triangles)
    }
}

impl From<TriMesh> for Data {
    fn from(mesh: TriMesh) -> Self {
        Data { vertices: mesh.vertices, triangles: mesh.triangles }
    }
}

/// Vertices and triangles are all there is to it.
impl PartialEq for TriMesh {
    fn eq(&self, other: &Self) -> bool {
        self.vertices == other.vertices && self.triangles == other.triangles
    }
}

impl TriMesh {
    /// The mesh of the given vertices and triangles. Exactly equal vertices are welded, unused ones dropped;
    /// the triangles keep their order. Refuses, by index, what is not finite, out of range or without area.
    ///
    /// ```
    /// use drystone::shape::TriMesh;
    /// use glam::DVec3;
    /// let corners = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    /// let tetrahedron = TriMesh::new(corners, vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])?;
    /// assert!(tetrahedron.is_closed());
    /// assert!((tetrahedron.mass_properties()?.volume - 1.0 / 6.0).abs() < 1e-15);
    /// # Ok::<(), String>(())
    /// ```
    pub fn new(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Self, String> {
        let (vertices, triangles) = weld::weld(&vertices, triangles)?;
        for (k, t) in triangles.iter().enumerate() {
            weld::normal(t.map(|v| vertices[v as usize])).map_err(|e| format!("triangle {k} {e}"))?;
        }
        Self::of_clean(vertices, triangles)
    }

    /// Like [`TriMesh::new`], but leaves out triangles without area, and says how many those were.
    pub fn repaired(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<(Self, usize), String> {
        let before = triangles.len();
        let (vertices, mut triangles) = weld::weld(&vertices, triangles)?;
        triangles.retain(|t| weld::normal(t.map(|v| vertices[v as usize])).is_ok());
        let dropped = before - triangles.len();
        // Once more, for vertices that nothing uses any longer.
        let (vertices, triangles) = weld::weld(&vertices, triangles)?;
        Ok((Self::of_clean(vertices, triangles)?, dropped))
    }

    fn of_clean(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Self, String> {
        if triangles.is_empty() {
            return Err("a mesh needs at least one triangle".into());
        }
        let corners = |t: &[u32; 3]| t.map(|v| vertices[v as usize]);
        let normals: Vec<DVec3> =
            triangles.iter().map(|t| weld::normal(corners(t))).collect::<Result<_, _>>()?;
        let boxes: Vec<Aabb> = triangles
            .iter()
            .map(|t| {
                let [a, b, c] = corners(t);
                Aabb { min: a.min(b).min(c), max: a.max(b).max(c) }
            })
            .collect();
        let middle = vertices.iter().map(|v| *v / vertices.len() as f64).sum();
        let edges = Edges::new(&triangles);
        let skin = Skin::new(
            |k| corners(&triangles[k as usize]),
            |k| normals[k as usize],
            |k, edge| edges.neighbour(k as usize, edge),
            triangles.len() as u32,
        );
        Ok(Self {
            normals,
            edges,
            skin,
            bvh: Bvh::new(&boxes),
            extremes: Extremes::new(&vertices),
            bounding_radius: vertices.iter().map(|v| v.length()).fold(0.0, f64::max),
            moments: moments::of_surface(middle, triangles.iter().map(corners)),
            vertices,
            triangles,
        })
    }

    /// Corners, m.
    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// Vertex numbers, counter-clockwise from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The corners of triangle `k`, m.
    #[inline]
    pub fn triangle(&self, k: usize) -> [DVec3; 3] {
        let [a, b, c] = self.triangles[k];
        [self.vertices[a as usize], self.vertices[b as usize], self.vertices[c as usize]]
    }

    /// Unit outward normal of triangle `k`.
    #[inline]
    pub fn normal(&self, k: usize) -> DVec3 {
        self.normals[k]
    }

    /// The triangle across edge `edge` of triangle `k`; edge e runs from corner e to corner e + 1. None where
    /// the surface ends there, or goes on in more than one triangle or with the opposite orientation.
    pub fn neighbour(&self, k: usize, edge: usize) -> Option<u32> {
        self.edges.neighbour(k, edge)
    }

    /// Whether no edge is open: each belongs to two triangles (or four, six, ...).
    pub fn is_closed(&self) -> bool {
        self.edges.closed()
    }

    /// Whether triangles that share an edge agree on which side is outside.
    pub fn is_oriented(&self) -> bool {
        self.edges.oriented()
    }

    /// The volume enclosed, m³: negative if the surface is inside out. Means nothing for an open surface.
    pub fn signed_volume(&self) -> f64 {
        self.moments.volume
    }

    /// Volume, centroid and second moments of the solid inside; [`Moments::inertia`] makes an inertia of
    /// them. Refuses an open surface, naming an open edge, and one that is inside out.
    pub fn mass_properties(&self) -> Result<Moments, String> {
        match self.edges.flaw() {
            None if self.moments.volume > 0.0 => Ok(self.moments),
            None if self.moments.volume < 0.0 => {
                Err(format!("the mesh is inside out: its signed volume is {} m³", self.moments.volume))
            }
            None => Err("the mesh encloses no volume".into()),
            Some(Flaw::Open { ends: [a, b], triangle }) => Err(format!(
                "the mesh is open: the edge from {} to {} belongs to triangle {triangle} only (vertices {a}, {b})",
                self.vertices[a as usize], self.vertices[b as usize]
            )),
            Some(Flaw::Turned { ends: [a, b], triangles: [s, t] }) => Err(format!(
                "the mesh is not consistently oriented: triangles {s} and {t} both run from vertex {a} to vertex {b}"
            )),
        }
    }

    pub(super) fn enclosed(&self) -> Option<Moments> {
        self.mass_properties().ok()
    }

    /// The tree over the triangles' bounds.
    #[doc(hidden)]
    pub fn bvh(&self) -> &Bvh {
        &self.bvh
    }

    /// What the surface is like across its edges.
    #[doc(hidden)]
    pub fn skin(&self) -> &Skin {
        &self.skin
    }

    /// Radius of the smallest ball about the origin that holds the mesh, m.
    pub fn bounding_radius(&self) -> f64 {
        self.bounding_radius
    }

    /// World bounds at `pose`.
    pub fn aabb(&self, pose: &Pose) -> Aabb {
        self.extremes.aabb(pose)
    }

    /// The vertex furthest along `direction`.
    pub fn support(&self, direction: DVec3) -> DVec3 {
        self.extremes.support(direction)
    }
}
