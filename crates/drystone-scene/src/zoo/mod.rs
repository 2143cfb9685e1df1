//! Random scenes and the invariants that every one of them must keep.
//!
//! A seed determines a scene completely: its kind, the bodies, joints, laws and settings, and how many steps
//! it runs. [`scene`] builds one, [`check::run`] steps it and checks it, [`batch::run`] does so for a range
//! of seeds on several threads. The kinds are in [`KINDS`]; many are recipes of scenes in which an invariant
//! was once broken, with random perturbations. `docs/guide/random-scenes.md` describes the checks and their
//! bounds.

pub mod batch;
pub mod check;
mod draw;
mod energy;
mod kinds;
mod place;
mod region;
#[cfg(test)]
mod tests;

use drystone::{BodyId, World};

pub use check::{Check, Outcome};
pub use draw::Draw;
pub use region::Region;

use crate::SceneError;

/// A family of random scenes.
pub struct Kind {
    /// As the command line spells it.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// How often it is chosen, relative to the other kinds.
    pub weight: u32,
    build: fn(&mut Draw) -> Result<Made, SceneError>,
}

/// All kinds.
pub const KINDS: &[Kind] = kinds::ALL;

/// What a kind makes of the draws.
struct Made {
    world: World,
    steps: usize,
    region: Option<Region>,
    passive: Vec<Vec<BodyId>>,
    overlap: bool,
    solved: bool,
    twin: Option<Twin>,
}

impl Made {
    /// A scene of so many steps, of which only overlaps and residuals are checked.
    fn new(world: World, steps: usize) -> Self {
        Self { world, steps, region: None, passive: Vec::new(), overlap: true, solved: true, twin: None }
    }

    /// The bodies that are inside the region now have to stay there.
    fn inside(mut self, region: Region) -> Self {
        self.region = Some(region);
        self
    }

    /// Nothing puts energy in: that of all bodies together must not grow.
    fn passive(mut self) -> Self {
        self.passive = vec![place::dynamic(&self.world)];
        self
    }

    /// Nothing puts energy in, and the groups never meet: that of each must not grow.
    fn passive_groups(mut self, groups: Vec<Vec<BodyId>>) -> Self {
        self.passive = groups;
        self
    }

    /// Constraints may contradict each other: overlaps and unsolved steps are no failures.
    fn contradictory(mut self) -> Self {
        (self.overlap, self.solved) = (false, false);
        self
    }
}

/// A second world in which some bodies have to move as they do in the first.
pub struct Twin {
    /// The other world.
    pub world: World,
    /// Bodies that move alike, in the first world and in this one.
    pub bodies: Vec<(BodyId, BodyId)>,
    /// Largest distance between their centres of mass, m; 0: the same bits.
    pub tolerance: f64,
}

/// A random scene, ready to be stepped.
pub struct RandomScene {
    /// What it was made from.
    pub seed: u64,
    /// Its kind, one of [`KINDS`].
    pub kind: &'static Kind,
    /// Bodies, joints and settings at time zero.
    pub world: World,
    /// Steps to take.
    pub steps: usize,
    /// A closed container, or the side of a floor: bodies whose centres start inside have to stay inside.
    pub region: Option<Region>,
    /// Groups of bodies whose energy must not grow; empty where something puts energy in.
    pub passive: Vec<Vec<BodyId>>,
    /// Whether deep overlaps are failures: they are not where walls close on bodies that cannot give way.
    pub overlap: bool,
    /// Whether steps beyond the tolerance are failures.
    pub solved: bool,
    /// Another world that has to move alike.
    pub twin: Option<Twin>,
}

/// The kind that a seed stands for.
pub fn kind_of(seed: u64) -> &'static Kind {
    choose(&mut Draw::new(seed))
}

/// The kind of that name.
pub fn kind_named(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|k| k.name == name)
}

/// The scene of a seed.
///
/// # Errors
/// Where the engine refuses a body, joint or setting: a defect of the kind.
pub fn scene(seed: u64) -> Result<RandomScene, SceneError> {
    let mut draw = Draw::new(seed);
    let kind = choose(&mut draw);
    let mut made = (kind.build)(&mut draw)?;
    // Energies are compared with those of the assembled mechanism.
    made.world.assemble_joints().map_err(place::error)?;
    if let Some(twin) = &mut made.twin {
        twin.world.assemble_joints().map_err(place::error)?;
    }
    let Made { world, steps, region, passive, overlap, solved, twin } = made;
    Ok(RandomScene { seed, kind, world, steps, region, passive, overlap, solved, twin })
}

fn choose(draw: &mut Draw) -> &'static Kind {
    let total = KINDS.iter().map(|k| k.weight).sum::<u32>();
    let mut left = draw.whole(0, total as usize - 1) as u32;
    for kind in KINDS {
        if left < kind.weight {
            return kind;
        }
        left -= kind.weight;
    }
    &KINDS[0]
}
