/* A world of solids on the device: balls, boxes and capsules that move, and planes and the same shapes that do not.
 * `src/solids/layout.rs` has the same structure: keep both alike.
 *
 * Cells are those of grains.h, around bounding spheres. Pairs of bodies that touch take colours there, in place of contacts. The
 * problem is that of data.h: points with arms, and bodies with inertia tensors. */

/* Numbers of a body: 1/m, m, then I^-1 and I in its own axes (xx, yy, zz, xy, xz, yz each), inner radius, kind, measures, its
 * row of `mu`, bounding radius, and whether its inertia is a ball's. */
#define SOLID_NUMBERS 24u
#define SOLID_INNER 14u
#define SOLID_KIND 15u
#define SOLID_MEASURES 16u
#define SOLID_SURFACE 19u
#define SOLID_RADIUS 20u
#define SOLID_ROUND 21u

/* Contacts of a pair, at most: those where the step begins, and those that turns bring about. */
#define MOST_CONTACTS 8u
/* Numbers of a contact that was found: normal, gap, point, feature, what the turns add to its gap, and whether they brought it
 * about. */
#define FOUND_NUMBERS 10u

/* Beside the TOLD numbers of grains.h: pairs that touch, whether turns add to some gap, and whether a step is too long for some
 * motion. */
#define TOLD_PAIRS 20u
#define TOLD_BENT 21u
#define TOLD_COARSE 22u
#define TOLD_THROWN 23u /* not zero: a body was thrown by more than its inner radius */
#define TOLD_SOLIDS 24u

struct solids {
    struct args posed;          /* the problem */
    struct grid *grid;
    double *told;               /* TOLD_SOLIDS numbers */
    const double *solid;        /* by body: SOLID_NUMBERS */
    const double *mu;           /* by pair of surfaces */
    const double *fixed;        /* by fixed shape: FIXED_NUMBERS */
    const double *place;        /* by body: centre, bounding radius */
    double *place_after;
    const double *turn;         /* by body: quaternion x, y, z, w */
    double *turn_after;
    const double *motion;       /* by body: v, 0, w, 0; world axes */
    double *motion_after;
    double *free;               /* by body: the same without contacts */
    double *ahead;              /* by body: its quaternion where its free turn leads */
    double *reach;              /* by body: centre, and how far from it a point of it may be in the step */
    double *extent;             /* by body: half the sides of the box around it along the world's axes, 0 */
    double *still;              /* by body: 8 zeros */
    u32 *touched;               /* by body: whether it has a contact */
    const u32 *cell_first, *in_cells; /* as in grains.h */
    u32 *counts;                /* by body: pairs that it is the first of, then those that it is the second of */
    u32 *near_first;            /* the sums of these, of bodies that are near */
    u32 *near_owner, *near_other; /* by near pair: first body; second body, or FIXED and a fixed shape */
    u32 *near_low;              /* by body, near pairs that it is the second of */
    u32 *near_count;            /* by near pair: its contacts */
    u32 *near_start;            /* the sums of these */
    u32 *near_pair;             /* by near pair: its number among those that touch */
    double *found;              /* by near pair: MOST_CONTACTS of FOUND_NUMBERS */
    u32 *entries;               /* by body: its contacts; the sums are posed.first_entry */
    u32 *first;                 /* as near_first, of pairs that touch */
    u32 *owner, *other;         /* by pair that touches */
    u32 *low;                   /* by body, pairs that it is the second of */
    u32 *start;                 /* by pair: its first contact; and the number of contacts */
    u32 *pair_at;               /* by place in the order of colours: the pair */
    const u32 *slot;            /* by pair: its place */
    const u32 *sides;           /* by place: as in grains.h */
    const u32 *colours;         /* as in grains.h */
    u32 *holder;                /* by contact: its pair */
    u32 *feature;               /* by contact */
    double *touch;              /* by contact: point half-way between the surfaces, gap */
    double *normal;             /* by contact: from the second to the first, 0 */
    double *arc;                /* by contact: what turns add to its gap, and whether they brought it about */
    double *gamma;              /* by contact: multiplier, N s, world axes, 0 */
    const u32 *old_first, *old_other, *old_start, *old_feature; /* those of the last step */
    const double *old_gamma, *old_touch, *old_arc;
    double *seen;               /* by contact: what a sweep measured of it, two numbers */
    double *contact_sums;       /* by chunk of contacts: TOLD_SOLIDS */
    double *body_sums;          /* by chunk of bodies: TOLD_SOLIDS */
    double h, gx, gy, gz;       /* s, m/s^2 */
    double base, share, more;   /* contacts exist up to base + share size + more, m */
    double reach_share;         /* of a position problem: largest correction over the size */
    double reach_all;           /* the largest correction of a step over the size */
    double resolved;            /* share of the size that a step may overlap by */
    double arcs;                /* share of the size that an arc may be off its tangent */
    double turns;               /* turns of a step that matter, rad */
    double tolerance, compliance; /* of contacts that ask for a motion */
    double leash;               /* how far a correction may go, over how far contacts were looked for */
    u32 solids, fixed_count, surfaces, buckets, near, pairs, contacts;
    u32 moving;    /* whether contacts are looked for as far as bodies go in the step */
    u32 positions; /* whether the problem is one of positions */
    u32 old_pairs; /* pairs of the last step, or 0 */
    u32 best;      /* whether the best multipliers are wanted, not the last ones */
    u32 from, to;  /* places of the colour, or colours, that a sweep is at */
};

