/* The points of two solids, and which of them count in a step: the rules of `collide/pair.rs` of drystone. */

/* A body or a fixed shape, where it is looked for. */
struct side {
    u32 kind;
    struct cuboid box;    /* its centre and axes, whatever it is; measures of a box or a capsule */
    double radius;        /* of a ball or a capsule */
    double bounding, inner;
    v3 v, w;              /* without contacts; 0 of what is fixed */
    u32 surface;
};

/* No end. */
#define ENDLESS 1e300

INLINE void load_side(const struct solids *p, const double *places, const double *turns, u32 k, struct side *out)
{
    if (k & FIXED) {
        const double *f = p->fixed + (u64)(k ^ FIXED) * FIXED_NUMBERS;
        out->kind = (u32)f[0];
        out->surface = (u32)f[1];
        out->inner = out->kind == SHAPE_HALF_SPACE ? ENDLESS : f[2];
        out->box.centre = v3_at(f + 3);
        for (u32 n = 0; n < 3u; n++) {
            out->box.axes[n] = v3_at(f + 6u + 3u * n);
            out->box.half[n] = f[15u + n];
        }
        out->radius = f[15];
        out->bounding = out->kind == SHAPE_SPHERE    ? f[15]
                        : out->kind == SHAPE_CAPSULE ? f[15] + f[16]
                        : out->kind == SHAPE_BOX     ? length_of(v3_at(f + 15))
                                                     : ENDLESS;
        out->v = out->w = vec(0.0, 0.0, 0.0);
        return;
    }
    const double *s = solid_of(p, k);
    out->kind = (u32)s[SOLID_KIND];
    out->surface = (u32)s[SOLID_SURFACE];
    out->inner = s[SOLID_INNER];
    out->bounding = s[SOLID_RADIUS];
    out->radius = s[SOLID_MEASURES];
    out->box.centre = xyz(load4(places + (u64)k * 4u));
    axes_of(load4(turns + (u64)k * 4u), out->box.axes);
    for (u32 n = 0; n < 3u; n++)
        out->box.half[n] = s[SOLID_MEASURES + n];
    out->v = out->w = vec(0.0, 0.0, 0.0);
    if (p->moving) {
        out->v = xyz(load4(p->free + (u64)k * 8u));
        out->w = xyz(load4(p->free + (u64)k * 8u + 4u));
    }
}

/* ---- points of two shapes ---- */

/* The corners of a box within reach of a plane. */
INLINE void box_plane(const struct cuboid *c, v3 origin, v3 up, double reach, struct manifold *m)
{
    double height = dot(minus(c->centre, origin), up), tilt[3], lift[3];
    u32 count = 0u, face = 0u;
    for (u32 k = 0; k < 3u; k++) {
        tilt[k] = dot(up, c->axes[k]);
        lift[k] = tilt[k] * c->half[k];
    }
    if (height - absolute(lift[0]) - absolute(lift[1]) - absolute(lift[2]) > reach)
        return;
    for (u32 k = 1; k < 3u; k++)
        if (absolute(tilt[k]) > absolute(tilt[face]))
            face = k;
#define CORNER_GAP(n)                                                                                                  \
    (height + ((n) & 1u ? 1.0 : -1.0) * lift[0] + ((n) & 2u ? 1.0 : -1.0) * lift[1] + ((n) & 4u ? 1.0 : -1.0) * lift[2])
    for (u32 n = 0; n < 8u; n++)
        count += CORNER_GAP(n) <= reach;
    ROLLED for (u32 n = 0; n < 8u; n++) {
        double side = (n >> face) & 1u ? 1.0 : -1.0, gap = CORNER_GAP(n);
        if ((count <= MOST_POINTS || side == -sign_of(tilt[face])) && gap <= reach) {
            v3 on = plus(c->centre, outward(c, n & 1u ? c->half[0] : -c->half[0], n & 2u ? c->half[1] : -c->half[1],
                                            n & 4u ? c->half[2] : -c->half[2]));
            push_point(m, on, minus(on, times(gap, up)), up, gap, n);
        }
    }
#undef CORNER_GAP
}

