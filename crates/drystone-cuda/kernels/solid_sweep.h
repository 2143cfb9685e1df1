/* Sweeps over solids: those of grain_sweep.h for points with arms, a pair at a time. */

/* The step of a contact, one over a bound of its largest eigenvalue: the Frobenius norm of the eighth power, whose root that is.
 * Its first multiplier is the guess. */
INLINE void begin_contact(const struct solids *p, u32 c)
{
    const struct args *q = &p->posed;
    u32 i = q->sides[(u64)c * 2u], j = q->sides[(u64)c * 2u + 1u];
    v4 a = load4(q->arm_a + (u64)c * 4u);
    v3 arm_b = xyz(load4(q->arm_b + (u64)c * 4u)), n = xyz(load4(q->normal + (u64)c * 4u));
    double most, soft = q->soft ? q->soft[(u64)c * 2u] : 0.0;
    if (a.w == 0.0)
        most = dot(n, own_part(q, i, j, xyz(a), arm_b, n)) + soft;
    else {
        double m[3][3], half[3][3], trace, square = 0.0;
        for (u32 k = 0; k < 3u; k++) {
            v3 e = vec(k == 0u ? 1.0 : 0.0, k == 1u ? 1.0 : 0.0, k == 2u ? 1.0 : 0.0);
            v3 column = plus(own_part(q, i, j, xyz(a), arm_b, e), times(soft * dot(n, e), n));
            m[0][k] = column.x;
            m[1][k] = column.y;
            m[2][k] = column.z;
        }
        trace = m[0][0] + m[1][1] + m[2][2];
        for (u32 k = 0; k < 9u; k++)
            m[k / 3u][k % 3u] /= trace;
        for (u32 power = 0; power < 3u; power++) {
            for (u32 k = 0; k < 9u; k++)
                half[k / 3u][k % 3u] = m[k / 3u][k % 3u];
            for (u32 k = 0; k < 9u; k++)
                m[k / 3u][k % 3u] = half[k / 3u][0] * half[0][k % 3u] + half[k / 3u][1] * half[1][k % 3u] + half[k / 3u][2] * half[2][k % 3u];
        }
        for (u32 k = 0; k < 9u; k++)
            square += m[k / 3u][k % 3u] * m[k / 3u][k % 3u];
        most = trace * smaller(sqrt(sqrt(sqrt(sqrt(square)))), 1.0);
    }
    q->arm_b[(u64)c * 4u + 3u] = 1.0 / most;
    v3 x = vec(0.0, 0.0, 0.0);
    if (q->guess) {
        const double *guess = q->guess + (u64)c * 3u;
        double local[3] = {guess[0], guess[1], guess[2]};
        v3 t1, t2;
        frame(n, &t1, &t2);
        project_friction(a.w, local, 3u);
        x = plus(times(local[0], n), plus(times(local[1], t1), times(local[2], t2)));
    }
    store4(gamma_at(q, q->control->now) + (u64)c * 4u, x, 0.0);
}

KERNEL solids_begin(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            if (chunk * CHUNK + i < p.contacts)
                begin_contact(&p, chunk * CHUNK + i);
        }
    }
}

/* Which pair is where in the order of colours. */
KERNEL solids_order(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.pairs); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            if (chunk * CHUNK + i < p.pairs)
                p.pair_at[p.slot[chunk * CHUNK + i]] = chunk * CHUNK + i;
        }
    }
}

/* Velocities of a body under multipliers. */
INLINE void solid_velocity(const struct args *q, const double *gamma, u32 k, v3 *v, v3 *w)
{
    const double *m = q->mass + (u64)k * 8u, *free = q->free + (u64)k * 8u;
    v3 force, torque;
    gather(q, gamma, k, 0, &force, &torque);
    *v = plus(xyz(load4(free)), times(m[0], force));
    *w = plus(xyz(load4(free + 4)), turn(m, torque));
}

