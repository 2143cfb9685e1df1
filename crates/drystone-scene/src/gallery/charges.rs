//! Salt: as many balls with a positive as with a negative charge, at random in space without gravity, fall
//! together. What touches in the end has opposite charges, nearly always; and as the forces of each pair are
//! opposite, nothing that they do to each other moves the whole.

use drystone::field::Pair;
use drystone::random::Random;
use drystone::{BodyDef, Field, Settings, Shape, World};
use glam::DVec3;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made};
use crate::probe::{Results, number};
use crate::{Memory, Paint, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "charges",
    title: "balls with charges of both signs fall together like salt",
    citation: "Coulomb's law with a shifted force: ToxvaerdDyre2011",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "216", "", "balls"),
    param("charge", "1e-6", "C", "of a ball, plus or minus"),
    param("cutoff", "0.6", "m", "no force beyond"),
    param("mu", "0.3", "", "coefficient of friction"),
    param("seed", "1", "", "of places and signs"),
    param("h", "0.002", "s", "step"),
    param("T", "2", "s", "duration"),
];

/// m
const RADIUS: f64 = 0.05;
/// kg/m³
const DENSITY: f64 = 200.0;
/// Of the lattice on which they start, and the largest shift from it, m.
const SPACING: f64 = 0.18;
const JITTER: f64 = 0.035;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 2, 1_000_000)? as usize;
    let charge = p.number("charge", 0.0, 1.0)?;
    let cutoff = p.positive("cutoff", 1e3)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let seed = p.whole("seed", 0, u64::MAX)?;
    let across = (n as f64).cbrt().ceil() as usize;
    let half = 0.5 * (across as f64 - 1.0);
    let mut random = Random::new(seed);
    let mut left = [n / 2, n - n / 2];
    let bodies = (0..n)
        .map(|k| {
            let site = DVec3::new(
                (k % across) as f64 - half,
                (k / across % across) as f64 - half,
                (k / (across * across)) as f64 - half,
            );
            let at = SPACING * site + random.in_box(DVec3::splat(-JITTER), DVec3::splat(JITTER));
            // Drawn without putting back: the whole is neutral, but for one ball of an odd number.
            let all = left[0] + left[1];
            let sign =
                usize::from(random.range(0.0, all as f64) >= left[0] as f64 && left[1] > 0 || left[0] == 0);
            left[sign] -= 1;
            let charge = [charge, -charge][sign];
            BodyDef::solid(Shape::Sphere { radius: RADIUS }, DENSITY).at(at).friction(mu).charged(charge)
        })
        .collect();
    Ok(Made {
        settings: Settings { gravity: DVec3::ZERO, ..Settings::default() },
        seed,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Salt { cutoff }),
    })
}

struct Salt {
    /// m
    cutoff: f64,
}

impl Probe for Salt {
    fn memory(&mut self, _: &mut Memory) {}

    fn fields(&self) -> Vec<Field> {
        vec![Field::Pair(Pair::electrostatic(Pair::COULOMB, self.cutoff))]
    }

    fn paint(&self, world: &World) -> Option<Paint> {
        let values = world.model().bodies.iter().map(|b| 1e6 * b.charge).collect();
        Some(Paint { label: "charge".into(), unit: "µC".into(), values })
    }

    fn results(&mut self, world: &World) -> Results {
        let (bodies, state) = (&world.model().bodies, world.state());
        let touching = || world.contacts().iter().filter(|c| c.gap <= 1e-3 * RADIUS);
        let unlike = |b: &[u32; 2]| bodies[b[0] as usize].charge * bodies[b[1] as usize].charge < 0.0;
        let all = touching().count() as f64;
        let opposite = touching().filter(|c| unlike(&c.bodies)).count() as f64;
        let momenta = world.model().dynamic().map(|i| bodies[i].mass.mass * state.velocity[i]);
        let (sum, sizes) = momenta.fold((DVec3::ZERO, 0.0), |(v, s), p| (v + p, s + p.length()));
        let mut results = Results::new();
        results.insert("contacts_per_ball".into(), number(2.0 * all / bodies.len() as f64));
        results.insert("opposite_charges_share_of_contacts".into(), number(opposite / all));
        results.insert("momentum_over_sum_of_sizes".into(), number(sum.length() / sizes));
        results.insert("potential_energy_J".into(), number(world.energy().potential));
        results
    }
}
