//! Pictures of bodies: a small ray caster on the CPU, PNG out. No window, no GPU, no knowledge of the
//! engine's world.
//!
//! A [`Picture`] is a list of solids with places and colours, a camera and a frame; [`render`] makes an
//! [`Image`] of it. Every solid is exact at every sample (a sphere is a sphere, a rounded cone a rounded
//! cone, not triangles), each pixel takes several samples, and the same picture gives the same bytes for any
//! number of threads.
//!
//! ```
//! use drystone_record::picture::{Item, Picture, Rgb, Solid, View, render};
//! use glam::DVec3;
//!
//! let ball = Item::new(Solid::Sphere { radius: 0.5 }, DVec3::new(0.0, 0.0, 0.5), Rgb::hex(0xD55E00));
//! let floor = Item::new(Solid::Ground, DVec3::ZERO, Rgb::grey(0.9));
//! let image = render(&Picture::of(vec![ball, floor], View::Iso, 160, 100));
//! assert_eq!(image.rgb.len(), 3 * 160 * 100);
//! ```

mod bvh;
mod camera;
mod colour;
mod figure;
mod font;
mod image;
mod overlay;
mod ray;
mod render;
mod scene;
mod shade;
mod smooth;

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

pub use camera::{Camera, UnknownView, View};
pub use colour::{CATEGORIES, ColourMap, Rgb, category, distinct};
pub use image::{Image, PngError};
pub use overlay::Legend;
pub use render::render;

/// Geometry of an item, in its own frame. Lengths in metres.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Solid {
    /// A ball.
    Sphere {
        /// m
        radius: f64,
    },
    /// A box.
    Box {
        /// Half extents along the local axes, m.
        half: DVec3,
    },
    /// All points within `radius` of the segment from (0, 0, -half_length) to (0, 0, half_length).
    Capsule {
        /// m
        radius: f64,
        /// Half the length of the core segment, m.
        half_length: f64,
    },
    /// All points with z <= 0: a wide chequered plane that fades into the background. It shows only from its
    /// free side, and casts no shadow, so that planes can stand around a scene as walls.
    Ground,
    /// A cylinder about z, with flat ends.
    Cylinder {
        /// m
        radius: f64,
        /// m
        half_length: f64,
    },
    /// A cone about z: apex at 3/4 of the height above the origin, base 1/4 below.
    Cone {
        /// Of the base, m.
        radius: f64,
        /// m
        height: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Semi-axes, m.
        half: DVec3,
    },
    /// A convex polyhedron.
    Convex {
        /// m
        vertices: Vec<DVec3>,
        /// Indices of the corners of each face, counter-clockwise from outside.
        faces: Vec<Vec<u32>>,
    },
    /// All points within `radius` of a box, cylinder, cone or convex polyhedron.
    Rounded {
        /// What is rounded.
        core: Box<Solid>,
        /// m
        radius: f64,
    },
    /// A surface of triangles, seen from both sides.
    Mesh {
        /// m
        vertices: Vec<DVec3>,
        /// Indices of the corners.
        triangles: Vec<[u32; 3]>,
        /// Edges at which the surface turns by less than this look round, degrees; 0 shows every triangle
        /// flat.
        crease: f64,
    },
}

impl Solid {
    /// Lower and upper corner of the box around the solid at a place; `None` for what has no bounds.
    pub fn bounds(&self, position: DVec3, rotation: DQuat) -> Option<(DVec3, DVec3)> {
        match self {
            Solid::Sphere { radius } => Some((position - *radius, position + *radius)),
            Solid::Box { half } => {
                let r = glam::DMat3::from_quat(rotation);
                let reach = r.x_axis.abs() * half.x + r.y_axis.abs() * half.y + r.z_axis.abs() * half.z;
                Some((position - reach, position + reach))
            }
            Solid::Capsule { radius, half_length } => {
                let reach = (rotation * DVec3::Z).abs() * *half_length + *radius;
                Some((position - reach, position + reach))
            }
            Solid::Cylinder { radius, half_length } => {
                let axis = rotation * DVec3::Z;
                let reach = axis.abs() * *half_length + disc_reach(axis) * *radius;
                Some((position - reach, position + reach))
            }
            Solid::Cone { radius, height } => {
                let axis = rotation * DVec3::Z;
                let (apex, base) = (position + 0.75 * height * axis, position - 0.25 * height * axis);
                let reach = disc_reach(axis) * *radius;
                Some((apex.min(base - reach), apex.max(base + reach)))
            }
            Solid::Ellipsoid { half } => {
                let r = glam::DMat3::from_quat(rotation);
                let stretched =
                    glam::DMat3::from_cols(r.x_axis * half.x, r.y_axis * half.y, r.z_axis * half.z);
                let rows = stretched.transpose();
                let reach = DVec3::new(rows.x_axis.length(), rows.y_axis.length(), rows.z_axis.length());
                Some((position - reach, position + reach))
            }
            Solid::Rounded { core, radius } => {
                core.bounds(position, rotation).map(|(low, high)| (low - *radius, high + *radius))
            }
            Solid::Ground => None,
            Solid::Convex { vertices, .. } | Solid::Mesh { vertices, .. } => {
                vertices.iter().map(|&v| position + rotation * v).fold(None, |b, p| {
                    let (low, high) = b.unwrap_or((p, p));
                    Some((low.min(p), high.max(p)))
                })
            }
        }
    }

