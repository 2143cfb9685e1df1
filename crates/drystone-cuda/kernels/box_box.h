/* Box against box: `collide/narrowphase/{box_box,closest}.rs` of drystone, operation by operation, which say why.
 *
 * 1. Separating axes: 3 + 3 face normals and 9 cross products of edges [GottschalkLinManocha1996].
 * 2. Where a face is the best axis, the patch of the two faces.
 * 3. Otherwise one point: two edges in overlap, the closest points at a distance. */

/* ---- closest points ---- */

/* The parameters of the closest points of the segments p + s u and q + t v, s and t from -1 to 1. */
CALLED void segment_segment(v3 p, v3 u, v3 q, v3 v, double *best_s, double *best_t)
{
    v3 r = minus(p, q), across = cross(u, v);
    double uu = dot(u, u), vv = dot(v, v), uv = dot(u, v), ur = dot(u, r), vr = dot(v, r), determinant = dot(across, across);
#define FOOT_T(s) (vv > 0.0 ? within((vr + (s) * uv) / vv, -1.0, 1.0) : 0.0)
#define FOOT_S(t) (uu > 0.0 ? within(((t) * uv - ur) / uu, -1.0, 1.0) : 0.0)
    double bs = 0.0, bt = FOOT_T(0.0);
    v3 d = minus(plus(r, times(bs, u)), times(bt, v));
    double least = dot(d, d);
    if (determinant > 0.0) {
        int slanted = determinant > 1e-8 * uu * vv;
        double s, t;
        if (slanted) {
            s = (uv * vr - ur * vv) / determinant;
            t = (uu * vr - uv * ur) / determinant;
        } else {
            s = -dot(cross(r, v), across) / determinant;
            t = -dot(cross(r, u), across) / determinant;
        }
        if (absolute(s) <= 1.0 && absolute(t) <= 1.0) {
            t = FOOT_T(s);
            if (slanted) {
                *best_s = s;
                *best_t = t;
                return;
            }
            d = minus(plus(r, times(s, u)), times(t, v));
            if (dot(d, d) < least) {
                least = dot(d, d);
                bs = s;
                bt = t;
            }
        }
    }
    ROLLED for (u32 k = 0; k < 4u; k++) {
        double end = k < 2u ? -1.0 : 1.0, s = k % 2u == 0u ? end : FOOT_S(end), t = k % 2u == 0u ? FOOT_T(end) : end;
        d = minus(plus(r, times(s, u)), times(t, v));
        if (dot(d, d) < least) {
            least = dot(d, d);
            bs = s;
            bt = t;
        }
    }
#undef FOOT_T
#undef FOOT_S
    *best_s = bs;
    *best_t = bt;
}

/* Whether edge k (of four) along an axis is furthest along a direction, up to rounding; its middle. */
INLINE int supporting_edge(const struct cuboid *c, u32 axis, v3 direction, u32 k, v3 *middle)
{
    u32 k1 = (axis + 1u) % 3u, k2 = (axis + 2u) % 3u;
    double s1 = k < 2u ? -1.0 : 1.0, s2 = k % 2u == 0u ? -1.0 : 1.0;
    if (!(dot(direction, c->axes[k1]) * s1 > -1e-6 && dot(direction, c->axes[k2]) * s2 > -1e-6))
        return 0;
    *middle = plus(c->centre, plus(times(s1 * c->half[k1], c->axes[k1]), times(s2 * c->half[k2], c->axes[k2])));
    return 1;
}

/* The corner of `from` nearest to the box `to`; returns the squared distance. */
INLINE double nearest_corner(const struct cuboid *from, const struct cuboid *to, v3 offset, v3 *at)
{
    double c[3], e[3][3], best = INFINITE;
    u32 found = 0u;
    for (u32 i = 0; i < 3u; i++) {
        c[i] = dot(offset, to->axes[i]);
        for (u32 k = 0; k < 3u; k++)
            e[k][i] = dot(times(from->half[k], from->axes[k]), to->axes[i]);
    }
    ROLLED for (u32 corner = 0; corner < 8u; corner++) {
        double squared = 0.0;
        for (u32 i = 0; i < 3u; i++) {
            double x = c[i] + (corner & 1u ? e[0][i] : -e[0][i]) + (corner & 2u ? e[1][i] : -e[1][i]) +
                       (corner & 4u ? e[2][i] : -e[2][i]);
            double beyond = larger(absolute(x) - to->half[i], 0.0);
            squared += beyond * beyond;
        }
        if (squared < best) {
            best = squared;
            found = corner;
        }
    }
    *at = plus(from->centre, outward(from, found & 1u ? from->half[0] : -from->half[0], found & 2u ? from->half[1] : -from->half[1],
                                     found & 4u ? from->half[2] : -from->half[2]));
    return best;
}

