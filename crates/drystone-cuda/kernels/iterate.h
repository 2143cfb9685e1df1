/* The iteration: blocks, bodies, and what is decided from their sums. */

/* z = P(y - t S u_y) of a point, with y = gamma + beta (gamma - gamma_before). */
INLINE void step_point(const struct args *p, const struct control *c, u32 block, double t, double *sums)
{
    v4 normal = load4(p->normal + (u64)block * 4u), a = load4(p->arm_a + (u64)block * 4u);
    v4 b = load4(p->arm_b + (u64)block * 4u);
    v3 n = xyz(normal), bias = point_bias(p, block, normal);
    u32 i = p->sides[(u64)block * 2u], j = p->sides[(u64)block * 2u + 1u];
    v3 now = xyz(load4(gamma_at(p, c->now) + (u64)block * 4u)), y = now;
    if (c->beta != 0.0) {
        v3 before = xyz(load4(gamma_at(p, c->before) + (u64)block * 4u));
        y = plus(now, times(c->beta, minus(now, before)));
    }
    v3 u = plus(relative(velocity_ahead(p, c), i, j, xyz(a), xyz(b)), bias);
    if (p->soft)
        u = plus(u, yields(p, block, n, y));
    double weight = b.w > 0.0 ? 1.0 / b.w : 0.0, step = t * b.w, kappa = c->kappa;
    /* Along the normal the step is kappa times as long as across. */
    v3 to = minus(y, times(step, u));
    double along = dot(to, n), pressed = along - (kappa - 1.0) * step * dot(u, n);
    v3 z = project_parts(pressed, minus(to, times(along, n)), n, a.w, kappa);
    if (c->rule == JACOBI)
        z = plus(y, times(c->lambda, minus(z, y)));
    v3 d = minus(z, y);
    double square = dot(d, d), part = dot(d, n), less = part * part;
    store4(gamma_at(p, c->trial) + (u64)block * 4u, z, 0.0);
    sums[MEASURE] = (square - (1.0 - 1.0 / (kappa * kappa)) * less) * weight * weight;
    sums[LENGTH] = (square - (1.0 - 1.0 / kappa) * less) * weight;
    sums[DESCENT] = dot(u, minus(z, now));
    sums[WORK] = dot(bias, z);
    if (p->soft) {
        sums[SOFT] = dot(d, yields(p, block, n, d));
        sums[WORK] += 0.5 * dot(z, yields(p, block, n, z));
    }
}

/* The same of a general block. */
INLINE void step_general(const struct args *p, const struct control *c, u32 block, double t, double *sums)
{
    u32 b = block - p->points, first = p->first_row[b], rows = p->first_row[b + 1u] - first;
    u64 at = (u64)p->points * 4u + first;
    const double *now = gamma_at(p, c->now) + at, *before = gamma_at(p, c->before) + at;
    double *trial = gamma_at(p, c->trial) + at;
    double step = t * p->scale[(u64)block * 4u], weight = p->scale[(u64)block * 4u + 1u];
    double y[5], u[5], z[5], square = 0.0;
    ROLLED for (u32 k = 0; k < rows; k++) {
        y[k] = now[k];
        if (c->beta != 0.0)
            y[k] += c->beta * (now[k] - before[k]);
        u[k] = general_velocity(p, block, first + k, velocity_ahead(p, c), y[k]) + p->bias[first + k];
        z[k] = y[k] - step * u[k];
    }
    project_set(p->kind[b], p->limits[(u64)b * 2u], p->limits[(u64)b * 2u + 1u], z);
    ROLLED for (u32 k = 0; k < rows; k++) {
        double soft = row_yields(p, first + k);
        if (c->rule == JACOBI)
            z[k] = y[k] + c->lambda * (z[k] - y[k]);
        double d = z[k] - y[k];
        square += d * d;
        sums[DESCENT] += u[k] * (z[k] - now[k]);
        sums[SOFT] += soft * d * d;
        sums[WORK] += p->bias[first + k] * z[k] + 0.5 * soft * z[k] * z[k];
        trial[k] = z[k];
    }
    sums[MEASURE] = square * weight * weight;
    sums[LENGTH] = square * weight;
}

