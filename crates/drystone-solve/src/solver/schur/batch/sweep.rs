//! Sweeps over eight dense problems at once, each lane until it is done.

use crate::cone::{MAX_ROWS, Set};
use crate::friction_law::FrictionLaw;
use crate::simd::F64Lanes;

use super::super::super::Stop;
use super::super::super::block::{Newton, One, local};
use super::{IslandBatch, Lane, Sort};

/// More sweeps than this from nothing are another's, who looks for contradictions from then on (`Growth`
/// takes three looks).
const SWEEPS: usize = 127;
/// More than this from a guess are Newton's method's, which ends in a few steps where sweeps pass a load to
/// and fro.
const WARM_SWEEPS: usize = 8;

impl<const W: usize> IslandBatch<W> {
    /// Sweeps until all of the first `count` lanes are done or too many; how many each took.
    #[inline(always)]
    pub(super) fn solve<V: F64Lanes>(
        &mut self,
        model: FrictionLaw,
        stop: &Stop,
        count: usize,
    ) -> [Option<usize>; W] {
        let mut done = [None; W];
        for l in count..W {
            done[l] = Some(0);
        }
        let mut begins = self.residual::<V>(model);
        for l in 0..count {
            if self.rows == 0 {
                begins[l] = 0.0;
            }
            if begins[l] <= stop.tolerance {
                done[l] = Some(0);
            }
        }
        let mut most = [0; W];
        for l in 0..count {
            let cold = self.gamma.iter().all(|gamma| gamma[l] == 0.0);
            most[l] = stop.iterations.min(if cold { SWEEPS } else { WARM_SWEEPS });
        }
        let mut newton = Newton::default();
        let (mut last, mut before) = ([f64::NAN; W], [f64::NAN; W]);
        for k in 1.. {
            let active: Lane<W> =
                std::array::from_fn(|l| if done[l].is_none() && k <= most[l] { 1.0 } else { 0.0 });
            if active == [0.0; W] {
                break;
            }
            if model == FrictionLaw::Ccp {
                self.conjugate(k, &last, &before, &active);
            }
            let (worst, energy) = self.sweep::<V>(model, &mut newton, &active);
            (before, last) = (last, energy);
            // A step may be long and lead nowhere: contacts that share a load pass it to and fro.
            let look = k % 4 == 0;
            let close = |l: usize| active[l] > 0.0 && (look || worst[l] <= 10.0 * stop.tolerance);
            if (0..count).any(close) {
                let residual = self.residual::<V>(model);
                let there = std::array::from_fn::<_, W, _>(|l| close(l) && residual[l] <= stop.tolerance);
                for l in 0..count {
                    if there[l] {
                        done[l] = Some(k);
                    }
                }
            }
        }
        done
    }

    /// As `Island::conjugate`; lanes that are not active stay where they are.
    #[inline(always)]
    fn conjugate(&mut self, k: usize, last: &Lane<W>, before: &Lane<W>, active: &Lane<W>) {
        let (mut beta, mut keep) = ([0.0; W], [0.0; W]);
        for l in 0..W {
            let falls = last[l] <= before[l] && before[l] > 0.0;
            if active[l] > 0.0 && (k == 2 || falls) {
                beta[l] = if falls { last[l] / before[l] } else { 0.0 };
                keep[l] = 1.0;
            }
        }
        let both = [&mut self.gamma, &mut self.u];
        for ((x, marked), p) in both.into_iter().zip(&mut self.marked).zip(&mut self.way) {
            if k == 1 {
                p.clear();
                p.resize(x.len(), [0.0; W]);
                marked.clone_from(x);
                continue;
            }
            for i in 0..x.len() {
                for l in 0..W {
                    let (delta, along) = (x[i][l] - marked[i][l], beta[l] * p[i][l]);
                    x[i][l] += along;
                    p[i][l] = along + keep[l] * delta;
                }
            }
            marked.clone_from(x);
        }
    }

