//! Mechanisms without loops, body by body: every body but the root has one node that leads towards it, and a
//! body is done with before the one that it hangs on.

use crate::problem::WORLD;

/// A body, by its place in the mechanism, and what it hangs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TreeBody {
    pub body: u32,
    /// Whether something hangs on it, or nothing carries it.
    pub inner: bool,
    pub link: Option<Link>,
}

/// The node towards the root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    /// By its place in the order of elimination, and its rows.
    pub node: u32,
    pub rows: u32,
    /// Which of the node's two bodies is the body's.
    pub side: u8,
    /// The body it hangs on, or WORLD.
    pub parent: u32,
}

/// The bodies of a mechanism, leaves first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KinematicTree {
    pub bodies: Vec<TreeBody>,
    /// Which body is which body's.
    pub of_body: Vec<u32>,
}

impl KinematicTree {
    /// Of nodes that are given as (rows, body, body or WORLD); None where they close a loop.
    pub fn of(nodes: &[[u32; 3]], bodies: usize) -> Option<Self> {
        let grounded = nodes.iter().filter(|n| n[2] == WORLD).count();
        if grounded > 1 || nodes.len() + 1 != bodies + grounded {
            return None;
        }
        let mut near: Vec<Vec<(u32, u8)>> = vec![Vec::new(); bodies];
        for (i, [_, a, b]) in nodes.iter().enumerate() {
            near[*a as usize].push((i as u32, 0));
            if *b != WORLD {
                near[*b as usize].push((i as u32, 1));
            }
        }
        let world = nodes.iter().position(|n| n[2] == WORLD);
        // Where most joints meet ways are short.
        let root = match world {
            Some(i) => nodes[i][1],
            None => (0..bodies as u32).max_by_key(|b| (near[*b as usize].len(), u32::MAX - b))?,
        };
        let link =
            |node: u32, side: u8, parent: u32| Link { node, rows: nodes[node as usize][0], side, parent };
        let mut members =
            vec![TreeBody { body: root, inner: true, link: world.map(|i| link(i as u32, 0, WORLD)) }];
        let mut at = 0;
        while at < members.len() {
            let TreeBody { body, link: up, .. } = members[at];
            let before = members.len();
            for (node, side) in &near[body as usize] {
                let [_, a, b] = nodes[*node as usize];
                if b == WORLD || up.is_some_and(|up| up.node == *node) {
                    continue;
                }
                let other = if *side == 0 { b } else { a };
                members.push(TreeBody {
                    body: other,
                    inner: true,
                    link: Some(link(*node, 1 - side, at as u32)),
                });
            }
            members[at].inner = members.len() > before || up.is_none();
            at += 1;
        }
        if members.len() != bodies {
            return None;
        }
        let last = bodies as u32 - 1;
        members.reverse();
        let mut of_body = vec![WORLD; bodies];
        for (i, tree_body) in members.iter_mut().enumerate() {
            of_body[tree_body.body as usize] = i as u32;
            if let Some(link) = tree_body.link.as_mut().filter(|link| link.parent != WORLD) {
                link.parent = last - link.parent;
            }
        }
        Some(Self { bodies: members, of_body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_come_first_and_loops_are_refused() {
        // A cart 0 with two wheels and an arm 3 of two parts.
        let nodes = [[5, 1, 0], [5, 0, 2], [5, 0, 3], [5, 3, 4]];
        let found = KinematicTree::of(&nodes, 5).unwrap();
        assert_eq!(found.bodies.last().unwrap().body, 0, "most joints are at the cart");
        for (i, tree_body) in found.bodies.iter().enumerate() {
            assert_eq!(found.of_body[tree_body.body as usize], i as u32);
            assert_eq!(tree_body.inner, [0, 3].contains(&tree_body.body));
            let Some(link) = tree_body.link else { continue };
            assert!(link.parent as usize > i, "it hangs on what comes later");
            let bodies = [nodes[link.node as usize][1], nodes[link.node as usize][2]];
            assert_eq!(bodies[link.side as usize], tree_body.body);
            assert_eq!(bodies[1 - link.side as usize], found.bodies[link.parent as usize].body);
        }
        // On the ground; then twice, and with a loop.
        let grounded = KinematicTree::of(&[[5, 0, WORLD], [5, 0, 1]], 2).unwrap();
        assert_eq!(grounded.bodies[1].link.unwrap().parent, WORLD);
        assert_eq!(grounded.bodies[1].body, 0);
        assert_eq!(KinematicTree::of(&[[5, 0, WORLD], [5, 0, 1], [1, 1, WORLD]], 2), None);
        assert_eq!(KinematicTree::of(&[[5, 0, 1], [5, 1, 2], [5, 2, 0]], 3), None);
        assert_eq!(KinematicTree::of(&[[6, 0, 1], [1, 0, 1]], 2), None);
    }
}
