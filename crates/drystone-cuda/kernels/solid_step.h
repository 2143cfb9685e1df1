/* The velocity and position problems of solids: posed from contacts in the form of data.h. */

INLINE u32 surface_of(const struct solids *p, u32 k)
{
    return (u32)(k & FIXED ? p->fixed[(u64)(k ^ FIXED) * FIXED_NUMBERS + 1u] : solid_of(p, k)[SOLID_SURFACE]);
}

/* The smaller inner radius of two bodies, or of a body and a fixed shape. */
INLINE double pair_size(const struct solids *p, u32 a, u32 b)
{
    double r = solid_of(p, a)[SOLID_INNER], s = b & FIXED ? p->fixed[(u64)(b ^ FIXED) * FIXED_NUMBERS + 2u] : solid_of(p, b)[SOLID_INNER];
    return s < r ? s : r;
}

/* I^-1 (r x z) x r of one side: what z does to its own velocity by rotation. */
INLINE v3 turned_part(const struct args *p, u32 body, v3 arm, v3 z)
{
    return cross(turn(p->mass + (u64)body * 8u, cross(arm, z)), arm);
}

/* What a multiplier of a contact by itself does to its relative velocity. */
CALLED v3 own_part(const struct args *p, u32 i, u32 j, v3 arm_a, v3 arm_b, v3 z)
{
    v3 out = plus(times(p->mass[(u64)i * 8u], z), turned_part(p, i, arm_a, z));
    if (j != WORLD)
        out = plus(out, plus(times(p->mass[(u64)j * 8u], z), turned_part(p, j, arm_b, z)));
    return out;
}

/* Compliance of a contact that asks for a motion, and what it shifts the bias by: `ask` of near.h with arms. `last` is the normal
 * multiplier of the last step. */
INLINE void ask_solid(const struct solids *p, u32 i, u32 j, v3 arm_a, v3 arm_b, v3 n, double bias, double mu, double last,
                      double *soft, double *shift)
{
    const struct args *q = &p->posed;
    double speed = bias < 0.0 ? -bias : 0.0;
    *soft = *shift = 0.0;
    if (!(speed > DUST * (1.0 + speed) && speed > p->tolerance && p->compliance > 0.0))
        return;
    v3 free = plus(relative(q->free, i, j, arm_a, arm_b), times(bias, n));
    *soft = p->compliance * dot(n, own_part(q, i, j, arm_a, arm_b, n)) * (speed / (speed + length_of(free)));
    double did = absolute(dot(relative(p->motion, i, j, arm_a, arm_b), n) + bias), about = last;
    did = did <= p->tolerance ? 1.0 : did < speed ? 1.0 - did / speed : 0.0;
    if (did < 1.0) {
        v3 z = vec(0.0, 0.0, 0.0), x = vec(1.0, 0.0, 0.0), y = vec(0.0, 1.0, 0.0), w = vec(0.0, 0.0, 1.0);
        double trace = own_part(q, i, j, arm_a, arm_b, x).x + own_part(q, i, j, arm_a, arm_b, y).y + own_part(q, i, j, arm_a, arm_b, w).z;
        ROLLED for (u32 k = 0; k < ALONE; k++) {
            v3 to = minus(z, times(1.0 / trace, plus(free, own_part(q, i, j, arm_a, arm_b, z))));
            double along = dot(to, n);
            z = project_parts(along, minus(to, times(along, n)), n, mu, 1.0);
        }
        about = did * last + (1.0 - did) * dot(z, n);
    }
    *shift = *soft * about;
}

/* The rows of a contact and its guess: what it had in the last step. */
INLINE void pose_solid(const struct solids *p, u32 c)
{
    const struct args *q = &p->posed;
    u32 pair = p->holder[c], a = p->owner[pair], b = p->other[pair], second = b & FIXED ? WORLD : b;
    const double *places = p->positions ? p->place_after : p->place;
    v4 touch = load4(p->touch + (u64)c * 4u);
    v3 n = xyz(load4(p->normal + (u64)c * 4u)), half = times(0.5 * touch.w, n), arm_b = vec(0.0, 0.0, 0.0);
    v3 arm_a = minus(plus(xyz(touch), half), xyz(load4(places + (u64)a * 4u))), x = vec(0.0, 0.0, 0.0);
    if (second != WORLD)
        arm_b = minus(minus(xyz(touch), half), xyz(load4(places + (u64)b * 4u)));
    double mu = 0.0, bias = touch.w;
    if (p->positions) {
        double most = -p->reach_share * pair_size(p, a, b);
        bias = bias < most ? most : bias;
    } else {
        mu = p->mu[(u64)surface_of(p, a) * p->surfaces + surface_of(p, b)];
        bias = (bias > 0.0 ? bias / p->h : 0.0) + p->arc[(u64)c * 2u] / p->h;
        u32 old = old_contact(p, old_pair(p, a, b), p->feature[c]);
        if (old != NO_CONTACT)
            x = xyz(load4(p->old_gamma + (u64)old * 4u));
        if (q->soft) {
            double soft, shift;
            ask_solid(p, a, second, arm_a, arm_b, n, bias, mu, dot(x, n), &soft, &shift);
            NUMBERS(q->soft)[(u64)c * 2u] = soft;
            NUMBERS(q->soft)[(u64)c * 2u + 1u] = 0.0;
            bias -= shift;
        }
        if (q->guess) {
            v3 t1, t2;
            double *guess = NUMBERS(q->guess) + (u64)c * 3u;
            frame(n, &t1, &t2);
            guess[0] = dot(n, x);
            guess[1] = dot(t1, x);
            guess[2] = dot(t2, x);
        }
    }
    store4(NUMBERS(q->normal) + (u64)c * 4u, n, bias);
    store4(NUMBERS(q->arm_a) + (u64)c * 4u, arm_a, mu);
    store4(q->arm_b + (u64)c * 4u, arm_b, 0.0);
    WORDS(q->sides)[(u64)c * 2u] = a;
    WORDS(q->sides)[(u64)c * 2u + 1u] = second;
}

KERNEL solids_pose(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            if (chunk * CHUNK + i < p.contacts)
                pose_solid(&p, chunk * CHUNK + i);
        }
    }
}

/* Bodies have their points alone. */
KERNEL solids_lists(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            if (chunk * CHUNK + i < p.solids)
                WORDS(p.posed.first_general)[chunk * CHUNK + i] = p.posed.first_entry[chunk * CHUNK + i + 1u];
        }
    }
}
