//! A ball against a triangle in closed form: all that a ball touches is the nearest point of the triangle, if
//! that is also a nearest point of the surface around it.

use glam::DVec3;

use super::cone;
use super::convex_mesh::{EDGE, RIM, Touch, Visit};
use super::edge_topology::Crease;
use super::feature_edges::{edge_name, vertex_name};
use super::surface::{Feature, Surface, closest_feature};
use crate::collide::narrowphase::ContactPoint;

impl<S: Surface> Visit<'_, S> {
    /// A ball of the given radius that looks for contacts with triangle `k`.
    #[inline]
    pub(super) fn ball(&mut self, k: u32, radius: f64, found: &mut Vec<Touch>) {
        let v = self.visitor;
        let (corners, normal) = (self.surface.corners(k), self.surface.normal(k));
        let centre = v.pose.position;
        let height = (centre - corners[0]).dot(normal);
        let moves = v.way.dot(normal);
        if height - radius + moves.min(0.0) > v.near {
            return;
        }
        if height < 0.0 {
            self.behind = true;
        }
        let (foot, feature) = closest_feature(corners, centre);
        let away = centre - foot;
        let reach = radius + v.near;
        let squared = away.length_squared();
        if squared > (reach + v.way.length()).powi(2) {
            return;
        }
        // Over the triangle, where the foot on its plane is no further out than rounding puts it.
        let size = (corners[1] - corners[0]).length_squared();
        let over = feature == Feature::Face || (away - normal * height).length_squared() <= RIM * RIM * size;
        let gap = height - radius;
        let face = ContactPoint {
            on_a: centre - normal * radius,
            on_b: centre - normal * height,
            normal,
            gap,
            feature: 0,
        };
        if height < 0.0 {
            if over {
                self.is_inside();
            }
            return;
        }
        if over && gap <= v.near || self.arrives_over(&[(0, k)], centre, &face) {
            found.push(Touch { part: self.surface.skin().region(k), point: face });
        }
        if over {
            return;
        }
        if squared > reach * reach {
            // It may still arrive.
            if self.surface.skin().has_ridge(k) {
                self.edges(k, found);
            }
            return;
        }
        let distance = squared.sqrt();
        // A centre on the surface itself has no direction but the faces'.
        if distance <= 1e-12 * radius {
            return;
        }
        let direction = away / distance;
        let slack = self.slack;
        let touch = match feature {
            Feature::Face => None,
            Feature::Edge(edge) if self.owns(k, edge) => {
                cone::at_edge(self.surface, k, edge, foot, direction, slack)
                    .map(|n| (n, k, edge_name(edge, 0)))
            }
            Feature::Edge(_) => None,
            Feature::Vertex(corner) => self.at_corner(k, corner, direction),
        };
        if let Some((normal, part, name)) = touch {
            let point = ContactPoint {
                on_a: centre - direction * radius,
                on_b: foot,
                normal,
                gap: distance - radius,
                feature: EDGE | name,
            };
            found.push(Touch { part, point });
        }
    }

    fn at_corner(&mut self, k: u32, corner: usize, direction: DVec3) -> Option<(DVec3, u32, u32)> {
        // Only edges that stick out make vertices that do.
        let skin = self.surface.skin();
        let sticks_out = |edge: usize| matches!(skin.crease(k, edge), Crease::Convex | Crease::Open);
        if !(sticks_out(corner) || sticks_out((corner + 2) % 3)) {
            return None;
        }
        if self.asked.again(self.surface.corners(k)[corner]) {
            return None;
        }
        let (normal, (first, corner)) = cone::at_vertex(self.surface, k, corner, direction, self.slack)?;
        Some((normal, first, vertex_name(corner)))
    }
}
