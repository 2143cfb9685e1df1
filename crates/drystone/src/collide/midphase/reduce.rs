//! A few points for many: where a body lies on much of a surface, four well-spread points carry it as well as
//! a thousand.
//!
//! Points of nearly equal normals form a group; of each group at most four stay, chosen as the narrow phase
//! chooses the corners of a patch.

use glam::DVec2;

use super::convex_mesh::Touch;
use crate::collide::manifold_cache::LastTouches;
use crate::collide::narrowphase::manifold_reduction::{Corner, four};
use crate::collide::narrowphase::{ALONG_COS, ContactPoint, MAX_POINTS};

/// Memory for the work, kept from one use to the next.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// For each point the first of its group; [`GONE`] if it does not stay.
    marks: Vec<u32>,
    members: Vec<u32>,
    corners: Vec<Corner>,
}

const GONE: u32 = u32::MAX;

impl Groups {
    /// Thins out `found`, which comes sorted by name and stays so. Points closer together than `near` with
    /// nearly equal normals count as one, of which the first stays. `last` are the contacts of the last step.
    pub(super) fn reduce(&mut self, found: &mut Vec<Touch>, near: f64, last: Option<LastTouches>) {
        if found.len() < 2 {
            return;
        }
        self.marks.clear();
        let mut leaders = 0;
        for i in 0..found.len() {
            let n = found[i].point.normal;
            let leads = |k: &usize| self.marks[*k] == *k as u32 && found[*k].point.normal.dot(n) > ALONG_COS;
            let leader = (0..i).find(leads);
            leaders += usize::from(leader.is_none());
            self.marks.push(leader.unwrap_or(i) as u32);
        }
        if leaders == found.len() {
            return;
        }
        for leader in 0..found.len() as u32 {
            if self.marks[leader as usize] == leader {
                self.thin(found, leader, near, last);
            }
        }
        let mut at = 0;
        found.retain(|_| {
            at += 1;
            self.marks[at - 1] != GONE
        });
    }

    fn thin(&mut self, found: &mut [Touch], leader: u32, near: f64, last: Option<LastTouches>) {
        let Self { marks, members, corners } = self;
        members.clear();
        members.extend((leader..marks.len() as u32).filter(|&i| marks[i as usize] == leader));
        if members.len() > MAX_POINTS {
            let ContactPoint { normal, on_b: origin, .. } = found[leader as usize].point;
            let (u, v) = normal.any_orthonormal_pair();
            corners.clear();
            corners.extend(members.iter().map(|&i| {
                let Touch { part, point } = found[i as usize];
                let away = point.on_b - origin;
                let known = last.is_some_and(|last| last.knows(part, point.feature));
                Corner { place: DVec2::new(away.dot(u), away.dot(v)), gap: point.gap, known }
            }));
            let picks = four(corners);
            members.iter().for_each(|&i| marks[i as usize] = GONE);
            for pick in picks.as_slice() {
                let (name, at) = (members[pick.name] as usize, members[pick.at] as usize);
                marks[name] = leader;
                // Only what speaks for another changes, and that other one is not chosen.
                found[name].point = ContactPoint { feature: found[name].point.feature, ..found[at].point };
            }
            members.retain(|&i| marks[i as usize] != GONE);
        }
        for (k, &i) in members.iter().enumerate() {
            let twin = |j: &u32| {
                let (a, b) = (found[*j as usize].point.on_b, found[i as usize].point.on_b);
                marks[*j as usize] != GONE && a.distance_squared(b) < near * near
            };
            if members[..k].iter().any(twin) {
                marks[i as usize] = GONE;
            }
        }
    }
}
