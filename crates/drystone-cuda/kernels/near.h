/* Narrow phase: who touches whom, where, and the lists of contacts by grain. */

/* A signed distance along a unit normal. */
struct distance {
    v3 normal;
    double gap;
};

/* Of two balls, from b to a; along z where their centres are one. */
INLINE struct distance ball_ball(v3 a, double ra, v3 b, double rb)
{
    struct distance out;
    v3 apart = minus(a, b);
    double square = dot(apart, apart), length = sqrt(square);
    out.normal = square > 1e-300 ? times(1.0 / length, apart) : vec(0.0, 0.0, ra < rb ? -1.0 : 1.0);
    out.gap = length - (ra + rb);
    return out;
}

/* Of a ball and a fixed shape. */
INLINE struct distance ball_fixed(const double *f, v3 x, double r)
{
    struct distance out;
    u32 shape = (u32)f[0];
    v3 d = minus(x, v3_at(f + 3));
    if (shape == SHAPE_SPHERE)
        return ball_ball(x, r, v3_at(f + 3), f[15]);
    if (shape == SHAPE_HALF_SPACE) {
        out.normal = v3_at(f + 12);
        out.gap = dot(d, out.normal) - r;
        return out;
    }
    if (shape == SHAPE_CAPSULE) {
        v3 axis = v3_at(f + 12);
        double along = dot(d, axis);
        along = along > f[16] ? f[16] : along < -f[16] ? -f[16] : along;
        return ball_ball(x, r, plus(v3_at(f + 3), times(along, axis)), f[15]);
    }
    double p[3], beyond[3], square = 0.0;
    for (u32 k = 0; k < 3u; k++) {
        double half = f[15u + k];
        p[k] = dot(d, v3_at(f + 6u + 3u * k));
        beyond[k] = p[k] > half ? p[k] - half : p[k] < -half ? p[k] + half : 0.0;
        square += beyond[k] * beyond[k];
    }
    if (square > 1e-300) {
        double length = sqrt(square);
        v3 n = times(beyond[0], v3_at(f + 6));
        n = plus(n, times(beyond[1], v3_at(f + 9)));
        n = plus(n, times(beyond[2], v3_at(f + 12)));
        out.normal = times(1.0 / length, n);
        out.gap = length - r;
        return out;
    }
    /* The centre is inside: out through the nearest face. */
    u32 face = 0u;
    for (u32 k = 1; k < 3u; k++)
        if (absolute(p[k]) - f[15u + k] > absolute(p[face]) - f[15u + face])
            face = k;
    out.normal = times(p[face] < 0.0 ? -1.0 : 1.0, v3_at(f + 6u + 3u * face));
    out.gap = absolute(p[face]) - f[15u + face] - r;
    return out;
}

/* How far a ball may hover over another by friction in the step: at most its size. */
INLINE double hovers(double mu, double way, double spin, double size)
{
    double out = mu * (way + spin);
    return out < size ? out : size;
}

INLINE double spin_of(const struct grains *p, u32 k, double r)
{
    v3 w = xyz(load4(p->free + (u64)k * 8u + 4u));
    return p->h * r * sqrt(dot(w, w));
}

/* The velocity of a grain's surface where its contact with normal n is: v + n x r w. */
INLINE v3 surface_velocity(const struct grains *p, u32 k, double r, v3 n)
{
    const double *free = p->free + (u64)k * 8u;
    return plus(xyz(load4(free)), times(r, cross(n, xyz(load4(free + 4)))));
}

/* Whether a gap may close in the step, or friction lift over it. */
INLINE int closes(const struct grains *p, struct distance d, v3 u, double mu, double near, double size)
{
    double along = dot(u, d.normal);
    v3 slip = minus(u, times(along, d.normal));
    double ahead = d.gap - near - hovers(mu, p->h * sqrt(dot(slip, slip)), 0.0, size);
    return !(ahead > p->h * (along < 0.0 ? -along : 0.0));
}