/* What the posed problem reads, where it is written. */
#define NUMBERS(pointer) ((double *)(pointer))
#define WORDS(pointer) ((u32 *)(pointer))

INLINE const double *solid_of(const struct solids *p, u32 k)
{
    return p->solid + (u64)k * SOLID_NUMBERS;
}

INLINE v4 quaternion(double x, double y, double z, double w)
{
    v4 out;
    out.x = x;
    out.y = y;
    out.z = z;
    out.w = w;
    return out;
}

/* The axes of a body in the world. */
INLINE void axes_of(v4 q, v3 *axes)
{
    double x2 = q.x + q.x, y2 = q.y + q.y, z2 = q.z + q.z;
    double xx = q.x * x2, xy = q.x * y2, xz = q.x * z2, yy = q.y * y2, yz = q.y * z2, zz = q.z * z2;
    double wx = q.w * x2, wy = q.w * y2, wz = q.w * z2;
    axes[0] = vec(1.0 - (yy + zz), xy + wz, xz - wy);
    axes[1] = vec(xy - wz, 1.0 - (xx + zz), yz + wx);
    axes[2] = vec(xz + wy, yz - wx, 1.0 - (xx + yy));
}

/* From body to world axes, and back. */
INLINE v3 to_world(const v3 *axes, v3 a)
{
    return plus(plus(times(a.x, axes[0]), times(a.y, axes[1])), times(a.z, axes[2]));
}

INLINE v3 to_body(const v3 *axes, v3 a)
{
    return vec(dot(axes[0], a), dot(axes[1], a), dot(axes[2], a));
}

/* a b, a unit again. */
INLINE v4 turned_by(v4 a, v4 b)
{
    double x = a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y;
    double y = a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x;
    double z = a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w;
    double w = a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z;
    double length = sqrt(x * x + y * y + z * z + w * w);
    return quaternion(x / length, y / length, z / length, w / length);
}

/* The rotation by twice a vector. */
INLINE v4 exponential(v3 half)
{
    double cosine, sinc;
    half_angle(sqrt(dot(half, half)), &cosine, &sinc);
    return quaternion(sinc * half.x, sinc * half.y, sinc * half.z, cosine);
}

/* ---- free rotation: `motion.rs` of drystone ---- */

/* x with (2 I + dt (skew(m) I - skew(I m))) x = f, by columns. */
INLINE v3 newton_step(const double *i, v3 m, v3 im, double dt, v3 f)
{
    v3 column[3];
    for (u32 k = 0; k < 3u; k++) {
        v3 e = vec(k == 0u ? 1.0 : 0.0, k == 1u ? 1.0 : 0.0, k == 2u ? 1.0 : 0.0), ie = turn(i, e);
        column[k] = plus(times(2.0, ie), times(dt, minus(cross(m, ie), cross(im, e))));
    }
    v3 yz = cross(column[1], column[2]), zx = cross(column[2], column[0]), xy = cross(column[0], column[1]);
    double one = 1.0 / dot(column[2], xy);
    return vec(one * dot(yz, f), one * dot(zx, f), one * dot(xy, f));
}

