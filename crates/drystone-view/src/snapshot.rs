//! A moment of a world, as the page is to see it: bodies by the numbers that a [`Stage`] gave them.

use drystone::joint::WORLD_BODY;
use drystone::{Motion, StepReport, World};
use drystone_solve::disjoint::DisjointSets;
use glam::{DQuat, DVec3};

use crate::stage::Stage;

/// A value that every body has, for colours.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// As the page calls it.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// A whole number, not an amount.
    pub whole: bool,
}

const fn channel(name: &'static str, unit: &'static str, whole: bool) -> Channel {
    Channel { name, unit, whole }
}

/// What colours can show, beside the kind of a body.
pub const CHANNELS: [Channel; 5] = [
    channel("speed", "m/s", false),
    // Sum of the normal contact forces over weight.
    channel("force", "weights", false),
    // The deepest overlap of its contacts over the smaller inner radius.
    channel("overlap", "% of radius", false),
    // log10 of the largest residual of its contacts; -99 where there is none, or where it is not known.
    channel("residual", "m/s", false),
    // Bodies joined by contacts and joints have one number.
    channel("island", "", true),
];

/// The numbers of a frame: what plots show, in this order.
pub const NUMBERS: [(&str, &str); 18] = [
    ("kinetic energy", "J"),
    ("potential energy", "J"),
    ("deepest overlap", "m"),
    ("residual", "m/s"),
    ("contacts", ""),
    ("touching", ""),
    ("iterations", ""),
    ("step", "ms"),
    ("broad phase", "ms"),
    ("narrow phase", "ms"),
    ("solve", "ms"),
    ("correct", "ms"),
    ("bodies", ""),
    ("behind real time", "s"),
    ("iterations allowed", ""),
    ("real-time factor", ""),
    ("steps done", ""),
    ("steps solved", ""),
];

/// A contact and its force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactLine {
    /// Numbers of the bodies A and B.
    pub bodies: [u32; 2],
    /// m, world.
    pub point: DVec3,
    /// On A, N, world.
    pub force: DVec3,
    /// Signed distance, m.
    pub gap: f64,
}

/// Bodies, values and contacts at one time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Which stage it belongs to.
    pub epoch: u32,
    /// Steps done.
    pub step: u64,
    /// s
    pub time: f64,
    /// Positions are sent as multiples of this, m.
    pub quantum: f64,
    /// Centre of mass, m.
    pub position: Vec<DVec3>,
    /// Body to world.
    pub rotation: Vec<DQuat>,
    /// Whether it is there.
    pub alive: Vec<bool>,
    /// Whether its rotation cannot be seen.
    pub ball: Vec<bool>,
    /// By channel (see [`CHANNELS`]) and body.
    pub values: Vec<Vec<f32>>,
    /// See [`NUMBERS`].
    pub numbers: Vec<f32>,
    /// Contacts that there are.
    pub all_contacts: usize,
    /// The strongest of them, sorted by bodies.
    pub contacts: Vec<ContactLine>,
}

/// Contacts shown at most: of more, the strongest.
const MOST_CONTACTS: usize = 20_000;

impl Snapshot {
    /// The world as it is after a step, or before the first. The stage must know all of its bodies.
    pub fn of(stage: &Stage, world: &World, report: Option<&StepReport>) -> Self {
        let (model, state) = (world.model(), world.state());
        let n = stage.bodies();
        let mut all = Self {
            epoch: stage.epoch(),
            step: state.step,
            time: state.time,
            quantum: stage.quantum(),
            position: vec![DVec3::ZERO; n],
            rotation: vec![DQuat::IDENTITY; n],
            alive: vec![false; n],
            ball: stage.balls().to_vec(),
            values: vec![vec![0.0; n]; CHANNELS.len()],
            ..Self::default()
        };
        for slot in model.slots() {
            let Some(i) = stage.number(slot) else { continue };
            all.position[i] = state.position[slot];
            all.rotation[i] = state.rotation[slot];
            all.alive[i] = true;
            all.values[0][i] = state.velocity[slot].length() as f32;
        }
        all.contacts(stage, world);
        all.islands(stage, world);
        all.numbers = numbers(world, report);
        all
    }