/* Whether grains a < b have a contact: they are near, or meet on their straight ways. */
INLINE int grains_meet(const struct grains *p, u32 a, u32 b)
{
    v4 x = load4(p->centres + (u64)a * 4u), y = load4(p->centres + (u64)b * 4u);
    v3 apart = minus(xyz(x), xyz(y));
    double size = y.w < x.w ? y.w : x.w, touch = x.w + y.w + near_by(p, size), square = dot(apart, apart);
    if (square <= touch * touch)
        return 1;
    if (!p->moving)
        return 0;
    v3 v = minus(xyz(load4(p->free + (u64)a * 8u)), xyz(load4(p->free + (u64)b * 8u)));
    v3 way = times(p->h, v);
    double length = dot(way, way), spin = spin_of(p, a, x.w) + spin_of(p, b, y.w);
    double mu = rubs(p, p->surface[a], p->surface[b]), reach = touch + hovers(mu, sqrt(length), spin, size);
    if (square > reach * reach) {
        double toward = -dot(apart, way);
        if (toward <= 0.0 || length == 0.0)
            return 0;
        double share = toward / length;
        v3 nearest = plus(apart, times(share < 1.0 ? share : 1.0, way));
        if (dot(nearest, nearest) > reach * reach)
            return 0;
    }
    struct distance d = ball_ball(xyz(x), x.w, xyz(y), y.w);
    v3 back = times(-1.0, d.normal), u = minus(surface_velocity(p, a, x.w, d.normal), surface_velocity(p, b, y.w, back));
    return d.gap <= near_by(p, size) || closes(p, d, u, mu, near_by(p, size), size);
}

/* Advances after which a ball that is still not past a fixed shape is taken to meet it. */
#define ADVANCES 16u

/* Whether a grain has a contact with a fixed shape. On its straight way it may advance by its distance each time. */
INLINE int meets_fixed(const struct grains *p, u32 a, u32 k)
{
    const double *f = p->fixed + (u64)k * FIXED_NUMBERS;
    v4 x = load4(p->centres + (u64)a * 4u);
    double size = f[2] < x.w ? f[2] : x.w, near = near_by(p, size);
    struct distance d = ball_fixed(f, xyz(x), x.w);
    double gap = d.gap;
    if (gap <= near)
        return 1;
    if (!p->moving)
        return 0;
    v3 v = xyz(load4(p->free + (u64)a * 8u)), u = surface_velocity(p, a, x.w, d.normal);
    /* As the shape sees it. */
    if (f[FIXED_LED] != 0.0) {
        v = minus(v, led_velocity(f, xyz(x)));
        u = minus(u, led_velocity(f, minus(xyz(x), times(x.w + gap, d.normal))));
    }
    v3 way = times(p->h, v);
    double length = sqrt(dot(way, way)), mu = rubs(p, p->surface[a], (u32)f[1]);
    if (!closes(p, d, u, mu, near, size))
        return 0;
    near += hovers(mu, length, spin_of(p, a, x.w), size);
    double gone = 0.0;
    ROLLED for (u32 n = 0; n < ADVANCES; n++) {
        if (gap <= near)
            return 1;
        gone += gap - near;
        if (gone > length)
            return 0;
        gap = ball_fixed(f, plus(xyz(x), times(gone / length, way)), x.w).gap;
    }
    return 1;
}

/* Puts a number into a rising list of `count`. */
INLINE void insert(u32 *list, u32 count, u32 own)
{
    ROLLED while (count > 0u && list[count - 1u] > own) {
        list[count] = list[count - 1u];
        count--;
    }
    list[count] = own;
}

