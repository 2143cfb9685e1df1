//! Which triangles meet along the edges of a mesh.

/// Who is across each edge, and the first thing found wrong.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    /// Three for each triangle; `u32::MAX` for nobody.
    across: Vec<u32>,
    open: Option<Flaw>,
    turned: Option<Flaw>,
}

/// Why a surface bounds no solid.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flaw {
    /// An edge with a triangle on one side only.
    Open { ends: [u32; 2], triangle: u32 },
    /// Two triangles that run along an edge the same way.
    Turned { ends: [u32; 2], triangles: [u32; 2] },
}

/// One side of a triangle, its ends in rising order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    low: u32,
    high: u32,
    triangle: u32,
    edge: u8,
    /// Runs from low to high.
    forward: bool,
}

const NOBODY: u32 = u32::MAX;

impl Edges {
    pub fn new(triangles: &[[u32; 3]]) -> Self {
        let mut sides: Vec<Side> = Vec::with_capacity(3 * triangles.len());
        for (k, t) in triangles.iter().enumerate() {
            for e in 0..3 {
                let (a, b) = (t[e], t[(e + 1) % 3]);
                sides.push(Side {
                    low: a.min(b),
                    high: a.max(b),
                    triangle: k as u32,
                    edge: e as u8,
                    forward: a < b,
                });
            }
        }
        sides.sort_unstable();
        let mut edges = Self { across: vec![NOBODY; sides.len()], open: None, turned: None };
        for shared in sides.chunk_by(|s, t| (s.low, s.high) == (t.low, t.high)) {
            edges.join(shared);
        }
        edges
    }

    fn join(&mut self, shared: &[Side]) {
        let first = shared[0];
        let ends = if first.forward { [first.low, first.high] } else { [first.high, first.low] };
        if let [a, b] = shared
            && a.forward != b.forward
        {
            self.across[3 * a.triangle as usize + a.edge as usize] = b.triangle;
            self.across[3 * b.triangle as usize + b.edge as usize] = a.triangle;
        }
        if shared.len() % 2 == 1 {
            self.open.get_or_insert(Flaw::Open { ends, triangle: first.triangle });
        } else if 2 * shared.iter().filter(|s| s.forward).count() != shared.len() {
            // More of one direction than of the other: two of the larger kind exist.
            let most = 2 * shared.iter().filter(|s| s.forward).count() > shared.len();
            let mut alike = shared.iter().filter(|s| s.forward == most);
            if let (Some(s), Some(t)) = (alike.next(), alike.next()) {
                let ends = if most { [s.low, s.high] } else { [s.high, s.low] };
                self.turned.get_or_insert(Flaw::Turned { ends, triangles: [s.triangle, t.triangle] });
            }
        }
    }

    pub fn neighbour(&self, triangle: usize, edge: usize) -> Option<u32> {
        assert!(edge < 3, "a triangle has no edge {edge}");
        let k = self.across[3 * triangle + edge];
        (k != NOBODY).then_some(k)
    }

    pub fn closed(&self) -> bool {
        self.open.is_none()
    }

    pub fn oriented(&self) -> bool {
        self.turned.is_none()
    }

    pub fn flaw(&self) -> Option<Flaw> {
        self.open.or(self.turned)
    }
}
