//! Takes a problem over: normalised Jacobians or a symmetric matrix, and the structure of the factor.

use crate::problem::{Bodies, Csr, Problem, WORLD, cross};
use crate::solver::sparse::{Pattern, Symbolic};

use super::{Form, System, small};

impl System {
    /// Takes the problem over. The structure of the last factor is kept where the graph has not changed; true
    /// if N and C are those of the last problem to the bit, so that a factor still holds.
    pub fn load(&mut self, problem: &Problem) -> bool {
        let mut first: Vec<u32> = (0..problem.blocks()).map(|i| problem.block(i).start as u32).collect();
        first.push(problem.rows() as u32);
        let same_rows = first == self.first;
        self.first = first;
        let compliance: Vec<f64> = (0..problem.blocks())
            .flat_map(|i| problem.block(i).map(move |row| (i, row)))
            .map(|(i, row)| problem.compliance(i, row))
            .collect();
        let mut same = same_rows && compliance == self.compliance;
        self.compliance = compliance;
        problem.rhs(&mut self.r);
        self.diagonal.clear();
        self.diagonal.extend((0..problem.blocks()).map(|i| problem.block_diagonal(i)[0]));
        match problem {
            Problem::Bodies(p) => {
                let ends = ends(p);
                let jacobian = jacobian(p);
                // Bodies without a block count too: they have a place in the factor.
                let same_graph = same_rows && ends == self.ends && self.bodies == p.bodies();
                same &= same_graph && jacobian == self.jacobian;
                self.jacobian = jacobian;
                self.bodies = p.bodies();
                let known = same_graph && self.w.indptr.is_empty();
                self.ends = ends;
                self.w = Csr::default();
                if !known || self.slots.len() != self.blocks() || self.symbolic.rows() == 0 {
                    self.choose();
                }
            }
            Problem::Explicit(p) => {
                let w = p.w.symmetric_part();
                same &= w == self.w;
                let known = same || (same_rows && w.indptr == self.w.indptr && w.indices == self.w.indices);
                self.w = w;
                self.jacobian.clear();
                self.ends.clear();
                self.bodies = 0;
                if !known || self.symbolic.rows() != self.rows() || self.pattern.nodes() != self.blocks() {
                    let pairs = self.matrix_pairs();
                    self.structure(Form::Dual, pairs);
                    self.slots.clear();
                }
            }
        }
        same
    }

    /// Primal or dual, whichever takes less work. The dual is not even looked at where a body with many
    /// blocks would make it dense.
    fn choose(&mut self) {
        let mut pairs = Vec::new();
        for [a, b] in &self.ends {
            if *b != WORLD {
                pairs.push((*a, *b));
            }
        }
        self.structure(Form::Primal, pairs);
        self.at_body.iter_mut().for_each(Vec::clear);
        self.at_body.resize(self.bodies, Vec::new());
        for (i, ends) in self.ends.iter().enumerate() {
            for body in ends {
                if *body != WORLD {
                    self.at_body[*body as usize].push(i as u32);
                }
            }
        }
        let joined: usize = self.at_body.iter().map(|b| b.len() * b.len()).sum();
        if self.rows() < 6 * self.bodies && joined < 16 * self.bodies.max(64) {
            let mut pairs = Vec::new();
            for blocks in &self.at_body {
                for (at, i) in blocks.iter().enumerate() {
                    pairs.extend(blocks[at + 1..].iter().map(|j| (*i, *j)));
                }
            }
            let pattern = Pattern::new(self.block_sizes(), pairs);
            let symbolic = Symbolic::new(&pattern);
            if symbolic.flops() < self.symbolic.flops() {
                (self.pattern, self.symbolic, self.form) = (pattern, symbolic, Form::Dual);
            }
        }
        self.slots.clear();
        for [a, b] in &self.ends {
            let slot = match self.form {
                Form::Dual => [0; 3],
                Form::Primal if *b == WORLD => [self.pattern.start[*a as usize], 0, 0],
                Form::Primal => [
                    self.pattern.start[*a as usize],
                    self.pattern.start[*b as usize],
                    self.pattern.pair(*a.min(b), *a.max(b)),
                ],
            };
            self.slots.push(slot);
        }
    }

    fn structure(&mut self, form: Form, pairs: Vec<(u32, u32)>) {
        let sizes = match form {
            Form::Primal => vec![6; self.bodies],
            Form::Dual => self.block_sizes(),
        };
        self.form = form;
        self.pattern = Pattern::new(sizes, pairs);
        self.symbolic = Symbolic::new(&self.pattern);
    }

    fn block_sizes(&self) -> Vec<u32> {
        self.first.windows(2).map(|p| p[1] - p[0]).collect()
    }

    /// Pairs of blocks that an explicit matrix joins, once each.
    fn matrix_pairs(&self) -> Vec<(u32, u32)> {
        let owner = self.owners();
        let mut pairs = Vec::new();
        // The last block that each was paired with.
        let mut met = vec![u32::MAX; self.blocks()];
        for (i, &one) in owner.iter().enumerate() {
            for (j, _) in self.w.row(i) {
                let other = owner[j];
                if one < other && met[other as usize] != one {
                    met[other as usize] = one;
                    pairs.push((one, other));
                }
            }
        }
        pairs
    }

    /// The block of each row.
    pub(super) fn owners(&self) -> Vec<u32> {
        (0..self.blocks()).flat_map(|i| self.block(i).map(move |_| i as u32)).collect()
    }
}

fn ends(p: &Bodies) -> Vec<[u32; 2]> {
    let both = p.points.a.iter().zip(&p.points.b).chain(p.general.a.iter().zip(&p.general.b));
    both.map(|(a, b)| [*a, *b]).collect()
}

/// D̂ᵀ = Dᵀ G.
fn jacobian(p: &Bodies) -> Vec<[f64; 12]> {
    let turns: Vec<[[f64; 3]; 3]> = p.inv_inertia.iter().map(small::root3).collect();
    let normalise = |body: u32, force: [f64; 3], torque: [f64; 3], sign: f64, out: &mut [f64]| {
        let mass = sign * p.inv_mass[body as usize].sqrt();
        let l = &turns[body as usize];
        for k in 0..3 {
            out[k] = mass * force[k];
            out[3 + k] = sign * (0..3).map(|i| l[i][k] * torque[i]).sum::<f64>();
        }
    };
    let mut out = Vec::new();
    let points = &p.points;
    for i in 0..points.len() {
        let at = |f: &[Vec<f64>; 3]| [f[0][i], f[1][i], f[2][i]];
        let (arm_a, arm_b) = (at(&points.arm_a), at(&points.arm_b));
        for axis in points.frame(i) {
            let mut row = [0.0; 12];
            normalise(points.a[i], axis, cross(arm_a, axis), 1.0, &mut row[..6]);
            if points.b[i] != WORLD {
                normalise(points.b[i], axis, cross(arm_b, axis), -1.0, &mut row[6..]);
            }
            out.push(row);
        }
    }
    let g = &p.general;
    for i in 0..g.a.len() {
        for j in g.first_row[i] as usize..g.first_row[i + 1] as usize {
            let mut row = [0.0; 12];
            for (body, part) in [(g.a[i], 0), (g.b[i], 6)] {
                if body != WORLD {
                    let three = |k: usize| std::array::from_fn(|x| g.jacobian[j][part + k + x]);
                    normalise(body, three(0), three(3), 1.0, &mut row[part..part + 6]);
                }
            }
            out.push(row);
        }
    }
    out
}