/* Grains in contact with grain a: those after it go to `up`, those before it to `low`, where there are such lists. */
INLINE void neighbours(const struct grains *p, const struct grid *g, u32 a, u32 *up, u32 *low, u32 *ups, u32 *lows)
{
    const double *x = p->centres + (u64)a * 4u;
    u32 c[3], from[3], to[3];
    for (u32 n = 0; n < 3u; n++) {
        c[n] = cell_at(g, n, x[n]);
        from[n] = c[n] > 0u ? c[n] - 1u : 0u;
        to[n] = c[n] + 1u < g->count[n] ? c[n] + 1u : c[n];
    }
    *ups = *lows = 0u;
    ROLLED for (u32 z = from[2]; z <= to[2]; z++) {
        ROLLED for (u32 y = from[1]; y <= to[1]; y++) {
            ROLLED for (u32 w = from[0]; w <= to[0]; w++) {
                u32 bucket = bucket_of(p, g, w, y, z);
                ROLLED for (u32 e = p->cell_first[bucket]; e < p->cell_first[bucket + 1u]; e++) {
                    u32 b = p->in_cells[e];
                    const double *o = p->centres + (u64)b * 4u;
                    /* Several cells share a bucket where there are more cells than buckets. */
                    if (b == a || cell_at(g, 0, o[0]) != w || cell_at(g, 1, o[1]) != y || cell_at(g, 2, o[2]) != z)
                        continue;
                    if (!grains_meet(p, a < b ? a : b, a < b ? b : a))
                        continue;
                    if (b > a) {
                        if (up)
                            insert(up, *ups, b);
                        (*ups)++;
                    } else {
                        if (low)
                            insert(low, *lows, b);
                        (*lows)++;
                    }
                }
            }
        }
    }
}

/* How many contacts every grain has. */
KERNEL_BESIDE(3) near_count(struct grains p)
{
    const struct grid g = *p.grid;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 a = chunk * CHUNK + i, ups = 0u, lows = 0u;
            if (a < p.grains) {
                if (g.sound)
                    neighbours(&p, &g, a, 0, 0, &ups, &lows);
                ROLLED for (u32 k = 0; k < p.fixed_count; k++)
                    ups += (u32)meets_fixed(&p, a, k);
                p.counts[a] = ups;
                p.counts[p.grains + a] = lows;
            }
        }
    }
}

/* How many contacts there are; below zero where grains are not in any grid. */
KERNEL near_told(struct grains p)
{
    LEADER {
        if (BLOCK == 0u)
            p.told[TOLD_CONTACTS] = p.grid->sound ? (double)p.first[p.grains] : -1.0;
    }
}

/* The contacts of every grain with those after it, then with fixed shapes; and those before it that touch it. */
KERNEL_BESIDE(3) near_write(struct grains p)
{
    const struct grid g = *p.grid;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 a = chunk * CHUNK + i, ups = 0u, lows = 0u;
            if (a < p.grains && g.sound) {
                u32 at = p.first[a];
                neighbours(&p, &g, a, p.other + at, p.low + (p.first[p.grains + a] - p.contacts), &ups, &lows);
                ROLLED for (u32 k = 0; k < p.fixed_count; k++)
                    if (meets_fixed(&p, a, k))
                        p.other[at + ups++] = FIXED | k;
                ROLLED for (u32 k = 0; k < ups; k++)
                    p.owner[at + k] = a;
            }
        }
    }
}

/* The place of `other` in a rising list of a grain's contacts; the end where it is not there. */
INLINE u32 find(const u32 *other, u32 from, u32 to, u32 wanted)
{
    ROLLED while (from < to && other[from] != wanted)
        from++;
    return from;
}

/* Normals and gaps of the contacts that were found, where grains are now. */
KERNEL near_touch(struct grains p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 c = chunk * CHUNK + i;
            if (c < p.contacts) {
                u32 a = p.owner[c], b = p.other[c];
                v4 x = load4(p.centres + (u64)a * 4u);
                struct distance d;
                if (b & FIXED)
                    d = ball_fixed(p.fixed + (u64)(b ^ FIXED) * FIXED_NUMBERS, xyz(x), x.w);
                else {
                    v4 y = load4(p.centres + (u64)b * 4u);
                    d = ball_ball(xyz(x), x.w, xyz(y), y.w);
                }
                store4(p.touch + (u64)c * 4u, d.normal, d.gap);
            }
        }
    }
}

