//! What ranks tell each other after each colour of contacts.

use crate::colours::Colours;
use crate::comm::Neighbour;
use crate::touch::NOBODY;
use crate::walk::Walk;

/// What goes where after a colour.
#[derive(Default)]
pub struct Shares {
    pub neighbours: Vec<Neighbour>,
    /// Movers whose numbers go and come.
    pub sends: Vec<u32>,
    pub receives: Vec<u32>,
}

/// What goes by colour, as so many numbers a body. A body's go to a rank that has it as a ghost and not the
/// contact that it has in this colour.
pub fn shares(walk: &Walk, of: &Colours, numbers: usize) -> Vec<Shares> {
    let movers = walk.movers();
    let own = movers.own as u32;
    let mut out: Vec<Shares> = (0..of.count).map(|_| Shares::default()).collect();
    let mut from = vec![0u32; movers.slots.len() - movers.own];
    let mut rest = &movers.receives[..];
    for (n, x) in movers.neighbours.iter().enumerate() {
        let (here, others) = rest.split_at(x.receives / 6);
        here.iter().for_each(|k| from[(*k - own) as usize] = n as u32);
        rest = others;
    }
    // By neighbour and own body, and by ghost: colours of contacts that both ranks know.
    let mut ours = vec![vec![0u64; movers.border]; movers.neighbours.len()];
    let mut theirs = vec![0u64; from.len()];
    for (t, colour) in walk.touches.iter().zip(&of.of) {
        // (Bodies that are held are nobody, at both ranks.)
        let ends =
            [(t.a, t.b), (t.b, t.a)].into_iter().filter(|(k, x)| *k < own && *x != NOBODY && *x >= own);
        for (k, ghost) in ends {
            theirs[(ghost - own) as usize] |= 1 << colour;
            ours[from[(ghost - own) as usize] as usize][k as usize] |= 1 << colour;
        }
    }
    let (mut sends, mut receives) = (&movers.sends[..], &movers.receives[..]);
    for (x, ours) in movers.neighbours.iter().zip(&ours) {
        let (go, come);
        (go, sends) = sends.split_at(x.sends / 6);
        (come, receives) = receives.split_at(x.receives / 6);
        for (colour, share) in out.iter_mut().enumerate() {
            let [from, to] = [share.sends.len(), share.receives.len()];
            let goes = |k: &&u32| (of.masks[**k as usize] & !ours[**k as usize]) >> colour & 1 == 1;
            let comes =
                |k: &&u32| (of.masks[**k as usize] & !theirs[(**k - own) as usize]) >> colour & 1 == 1;
            share.sends.extend(go.iter().filter(goes));
            share.receives.extend(come.iter().filter(comes));
            let counts = [share.sends.len() - from, share.receives.len() - to].map(|n| numbers * n);
            if counts != [0; 2] {
                share.neighbours.push(Neighbour { rank: x.rank, sends: counts[0], receives: counts[1] });
            }
        }
    }
    out
}
