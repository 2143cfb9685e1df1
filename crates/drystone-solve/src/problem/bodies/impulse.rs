//! What multipliers do to bodies: the impulses D γ, and the velocities v_free + M⁻¹ D γ.

use crate::colour::{self, Span};
use crate::parallel::{self, Shared};
use crate::problem::algebra::{cross, symmetric};

use super::points::at;
use super::{Bodies, PIECE, WORLD};

/// Adds an impulse and its moment.
fn add(to: &mut [f64; 6], f: [f64; 3], turn: [f64; 3]) {
    (0..3).for_each(|k| {
        to[k] += f[k];
        to[3 + k] += turn[k];
    });
}

/// Subtracts an impulse and its moment.
fn take(from: &mut [f64; 6], f: [f64; 3], turn: [f64; 3]) {
    (0..3).for_each(|k| {
        from[k] -= f[k];
        from[3 + k] -= turn[k];
    });
}

impl Bodies {
    /// v = v_free + M⁻¹ D γ [TasoraAnitescu2011, eq. 36].
    pub fn velocities(&self, gamma: &[f64], v: &mut Vec<[f64; 6]>) {
        // D γ first, and M⁻¹ once for each body.
        parallel::fill(v, self.bodies(), [0.0; 6]);
        self.push_points(gamma, v);
        self.push_general(&gamma[3 * self.points.len()..], v);
        parallel::map_chunks(v, PIECE, &mut Vec::new(), |first, run| {
            for (i, v) in (first..).zip(run) {
                let (f, free) = (*v, &self.v_free[i]);
                let turn = symmetric(&self.inv_inertia[i], [f[3], f[4], f[5]]);
                for k in 0..3 {
                    v[k] = free[k] + self.inv_mass[i] * f[k];
                    v[3 + k] = free[3 + k] + turn[k];
                }
            }
        });
    }

    /// Adds D γ of the points, by body.
    pub(crate) fn push_points(&self, gamma: &[f64], impulse: &mut [[f64; 6]]) {
        let p = &self.points;
        let many = p.len() >= 2 * PIECE && rayon::current_num_threads() > 1;
        if !(many && colour::sound(impulse.len(), &p.a, &p.b, &p.spans, &p.regions)) {
            for i in 0..p.len() {
                let [f, turn_a, turn_b] = p.impulse(i, &gamma[3 * i..3 * i + 3]);
                add(&mut impulse[p.a[i] as usize], f, turn_a);
                if p.b[i] != WORLD {
                    take(&mut impulse[p.b[i] as usize], f, turn_b);
                }
            }
            return;
        }
        let to = Shared(impulse.as_mut_ptr());
        let visit = |piece: Span| {
            for i in piece.start as usize..piece.end as usize {
                let [f, turn_a, turn_b] = p.impulse(i, &gamma[3 * i..3 * i + 3]);
                // SAFETY: the colours are sound: bodies are there, and what is visited at a time shares none.
                unsafe {
                    add(&mut *to.at(p.a[i] as usize), f, turn_a);
                    if p.b[i] != WORLD {
                        take(&mut *to.at(p.b[i] as usize), f, turn_b);
                    }
                }
            }
        };
        colour::walk(&p.spans, &p.regions, false, &mut Vec::new(), visit, |_, _| ());
    }

    /// Adds D γ of the general blocks, by body.
    pub(crate) fn push_general(&self, gamma: &[f64], impulse: &mut [[f64; 6]]) {
        self.push_joints(gamma, |body, f| {
            let into = &mut impulse[body as usize];
            (0..6).for_each(|k| into[k] += f[k]);
        });
    }

    /// D γ of the general blocks: what each run of them between the same bodies does to either.
    #[inline(always)]
    pub(crate) fn push_joints(&self, gamma: &[f64], mut push: impl FnMut(u32, &[f64])) {
        let g = &self.general;
        let mut i = 0;
        while i < g.a.len() {
            let (from, a, b) = (i, g.a[i], g.b[i]);
            while i < g.a.len() && (g.a[i], g.b[i]) == (a, b) {
                i += 1;
            }
            let rows = g.first_row[from] as usize..g.first_row[i] as usize;
            let mut sum = [0.0; 12];
            for (row, x) in g.jacobian[rows.clone()].iter().zip(&gamma[rows]) {
                (0..12).for_each(|k| sum[k] += row[k] * x);
            }
            push(a, &sum[..6]);
            if b != WORLD {
                push(b, &sum[6..]);
            }
        }
    }

    /// v ← v + M⁻¹ D_i Δ for a change Δ of block i's multipliers.
    pub(crate) fn move_block(&self, block: usize, delta: &[f64], v: &mut [[f64; 6]]) {
        let p = &self.points;
        let Some(i) = block.checked_sub(p.len()) else {
            let (i, g) = (block, delta);
            let [n, t1, t2] = p.frame(i);
            let impulse: [f64; 3] = std::array::from_fn(|k| g[0] * n[k] + g[1] * t1[k] + g[2] * t2[k]);
            self.push(v, p.a[i], impulse, cross(at(&p.arm_a, i), impulse), 1.0);
            if p.b[i] != WORLD {
                self.push(v, p.b[i], impulse, cross(at(&p.arm_b, i), impulse), -1.0);
            }
            return;
        };
        let g = &self.general;
        for (j, x) in (g.first_row[i] as usize..g.first_row[i + 1] as usize).zip(delta) {
            let row = &g.jacobian[j];
            self.push(v, g.a[i], [row[0], row[1], row[2]], [row[3], row[4], row[5]], *x);
            if g.b[i] != WORLD {
                self.push(v, g.b[i], [row[6], row[7], row[8]], [row[9], row[10], row[11]], *x);
            }
        }
    }

    /// Adds M⁻¹ times an impulse, `scale` times force and torque, to the velocity of one body.
    fn push(&self, v: &mut [[f64; 6]], body: u32, force: [f64; 3], torque: [f64; 3], scale: f64) {
        let i = body as usize;
        let turn = symmetric(&self.inv_inertia[i], torque);
        for k in 0..3 {
            v[i][k] += scale * self.inv_mass[i] * force[k];
            v[i][3 + k] += scale * turn[k];
        }
    }
}
