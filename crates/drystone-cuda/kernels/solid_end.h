/* The end of a solids' step: velocities, the certificate, what positions overlap by, and their correction. */

/* Multipliers where contacts keep them: the last ones, or the best. */
KERNEL solids_multipliers(struct solids p)
{
    const double *from = gamma_at(&p.posed, p.best ? p.posed.control->best : p.posed.control->now);
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 c = chunk * CHUNK + i;
            if (c < p.contacts)
                store4(p.gamma + (u64)c * 4u, xyz(load4(from + (u64)c * 4u)), 0.0);
        }
    }
}

/* By how much a body goes where its free motion does not lead; what holds it takes gravity back and leads it nowhere. */
INLINE double led_away(const struct solids *p, v3 change)
{
    v3 fall = times(p->h, vec(p->gx, p->gy, p->gz));
    double square = dot(fall, fall), held = square > 0.0 ? within(-dot(change, fall) / square, 0.0, 1.0) : 0.0;
    return length_of(plus(change, times(held, fall)));
}

/* v and w of every body under the multipliers. */
KERNEL solids_velocities(struct solids p)
{
    SHARED double part[4][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            double rhs = 0.0, kinetic = 0.0, wrong = 0.0, thrown = 0.0;
            if (k < p.solids) {
                const double *m = p.posed.mass + (u64)k * 8u, *free = p.free + (u64)k * 8u;
                v3 force, torque, v0 = xyz(load4(free)), w0 = xyz(load4(free + 4));
                gather(&p.posed, p.gamma, k, 0, &force, &torque);
                v3 spin = turn(m, torque), v = plus(v0, times(m[0], force)), w = plus(w0, spin);
                store4(p.motion_after + (u64)k * 8u, v, 0.0);
                store4(p.motion_after + (u64)k * 8u + 4u, w, 0.0);
                rhs = dot(v0, force) + dot(w0, torque);
                kinetic = m[0] * dot(force, force) + dot(torque, spin);
                wrong = is_finite(dot(v, v) + dot(w, w)) ? 0.0 : 1.0;
                thrown = p.h * led_away(&p, minus(v, v0)) > solid_of(&p, k)[SOLID_INNER] ? 1.0 : 0.0;
            }
            part[0][i] = rhs;
            part[1][i] = kinetic;
            part[2][i] = wrong;
            part[3][i] = thrown;
        }
        finish_chunk(part, 4u, 12u, p.body_sums + (u64)chunk * TOLD_SOLIDS);
    }
    ONLY_LAST_BLOCK(&p.posed.control->tickets[0]);
    total_of(p.body_sums, TOLD_SOLIDS, chunks_of(p.solids), part, 4u, 12u);
    LEADER {
        p.told[TOLD_RHS] = part[0][0];
        p.told[TOLD_KINETIC] = part[1][0];
        p.told[TOLD_WRONG] = part[2][0];
        p.told[TOLD_THROWN] = part[3][0];
    }
}

/* How far a point of a body may be from its tangent for each metre of its lever, by the faster of its turns; what a capsule turns
 * about its axis moves nothing. */
INLINE double bends(const struct solids *p, u32 k)
{
    u32 kind = (u32)solid_of(p, k)[SOLID_KIND];
    v3 w = xyz(load4(p->motion_after + (u64)k * 8u + 4u)), w0 = xyz(load4(p->motion + (u64)k * 8u + 4u));
    if (kind == SHAPE_SPHERE)
        return 0.0;
    if (kind == SHAPE_CAPSULE) {
        v3 axes[3];
        axes_of(load4(p->turn + (u64)k * 4u), axes);
        w = cross(w, axes[2]);
        w0 = cross(w0, axes[2]);
    }
    return 0.5 * p->h * p->h * larger(dot(w, w), dot(w0, w0));
}

/* Whether a contact's arc is too far from its tangent for one step: `resolve.rs` of drystone. */
INLINE int is_coarse(const struct solids *p, u32 c, u32 a, u32 b, v4 touch, v3 n, v3 x)
{
    double size = pair_size(p, a, b), bend_a = bends(p, a), bend_b = b & FIXED ? 0.0 : bends(p, b);
    double lever_a = solid_of(p, a)[SOLID_RADIUS], lever_b = b & FIXED ? 0.0 : solid_of(p, b)[SOLID_RADIUS];
    if ((x.x != 0.0 || x.y != 0.0 || x.z != 0.0) && absolute(p->arc[(u64)c * 2u]) > p->resolved * size)
        return 1;
    if (bend_a * lever_a + bend_b * lever_b <= p->arcs * size)
        return 0;
    v3 to_a = minus(xyz(touch), xyz(load4(p->place + (u64)a * 4u))), to_b = to_a;
    if (!(b & FIXED))
        to_b = minus(xyz(touch), xyz(load4(p->place + (u64)b * 4u)));
    double off = bend_a * smaller(lever_a, length_of(to_a) + size) + bend_b * smaller(lever_b, length_of(to_b) + size);
    double opens = dot(n, relative(p->motion_after, a, b & FIXED ? WORLD : b, to_a, to_b));
    return off > p->arcs * size && touch.w + p->h * opens < off;
}

