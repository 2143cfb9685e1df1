/* Manifolds, and the patch of two faces of boxes: `collide/narrowphase/{clip,manifold_reduction}.rs` of drystone, operation by
 * operation, which say why. The face that looks at the reference face is cut to its outline [SutherlandHodgman1974]; four corners
 * of what remains carry it. */

/* Points of a pair of shapes, at most. */
#define MOST_POINTS 4u

struct point {
    v3 at;        /* half-way between the surfaces */
    v3 normal;    /* from B to A */
    double gap;
    u32 feature;
};

struct manifold {
    struct point points[MOST_POINTS];
    u32 count;
    u32 known[MOST_POINTS], known_count; /* names of the last step's points */
};

/* A box in the world. */
struct cuboid {
    v3 centre, axes[3];
    double half[3];
};

#define ALONG_COS 0.9993908270190958
#define EDGE_RELATIVE 0.02
#define EDGE_ABSOLUTE 1e-4
#define FACE_TIE 1e-3
#define MEETING 1e-6
#define TOUCHING 1e-9
#define PATCH_RELATIVE 1e-3
#define PARALLEL 1e-20
#define SNAP 0.02
#define LEVEL 5e-4
#define GAP_NOISE 3e-5
#define LASTING 0.9
#define INFINITE 1e300

/* Names: as in the files above. */
#define REFERENCE_B (1u << 11)
#define NAME_FACE (1u << 12)
#define NAME_EDGE (2u << 12)
#define NAME_CLOSEST (3u << 12)
#define REFERENCE_CORNER (1u << 6)
#define NAME_CROSSING (2u << 6)
#define FACE_SHIFT 8u

INLINE double sign_of(double x)
{
    return x < 0.0 ? -1.0 : 1.0;
}

INLINE double smaller(double a, double b)
{
    return b < a ? b : a;
}