    /// The largest natural-map residual, m/s.
    #[inline(always)]
    fn residual<V: F64Lanes>(&self, model: FrictionLaw) -> Lane<W> {
        let mut worst = [0.0; W];
        for at in (0..W).step_by(V::COUNT) {
            let get = |x: &Lane<W>| V::load(x, at);
            let (zero, one) = (V::splat(0.0), V::splat(1.0));
            let mut most = zero;
            for b in &self.blocks {
                let (i, g) = (b.first, get(&b.g));
                let over = g.select_le(zero, one, one.div(g));
                let e = if b.sort == Sort::Friction {
                    let mu = get(&b.bounds[0]);
                    let gamma = [get(&self.gamma[i]), get(&self.gamma[i + 1]), get(&self.gamma[i + 2])];
                    let mut u = [get(&self.u[i]), get(&self.u[i + 1]), get(&self.u[i + 2])];
                    if model == FrictionLaw::Coulomb {
                        u[0] = u[0].add(mu.mul(u[1].mul(u[1]).add(u[2].mul(u[2])).sqrt()));
                    }
                    let mut x = gamma;
                    for k in 0..3 {
                        x[k] = x[k].sub(u[k].mul(over));
                    }
                    // The projection on the cone.
                    let across = x[1].mul(x[1]).add(x[2].mul(x[2])).sqrt();
                    let edge = x[0].add(mu.mul(across)).div(one.add(mu.mul(mu)));
                    let edge = edge.select_le(zero, zero, edge);
                    let some = across.select_le(zero, one, across);
                    let n = across.select_le(mu.mul(x[0]), x[0], edge);
                    let t = across.select_le(mu.mul(x[0]), one, mu.mul(edge).div(some));
                    let d = [gamma[0].sub(n), gamma[1].sub(t.mul(x[1])), gamma[2].sub(t.mul(x[2]))];
                    d[0].mul(d[0]).add(d[1].mul(d[1])).add(d[2].mul(d[2])).sqrt()
                } else {
                    let (gamma, lo, hi) = (get(&self.gamma[i]), get(&b.bounds[0]), get(&b.bounds[1]));
                    let x = gamma.sub(get(&self.u[i]).mul(over));
                    let x = x.select_le(lo, lo, x);
                    let d = gamma.sub(hi.select_le(x, hi, x));
                    d.select_le(zero, zero.sub(d), d)
                };
                let e = g.select_le(zero, zero, e.mul(g));
                most = e.select_le(most, most, e);
            }
            most.store(&mut worst, at);
        }
        worst
    }

    /// One sweep: the largest |Δγ| g, m/s, and Σ |Δγ|² g, J. Lanes that are not `active` stay as they are.
    #[inline(always)]
    fn sweep<V: F64Lanes>(
        &mut self,
        model: FrictionLaw,
        newton: &mut Newton,
        active: &Lane<W>,
    ) -> (Lane<W>, Lane<W>) {
        let (mut worst, mut energy) = ([0.0; W], [0.0; W]);
        for at in (0..W).step_by(V::COUNT) {
            self.sweep_some::<V>(at, model, newton, active, &mut worst, &mut energy);
        }
        (worst, energy)
    }