/* What the judge says of one contact: see judge_contact of grain_end.h. */
INLINE void judge_solid(const struct solids *p, u32 c, double *sums)
{
    const struct args *q = &p->posed;
    u32 pair = p->holder[c], a = p->owner[pair], b = p->other[pair];
    v4 touch = load4(p->touch + (u64)c * 4u), row = load4(q->normal + (u64)c * 4u), at = load4(q->arm_a + (u64)c * 4u);
    v3 n = xyz(row), x = xyz(load4(p->gamma + (u64)c * 4u)), bias = times(row.w, n);
    double mu = at.w, g = q->scale[(u64)c * 4u + 2u], x_n = dot(x, n), yield = q->soft ? q->soft[(u64)c * 2u] * x_n : 0.0;
    v3 u = relative(p->motion_after, a, b & FIXED ? WORLD : b, xyz(at), xyz(load4(q->arm_b + (u64)c * 4u)));
    u = plus(plus(u, bias), times(yield, n));
    v3 to = minus(x, times(1.0 / g, u));
    double along = dot(to, n);
    v3 e = minus(x, project_parts(along, minus(to, times(along, n)), n, mu, 1.0));
    double u_n = dot(u, n);
    v3 u_t = minus(u, times(u_n, n)), x_t = minus(x, times(x_n, n));
    double slip = mu == 0.0 ? 0.0 : length_of(u_t), rub = length_of(x_t), apart = 0.0;
    if (u_n < mu * slip)
        apart = slip > -mu * u_n ? (mu * slip - u_n) / sqrt(1.0 + mu * mu) : sqrt(u_n * u_n + slip * slip);
    double back = apart;
    if (x_n > 0.0 && (mu == 0.0 || rub < mu * x_n * (1.0 - ON_SIDE)))
        back = mu == 0.0 ? absolute(u_n) : sqrt(u_n * u_n + slip * slip);
    else if (x_n > 0.0) {
        v3 ray = plus(times(mu, n), times(-1.0 / rub, x_t));
        double length = dot(u, ray) / (1.0 + mu * mu);
        v3 off = length > 0.0 ? minus(u, times(length, ray)) : u;
        back = length_of(off);
    }
    double residual = larger(larger(g * length_of(e), apart), 2.220446049250313e-16 * g * length_of(x));
    double deep = touch.w <= 0.0 && p->arc[(u64)c * 2u + 1u] == 0.0 ? -touch.w : 0.0;
    sums[TOLD_RESIDUAL] = residual;
    sums[TOLD_VIOLATION] = apart;
    sums[TOLD_BACKWARD] = back;
    sums[TOLD_OVERLAP] = deep;
    sums[TOLD_SQUARES] = residual * residual;
    sums[TOLD_COMPLEMENTARITY] = absolute(dot(x, u));
    sums[TOLD_MULTIPLIERS] = dot(x, x);
    sums[TOLD_BIAS] = dot(bias, x) + 0.5 * yield * x_n;
    sums[TOLD_SUPPORT] = b & FIXED ? -(x.x * p->gx + x.y * p->gy + x.z * p->gz) : 0.0;
    sums[TOLD_TOUCHING] = touch.w <= 0.0 ? 1.0 : 0.0;
    sums[TOLD_DEPTH] = deep;
    sums[TOLD_BY_CONTACTS] = is_coarse(p, c, a, b, touch, n, x) ? 1.0 : 0.0;
}

/* The certificate of a step, and whether it is too long for an arc. */
KERNEL solids_judge(struct solids p)
{
    SHARED double part[TOLD_BY_CONTACTS + 1u][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            double sums[TOLD_BY_CONTACTS + 1u];
            for (u32 k = 0; k <= TOLD_BY_CONTACTS; k++)
                sums[k] = 0.0;
            if (chunk * CHUNK + i < p.contacts)
                judge_solid(&p, chunk * CHUNK + i, sums);
            for (u32 k = 0; k <= TOLD_BY_CONTACTS; k++)
                part[k][i] = sums[k];
        }
        finish_chunk(part, TOLD_BY_CONTACTS + 1u, 15u, p.contact_sums + (u64)chunk * TOLD_SOLIDS);
    }
    ONLY_LAST_BLOCK(&p.posed.control->tickets[1]);
    total_of(p.contact_sums, TOLD_SOLIDS, chunks_of(p.contacts), part, TOLD_BY_CONTACTS + 1u, 15u);
    LEADER {
        for (u32 k = 0; k < TOLD_BY_CONTACTS; k++)
            p.told[k] = part[k][0];
        p.told[TOLD_COARSE] = part[TOLD_BY_CONTACTS][0];
    }
}

