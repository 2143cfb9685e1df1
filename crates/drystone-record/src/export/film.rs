//! Frames of a recording as pictures: one camera and one colour scale for all of them.

use glam::DVec3;

use super::vtp::place;
use super::{Selection, rows};
use crate::picture::{Item, Legend, Picture, Rgb, View};
use crate::portrait::{nice, solids};
use crate::recording::{RecordError, Recording};

/// How the pictures look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// From where.
    pub view: View,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
}

/// Pictures of a recording.
pub struct Film<'a> {
    recording: &'a Recording,
    selection: &'a Selection,
    look: Look,
    bounds: Option<(DVec3, DVec3)>,
    legend: Legend,
}

const STONE: Rgb = Rgb([0.62, 0.60, 0.57]);

impl<'a> Film<'a> {
    /// Looks at all frames for what the camera and the scale have to hold.
    ///
    /// # Errors
    /// For a recording that cannot be read.
    pub fn new(recording: &'a Recording, selection: &'a Selection, look: Look) -> Result<Self, RecordError> {
        let (mut low, mut high, mut top) = (DVec3::INFINITY, DVec3::NEG_INFINITY, 0.0f64);
        let catalogue = recording.catalogue();
        for k in &selection.frames {
            let frame = recording.frame(*k)?;
            let rows = rows(&frame);
            for c in catalogue.colliders.iter().filter(|c| selection.has(c.body)) {
                let Some((pose, v)) = place(recording, &frame, &rows, c.body) else { continue };
                let bounds = catalogue.shapes[c.shape].aabb(&pose.compose(&c.local));
                if bounds.min.is_finite() && bounds.max.is_finite() {
                    (low, high) = (low.min(bounds.min), high.max(bounds.max));
                }
                top = top.max(DVec3::from_array(v).length());
            }
        }
        let legend = Legend::new("speed", 0.0, nice(top), "m/s");
        let bounds = low.cmple(high).all().then_some((low, high));
        Ok(Self { recording, selection, look, bounds, legend })
    }

    /// The picture of the n-th of the selected frames.
    ///
    /// # Errors
    /// For a recording that cannot be read.
    pub fn picture(&self, n: usize) -> Result<Picture, RecordError> {
        let frame = self.recording.frame(self.selection.frames[n])?;
        let (rows, catalogue) = (rows(&frame), self.recording.catalogue());
        let still = |id: i64| !rows.contains_key(&id);
        let mut items = Vec::new();
        for c in catalogue.colliders.iter().filter(|c| self.selection.has(c.body)) {
            let Some((pose, v)) = place(self.recording, &frame, &rows, c.body) else { continue };
            let colour =
                if still(c.body) { STONE } else { self.legend.colour(DVec3::from_array(v).length()) };
            let first = items.len() as u32;
            for (local, solid) in solids(&catalogue.shapes[c.shape]) {
                let at = pose.compose(&c.local).compose(&local);
                let piece = (items.len() as u32 > first).then_some(first);
                items.push(Item::new(solid, at.position, colour).rotated(at.rotation).piece_of(piece));
            }
        }
        let mut picture = Picture::of(items, self.look.view, self.look.width, self.look.height);
        if let Some(bounds) = self.bounds {
            picture.look_at(&[bounds], self.look.view);
        }
        picture.legend = Some(self.legend.clone());
        picture.title = Some(format!("{}  t = {:.3} s", self.recording.scene(), frame.time));
        Ok(picture)
    }
}
