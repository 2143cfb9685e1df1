/* Gauss-Seidel sweeps over the contacts of grains, colour by colour, under Nesterov's momentum: `apgs` of drystone-solve
 * [docs/decisions/0020-fewer-multiplications.md], in REAL.
 *
 *     y = gamma + beta (gamma - gamma_before),  gamma_new = S(y),  beta = k / (k + 3),
 *     <S^-1 (gamma_new - y), gamma_new - gamma> < 0:  k = 0.
 *
 * Rows of grains are v, 1/m, r w, r^2/I: at y and then at what the sweep has made of it, and those of gamma_before beside them. Every
 * contact is solved exactly, with two steps: eta_t = 1/(1/m + r^2/I) across and kappa eta_t = 1/m along its normal, summed over its
 * grains. All that belongs to a contact is at its place in the order of colours. */

/* Sweeps after which rows are made anew: they are rounded otherwise than the multipliers that are extrapolated. */
#define REFRESH 64u
/* The sweeps' measures over the tolerance, below which only contacts above it are solved: rms and largest. Contacts are left at this
 * share of it. As `settle.rs` of drystone-solve, which tells why, but for rounds that are sweeps. */
#define SPREAD 0.4
#define REACH 10.0
#define SHARE 0.9
#define SETTLED_FROM 1024u
/* Sweeps over these alone go on as long as so many of them take so much of the measure away. */
#define ROUNDS 16u
#define FALL 0.7

#ifndef SWEEP_DECISION
#define SWEEP_DECISION
/* A place that holds nothing that counts. */
INLINE u32 free_place(const struct control *c)
{
    u32 place = 0u;
    while (place == c->now || place == c->before || place == c->best)
        place++;
    return place;
}

/* From what a sweep measured to the next one. */
INLINE void decide_sweep(struct control *c, double most, double squares, double turn, u32 contacts)
{
    double mean = contacts > 0u ? squares / (double)contacts : 0.0, bound = SPREAD * c->threshold;
    c->measure = sqrt(most);
    c->length = mean;
    c->used++;
    c->since++;
    if (!(is_finite(most) && is_finite(squares) && is_finite(turn))) {
        c->halt |= DIVERGED;
        return;
    }
    if (c->settling) {
        if (++c->rounds % ROUNDS == 0u) {
            if (c->measure > FALL * c->settle_from) {
                c->settling = 0u;
                c->before = c->now;
                c->trial = free_place(c);
            }
            c->settle_from = c->measure;
        }
    } else {
        c->before = c->now;
        c->now = c->trial;
        if (c->best_is_start || c->measure <= c->best_measure) {
            c->best = c->now;
            c->best_measure = c->measure;
            c->best_is_start = 0u;
        }
        c->runs = turn < 0.0 ? 0u : c->runs + 1u;
        c->trial = free_place(c);
        if (c->threshold > 0.0 && contacts >= SETTLED_FROM && c->measure <= REACH * c->threshold && mean <= bound * bound &&
            (mean < c->settle_below || c->used >= c->settle_after)) {
            c->settle_below = 0.25 * mean;
            c->settle_after = c->used + c->used / 2u + 16u;
            c->settling = 1u;
            c->settle_from = c->measure;
            c->rounds = c->runs = 0u;
            c->trial = c->now;
        }
    }
    c->beta = (double)c->runs / ((double)c->runs + 3.0);
    if (c->used >= c->limit)
        c->halt |= LIMIT;
}
#endif

INLINE REAL *N(rows_now)(const struct grains *p)
{
    return N(moving)(p, 0u);
}

INLINE REAL *N(rows_before)(const struct grains *p)
{
    return N(moving)(p, 1u);
}

/* Rows under the last multipliers and under those before them, anew. */
KERNEL N(grains_refresh)(struct grains p)
{
    const struct control c = *p.control;
    if (c.halt || (c.used > 0u && c.since < REFRESH))
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.grains) {
                N(v4) light = N(load)((const REAL *)p.light + (u64)k * 4u);
                N(v3) v, w;
                N(kick)(&p, N(multipliers)(&p, c.now), k, &v, &w);
                N(store)(N(rows_now)(&p) + (u64)k * 8u, v, light.x);
                N(store)(N(rows_now)(&p) + (u64)k * 8u + 4u, w, light.y);
                if (c.used > 0u && c.before != c.now)
                    N(kick)(&p, N(multipliers)(&p, c.before), k, &v, &w);
                N(store)(N(rows_before)(&p) + (u64)k * 8u, v, light.x);
                N(store)(N(rows_before)(&p) + (u64)k * 8u + 4u, w, light.y);
            }
        }
    }
    ONLY_LAST_BLOCK(&p.control->tickets[7]);
    LEADER { p.control->since = 0u; }
}