/* Rows under the last multipliers and under those before them, anew. */
KERNEL solids_refresh(struct solids p)
{
    const struct control c = *p.posed.control;
    if (c.halt || (c.used > 0u && c.since < REFRESH))
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.solids) {
                v3 v, w;
                double *to = velocity_at(&p.posed, 0u) + (u64)k * 8u;
                solid_velocity(&p.posed, gamma_at(&p.posed, c.now), k, &v, &w);
                store4(to, v, 0.0);
                store4(to + 4, w, 0.0);
                if (c.used > 0u && c.before != c.now)
                    solid_velocity(&p.posed, gamma_at(&p.posed, c.before), k, &v, &w);
                to = velocity_at(&p.posed, 1u) + (u64)k * 8u;
                store4(to, v, 0.0);
                store4(to + 4, w, 0.0);
            }
        }
    }
    ONLY_LAST_BLOCK(&p.posed.control->tickets[7]);
    LEADER { p.posed.control->since = 0u; }
}

/* What a sweep reads of the control block. */
struct sweep {
    const double *now, *before;
    double *trial;
    double beta, leave;
    u32 settling;
};

INLINE struct sweep sweep_now(const struct solids *p)
{
    const struct control *c = p->posed.control;
    struct sweep out;
    out.now = gamma_at(&p->posed, c->now);
    out.before = gamma_at(&p->posed, c->before);
    out.trial = gamma_at(&p->posed, c->trial);
    out.settling = c->settling;
    out.beta = out.settling ? 0.0 : c->beta;
    out.leave = SHARE * SHARE * c->threshold * c->threshold;
    return out;
}

/* The row of a body; where a sweep comes to it first it goes to y, and what it was becomes that of gamma_before. */
INLINE void take_row(const struct solids *p, const struct sweep *s, u32 k, int first, v3 *v, v3 *w)
{
    double *now = velocity_at(&p->posed, 0u) + (u64)k * 8u;
    *v = xyz(load4(now));
    *w = xyz(load4(now + 4));
    if (first && !s->settling) {
        double *last = velocity_at(&p->posed, 1u) + (u64)k * 8u;
        v3 dv = minus(*v, xyz(load4(last))), dw = minus(*w, xyz(load4(last + 4)));
        store4(last, *v, 0.0);
        store4(last + 4, *w, 0.0);
        *v = plus(*v, times(s->beta, dv));
        *w = plus(*w, times(s->beta, dw));
    }
}

/* What a sweep reads of a contact. */
struct swept {
    v4 row, arm_a, arm_b;
    v3 now, before;
};

INLINE struct swept swept_of(const struct args *q, const struct sweep *s, u32 c)
{
    struct swept out;
    out.row = load4(q->normal + (u64)c * 4u);
    out.arm_a = load4(q->arm_a + (u64)c * 4u);
    out.arm_b = load4(q->arm_b + (u64)c * 4u);
    out.now = xyz(load4(s->now + (u64)c * 4u));
    out.before = xyz(load4((s->beta != 0.0 ? s->before : s->now) + (u64)c * 4u));
    return out;
}

/* Solves the contacts of a pair, one after the other, for what its bodies do now. Each is on its way while the one before is
 * solved. */
INLINE void sweep_pair(const struct solids *p, const struct sweep *s, u32 place)
{
    const struct args *q = &p->posed;
    u32 own = p->sides[(u64)place * 2u], a = own & OWNER, b = p->sides[(u64)place * 2u + 1u], pair = p->pair_at[place];
    u32 c = p->start[pair], end = p->start[pair + 1u];
    int alone = (b & FIXED) != 0u;
    v3 va, wa, vb = vec(0.0, 0.0, 0.0), wb = vb;
    const double *ma = q->mass + (u64)a * 8u, *mb = q->mass + (u64)(alone ? a : b) * 8u;
    struct swept next = swept_of(q, s, c);
    take_row(p, s, a, (own & FIRST_OF_OWNER) != 0u, &va, &wa);
    if (!alone)
        take_row(p, s, b, (own & FIRST_OF_OTHER) != 0u, &vb, &wb);
    ROLLED for (; c < end; c++) {
        struct swept of = next;
        if (c + 1u < end)
            next = swept_of(q, s, c + 1u);
        v3 n = xyz(of.row), at = xyz(of.arm_a), bt = xyz(of.arm_b), y = plus(of.now, times(s->beta, minus(of.now, of.before)));
        v3 u = plus(plus(va, cross(wa, at)), times(of.row.w, n));
        if (!alone)
            u = minus(u, plus(vb, cross(wb, bt)));
        if (q->soft)
            u = plus(u, yields(q, c, n, y));
        double eta = of.arm_b.w, weight = 1.0 / eta;
        v3 to = minus(y, times(eta, u));
        double along = dot(to, n);
        v3 z = project_parts(along, minus(to, times(along, n)), n, of.arm_a.w, 1.0), d = minus(z, y);
        double measure = dot(d, d) * weight * weight;
        p->seen[(u64)c * 2u] = measure;
        p->seen[(u64)c * 2u + 1u] = dot(d, minus(z, of.now)) * weight;
        if (s->settling && measure <= s->leave)
            continue;
        store4(s->trial + (u64)c * 4u, z, 0.0);
        va = plus(va, times(ma[0], d));
        wa = plus(wa, turn(ma, cross(at, d)));
        if (!alone) {
            vb = minus(vb, times(mb[0], d));
            wb = minus(wb, turn(mb, cross(bt, d)));
        }
    }
    double *to = velocity_at(q, 0u) + (u64)a * 8u;
    store4(to, va, 0.0);
    store4(to + 4, wa, 0.0);
    if (alone)
        return;
    to = velocity_at(q, 0u) + (u64)b * 8u;
    store4(to, vb, 0.0);
    store4(to + 4, wb, 0.0);
}