/* A ball, which is A, and a box. */
INLINE void ball_box(v3 centre, double radius, const struct cuboid *c, double reach, struct manifold *m)
{
    v3 d = minus(centre, c->centre), normal;
    double p[3], nearest[3], beyond[3], distance;
    for (u32 k = 0; k < 3u; k++) {
        p[k] = dot(d, c->axes[k]);
        nearest[k] = within(p[k], -c->half[k], c->half[k]);
        beyond[k] = p[k] - nearest[k];
    }
    double squared = beyond[0] * beyond[0] + beyond[1] * beyond[1] + beyond[2] * beyond[2];
    if (squared > 1e-280) {
        distance = sqrt(squared);
        normal = outward(c, beyond[0], beyond[1], beyond[2]);
        normal = vec(normal.x / distance, normal.y / distance, normal.z / distance);
    } else {
        u32 face = 0u;
        for (u32 k = 1; k < 3u; k++)
            if (absolute(p[k]) - c->half[k] > absolute(p[face]) - c->half[face])
                face = k;
        distance = absolute(p[face]) - c->half[face];
        normal = times(sign_of(p[face]), c->axes[face]);
        nearest[face] = c->half[face] * sign_of(p[face]);
    }
    if (distance - radius <= reach)
        push_point(m, minus(centre, times(radius, normal)),
                   plus(c->centre, outward(c, nearest[0], nearest[1], nearest[2])), normal, distance - radius, 0u);
}

INLINE void flip(struct manifold *m)
{
    for (u32 k = 0; k < m->count; k++)
        m->points[k].normal = times(-1.0, m->points[k].normal);
}

/* Whether box a comes before box b, so that nothing depends on who is called A. */
INLINE int in_order(const struct cuboid *a, const struct cuboid *b)
{
    for (u32 k = 0; k < 3u; k++)
        if (a->half[k] != b->half[k])
            return a->half[k] > b->half[k];
    double skew = dot(minus(a->centre, b->centre), vec(0.5377, 0.2113, 0.8162));
    if (skew != 0.0)
        return skew > 0.0;
    if (a->centre.x != b->centre.x)
        return a->centre.x > b->centre.x;
    if (a->centre.y != b->centre.y)
        return a->centre.y > b->centre.y;
    return a->centre.z >= b->centre.z;
}

/* The points of two shapes up to a gap; the first one moves. */
CALLED void points_of(const struct side *a, const struct side *b, double reach, struct manifold *m)
{
    const struct side *first = a, *second = b;
    m->count = 0u;
    /* Balls come before capsules, those before boxes, those before planes: so are the functions below written. */
#define RANK_OF(s) ((s)->kind == SHAPE_SPHERE ? 0u : (s)->kind == SHAPE_CAPSULE ? 1u : (s)->kind == SHAPE_BOX ? 2u : 3u)
    int turned = RANK_OF(a) > RANK_OF(b) ||
                 (RANK_OF(a) == RANK_OF(b) && a->kind != SHAPE_SPHERE && !in_order(&a->box, &b->box));
#undef RANK_OF
    if (turned) {
        first = b;
        second = a;
    }
    if (first->kind == SHAPE_SPHERE && (second->kind == SHAPE_SPHERE || second->kind == SHAPE_HALF_SPACE)) {
        v3 x = first->box.centre;
        struct distance d;
        if (second->kind == SHAPE_SPHERE)
            d = ball_ball(x, first->radius, second->box.centre, second->radius);
        else {
            d.normal = second->box.axes[2];
            d.gap = dot(minus(x, second->box.centre), d.normal) - first->radius;
        }
        if (d.gap <= reach) {
            v3 on = minus(x, times(first->radius, d.normal));
            push_point(m, on, minus(on, times(d.gap, d.normal)), d.normal, d.gap, 0u);
        }
    } else if (first->kind == SHAPE_SPHERE && second->kind == SHAPE_CAPSULE)
        ball_capsule(first->box.centre, first->radius, &second->box, reach, m);
    else if (first->kind == SHAPE_SPHERE)
        ball_box(first->box.centre, first->radius, &second->box, reach, m);
    else if (first->kind == SHAPE_CAPSULE && second->kind == SHAPE_CAPSULE)
        capsule_capsule(&first->box, &second->box, reach, m);
    else if (first->kind == SHAPE_CAPSULE && second->kind == SHAPE_BOX)
        capsule_box(&first->box, &second->box, reach, m);
    else if (first->kind == SHAPE_CAPSULE)
        capsule_plane(&first->box, second->box.centre, second->box.axes[2], reach, m);
    else if (second->kind == SHAPE_HALF_SPACE)
        box_plane(&first->box, second->box.centre, second->box.axes[2], reach, m);
    else
        box_box(&first->box, &second->box, reach, m);
    if (turned)
        flip(m);
}

/* ---- which of them count in this step ---- */

/* How two sides move to each other in the step. */
struct approach {
    v3 way;
    double spin, mu, near, size;
};

