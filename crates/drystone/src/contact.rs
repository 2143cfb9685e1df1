//! Contacts as the step knows them: geometry between two bodies, and what the solver found.

use drystone_solve::parallel;
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::collide::periodic;
use crate::model::Model;
use crate::shape::MOST_PARTS;
use crate::spatial_order::Place;

/// A contact is the same contact from step to step while its key is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContactKey {
    /// The lower and the higher collider slot.
    pub colliders: [u32; 2],
    /// What of them touches, from the highest bits down: 20 bits the part of the first, 20 bits the part of
    /// the second (a part of a compound, or a triangle), 5 bits the periodic image, 19 bits the features.
    pub feature: u64,
}

impl ContactKey {
    /// Parts are numbered below this.
    pub const PARTS: u32 = MOST_PARTS as u32;
    /// Features are numbered below this.
    pub const FEATURES: u32 = 1 << 19;
    const IMAGE: u32 = 19;
    const SECOND: u32 = 24;
    const FIRST: u32 = 44;

    /// The key of a contact between parts of two colliders, given in the order of their slots.
    #[doc(hidden)]
    pub fn new(colliders: [u32; 2], parts: [u32; 2], feature: u32) -> Self {
        debug_assert!(parts[0] < Self::PARTS && parts[1] < Self::PARTS && feature < Self::FEATURES);
        let [first, second] = parts.map(u64::from);
        Self { colliders, feature: first << Self::FIRST | second << Self::SECOND | u64::from(feature) }
    }

    /// The same contact in another periodic image, numbered below 32.
    #[doc(hidden)]
    pub fn with_image(self, image: u32) -> Self {
        debug_assert!(image < 32);
        Self { feature: self.feature & !(31 << Self::IMAGE) | u64::from(image) << Self::IMAGE, ..self }
    }

    /// The parts of the two colliders; 0 for a shape of one piece.
    pub fn parts(&self) -> [u32; 2] {
        [Self::FIRST, Self::SECOND].map(|shift| (self.feature >> shift) as u32 & (Self::PARTS - 1))
    }

    /// The periodic image.
    pub fn image(&self) -> u32 {
        (self.feature >> Self::IMAGE) as u32 & 31
    }

    /// The features of the parts, as the narrow phase names them.
    pub fn features(&self) -> u32 {
        self.feature as u32 & (Self::FEATURES - 1)
    }

    /// Whether the two are between the same parts in the same image.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.colliders == other.colliders && self.feature >> Self::IMAGE == other.feature >> Self::IMAGE
    }

    /// Whether the two name the same features of the same part on one side: what a contact keeps when a body
    /// slides from one triangle of the ground to the next.
    fn alike(&self, other: &Self) -> bool {
        let (a, b) = (self.parts(), other.parts());
        self.colliders == other.colliders
            && (a[0] == b[0] || a[1] == b[1])
            && (self.image(), self.features()) == (other.image(), other.features())
    }
}

/// A contact between two bodies, of which the first is dynamic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Identity over time.
    pub key: ContactKey,
    /// Body slots, A then B; n points from B to A.
    pub bodies: [u32; 2],
    /// Half-way between the two surfaces, m, world.
    pub point: DVec3,
    /// Unit normal from B to A.
    pub normal: DVec3,
    /// Signed distance, m.
    pub gap: f64,
    /// Coefficient of friction. A callback may change it.
    pub mu: f64,
    /// Impulse on A during the step, N s, world axes: before the solve the warm start, after it the solution.
    pub impulse: DVec3,
}

impl Contact {
    /// Normal part of the impulse, N s.
    pub fn normal_impulse(&self) -> f64 {
        self.impulse.dot(self.normal)
    }

    /// Whether A has the second collider.
    fn is_turned(&self, model: &Model) -> bool {
        self.bodies[0] == model.colliders[self.key.colliders[1] as usize].body
    }

    /// Tangential part of the impulse, N s.
    pub fn tangential_impulse(&self) -> DVec3 {
        self.impulse - self.normal_impulse() * self.normal
    }
}

/// What the geometry of a contact is, however it is kept.
pub(crate) trait Touch: Send {
    /// What is kept of a contact; `size` says what overlaps of its pair are measured by, m.
    fn of(c: &Contact, model: &Model, size: impl FnOnce() -> f64) -> Self;
    /// Body slots, A (dynamic) then B.
    fn bodies(&self) -> [u32; 2];
    /// Where the two bodies are taken: displacements of their centres, nonzero across the faces of a periodic
    /// box.
    fn images(&self, model: &Model) -> [DVec3; 2];
    fn point(&self) -> DVec3;
    /// From B to A.
    fn normal(&self) -> DVec3;
    fn gap(&self) -> f64;
}

