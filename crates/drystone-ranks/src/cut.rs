//! Space, cut in halves until every rank has a box: recursive bisection \[BergerBokhari1987\]. Results do not
//! depend on where it is cut.

use glam::DVec3;

use crate::comm::Comm;

/// Times that the place of a cut is halved.
const HALVINGS: usize = 36;

/// A cut, or a box that belongs to a rank.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// Below `at` along `axis` is the first of two nodes, the second is the one after it.
    Cut {
        axis: usize,
        at: f64,
        first: usize,
    },
    Box {
        rank: usize,
    },
}

/// Which rank owns which part of space.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    nodes: Vec<Node>,
}

/// A node that is to be cut, with its ranks.
struct Open {
    node: usize,
    ranks: std::ops::Range<usize>,
}

impl Cut {
    /// Who owns a place.
    pub fn owner(&self, x: DVec3) -> usize {
        let mut k = 0;
        loop {
            match &self.nodes[k] {
                Node::Cut { axis, at, first } => k = first + usize::from(x[*axis] >= *at),
                Node::Box { rank } => return *rank,
            }
        }
    }

    /// Cuts space so that every rank has about the same weight; `bodies` are this rank's own, with their
    /// weights.
    pub fn new(comm: &dyn Comm, bodies: &[(DVec3, i64)]) -> Self {
        let mut nodes = vec![Node::Box { rank: 0 }];
        let mut open = vec![Open { node: 0, ranks: 0..comm.size() }];
        let mut of = vec![0usize; bodies.len()];
        while open.iter().any(|o| o.ranks.len() > 1) {
            // By open node: its bodies' box and weight.
            let mut sides = vec![f64::NEG_INFINITY; 6 * open.len()];
            let mut weights = vec![0i64; open.len()];
            for ((x, weight), k) in bodies.iter().zip(&of) {
                weights[*k] += weight;
                for axis in 0..3 {
                    let side = &mut sides[6 * k..6 * k + 6];
                    side[axis] = side[axis].max(-x[axis]);
                    side[3 + axis] = side[3 + axis].max(x[axis]);
                }
            }
            comm.most(&mut sides);
            comm.add(&mut weights);
            let plans: Vec<_> = open
                .iter()
                .enumerate()
                .map(|(k, o)| {
                    let low = DVec3::from_slice(&sides[6 * k..]) * -1.0;
                    let high = DVec3::from_slice(&sides[6 * k + 3..]);
                    let long = high - low;
                    let axis = (0..3).fold(0, |best, a| if long[a] > long[best] { a } else { best });
                    let left = o.ranks.len() / 2;
                    let wanted = weights[k] as f64 * left as f64 / o.ranks.len() as f64;
                    let empty = !(long[axis] >= 0.0);
                    (axis, if empty { [0.0; 2] } else { [low[axis], high[axis]] }, wanted)
                })
                .collect();
            let mut ends: Vec<[f64; 2]> = plans.iter().map(|p| p.1).collect();
            for _ in 0..HALVINGS {
                let mut below = vec![0i64; open.len()];
                for ((x, weight), k) in bodies.iter().zip(&of) {
                    let [a, b] = ends[*k];
                    below[*k] += if x[plans[*k].0] < 0.5 * (a + b) { *weight } else { 0 };
                }
                comm.add(&mut below);
                for k in 0..open.len() {
                    let middle = 0.5 * (ends[k][0] + ends[k][1]);
                    ends[k][usize::from((below[k] as f64) > plans[k].2)] = middle;
                }
            }
            let mut next = Vec::new();
            let mut moved = vec![[0usize; 2]; open.len()];
            for (k, o) in open.iter().enumerate() {
                if o.ranks.len() == 1 {
                    moved[k] = [next.len(); 2];
                    next.push(Open { node: o.node, ranks: o.ranks.clone() });
                    continue;
                }
                let first = nodes.len();
                let middle = o.ranks.start + o.ranks.len() / 2;
                let at = 0.5 * (ends[k][0] + ends[k][1]);
                nodes[o.node] = Node::Cut { axis: plans[k].0, at, first };
                for (side, ranks) in [o.ranks.start..middle, middle..o.ranks.end].into_iter().enumerate() {
                    moved[k][side] = next.len();
                    nodes.push(Node::Box { rank: ranks.start });
                    next.push(Open { node: first + side, ranks });
                }
            }
            for ((x, _), k) in bodies.iter().zip(&mut of) {
                let side = match &nodes[open[*k].node] {
                    Node::Cut { axis, at, .. } => usize::from(x[*axis] >= *at),
                    Node::Box { .. } => 0,
                };
                *k = moved[*k][side];
            }
            open = next;
        }
        Self { nodes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    #[test]
    fn everybody_gets_about_the_same() {
        let n = 3000;
        let place = |i: usize| {
            let x = (i as f64 * 0.754877666) % 1.0;
            DVec3::new(3.0 * x * x, (i as f64 * 0.569840291) % 1.0, (i as f64 * 0.618034) % 1.0)
        };
        for size in [1, 2, 3, 5, 8] {
            let cuts = threads::run(size, |comm| {
                // They begin with bodies anywhere.
                let own: Vec<_> = (0..n).filter(|i| i % size == comm.rank()).map(|i| (place(i), 1)).collect();
                Cut::new(comm, &own)
            });
            assert!(cuts.windows(2).all(|c| c[0] == c[1]), "all ranks know the same cut");
            let mut count = vec![0; size];
            (0..n).for_each(|i| count[cuts[0].owner(place(i))] += 1);
            let (least, most) = (count.iter().min().unwrap(), count.iter().max().unwrap());
            assert!(most - least <= n / size / 20 + 8, "{size}: {count:?}");
        }
    }

    #[test]
    fn bodies_in_one_place_or_none_at_all_are_no_trouble() {
        for bodies in [vec![], vec![(DVec3::ONE, 1); 7]] {
            let cuts = threads::run(4, |comm| Cut::new(comm, if comm.rank() == 0 { &bodies } else { &[] }));
            assert!(cuts[0].owner(DVec3::ONE) < 4 && cuts[0].owner(DVec3::new(-1e9, 0.0, 1e9)) < 4);
        }
    }
}
