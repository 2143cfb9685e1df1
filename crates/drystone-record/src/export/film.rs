//! Frames of a recording as pictures: one camera and one colour scale for all of them.

use std::collections::{BTreeMap, HashMap};

use glam::DVec3;

use super::vtp::place;
use super::{Frames, Selection, rows};
use crate::picture::{Camera, Item, Legend, Picture, Rgb, View};
use crate::portrait::{Colouring, kind, kind_colour, nice, solids};
use crate::recording::{Frame, RecordError};

/// How the pictures look.
#[derive(Clone, Debug)]
pub struct Look {
    /// From where, with all of every frame in it.
    pub view: View,
    /// Or from here.
    pub camera: Option<Camera>,
    /// What colour means.
    pub colouring: Colouring,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Leaves out shapes whose origin is below this: axis (0, 1, 2) and coordinate, m.
    pub cut: Option<(usize, f64)>,
    /// Numbers of bodies to draw as glass.
    pub glass: Vec<i64>,
}

/// Pictures of frames.
pub struct Film<'a> {
    from: &'a dyn Frames,
    selection: &'a Selection,
    look: Look,
    bounds: Option<(DVec3, DVec3)>,
    legend: Option<Legend>,
    kinds: BTreeMap<String, usize>,
}

const STONE: Rgb = Rgb([0.62, 0.60, 0.57]);

impl<'a> Film<'a> {
    /// Looks at all frames for what the camera and the scale have to hold.
    ///
    /// # Errors
    /// For frames that cannot be read, or do not have what colour is to show.
    pub fn new(from: &'a dyn Frames, selection: &'a Selection, look: Look) -> Result<Self, RecordError> {
        let (mut low, mut high, mut top) = (DVec3::INFINITY, DVec3::NEG_INFINITY, 0.0f64);
        let (catalogue, mut any_contact) = (from.catalogue(), false);
        for k in &selection.frames {
            let frame = from.frame(*k)?;
            let rows = rows(&frame);
            any_contact |= !frame.contacts.gap.is_empty();
            for c in catalogue.colliders.iter().filter(|c| selection.has(c.body)) {
                let Some((pose, _)) = place(catalogue, &frame, &rows, c.body) else { continue };
                let bounds = catalogue.shapes[c.shape].aabb(&pose.compose(&c.local));
                if bounds.min.is_finite() && bounds.max.is_finite() {
                    (low, high) = (low.min(bounds.min), high.max(bounds.max));
                }
            }
            let values = values(&frame, look.colouring, from.step_s());
            top = values.iter().filter(|(id, _)| selection.has(**id)).map(|(_, x)| *x).fold(top, f64::max);
        }
        if look.colouring == Colouring::Force && !any_contact && !from.has_contacts() {
            return Err(RecordError::Form(
                "there are no contacts in it for --colour force: they are not in snapshots, and in recordings with \
                 --record-what contacts"
                    .into(),
            ));
        }
        let legend = match look.colouring {
            Colouring::Kind => None,
            Colouring::Force => Some(Legend::new("contact force", 0.0, nice(top), "N")),
            Colouring::Speed | Colouring::Scene => Some(Legend::new("speed", 0.0, nice(top), "m/s")),
        };
        let mut kinds = BTreeMap::new();
        for c in &catalogue.colliders {
            let next = kinds.len();
            kinds.entry(kind(&catalogue.shapes[c.shape])).or_insert(next);
        }
        let bounds = low.cmple(high).all().then_some((low, high));
        Ok(Self { from, selection, look, bounds, legend, kinds })
    }

    /// The picture of the n-th of the selected frames.
    ///
    /// # Errors
    /// For a frame that cannot be read.
    pub fn picture(&self, n: usize) -> Result<Picture, RecordError> {
        let frame = self.from.frame(self.selection.frames[n])?;
        let (rows, catalogue) = (rows(&frame), self.from.catalogue());
        let values = values(&frame, self.look.colouring, self.from.step_s());
        let mut items = Vec::new();
        for c in catalogue.colliders.iter().filter(|c| self.selection.has(c.body)) {
            let Some((pose, _)) = place(catalogue, &frame, &rows, c.body) else { continue };
            let (shape, pose) = (&catalogue.shapes[c.shape], pose.compose(&c.local));
            let in_front = |(axis, value): (usize, f64)| pose.position[axis] < value;
            if self.look.cut.is_some_and(in_front) && !matches!(shape, drystone::Shape::HalfSpace) {
                continue;
            }
            let colour = match (&self.legend, rows.contains_key(&c.body)) {
                (_, false) => STONE,
                (Some(legend), true) => legend.colour(values.get(&c.body).copied().unwrap_or(0.0)),
                (None, true) => kind_colour(self.kinds.get(&kind(shape)).copied().unwrap_or(0)),
            };
            let opacity = if self.look.glass.contains(&c.body) { 0.12 } else { 1.0 };
            let first = items.len() as u32;
            for (local, solid) in solids(shape) {
                let at = pose.compose(&local);
                let piece = (items.len() as u32 > first).then_some(first);
                let item = Item::new(solid, at.position, colour).rotated(at.rotation);
                items.push(item.with_opacity(opacity).piece_of(piece));
            }
        }
        let mut picture = Picture::of(items, self.look.view, self.look.width, self.look.height);
        picture.legend.clone_from(&self.legend);
        match (self.look.camera, self.bounds) {
            (Some(camera), _) => picture.camera = camera,
            (None, Some(bounds)) => picture.look_at(&[bounds], self.look.view),
            (None, None) => {}
        }
        picture.title = Some(format!("{}  t = {:.3} s", self.from.scene(), frame.time));
        Ok(picture)
    }
}

/// What colour shows of each body: speed (m/s), or the sum of its normal contact forces (N).
fn values(frame: &Frame, colouring: Colouring, h: f64) -> HashMap<i64, f64> {
    let b = &frame.bodies;
    if colouring != Colouring::Force {
        let speed = |v: &[f64; 3]| DVec3::from_array(*v).length();
        return b.id.iter().copied().zip(b.velocity.iter().map(speed)).collect();
    }
    let mut forces: HashMap<i64, f64> = HashMap::new();
    let c = &frame.contacts;
    for (k, bodies) in c.bodies.iter().enumerate() {
        let normal = DVec3::from_array(c.impulse[k]).dot(DVec3::from_array(c.normal[k])) / h;
        bodies.iter().for_each(|id| *forces.entry(*id).or_default() += normal);
    }
    // Static bodies have no colour, and would set the scale.
    let moving: std::collections::HashSet<i64> = b.id.iter().copied().collect();
    forces.retain(|id, _| moving.contains(id));
    forces
}
