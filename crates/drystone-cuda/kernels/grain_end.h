/* The end of a grains' step, in f64: velocities, the certificate, positions, and what they overlap by. */

/* v and w of every grain under the multipliers. */
KERNEL grains_velocities(struct grains p)
{
    SHARED double part[TOLD_BY_BODIES][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            double rhs = 0.0, kinetic = 0.0, wrong = 0.0;
            if (k < p.grains) {
                v3 f = vec(0.0, 0.0, 0.0), t = f;
                ROLLED for (u32 e = p.first[p.grains + k]; e < p.first[p.grains + k + 1u]; e++) {
                    u32 c = p.low[e - p.contacts];
                    v3 z = xyz(load4(p.gamma + (u64)c * 4u));
                    f = minus(f, z);
                    t = plus(t, cross(xyz(load4(p.touch + (u64)c * 4u)), z));
                }
                ROLLED for (u32 c = p.first[k]; c < p.first[k + 1u]; c++) {
                    v3 z = xyz(load4(p.gamma + (u64)c * 4u));
                    f = plus(f, z);
                    t = plus(t, cross(xyz(load4(p.touch + (u64)c * 4u)), z));
                }
                const double *m = p.mass + (u64)k * 4u, *free = p.free + (u64)k * 8u;
                double r = p.place[(u64)k * 4u + 3u];
                v3 v0 = xyz(load4(free)), w0 = xyz(load4(free + 4));
                v3 v = plus(v0, times(m[0], f)), w = minus(w0, times(m[1] / r, t));
                store4(p.motion_after + (u64)k * 8u, v, 0.0);
                store4(p.motion_after + (u64)k * 8u + 4u, w, 0.0);
                rhs = dot(v0, f) - r * dot(w0, t);
                kinetic = m[0] * dot(f, f) + m[1] * dot(t, t);
                wrong = is_finite(dot(v, v) + dot(w, w)) ? 0.0 : 1.0;
            }
            part[0][i] = rhs;
            part[1][i] = kinetic;
            part[2][i] = wrong;
        }
        finish_chunk(part, TOLD_BY_BODIES, 4u, p.grain_sums + (u64)chunk * TOLD);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[0]);
    total_of(p.grain_sums, TOLD, chunks_of(p.grains), part, TOLD_BY_BODIES, 4u);
    LEADER {
        p.told[TOLD_RHS] = part[0][0];
        p.told[TOLD_KINETIC] = part[1][0];
        p.told[TOLD_WRONG] = part[2][0];
    }
}

/* u of a contact in f64, without its bias. */
INLINE v3 contact_velocity(const struct grains *p, u32 a, u32 b, v4 touch)
{
    const double *m = p->motion_after + (u64)a * 8u;
    v3 n = xyz(touch), v = xyz(load4(m)), w = times(p->place[(u64)a * 4u + 3u], xyz(load4(m + 4)));
    if (!(b & FIXED)) {
        m = p->motion_after + (u64)b * 8u;
        v = minus(v, xyz(load4(m)));
        w = plus(w, times(p->place[(u64)b * 4u + 3u], xyz(load4(m + 4))));
    }
    return plus(v, cross(n, w));
}

/* How near to a side of the cone counts as on it, over the normal multiplier. */
#define ON_SIDE 1e-12

/* What the judge says of one contact: see `certificate.rs` of drystone-solve. */
INLINE void judge_contact(const struct grains *p, u32 c, double *sums)
{
    u32 a = p->owner[c], b = p->other[c];
    v4 touch = load4(p->touch + (u64)c * 4u);
    v3 n = xyz(touch), x = xyz(load4(p->gamma + (u64)c * 4u)), bias = contact_bias(p, a, b, touch);
    double mu = contact_mu(p, a, b), light = p->mass[(u64)a * 4u], turns = p->mass[(u64)a * 4u + 1u];
    if (!(b & FIXED)) {
        light += p->mass[(u64)b * 4u];
        turns += p->mass[(u64)b * 4u + 1u];
    }
    double g = mu == 0.0 ? light : light + 2.0 / 3.0 * turns, x_n = dot(x, n), yields = 0.0;
    if (is_led(p, b)) {
        const double *soft = p->soft + (u64)c * 2u;
        yields = soft[0] * x_n;
        bias = minus(bias, times(soft[1], n));
        g += mu == 0.0 ? soft[0] : soft[0] / 3.0;
    }
    v3 u = plus(plus(contact_velocity(p, a, b, touch), bias), times(yields, n));
    v3 to = minus(x, times(1.0 / g, u));
    double along = dot(to, n);
    v3 e = minus(x, project_parts(along, minus(to, times(along, n)), n, mu, 1.0));
    double u_n = dot(u, n);
    v3 u_t = minus(u, times(u_n, n)), x_t = minus(x, times(x_n, n));
    double slip = mu == 0.0 ? 0.0 : sqrt(dot(u_t, u_t)), rub = sqrt(dot(x_t, x_t));
    /* From the dual cone u_n >= mu |u_t|. */
    double apart = 0.0;
    if (u_n < mu * slip)
        apart = slip > -mu * u_n ? (mu * slip - u_n) / sqrt(1.0 + mu * mu) : sqrt(u_n * u_n + slip * slip);
    /* From the velocities that this multiplier allows. */
    double back = apart;
    if (x_n > 0.0 && (mu == 0.0 || rub < mu * x_n * (1.0 - ON_SIDE)))
        back = mu == 0.0 ? absolute(u_n) : sqrt(u_n * u_n + slip * slip);
    else if (x_n > 0.0) {
        v3 ray = plus(times(mu, n), times(-1.0 / rub, x_t));
        double length = dot(u, ray) / (1.0 + mu * mu);
        v3 off = length > 0.0 ? minus(u, times(length, ray)) : u;
        back = sqrt(dot(off, off));
    }
    double residual = larger(larger(g * sqrt(dot(e, e)), apart), 2.220446049250313e-16 * g * sqrt(dot(x, x)));
    double deep = touch.w <= 0.0 ? -touch.w : 0.0;
    sums[TOLD_RESIDUAL] = residual;
    sums[TOLD_VIOLATION] = apart;
    sums[TOLD_BACKWARD] = back;
    sums[TOLD_OVERLAP] = deep;
    sums[TOLD_SQUARES] = residual * residual;
    sums[TOLD_COMPLEMENTARITY] = absolute(dot(x, u));
    sums[TOLD_MULTIPLIERS] = dot(x, x);
    sums[TOLD_BIAS] = dot(bias, x) + 0.5 * yields * x_n;
    sums[TOLD_SUPPORT] = b & FIXED ? -(x.x * p->gx + x.y * p->gy + x.z * p->gz) : 0.0;
    sums[TOLD_TOUCHING] = touch.w <= 0.0 ? 1.0 : 0.0;
    sums[TOLD_DEPTH] = deep;
}