/* The pairs of one colour. */
KERNEL_BESIDE(2) solids_sweep(struct solids p)
{
    if (p.posed.control->halt)
        return;
    const struct sweep s = sweep_now(&p);
    ROLLED for (u32 piece = p.from + BLOCK * PIECE; piece < p.to; piece += BLOCKS * PIECE) {
        LANES (i, PIECE) {
            if (piece + i < p.to)
                sweep_pair(&p, &s, piece + i);
        }
    }
}

/* The pairs of colours that have few: one block, one colour after the other. */
KERNEL_BESIDE(1) solids_sweep_last(struct solids p)
{
    SHARED u32 first[COLOURS + 1u];
    if (p.posed.control->halt || BLOCK != 0u)
        return;
    const struct sweep s = sweep_now(&p);
    LANES (k, COLOURS + 1u) { first[k] = p.colours[k]; }
    BARRIER;
    ROLLED for (u32 colour = p.from; colour < p.to; colour++) {
        u32 from = first[colour], to = first[colour + 1u];
        LANES (i, to - from) { sweep_pair(&p, &s, from + i); }
        BARRIER;
    }
}

/* What a sweep measured, and in the block that comes last what comes next. */
KERNEL solids_turn(struct solids p)
{
    SHARED double part[3][CHUNK];
    if (p.posed.control->halt)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 c = chunk * CHUNK + i;
            const double *seen = p.seen + (u64)c * 2u;
            part[0][i] = part[1][i] = c < p.contacts ? seen[0] : 0.0;
            part[2][i] = c < p.contacts ? seen[1] : 0.0;
        }
        finish_chunk(part, 3u, 1u, p.contact_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.posed.control->tickets[4]);
    total(p.contact_sums, chunks_of(p.contacts), part, 3u, 1u);
    LEADER {
        struct control next = *p.posed.control;
        decide_sweep(&next, part[0][0], part[1][0], part[2][0], p.contacts);
        *p.posed.control = next;
    }
}

/* The natural-map residual of the last sweep, as `look` of iterate.h. */
KERNEL solids_look(struct solids p)
{
    SHARED double part[1][CHUNK];
    const struct control c = *p.posed.control;
    int due = c.used % SELDOM == 0u || (c.used % EVERY == 0u && c.measure <= 3.0 * c.threshold);
    if (c.halt || !due)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            part[0][i] = k < p.contacts ? natural_at(&p.posed, gamma_at(&p.posed, c.now), velocity_at(&p.posed, 0u), k) : 0.0;
        }
        finish_chunk(part, 1u, 1u, p.contact_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.posed.control->tickets[5]);
    total(p.contact_sums, chunks_of(p.contacts), part, 1u, 1u);
    LEADER {
        p.posed.control->residual = sqrt(part[0][0]);
        if (p.posed.control->residual <= c.threshold)
            p.posed.control->halt |= LOOK;
    }
}