/* The point of the box nearest to a point. */
INLINE v3 clamped_to(const struct cuboid *c, v3 point)
{
    v3 d = minus(point, c->centre);
    double p[3];
    for (u32 k = 0; k < 3u; k++)
        p[k] = within(dot(d, c->axes[k]), -c->half[k], c->half[k]);
    return plus(c->centre, outward(c, p[0], p[1], p[2]));
}

/* The middle of the edge along an axis nearest to a point of the surface. */
INLINE v3 edge_by(const struct cuboid *c, u32 axis, v3 point)
{
    v3 d = minus(point, c->centre);
    double p[3];
    for (u32 k = 0; k < 3u; k++)
        p[k] = k == axis ? 0.0 : sign_of(dot(d, c->axes[k])) * c->half[k];
    return plus(c->centre, outward(c, p[0], p[1], p[2]));
}

/* The closest points of two disjoint boxes that no axis separates by more than `separation`. */
CALLED void closest_of_boxes(const struct cuboid *a, const struct cuboid *b, double separation, v3 *on_a, v3 *on_b)
{
    v3 apart = minus(a->centre, b->centre), corner;
    double best = nearest_corner(a, b, apart, &corner), s, t;
    *on_a = corner;
    *on_b = clamped_to(b, corner);
    double other = nearest_corner(b, a, times(-1.0, apart), &corner);
    if (other < best) {
        best = other;
        *on_a = clamped_to(a, corner);
        *on_b = corner;
    }
    double enough = separation - 1e-9 * (smallest_half(a) + smallest_half(b));
    ROLLED for (u32 pair = 0; pair < 9u; pair++) {
        u32 i = pair / 3u, j = pair % 3u;
        v3 across = cross(a->axes[i], b->axes[j]), p, q, d;
        v3 u = times(a->half[i], a->axes[i]), v = times(b->half[j], b->axes[j]);
        double squared = dot(across, across);
        if (squared < PARALLEL)
            continue;
        if (squared < 1e-12) {
            p = edge_by(a, i, *on_a);
            q = edge_by(b, j, *on_b);
            segment_segment(p, u, q, v, &s, &t);
            p = plus(p, times(s, u));
            q = plus(q, times(t, v));
            d = minus(p, q);
            if (dot(d, d) < best) {
                best = dot(d, d);
                *on_a = p;
                *on_b = q;
            }
            continue;
        }
        double inverse = sqrt(squared);
        v3 normal = times(sign_of(dot(across, apart)), vec(across.x / inverse, across.y / inverse, across.z / inverse));
        if (dot(normal, apart) - width_along(a, normal) - width_along(b, normal) < enough)
            continue;
        ROLLED for (u32 k = 0; k < 16u; k++) {
            if (!supporting_edge(a, i, times(-1.0, normal), k / 4u, &p) || !supporting_edge(b, j, normal, k % 4u, &q))
                continue;
            segment_segment(p, u, q, v, &s, &t);
            p = plus(p, times(s, u));
            q = plus(q, times(t, v));
            d = minus(p, q);
            if (dot(d, d) < best) {
                best = dot(d, d);
                *on_a = p;
                *on_b = q;
            }
        }
    }
}

/* ---- separating axes ---- */

struct facing {
    double separation, side;
    u32 axis;
};

struct axes {
    struct facing a, b;
    int has_edges; /* the best pair of edges separates better than any face */
    double separation;
    u32 edge_a, edge_b;
    v3 normal;
};

INLINE double best_face(const struct axes *x)
{
    return larger(x->a.separation, x->b.separation);
}

INLINE double separation_of(const struct axes *x)
{
    return x->has_edges ? x->separation : best_face(x);
}

/* The normal of the best axis, from B to A. */
INLINE v3 best_normal(const struct axes *x, const struct cuboid *a, const struct cuboid *b)
{
    if (x->has_edges)
        return x->normal;
    if (x->a.separation >= x->b.separation)
        return times(x->a.side, a->axes[x->a.axis]);
    return times(x->b.side, b->axes[x->b.axis]);
}

