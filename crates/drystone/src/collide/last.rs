//! The contacts that two colliders had in the last step: where there is a choice between contacts that are about equally
//! good, it should be the same as then.

use crate::contact::{ContactKey, Remembered};

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

    /// The contacts of one part of a body with the triangles of a surface; with `swapped` the surface is the first
    /// collider.
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