impl Touch for Contact {
    fn of(c: &Contact, _: &Model, _: impl FnOnce() -> f64) -> Self {
        *c
    }
    fn bodies(&self) -> [u32; 2] {
        self.bodies
    }
    fn images(&self, model: &Model) -> [DVec3; 2] {
        images(model, self.key.image(), || self.is_turned(model))
    }
    fn point(&self) -> DVec3 {
        self.point
    }
    fn normal(&self) -> DVec3 {
        self.normal
    }
    fn gap(&self) -> f64 {
        self.gap
    }
}

/// A contact as a position problem needs it: without friction and impulse, in little memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    bodies: [u32; 2],
    /// The image of the pair in a periodic box, and whether A has the second collider.
    image: u16,
    turned: bool,
    /// A compliant contact: its overlap is how it pushes.
    soft: bool,
    /// What overlaps of the pair are measured by, rounded, m.
    size: f32,
    point: DVec3,
    normal: DVec3,
    gap: f64,
}

impl Gap {
    /// Whether its overlap is not to be removed.
    pub fn is_soft(&self) -> bool {
        self.soft
    }

    /// What overlaps of the pair are measured by, m.
    pub fn size(&self) -> f64 {
        f64::from(self.size)
    }
}

impl Touch for Gap {
    fn of(c: &Contact, model: &Model, size: impl FnOnce() -> f64) -> Self {
        let image = c.key.image();
        Self {
            bodies: c.bodies,
            image: image as u16,
            turned: image != 0 && c.is_turned(model),
            soft: model.is_soft(c.key.colliders),
            size: size() as f32,
            point: c.point,
            normal: c.normal,
            gap: c.gap,
        }
    }
    fn bodies(&self) -> [u32; 2] {
        self.bodies
    }
    fn images(&self, model: &Model) -> [DVec3; 2] {
        images(model, u32::from(self.image), || self.turned)
    }
    fn point(&self) -> DVec3 {
        self.point
    }
    fn normal(&self) -> DVec3 {
        self.normal
    }
    fn gap(&self) -> f64 {
        self.gap
    }
}

/// The body of the second collider is the one that is displaced; `turned`: that is A.
fn images(model: &Model, image: u32, turned: impl Fn() -> bool) -> [DVec3; 2] {
    let Some(periodic) = model.periodic.as_ref().filter(|_| image != 0) else { return [DVec3::ZERO; 2] };
    let shift = periodic.shift(periodic::image(image));
    if turned() { [shift, DVec3::ZERO] } else { [DVec3::ZERO, shift] }
}

/// What a contact leaves for the next step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Identity.
    pub key: ContactKey,
    /// Impulse, N s, world axes.
    pub impulse: DVec3,
}

/// Warm start: gives each contact the impulse that its key had in the last step. Both lists are in the same
/// order, so one walk does it. A new key between colliders that touched before takes what a contact now gone
/// left: the same feature on another part, as when a wheel rolls on to the next triangle. All others start
/// from zero. The impulse is turned back into the cone by the solver's first projection.
pub fn remember(contacts: &mut [Contact], last: &[Remembered], place: impl Fn([u32; 2]) -> Place + Sync) {
    let count = contacts.len();
    // Contacts of two colliders stay together.
    let cut = |t: usize| {
        let start = (t * CONTACTS_PER_TASK).min(count);
        let (before, after) = contacts.split_at(start);
        let pair = before.last().map(|c| c.key.colliders);
        start + after.iter().take_while(|c| Some(c.key.colliders) == pair).count()
    };
    let cuts: Vec<usize> = (1..=count.div_ceil(CONTACTS_PER_TASK)).map(cut).collect();
    parallel::for_each_part(cuts.into_iter(), contacts, |t, run| {
        let Some(first) = run.first() else { return };
        let here = place(first.key.colliders);
        let known = if t == 0 { 0 } else { last.partition_point(|m| place(m.key.colliders) < here) };
        remember_each(run, &last[known..], &place);
    });
}

/// What the next step starts from: the impulses of all contacts.
pub(crate) fn keep(contacts: &[Contact], kept: &mut Vec<Remembered>) {
    kept.clear();
    parallel::extend(kept, contacts.len(), |i| {
        let c = &contacts[i];
        Remembered { key: c.key, impulse: c.impulse }
    });
}

/// Contacts that one thread looks at in a row.
const CONTACTS_PER_TASK: usize = 2048;