/* What a sweep reads of the control block. */
typedef struct {
    REAL *now, *before, *trial;
    REAL beta, leave; /* momentum; the measure, squared, below which contacts are left as they are */
    u32 settling;
} N(sweep);

INLINE N(sweep) N(sweep_of)(const struct grains *p)
{
    const struct control *c = p->control;
    N(sweep) out;
    out.now = N(multipliers)(p, c->now);
    out.before = N(multipliers)(p, c->before);
    out.trial = N(multipliers)(p, c->trial);
    out.settling = c->settling;
    out.beta = (REAL)(out.settling ? 0.0 : c->beta);
    out.leave = (REAL)(SHARE * SHARE * c->threshold * c->threshold);
    return out;
}

/* v + beta (v - last). */
INLINE N(v4) N(ahead_of)(N(v4) v, N(v4) last, REAL beta)
{
    v.x += beta * (v.x - last.x);
    v.y += beta * (v.y - last.y);
    v.z += beta * (v.z - last.z);
    return v;
}

/* What a sweep reads of a contact before it looks at the control block. */
typedef struct {
    N(v4) row;
    REAL mu, eta;
    u32 a, b, first;
} N(head);

INLINE N(head) N(head_of)(const struct grains *p, u32 i)
{
    N(head) out;
    u32 owner = p->sides[(u64)i * 2u];
    out.row = N(load)((const REAL *)p->row + (u64)i * 4u);
    out.mu = ((const REAL *)p->rub)[(u64)i * 2u];
    out.eta = ((const REAL *)p->rub)[(u64)i * 2u + 1u];
    out.a = owner & OWNER;
    out.b = p->sides[(u64)i * 2u + 1u];
    out.first = owner & ~OWNER;
    return out;
}

/* Solves a contact for what its grains do now. */
INLINE void N(sweep_contact)(const struct grains *p, const N(sweep) *s, u32 i, N(head) of)
{
    u32 a = of.a, b = of.b;
    int alone = (b & FIXED) != 0u;
    /* Where a sweep comes to a grain first its row goes to y, and what it was becomes that of gamma_before. All is on its way
     * before anything is waited for. */
    int moves_a = (of.first & FIRST_OF_OWNER) && !s->settling, moves_b = (of.first & FIRST_OF_OTHER) && !s->settling;
    REAL *rows = N(rows_now)(p), *lasts = N(rows_before)(p);
    u64 at_a = (u64)a * 8u, at_b = alone ? at_a : (u64)b * 8u;
    const REAL *before = (s->beta != (REAL)0 ? s->before : s->now) + (u64)i * 4u;
    N(v4) va = N(load)(rows + at_a), wa = N(load)(rows + at_a + 4u), vb = N(load)(rows + at_b), wb = N(load)(rows + at_b + 4u);
    N(v4) va_last = {(REAL)0, (REAL)0, (REAL)0, (REAL)0}, wa_last = va_last, vb_last = va_last, wb_last = va_last;
    if (moves_a) {
        va_last = N(load)(lasts + at_a);
        wa_last = N(load)(lasts + at_a + 4u);
    }
    if (moves_b) {
        vb_last = N(load)(lasts + at_b);
        wb_last = N(load)(lasts + at_b + 4u);
    }
    N(v3) now = N(xyz)(N(load)(s->now + (u64)i * 4u)), ahead = N(minus)(now, N(xyz)(N(load)(before)));
    ahead = N(times)(s->beta, ahead);
    N(v3) y = N(plus)(now, ahead);
    /* What rounding takes from y is given to the rows, which know nothing of it. */
    N(v3) lost = N(minus)(ahead, N(minus)(y, now));
    if (moves_a) {
        N(store)(lasts + at_a, N(xyz)(va), va.w);
        N(store)(lasts + at_a + 4u, N(xyz)(wa), wa.w);
        va = N(ahead_of)(va, va_last, s->beta);
        wa = N(ahead_of)(wa, wa_last, s->beta);
    }
    if (moves_b) {
        N(store)(lasts + at_b, N(xyz)(vb), vb.w);
        N(store)(lasts + at_b + 4u, N(xyz)(wb), wb.w);
        vb = N(ahead_of)(vb, vb_last, s->beta);
        wb = N(ahead_of)(wb, wb_last, s->beta);
    }
    N(v3) n = N(xyz)(of.row), v = N(xyz)(va), w = N(xyz)(wa);
    if (!alone) {
        v = N(minus)(v, N(xyz)(vb));
        w = N(plus)(w, N(xyz)(wb));
    }
    N(v3) u = N(plus)(N(plus)(v, N(cross)(n, w)), N(times)(of.row.w, n));
    if (is_led(p, b)) {
        N(v4) drift = N(load)((const REAL *)p->drift + (u64)i * 4u);
        u = N(plus)(u, N(plus)(N(xyz)(drift), N(times)(drift.w * N(dot)(y, n), n)));
    }
    REAL kappa = (REAL)p->kappa, one = (REAL)1, eta = of.eta;
    N(v3) to = N(minus)(y, N(times)(eta, u));
    REAL along = N(dot)(to, n), pressed = along - (kappa - one) * eta * N(dot)(u, n);
    N(v3) z = N(project)(pressed, N(minus)(to, N(times)(along, n)), n, of.mu, kappa);
    N(v3) d = N(minus)(z, y), change = N(minus)(z, now);
    REAL part = N(dot)(d, n), weight = one / eta;
    REAL measure = (N(dot)(d, d) - (one - one / (kappa * kappa)) * part * part) * weight * weight;
    float *seen = p->seen + (u64)i * 2u;
    seen[0] = (float)measure;
    seen[1] = (float)((N(dot)(d, change) - (one - one / kappa) * part * N(dot)(change, n)) * weight);
    if (s->settling && measure <= s->leave)
        return;
    N(store)(s->trial + (u64)i * 4u, z, (REAL)0);
    N(v3) push = N(minus)(d, lost), turn = N(cross)(n, push);
    N(store)(rows + at_a, N(plus)(N(xyz)(va), N(times)(va.w, push)), va.w);
    N(store)(rows + at_a + 4u, N(minus)(N(xyz)(wa), N(times)(wa.w, turn)), wa.w);
    if (alone)
        return;
    N(store)(rows + at_b, N(minus)(N(xyz)(vb), N(times)(vb.w, push)), vb.w);
    N(store)(rows + at_b + 4u, N(minus)(N(xyz)(wb), N(times)(wb.w, turn)), wb.w);
}

