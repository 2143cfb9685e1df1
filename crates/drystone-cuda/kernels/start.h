/* The beginning of a solve: diagonals, the metric, gamma_0 with its forces and velocities, and the first Lipschitz constant. */

/* tr(J M^-1 J') of one side of a point; of its normal row alone where nothing rubs. */
INLINE double point_share(const struct args *p, u32 body, v3 arm, v3 n, double mu)
{
    const double *m = p->mass + (u64)body * 8u;
    if (mu == 0.0) {
        v3 moment = cross(arm, n);
        return m[0] + dot(moment, turn(m, moment));
    }
    return 3.0 * m[0] + dot(arm, arm) * (m[2] + m[3] + m[4]) - dot(arm, turn(m, arm));
}

/* Whether a body's inertia is that of a ball, and its arm lies along the normal. */
INLINE int is_ball(const struct args *p, u32 body, v3 arm, v3 n)
{
    const double *m = p->mass + (u64)body * 8u;
    double along = dot(arm, n), off = 0.0;
    v3 rest = minus(arm, times(along, n));
    off = larger(larger(absolute(rest.x), absolute(rest.y)), absolute(rest.z));
    return m[2] == m[3] && m[3] == m[4] && m[5] == 0.0 && m[6] == 0.0 && m[7] == 0.0 && off <= 1e-11 * absolute(along);
}

/* The same of one side of a general block. */
INLINE double general_share(const struct args *p, u32 general, u32 body, u32 side)
{
    const double *m = p->mass + (u64)body * 8u;
    double sum = 0.0;
    ROLLED for (u32 row = p->first_row[general]; row < p->first_row[general + 1u]; row++) {
        const double *j = p->jacobian + (u64)row * 12u + side * 6u;
        v3 v = vec(j[0], j[1], j[2]), w = vec(j[3], j[4], j[5]);
        sum += m[0] * dot(v, v) + dot(w, turn(m, w));
    }
    return sum;
}

/* Sum and largest of a block's compliances. */
INLINE void softness(const struct args *p, u32 block, double mu, double *sum, double *most)
{
    *sum = 0.0;
    *most = 0.0;
    if (block < p->points) {
        if (p->soft) {
            double n = p->soft[(u64)block * 2u], t = mu == 0.0 ? 0.0 : p->soft[(u64)block * 2u + 1u];
            *sum = n + 2.0 * t;
            *most = larger(n, t);
        }
        return;
    }
    u32 b = block - p->points;
    ROLLED for (u32 row = p->first_row[b]; row < p->first_row[b + 1u]; row++) {
        *sum += row_yields(p, row);
        *most = larger(*most, row_yields(p, row));
    }
}

/* g of a block, its two shares; adds to the largest [not a ball, stiffness]. */
INLINE void measure_block(const struct args *p, u32 block, double *sums)
{
    if (is_matrix(p)) {
        p->scale[(u64)block * 4u + 2u] = p->diagonal[block];
        p->share[(u64)block * 2u] = p->share[(u64)block * 2u + 1u] = 0.0;
        sums[0] = 1.0;
        return;
    }
    u32 i = p->sides[(u64)block * 2u], j = p->sides[(u64)block * 2u + 1u];
    double first, second = 0.0, rows, soft, softest, mu = 1.0;
    if (block < p->points) {
        v3 n = xyz(load4(p->normal + (u64)block * 4u));
        v4 a = load4(p->arm_a + (u64)block * 4u);
        v3 b = xyz(load4(p->arm_b + (u64)block * 4u));
        mu = a.w;
        rows = mu == 0.0 ? 1.0 : 3.0;
        first = point_share(p, i, xyz(a), n, mu);
        int balls = is_ball(p, i, xyz(a), n);
        const double *m = p->mass + (u64)i * 8u;
        double mass = m[0], turning = dot(xyz(a), xyz(a)) * m[2];
        if (j != WORLD) {
            second = point_share(p, j, b, n, mu);
            balls = balls && is_ball(p, j, b, n);
            m = p->mass + (u64)j * 8u;
            mass += m[0];
            turning += dot(b, b) * m[2];
        }
        sums[0] = balls ? 0.0 : 1.0;
        sums[1] = mu > 0.0 ? mass / (mass + turning) : 1.0;
    } else {
        u32 b = block - p->points;
        rows = (double)(p->first_row[b + 1u] - p->first_row[b]);
        first = general_share(p, b, i, 0u);
        if (j != WORLD)
            second = general_share(p, b, j, 1u);
        sums[0] = 1.0;
    }
    softness(p, block, mu, &soft, &softest);
    p->scale[(u64)block * 4u + 2u] = (first + second + soft) / rows;
    p->share[(u64)block * 2u] = first;
    p->share[(u64)block * 2u + 1u] = second;
}