/* Angular velocity in body axes after dt without torque, by the implicit midpoint rule; `i` + 2 is the inertia. */
INLINE v3 midpoint(const double *i, v3 w0, double dt)
{
    v3 m = w0;
    ROLLED for (u32 n = 0; n < 8u; n++) {
        v3 im = turn(i, m), f = plus(times(2.0, turn(i, minus(m, w0))), times(dt, cross(m, im)));
        v3 step = newton_step(i, m, im, dt, f), is = turn(i, step);
        m = minus(m, step);
        if (dt * dt * dot(step, step) * dot(is, is) <= 1e-33 * dot(im, im))
            break;
    }
    return minus(times(2.0, m), w0);
}

INLINE int alike(double x, double y)
{
    return absolute(x - y) <= 4.0 * 2.220446049250313e-16 * x;
}

#define STEADY 1e-11
#define PIECES 4096.0
#define OUTER 1.3512071919596576

/* Angular velocity after dt, body axes, and the turn, of a body that nothing acts on. `i` + 2 is its inertia. */
CALLED v3 free_rotation(const double *i, v3 omega, double dt, v4 *turn_by)
{
    u32 axis = 3u;
    double d[3] = {i[2], i[3], i[4]}, w[3] = {omega.x, omega.y, omega.z};
    if (i[5] == 0.0 && i[6] == 0.0 && i[7] == 0.0)
        for (u32 k = 3u; k > 0u; k--)
            if (alike(d[k % 3u], d[(k + 1u) % 3u]))
                axis = k - 1u;
    if (axis < 3u) {
        double ratio = d[axis] / d[(axis + 1u) % 3u], s = (ratio - 1.0) * w[axis];
        v3 e = vec(axis == 0u ? 1.0 : 0.0, axis == 1u ? 1.0 : 0.0, axis == 2u ? 1.0 : 0.0);
        v4 back = exponential(times(-0.5 * dt * s, e));
        v4 lead = exponential(times(0.5 * dt, plus(omega, times(s, e))));
        double half = -(axis == 0u ? back.x : axis == 1u ? back.y : back.z);
        double sine = 2.0 * half * back.w, cosine = 1.0 - 2.0 * half * half;
        v3 along = times(w[axis], e), across = minus(omega, along);
        *turn_by = turned_by(lead, back);
        return plus(plus(along, times(cosine, across)), times(sine, cross(e, across)));
    }
    double angle = length_of(omega) * dt;
    if (angle < 0.2 && angle > 0.0) {
        v3 next = midpoint(i, omega, dt);
        if (angle * length_of(minus(next, omega)) * dt < STEADY) {
            *turn_by = exponential(times(0.25 * dt, plus(omega, next)));
            return next;
        }
    }
    double pieces = angle / 0.2;
    if (!(angle > 0.0) || pieces > PIECES) {
        *turn_by = exponential(times(0.5 * dt, omega));
        return omega;
    }
    u32 parts = pieces < 5e-4 ? 1u : 3u, count = (u32)pieces;
    if ((double)count < pieces)
        count++;
    *turn_by = quaternion(0.0, 0.0, 0.0, 1.0);
    ROLLED for (u32 n = 0; n < count * parts; n++) {
        double weight = parts == 1u ? 1.0 : n % 3u == 1u ? 1.0 - 2.0 * OUTER : OUTER, part = weight * dt / (double)count;
        v3 next = midpoint(i, omega, part);
        *turn_by = turned_by(*turn_by, exponential(times(0.25 * part, plus(omega, next))));
        omega = next;
    }
    return omega;
}

/* The row of `mass` of a body that is turned by q. */
INLINE void world_mass(const struct solids *p, u32 k, v4 q)
{
    const double *s = solid_of(p, k);
    double *to = NUMBERS(p->posed.mass) + (u64)k * 8u;
    to[0] = s[0];
    to[1] = 0.0;
    if (s[SOLID_ROUND] != 0.0) {
        for (u32 n = 2u; n < 8u; n++)
            to[n] = n < 5u ? s[2] : 0.0;
        return;
    }
    v3 a[3], c[3];
    axes_of(q, a);
    /* I^-1 R', by columns of its transpose. */
    for (u32 n = 0; n < 3u; n++) {
        v3 row = n == 0u ? vec(a[0].x, a[1].x, a[2].x) : n == 1u ? vec(a[0].y, a[1].y, a[2].y) : vec(a[0].z, a[1].z, a[2].z);
        c[n] = to_world(a, turn(s, row));
    }
    to[2] = c[0].x;
    to[3] = c[1].y;
    to[4] = c[2].z;
    to[5] = 0.5 * (c[0].y + c[1].x);
    to[6] = 0.5 * (c[0].z + c[2].x);
    to[7] = 0.5 * (c[1].z + c[2].y);
}