/* Contacts that a block of threads takes: few, since what counts is how many multiprocessors gather rows. */
#define PIECE 64u

/* The contacts of one colour. What they are is on its way before the control block says whether there is anything to do. */
KERNEL_BESIDE(RESIDENT) N(grains_sweep)(struct grains p)
{
    const u32 halted = p.control->halt;
    const N(sweep) s = N(sweep_of)(&p);
    ROLLED for (u32 piece = p.from + BLOCK * PIECE; piece < p.to; piece += BLOCKS * PIECE) {
        LANES (i, PIECE) {
            u32 k = piece + i;
            if (k < p.to) {
                N(head) of = N(head_of)(&p, k);
                if (!halted)
                    N(sweep_contact)(&p, &s, k, of);
            }
        }
    }
}

/* The contacts of colours that have few: one block, one colour after the other. */
KERNEL_OF_ONE N(grains_sweep_last)(struct grains p)
{
    SHARED u32 first[COLOURS + 1u];
    if (p.control->halt || BLOCK != 0u)
        return;
    const N(sweep) s = N(sweep_of)(&p);
    LANES (k, COLOURS + 1u) { first[k] = p.colours[k]; }
    BARRIER;
    ROLLED for (u32 colour = p.from; colour < p.to; colour++) {
        u32 from = first[colour], to = first[colour + 1u];
        LANES (i, to - from) { N(sweep_contact)(&p, &s, from + i, N(head_of)(&p, from + i)); }
        BARRIER;
    }
}

/* What a sweep measured, and in the block that comes last what comes next. */
KERNEL N(grains_turn)(struct grains p)
{
    SHARED double part[3][CHUNK];
    if (p.control->halt)
        return;
    ROLLED for (u32 run = BLOCK; run < runs_of(&p, p.contacts); run += BLOCKS) {
        LANES (i, CHUNK) {
            double most = 0.0, squares = 0.0, turn = 0.0;
            ROLLED for (u32 chunk = run * p.run; chunk < (run + 1u) * p.run && chunk * CHUNK + i < p.contacts; chunk++) {
                const float *seen = p.seen + (u64)(chunk * CHUNK + i) * 2u;
                most = larger(most, (double)seen[0]);
                squares += (double)seen[0];
                turn += (double)seen[1];
            }
            part[0][i] = most;
            part[1][i] = squares;
            part[2][i] = turn;
        }
        finish_chunk(part, 3u, 1u, p.contact_sums + (u64)run * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[4]);
    total(p.contact_sums, runs_of(&p, p.contacts), part, 3u, 1u);
    LEADER {
        struct control next = *p.control;
        decide_sweep(&next, part[0][0], part[1][0], part[2][0], p.contacts);
        *p.control = next;
    }
}