/* t of the step that comes. */
INLINE double step_length(const struct control *c)
{
    return c->rule == JACOBI ? c->omega : 1.0 / c->lipschitz;
}

/* The trial's multipliers, and the sums over blocks. */
KERNEL step_blocks(struct args p)
{
    SHARED double part[SUMS][CHUNK];
    /* A copy: what is written below might be the control block, for all that the compiler knows. */
    const struct control c = *p.control;
    if (c.halt)
        return;
    double t = step_length(&c);
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.blocks); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 block = chunk * CHUNK + i;
            double sums[SUMS] = {0.0, 0.0, 0.0, 0.0, 0.0};
            if (block < p.points)
                step_point(&p, &c, block, t, sums);
            else if (block < p.blocks)
                step_general(&p, &c, block, t, sums);
            for (u32 k = 0; k < SUMS; k++)
                part[k][i] = sums[k];
        }
        finish_chunk(part, SUMS, 1u << MEASURE, p.block_sums + (u64)chunk * SUMS);
    }
}

/* Remembers gamma as the best so far if it is: see Watch in drystone-solve. */
INLINE void offer(struct control *c)
{
    double slack = 1e-13 * (absolute(c->objective) + absolute(c->start_objective));
    int better;
    if (c->objective > c->start_objective + slack)
        better = 0;
    else if (c->best_is_start)
        better = c->objective < c->start_objective - slack || c->measure < c->best_measure;
    else
        better = c->measure <= c->best_measure;
    if (better) {
        c->best = c->now;
        c->best_measure = c->measure;
        c->best_is_start = 0u;
    }
}

/* Takes the trial for gamma; y = gamma + beta (gamma - gamma_before) from now on. */
INLINE void accept(struct control *c, double objective, double beta)
{
    c->before = c->now;
    c->now = c->trial;
    c->objective = objective;
    c->beta = beta;
    offer(c);
    c->trial = 0u;
    while (c->trial == c->now || c->trial == c->before || c->trial == c->best)
        c->trial++;
}

/* Steps (10)-(31) of Algorithm APGD [Mazhar2015], with the rules of drystone-solve's `apgd`. */
INLINE void decide_gradient(struct control *c, double objective)
{
    double l = c->lipschitz;
    double slack = c->rule == PAPER ? 1.0 : 1.5;
    if (c->curvature > slack * l * c->length && l < c->most) {
        double next = c->rule == PAPER ? 2.0 * l : 1.05 * c->curvature / c->length;
        c->lipschitz = next < c->most ? next : c->most;
        return;
    }
    if (!(is_finite(c->measure) && is_finite(c->length) && is_finite(c->descent) && is_finite(c->curvature) &&
          is_finite(objective))) {
        c->halt |= DIVERGED;
        return;
    }
    int restarts = c->descent > 0.0;
    c->theta = restarts ? 1.0 : c->next_theta;
    c->has_ahead = !restarts;
    c->ahead_place ^= 1u;
    accept(c, objective, restarts ? 0.0 : c->next_beta);
    double theta = c->theta;
    c->next_theta = 0.5 * theta * (sqrt(theta * theta + 4.0) - theta);
    c->next_beta = theta * (1.0 - theta) / (theta * theta + c->next_theta);
    if (c->rule == PAPER)
        c->lipschitz = 0.9 * l;
    else if (c->curvature > l * c->length) {
        double found = c->curvature / c->length;
        c->lipschitz = 0.98 * (found < c->most ? found : c->most);
    } else
        c->lipschitz = 0.98 * l;
}

