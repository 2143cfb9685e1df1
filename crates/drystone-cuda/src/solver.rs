//! The solvers on the device: `cuda-apgd`, `cuda-pgj` and `cuda-auto`.

use std::sync::Arc;
use std::time::Instant;

use drystone_solve::certificate::{Certificate, Judge};
use drystone_solve::solver::{BadSpec, Info, Param, Spec};
use drystone_solve::{FrictionLaw, Malformed, Problem, Solution, Solver, Status, Stop};

use crate::engine::{DeviceMemory, Engine, HostMemory};
use crate::error::Error;
use crate::kernels::Kernel;
use crate::layout::{Args, CHUNK, Control, EVERY, halt, rule};
use crate::matrix;
use crate::pack::{CONTROL, Incidence, pack};
use crate::watch::{Notebook, Watch};

/// `apgd` on the device.
pub static APGD: Info = Info {
    name: "cuda-apgd",
    title: "accelerated projected gradient descent (Nesterov) on an NVIDIA GPU, with apgd's rules",
    use_when: "piles of tens of thousands of contacts and more, where a device is there",
    models: &["ccp"],
    unit: "multiplication",
    citation: "Mazhar2015, Algorithm APGD",
    params: &[SCALING, RULE],
    make: make_apgd,
};

/// What `auto` is on the device.
pub static AUTO: Info = Info {
    name: "cuda-auto",
    title: "the quickest on an NVIDIA GPU: sweeps by colour with momentum for worlds of grains, cuda-apgd for all else",
    use_when: "always on a GPU: what --backend cuda takes where no solver is named",
    models: &["ccp"],
    unit: "iteration",
    citation: "Nesterov1983; ODonoghueCandes2015, gradient scheme; JonesPlassmann1993; Mazhar2015",
    params: &[],
    make: make_apgd,
};

/// `pgj` on the device.
pub static PGJ: Info = Info {
    name: "cuda-pgj",
    title: "projected Gauss-Jacobi, Algorithm 1, on an NVIDIA GPU",
    use_when: "comparisons with the papers, whose GPU solver it is",
    models: &["ccp"],
    unit: "sweep",
    citation: "TasoraAnitescu2011, Algorithm 1 and section 5.3",
    params: &[OMEGA, LAMBDA, SAFEGUARD],
    make: make_pgj,
};

const SCALING: Param = Param {
    name: "scaling",
    default: "cone",
    help: "cone: two factors for each contact of spheres, along its normal and across, where all could rest, else trace; trace: one factor for each block, from its diagonal (eq. 48); none: the plain method",
};
const RULE: Param = Param {
    name: "rule",
    default: "curvature",
    help: "how L follows the problem; curvature: what each step found; paper: doubled where it is too small, else 0.9 of it",
};
const OMEGA: Param = Param {
    name: "omega",
    default: "0.2",
    help: "relaxation factor, above 0; halved when assumption A3 fails",
};
const LAMBDA: Param = Param { name: "lambda", default: "1", help: "smoothing factor in (0, 1]" };
const SAFEGUARD: Param = Param {
    name: "safeguard",
    default: "on",
    help: "on: check assumption A3 (reject the sweep and halve omega where it fails); off",
};

/// What is iterated, and how.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    rule: u32,
    two_scales: bool,
    plain: bool,
    omega: f64,
    lambda: f64,
    safeguard: bool,
}

/// How kernels are launched. No result depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks of threads, at most.
    pub blocks: u32,
    /// Threads in a block.
    pub threads: u32,
    /// Iterations before the host looks.
    pub batch: usize,
}

impl Geometry {
    /// For a device: several blocks for each multiprocessor.
    pub(crate) fn of(engine: &Engine) -> Self {
        Self { blocks: 8 * engine.device().multiprocessors.max(1) as u32, threads: CHUNK as u32, batch: 32 }
    }
}

impl Method {
    /// Reads the parameters of `cuda-apgd`.
    pub fn apgd(spec: &Spec) -> Result<Self, BadSpec> {
        let (two_scales, plain) = match spec.text("scaling") {
            None | Some("cone") => (true, false),
            Some("trace") => (false, false),
            Some("none") => (false, true),
            Some(other) => return Err(BadSpec::unknown("scaling", other, &["cone", "trace", "none"])),
        };
        let rule = match spec.text("rule") {
            None | Some("curvature") => rule::CURVATURE,
            Some("paper") => rule::PAPER,
            Some(other) => return Err(BadSpec::unknown("rule", other, &["curvature", "paper"])),
        };
        Ok(Self { rule, two_scales, plain, omega: 1.0, lambda: 1.0, safeguard: false })
    }

