//! The camera: a perspective view from a point, and named views that fit a box into the frame.

use std::fmt;
use std::str::FromStr;

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A perspective camera.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Camera {
    /// Where the eye is, m.
    pub from: DVec3,
    /// The point in the middle of the picture, m.
    pub at: DVec3,
    /// The direction that points up in the picture; need not be unit or perpendicular to the line of sight.
    pub up: DVec3,
    /// Angle between the lower and the upper edge of the picture, degrees.
    pub fov: f64,
}

/// A named direction to look from. Up is +z, except from the top, where it is +y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// From the front right, above.
    #[default]
    Iso,
    /// Along +y.
    Front,
    /// Along -x.
    Side,
    /// Along -z.
    Top,
}

/// A view was asked for by a name that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no view '{name}'; the views are {}", View::ALL.map(|v| v.name()).join(", "))]
pub struct UnknownView {
    /// The name as it was given.
    pub name: String,
}

impl View {
    /// Every view.
    pub const ALL: [View; 4] = [View::Iso, View::Front, View::Side, View::Top];

    /// The name, as [`View::from_str`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            View::Iso => "iso",
            View::Front => "front",
            View::Side => "side",
            View::Top => "top",
        }
    }

    /// Unit vector from the middle of the scene towards the eye.
    pub fn towards_eye(self) -> DVec3 {
        match self {
            View::Iso => DVec3::new(0.55, -1.0, 0.55).normalize(),
            View::Front => DVec3::NEG_Y,
            View::Side => DVec3::X,
            View::Top => DVec3::Z,
        }
    }

    /// What points up in the picture.
    pub fn up(self) -> DVec3 {
        if self == View::Top { DVec3::Y } else { DVec3::Z }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for View {
    type Err = UnknownView;

    fn from_str(name: &str) -> Result<Self, UnknownView> {
        let wanted = name.trim().to_lowercase();
        View::ALL
            .into_iter()
            .find(|v| v.name() == wanted)
            .ok_or_else(|| UnknownView { name: name.to_string() })
    }
}

/// The axes of the picture, in world coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes {
    pub right: DVec3,
    pub up: DVec3,
    /// From the scene towards the eye.
    pub back: DVec3,
}

impl Axes {
    /// Axes for a line of sight; where `up` runs along it, another direction takes its place.
    pub fn new(towards_eye: DVec3, up: DVec3) -> Self {
        let back = towards_eye.try_normalize().unwrap_or(DVec3::NEG_Y);
        let right = up
            .cross(back)
            .try_normalize()
            .filter(|r| r.is_finite())
            .unwrap_or_else(|| back.any_orthonormal_vector());
        Self { right, up: back.cross(right), back }
    }

    /// World coordinates of a vector given along the axes.
    pub fn world(&self, v: DVec3) -> DVec3 {
        self.right * v.x + self.up * v.y + self.back * v.z
    }

    /// Coordinates along the axes of a vector given in the world.
    pub fn local(&self, v: DVec3) -> DVec3 {
        DVec3::new(v.dot(self.right), v.dot(self.up), v.dot(self.back))
    }
}

impl Camera {
    /// Vertical opening of a fitted camera, degrees: narrow, so that near and far bodies keep their
    /// proportions.
    pub const FITTED_FOV: f64 = 28.0;
    /// Share of the frame that a fitted camera keeps free around the box.
    pub const MARGIN: f64 = 0.07;

    /// The nearest camera of the view from which all of the box lies within the frame, with a small margin.
    /// `aspect` is width over height. A box that is empty or not finite is taken as the unit box at the
    /// origin.
    pub fn fit(bounds_min: DVec3, bounds_max: DVec3, view: View, aspect: f64) -> Self {
        Self::fit_all(&[(bounds_min, bounds_max)], view, aspect)
    }