/* Algorithm 1 of [TasoraAnitescu2011]: where assumption A3 fails the iteration is rejected and omega halved. */
INLINE void decide_jacobi(struct control *c, double objective)
{
    if (!is_finite(c->length)) {
        c->halt |= DIVERGED;
        return;
    }
    if (c->safeguard && c->length / (c->lambda * c->omega) < 0.5 * c->curvature) {
        c->omega *= 0.5;
        c->rejected++;
        return;
    }
    accept(c, objective, 0.0);
}

/* From the sums of a trial to the next one. */
INLINE void decide(struct control *c, const double *blocks, const double *bodies)
{
    double t = step_length(c);
    if (c->rule == JACOBI)
        t *= c->lambda;
    double objective = 0.5 * bodies[KINETIC] + blocks[WORK];
    c->measure = t > 0.0 ? sqrt(blocks[MEASURE]) / t : 0.0;
    c->length = blocks[LENGTH];
    c->descent = blocks[DESCENT];
    c->curvature = bodies[CHANGE] + blocks[SOFT];
    c->used++;
    if (c->rule == JACOBI)
        decide_jacobi(c, objective);
    else
        decide_gradient(c, objective);
    if (c->used >= c->limit)
        c->halt |= LIMIT;
}

/* Force and torque of every part of a long list: one thread would take long for a body with thousands of contacts. */
KERNEL step_parts(struct args p)
{
    if (p.control->halt)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.parts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.parts) {
                v3 force = vec(0.0, 0.0, 0.0), torque = force;
                const double *gamma = gamma_at(&p, p.control->trial);
                gather_points(&p, gamma, p.part[(u64)k * 2u], p.part[(u64)k * 2u + 1u], &force, &torque);
                store4(p.part_sums + (u64)k * 8u, force, 0.0);
                store4(p.part_sums + (u64)k * 8u + 4u, torque, 0.0);
            }
        }
    }
}

/* F_z and v_z of a body, and what its velocity at the next y will be; <F_z - F_y, v_z - v_y> and <F_z, v_z + v_free>. */
INLINE void step_body(const struct args *p, const struct control *c, u32 body, double *change, double *kinetic)
{
    const double *m = p->mass + (u64)body * 8u, *free = p->free + (u64)body * 8u;
    const double *f = force_at(p, c->now) + (u64)body * 8u;
    v3 force, torque;
    gather(p, gamma_at(p, c->trial), body, p->parts > 0u, &force, &torque);
    v3 v0 = xyz(load4(free)), w0 = xyz(load4(free + 4));
    v3 move = plus(v0, times(m[0], force)), spin = plus(w0, turn(m, torque));
    v3 f_now = xyz(load4(f)), t_now = xyz(load4(f + 4)), f_y = f_now, t_y = t_now;
    if (c->beta != 0.0) {
        f = force_at(p, c->before) + (u64)body * 8u;
        f_y = plus(f_y, times(c->beta, minus(f_y, xyz(load4(f)))));
        t_y = plus(t_y, times(c->beta, minus(t_y, xyz(load4(f + 4)))));
    }
    double *to = force_at(p, c->trial) + (u64)body * 8u;
    store4(to, force, 0.0);
    store4(to + 4, torque, 0.0);
    to = velocity_at(p, c->trial) + (u64)body * 8u;
    store4(to, move, 0.0);
    store4(to + 4, spin, 0.0);
    if (c->rule != JACOBI) {
        v3 step_f = minus(force, f_now), step_t = minus(torque, t_now);
        to = ahead_at(p, c->ahead_place ^ 1u) + (u64)body * 8u;
        store4(to, plus(move, times(c->next_beta * m[0], step_f)), 0.0);
        store4(to + 4, plus(spin, times(c->next_beta, turn(m, step_t))), 0.0);
    }
    v3 df = minus(force, f_y), dt = minus(torque, t_y);
    *change = m[0] * dot(df, df) + dot(dt, turn(m, dt));
    *kinetic = dot(force, plus(move, v0)) + dot(torque, plus(spin, w0));
}

