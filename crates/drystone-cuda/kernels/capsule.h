/* Capsules against capsules and boxes: `collide/narrowphase/capsule.rs` of drystone, operation by operation, which says why.
 *
 * A capsule is kept as a cuboid: its axis is axes[2], its radius half[0], its half length half[1]. */

#define ALONG_SIN 0.03489949670250097
#define SAME_SIDE 0.9

/* A point between two cores. */
struct core_point {
    v3 on_a, on_b, normal;
    double gap;
    u32 feature;
};

/* Squared distance, at things of a size, below which rounding decides the direction. */
INLINE double vanishing(double size)
{
    return larger(1e-13 * size * (1e-13 * size), 1e-280);
}

/* The contact of the balls about two points. */
INLINE struct core_point between_balls(v3 pa, double ra, v3 pb, double rb, double least, v3 fallback, u32 feature)
{
    struct core_point out;
    v3 apart = minus(pa, pb);
    double square = dot(apart, apart), distance = sqrt(square);
    out.normal = square > least ? vec(apart.x / distance, apart.y / distance, apart.z / distance) : fallback;
    out.on_a = minus(pa, times(ra, out.normal));
    out.on_b = plus(pb, times(rb, out.normal));
    out.gap = distance - (ra + rb);
    out.feature = feature;
    return out;
}

INLINE void push_core(struct manifold *m, const struct core_point *p, double reach)
{
    if (p->gap <= reach)
        push_point(m, p->on_a, p->on_b, p->normal, p->gap, p->feature);
}

/* Two end points, and the closest point where they do not already say it. */
INLINE void push_stretch(struct manifold *m, int has_ends, const struct core_point *ends, const struct core_point *closest, double size,
                         double reach)
{
    double least = INFINITE;
    for (u32 k = 0; has_ends && k < 2u; k++) {
        if (ends[k].gap <= reach && dot(ends[k].normal, closest->normal) > SAME_SIDE) {
            least = smaller(least, ends[k].gap);
            push_core(m, ends + k, reach);
        }
    }
    if (closest->gap < least - 1e-12 * size)
        push_core(m, closest, reach);
}

/* A ball, which is A, and a capsule. */
INLINE void ball_capsule(v3 centre, double radius, const struct cuboid *c, double reach, struct manifold *m)
{
    v3 across, other, axis = c->axes[2];
    double along = within(dot(minus(centre, c->centre), axis), -c->half[1], c->half[1]);
    frame(axis, &other, &across);
    struct core_point p =
        between_balls(centre, radius, plus(c->centre, times(along, axis)), c->half[0], vanishing(radius + c->half[0]), across, 0u);
    push_core(m, &p, reach);
}

/* Both ends of the core over a plane. */
INLINE void capsule_plane(const struct cuboid *c, v3 origin, v3 up, double reach, struct manifold *m)
{
    v3 half = times(c->half[1], c->axes[2]);
    for (u32 k = 0; k < (c->half[1] == 0.0 ? 1u : 2u); k++) {
        v3 end = c->half[1] == 0.0 ? c->centre : k == 0u ? minus(c->centre, half) : plus(c->centre, half);
        double height = dot(minus(end, origin), up);
        if (height - c->half[0] <= reach)
            push_point(m, minus(end, times(c->half[0], up)), minus(end, times(height, up)), up, height - c->half[0], k);
    }
}

/* Two capsules, given in canonical order. */
CALLED void capsule_capsule(const struct cuboid *a, const struct cuboid *b, double reach, struct manifold *m)
{
    v3 u = times(a->half[1], a->axes[2]), v = times(b->half[1], b->axes[2]), across = cross(a->axes[2], b->axes[2]), fallback, other;
    double s, t, sine = dot(across, across), ra = a->half[0], rb = b->half[0];
    double least = vanishing(ra + rb + a->half[1] + b->half[1]);
    segment_segment(a->centre, u, b->centre, v, &s, &t);
    if (sine > 1e-24) {
        double length = sqrt(sine);
        fallback = times(sign_of(dot(across, minus(a->centre, b->centre))), vec(across.x / length, across.y / length, across.z / length));
    } else
        frame(a->axes[2], &other, &fallback);
    struct core_point closest =
        between_balls(plus(a->centre, times(s, u)), ra, plus(b->centre, times(t, v)), rb, least, fallback, 2u), ends[2];
    if (closest.gap > reach)
        return;
    int has_ends = 0;
    ends[0] = ends[1] = closest;
    if (sine < ALONG_SIN * ALONG_SIN) {
        double middle = dot(minus(b->centre, a->centre), a->axes[2]), extent = absolute(b->half[1] * dot(b->axes[2], a->axes[2]));
        double from = larger(middle - extent, -a->half[1]), to = smaller(middle + extent, a->half[1]);
        has_ends = from < to;
        for (u32 k = 0; has_ends && k < 2u; k++) {
            v3 pa = plus(a->centre, times(k == 0u ? from : to, a->axes[2]));
            double along = within(dot(minus(pa, b->centre), b->axes[2]), -b->half[1], b->half[1]);
            ends[k] = between_balls(pa, ra, plus(b->centre, times(along, b->axes[2])), rb, least, fallback, k);
        }
    }
    push_stretch(m, has_ends, ends, &closest, ra + rb, reach);
}