    fn contacts(&mut self, stage: &Stage, world: &World) {
        let model = world.model();
        let h = world.settings().h;
        let contacts = world.contacts();
        let residuals = world.contact_residuals();
        self.values[3].fill(-99.0);
        let weight = |slot: u32| {
            let b = &model.bodies[slot as usize];
            if b.motion == Motion::Dynamic { b.mass.mass * world.settings().gravity.length() } else { 0.0 }
        };
        for (k, c) in contacts.iter().enumerate() {
            let normal = c.normal_impulse() / h;
            let size = model.pair_size(c.key.colliders[0], c.key.colliders[1]);
            let overlap = if c.gap < 0.0 && size > 0.0 { (-100.0 * c.gap / size) as f32 } else { 0.0 };
            let residual = residuals.as_ref().map_or(-99.0, |r| r[k].max(1e-30).log10() as f32);
            for slot in c.bodies {
                let Some(i) = stage.number(slot as usize) else { continue };
                let w = weight(slot);
                self.values[1][i] += if w > 0.0 { (normal / w) as f32 } else { 0.0 };
                self.values[2][i] = self.values[2][i].max(overlap);
                self.values[3][i] = self.values[3][i].max(residual);
            }
        }
        self.all_contacts = contacts.len();
        let line = |c: &drystone::Contact| {
            let [a, b] = c.bodies.map(|slot| stage.number(slot as usize));
            Some(ContactLine {
                bodies: [a? as u32, b? as u32],
                point: c.point,
                force: c.impulse / h,
                gap: c.gap,
            })
        };
        self.contacts = strongest(contacts.iter().filter_map(line).collect());
    }

    /// Numbers the islands in the order of their lowest bodies: 0 is what does not move by itself.
    fn islands(&mut self, stage: &Stage, world: &World) {
        let model = world.model();
        let dynamic = |b: u32| b != WORLD_BODY && model.bodies[b as usize].inv_mass > 0.0;
        let mut sets = DisjointSets::new(model.bodies.len());
        let joints = model.joint_slots().map(|j| model.joints[j].bodies);
        for [a, b] in world.contacts().iter().map(|c| c.bodies).chain(joints) {
            if dynamic(a) && dynamic(b) {
                sets.join(a, b);
            }
        }
        for slot in model.dynamic() {
            if let Some(i) = stage.number(slot) {
                let root = sets.root(slot as u32) as usize;
                self.values[4][i] = stage.number(root).map_or(0.0, |r| (1 + r % 65535) as f32);
            }
        }
    }
}

/// As many as are shown, in the order of their bodies.
pub(crate) fn strongest(mut lines: Vec<ContactLine>) -> Vec<ContactLine> {
    if lines.len() > MOST_CONTACTS {
        let strength = |c: &ContactLine| -c.force.length_squared();
        lines.select_nth_unstable_by(MOST_CONTACTS, |a, b| strength(a).total_cmp(&strength(b)));
        lines.truncate(MOST_CONTACTS);
    }
    lines.sort_by_key(|c| c.bodies);
    lines
}

fn numbers(world: &World, report: Option<&StepReport>) -> Vec<f32> {
    let energy = world.energy();
    let mut all = vec![0.0; NUMBERS.len()];
    (all[0], all[1]) = (energy.kinetic as f32, energy.potential as f32);
    all[12] = world.model().slots().count() as f32;
    if let Some(r) = report {
        let ms = |k: usize| 1e3 * r.spans[k].as_secs_f32();
        all[2] = r.penetration_max as f32;
        all[3] = r.certificate.residual_max as f32;
        all[4] = r.contacts as f32;
        all[5] = r.touching as f32;
        all[6] = r.iterations as f32;
        all[7] = 1e3 * r.spans.iter().sum::<std::time::Duration>().as_secs_f32();
        (all[8], all[9], all[10], all[11]) = (ms(0), ms(1), ms(3), ms(5));
    }
    all
}