/* Speed of the surface of a side near the other by rotation alone, at most. */
INLINE double spin_near(const struct side *a, const struct side *b)
{
    double w = length_of(a->w);
    if (w == 0.0)
        return 0.0;
    return w * smaller(a->bounding, length_of(minus(a->box.centre, b->box.centre)) + b->bounding);
}

INLINE struct approach approach_of(const struct solids *p, const struct side *a, const struct side *b, double more)
{
    struct approach out;
    out.way = times(p->h, minus(a->v, b->v));
    out.spin = p->h * (spin_near(a, b) + spin_near(b, a));
    out.mu = p->mu[(u64)a->surface * p->surfaces + b->surface];
    out.size = smaller(a->inner, b->inner);
    out.near = p->base + p->share * out.size + more;
    return out;
}

INLINE double hover_of(const struct approach *x)
{
    return smaller(x->mu * (length_of(x->way) + x->spin), x->size);
}

INLINE double least_gap(const struct manifold *m)
{
    double least = ENDLESS;
    for (u32 k = 0; k < m->count; k++)
        least = smaller(least, m->points[k].gap);
    return least;
}

/* Advances after which shapes that are still not past each other are taken to meet. */
#define MOST_ADVANCES 32u

/* Whether two shapes at a distance never come within reach of a contact on the straight way of the step. */
INLINE int flies_past(const struct side *a, const struct side *b, double gap, const struct approach *x)
{
    double near = x->near + hover_of(x) + x->spin, length = length_of(x->way), gone = 0.0;
    struct side moved = *a;
    struct manifold m;
    m.known_count = 0u;
    ROLLED for (u32 n = 0; n < MOST_ADVANCES; n++) {
        if (gap <= near + 1e-3 * x->size)
            return 0;
        gone += gap - near;
        if (gone >= length)
            return 1;
        moved.box.centre = plus(a->box.centre, times(gone / length, x->way));
        points_of(&moved, b, ENDLESS, &m);
        gap = least_gap(&m);
    }
    return 0;
}

INLINE v3 velocity_of(const struct side *s, v3 at)
{
    return plus(s->v, cross(s->w, minus(at, s->box.centre)));
}

/* How far points of a side that turns may be from their tangents at the end of the step, at most. */
INLINE double bend_of(const struct solids *p, const struct side *a, const struct side *b)
{
    return a->kind == SHAPE_SPHERE ? 0.0 : 0.5 * p->h * p->h * length_of(a->w) * spin_near(a, b);
}

/* Whether two balls come within reach on their straight ways. */
INLINE int balls_meet(v3 apart, v3 way, double reach)
{
    double toward = -dot(apart, way), length = dot(way, way);
    if (dot(apart, apart) <= reach * reach)
        return 1;
    if (toward <= 0.0 || length == 0.0)
        return 0;
    double s = smaller(toward / length, 1.0);
    v3 nearest = plus(apart, times(s, way));
    return dot(nearest, nearest) <= reach * reach;
}

/* The points of two sides that count in the step. */
CALLED void meeting(const struct solids *p, const struct side *a, const struct side *b, const struct approach *x, struct manifold *m)
{
    u32 kept = 0u;
    if (a->kind == SHAPE_SPHERE && b->kind == SHAPE_SPHERE) {
        m->count = 0u;
        if (!balls_meet(minus(a->box.centre, b->box.centre), x->way, a->radius + b->radius + x->near + hover_of(x)))
            return;
        points_of(a, b, ENDLESS, m);
    } else {
        points_of(a, b, x->near + length_of(x->way) + x->spin + hover_of(x), m);
        double nearest = least_gap(m);
        if (nearest > x->near && nearest < ENDLESS && flies_past(a, b, nearest, x)) {
            m->count = 0u;
            return;
        }
    }
    ROLLED for (u32 k = 0; k < m->count; k++) {
        struct point q = m->points[k];
        if (q.gap > x->near) {
            v3 half = times(0.5 * q.gap, q.normal), u = minus(velocity_of(a, plus(q.at, half)), velocity_of(b, minus(q.at, half)));
            double along = dot(u, q.normal), slip = length_of(minus(u, times(along, q.normal)));
            double after = q.gap - x->near - smaller(p->h * (x->mu * slip), x->size);
            if (after > p->h * larger(-along, 0.0) && after > bend_of(p, a, b) + bend_of(p, b, a) - p->h * along)
                continue;
        }
        m->points[kept++] = q;
    }
    m->count = kept;
}