    /// Whether dimensions are finite and not negative, and indices within range.
    fn is_sound(&self) -> bool {
        let length = |x: f64| x.is_finite() && x >= 0.0;
        match self {
            Solid::Sphere { radius } => length(*radius),
            Solid::Box { half } => half.to_array().into_iter().all(length),
            Solid::Capsule { radius, half_length } => length(*radius) && length(*half_length),
            Solid::Cylinder { radius, half_length } => length(*radius) && length(*half_length),
            Solid::Cone { radius, height } => length(*radius) && length(*height) && *height > 0.0,
            Solid::Ellipsoid { half } => half.to_array().into_iter().all(|x| length(x) && x > 0.0),
            Solid::Rounded { core, radius } => {
                length(*radius) && core.is_sound() && figure::Figure::of(self).is_some()
            }
            Solid::Ground => true,
            Solid::Convex { vertices, faces } => {
                vertices.iter().all(|v| v.is_finite())
                    && faces.iter().all(|f| f.len() > 2)
                    && faces.iter().flatten().all(|&i| (i as usize) < vertices.len())
            }
            Solid::Mesh { vertices, triangles, crease } => {
                crease.is_finite()
                    && vertices.iter().all(|v| v.is_finite())
                    && triangles.iter().flatten().all(|&i| (i as usize) < vertices.len())
            }
        }
    }
}

/// How far a unit disc about an axis reaches along the coordinates.
fn disc_reach(axis: DVec3) -> DVec3 {
    (DVec3::ONE - axis * axis).max(DVec3::ZERO).map(f64::sqrt)
}

/// A solid with a place and a colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// What it is.
    pub solid: Solid,
    /// Origin of its frame in the world, m.
    pub position: DVec3,
    /// Orientation of its frame; unit.
    pub rotation: DQuat,
    /// Colour of the surface.
    pub colour: Rgb,
    /// 1 for opaque. Below 1 each face lets the light of what is behind through, and the item casts no
    /// shadow.
    pub opacity: f32,
    /// Index of the item of which this is another piece: no line is drawn where they meet.
    pub piece_of: Option<u32>,
}

impl Item {
    /// An opaque item without rotation.
    pub fn new(solid: Solid, position: DVec3, colour: Rgb) -> Self {
        Self { solid, position, rotation: DQuat::IDENTITY, colour, opacity: 1.0, piece_of: None }
    }

    /// The item turned to `rotation`.
    pub fn rotated(mut self, rotation: DQuat) -> Self {
        self.rotation = rotation;
        self
    }

    /// The item made translucent.
    pub fn with_opacity(mut self, opacity: f32) -> Self {
        self.opacity = opacity;
        self
    }

    /// The item as another piece of an earlier one.
    pub fn piece_of(mut self, item: Option<u32>) -> Self {
        self.piece_of = item;
        self
    }

    /// Whether the item can be drawn: finite place, unit rotation, sound dimensions.
    pub fn is_drawable(&self) -> bool {
        // The ray caster's boxes are in single precision: what lies beyond it cannot be drawn.
        self.position.is_finite()
            && self.position.abs().max_element() < 1e30
            && self.rotation.is_finite()
            && (self.rotation.length() - 1.0).abs() < 1e-3
            && self.opacity.is_finite()
            && self.solid.is_sound()
    }
}

/// All that is needed to draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// What is shown.
    pub items: Vec<Item>,
    /// From where.
    pub camera: Camera,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Samples along each side of a pixel, 1 to 8: 2 is smooth, 3 smoother and twice as slow.
    pub samples: usize,
    /// Colour where there is nothing, and into which grounds fade.
    pub background: Rgb,
    /// Direction towards the key light; by default over the left shoulder of the camera.
    pub light: Option<DVec3>,
    /// A line of text in the upper left corner.
    pub title: Option<String>,
    /// A colour scale at the right edge.
    pub legend: Option<Legend>,
}

impl Picture {
    /// The default background: a very light, cool grey.
    pub const BACKGROUND: Rgb = Rgb::hex(0xF4F6F8);

    /// A picture of the items from a named view that fits all bodies into the frame.
    pub fn of(items: Vec<Item>, view: View, width: usize, height: usize) -> Self {
        let mut picture = Self {
            items,
            camera: Camera::fit_all(&[], view, 1.0),
            width,
            height,
            samples: 2,
            background: Self::BACKGROUND,
            light: None,
            title: None,
            legend: None,
        };
        picture.look_at_all(view);
        picture
    }

    /// Turns the camera to all bodies; where there is a legend, beside it.
    pub fn look_at_all(&mut self, view: View) {
        let boxes: Vec<(DVec3, DVec3)> = boxes(&self.items).collect();
        self.look_at(&boxes, view);
    }

    /// Turns the camera to some boxes; where there is a legend, beside it.
    pub fn look_at(&mut self, boxes: &[(DVec3, DVec3)], view: View) {
        let legend = self.legend.as_ref().map_or(0.0, |l| l.share(self.width, self.height));
        let aspect = self.width as f64 / self.height.max(1) as f64;
        // The frame has a margin that the legend may use.
        self.camera = Camera::fit_beside(boxes, view, aspect, (legend - Camera::MARGIN).max(0.0));
    }
}

/// Corners of the box around all drawable items that have bounds.
pub fn bounds(items: &[Item]) -> Option<(DVec3, DVec3)> {
    boxes(items).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

fn boxes(items: &[Item]) -> impl Iterator<Item = (DVec3, DVec3)> + '_ {
    items.iter().filter(|i| i.is_drawable()).filter_map(|i| i.solid.bounds(i.position, i.rotation))
}