INLINE double within(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

INLINE double length_of(v3 a)
{
    return sqrt(dot(a, a));
}

INLINE u32 bit_of(double side, u32 k)
{
    return (side > 0.0 ? 1u : 0u) << k;
}

/* World coordinates of a vector in the frame of the box. */
INLINE v3 outward(const struct cuboid *c, double x, double y, double z)
{
    return plus(plus(times(x, c->axes[0]), times(y, c->axes[1])), times(z, c->axes[2]));
}

/* Half the width of the box along a unit vector. */
INLINE double width_along(const struct cuboid *c, v3 d)
{
    return c->half[0] * absolute(dot(d, c->axes[0])) + c->half[1] * absolute(dot(d, c->axes[1])) +
           c->half[2] * absolute(dot(d, c->axes[2]));
}

INLINE double smallest_half(const struct cuboid *c)
{
    return smaller(smaller(c->half[0], c->half[1]), c->half[2]);
}

INLINE int was_known(const struct manifold *m, u32 name)
{
    for (u32 k = 0; k < m->known_count; k++)
        if (m->known[k] == name)
            return 1;
    return 0;
}

INLINE void push_point(struct manifold *m, v3 on_a, v3 on_b, v3 normal, double gap, u32 feature)
{
    struct point *p = m->points + m->count;
    p->at = times(0.5, plus(on_a, on_b));
    p->normal = normal;
    p->gap = gap;
    p->feature = feature;
    m->count++;
}

/* Number of the edge of a box along an axis, on given sides of two others: 0 to 11. */
INLINE u32 edge_name(u32 along, u32 k1, double s1, double s2)
{
    double first = s1, second = s2;
    if ((along + 1u) % 3u != k1) {
        first = s2;
        second = s1;
    }
    return along * 4u + bit_of(first, 0u) + bit_of(second, 1u);
}

/* ---- four corners of a patch ---- */

struct corner {
    double u, v, height;
    u32 feature, before, after;
};

#define CORNERS 12u

struct patch {
    struct corner corners[CORNERS];
    u32 count;
    v3 middle, eu, ev, normal; /* middle of the reference face, its axes, and outward normal */
};

INLINE double twice_area(const struct corner *p, const struct corner *q, const struct corner *r)
{
    return (q->u - p->u) * (r->v - p->v) - (q->v - p->v) * (r->u - p->u);
}

INLINE double apart_squared(const struct corner *p, const struct corner *q)
{
    return (p->u - q->u) * (p->u - q->u) + (p->v - q->v) * (p->v - q->v);
}

/* Twice the area of the quadrilateral of four corners in any order, over two. */
INLINE double area_of_four(const struct corner *c, const u32 *k)
{
    double most = 0.0;
    for (u32 pair = 0; pair < 3u; pair++) {
        const struct corner *a = c + k[0], *b = c + k[pair + 1u];
        const struct corner *d = c + k[pair == 0u ? 2u : 1u], *e = c + k[pair == 2u ? 2u : 3u];
        /* (b - a) x (d' - c'), in the order of manifold_reduction.rs; the sign does not matter. */
        double x = (b->u - a->u) * (e->v - d->v) - (b->v - a->v) * (e->u - d->u);
        most = larger(most, absolute(x));
    }
    return 0.5 * most;
}

/* At most four of the corners of a patch, well spread, and the deepest gap among them. */
CALLED void choose_four(struct patch *p, const struct manifold *m, u32 name)
{
    struct corner *c = p->corners;
    u32 n = p->count, deepest = 0u, outermost = 0u, known[MOST_POINTS], known_count = 0u, four[4];
    double most = c[0].height, extent = 0.0, best;
    for (u32 i = 1; i < n; i++) {
        if (c[i].height < c[deepest].height)
            deepest = i;
        most = larger(most, c[i].height);
        if (0.955 * c[i].u + 0.296 * c[i].v > 0.955 * c[outermost].u + 0.296 * c[outermost].v)
            outermost = i;
    }
    for (u32 i = 0; i < n; i++) {
        extent = larger(extent, apart_squared(c + i, c + outermost));
        if (was_known(m, name | c[i].feature)) {
            if (known_count < MOST_POINTS)
                known[known_count] = i;
            known_count++;
        }
    }
    extent = sqrt(extent);
    int level = most - c[deepest].height <= LEVEL * extent;
    four[0] = level ? outermost : deepest;
    four[1] = four[2] = four[3] = 0u;
    best = -INFINITE;
    for (u32 i = 0; i < n; i++) {
        double s = apart_squared(c + i, c + four[0]);
        if (s > best) {
            best = s;
            four[1] = i;
        }
    }
    best = -INFINITE;
    for (u32 i = 0; i < n; i++) {
        double t = twice_area(c + four[0], c + four[1], c + i), s = larger(t, -0.95 * t);
        if (s > best) {
            best = s;
            four[2] = i;
        }
    }
    double turn = sign_of(twice_area(c + four[0], c + four[1], c + four[2]));
    best = -INFINITE;
    for (u32 i = 0; i < n; i++) {
        double s = turn * twice_area(c + four[0], c + four[1], c + i);
        s = smaller(s, turn * twice_area(c + four[1], c + four[2], c + i));
        s = -smaller(s, turn * twice_area(c + four[2], c + four[0], c + i));
        if (s > best) {
            best = s;
            four[3] = i;
        }
    }
    if (known_count == MOST_POINTS) {
        int deep = level;
        for (u32 i = 0; i < 4u; i++)
            deep = deep || c[known[i]].height <= c[deepest].height + GAP_NOISE * extent;
        if (deep && area_of_four(c, known) >= LASTING * area_of_four(c, four))
            for (u32 i = 0; i < 4u; i++)
                four[i] = known[i];
    }
    struct corner picks[4];
    u32 at[4], count = 0u;
    int has_deepest = 0;
    for (u32 i = 0; i < 4u; i++) {
        int again = 0;
        for (u32 k = 0; k < i; k++)
            again = again || four[k] == four[i];
        has_deepest = has_deepest || four[i] == deepest;
        if (!again) {
            at[count] = four[i];
            picks[count++] = c[four[i]];
        }
    }
    if (!has_deepest) {
        u32 near = 0u;
        for (u32 k = 1; k < count; k++)
            if (apart_squared(c + at[k], c + deepest) < apart_squared(c + at[near], c + deepest))
                near = k;
        double gap = c[deepest].height;
        if (picks[near].height - gap > GAP_NOISE * extent) {
            picks[near].u = c[deepest].u;
            picks[near].v = c[deepest].v;
        }
        picks[near].height = smaller(picks[near].height, gap);
    }
    for (u32 k = 0; k < count; k++)
        c[k] = picks[k];
    p->count = count;
}

/* ---- the patch of two faces ---- */

INLINE double corner_place(const struct corner *c, u32 k)
{
    return k == 0u ? c->u : c->v;
}

/* Writes to `kept` what is on the inner side of a line. Returns 0, and nothing is written, where that is all. */
INLINE int cut_once(const struct corner *from, u32 count, u32 k, double side, double limit, u32 label,
                    struct corner *kept, u32 *kept_count)
{
    int inside = 1;
    for (u32 i = 0; i < count; i++)
        inside = inside && side * corner_place(from + i, k) - limit <= 0.0;
    if (inside)
        return 0;
    *kept_count = 0u;
    if (count == 0u)
        return 1;
    struct corner last = from[count - 1u];
    double x0 = side * corner_place(&last, k) - limit;
    ROLLED for (u32 i = 0; i < count; i++) {
        struct corner to = from[i];
        double x1 = side * corner_place(&to, k) - limit;
        if ((x0 <= 0.0) != (x1 <= 0.0)) {
            double f = x0 / (x0 - x1);
            struct corner made;
            made.before = x0 <= 0.0 ? last.after : label;
            made.after = x0 <= 0.0 ? label : last.after;
            made.u = last.u + f * (to.u - last.u);
            made.v = last.v + f * (to.v - last.v);
            if (k == 0u)
                made.u = side * limit;
            else
                made.v = side * limit;
            made.height = last.height + f * (to.height - last.height);
            made.feature = 0u;
            if (*kept_count < CORNERS)
                kept[(*kept_count)++] = made;
        }
        if (x1 <= 0.0 && *kept_count < CORNERS)
            kept[(*kept_count)++] = to;
        last = to;
        x0 = x1;
    }
    return 1;
}

/* Cuts the face of `incident` that looks most squarely at the face `side axis` of `reference`; keeps corners within reach. */
CALLED void make_patch(struct patch *p, const struct cuboid *reference, u32 axis, double side, const struct cuboid *incident,
                       double reach)
{
    u32 ku = (axis + 1u) % 3u, kv = (axis + 2u) % 3u, m = 0u;
    v3 out = times(side, reference->axes[axis]);
    p->eu = reference->axes[ku];
    p->ev = reference->axes[kv];
    p->normal = out;
    p->middle = plus(reference->centre, times(reference->half[axis], out));
    double half[2] = {reference->half[ku], reference->half[kv]}, facing[3];
    for (u32 k = 0; k < 3u; k++)
        facing[k] = dot(out, incident->axes[k]);
    for (u32 k = 1; k < 3u; k++)
        if (absolute(facing[k]) > absolute(facing[m]))
            m = k;
    u32 m1 = (m + 1u) % 3u, m2 = (m + 2u) % 3u;
    double front = -sign_of(facing[m]);
    v3 centre = plus(minus(incident->centre, reference->centre), times(front * incident->half[m], incident->axes[m]));
    v3 w1 = times(incident->half[m1], incident->axes[m1]), w2 = times(incident->half[m2], incident->axes[m2]);
    double c[3] = {dot(centre, p->eu), dot(centre, p->ev), dot(centre, out)};
    double e1[3] = {dot(w1, p->eu), dot(w1, p->ev), dot(w1, out)}, e2[3] = {dot(w2, p->eu), dot(w2, p->ev), dot(w2, out)};
    struct corner face[4], other[CORNERS];
    int cut = 0;
    for (u32 i = 0; i < 4u; i++) {
        double s1 = i == 0u || i == 3u ? 1.0 : -1.0, s2 = i < 2u ? 1.0 : -1.0;
        struct corner *q = p->corners + i;
        q->u = c[0] + s1 * e1[0] + s2 * e2[0];
        q->v = c[1] + s1 * e1[1] + s2 * e2[1];
        q->height = c[2] + s1 * e1[2] + s2 * e2[2] - reference->half[axis];
        q->feature = bit_of(front, m) | bit_of(s1, m1) | bit_of(s2, m2);
        q->before = (i + 3u) % 4u;
        q->after = i;
        cut = cut || !(absolute(q->u) <= half[0] && absolute(q->v) <= half[1]);
        face[i] = *q;
    }
    p->count = 4u;
    if (cut) {
        struct corner *now = p->corners, *next = other;
        u32 count = 4u, cut_count = 0u;
        ROLLED for (u32 label = 4u; label < 8u; label++) {
            u32 k = label < 6u ? 0u : 1u;
            if (cut_once(now, count, k, label % 2u == 0u ? 1.0 : -1.0, half[k], label, next, &cut_count)) {
                struct corner *spare = now;
                now = next;
                next = spare;
                count = cut_count;
            }
        }
        if (now != p->corners)
            ROLLED for (u32 i = 0; i < count; i++)
                p->corners[i] = now[i];
        p->count = count;
        double near = SNAP * smaller(smaller(smaller(half[0], half[1]), incident->half[m1]), incident->half[m2]);
        ROLLED for (u32 i = 0; i < count; i++) {
            struct corner *q = p->corners + i;
            u32 own = 4u;
            for (u32 k = 4u; k > 0u; k--)
                if (apart_squared(face + k - 1u, q) <= near * near)
                    own = k - 1u;
            if (own < 4u)
                q->feature = face[own].feature;
            else if (half[0] - absolute(q->u) <= near && half[1] - absolute(q->v) <= near)
                q->feature = REFERENCE_CORNER | bit_of(q->u, 0u) | bit_of(q->v, 1u);
            else {
                u32 edge = q->before < 4u ? q->before : q->after, line = q->before < 4u ? q->after : q->before, name;
                if (edge == 0u)
                    name = edge_name(m1, m2, 1.0, front);
                else if (edge == 1u)
                    name = edge_name(m2, m1, -1.0, front);
                else if (edge == 2u)
                    name = edge_name(m1, m2, -1.0, front);
                else
                    name = edge_name(m2, m1, 1.0, front);
                q->feature = NAME_CROSSING | name << 2 | (line - 4u);
            }
        }
    }
    u32 face_name = (axis * 2u + (side > 0.0 ? 1u : 0u)) << FACE_SHIFT, kept = 0u;
    ROLLED for (u32 i = 0; i < p->count; i++) {
        struct corner q = p->corners[i];
        u32 same = kept;
        q.feature |= face_name;
        if (!(q.height <= reach))
            continue;
        for (u32 k = kept; k > 0u; k--)
            if (p->corners[k - 1u].feature == q.feature)
                same = k - 1u;
        if (same == kept)
            p->corners[kept++] = q;
        else if (q.height < p->corners[same].height)
            p->corners[same] = q;
    }
    p->count = kept;
}

INLINE double deepest_of(const struct patch *p)
{
    double least = INFINITE;
    for (u32 i = 0; i < p->count; i++)
        least = smaller(least, p->corners[i].height);
    return least;
}

/* At most four points of a patch, in the order of their names. */
CALLED void push_patch(struct patch *p, int reference_is_a, u32 name, struct manifold *m)
{
    if (p->count > MOST_POINTS)
        choose_four(p, m, name);
    ROLLED for (u32 i = 1; i < p->count; i++) {
        struct corner own = p->corners[i];
        u32 at = i;
        ROLLED while (at > 0u && p->corners[at - 1u].feature > own.feature) {
            p->corners[at] = p->corners[at - 1u];
            at--;
        }
        p->corners[at] = own;
    }
    ROLLED for (u32 i = 0; i < p->count; i++) {
        const struct corner *q = p->corners + i;
        v3 low = plus(plus(p->middle, times(q->u, p->eu)), times(q->v, p->ev));
        v3 high = plus(low, times(q->height, p->normal));
        v3 normal = reference_is_a ? times(-1.0, p->normal) : p->normal;
        push_point(m, reference_is_a ? low : high, reference_is_a ? high : low, normal, q->height, name | q->feature);
    }
}