    /// Like [`Camera::fit`], for several boxes: nearer than the box around them all would allow, where they
    /// lie across the picture. Boxes that are empty or not finite are left out.
    pub fn fit_all(boxes: &[(DVec3, DVec3)], view: View, aspect: f64) -> Self {
        Self::fit_beside(boxes, view, aspect, 0.0)
    }

    /// Like [`Camera::fit_all`], with the boxes in the left part of the frame: the share `free` of its width
    /// at the right edge, at most a half, is left for a legend.
    pub fn fit_beside(boxes: &[(DVec3, DVec3)], view: View, aspect: f64, free: f64) -> Self {
        let usable = |b: &&(DVec3, DVec3)| b.0.is_finite() && b.1.is_finite() && b.0.cmple(b.1).all();
        let mut boxes: Vec<(DVec3, DVec3)> = boxes.iter().filter(usable).copied().collect();
        if boxes.is_empty() {
            boxes.push((DVec3::splat(-0.5), DVec3::splat(0.5)));
        }
        let (low, high) = boxes.iter().fold(boxes[0], |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let aspect = if aspect.is_finite() && aspect > 0.0 { aspect } else { 1.0 };
        let axes = Axes::new(view.towards_eye(), view.up());
        let tan_y = (0.5 * Self::FITTED_FOV.to_radians()).tan() * (1.0 - 2.0 * Self::MARGIN);
        let left = tan_y * aspect;
        let right = left * (1.0 - 2.0 * free.clamp(0.0, 0.5));
        let centre = 0.5 * (low + high);

        // A corner (x, y, z) in picture axes is in frame when x - c_x ≤ (d - z) right, c_x - x ≤ (d - z)
        // left, and alike in y, where d is the distance of the eye and c its shift. The least d and the shift
        // follow from the extremes.
        let mut most = [f64::NEG_INFINITY; 4];
        let mut nearest = f64::NEG_INFINITY;
        for (low, high) in &boxes {
            for k in 0..8 {
                let pick = |bit: usize, a: f64, b: f64| if k & bit == 0 { a } else { b };
                let corner =
                    DVec3::new(pick(1, low.x, high.x), pick(2, low.y, high.y), pick(4, low.z, high.z));
                let p = axes.local(corner - centre);
                let sides = [p.x + p.z * right, -p.x + p.z * left, p.y + p.z * tan_y, -p.y + p.z * tan_y];
                for (m, s) in most.iter_mut().zip(sides) {
                    *m = m.max(s);
                }
                nearest = nearest.max(p.z);
            }
        }
        let size = (high - low).length();
        let floor = nearest + if size > 0.0 { 0.05 * size } else { 2.0 };
        let distance =
            ((most[0] + most[1]) / (left + right)).max(0.5 * (most[2] + most[3]) / tan_y).max(floor);
        let across = 0.5 * (most[0] - most[1] + distance * (left - right));
        let shift = DVec3::new(across, 0.5 * (most[2] - most[3]), 0.0);
        let at = centre + axes.world(shift);
        Self { from: at + axes.back * distance, at, up: view.up(), fov: Self::FITTED_FOV }
    }

    /// Picture coordinates of a world point in a frame of the given size: pixels right of the left edge,
    /// pixels below the upper edge, and the distance in front of the eye along the line of sight (m). `None`
    /// behind it.
    pub fn project(&self, point: DVec3, width: usize, height: usize) -> Option<DVec3> {
        let p = self.axes().local(point - self.from);
        let depth = -p.z;
        if depth.is_nan() || depth <= 0.0 {
            return None;
        }
        let pixels_per_slope = height as f64 / (2.0 * self.half_height());
        Some(DVec3::new(
            0.5 * width as f64 + p.x / depth * pixels_per_slope,
            0.5 * height as f64 - p.y / depth * pixels_per_slope,
            depth,
        ))
    }

    pub(super) fn axes(&self) -> Axes {
        Axes::new(self.from - self.at, self.up)
    }

    /// Half the height of the frame at unit distance.
    pub(super) fn half_height(&self) -> f64 {
        (0.5 * self.fov.clamp(0.1, 170.0).to_radians()).tan()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fitted_box_touches_the_margin_and_stays_inside() {
        let (low, high) = (DVec3::new(-1.0, 2.0, 0.0), DVec3::new(5.0, 3.0, 2.5));
        for view in View::ALL {
            for (width, height) in [(1280, 800), (400, 900)] {
                let camera = Camera::fit(low, high, view, width as f64 / height as f64);
                let (mut first, mut last) = (DVec3::MAX, DVec3::MIN);
                for k in 0..8 {
                    let corner =
                        DVec3::select(glam::BVec3::new(k & 1 == 0, k & 2 == 0, k & 4 == 0), low, high);
                    let p = camera.project(corner, width, height).unwrap();
                    (first, last) = (first.min(p), last.max(p));
                }
                let (w, h) = (width as f64, height as f64);
                let gaps = [first.x / w, 1.0 - last.x / w, first.y / h, 1.0 - last.y / h];
                let least = gaps.iter().fold(f64::MAX, |a, &g| a.min(g));
                assert!((least - Camera::MARGIN).abs() < 1e-9, "{view} {width}x{height}: {gaps:?}");
            }
        }
    }

    #[test]
    fn boxes_across_the_picture_are_seen_from_nearer_and_stay_inside() {
        let right = View::Iso.up().cross(View::Iso.towards_eye()).normalize();
        let boxes: Vec<_> =
            (-3..=3).map(|k| (right * f64::from(k) - 0.2, right * f64::from(k) + 0.2)).collect();
        let all = boxes.iter().fold(boxes[0], |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let (each, around) =
            (Camera::fit_all(&boxes, View::Iso, 4.0), Camera::fit(all.0, all.1, View::Iso, 4.0));
        assert!((each.from - each.at).length() < 0.8 * (around.from - around.at).length());
        for (low, high) in boxes {
            for corner in [low, high] {
                let p = each.project(corner, 1600, 400).unwrap();
                assert!(p.x > 111.0 && p.x < 1489.0 && p.y > 27.0 && p.y < 373.0, "{p}");
            }
        }
    }

    #[test]
    fn boxes_leave_room_for_a_legend() {
        let boxes = [(DVec3::new(-4.0, -0.5, 0.0), DVec3::new(4.0, 0.5, 1.0))];
        for view in View::ALL {
            let camera = Camera::fit_beside(&boxes, view, 1.6, 0.2);
            let corners = (0..8).map(|k| {
                let low = glam::BVec3::new(k & 1 == 0, k & 2 == 0, k & 4 == 0);
                camera.project(DVec3::select(low, boxes[0].0, boxes[0].1), 1600, 1000).unwrap()
            });
            let (first, last) = corners.fold((DVec3::MAX, DVec3::MIN), |(a, b), p| (a.min(p), b.max(p)));
            assert!(first.x > 111.0 && last.x < 1214.0, "{view}: {} to {}", first.x, last.x);
            assert!(first.y > 69.0 && last.y < 931.0, "{view}");
        }
    }

    #[test]
    fn views_are_found_by_name_and_unknown_ones_name_the_others() {
        for view in View::ALL {
            assert_eq!(view.name().parse(), Ok(view));
        }
        assert_eq!(" Top".parse(), Ok(View::Top));
        let message = "back".parse::<View>().unwrap_err().to_string();
        assert_eq!(message, "there is no view 'back'; the views are iso, front, side, top");
    }

    #[test]
    fn degenerate_boxes_give_finite_cameras() {
        let none = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for (low, high) in [none, (DVec3::ONE, DVec3::ONE), (DVec3::NAN, DVec3::ONE)] {
            let camera = Camera::fit(low, high, View::Iso, 1.6);
            assert!(camera.from.is_finite() && (camera.from - camera.at).length() > 0.1, "{camera:?}");
        }
    }
}