/* The same of a row of an explicit matrix. */
INLINE void step_row(const struct args *p, const struct control *c, u32 row, double *change, double *kinetic)
{
    const double *z = gamma_at(p, c->trial), *now = gamma_at(p, c->now), *before = gamma_at(p, c->before);
    double product = matrix_row(p, row, z), y = now[row];
    if (c->beta != 0.0)
        y += c->beta * (y - before[row]);
    velocity_at(p, c->trial)[row] = product;
    if (c->rule != JACOBI)
        ahead_at(p, c->ahead_place ^ 1u)[row] = product + c->next_beta * (product - velocity_at(p, c->now)[row]);
    *change = (z[row] - y) * (product - velocity_ahead(p, c)[row]);
    *kinetic = z[row] * product;
}

/* The trial's forces and velocities, the sums over bodies, and in the block that comes last the decision. */
KERNEL step_bodies(struct args p)
{
    SHARED double part[SUMS][CHUNK], bodies[SUMS];
    const struct control c = *p.control;
    if (c.halt)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.bodies); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 body = chunk * CHUNK + i;
            double change = 0.0, kinetic = 0.0;
            if (body < p.bodies && is_matrix(&p))
                step_row(&p, &c, body, &change, &kinetic);
            else if (body < p.bodies)
                step_body(&p, &c, body, &change, &kinetic);
            part[CHANGE][i] = change;
            part[KINETIC][i] = kinetic;
        }
        finish_chunk(part, 2u, 0u, p.body_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[4]);
    total(p.body_sums, chunks_of(p.bodies), part, 2u, 0u);
    LEADER {
        bodies[CHANGE] = part[CHANGE][0];
        bodies[KINETIC] = part[KINETIC][0];
    }
    BARRIER;
    total(p.block_sums, chunks_of(p.blocks), part, SUMS, 1u << MEASURE);
    LEADER {
        double blocks[SUMS];
        for (u32 k = 0; k < SUMS; k++)
            blocks[k] = part[k][0];
        struct control next = *p.control;
        decide(&next, blocks, bodies);
        *p.control = next;
    }
}

/* The natural-map residual of gamma. The measure of a step overstates it by up to three at times: below that it is looked at
 * after every fourth step, and where it is good enough, or there is nothing else to do, the iteration waits for the host. */
KERNEL look(struct args p)
{
    SHARED double part[SUMS][CHUNK];
    int due = p.control->used % EVERY == 0u && p.control->measure <= 3.0 * p.control->threshold;
    if (!p.control->halt && !due)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.blocks); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 block = chunk * CHUNK + i;
            part[0][i] = block < p.blocks ? natural(&p, p.control, block) : 0.0;
        }
        finish_chunk(part, 1u, 1u, p.block_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[5]);
    total(p.block_sums, chunks_of(p.blocks), part, 1u, 1u);
    LEADER {
        struct control *c = p.control;
        c->residual = sqrt(part[0][0]);
        if (c->residual <= c->threshold)
            c->halt |= LOOK;
    }
}

/* Gamma, or the best so far, in the problem's rows. */
KERNEL write_rows(struct args p)
{
    const double *gamma = gamma_at(&p, p.control->wish_best ? p.control->best : p.control->now);
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.blocks); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 block = chunk * CHUNK + i;
            if (block < p.points) {
                v3 n = xyz(load4(p.normal + (u64)block * 4u)), t1, t2, x = xyz(load4(gamma + (u64)block * 4u));
                frame(n, &t1, &t2);
                double local[3] = {dot(n, x), dot(t1, x), dot(t2, x)};
                /* The change of frame rounds: back inside the cone. */
                project_friction(p.arm_a[(u64)block * 4u + 3u], local, 3u);
                for (u32 k = 0; k < 3u; k++)
                    p.rows[(u64)block * 3u + k] = local[k];
            } else if (block < p.blocks) {
                u32 b = block - p.points;
                ROLLED for (u32 row = p.first_row[b]; row < p.first_row[b + 1u]; row++)
                    p.rows[(u64)p.points * 3u + row] = gamma[(u64)p.points * 4u + row];
            }
        }
    }
}
