//! The contacts that two colliders had in the last step: where there is a choice between contacts that are
//! about equally good, it should be the same as then.

use std::ops::Range;

use crate::contact::{ContactKey, Remembered};
use crate::spatial_order::Place;

/// Where the contacts of two colliders are among the last step's, at `start` or after it. Most often right
/// there: the search begins with small strides.
pub(super) fn find(
    last: &[Remembered],
    start: usize,
    colliders: [u32; 2],
    place: impl Fn([u32; 2]) -> Place,
) -> Range<usize> {
    let rest = &last[start..];
    let here = place(colliders);
    let before = |m: &Remembered| m.key.colliders != colliders && place(m.key.colliders) < here;
    let mut stride = 1;
    while rest.get(stride - 1).is_some_and(before) {
        stride *= 2;
    }
    let near = &rest[stride / 2..rest.len().min(stride)];
    let first = start + stride / 2 + near.partition_point(before);
    let count = last[first..].iter().take_while(|m| m.key.colliders == colliders).count();
    first..first + count
}

/// The last contacts of two colliders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last<'a> {
    contacts: &'a [Remembered],
    colliders: [u32; 2],
    image: u32,
}

impl<'a> Last<'a> {
    /// `contacts` are those of the two colliders, sorted by key; `image` is the periodic image.
    pub fn new(contacts: &'a [Remembered], colliders: [u32; 2], image: u32) -> Self {
        Self { contacts, colliders, image }
    }

    fn key(&self, parts: [u32; 2], feature: u32) -> ContactKey {
        ContactKey::new(self.colliders, parts, feature).with_image(self.image)
    }

    /// The features of the contacts between two parts.
    pub fn features(&self, parts: [u32; 2]) -> impl Iterator<Item = u32> + use<'a> {
        let first = self.key(parts, 0);
        let from = self.contacts.partition_point(|m| m.key < first);
        let same = move |m: &&Remembered| m.key.is_beside(&first);
        self.contacts[from..].iter().take_while(same).map(|m| m.key.features())
    }

    /// The contacts of one part of a body with the triangles of a surface; with `swapped` the surface is the
    /// first collider.
    pub fn with_surface(self, part: u32, swapped: bool) -> LastTouches<'a> {
        LastTouches { last: self, part, swapped }
    }
}

/// The last contacts of a part of a body with a surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastTouches<'a> {
    last: Last<'a>,
    part: u32,
    swapped: bool,
}

impl<'a> LastTouches<'a> {
    fn parts(&self, triangle: u32) -> [u32; 2] {
        if self.swapped { [triangle, self.part] } else { [self.part, triangle] }
    }

    /// The features of the contacts with one region or triangle.
    pub fn features(&self, triangle: u32) -> impl Iterator<Item = u32> + use<'a> {
        self.last.features(self.parts(triangle))
    }

    /// Whether there was this contact.
    pub fn knows(&self, triangle: u32, feature: u32) -> bool {
        let key = self.last.key(self.parts(triangle), feature);
        self.last.contacts.binary_search_by_key(&key, |m| m.key).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    /// The order of contacts is that of the bodies' places, which may be any, not that of the slots.
    #[test]
    fn contacts_are_found_where_they_stand() {
        let place = |[i, j]: [u32; 2]| ([97 * i % 101, 97 * j % 101], [i, j]);
        let mut last: Vec<Remembered> = (0..100u32)
            .flat_map(|i| (0..i % 4).map(move |k| ContactKey::new([i, 100], [0, 0], k)))
            .map(|key| Remembered { key, impulse: DVec3::ZERO })
            .collect();
        last.sort_by_key(|m| (place(m.key.colliders), m.key.feature));
        for i in 0..100 {
            let all = find(&last, 0, [i, 100], place);
            assert_eq!(all.len() as u32, i % 4, "{i}");
            assert!(last[all.clone()].iter().all(|m| m.key.colliders == [i, 100]));
            let before = last.iter().filter(|m| place(m.key.colliders) < place([i, 100])).count();
            for start in 0..=before {
                assert_eq!(find(&last, start, [i, 100], place), before..before + all.len());
            }
        }
    }
}