fn remember_each(contacts: &mut [Contact], last: &[Remembered], place: impl Fn([u32; 2]) -> Place) {
    let mut at = 0;
    for now in contacts.chunk_by_mut(|a, b| a.key.colliders == b.key.colliders) {
        let colliders = now[0].key.colliders;
        // Most pairs are the next one of the last step's: only others ask where they stand.
        if last.get(at).is_some_and(|m| m.key.colliders != colliders) {
            let here = place(colliders);
            while at < last.len()
                && last[at].key.colliders != colliders
                && place(last[at].key.colliders) < here
            {
                at += 1;
            }
        }
        let length = last[at..].iter().take_while(|m| m.key.colliders == colliders).count();
        inherit(now, &last[at..at + length]);
        at += length;
    }
}

/// Between two colliders.
fn inherit(now: &mut [Contact], last: &[Remembered]) {
    let mut at = 0;
    let mut new = 0;
    for c in now.iter_mut() {
        while at < last.len() && last[at].key < c.key {
            at += 1;
        }
        let kept = at < last.len() && last[at].key == c.key;
        c.impulse = if kept { last[at].impulse } else { DVec3::ZERO };
        new += usize::from(!kept);
    }
    // As many keys as before, all of them known: nothing is gone that could be inherited.
    if new == 0 || now.len() - new == last.len() {
        return;
    }
    let known = |key: &ContactKey| last.binary_search_by_key(key, |m| m.key).is_ok();
    if new > MOST_INHERITED {
        return;
    }
    for i in 0..now.len() {
        let key = now[i].key;
        if known(&key) {
            continue;
        }
        // The r-th new contact of its kind takes what the r-th of those gone left.
        let rank = now[..i].iter().filter(|c| c.key.alike(&key) && !known(&c.key)).count();
        let gone =
            |m: &&Remembered| m.key.alike(&key) && now.binary_search_by_key(&m.key, |c| c.key).is_err();
        let left = last.iter().filter(gone).nth(rank).map(|m| m.impulse);
        now[i].impulse = left.unwrap_or(DVec3::ZERO);
    }
}

/// A compound that lands with thousands of parts at once has nothing worth a quadratic search.
const MOST_INHERITED: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_holds_its_parts() {
        let key = ContactKey::new([3, 8], [ContactKey::PARTS - 1, 77], ContactKey::FEATURES - 2);
        for image in [0, 31, 5] {
            let key = key.with_image(31).with_image(image);
            assert_eq!(key.parts(), [ContactKey::PARTS - 1, 77]);
            assert_eq!((key.image(), key.features()), (image, ContactKey::FEATURES - 2));
        }
        assert!(ContactKey::new([3, 8], [1, 0], 0) > ContactKey::new([3, 8], [0, 5], 9), "parts sort first");
    }

    fn contact(key: ContactKey) -> Contact {
        Contact {
            key,
            bodies: [0, 0],
            point: DVec3::ZERO,
            normal: DVec3::Z,
            gap: 0.0,
            mu: 0.0,
            impulse: DVec3::ONE,
        }
    }

    #[test]
    fn what_slides_to_the_next_triangle_keeps_its_impulse() {
        let key = |triangle, feature| ContactKey::new([0, 1], [0, triangle], feature);
        let last = [(key(5, 1), 1.0), (key(5, 2), 2.0), (key(6, 3), 3.0), (key(9, 2), 4.0)]
            .map(|(key, x)| Remembered { key, impulse: DVec3::splat(x) });
        // Corner 1 goes from 5 to 7, corner 3 stays, corner 2 leaves 5 and 9 for 8 and 11, and corner 4 is
        // new.
        let mut now = [key(6, 3), key(7, 1), key(7, 4), key(8, 2), key(11, 2)].map(contact);
        remember(&mut now, &last, |c| ([0; 2], c));
        assert_eq!(now.map(|c| c.impulse.x), [3.0, 1.0, 0.0, 2.0, 4.0]);
        // A key that is still there keeps its own, and nobody else gets it.
        let mut now = [key(5, 2), key(6, 2)].map(contact);
        remember(&mut now, &last[1..2], |c| ([0; 2], c));
        assert_eq!(now.map(|c| c.impulse.x), [2.0, 0.0]);
    }

    #[test]
    fn impulses_follow_their_keys() {
        let key = |a, b, feature| ContactKey::new([a, b], [0, 0], feature);
        let mut now: Vec<_> = [key(0, 1, 0), key(0, 1, 2), key(2, 3, 0)].map(contact).to_vec();
        let last = [(key(0, 1, 1), 1.0), (key(0, 1, 2), 2.0), (key(1, 3, 0), 3.0)]
            .map(|(key, x)| Remembered { key, impulse: DVec3::splat(x) });
        remember(&mut now, &last, |c| ([0; 2], c));
        assert_eq!(now.iter().map(|c| c.impulse.x).collect::<Vec<_>>(), [0.0, 2.0, 0.0]);
    }
}