    /// Reads the parameters of `cuda-pgj`.
    pub fn pgj(spec: &Spec) -> Result<Self, BadSpec> {
        let safeguard = match spec.text("safeguard") {
            None | Some("on") => true,
            Some("off") => false,
            Some(other) => return Err(BadSpec::unknown("safeguard", other, &["on", "off"])),
        };
        Ok(Self {
            rule: rule::JACOBI,
            two_scales: false,
            plain: false,
            omega: spec.positive("omega", 0.2, f64::INFINITY)?,
            lambda: spec.positive("lambda", 1.0, 1.0)?,
            safeguard,
        })
    }

    fn is_jacobi(&self) -> bool {
        self.rule == rule::JACOBI
    }
}

fn make_apgd(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    let method = Method::apgd(spec)?;
    Ok(Box::new(CudaSolver::new(Engine::shared().map_err(told)?, method).map_err(told)?))
}

fn make_pgj(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    let method = Method::pgj(spec)?;
    Ok(Box::new(CudaSolver::new(Engine::shared().map_err(told)?, method).map_err(told)?))
}

fn told(error: Error) -> BadSpec {
    BadSpec(error.to_string())
}

/// A solver with its memory on the device.
pub struct CudaSolver {
    engine: Arc<Engine>,
    method: Method,
    geometry: Geometry,
    stream: usize,
    /// The problem, as it is copied.
    stage: HostMemory,
    input: DeviceMemory,
    work: DeviceMemory,
    /// The control block, and multipliers on their way back.
    answer: HostMemory,
    lists: Incidence,
    notebook: Notebook,
    rows: Vec<f64>,
    /// Whether the judge's velocities are those of the solution returned last.
    at_hand: bool,
}

/// The problem on the device.
struct Loaded {
    args: Args,
    control: Control,
}

impl CudaSolver {
    /// A solver on `engine`.
    pub fn new(engine: Arc<Engine>, method: Method) -> Result<Self, Error> {
        engine.enter()?;
        Ok(Self {
            method,
            geometry: Geometry::of(&engine),
            stream: engine.stream()?,
            stage: HostMemory::new(engine.clone()),
            input: DeviceMemory::new(engine.clone()),
            work: DeviceMemory::new(engine.clone()),
            answer: HostMemory::new(engine.clone()),
            lists: Incidence::default(),
            notebook: Notebook::default(),
            rows: Vec::new(),
            at_hand: false,
            engine,
        })
    }

    /// Launches kernels in another way from now on.
    pub fn set_geometry(&mut self, geometry: Geometry) {
        self.geometry = geometry;
    }

    fn launch(&self, kernel: Kernel, args: &Args, items: u32) -> Result<(), Error> {
        let blocks = items.div_ceil(CHUNK as u32).clamp(1, self.geometry.blocks.max(1));
        // SAFETY: the addresses were made by `load` for the counts beside them.
        unsafe { self.engine.launch(kernel, blocks, self.geometry.threads, self.stream, args) }
    }

    /// Copies the problem to the device and starts from the guess.
    fn load(&mut self, problem: &Problem, guess: Option<&[f64]>) -> Result<Loaded, Error> {
        let begun = Instant::now();
        let packed = match problem {
            Problem::Bodies(p) => pack(p, guess, &mut self.lists, &mut self.stage)?,
            Problem::Explicit(p) => matrix::pack(problem, p, guess, &mut self.stage)?,
        };
        let packed_at = Instant::now();
        self.input.reserve(8 * packed.input)?;
        self.work.reserve(8 * packed.work)?;
        self.answer.reserve(CONTROL.max(problem.rows()))?;
        self.stage.upload(self.input.address(), packed.input, self.stream)?;
        let method = self.method;
        let only_rigid_contacts = matches!(problem, Problem::Bodies(p) if p.general.a.is_empty() && p.points.compliance[0].is_empty());
        let cone = method.two_scales && only_rigid_contacts && problem.rest_is_feasible();
        let control = Control {
            theta: 1.0,
            next_theta: 0.5 * (5f64.sqrt() - 1.0),
            omega: method.omega,
            lambda: method.lambda,
            rule: method.rule,
            safeguard: method.safeguard as u32,
            cone: cone as u32,
            plain: method.plain as u32,
            before: 1,
            trial: 2,
            best_is_start: 1,
            ..Control::default()
        };
        let args = packed.at(self.input.address(), self.work.address());
        let mut loaded = Loaded { args, control };
        self.put_control(&loaded)?;
        let uploaded_at = Instant::now();
        for kernel in [Kernel::StartMeasure, Kernel::StartScale] {
            self.launch(kernel, &args, args.blocks)?;
        }
        self.launch(Kernel::StartBodies, &args, args.bodies)?;
        self.launch(Kernel::StartLipschitz, &args, args.blocks)?;
        self.get_control(&mut loaded)?;
        let bytes = self.input.bytes() + self.work.bytes();
        self.engine.used(|u| {
            u.solves += 1;
            u.pack_s += (packed_at - begun).as_secs_f64();
            u.upload_s += (uploaded_at - packed_at).as_secs_f64();
            u.iterate_s += uploaded_at.elapsed().as_secs_f64();
            u.upload_bytes += 8 * packed.input as u64;
            u.device_bytes = u.device_bytes.max(bytes as u64);
        });
        Ok(loaded)
    }

