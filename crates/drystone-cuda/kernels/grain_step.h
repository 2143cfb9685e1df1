/* The cone problem of grains, in REAL: read once for floats and once for doubles. N(x) is the name of x in that precision.
 *
 * A grain's spin is counted as the speed r w of its surface, so that a contact with normal n from b to a has the velocity
 *     u = v_a - v_b + n x (r w_a + r w_b) + b n,
 * and a multiplier z on a changes v_a by z/m and r w_a by -(r^2/I) n x z, and those of b by -z/m and -(r^2/I) n x z: no arms are read.
 *
 * Position problems have no friction: a contact has one number, along its normal, and a grain four, its way and a 0. They take the places of the
 * velocity problem's, closer together. */

typedef struct {
    REAL x, y, z;
} N(v3);
typedef struct {
    REAL x, y, z, w;
} N(v4);

INLINE N(v4) N(load)(const REAL *p)
{
    N(v4) out;
#ifdef __CUDACC__
    if (sizeof(REAL) == 4) {
        float4 all = *(const float4 *)p;
        out.x = all.x;
        out.y = all.y;
        out.z = all.z;
        out.w = all.w;
        return out;
    }
    double2 low = ((const double2 *)p)[0], high = ((const double2 *)p)[1];
    out.x = (REAL)low.x;
    out.y = (REAL)low.y;
    out.z = (REAL)high.x;
    out.w = (REAL)high.y;
#else
    out.x = p[0];
    out.y = p[1];
    out.z = p[2];
    out.w = p[3];
#endif
    return out;
}

INLINE void N(store)(REAL *p, N(v3) a, REAL w)
{
#ifdef __CUDACC__
    if (sizeof(REAL) == 4) {
        *(float4 *)p = make_float4((float)a.x, (float)a.y, (float)a.z, (float)w);
        return;
    }
    ((double2 *)p)[0] = make_double2(a.x, a.y);
    ((double2 *)p)[1] = make_double2(a.z, w);
#else
    p[0] = a.x;
    p[1] = a.y;
    p[2] = a.z;
    p[3] = w;
#endif
}

INLINE N(v3) N(vec)(REAL x, REAL y, REAL z)
{
    N(v3) out;
    out.x = x;
    out.y = y;
    out.z = z;
    return out;
}

INLINE N(v3) N(xyz)(N(v4) a)
{
    return N(vec)(a.x, a.y, a.z);
}

INLINE N(v3) N(plus)(N(v3) a, N(v3) b)
{
    return N(vec)(a.x + b.x, a.y + b.y, a.z + b.z);
}

INLINE N(v3) N(minus)(N(v3) a, N(v3) b)
{
    return N(vec)(a.x - b.x, a.y - b.y, a.z - b.z);
}

INLINE N(v3) N(times)(REAL s, N(v3) a)
{
    return N(vec)(s * a.x, s * a.y, s * a.z);
}

