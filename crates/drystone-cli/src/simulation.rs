//! The options that all commands which simulate share, and the world made from them.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use drystone::collide::broadphase;
use drystone::{Integrator, Settings, Sleep, Stabilisation, World};
use drystone_record::labels::Labels;
use drystone_scene::{Assembled, Scene};
use drystone_solve::FrictionLaw;
use drystone_solve::solver::{BadSpec, Param, Spec};

use crate::failure::Failure;
use crate::record;
use drystone_cuda::backend::Backend;

/// Iterations of `--fast`.
const FAST: usize = 70;

/// Solvers whose cones have facets.
const ON_FACETS: [&str; 3] = ["lemke", "nsgs-lemke", "nsgs-qp"];
/// What `--model lcp` takes.
const LCP: [Param; 2] = [
    Param { name: "facets", default: "4", help: "facets of every cone, 3 to 64" },
    Param { name: "form", default: "stewart", help: "stewart: Coulomb's law; convex: the relaxed one" },
];

/// What to simulate and how.
#[derive(Args, Clone)]
pub struct Simulation {
    /// A gallery name (see `drystone scenes`), a scene file (.toml, .json) or a flat state (.json, .json.gz).
    pub scene: String,
    /// Override a scene parameter; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Step h, s [default: the scene's own].
    #[arg(long, value_name = "H")]
    pub step: Option<f64>,
    /// Time integrator: euler (the half-implicit scheme of the papers), moreau:theta=0.5 (positions follow
    /// the mean of old and new velocities), rattle:order=4 (or 2; smooth motion of mechanisms, euler in steps
    /// with contacts), auto (rattle for mechanisms that nothing touches, euler for all else) [default: the
    /// scene's own, auto].
    #[arg(long, value_name = "NAME[:k=v,...]")]
    pub integrator: Option<String>,
    /// Contact model: ccp, Coulomb's law with a relaxed normal condition (sliding bodies hover at
    /// mu h |v_t|); coulomb, the exact law; or lcp[:facets=4,form=stewart], a linear complementarity problem
    /// on cones of facets (form=convex: of the relaxed law), by the solver lemke [default], nsgs-lemke or
    /// nsgs-qp [default: the scene's own, ccp].
    #[arg(long, value_name = "ccp|coulomb|lcp")]
    pub model: Option<String>,
    /// Solver with parameters, such as pgs:omega=0.6,lambda=0.9 (see `drystone solvers`) [default: the
    /// scene's own, auto].
    #[arg(long, value_name = "NAME[:k=v,...]")]
    pub solver: Option<String>,
    /// Largest natural-map residual to accept, m/s; 0 runs all iterations [default: the scene's own, 1e-4].
    #[arg(long, value_name = "M_PER_S")]
    pub tolerance: Option<f64>,
    /// Cap on iterations of a velocity problem, for each island and each of its substeps; 0 leaves everything
    /// to the position problem [default: the scene's own, 20000].
    #[arg(long, value_name = "N")]
    pub iterations: Option<usize>,
    /// Speed before accuracy: at most 70 iterations for each island, and each of its substeps. Heaps
    /// in motion then end above the tolerance; the report counts the solved steps.
    #[arg(long, conflicts_with = "iterations")]
    pub fast: bool,
    /// Compliance of rows that ask for a motion (moving walls, motors, bounces, overlaps), as a share of
    /// their own diagonal of N; 0: rigid, as in the papers, where a step without a solution ends the run
    /// with an error [default: 1e-2].
    #[arg(long, value_name = "C")]
    pub compliance: Option<f64>,
    /// Cap on the time of one velocity problem, ms: of an island, in a step or in one of its substeps.
    /// (Results then depend on the machine's speed.)
    #[arg(long, value_name = "MS")]
    pub budget_ms: Option<f64>,
    /// Begin every velocity problem from zero, not from the last step's multipliers: to measure the gain of
    /// warm starts.
    #[arg(long)]
    pub cold: bool,
    /// Parts that a step is taken in, each of h/N with its own contacts and a share of --iterations and
    /// --budget-ms.
    #[arg(long, value_name = "N")]
    pub substeps: Option<usize>,
    /// Substeps that an island may take where a step does not resolve its motion, a power of two; 1: never
    /// (mechanisms that nothing touches choose their own by RATTLE) [default: 256].
    #[arg(long, value_name = "N")]
    pub max_substeps: Option<usize>,
    /// Cap on iterations of one position problem.
    #[arg(long, value_name = "N")]
    pub position_iterations: Option<usize>,
    /// Treatment of overlaps: none, moreau (none, with rows only for contacts that touch), scaled:K=0.2,
    /// clamped:A=0.1, post:tolerance=1e-4,accept=1e-4,reach=0.1,rounds=3.
    #[arg(long, value_name = "NAME[:k=v,...]")]
    pub stabilisation: Option<String>,
    /// Broad phase: sap, grid or brute [default: chosen by the sizes].
    #[arg(long, value_name = "NAME")]
    pub broadphase: Option<String>,
    /// Distance at which contacts exist before touching, m [default: |g| h^2 + 0.2 % of the pair's smaller
    /// inner radius]; grows with speed.
    #[arg(long, value_name = "M")]
    pub envelope: Option<f64>,
    /// Threads [default: one per core]; any number gives bitwise the same result.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Where steps are taken: on the processor; on an NVIDIA GPU (see `drystone devices`), whole steps
    /// of scenes of spheres (among static and kinematic shapes) or of boxes, capsules and spheres (among
    /// static ones), else velocity and position problems by apgd or pgj [auto: apgd]; or, with auto, steps of
    /// such scenes on whichever is quicker in a trial, and all others on the processor.
    #[arg(long, value_name = "cpu|cuda|auto", default_value = "cpu")]
    pub backend: String,
    /// Accept bodies that overlap by more than half a radius at the start; they are separated with bounded
    /// speed.
    #[arg(long)]
    pub allow_overlap: bool,
    /// Begin at a static equilibrium: the bodies are moved to a nearby state of rest before the first step;
    /// an error says why there is none.
    #[arg(long)]
    pub settle: bool,
    /// Leave bodies that have come to rest out of the steps until something disturbs them: their positions do
    /// not change meanwhile. At rest is what has been slower than speed (m/s; if not set, 0.01 sqrt(g r)) for
    /// time (s; 0.5).
    #[arg(long, value_name = "speed=M_PER_S,time=S", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub sleep: Option<String>,
}