    fn put_control(&mut self, loaded: &Loaded) -> Result<(), Error> {
        write_control(&loaded.control, self.answer.words());
        self.answer.upload(loaded.args.control, size_of::<Control>().div_ceil(8), self.stream)
    }

    fn get_control(&mut self, loaded: &mut Loaded) -> Result<(), Error> {
        self.answer.download(loaded.args.control, size_of::<Control>().div_ceil(8), self.stream)?;
        loaded.control = read_control(self.answer.words());
        Ok(())
    }

    /// γ, or the best so far, in the problem's rows.
    fn fetch(&mut self, loaded: &mut Loaded, best: bool) -> Result<(), Error> {
        let begun = Instant::now();
        let wish = u32::from(best);
        if loaded.control.wish_best != wish {
            loaded.control.wish_best = wish;
            self.put_control(loaded)?;
        }
        let args = &loaded.args;
        let count = 3 * args.points as usize + args.general_rows as usize;
        self.launch(Kernel::WriteRows, args, args.blocks)?;
        self.answer.download(args.rows, count, self.stream)?;
        self.rows.clear();
        self.rows.extend(self.answer.words()[..count].iter().map(|word| f64::from_bits(*word)));
        self.engine.used(|u| {
            u.download_s += begun.elapsed().as_secs_f64();
            u.download_bytes += 8 * count as u64;
        });
        Ok(())
    }

    /// Runs until the device waits for an answer, or the time is over.
    fn advance(&mut self, loaded: &mut Loaded, watch: &mut Watch) -> Result<(), Error> {
        let (begun, before) = (Instant::now(), loaded.control.used);
        loop {
            let left = (loaded.control.limit - loaded.control.used) as usize;
            // Looks fall on the same steps whatever the size of a batch.
            let used = loaded.control.used as usize;
            for step in used + 1..=used + left.min(self.geometry.batch.max(1)) {
                self.launch(Kernel::StepBlocks, &loaded.args, loaded.args.blocks)?;
                if loaded.args.parts > 0 {
                    self.launch(Kernel::StepParts, &loaded.args, loaded.args.parts)?;
                }
                self.launch(Kernel::StepBodies, &loaded.args, loaded.args.bodies)?;
                if step % EVERY == 0 {
                    self.launch(Kernel::Look, &loaded.args, loaded.args.blocks)?;
                }
            }
            self.launch(Kernel::Look, &loaded.args, loaded.args.blocks)?;
            self.get_control(loaded)?;
            if loaded.control.halt != 0 || watch.is_late(loaded.control.used as usize) {
                break;
            }
        }
        let done = u64::from(loaded.control.used - before);
        self.engine.used(|u| {
            u.iterate_s += begun.elapsed().as_secs_f64();
            u.iterations += done;
            u.block_iterations += done * u64::from(loaded.args.blocks);
            u.body_iterations += done * u64::from(loaded.args.bodies);
        });
        Ok(())
    }

    /// Asks the certificate about γ, if the device's own residual lets it hope.
    fn ask(&mut self, loaded: &mut Loaded, watch: &mut Watch) -> Result<Option<Certificate>, Error> {
        let residual = loaded.control.residual;
        if !watch.is_near(residual) {
            return Ok(None);
        }
        self.fetch(loaded, false)?;
        let begun = Instant::now();
        let found = watch.ask(&mut self.notebook.judge, &self.rows, residual);
        self.engine.used(|u| u.judge_s += begun.elapsed().as_secs_f64());
        self.at_hand = found.is_some();
        Ok(found)
    }

    fn iterate(&mut self, problem: &Problem, guess: Option<&[f64]>, stop: &Stop) -> Result<Solution, Error> {
        let begun = Instant::now();
        self.at_hand = false;
        self.engine.enter()?;
        let mut watch = Watch::new(problem, stop, &mut self.notebook, begun);
        if problem.blocks() == 0 {
            watch.status = if stop.tolerance > 0.0 { Status::Converged } else { Status::Iterations };
            return Ok(solution(Vec::new(), watch, &Control::default(), None));
        }
        let mut loaded = self.load(problem, guess)?;
        // What the start has taken: a multiplication for the guess and, for gradients, one for the first L.
        let start = if self.method.is_jacobi() { 0 } else { u32::from(guess.is_some()) };
        loaded.control.used = start;
        let mut certificate = self.ask(&mut loaded, &mut watch)?;
        if certificate.is_none() && (start as usize) < stop.iterations && !watch.is_late(start as usize) {
            loaded.control.used += u32::from(!self.method.is_jacobi());
            certificate = self.walk(&mut loaded, &mut watch)?;
        }
        let last = certificate.is_none() && self.takes_last(&loaded, &watch);
        if certificate.is_none() {
            self.fetch(&mut loaded, !last)?;
        }
        if watch.status == Status::Diverged || self.rows.iter().any(|x| !x.is_finite()) {
            watch.status = Status::Diverged;
            self.rows = guess.map_or_else(|| vec![0.0; problem.rows()], <[f64]>::to_vec);
        }
        Ok(solution(std::mem::take(&mut self.rows), watch, &loaded.control, certificate))
    }