/* From the grains before each one to the contacts with them. */
KERNEL near_link(struct grains p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 b = chunk * CHUNK + i;
            if (b < p.grains) {
                ROLLED for (u32 e = p.first[p.grains + b]; e < p.first[p.grains + b + 1u]; e++) {
                    u32 a = p.low[e - p.contacts];
                    p.low[e - p.contacts] = find(p.other, p.first[a], p.first[a + 1u], b);
                }
            }
        }
    }
}

/* b of a contact where grains were when the step began, without its compliance: the gap over h, and what led shapes do. */
INLINE v3 contact_bias(const struct grains *p, u32 a, u32 b, v4 touch)
{
    v3 n = xyz(touch), bias = times(touch.w > 0.0 ? touch.w / p->h : 0.0, n);
    if (is_led(p, b)) {
        v4 x = load4(p->place + (u64)a * 4u);
        bias = minus(bias, led_velocity(shape_of(p->fixed, b), minus(xyz(x), times(x.w + touch.w, n))));
    }
    return bias;
}

/* Steps to the solution of a contact by itself. */
#define ALONE 60u
/* Friction beyond which a cone is as wide as a half-space, and biases that are rounding. */
#define WIDE 1e6
#define DUST 1e-12

/* The velocity of a grain's surface in a contact, from v and w. */
INLINE v3 at_surface(const double *motion, double r, v3 n)
{
    return plus(xyz(load4(motion)), times(r, cross(n, xyz(load4(motion + 4)))));
}

/* A contact that asks for a motion gives way a little, about the multiplier that it is expected to have [regularise.rs of drystone-solve].
 * Writes the compliance and what it shifts the bias by. `last` is the normal multiplier of the last step. */
INLINE void ask(const struct grains *p, u32 a, v3 n, v3 bias, double mu, double last, double *soft)
{
    double along = dot(bias, n), wide = mu < WIDE ? mu : WIDE, speed;
    v3 rest = minus(bias, times(along, n));
    double across = sqrt(dot(rest, rest));
    soft[0] = soft[1] = 0.0;
    if (wide * along + across <= 0.0)
        speed = sqrt(along * along + across * across);
    else
        speed = (wide * across - along) / sqrt(1.0 + wide * wide);
    if (!(speed > DUST * (1.0 + absolute(along)) && speed > p->tolerance && p->compliance > 0.0))
        return;
    double r = p->place[(u64)a * 4u + 3u], light = p->mass[(u64)a * 4u], turns = p->mass[(u64)a * 4u + 1u];
    v3 free = plus(at_surface(p->free + (u64)a * 8u, r, n), bias);
    soft[0] = p->compliance * light * (speed / (speed + sqrt(dot(free, free))));
    double did = absolute(dot(plus(at_surface(p->motion + (u64)a * 8u, r, n), bias), n)), about = last;
    did = did <= p->tolerance ? 1.0 : did < speed ? 1.0 - did / speed : 0.0;
    if (did < 1.0) {
        double step = 1.0 / (light + turns), free_n = dot(free, n);
        v3 free_t = minus(free, times(free_n, n)), z = vec(0.0, 0.0, 0.0);
        ROLLED for (u32 k = 0; k < ALONE; k++) {
            double z_n = dot(z, n);
            v3 z_t = minus(z, times(z_n, n));
            v3 u_t = plus(free_t, times(light + turns, z_t));
            z = project_parts(z_n - step * (free_n + light * z_n), minus(z_t, times(step, u_t)), n, mu, 1.0);
        }
        about = did * last + (1.0 - did) * dot(z, n);
    }
    soft[1] = soft[0] * about;
}