/* The best axes; 0 where one separates by more than `reach`. */
CALLED int separate(const struct cuboid *a, const struct cuboid *b, double reach, struct axes *out)
{
    v3 apart = minus(a->centre, b->centre);
    double ta[3], tb[3], r[3][3], w[3][3];
    for (u32 i = 0; i < 3u; i++) {
        ta[i] = dot(apart, a->axes[i]);
        tb[i] = dot(apart, b->axes[i]);
        for (u32 j = 0; j < 3u; j++) {
            r[i][j] = dot(a->axes[i], b->axes[j]);
            w[i][j] = absolute(r[i][j]);
        }
    }
    out->has_edges = 0;
    out->separation = -INFINITE;
    out->edge_a = out->edge_b = 0u;
    out->normal = vec(0.0, 0.0, 1.0);
    out->a.separation = out->b.separation = -INFINITE;
    out->a.axis = out->b.axis = 0u;
    out->a.side = out->b.side = 1.0;
    for (u32 k = 0; k < 3u; k++) {
        double sa = absolute(ta[k]) - a->half[k] - (b->half[0] * w[k][0] + b->half[1] * w[k][1] + b->half[2] * w[k][2]);
        double sb = absolute(tb[k]) - b->half[k] - (a->half[0] * w[0][k] + a->half[1] * w[1][k] + a->half[2] * w[2][k]);
        if (sa > out->a.separation) {
            out->a.separation = sa;
            out->a.axis = k;
            out->a.side = sign_of(ta[k]);
        }
        if (sb > out->b.separation) {
            out->b.separation = sb;
            out->b.axis = k;
            out->b.side = sign_of(tb[k]);
        }
    }
    double best = best_face(out);
    if (best > reach || best == -INFINITE)
        return 0;
    for (u32 i = 0; i < 3u; i++) {
        u32 i1 = (i + 1u) % 3u, i2 = (i + 2u) % 3u;
        for (u32 j = 0; j < 3u; j++) {
            u32 j1 = (j + 1u) % 3u, j2 = (j + 2u) % 3u;
            double place = ta[i2] * r[i1][j] - ta[i1] * r[i2][j];
            double radii = a->half[i1] * w[i2][j] + a->half[i2] * w[i1][j] + b->half[j1] * w[i][j2] + b->half[j2] * w[i][j1];
            double scaled = absolute(place) - radii;
            if (scaled < 0.0 && scaled <= best)
                continue;
            double squared = r[i1][j] * r[i1][j] + r[i2][j] * r[i2][j];
            if (squared < PARALLEL)
                continue;
            double length = sqrt(squared), separation = scaled / length;
            if (separation > best) {
                double s = sign_of(place) / length;
                v3 normal = minus(times(r[i1][j] * s, a->axes[i2]), times(r[i2][j] * s, a->axes[i1]));
                if (squared < 1e-6) {
                    separation = dot(normal, apart) - width_along(a, normal) - width_along(b, normal);
                    if (separation <= best)
                        continue;
                }
                if (separation > reach)
                    return 0;
                best = separation;
                out->has_edges = 1;
                out->separation = separation;
                out->edge_a = i;
                out->edge_b = j;
                out->normal = normal;
            }
        }
    }
    return 1;
}

/* Whether a face looks along the edges' normal. */
INLINE int along_edges(const struct axes *x, const struct cuboid *c, struct facing *out)
{
    for (u32 axis = 0; axis < 3u; axis++) {
        double cosine = dot(x->normal, c->axes[axis]);
        if (absolute(cosine) > ALONG_COS) {
            out->separation = x->separation;
            out->axis = axis;
            out->side = sign_of(cosine);
            return 1;
        }
    }
    return 0;
}

INLINE double face_area(const struct cuboid *c, u32 axis)
{
    return c->half[(axis + 1u) % 3u] * c->half[(axis + 2u) % 3u];
}

/* The face to cut against, and whether it is A's; 0 where the contact is between edges. */
INLINE int reference_face(const struct cuboid *a, const struct cuboid *b, const struct axes *x, double slack, double size,
                          struct facing *out, int *is_a)
{
    struct facing fa = x->a, fb = x->b;
    if (x->has_edges && x->separation > best_face(x) + slack) {
        int has_a = along_edges(x, a, &fa), has_b = along_edges(x, b, &fb);
        if (!has_a && !has_b)
            return 0;
        *is_a = has_a && !(has_b && face_area(b, fb.axis) > face_area(a, fa.axis) * (1.0 + 1e-9));
    } else {
        double cosine = dot(a->axes[fa.axis], b->axes[fb.axis]) * fa.side * fb.side;
        if (cosine > ALONG_COS && absolute(fa.separation - fb.separation) <= FACE_TIE * size)
            *is_a = !(face_area(b, fb.axis) > face_area(a, fa.axis) * (1.0 + 1e-9));
        else
            *is_a = !(fb.separation > fa.separation);
    }
    *out = *is_a ? fa : fb;
    return 1;
}

