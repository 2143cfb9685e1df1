//! A problem that ranks are to solve: this one's part of it, and how that stands in the whole.

use drystone::stages::Staged;
use drystone::{Contact, Shape};
use drystone_solve::problem::WORLD;

use crate::comm::Comm;
use crate::domain::{Domain, Movers};
use crate::island_problem::{PointKey, RowKey};
use crate::touch::NOBODY;

/// A problem that was posed.
pub struct Posed<'a> {
    pub comm: &'a dyn Comm,
    pub movers: &'a Movers,
    pub staged: Staged<'a>,
    /// What to start from, in the problem's rows; None: from nothing.
    pub guess: Option<&'a [f64]>,
    /// By slot of the part: its place among the movers.
    pub place: Vec<u32>,
    /// By contact, in the global order: its block of the problem.
    pub blocks: Vec<u32>,
    /// By mover: its place in the global order of bodies.
    pub orders: Vec<u32>,
    domain: &'a Domain,
    contacts: &'a [Contact],
}

impl<'a> Posed<'a> {
    /// The problem that the part of a domain has posed last, of these contacts; `warm`: from the last step's
    /// multipliers.
    pub fn new(comm: &'a dyn Comm, domain: &'a Domain, contacts: &'a [Contact], warm: bool) -> Self {
        let (movers, staged) = (&domain.movers, domain.part.world.staged());
        let mut place = vec![NOBODY; staged.problem.inv_mass.len()];
        movers.slots.iter().zip(0u32..).for_each(|(slot, k)| place[*slot as usize] = k);
        let mut blocks = vec![0u32; staged.order.len()];
        staged.order.iter().zip(0u32..).for_each(|(contact, block)| blocks[*contact as usize] = block);
        let orders = movers.slots.iter().map(|slot| domain.order_of(*slot)).collect();
        let guess = warm.then_some(staged.guess);
        Self { comm, movers, staged, guess, place, blocks, orders, domain, contacts }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        3 * self.blocks.len() + self.staged.problem.general.jacobian.len()
    }

    fn pair(&self, a: u32, b: u32) -> [u32; 2] {
        [self.place[a as usize], if b == WORLD { NOBODY } else { self.place[b as usize] }]
    }

    /// The movers of contact `i`, of which the first is one.
    pub fn contact(&self, i: usize) -> [u32; 2] {
        let (points, k) = (&self.staged.problem.points, self.blocks[i] as usize);
        self.pair(points.a[k], points.b[k])
    }

    /// The movers of row `i` of those of joints.
    pub fn row(&self, i: usize) -> [u32; 2] {
        let general = &self.staged.problem.general;
        self.pair(general.a[i], general.b[i])
    }

    /// By mover: the radius of a ball, m; the largest, where it has several, and none where it has none.
    pub fn radii(&self) -> Vec<f64> {
        let mut radii = vec![0.0f64; self.movers.slots.len()];
        for c in &self.domain.part.world.model().colliders {
            let place = self.place.get(c.body as usize).copied().unwrap_or(NOBODY);
            if let (Shape::Sphere { radius }, Some(to)) = (&c.shape, radii.get_mut(place as usize)) {
                *to = to.max(*radius);
            }
        }
        radii
    }

    /// Whether one of two movers is an own body.
    pub fn is_own(&self, pair: [u32; 2]) -> bool {
        pair.iter().any(|k| (*k as usize) < self.movers.own)
    }

    /// Movers by their places in the global order.
    pub fn in_order(&self, pair: [u32; 2]) -> [u32; 2] {
        pair.map(|k| self.orders.get(k as usize).copied().unwrap_or(NOBODY))
    }

    /// Where contact `i` stands among all, on every rank that knows it.
    pub fn point_key(&self, i: usize) -> PointKey {
        let key = &self.contacts[i].key;
        let [a, b] = key.colliders.map(|k| {
            let body = self.domain.part.world.model().colliders[k as usize].body;
            u64::from(self.domain.order_of(body)) << 32 | u64::from(self.domain.part.colliders[k as usize])
        });
        [a, b, key.feature]
    }

    /// Where row `i` of those of joints stands among all.
    pub fn row_key(&self, i: usize) -> RowKey {
        let (key, first) = (self.staged.keys[i], self.staged.problem.general.a[i]);
        let joint = match (key >> 32).checked_sub(1) {
            None => 0,
            Some(j) => 1 + u64::from(self.domain.part.joints[j as usize]),
        };
        [joint << 32 | key & u64::from(u32::MAX), u64::from(self.domain.order_of(first))]
    }
}