/* Free velocities, where free turns lead, inertia in world axes, and how far points of a body come. */
KERNEL solids_predict(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.solids) {
                const double *s = solid_of(&p, k), *m = p.motion + (u64)k * 8u;
                v4 x = load4(p.place + (u64)k * 4u), q = load4(p.turn + (u64)k * 4u), by;
                v3 v = plus(xyz(load4(m)), times(p.h, vec(p.gx, p.gy, p.gz))), w = xyz(load4(m + 4)), axes[3];
                axes_of(q, axes);
                v3 own = to_body(axes, w);
                if (s[SOLID_ROUND] != 0.0)
                    by = exponential(times(0.5 * p.h, own));
                else {
                    own = free_rotation(s + 6, own, p.h, &by);
                    w = to_world(axes, own);
                }
                q = turned_by(q, by);
                store4(p.free + (u64)k * 8u, v, 0.0);
                store4(p.free + (u64)k * 8u + 4u, w, 0.0);
                store4(p.ahead + (u64)k * 4u, vec(q.x, q.y, q.z), q.w);
                store4(p.reach + (u64)k * 4u, xyz(x), x.w * (1.0 + p.h * length_of(w)));
                store4(p.still + (u64)k * 8u, vec(0.0, 0.0, 0.0), 0.0);
                store4(p.still + (u64)k * 8u + 4u, vec(0.0, 0.0, 0.0), 0.0);
                world_mass(&p, k, load4(p.turn + (u64)k * 4u));
            }
        }
    }
}

/* Boxes along the world's axes around bodies, where they are looked for. */
KERNEL solids_enclose(struct solids p)
{
    const double *turns = p.moving ? p.turn : p.turn_after;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.solids) {
                const double *s = solid_of(&p, k), *m = s + SOLID_MEASURES;
                u32 kind = (u32)s[SOLID_KIND];
                v3 a[3], out = vec(s[SOLID_RADIUS], s[SOLID_RADIUS], s[SOLID_RADIUS]);
                axes_of(load4(turns + (u64)k * 4u), a);
                if (kind == SHAPE_CAPSULE)
                    out = vec(m[0] + m[1] * absolute(a[2].x), m[0] + m[1] * absolute(a[2].y), m[0] + m[1] * absolute(a[2].z));
                if (kind == SHAPE_BOX)
                    out = vec(m[0] * absolute(a[0].x) + m[1] * absolute(a[1].x) + m[2] * absolute(a[2].x),
                              m[0] * absolute(a[0].y) + m[1] * absolute(a[1].y) + m[2] * absolute(a[2].y),
                              m[0] * absolute(a[0].z) + m[1] * absolute(a[1].z) + m[2] * absolute(a[2].z));
                store4(p.extent + (u64)k * 4u, out, 0.0);
            }
        }
    }
}

/* Inertia in world axes where bodies have come to. */
KERNEL solids_inertia(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.solids)
                world_mass(&p, k, load4(p.turn_after + (u64)k * 4u));
        }
    }
}

/* Positions follow velocities. What spins is kicked where the step began, and turns freely from there. */
KERNEL solids_integrate(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.solids) {
                const double *s = solid_of(&p, k);
                double *to = p.motion_after + (u64)k * 8u;
                v4 x = load4(p.place + (u64)k * 4u), q = load4(p.turn + (u64)k * 4u), by;
                v3 v = xyz(load4(to)), w = xyz(load4(to + 4)), axes[3];
                store4(p.place_after + (u64)k * 4u, plus(xyz(x), times(p.h, v)), x.w);
                axes_of(q, axes);
                if (s[SOLID_ROUND] != 0.0)
                    by = exponential(times(0.5 * p.h, to_body(axes, w)));
                else {
                    v3 kick = minus(w, xyz(load4(p.free + (u64)k * 8u + 4u)));
                    v3 own = to_body(axes, plus(xyz(load4(p.motion + (u64)k * 8u + 4u)), kick));
                    own = free_rotation(s + 6, own, p.h, &by);
                    axes_of(turned_by(q, by), axes);
                    store4(to + 4, to_world(axes, own), 0.0);
                }
                q = turned_by(q, by);
                store4(p.turn_after + (u64)k * 4u, vec(q.x, q.y, q.z), q.w);
            }
        }
    }
}