/* g of every block, and kappa. */
KERNEL start_measure(struct args p)
{
    SHARED double part[SUMS][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.blocks); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            double sums[2] = {0.0, 0.0};
            if (chunk * CHUNK + i < p.blocks)
                measure_block(&p, chunk * CHUNK + i, sums);
            part[0][i] = sums[0];
            part[1][i] = sums[1];
        }
        finish_chunk(part, 2u, 3u, p.block_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[0]);
    total(p.block_sums, chunks_of(p.blocks), part, 2u, 3u);
    LEADER {
        struct control *c = p.control;
        int two_scales = c->cone && part[0][0] == 0.0 && part[1][0] > 0.0;
        c->kappa = two_scales ? 1.0 / part[1][0] : 1.0;
    }
}

/* The metric, gamma_0 and the vector of ones of one block. Sums: work of gamma_0, |1|^2, largest eta C. */
INLINE void scale_block(const struct args *p, const struct control *c, u32 block, double *sums)
{
    double *scale = p->scale + (u64)block * 4u, *share = p->share + (u64)block * 2u;
    double *now = gamma_at(p, c->now), *ones = gamma_at(p, c->trial);
    double g = scale[2], kappa = block < p->points ? c->kappa : 1.0, across = (2.0 + 1.0 / kappa) / 3.0;
    double step = 0.0, weight = 0.0, mu = 1.0, soft, softest, work = 0.0, square;
    if (g > 0.0) {
        step = c->plain ? 1.0 : across / g;
        weight = c->plain ? 1.0 : g / across;
    }
    if (block < p->points) {
        u32 i = p->sides[(u64)block * 2u], j = p->sides[(u64)block * 2u + 1u];
        v4 normal = load4(p->normal + (u64)block * 4u);
        v3 n = xyz(normal), t1, t2, x = vec(0.0, 0.0, 0.0);
        mu = p->arm_a[(u64)block * 4u + 3u];
        frame(n, &t1, &t2);
        if (p->guess) {
            const double *guess = p->guess + (u64)block * 3u;
            double local[3] = {guess[0], guess[1], guess[2]};
            project_friction(mu, local, 3u);
            x = plus(times(local[0], n), plus(times(local[1], t1), times(local[2], t2)));
        }
        store4(now + (u64)block * 4u, x, 0.0);
        v3 one = mu == 0.0 ? n : plus(n, plus(t1, t2));
        store4(ones + (u64)block * 4u, one, 0.0);
        work = dot(point_bias(p, block, normal), x);
        if (p->soft)
            work += 0.5 * dot(x, yields(p, block, n, x));
        square = weight * (dot(one, one) + (1.0 / kappa - 1.0));
        p->arm_b[(u64)block * 4u + 3u] = step;
        share[0] += (kappa - 1.0) * p->mass[(u64)i * 8u];
        share[1] += j == WORLD ? 0.0 : (kappa - 1.0) * p->mass[(u64)j * 8u];
    } else {
        u32 b = block - p->points, first = p->first_row[b], rows = p->first_row[b + 1u] - first;
        double x[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
        if (p->guess)
            ROLLED for (u32 k = 0; k < rows; k++)
                x[k] = p->guess[(u64)p->points * 3u + first + k];
        project_set(p->kind[b], p->limits[(u64)b * 2u], p->limits[(u64)b * 2u + 1u], x);
        ROLLED for (u32 k = 0; k < rows; k++) {
            now[(u64)p->points * 4u + first + k] = x[k];
            ones[(u64)p->points * 4u + first + k] = 1.0;
            work += p->bias[first + k] * x[k] + 0.5 * row_yields(p, first + k) * x[k] * x[k];
        }
        square = weight * (double)rows;
    }
    double both = share[0] > 0.0 && share[1] > 0.0 ? 2.0 : 1.0;
    share[0] *= both * step;
    share[1] *= both * step;
    scale[0] = step;
    scale[1] = weight;
    softness(p, block, mu, &soft, &softest);
    sums[0] = work;
    sums[1] = square;
    sums[2] = step * kappa * softest;
}

/* The metric, gamma_0 in place `now`, ones in place `trial`. */
KERNEL start_scale(struct args p)
{
    SHARED double part[SUMS][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.blocks); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            double sums[3] = {0.0, 0.0, 0.0};
            if (chunk * CHUNK + i < p.blocks)
                scale_block(&p, p.control, chunk * CHUNK + i, sums);
            for (u32 k = 0; k < 3u; k++)
                part[k][i] = sums[k];
        }
        finish_chunk(part, 3u, 4u, p.block_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[1]);
    total(p.block_sums, chunks_of(p.blocks), part, 3u, 4u);
    LEADER {
        p.control->work = part[0][0];
        p.control->bottom = part[1][0];
        p.control->softest = part[2][0];
    }
}

