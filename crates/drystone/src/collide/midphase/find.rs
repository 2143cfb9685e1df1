//! The contacts of any two shapes at rest.

use super::convex_mesh::{Workspace, touches};
use super::expand::{Side, part_pairs};
use super::proxy::Visitor;
use super::surface::Surface;
use crate::collide::narrowphase::{ContactPoint, Manifold, contacts};
use crate::shape::{Pose, Shape};

/// A contact point between parts of two shapes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartContact {
    /// The parts of A and B: of a compound the number of the part, of a mesh or height field a triangle,
    /// else 0.
    pub parts: [u32; 2],
    /// In world coordinates.
    pub point: ContactPoint,
}

/// Finds contacts between shapes of any kind, with memory that is kept from one use to the next.
///
/// ```
/// use drystone::collide::midphase::Finder;
/// use drystone::{HeightField, Pose, Shape};
/// use glam::DVec3;
/// # fn main() -> Result<(), String> {
/// let ground = Shape::HeightField(HeightField::new(2, 2, [1.0, 1.0], vec![0.0; 4])?.into());
/// let ball = Shape::Sphere { radius: 0.2 };
/// let mut finder = Finder::default();
/// let found = finder.find(&ball, &Pose::at(DVec3::new(0.1, 0.2, 0.25)), &ground, &Pose::IDENTITY, 0.1);
/// assert_eq!(found.len(), 1);
/// assert!((found[0].point.gap - 0.05).abs() < 1e-15);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Finder {
    work: Workspace,
    found: Vec<PartContact>,
}

impl Finder {
    /// The contacts between shape A and shape B with gap at most `reach` (not negative), sorted by parts and
    /// feature. There are none between half-spaces, meshes and height fields: ground does not touch ground.
    pub fn find(
        &mut self,
        shape_a: &Shape,
        pose_a: &Pose,
        shape_b: &Shape,
        pose_b: &Pose,
        reach: f64,
    ) -> &[PartContact] {
        self.found.clear();
        let side = |collider, shape, pose: &Pose| Side { collider, part: 0, shape, pose: *pose };
        part_pairs(side(0, shape_a, pose_a), side(1, shape_b, pose_b), reach, &mut |a, b| match (
            a.shape, b.shape,
        ) {
            _ if is_ground(a.shape) && is_ground(b.shape) => {}
            (_, Shape::Mesh(mesh)) => self.surface(&a, &b, mesh.as_ref(), reach, false),
            (_, Shape::HeightField(field)) => self.surface(&a, &b, field.as_ref(), reach, false),
            (Shape::Mesh(mesh), _) => self.surface(&b, &a, mesh.as_ref(), reach, true),
            (Shape::HeightField(field), _) => self.surface(&b, &a, field.as_ref(), reach, true),
            _ => {
                let mut manifold = Manifold::default();
                contacts(a.shape, &a.pose, b.shape, &b.pose, reach, &mut manifold);
                let parts = [a.part, b.part];
                self.found.extend(manifold.points().iter().map(|p| PartContact { parts, point: *p }));
            }
        });
        self.found.sort_unstable_by_key(|c| (c.parts, c.point.feature));
        &self.found
    }

    fn surface<S: Surface>(&mut self, part: &Side, ground: &Side, surface: &S, reach: f64, swapped: bool) {
        touches(surface, &Visitor::at_rest(part.shape, &part.pose, &ground.pose, reach), &mut self.work);
        for touch in &self.work.found {
            let (parts, point) = touch.placed(part.part, &ground.pose, swapped);
            self.found.push(PartContact { parts, point });
        }
    }
}

/// Shapes that only bodies have which nothing moves.
pub(crate) fn is_ground(shape: &Shape) -> bool {
    matches!(shape, Shape::HalfSpace | Shape::Mesh(_) | Shape::HeightField(_))
}