/* ---- a capsule, which is A, and a box ---- */

/* The capsule as the box sees it: centre, axis and half vector of the core in the frame of the box. */
struct box_view {
    const struct cuboid *capsule, *box;
    double centre[3], axis[3], half[3];
};

/* From the nearest point of the box to the core point at t; returns its length. */
INLINE double beyond_box(const struct box_view *x, double t, double *d)
{
    for (u32 k = 0; k < 3u; k++) {
        double p = x->centre[k] + t * x->half[k];
        d[k] = p - within(p, -x->box->half[k], x->box->half[k]);
    }
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

INLINE double slope_to_box(const struct box_view *x, double t)
{
    double g = 0.0;
    for (u32 k = 0; k < 3u; k++) {
        double p = x->centre[k] + t * x->half[k];
        g += x->half[k] * (p - within(p, -x->box->half[k], x->box->half[k]));
    }
    return g;
}

/* The parameter of the point of the core closest to the box: the first zero of a slope that is piecewise linear. */
INLINE double closest_to_box(const struct box_view *x)
{
    double knots[7], t0 = -1.0, g0 = slope_to_box(x, -1.0);
    u32 count = 0u;
    if (g0 >= 0.0)
        return t0;
    for (u32 n = 0; n < 6u; n++) {
        double plane = n % 2u == 0u ? -x->box->half[n / 2u] : x->box->half[n / 2u], t = (plane - x->centre[n / 2u]) / x->half[n / 2u];
        if (absolute(t) < 1.0) {
            u32 at = count++;
            ROLLED while (at > 0u && knots[at - 1u] > t) {
                knots[at] = knots[at - 1u];
                at--;
            }
            knots[at] = t;
        }
    }
    knots[count++] = 1.0;
    ROLLED for (u32 n = 0; n < count; n++) {
        double t1 = knots[n], g1 = slope_to_box(x, t1);
        if (g1 >= 0.0)
            return within(t0 - (t1 - t0) * g0 / (g1 - g0), t0, t1);
        t0 = t1;
        g0 = g1;
    }
    return 1.0;
}

/* Cuts a range of t to the part of the core between the box's planes across axis k, `slack` further out; 0 where there is none. */
INLINE int cut_stretch(const struct box_view *x, u32 k, double slack, double *from, double *to)
{
    double c = x->centre[k], e = x->half[k], h = x->box->half[k] + slack;
    if (e == 0.0)
        return absolute(c) <= h;
    double t0 = (-h - c) / e, t1 = (h - c) / e;
    *from = larger(*from, smaller(t0, t1));
    *to = smaller(*to, larger(t0, t1));
    return 1;
}

INLINE v3 core_at(const struct box_view *x, double t)
{
    return plus(x->capsule->centre, times(t, times(x->capsule->half[1], x->capsule->axes[2])));
}

INLINE struct core_point on_capsule(const struct box_view *x, v3 core, v3 on_box, v3 normal, double height, u32 feature)
{
    struct core_point out;
    out.on_a = minus(core, times(x->capsule->half[0], normal));
    out.on_b = on_box;
    out.normal = normal;
    out.gap = height - x->capsule->half[0];
    out.feature = feature;
    return out;
}

/* The contact of a core point outside the box. */
INLINE struct core_point outside_box(const struct box_view *x, double t, u32 feature)
{
    double d[3], distance = beyond_box(x, t, d);
    v3 out = outward(x->box, d[0], d[1], d[2]), core = core_at(x, t);
    return on_capsule(x, core, minus(core, out), vec(out.x / distance, out.y / distance, out.z / distance), distance, feature);
}

/* The contact of a core point with the plane of a face. */
INLINE struct core_point through_face(const struct box_view *x, u32 k, double side, double t, u32 feature)
{
    double height = side * (x->centre[k] + t * x->half[k]) - x->box->half[k];
    v3 core = core_at(x, t), normal = times(side, x->box->axes[k]);
    return on_capsule(x, core, minus(core, times(height, normal)), normal, height, feature);
}

/* The core touches or crosses the box: out by the least deep of three faces and three directions across core and edge. */
INLINE void core_inside(const struct box_view *x, double inside, double size, double reach, struct manifold *m)
{
    const double *h = x->box->half;
    u32 face = 0u, edge = 3u;
    double highest, edge_1 = 0.0, edge_2 = 0.0, from = -1.0, to = 1.0;
    struct core_point p;
#define FACE_HEIGHT(k) (absolute(x->centre[k]) - h[k] - absolute(x->half[k]))
    for (u32 k = 1; k < 3u; k++)
        if (FACE_HEIGHT(k) > FACE_HEIGHT(face))
            face = k;
    highest = FACE_HEIGHT(face) + 1e-9 * size;
#undef FACE_HEIGHT
    for (u32 k = 0; k < 3u; k++) {
        u32 k1 = (k + 1u) % 3u, k2 = (k + 2u) % 3u;
        double m1 = x->axis[k2], m2 = -x->axis[k1], length = sqrt(m1 * m1 + m2 * m2);
        if (length < 1e-6)
            continue;
        double place = (x->centre[k1] * m1 + x->centre[k2] * m2) / length;
        double apart = absolute(place) - (h[k1] * absolute(m1) + h[k2] * absolute(m2)) / length;
        if (apart > highest) {
            highest = apart;
            edge = k;
            edge_1 = m1 * (sign_of(place) / length);
            edge_2 = m2 * (sign_of(place) / length);
        }
    }
    if (edge < 3u) {
        u32 k1 = (edge + 1u) % 3u, k2 = (edge + 2u) % 3u;
        double corner[3] = {0.0, 0.0, 0.0}, s, t;
        corner[k1] = h[k1] * sign_of(edge_1);
        corner[k2] = h[k2] * sign_of(edge_2);
        v3 u = times(x->capsule->half[1], x->capsule->axes[2]), v = times(h[edge], x->box->axes[edge]);
        v3 q = plus(x->box->centre, outward(x->box, corner[0], corner[1], corner[2]));
        segment_segment(x->capsule->centre, u, q, v, &s, &t);
        v3 normal = plus(times(edge_1, x->box->axes[k1]), times(edge_2, x->box->axes[k2]));
        p = on_capsule(x, plus(x->capsule->centre, times(s, u)), plus(q, times(t, v)), normal, highest, 2u);
        push_core(m, &p, reach);
        return;
    }
    double side = sign_of(x->centre[face]), slack = 1e-12 * size;
    int there = cut_stretch(x, (face + 1u) % 3u, slack, &from, &to) && cut_stretch(x, (face + 2u) % 3u, slack, &from, &to);
    if (!(there && from <= to))
        from = to = inside;
    if (absolute(x->axis[face]) < ALONG_SIN && from < to) {
        p = through_face(x, face, side, from, 0u);
        push_core(m, &p, reach);
        p = through_face(x, face, side, to, 1u);
    } else
        p = through_face(x, face, side, side * x->half[face] > 0.0 ? from : to, 2u);
    push_core(m, &p, reach);
}

CALLED void capsule_box(const struct cuboid *capsule, const struct cuboid *box, double reach, struct manifold *m)
{
    struct box_view x;
    v3 apart = minus(capsule->centre, box->centre);
    double normal[3], d[3], from = -1.0, to = 1.0;
    x.capsule = capsule;
    x.box = box;
    for (u32 k = 0; k < 3u; k++) {
        x.centre[k] = dot(apart, box->axes[k]);
        x.axis[k] = dot(capsule->axes[2], box->axes[k]);
        x.half[k] = x.axis[k] * capsule->half[1];
    }
    double t = closest_to_box(&x), distance = beyond_box(&x, t, normal);
    if (distance - capsule->half[0] > reach)
        return;
    double size = capsule->half[0] + capsule->half[1] + smallest_half(box);
    if (distance <= 1e-12 * size) {
        core_inside(&x, t, size, reach, m);
        return;
    }
    int along = 0;
    for (u32 k = 0; k < 3u; k++)
        normal[k] /= distance;
    for (u32 k = 0; k < 3u; k++) {
        u32 k1 = (k + 1u) % 3u, k2 = (k + 2u) % 3u;
        double a = -1.0, b = 1.0;
        int is_face = absolute(normal[k]) > ALONG_COS && absolute(x.axis[k]) < ALONG_SIN;
        int is_edge = absolute(x.axis[k]) > ALONG_COS && absolute(normal[k]) < ALONG_SIN &&
                      larger(absolute(normal[k1]), absolute(normal[k2])) < ALONG_COS;
        if (is_face)
            along = cut_stretch(&x, k1, 0.0, &a, &b) && cut_stretch(&x, k2, 0.0, &a, &b) && a <= b;
        else if (is_edge)
            along = cut_stretch(&x, k, 0.0, &a, &b) && a <= b;
        if (is_face || is_edge) {
            from = a;
            to = b;
        }
    }
    struct core_point ends[2], closest = outside_box(&x, t, 2u);
    along = along && from < to;
    ends[0] = along ? outside_box(&x, from, 0u) : closest;
    ends[1] = along ? outside_box(&x, to, 1u) : closest;
    push_stretch(m, along, ends, &closest, capsule->half[0], reach);
    for (u32 k = 0; !along && k < 2u; k++) {
        double end = k == 0u ? -1.0 : 1.0;
        if (absolute(end - t) > 1e-9 && beyond_box(&x, end, d) > 1e-12 * size) {
            struct core_point p = outside_box(&x, end, 3u + k);
            push_core(m, &p, reach);
        }
    }
}