/* F = D x and M^-1 F of a body, for x in one place; v_free is added where it is asked for. Returns <F, v + v_free>. */
INLINE double settle(const struct args *p, u32 place, u32 body, int with_free)
{
    const double *m = p->mass + (u64)body * 8u, *free = p->free + (u64)body * 8u;
    v3 force, torque;
    gather(p, gamma_at(p, place), body, 0, &force, &torque);
    v3 v = times(m[0], force), w = turn(m, torque), v0 = xyz(load4(free)), w0 = xyz(load4(free + 4));
    if (with_free) {
        v = plus(v0, v);
        w = plus(w0, w);
    }
    double *to = force_at(p, place) + (u64)body * 8u;
    store4(to, force, 0.0);
    store4(to + 4, torque, 0.0);
    to = velocity_at(p, place) + (u64)body * 8u;
    store4(to, v, 0.0);
    store4(to + 4, w, 0.0);
    return dot(force, plus(v, v0)) + dot(torque, plus(w, w0));
}

/* The same of a row of an explicit matrix: (W x)_j, and x_j (W x)_j. */
INLINE double settle_row(const struct args *p, u32 place, u32 row)
{
    const double *x = gamma_at(p, place);
    double product = matrix_row(p, row, x);
    velocity_at(p, place)[row] = product;
    return x[row] * product;
}

/* The row's circle of S^1/2 W S^1/2 [Gershgorin]. */
INLINE double circle(const struct args *p, u32 row)
{
    double sum = 0.0;
    ROLLED for (u32 e = p->first_value[row]; e < p->first_value[row + 1u]; e++)
        sum += absolute(p->value[e]) * sqrt(p->scale[(u64)p->block_of[p->column[e]] * 4u]);
    return sum * sqrt(p->scale[(u64)p->block_of[row] * 4u]);
}

/* Forces and velocities of gamma_0 and of ones, the objective, and the bound on L. */
KERNEL start_bodies(struct args p)
{
    SHARED double part[SUMS][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.bodies); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 body = chunk * CHUNK + i;
            double kinetic = 0.0, bound = 0.0;
            if (body < p.bodies && is_matrix(&p)) {
                kinetic = settle_row(&p, p.control->now, body);
                settle_row(&p, p.control->trial, body);
                bound = circle(&p, body);
            } else if (body < p.bodies) {
                kinetic = settle(&p, p.control->now, body, 1);
                settle(&p, p.control->trial, body, 0);
                ROLLED for (u32 e = p.first_entry[body]; e < p.first_entry[body + 1u]; e++)
                    bound += p.share[p.entry[e]];
            }
            part[0][i] = 0.0;
            part[KINETIC][i] = kinetic;
            part[BOUND][i] = bound;
        }
        finish_chunk(part, 3u, 4u, p.body_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[2]);
    total(p.body_sums, chunks_of(p.bodies), part, 3u, 4u);
    LEADER {
        struct control *c = p.control;
        c->objective = c->start_objective = 0.5 * part[KINETIC][0] + c->work;
        c->most = c->softest + part[BOUND][0];
    }
}

/* |(N + C) 1|^2 of one block in the metric. */
INLINE double product(const struct args *p, const struct control *c, u32 block)
{
    const double *ones = gamma_at(p, c->trial), *velocity = velocity_at(p, c->trial);
    double step = p->scale[(u64)block * 4u];
    if (block < p->points) {
        v3 n = xyz(load4(p->normal + (u64)block * 4u));
        v4 a = load4(p->arm_a + (u64)block * 4u);
        v3 arm_b = xyz(load4(p->arm_b + (u64)block * 4u));
        u32 i = p->sides[(u64)block * 2u], j = p->sides[(u64)block * 2u + 1u];
        v3 u = relative(velocity, i, j, xyz(a), arm_b);
        if (p->soft)
            u = plus(u, yields(p, block, n, xyz(load4(ones + (u64)block * 4u))));
        double along = dot(u, n);
        if (a.w == 0.0)
            return step * c->kappa * along * along;
        return step * (dot(u, u) + (c->kappa - 1.0) * along * along);
    }
    u32 b = block - p->points;
    double sum = 0.0;
    ROLLED for (u32 row = p->first_row[b]; row < p->first_row[b + 1u]; row++) {
        double u = general_velocity(p, block, row, velocity, 1.0);
        sum += u * u;
    }
    return step * sum;
}

/* The first L, and the residual of gamma_0. */
KERNEL start_lipschitz(struct args p)
{
    SHARED double part[SUMS][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.blocks); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 block = chunk * CHUNK + i;
            part[0][i] = block < p.blocks ? product(&p, p.control, block) : 0.0;
            part[1][i] = block < p.blocks ? natural(&p, p.control, block) : 0.0;
        }
        finish_chunk(part, 2u, 2u, p.block_sums + (u64)chunk * SUMS);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[3]);
    total(p.block_sums, chunks_of(p.blocks), part, 2u, 2u);
    LEADER {
        struct control *c = p.control;
        double first = c->bottom > 0.0 ? sqrt(part[0][0] / c->bottom) : 0.0;
        c->lipschitz = first > 0.0 ? first : c->most;
        c->residual = sqrt(part[1][0]);
        c->best_measure = c->residual;
    }
}