    /// The same for as many lanes as the machine takes at once, from lane `at` on.
    #[inline(always)]
    fn sweep_some<V: F64Lanes>(
        &mut self,
        at: usize,
        model: FrictionLaw,
        newton: &mut Newton,
        active: &Lane<W>,
        worst: &mut Lane<W>,
        energy: &mut Lane<W>,
    ) {
        let (columns, rows) = (self.columns, self.rows);
        let get = |x: &Lane<W>| V::load(x, at);
        let put = |v: V, x: &mut Lane<W>| v.store(x, at);
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        let active = get(active);
        let (mut most, mut sum) = (get(worst), get(energy));
        for b in &self.blocks {
            let (g, own) = (get(&b.g), get(&b.own));
            // What its joints hold altogether does not move, whatever pushes it.
            let moves = own.select_le(V::splat(1e-12).mul(g), zero, g.select_le(zero, zero, active));
            let old: [V; 3] = [
                get(&self.gamma[b.first]),
                if b.rows > 1 { get(&self.gamma[b.first + 1]) } else { zero },
                if b.rows > 1 { get(&self.gamma[b.first + 2]) } else { zero },
            ];
            let counted = if b.sort == Sort::Friction { 3 } else { 1 };
            let mut rhs = [zero; 3];
            for r in 0..counted {
                rhs[r] = get(&self.u[b.first + r]);
                for c in 0..counted {
                    rhs[r] = rhs[r].sub(get(&self.n[(b.first + r) * columns + b.first + c]).mul(old[c]));
                }
            }
            let mut new = [zero; 3];
            if b.sort != Sort::Friction {
                let x = zero.sub(rhs[0].mul(get(&b.inverse[0])));
                let (lo, hi) = (get(&b.bounds[0]), get(&b.bounds[1]));
                let x = x.select_le(lo, lo, x);
                new[0] = hi.select_le(x, hi, x);
            } else {
                let mu = get(&b.bounds[0]);
                let mut stick = [zero; 3];
                for r in 0..3 {
                    for c in 0..3 {
                        stick[r] = stick[r].sub(get(&b.inverse[3 * r + c]).mul(rhs[c]));
                    }
                }
                let drift = rhs[1].mul(rhs[1]).add(rhs[2].mul(rhs[2])).sqrt();
                let pull = stick[1].mul(stick[1]).add(stick[2].mul(stick[2])).sqrt();
                // Open, or held; else it slides. (Where W has no inverse `pull` is no number.)
                for r in 0..3 {
                    new[r] = mu.mul(drift).select_le(rhs[0], zero, stick[r]);
                }
                let slides = pull.select_le(mu.mul(stick[0]), zero, moves);
                let slides = mu.mul(drift).select_le(rhs[0], zero, slides);
                let mut which = [0.0; W];
                put(slides, &mut which);
                if which != [0.0; W] {
                    let (mut out, mut from, mut left) = ([[0.0; W]; 3], [[0.0; W]; 3], [[0.0; W]; 3]);
                    for r in 0..3 {
                        put(new[r], &mut out[r]);
                        put(old[r], &mut from[r]);
                        put(rhs[r], &mut left[r]);
                    }
                    for l in (at..at + V::COUNT).filter(|l| which[*l] > 0.0) {
                        let mut one = One {
                            rows: 3,
                            w: [[0.0; MAX_ROWS]; MAX_ROWS],
                            b: [0.0; MAX_ROWS],
                            set: Set::Friction3 { mu: b.bounds[0][l] },
                            model,
                            g: b.own[l],
                        };
                        let mut gamma = [0.0; MAX_ROWS];
                        for r in 0..3 {
                            for c in 0..3 {
                                one.w[r][c] = self.n[(b.first + r) * columns + b.first + c][l];
                            }
                            (one.b[r], gamma[r]) = (left[r][l], from[r][l]);
                        }
                        local(&one, newton, &mut gamma);
                        for r in 0..3 {
                            out[r][l] = gamma[r];
                        }
                    }
                    for r in 0..3 {
                        new[r] = get(&out[r]);
                    }
                }
            }
            let mut change = [zero; 3];
            for r in 0..counted {
                let d = one.select_le(moves, new[r].sub(old[r]), zero);
                change[r] = d;
                let size = d.mul(g);
                let size = size.select_le(zero, zero.sub(size), size);
                most = size.select_le(most, most, size);
                sum = sum.add(d.mul(d).mul(own));
                put(old[r].add(d), &mut self.gamma[b.first + r]);
            }
            let n = &self.n[b.first * columns..];
            if counted == 3 {
                for i in 0..rows {
                    let mut u = get(&self.u[i]);
                    for r in 0..3 {
                        u = u.add(change[r].mul(get(&n[r * columns + i])));
                    }
                    put(u, &mut self.u[i]);
                }
            } else {
                for i in 0..rows {
                    put(get(&self.u[i]).add(change[0].mul(get(&n[i]))), &mut self.u[i]);
                }
            }
        }
        put(most, worst);
        put(sum, energy);
    }
}