/* The certificate of a step. */
KERNEL grains_judge(struct grains p)
{
    SHARED double part[TOLD_BY_CONTACTS][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            double sums[TOLD_BY_CONTACTS] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
            if (chunk * CHUNK + i < p.contacts)
                judge_contact(&p, chunk * CHUNK + i, sums);
            for (u32 k = 0; k < TOLD_BY_CONTACTS; k++)
                part[k][i] = sums[k];
        }
        finish_chunk(part, TOLD_BY_CONTACTS, 15u, p.contact_sums + (u64)chunk * TOLD);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[1]);
    total_of(p.contact_sums, TOLD, chunks_of(p.contacts), part, TOLD_BY_CONTACTS, 15u);
    LEADER {
        for (u32 k = 0; k < TOLD_BY_CONTACTS; k++)
            p.told[k] = part[k][0];
    }
}

/* cos a and sin(a)/a of an angle that is not negative. By halves down to a small one, and back: the same bits everywhere. */
INLINE void half_angle(double a, double *cosine, double *sinc)
{
    u32 doublings = 0u;
    ROLLED while (a > 0.25 && doublings < 64u) {
        a *= 0.5;
        doublings++;
    }
    double s = a * a, c = 1.0, q = 1.0;
    ROLLED for (u32 k = 9u; k > 0u; k--) {
        c = 1.0 - s * c / (double)((2u * k - 1u) * (2u * k));
        q = 1.0 - s * q / (double)((2u * k) * (2u * k + 1u));
    }
    ROLLED for (; doublings > 0u; doublings--) {
        q = q * c; /* sin 2a / 2a */
        c = 2.0 * c * c - 1.0;
    }
    *cosine = c;
    *sinc = q;
}

/* Positions follow velocities. */
KERNEL grains_integrate(struct grains p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.grains) {
                const double *m = p.motion_after + (u64)k * 8u;
                v4 x = load4(p.place + (u64)k * 4u), q = load4(p.turn + (u64)k * 4u);
                v3 v = xyz(load4(m)), w = times(0.5 * p.h, xyz(load4(m + 4))), axis = xyz(q);
                store4(p.place_after + (u64)k * 4u, plus(xyz(x), times(p.h, v)), x.w);
                double cosine, sinc;
                half_angle(sqrt(dot(w, w)), &cosine, &sinc);
                w = times(sinc, w);
                /* exp(h w / 2) q, world axes. */
                v3 turned = plus(plus(times(q.w, w), times(cosine, axis)), cross(w, axis));
                double real = cosine * q.w - dot(w, axis);
                double length = sqrt(dot(turned, turned) + real * real);
                store4(p.turn_after + (u64)k * 4u, times(1.0 / length, turned), real / length);
            }
        }
    }
}

/* Overlaps where grains have come to. */
INLINE void measure_overlap(const struct grains *p, u32 c, double *worst, double *unresolved, double *deepest)
{
    u32 a = p->owner[c], b = p->other[c];
    double gap = p->touch[(u64)c * 4u + 3u], size = contact_size(p, a, b);
    if (gap >= 0.0)
        return;
    *worst = -gap / size;
    *deepest = -gap < p->reach * size ? -gap : p->reach * size;
    if (-gap > p->resolved * size) {
        v4 x = load4(p->place + (u64)a * 4u);
        double before;
        if (b & FIXED)
            before = ball_fixed(shape_of(p->fixed_before, b), xyz(x), x.w).gap;
        else {
            v4 y = load4(p->place + (u64)b * 4u);
            before = ball_ball(xyz(x), x.w, xyz(y), y.w).gap;
        }
        if (gap < before - 0.5 * p->resolved * size)
            *unresolved = 1.0;
    }
}

KERNEL grains_measure(struct grains p)
{
    SHARED double part[3][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            double worst = 0.0, unresolved = 0.0, deepest = 0.0;
            if (chunk * CHUNK + i < p.contacts)
                measure_overlap(&p, chunk * CHUNK + i, &worst, &unresolved, &deepest);
            part[0][i] = worst;
            part[1][i] = unresolved;
            part[2][i] = deepest;
        }
        finish_chunk(part, 3u, 7u, p.contact_sums + (u64)chunk * TOLD);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[2]);
    total_of(p.contact_sums, TOLD, chunks_of(p.contacts), part, 3u, 7u);
    LEADER {
        for (u32 k = 0; k < 3u; k++)
            p.told[TOLD_WORST + k] = part[k][0];
    }
}
