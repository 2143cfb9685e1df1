/* What blocks read of bodies, and bodies of blocks. */

/* I^-1 x of a body's row of `mass`. */
INLINE v3 turn(const double *mass, v3 x)
{
    return vec(mass[2] * x.x + mass[5] * x.y + mass[6] * x.z, mass[5] * x.x + mass[3] * x.y + mass[7] * x.z,
               mass[6] * x.x + mass[7] * x.y + mass[4] * x.z);
}

/* v_A + w_A x r_A - v_B - w_B x r_B of a point. */
INLINE v3 relative(const double *velocity, u32 a, u32 b, v3 arm_a, v3 arm_b)
{
    const double *row = velocity + (u64)a * 8u;
    v3 v = xyz(load4(row)), w = xyz(load4(row + 4));
    v3 u = plus(v, cross(w, arm_a));
    if (b != WORLD) {
        row = velocity + (u64)b * 8u;
        v = xyz(load4(row));
        w = xyz(load4(row + 4));
        u = minus(u, plus(v, cross(w, arm_b)));
    }
    return u;
}

/* D_j' v of a general row. */
INLINE double relative_row(const double *jacobian, const double *velocity, u32 a, u32 b)
{
    const double *row = velocity + (u64)a * 8u;
    double u = 0.0;
    for (u32 k = 0; k < 3u; k++)
        u += jacobian[k] * row[k] + jacobian[3u + k] * row[4u + k];
    if (b != WORLD) {
        row = velocity + (u64)b * 8u;
        for (u32 k = 0; k < 3u; k++)
            u += jacobian[6u + k] * row[k] + jacobian[9u + k] * row[4u + k];
    }
    return u;
}

/* C x of a point. */
INLINE v3 yields(const struct args *p, u32 i, v3 n, v3 x)
{
    double along = p->soft[(u64)i * 2u], across = p->soft[(u64)i * 2u + 1u];
    return plus(times(across, x), times((along - across) * dot(x, n), n));
}

/* b of a point. */
INLINE v3 point_bias(const struct args *p, u32 i, v4 normal)
{
    v3 out = times(normal.w, xyz(normal));
    return p->drift ? plus(out, xyz(load4(p->drift + (u64)i * 4u))) : out;
}

/* C_jj of a general row. */
INLINE double row_yields(const struct args *p, u32 row)
{
    return p->compliance ? p->compliance[row] : 0.0;
}

/* Adds force and torque of the points in a part of a list, from first to last. */
INLINE void gather_points(const struct args *p, const double *gamma, u32 from, u32 to, v3 *force, v3 *torque)
{
    v3 f = *force, t = *torque;
    BY_FOUR for (u32 e = from; e < to; e++) {
        u32 entry = p->entry[e], block = entry >> 1;
        const double *arms = entry & 1u ? p->arm_b : p->arm_a;
        double sign = entry & 1u ? -1.0 : 1.0;
        v3 z = times(sign, xyz(load4(gamma + (u64)block * 4u)));
        f = plus(f, z);
        t = plus(t, cross(xyz(load4(arms + (u64)block * 4u)), z));
    }
    *force = f;
    *torque = t;
}

/* Force and torque on a body of the multipliers in `gamma`: its list of blocks from first to last. Where the parts of long lists were added up
 * before (`in_parts`), those in their place. */
INLINE void gather(const struct args *p, const double *gamma, u32 body, int in_parts, v3 *force, v3 *torque)
{
    v3 f = vec(0.0, 0.0, 0.0), t = f;
    u32 from = p->first_entry[body], middle = p->first_general[body];
    if (in_parts && p->first_part[body] < p->first_part[body + 1u]) {
        ROLLED for (u32 k = p->first_part[body]; k < p->first_part[body + 1u]; k++) {
            f = plus(f, xyz(load4(p->part_sums + (u64)k * 8u)));
            t = plus(t, xyz(load4(p->part_sums + (u64)k * 8u + 4u)));
        }
        from = middle;
    }
    gather_points(p, gamma, from, middle, &f, &t);
    ROLLED for (u32 e = middle; e < p->first_entry[body + 1u]; e++) {
        u32 entry = p->entry[e], g = (entry >> 1) - p->points;
        ROLLED for (u32 row = p->first_row[g]; row < p->first_row[g + 1u]; row++) {
            const double *j = p->jacobian + (u64)row * 12u + (entry & 1u) * 6u;
            double x = gamma[(u64)p->points * 4u + row];
            f = plus(f, times(x, vec(j[0], j[1], j[2])));
            t = plus(t, times(x, vec(j[3], j[4], j[5])));
        }
    }
    *force = f;
    *torque = t;
}

/* (W x)_j. */
INLINE double matrix_row(const struct args *p, u32 row, const double *x)
{
    double sum = 0.0;
    BY_FOUR for (u32 e = p->first_value[row]; e < p->first_value[row + 1u]; e++)
        sum += p->value[e] * x[p->column[e]];
    return sum;
}

/* u of a row of a general block without its bias, and what its compliance makes of x. */
INLINE double general_velocity(const struct args *p, u32 block, u32 row, const double *velocity, double x)
{
    if (is_matrix(p))
        return velocity[row] + row_yields(p, row) * x;
    u32 a = p->sides[(u64)block * 2u], b = p->sides[(u64)block * 2u + 1u];
    return relative_row(p->jacobian + (u64)row * 12u, velocity, a, b) + row_yields(p, row) * x;
}

/* (|gamma - P(gamma - u/g)| g)^2 of a block under these multipliers and velocities: its natural-map residual, squared. */
INLINE double natural_at(const struct args *p, const double *gamma, const double *velocity, u32 block)
{
    double g = p->scale[(u64)block * 4u + 2u], eta = g > 0.0 ? 1.0 / g : 0.0;
    if (block < p->points) {
        v4 normal = load4(p->normal + (u64)block * 4u), a = load4(p->arm_a + (u64)block * 4u);
        v3 n = xyz(normal), x = xyz(load4(gamma + (u64)block * 4u));
        v3 arm_b = xyz(load4(p->arm_b + (u64)block * 4u));
        u32 i = p->sides[(u64)block * 2u], j = p->sides[(u64)block * 2u + 1u];
        v3 u = plus(relative(velocity, i, j, xyz(a), arm_b), point_bias(p, block, normal));
        if (p->soft)
            u = plus(u, yields(p, block, n, x));
        v3 to = minus(x, times(eta, u));
        double along = dot(to, n);
        v3 e = minus(x, project_parts(along, minus(to, times(along, n)), n, a.w, 1.0));
        return dot(e, e) * g * g;
    }
    u32 b = block - p->points;
    double z[5], square = 0.0;
    ROLLED for (u32 row = p->first_row[b], k = 0; row < p->first_row[b + 1u]; row++, k++) {
        double x = gamma[(u64)p->points * 4u + row];
        z[k] = x - eta * (general_velocity(p, block, row, velocity, x) + p->bias[row]);
    }
    project_set(p->kind[b], p->limits[(u64)b * 2u], p->limits[(u64)b * 2u + 1u], z);
    ROLLED for (u32 row = p->first_row[b], k = 0; row < p->first_row[b + 1u]; row++, k++) {
        double d = gamma[(u64)p->points * 4u + row] - z[k];
        square += d * d;
    }
    return square * g * g;
}

/* The same of gamma. */
INLINE double natural(const struct args *p, const struct control *c, u32 block)
{
    return natural_at(p, gamma_at(p, c->now), velocity_at(p, c->now), block);
}