INLINE REAL N(dot)(N(v3) a, N(v3) b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

INLINE N(v3) N(cross)(N(v3) a, N(v3) b)
{
    return N(vec)(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/* As project_parts of sets.h. */
INLINE N(v3) N(project)(REAL along, N(v3) across, N(v3) n, REAL mu, REAL kappa)
{
    REAL r = ROOT(N(dot)(across, across)), pull = kappa * mu, one = (REAL)1;
    if (pull * r <= -along)
        return N(vec)((REAL)0, (REAL)0, (REAL)0);
    if (r <= mu * along)
        return N(plus)(N(times)(along, n), across);
    REAL pressed = (along + pull * r) / (one + pull * mu);
    REAL share = r > (REAL)0 ? mu * pressed / r : (REAL)0;
    return N(plus)(N(times)(pressed, n), N(times)(share, across));
}

INLINE REAL *N(multipliers)(const struct grains *p, u32 place)
{
    return (REAL *)p->places + (u64)place * p->stride;
}

INLINE REAL *N(moving)(const struct grains *p, u32 place)
{
    return (REAL *)p->velocity + (u64)place * p->grains * 8u;
}

INLINE REAL *N(going)(const struct grains *p, u32 place)
{
    return (REAL *)p->ahead + (u64)place * p->grains * 8u;
}

/* u of a contact without its bias. */
INLINE N(v3) N(relative)(const REAL *velocity, u32 a, u32 other, N(v3) n)
{
    const REAL *row = velocity + (u64)a * 8u;
    N(v3) v = N(xyz)(N(load)(row)), w = N(xyz)(N(load)(row + 4));
    if (!(other & FIXED)) {
        row = velocity + (u64)other * 8u;
        v = N(minus)(v, N(xyz)(N(load)(row)));
        w = N(plus)(w, N(xyz)(N(load)(row + 4)));
    }
    return N(plus)(v, N(cross)(n, w));
}

/* The rows of a contact and its guess: what it had in the last step. Returns the work of the guess. */
INLINE double N(pose_contact)(const struct grains *p, u32 c)
{
    u32 a = p->owner[c], b = p->other[c], at_c = place_of(p, c);
    v4 touch = load4(p->touch + (u64)c * 4u);
    v3 n = xyz(touch);
    double mu = contact_mu(p, a, b), size = contact_size(p, a, b), bias;
    int led = !p->positions && is_led(p, b);
    if (p->positions)
        bias = touch.w < -p->reach * size ? -p->reach * size : touch.w;
    else
        bias = touch.w > 0.0 ? touch.w / p->h : 0.0;
    double light = p->mass[(u64)a * 4u], turns = p->mass[(u64)a * 4u + 1u];
    if (!(b & FIXED)) {
        light += p->mass[(u64)b * 4u];
        turns += p->mass[(u64)b * 4u + 1u];
    }
    double g = mu == 0.0 ? light : light + 2.0 / 3.0 * turns, eta = (2.0 + 1.0 / p->kappa) / 3.0 / g;
    if (p->slot)
        eta = mu == 0.0 ? 1.0 / (p->kappa * light) : 1.0 / (light + turns);
    N(v3) normal = N(vec)((REAL)n.x, (REAL)n.y, (REAL)n.z);
    if (!led)
        N(store)((REAL *)p->row + (u64)at_c * 4u, normal, (REAL)bias);
    ((REAL *)p->rub)[(u64)at_c * 2u] = (REAL)mu;
    ((REAL *)p->rub)[(u64)at_c * 2u + 1u] = (REAL)eta;
    if (p->positions) {
        N(multipliers)(p, p->control->now)[c] = (REAL)0;
        return 0.0;
    }
    v3 x = vec(0.0, 0.0, 0.0);
    double along = 0.0;
    if (p->old_contacts > 0u) {
        u32 at = find(p->old_other, p->old_first[a], p->old_first[a + 1u], b);
        if (at < p->old_first[a + 1u]) {
            x = xyz(load4(p->old_gamma + (u64)at * 4u));
            along = dot(x, n);
            x = project_parts(along, minus(x, times(along, n)), n, mu, 1.0);
        }
    }
    N(store)(N(multipliers)(p, p->control->now) + (u64)at_c * 4u, N(vec)((REAL)x.x, (REAL)x.y, (REAL)x.z), (REAL)0);
    if (!led)
        return bias * dot(x, n);
    v3 b_all = contact_bias(p, a, b, touch);
    double *soft = p->soft + (u64)c * 2u;
    if (!p->again)
        ask(p, a, n, b_all, mu, along, soft);
    double b_n = dot(b_all, n), x_n = dot(x, n);
    v3 off = minus(b_all, times(b_n, n));
    N(store)((REAL *)p->row + (u64)at_c * 4u, normal, (REAL)(b_n - soft[1]));
    N(store)((REAL *)p->drift + (u64)at_c * 4u, N(vec)((REAL)off.x, (REAL)off.y, (REAL)off.z), (REAL)soft[0]);
    return (b_n - soft[1]) * x_n + dot(off, x) + 0.5 * soft[0] * x_n * x_n;
}

KERNEL N(grains_pose)(struct grains p)
{
    SHARED double part[1][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 c = chunk * CHUNK + i;
            part[0][i] = c < p.contacts ? N(pose_contact)(&p, c) : 0.0;
        }
        finish_chunk(part, 1u, 0u, p.contact_sums + (u64)chunk * SUMS);
    }
}

/* Adds z and n x z of a grain's contacts, those after it first; the places of contacts rise. */
INLINE void N(gather)(const struct grains *p, const REAL *gamma, u32 k, N(v3) *force, N(v3) *torque)
{
    const REAL *row = (const REAL *)p->row;
    N(v3) f = N(vec)((REAL)0, (REAL)0, (REAL)0), t = f;
    u32 from = p->first[p->grains + k] - p->contacts, to = p->first[p->grains + k + 1u] - p->contacts;
    BY_FOUR for (u32 e = from; e < to; e++) {
        u32 c = place_of(p, p->low[e]);
        N(v3) z = N(xyz)(N(load)(gamma + (u64)c * 4u)), n = N(xyz)(N(load)(row + (u64)c * 4u));
        f = N(minus)(f, z);
        t = N(plus)(t, N(cross)(n, z));
    }
    BY_FOUR for (u32 e = p->first[k]; e < p->first[k + 1u]; e++) {
        u32 c = place_of(p, e);
        N(v3) z = N(xyz)(N(load)(gamma + (u64)c * 4u)), n = N(xyz)(N(load)(row + (u64)c * 4u));
        f = N(plus)(f, z);
        t = N(plus)(t, N(cross)(n, z));
    }
    *force = f;
    *torque = t;
}

/* The way of a grain under the pressures of a position problem. */
INLINE N(v3) N(pushed)(const struct grains *p, const REAL *gamma, u32 k)
{
    const REAL *row = (const REAL *)p->row;
    N(v3) f = N(vec)((REAL)0, (REAL)0, (REAL)0);
    u32 from = p->first[p->grains + k] - p->contacts, to = p->first[p->grains + k + 1u] - p->contacts;
    BY_FOUR for (u32 e = from; e < to; e++) {
        u32 c = p->low[e];
        f = N(minus)(f, N(times)(gamma[c], N(xyz)(N(load)(row + (u64)c * 4u))));
    }
    BY_FOUR for (u32 c = p->first[k]; c < p->first[k + 1u]; c++)
        f = N(plus)(f, N(times)(gamma[c], N(xyz)(N(load)(row + (u64)c * 4u))));
    return N(times)(((const REAL *)p->light)[(u64)k * 4u], f);
}

/* v and r w of a grain under multipliers; both without them come from `start`. */
INLINE void N(kick)(const struct grains *p, const REAL *gamma, u32 k, N(v3) *v, N(v3) *w)
{
    N(v3) force, torque;
    N(gather)(p, gamma, k, &force, &torque);
    N(v4) light = N(load)((const REAL *)p->light + (u64)k * 4u);
    const REAL *free = (const REAL *)p->start + (u64)k * 8u;
    *v = N(plus)(N(xyz)(N(load)(free)), N(times)(light.x, force));
    *w = N(minus)(N(xyz)(N(load)(free + 4)), N(times)(light.y, torque));
}

/* The largest eigenvalue is at most the largest sum of this over a grain's contacts. */
INLINE double N(bound)(const struct grains *p, u32 k, u32 c, int both)
{
    u32 at_c = place_of(p, c);
    double mu = (double)((const REAL *)p->rub)[(u64)at_c * 2u], eta = (double)((const REAL *)p->rub)[(u64)at_c * 2u + 1u];
    double light = p->mass[(u64)k * 4u], turns = p->mass[(u64)k * 4u + 1u];
    double own = (mu == 0.0 ? light : 3.0 * light + 2.0 * turns) + (p->kappa - 1.0) * light;
    if (!p->positions && is_led(p, p->other[c]))
        own += p->kappa * p->soft[(u64)c * 2u];
    return own * eta * (both ? 2.0 : 1.0);
}

/* Velocities of a grain without contacts, and under the guess, whose <F, v + v_free> is returned. */
INLINE double N(start_grain)(const struct grains *p, u32 k)
{
    const double *free = p->free + (u64)k * 8u, *m = p->mass + (u64)k * 4u;
    double r = p->place[(u64)k * 4u + 3u];
    N(v3) v0 = N(vec)((REAL)free[0], (REAL)free[1], (REAL)free[2]), v, w;
    N(v3) w0 = N(vec)((REAL)(r * free[4]), (REAL)(r * free[5]), (REAL)(r * free[6]));
    REAL *to = (REAL *)p->start + (u64)k * 8u;
    N(store)(to, v0, (REAL)0);
    N(store)(to + 4, w0, (REAL)0);
    N(kick)(p, N(multipliers)(p, p->control->now), k, &v, &w);
    to = N(moving)(p, p->control->now) + (u64)k * 8u;
    N(store)(to, v, (REAL)0);
    N(store)(to + 4, w, (REAL)0);
    return (double)N(dot)(N(minus)(v, v0), N(plus)(v, v0)) * m[2] +
           (double)N(dot)(N(minus)(w, w0), N(plus)(w, w0)) * m[3];
}

/* Velocities of the guess, and the bound on L. */
KERNEL N(grains_start)(struct grains p)
{
    SHARED double part[2][CHUNK], kinetic, most;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            part[0][i] = part[1][i] = 0.0;
            if (k < p.grains) {
                const double *m = p.mass + (u64)k * 4u;
                N(store)((REAL *)p.light + (u64)k * 4u, N(vec)((REAL)m[0], (REAL)m[1], (REAL)0), (REAL)0);
                if (p.positions)
                    N(store)(N(moving)(&p, p.control->now) + (u64)k * 4u, N(vec)((REAL)0, (REAL)0, (REAL)0), (REAL)0);
                else
                    part[0][i] = N(start_grain)(&p, k);
                double sum = 0.0;
                ROLLED for (u32 e = p.first[p.grains + k]; e < p.first[p.grains + k + 1u]; e++)
                    sum += N(bound)(&p, k, p.low[e - p.contacts], 1);
                ROLLED for (u32 c = p.first[k]; c < p.first[k + 1u]; c++)
                    sum += N(bound)(&p, k, c, !(p.other[c] & FIXED));
                part[1][i] = sum;
            }
        }
        finish_chunk(part, 2u, 2u, p.grain_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[1]);
    total(p.grain_sums, chunks_of(p.grains), part, 2u, 2u);
    LEADER {
        kinetic = part[0][0];
        most = part[1][0];
    }
    BARRIER;
    total(p.contact_sums, chunks_of(p.contacts), part, 1u, 0u);
    LEADER {
        struct control *c = p.control;
        c->objective = c->start_objective = 0.5 * kinetic + part[0][0];
        c->most = most;
        if (!(c->lipschitz > 0.0 && c->lipschitz < most))
            c->lipschitz = most;
    }
}

/* z = P(y - t S u_y) of a contact. */
INLINE void N(step_contact)(const struct grains *p, const struct control *c, u32 i, REAL t, double *sums)
{
    u32 a = p->owner[i], b = p->other[i];
    N(v4) row = N(load)((const REAL *)p->row + (u64)i * 4u);
    N(v3) n = N(xyz)(row);
    REAL mu = ((const REAL *)p->rub)[(u64)i * 2u], eta = ((const REAL *)p->rub)[(u64)i * 2u + 1u];
    REAL kappa = (REAL)p->kappa, one = (REAL)1, step = t * eta, weight = one / eta;
    N(v3) now = N(xyz)(N(load)(N(multipliers)(p, c->now) + (u64)i * 4u)), y = now;
    if (c->beta != 0.0) {
        N(v3) before = N(xyz)(N(load)(N(multipliers)(p, c->before) + (u64)i * 4u));
        y = N(plus)(now, N(times)((REAL)c->beta, N(minus)(now, before)));
    }
    const REAL *velocity = c->has_ahead ? N(going)(p, c->ahead_place) : N(moving)(p, c->now);
    N(v3) u = N(plus)(N(relative)(velocity, a, b, n), N(times)(row.w, n));
    int led = is_led(p, b);
    N(v4) drift;
    if (led) {
        drift = N(load)((const REAL *)p->drift + (u64)i * 4u);
        u = N(plus)(u, N(plus)(N(xyz)(drift), N(times)(drift.w * N(dot)(y, n), n)));
    }
    N(v3) to = N(minus)(y, N(times)(step, u));
    REAL along = N(dot)(to, n), pressed = along - (kappa - one) * step * N(dot)(u, n);
    N(v3) z = N(project)(pressed, N(minus)(to, N(times)(along, n)), n, mu, kappa);
    if (c->rule == JACOBI)
        z = N(plus)(y, N(times)((REAL)c->lambda, N(minus)(z, y)));
    N(store)(N(multipliers)(p, c->trial) + (u64)i * 4u, z, (REAL)0);
    N(v3) d = N(minus)(z, y);
    REAL square = N(dot)(d, d), part = N(dot)(d, n), less = part * part;
    sums[MEASURE] = (double)((square - (one - one / (kappa * kappa)) * less) * weight * weight);
    sums[LENGTH] = (double)((square - (one - one / kappa) * less) * weight);
    sums[DESCENT] = (double)N(dot)(u, N(minus)(z, now));
    sums[WORK] = (double)(row.w * N(dot)(n, z));
    if (led) {
        REAL pressed_n = N(dot)(n, z);
        sums[SOFT] = (double)(drift.w * less);
        sums[WORK] += (double)(N(dot)(N(xyz)(drift), z) + (REAL)0.5 * drift.w * pressed_n * pressed_n);
    }
}

/* The same of a position problem. */
INLINE void N(step_gap)(const struct grains *p, const struct control *c, u32 i, REAL t, double *sums)
{
    u32 a = p->owner[i], b = p->other[i];
    N(v4) row = N(load)((const REAL *)p->row + (u64)i * 4u);
    REAL eta = ((const REAL *)p->rub)[(u64)i * 2u + 1u], weight = (REAL)1 / eta;
    REAL now = N(multipliers)(p, c->now)[i], y = now;
    if (c->beta != 0.0)
        y = now + (REAL)c->beta * (now - N(multipliers)(p, c->before)[i]);
    const REAL *way = c->has_ahead ? N(going)(p, c->ahead_place) : N(moving)(p, c->now);
    N(v3) v = N(xyz)(N(load)(way + (u64)a * 4u));
    if (!(b & FIXED))
        v = N(minus)(v, N(xyz)(N(load)(way + (u64)b * 4u)));
    REAL u = N(dot)(v, N(xyz)(row)) + row.w, z = y - t * eta * u;
    z = z > (REAL)0 ? z : (REAL)0;
    N(multipliers)(p, c->trial)[i] = z;
    REAL d = z - y;
    sums[MEASURE] = (double)(d * d * weight * weight);
    sums[LENGTH] = (double)(d * d * weight);
    sums[DESCENT] = (double)(u * (z - now));
    sums[WORK] = (double)(row.w * z);
}

/* The trial's multipliers, and the sums over contacts. */
KERNEL_BESIDE(RESIDENT) N(grains_contacts)(struct grains p)
{
    SHARED double part[SUMS][CHUNK];
    const struct control c = *p.control;
    if (c.halt)
        return;
    REAL t = (REAL)step_length(&c);
    ROLLED for (u32 run = BLOCK; run < runs_of(&p, p.contacts); run += BLOCKS) {
        LANES (i, CHUNK) {
            double all[SUMS] = {0.0, 0.0, 0.0, 0.0, 0.0}, sums[SUMS];
            ROLLED for (u32 chunk = run * p.run; chunk < (run + 1u) * p.run && chunk * CHUNK + i < p.contacts; chunk++) {
                sums[SOFT] = 0.0;
                if (p.positions)
                    N(step_gap)(&p, &c, chunk * CHUNK + i, t, sums);
                else
                    N(step_contact)(&p, &c, chunk * CHUNK + i, t, sums);
                for (u32 k = 0; k < SUMS; k++)
                    all[k] = join(1u << MEASURE, k, all[k], sums[k]);
            }
            for (u32 k = 0; k < SUMS; k++)
                part[k][i] = all[k];
        }
        finish_chunk(part, SUMS, 1u << MEASURE, p.contact_sums + (u64)run * SUMS);
    }
}

/* v and r w of the trial, and what they will be at the next y; <F_z - F_y, v_z - v_y> and <F_z, v_z + v_free>. */
INLINE void N(step_grain)(const struct grains *p, const struct control *c, u32 k, double *change, double *kinetic)
{
    const REAL *free = (const REAL *)p->start + (u64)k * 8u, *now = N(moving)(p, c->now) + (u64)k * 8u;
    const REAL *at = c->has_ahead ? N(going)(p, c->ahead_place) + (u64)k * 8u : now;
    /* All on their way before the list is read. */
    N(v3) v0 = N(xyz)(N(load)(free)), w0 = N(xyz)(N(load)(free + 4));
    N(v3) v1 = N(xyz)(N(load)(now)), w1 = N(xyz)(N(load)(now + 4));
    N(v3) vy = N(xyz)(N(load)(at)), wy = N(xyz)(N(load)(at + 4)), v, w;
    double mass = p->mass[(u64)k * 4u + 2u], inertia = p->mass[(u64)k * 4u + 3u];
    N(kick)(p, N(multipliers)(p, c->trial), k, &v, &w);
    REAL *to = N(moving)(p, c->trial) + (u64)k * 8u;
    N(store)(to, v, (REAL)0);
    N(store)(to + 4, w, (REAL)0);
    if (c->rule != JACOBI) {
        REAL beta = (REAL)c->next_beta;
        to = N(going)(p, c->ahead_place ^ 1u) + (u64)k * 8u;
        N(store)(to, N(plus)(v, N(times)(beta, N(minus)(v, v1))), (REAL)0);
        N(store)(to + 4, N(plus)(w, N(times)(beta, N(minus)(w, w1))), (REAL)0);
    }
    N(v3) dv = N(minus)(v, vy), dw = N(minus)(w, wy);
    *change = mass * (double)N(dot)(dv, dv) + inertia * (double)N(dot)(dw, dw);
    *kinetic = mass * (double)N(dot)(N(minus)(v, v0), N(plus)(v, v0)) +
               inertia * (double)N(dot)(N(minus)(w, w0), N(plus)(w, w0));
}

/* The same of a position problem. */
INLINE void N(step_way)(const struct grains *p, const struct control *c, u32 k, double *change, double *kinetic)
{
    const REAL *now = N(moving)(p, c->now) + (u64)k * 4u;
    const REAL *at = c->has_ahead ? N(going)(p, c->ahead_place) + (u64)k * 4u : now;
    N(v3) before = N(xyz)(N(load)(now)), ahead = N(xyz)(N(load)(at));
    double mass = p->mass[(u64)k * 4u + 2u];
    N(v3) way = N(pushed)(p, N(multipliers)(p, c->trial), k), d = N(minus)(way, ahead);
    N(store)(N(moving)(p, c->trial) + (u64)k * 4u, way, (REAL)0);
    N(v3) next = N(plus)(way, N(times)((REAL)c->next_beta, N(minus)(way, before)));
    N(store)(N(going)(p, c->ahead_place ^ 1u) + (u64)k * 4u, next, (REAL)0);
    *change = mass * (double)N(dot)(d, d);
    *kinetic = mass * (double)N(dot)(way, way);
}

/* The trial's velocities, the sums over grains, and in the block that comes last the decision. */
KERNEL_BESIDE(RESIDENT) N(grains_bodies)(struct grains p)
{
    SHARED double part[SUMS + 2u][CHUNK];
    const struct control c = *p.control;
    if (c.halt)
        return;
    ROLLED for (u32 run = BLOCK; run < runs_of(&p, p.grains); run += BLOCKS) {
        LANES (i, CHUNK) {
            double changes = 0.0, all = 0.0, change, kinetic;
            ROLLED for (u32 chunk = run * p.run; chunk < (run + 1u) * p.run && chunk * CHUNK + i < p.grains; chunk++) {
                if (p.positions)
                    N(step_way)(&p, &c, chunk * CHUNK + i, &change, &kinetic);
                else
                    N(step_grain)(&p, &c, chunk * CHUNK + i, &change, &kinetic);
                changes += change;
                all += kinetic;
            }
            part[CHANGE][i] = changes;
            part[KINETIC][i] = all;
        }
        finish_chunk(part, 2u, 0u, p.grain_sums + (u64)run * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[4]);
    /* Of contacts, then of grains. */
    LANES (i, CHUNK) {
        add_up(p.contact_sums, SUMS, runs_of(&p, p.contacts), i, part, SUMS, 1u << MEASURE);
        add_up(p.grain_sums, SUMS, runs_of(&p, p.grains), i, part + SUMS, 2u, 0u);
    }
    BARRIER;
    tree(part, SUMS + 2u, 1u << MEASURE);
    LEADER {
        struct control next = *p.control;
        double contacts[SUMS], bodies[2];
        for (u32 k = 0; k < SUMS; k++)
            contacts[k] = part[k][0];
        for (u32 k = 0; k < 2u; k++)
            bodies[k] = part[SUMS + k][0];
        decide(&next, contacts, bodies);
        *p.control = next;
    }
}

/* The natural-map residual of a position problem's contact over its size, squared, and the ways that it is a difference of. */
INLINE double N(natural_gap)(const struct grains *p, const struct control *c, u32 i, double *speeds)
{
    N(v4) row = N(load)((const REAL *)p->row + (u64)i * 4u);
    REAL step = ((const REAL *)p->rub)[(u64)i * 2u + 1u], eta = step * (REAL)(3.0 / (2.0 + 1.0 / p->kappa));
    REAL x = N(multipliers)(p, c->now)[i];
    u32 a = p->owner[i], b = p->other[i];
    N(v3) own = N(xyz)(N(load)(N(moving)(p, c->now) + (u64)a * 4u)), v = own;
    if (!(b & FIXED))
        v = N(minus)(v, N(xyz)(N(load)(N(moving)(p, c->now) + (u64)b * 4u)));
    REAL to = x - eta * (N(dot)(v, N(xyz)(row)) + row.w), e = x - (to > (REAL)0 ? to : (REAL)0);
    double size = contact_size(p, a, b);
    *speeds = (double)(x / eta + ROOT(N(dot)(own, own))) / size;
    return (double)(e * e / (eta * eta)) / (size * size);
}

/* The natural-map residual of a contact, squared, and the speeds that it is a difference of. */
INLINE double N(natural)(const struct grains *p, const struct control *c, u32 i, double *speeds)
{
    N(v4) row = N(load)((const REAL *)p->row + (u64)i * 4u);
    N(v3) n = N(xyz)(row);
    REAL mu = ((const REAL *)p->rub)[(u64)i * 2u], step = ((const REAL *)p->rub)[(u64)i * 2u + 1u], one = (REAL)1;
    REAL eta = mu == (REAL)0 ? (REAL)p->kappa * step : step * (REAL)(3.0 / (2.0 + 1.0 / p->kappa));
    N(v3) x = N(xyz)(N(load)(N(multipliers)(p, c->now) + (u64)i * 4u));
    u32 a = owner_at(p, i), b = other_at(p, i);
    /* Sweeps carry one set of rows on. */
    const REAL *rows = N(moving)(p, c->rule == SWEEPS ? 0u : c->now), *v = rows + (u64)a * 8u;
    N(v3) u = N(plus)(N(relative)(rows, a, b, n), N(times)(row.w, n)), own = N(xyz)(N(load)(v));
    if (is_led(p, b)) {
        N(v4) drift = N(load)((const REAL *)p->drift + (u64)i * 4u);
        u = N(plus)(u, N(plus)(N(xyz)(drift), N(times)(drift.w * N(dot)(x, n), n)));
    }
    N(v3) to = N(minus)(x, N(times)(eta, u));
    REAL along = N(dot)(to, n);
    N(v3) e = N(minus)(x, N(project)(along, N(minus)(to, N(times)(along, n)), n, mu, one));
    *speeds = (double)(ROOT(N(dot)(x, x)) / eta + ROOT(N(dot)(own, own)));
    return (double)(N(dot)(e, e) / (eta * eta));
}

/* Residuals below so many roundings of the speeds that they are differences of are noise. */
#undef NOISE
#undef SELDOM
#define NOISE 32.0
/* Iterations after which a look is due in any case. */
#define SELDOM 64u

/* As `look` of iterate.h. Where rounding leaves nothing to gain the iteration waits for the host, too. */
KERNEL_BESIDE(RESIDENT) N(grains_look)(struct grains p)
{
    SHARED double part[2][CHUNK];
    const struct control c = *p.control;
    int due = c.used % SELDOM == 0u || (c.used % EVERY == 0u && (p.positions || c.measure <= 3.0 * c.threshold));
    if (c.halt || !due)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            double speeds = 0.0;
            part[0][i] = 0.0;
            if (k < p.contacts)
                part[0][i] = p.positions ? N(natural_gap)(&p, &c, k, &speeds) : N(natural)(&p, &c, k, &speeds);
            part[1][i] = speeds;
        }
        finish_chunk(part, 2u, 3u, p.contact_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[5]);
    total(p.contact_sums, chunks_of(p.contacts), part, 2u, 3u);
    LEADER {
        double residual = sqrt(part[0][0]), noise = NOISE * ROUNDING * part[1][0];
        p.control->residual = residual;
        p.control->noise = noise;
        if (residual <= c.threshold)
            p.control->halt |= LOOK;
        else if (c.threshold > 0.0 && residual <= noise)
            p.control->halt |= STALLED;
    }
}

/* Multipliers as doubles, inside their cones: the last ones, or the best. */
KERNEL N(grains_multipliers)(struct grains p)
{
    const REAL *from = N(multipliers)(&p, p.best ? p.control->best : p.control->now);
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 c = chunk * CHUNK + i;
            if (c < p.contacts) {
                N(v4) z = N(load)(from + (u64)place_of(&p, c) * 4u);
                v3 n = xyz(load4(p.touch + (u64)c * 4u)), x = vec((double)z.x, (double)z.y, (double)z.z);
                double along = dot(x, n);
                x = project_parts(along, minus(x, times(along, n)), n, contact_mu(&p, p.owner[c], p.other[c]), 1.0);
                store4(p.gamma + (u64)c * 4u, x, 0.0);
            }
        }
    }
}

/* Grains move by the solution of a position problem, by no more than a share of what their contacts were looked for. */
KERNEL N(grains_shift)(struct grains p)
{
    SHARED double part[2][CHUNK];
    const REAL *from = N(moving)(&p, p.best ? p.control->best : p.control->now);
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            part[0][i] = part[1][i] = 0.0;
            if (k < p.grains) {
                N(v4) d = N(load)(from + (u64)k * 4u);
                double *x = p.place_after + (u64)k * 4u;
                v3 way = vec((double)d.x, (double)d.y, (double)d.z);
                double length = sqrt(dot(way, way)), most = p.leash * near_by(&p, x[3]);
                if (length > most) {
                    way = times(most / length, way);
                    part[1][i] = 1.0;
                }
                part[0][i] = length / x[3];
                x[0] += way.x;
                x[1] += way.y;
                x[2] += way.z;
            }
        }
        finish_chunk(part, 2u, 3u, p.grain_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[6]);
    total(p.grain_sums, chunks_of(p.grains), part, 2u, 3u);
    LEADER {
        p.told[TOLD_WAY] = part[0][0];
        p.told[TOLD_CUT] = part[1][0];
    }
}