    /// Iterates to the end. Returns the certificate where that said yes.
    fn walk(&mut self, loaded: &mut Loaded, watch: &mut Watch) -> Result<Option<Certificate>, Error> {
        while (loaded.control.used as usize) < watch.stop.iterations {
            loaded.control.halt = 0;
            loaded.control.limit = watch.limit(loaded.control.used as usize).max(loaded.control.used + 1);
            loaded.control.threshold = watch.threshold;
            self.put_control(loaded)?;
            self.advance(loaded, watch)?;
            let (state, used) = (loaded.control.halt, loaded.control.used as usize);
            if state & halt::DIVERGED != 0 {
                watch.status = Status::Diverged;
                return Ok(None);
            }
            // At the cap all that is left is to ask.
            let last = used >= watch.stop.iterations || watch.status == Status::Budget;
            if state & (halt::LOOK | halt::LIMIT) != 0
                && (state & halt::LOOK != 0 || last)
                && let Some(found) = self.ask(loaded, watch)?
            {
                if watch.stop.history {
                    watch.record(&mut self.notebook.judge, &self.rows, used);
                }
                return Ok(Some(found));
            }
            if watch.stop.history {
                self.fetch(loaded, !self.method.is_jacobi())?;
                watch.record(&mut self.notebook.judge, &self.rows, used);
            }
            if watch.is_growth_due(used) {
                self.fetch(loaded, false)?;
                if watch.is_wedged(&mut self.notebook, &self.rows, used) {
                    return Ok(None);
                }
            }
            if watch.status == Status::Budget {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Whether the last multipliers are returned, not the best.
    fn takes_last(&self, loaded: &Loaded, watch: &Watch) -> bool {
        let c = &loaded.control;
        match watch.status {
            Status::Converged | Status::Wedged => true,
            _ if self.method.is_jacobi() => true,
            _ => watch.grows && c.residual <= 1.1 * c.best_measure,
        }
    }
}

/// Writes a control block into words, which are as many at least.
pub(crate) fn write_control(control: &Control, words: &mut [u64]) {
    // SAFETY: the control block has no padding and is as long as it says; any bytes make words.
    let bytes =
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(control).cast::<u8>(), size_of::<Control>()) };
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(eight);
    }
}

/// Reads one.
pub(crate) fn read_control(words: &[u64]) -> Control {
    assert!(8 * words.len() >= size_of::<Control>(), "all of it");
    // SAFETY: the words are as many as the control block takes, and any bits are one: it is made of plain
    // numbers.
    unsafe { words.as_ptr().cast::<Control>().read() }
}

fn solution(gamma: Vec<f64>, watch: Watch, control: &Control, certificate: Option<Certificate>) -> Solution {
    Solution {
        gamma,
        status: watch.status,
        iterations: control.used as usize,
        history: watch.history,
        omega: if control.rule == rule::JACOBI { control.omega } else { 1.0 },
        rejected: control.rejected as usize,
        attempts: Vec::new(),
        certificate,
        grows: watch.grows,
    }
}

impl Solver for CudaSolver {
    fn corrects_positions(&self) -> bool {
        true
    }

    fn info(&self) -> &'static Info {
        if self.method.is_jacobi() { &PGJ } else { &APGD }
    }

    fn bytes(&self) -> usize {
        self.input.bytes() + self.work.bytes()
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        problem.check()?;
        if guess.is_some_and(|g| g.len() != problem.rows() || !g.iter().all(|x| x.is_finite())) {
            return Err(Malformed(format!("the guess needs {} finite multipliers", problem.rows())));
        }
        if problem.model() != FrictionLaw::Ccp {
            return Err(Malformed(
                "the device solves the relaxed law; rounds around it solve the exact one".into(),
            ));
        }
        self.iterate(problem, guess, stop).map_err(|error| {
            self.engine.failed(&error);
            Malformed(error.to_string())
        })
    }

    fn velocities(&self) -> Option<&[[f64; 6]]> {
        self.at_hand.then(|| self.notebook.judge.velocities())
    }

    fn judge(&mut self) -> Option<&mut Judge> {
        self.at_hand = false;
        Some(&mut self.notebook.judge)
    }
}