/// A scene, its world at time zero, and the pool size.
pub struct Prepared {
    pub scene: Scene,
    pub world: World,
    pub threads: usize,
    pub backend: Backend,
    /// Names of its bodies for tables.
    pub labels: Labels,
    /// What putting the joints together has moved.
    pub assembled: Option<Assembled>,
}

/// Makes the thread pool; returns its size.
pub fn pool(threads: Option<usize>) -> Result<usize, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = threads.unwrap_or(cores);
    if threads == 0 || threads > 512 {
        return Err(Failure::input(format!("--threads must be between 1 and 512, got {threads}")));
    }
    // This thread is one of them: it would otherwise sleep while they work.
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
    builder.build_global().map_err(Failure::run)?;
    Ok(threads)
}

/// Splits `KEY=VALUE` texts.
pub fn pairs(set: &[String]) -> Result<Vec<(String, String)>, Failure> {
    set.iter()
        .map(|text| {
            let (k, v) = text
                .split_once('=')
                .ok_or_else(|| Failure::input(format!("--set {text}: expected KEY=VALUE")))?;
            Ok((k.trim().to_string(), v.trim().to_string()))
        })
        .collect()
}

impl Simulation {
    /// The options that were given: of a run that is over nothing can be changed.
    pub fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--set", !self.set.is_empty()),
            ("--step", self.step.is_some()),
            ("--integrator", self.integrator.is_some()),
            ("--model", self.model.is_some()),
            ("--solver", self.solver.is_some()),
            ("--tolerance", self.tolerance.is_some()),
            ("--iterations", self.iterations.is_some()),
            ("--fast", self.fast),
            ("--compliance", self.compliance.is_some()),
            ("--budget-ms", self.budget_ms.is_some()),
            ("--cold", self.cold),
            ("--substeps", self.substeps.is_some()),
            ("--max-substeps", self.max_substeps.is_some()),
            ("--position-iterations", self.position_iterations.is_some()),
            ("--stabilisation", self.stabilisation.is_some()),
            ("--broadphase", self.broadphase.is_some()),
            ("--envelope", self.envelope.is_some()),
            ("--backend", self.backend != "cpu"),
            ("--allow-overlap", self.allow_overlap),
            ("--settle", self.settle),
            ("--sleep", self.sleep.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(option, _)| option).collect()
    }

    /// Loads the scene, applies the options, builds the world, refuses deep overlaps, and puts joints
    /// together. The scene's bodies are the world's from then on.
    pub fn prepare(&self) -> Result<Prepared, Failure> {
        let backend = Backend::choose(&self.backend)?;
        let threads = pool(self.threads)?;
        let (scene, world, labels, assembled) = self.build_named(&backend, &pairs(&self.set)?)?;
        Ok(Prepared { scene, world, threads, backend, labels, assembled })
    }

    /// The scene that a snapshot file belongs to: the one that was `given` by --scene, or the one that the
    /// file names.
    pub fn of_snapshots(&self, file: &str, named: &str, given: Option<&str>) -> Result<Prepared, Failure> {
        let scene = given.unwrap_or(named).to_string();
        Self { scene, ..self.clone() }.prepare().map_err(|e| match given {
            Some(_) => e,
            None => Failure::input(format!(
                "{file}: its shapes are those of the scene '{named}', which cannot be loaded ({}): name it with --scene, with the --set it was \
                 run with",
                e.message
            )),
        })
    }

    /// The same with other parameters than the command line's, once the thread pool is there.
    pub fn build(&self, backend: &Backend, set: &[(String, String)]) -> Result<(Scene, World), Failure> {
        self.build_named(backend, set).map(|(scene, world, _, _)| (scene, world))
    }

    fn build_named(
        &self,
        backend: &Backend,
        set: &[(String, String)],
    ) -> Result<(Scene, World, Labels, Option<Assembled>), Failure> {
        if let Some(recording) = record::folder_of(Path::new(&self.scene)) {
            return Err(Failure::input(format!(
                "{}: is a recording, not a scene: drystone view {shown} shows it, drystone resume {shown} continues its run, drystone \
                 report {shown} sums it up, drystone export writes it in other forms",
                self.scene,
                shown = recording.display()
            )));
        }
        let mut scene = drystone_scene::load(&self.scene, set)?;
        let labels = Labels::new(&scene.bodies, &scene.flow, &scene.order);
        let mut settings = self.settings(scene.settings.clone())?;
        settings.solver = backend.solver(&settings.solver)?;
        let mut world = scene.take_world(settings).map_err(|e| drystone_scene::placed(&self.scene, e))?;
        self.check_overlaps(&mut world)?;
        let assembled = drystone_scene::assemble(&mut world, &self.scene)?;
        if self.settle {
            world.settle().map_err(|e| Failure::run(format!("--settle: {e}")))?;
        }
        Ok((scene, world, labels, assembled))
    }

    /// The scene again, with a world that was saved after some steps.
    pub fn resume(&self, world: &[u8], probe: &[u8]) -> Result<Prepared, Failure> {
        let backend = Backend::choose(&self.backend)?;
        let threads = pool(self.threads)?;
        let mut scene = drystone_scene::load(&self.scene, &pairs(&self.set)?)?;
        let labels = Labels::new(&scene.bodies, &scene.flow, &scene.order);
        scene.bodies = Vec::new();
        let mut world = World::load(world).map_err(|e| Failure::input(format!("the saved world: {e}")))?;
        if let Some(drive) = scene.probe.drive() {
            world.before_step(move |world| drive(world));
        }
        scene
            .probe
            .load(probe)
            .map_err(|e| Failure::input(format!("what {} has measured: {e}", scene.name)))?;
        Ok(Prepared { scene, world, threads, backend, labels, assembled: None })
    }

    fn settings(&self, mut s: Settings) -> Result<Settings, Failure> {
        if let Some(h) = self.step {
            if !(h.is_finite() && h > 0.0) {
                return Err(Failure::input(format!("--step must be positive and finite, got {h}")));
            }
            s.h = h;
        }
        if let Some(solver) = &self.solver {
            s.solver.clone_from(solver);
        }
        if let Some(model) = &self.model {
            (s.model, s.solver) = match model.split(':').next() {
                Some("lcp") => self.facets(model)?,
                _ => (FrictionLaw::parse(model).map_err(Failure::input)?, s.solver),
            };
        }
        if let Some(tolerance) = self.tolerance {
            if !(tolerance.is_finite() && tolerance >= 0.0) {
                return Err(Failure::input(format!(
                    "--tolerance must be finite and not negative, got {tolerance}"
                )));
            }
            s.tolerance = tolerance;
        }
        if let Some(n) = self.iterations {
            s.iterations = n;
        }
        if self.fast {
            s.iterations = s.iterations.min(FAST);
        }
        if let Some(c) = self.compliance {
            if !(0.0..=1.0).contains(&c) {
                return Err(Failure::input(format!("--compliance must be from 0 to 1, got {c}")));
            }
            s.compliance = c;
        }
        if self.cold {
            s.warm_start = false;
        }
        if let Some(n) = self.substeps {
            s.substeps = n;
        }
        if let Some(n) = self.max_substeps {
            s.max_substeps = n;
        }
        if let Some(n) = self.position_iterations {
            s.position_iterations = n;
        }
        if let Some(ms) = self.budget_ms {
            if !(0.0..=1e9).contains(&ms) {
                return Err(Failure::input(format!(
                    "--budget-ms must be finite, not negative and at most 1e9, got {ms}"
                )));
            }
            s.budget = Some(Duration::from_secs_f64(1e-3 * ms));
        }
        if let Some(text) = &self.integrator {
            s.integrator =
                Integrator::parse(text).map_err(|e| Failure::input(format!("--integrator: {e}")))?;
        }
        if let Some(text) = &self.stabilisation {
            s.stabilisation =
                Stabilisation::parse(text).map_err(|e| Failure::input(format!("--stabilisation: {e}")))?;
        }
        if let Some(name) = &self.broadphase {
            let kind = broadphase::Kind::from_name(name)
                .ok_or_else(|| BadSpec::unknown("broadphase", name, &broadphase::Kind::NAMES));
            s.broadphase = Some(kind.map_err(Failure::input)?);
        }
        if let Some(text) = &self.sleep {
            s.sleep = Some(Sleep::parse(text).map_err(|e| Failure::input(format!("--sleep: {e}")))?);
        }
        if self.envelope.is_some() {
            s.envelope = self.envelope;
        }
        s.check().map_err(Failure::input)?;
        Ok(s)
    }

    /// The law and the solver of `--model lcp`.
    fn facets(&self, model: &str) -> Result<(FrictionLaw, String), Failure> {
        let spec = Spec::parse(model).map_err(|e| Failure::input(format!("--model: {e}")))?;
        spec.check(&LCP).map_err(|e| Failure::input(format!("--model: {e}")))?;
        let law = match spec.text("form") {
            None | Some("stewart") => FrictionLaw::Coulomb,
            Some("convex") => FrictionLaw::Ccp,
            Some(other) => {
                return Err(Failure::input(BadSpec::unknown("form", other, &["stewart", "convex"])));
            }
        };
        let solver = self.solver.as_deref().unwrap_or("lemke");
        let name = solver.split(':').next().unwrap_or_default();
        if !ON_FACETS.contains(&name) {
            let text =
                format!("--model lcp: the solver must be one of {}, got '{name}'", ON_FACETS.join(", "));
            return Err(Failure::input(text));
        }
        if solver.contains("facets=") {
            if spec.text("facets").is_some() {
                return Err(Failure::input(
                    "--model lcp:facets=N and the solver's facets=N are the same number",
                ));
            }
            return Ok((law, solver.into()));
        }
        let facets = spec.text("facets").unwrap_or(LCP[0].default);
        let joined = if solver.contains(':') { ',' } else { ':' };
        let solver = format!("{solver}{joined}facets={facets}");
        drystone_solve::solver::make(&solver).map_err(|e| Failure::input(format!("--model {model}: {e}")))?;
        Ok((law, solver))
    }

    fn check_overlaps(&self, world: &mut World) -> Result<(), Failure> {
        if self.allow_overlap {
            return Ok(());
        }
        match drystone_scene::overlaps(world) {
            Some(refusal) => Err(Failure::input(format!("{}: {refusal}", self.scene))),
            None => Ok(()),
        }
    }
}