/* Overlaps where bodies have come to. The last contacts are those that the step began with. */
INLINE void measure_solid(const struct solids *p, u32 c, double *worst, double *unresolved, double *deepest)
{
    u32 a = p->owner[p->holder[c]], b = p->other[p->holder[c]];
    double gap = p->touch[(u64)c * 4u + 3u], size = pair_size(p, a, b);
    if (gap >= 0.0)
        return;
    *worst = -gap / size;
    *deepest = smaller(-gap, p->reach_share * size);
    if (-gap > p->resolved * size) {
        u32 pair = old_pair(p, a, b);
        /* What had no contact is put right by corrections as far as those reach. */
        double before = ENDLESS, least = pair < p->old_pairs ? p->resolved : larger(p->reach_all, p->resolved);
        if (pair < p->old_pairs)
            ROLLED for (u32 k = p->old_start[pair]; k < p->old_start[pair + 1u]; k++) {
                double own = p->old_touch[(u64)k * 4u + 3u];
                before = smaller(before, p->old_arc[(u64)k * 2u + 1u] != 0.0 ? larger(own, 0.0) : own);
            }
        if (-gap > least * size && gap < before - 0.5 * p->resolved * size)
            *unresolved = 1.0;
    }
}

KERNEL solids_measure(struct solids p)
{
    SHARED double part[3][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            double worst = 0.0, unresolved = 0.0, deepest = 0.0;
            if (chunk * CHUNK + i < p.contacts)
                measure_solid(&p, chunk * CHUNK + i, &worst, &unresolved, &deepest);
            part[0][i] = worst;
            part[1][i] = unresolved;
            part[2][i] = deepest;
        }
        finish_chunk(part, 3u, 7u, p.contact_sums + (u64)chunk * TOLD_SOLIDS);
    }
    ONLY_LAST_BLOCK(&p.posed.control->tickets[2]);
    total_of(p.contact_sums, TOLD_SOLIDS, chunks_of(p.contacts), part, 3u, 7u);
    LEADER {
        for (u32 k = 0; k < 3u; k++)
            p.told[TOLD_WORST + k] = part[k][0];
    }
}

/* Bodies move by the solution of a position problem, by no more than a share of what their contacts were looked for. */
KERNEL solids_shift(struct solids p)
{
    SHARED double part[2][CHUNK];
    const double *from = velocity_at(&p.posed, p.best ? p.posed.control->best : p.posed.control->now);
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            part[0][i] = part[1][i] = 0.0;
            if (k < p.solids) {
                const double *s = solid_of(&p, k);
                v3 d = xyz(load4(from + (u64)k * 8u)), w = xyz(load4(from + (u64)k * 8u + 4u));
                v4 x = load4(p.place_after + (u64)k * 4u), q = load4(p.turn_after + (u64)k * 4u);
                double way = length_of(d) + s[SOLID_RADIUS] * length_of(w);
                double most = p.leash * (p.base + p.share * s[SOLID_INNER] + p.more);
                if (way > most) {
                    d = times(most / way, d);
                    w = times(most / way, w);
                    part[1][i] = 1.0;
                }
                part[0][i] = way / s[SOLID_INNER];
                store4(p.place_after + (u64)k * 4u, plus(xyz(x), d), x.w);
                if (w.x != 0.0 || w.y != 0.0 || w.z != 0.0) {
                    q = turned_by(exponential(times(0.5, w)), q);
                    store4(p.turn_after + (u64)k * 4u, vec(q.x, q.y, q.z), q.w);
                }
            }
        }
        finish_chunk(part, 2u, 3u, p.body_sums + (u64)chunk * TOLD_SOLIDS);
    }
    ONLY_LAST_BLOCK(&p.posed.control->tickets[6]);
    total_of(p.body_sums, TOLD_SOLIDS, chunks_of(p.solids), part, 2u, 3u);
    LEADER {
        p.told[TOLD_WAY] = part[0][0];
        p.told[TOLD_CUT] = part[1][0];
    }
}