/* The name of the edge along an axis with this middle. */
INLINE u32 name_of_edge(const struct cuboid *c, u32 along, v3 middle)
{
    u32 k1 = (along + 1u) % 3u, k2 = (along + 2u) % 3u;
    v3 d = minus(middle, c->centre);
    return edge_name(along, k1, sign_of(dot(d, c->axes[k1])), sign_of(dot(d, c->axes[k2])));
}

/* Half-way between two points that rounding has brought off each other, `gap` apart along the normal. */
INLINE void across_from(v3 p, v3 q, v3 normal, double gap, v3 *on_a, v3 *on_b)
{
    v3 middle = times(0.5, plus(p, q)), half = times(0.5 * gap, normal);
    *on_a = plus(middle, half);
    *on_b = minus(middle, half);
}

/* Two edges that meet in overlap; 0 where none do. */
INLINE int edge_contact(const struct cuboid *a, const struct cuboid *b, const struct axes *x, double reach, struct manifold *m)
{
    u32 i = x->edge_a, j = x->edge_b, feature = 0u;
    v3 n = x->normal, u = times(a->half[i], a->axes[i]), v = times(b->half[j], b->axes[j]), p, q;
    v3 on_a = a->centre, on_b = b->centre;
    double best = INFINITE, s, t;
    ROLLED for (u32 k = 0; k < 16u; k++) {
        if (!supporting_edge(a, i, times(-1.0, n), k / 4u, &p) || !supporting_edge(b, j, n, k % 4u, &q))
            continue;
        segment_segment(p, u, q, v, &s, &t);
        v3 pa = plus(p, times(s, u)), pb = plus(q, times(t, v));
        double off = length_of(minus(minus(pa, pb), times(x->separation, n)));
        if (off < best) {
            best = off;
            on_a = pa;
            on_b = pb;
            feature = NAME_EDGE | name_of_edge(a, i, p) << 4 | name_of_edge(b, j, q);
        }
    }
    if (!(best <= MEETING * (smallest_half(a) + smallest_half(b))))
        return 0;
    across_from(on_a, on_b, n, x->separation, &on_a, &on_b);
    if (x->separation <= reach)
        push_point(m, on_a, on_b, n, x->separation, feature);
    return 1;
}

/* The contacts of A and B, given in canonical order. */
CALLED void box_box(const struct cuboid *a, const struct cuboid *b, double reach, struct manifold *m)
{
    struct axes x;
    if (!separate(a, b, reach, &x))
        return;
    double size = smaller(smallest_half(a), smallest_half(b)), lower = separation_of(&x), height = INFINITE;
    double slack = EDGE_RELATIVE * absolute(best_face(&x)) + EDGE_ABSOLUTE * size;
    struct facing face;
    struct patch patch;
    int is_a = 0, has_patch = reference_face(a, b, &x, slack, size, &face, &is_a);
    u32 name = NAME_FACE | (is_a ? 0u : REFERENCE_B);
    if (has_patch) {
        make_patch(&patch, is_a ? a : b, face.axis, is_a ? -face.side : face.side, is_a ? b : a, reach);
        height = deepest_of(&patch);
        double agrees = lower <= 0.0 ? smaller(lower + slack, TOUCHING * size) : lower + PATCH_RELATIVE * lower + 1e-12 * size;
        if (height <= agrees) {
            push_patch(&patch, is_a, name, m);
            return;
        }
    }
    v3 p, q;
    if (lower > 0.0) {
        closest_of_boxes(a, b, lower, &p, &q);
        v3 d = minus(p, q);
        double distance = length_of(d);
        if (has_patch && height <= distance * (1.0 + PATCH_RELATIVE)) {
            push_patch(&patch, is_a, name, m);
            return;
        }
        v3 normal;
        if (distance > 1e-9 * size)
            normal = vec(d.x / distance, d.y / distance, d.z / distance);
        else {
            normal = best_normal(&x, a, b);
            across_from(p, q, normal, distance, &p, &q);
        }
        if (distance <= reach)
            push_point(m, p, q, normal, distance, NAME_CLOSEST);
        return;
    }
    if (x.has_edges && edge_contact(a, b, &x, reach, m))
        return;
    /* Touching boxes whose patch was lost to rounding, or whose edges do not meet: where they are nearest. */
    closest_of_boxes(a, b, lower, &p, &q);
    across_from(p, q, best_normal(&x, a, b), lower, &p, &q);
    if (lower <= reach)
        push_point(m, p, q, best_normal(&x, a, b), lower, NAME_CLOSEST);
}
