/* Which contacts solids have: pairs in the cells around bounding spheres, the points of each pair, those that turns bring about
 * (`step/predictor.rs` of drystone), and the lists of contacts by pair and by body. */

/* Whether two bodies may have a contact in the step. */
INLINE int may_meet(const struct solids *p, u32 a, u32 b)
{
    const double *centres = p->moving ? p->reach : p->place_after;
    v4 x = load4(centres + (u64)a * 4u), y = load4(centres + (u64)b * 4u);
    double inner = smaller(solid_of(p, a)[SOLID_INNER], solid_of(p, b)[SOLID_INNER]);
    double gap = p->base + p->share * inner + p->more, reach;
    v3 apart = minus(xyz(x), xyz(y));
    if (p->moving)
        gap += inner + p->h * length_of(minus(xyz(load4(p->free + (u64)a * 8u)), xyz(load4(p->free + (u64)b * 8u))));
    reach = x.w + y.w + gap;
    if (dot(apart, apart) > reach * reach)
        return 0;
    /* What turns adds to a sphere it adds to a box, too. */
    v3 sides = plus(xyz(load4(p->extent + (u64)a * 4u)), xyz(load4(p->extent + (u64)b * 4u)));
    gap += x.w - solid_of(p, a)[SOLID_RADIUS] + (y.w - solid_of(p, b)[SOLID_RADIUS]);
    gap += 1e-9 * inner;
    return absolute(apart.x) <= sides.x + gap && absolute(apart.y) <= sides.y + gap && absolute(apart.z) <= sides.z + gap;
}

INLINE int may_meet_fixed(const struct solids *p, u32 a, u32 k)
{
    const double *centres = p->moving ? p->reach : p->place_after, *f = p->fixed + (u64)k * FIXED_NUMBERS;
    v4 x = load4(centres + (u64)a * 4u);
    double inner = solid_of(p, a)[SOLID_INNER], reach = p->base + p->share * inner + p->more;
    if (p->moving)
        reach += inner + p->h * length_of(xyz(load4(p->free + (u64)a * 8u)));
    return ball_fixed(f, xyz(x), x.w).gap <= reach;
}

INLINE u32 bucket_at(const struct solids *p, const struct grid *g, u32 x, u32 y, u32 z)
{
    return (u32)((x + g->count[0] * (y + (u64)g->count[1] * z)) % p->buckets);
}

/* Bodies near body a: those after it go to `up`, those before it to `low`, where there are such lists. */
INLINE void near_bodies(const struct solids *p, const struct grid *g, u32 a, u32 *up, u32 *low, u32 *ups, u32 *lows)
{
    const double *centres = p->moving ? p->reach : p->place_after, *x = centres + (u64)a * 4u;
    u32 from[3], to[3];
    for (u32 n = 0; n < 3u; n++) {
        u32 c = cell_at(g, n, x[n]);
        from[n] = c > 0u ? c - 1u : 0u;
        to[n] = c + 1u < g->count[n] ? c + 1u : c;
    }
    *ups = *lows = 0u;
    ROLLED for (u32 z = from[2]; z <= to[2]; z++) {
        ROLLED for (u32 y = from[1]; y <= to[1]; y++) {
            ROLLED for (u32 w = from[0]; w <= to[0]; w++) {
                u32 bucket = bucket_at(p, g, w, y, z);
                ROLLED for (u32 e = p->cell_first[bucket]; e < p->cell_first[bucket + 1u]; e++) {
                    u32 b = p->in_cells[e];
                    const double *o = centres + (u64)b * 4u;
                    if (b == a || cell_at(g, 0, o[0]) != w || cell_at(g, 1, o[1]) != y || cell_at(g, 2, o[2]) != z)
                        continue;
                    if (!may_meet(p, a < b ? a : b, a < b ? b : a))
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

/* How many near pairs every body has. */
KERNEL solids_near_count(struct solids p)
{
    const struct grid g = *p.grid;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 a = chunk * CHUNK + i, ups = 0u, lows = 0u;
            if (a < p.solids) {
                if (g.sound) {
                    near_bodies(&p, &g, a, 0, 0, &ups, &lows);
                    ROLLED for (u32 k = 0; k < p.fixed_count; k++)
                        ups += (u32)may_meet_fixed(&p, a, k);
                }
                p.counts[a] = ups;
                p.counts[p.solids + a] = lows;
                p.touched[a] = 0u;
            }
        }
    }
}

/* How many near pairs there are; below zero where bodies are not in any grid. */
KERNEL solids_near_told(struct solids p)
{
    LEADER {
        if (BLOCK == 0u)
            p.told[TOLD_PAIRS] = p.grid->sound ? (double)p.near_first[p.solids] : -1.0;
    }
}

/* The near pairs of every body, with those after it, then with fixed shapes; and those before it. */
KERNEL solids_near_write(struct solids p)
{
    const struct grid g = *p.grid;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 a = chunk * CHUNK + i, ups = 0u, lows = 0u;
            if (a < p.solids && g.sound) {
                u32 at = p.near_first[a];
                near_bodies(&p, &g, a, p.near_other + at, p.near_low + (p.near_first[p.solids + a] - p.near), &ups, &lows);
                ROLLED for (u32 k = 0; k < p.fixed_count; k++)
                    if (may_meet_fixed(&p, a, k))
                        p.near_other[at + ups++] = FIXED | k;
                ROLLED for (u32 k = 0; k < ups; k++)
                    p.near_owner[at + k] = a;
            }
        }
    }
}

/* ---- contacts of a pair ---- */

/* The pair of the last step with these bodies; `old_pairs` where there was none. */
INLINE u32 old_pair(const struct solids *p, u32 a, u32 b)
{
    if (p->old_pairs == 0u)
        return 0u;
    u32 end = p->old_first[a + 1u], at = find(p->old_other, p->old_first[a], end, b);
    return at < end ? at : p->old_pairs;
}

/* The contact of a pair of the last step with this name; NO_CONTACT where there was none. */
INLINE u32 old_contact(const struct solids *p, u32 pair, u32 feature)
{
    if (pair >= p->old_pairs)
        return NO_CONTACT;
    ROLLED for (u32 c = p->old_start[pair]; c < p->old_start[pair + 1u]; c++)
        if (p->old_feature[c] == feature)
            return c;
    return NO_CONTACT;
}

INLINE void remember_names(const struct solids *p, u32 pair, struct manifold *m)
{
    m->known_count = 0u;
    if (pair >= p->old_pairs)
        return;
    ROLLED for (u32 c = p->old_start[pair]; c < p->old_start[pair + 1u] && m->known_count < MOST_POINTS; c++)
        m->known[m->known_count++] = p->old_feature[c];
}

INLINE void write_found(double *to, v3 normal, double gap, v3 at, u32 feature, double arc, double added)
{
    to[0] = normal.x;
    to[1] = normal.y;
    to[2] = normal.z;
    to[3] = gap;
    to[4] = at.x;
    to[5] = at.y;
    to[6] = at.z;
    to[7] = (double)feature;
    to[8] = arc;
    to[9] = added;
}

INLINE double *found_at(const struct solids *p, u32 near, u32 k)
{
    return p->found + ((u64)near * MOST_CONTACTS + k) * FOUND_NUMBERS;
}

/* Contacts of every near pair where its bodies are. */
KERNEL solids_touch(struct solids p)
{
    const double *places = p.moving ? p.place : p.place_after, *turns = p.moving ? p.turn : p.turn_after;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.near); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.near) {
                u32 a = p.near_owner[k], b = p.near_other[k];
                struct side sa, sb;
                struct manifold m;
                load_side(&p, places, turns, a, &sa);
                load_side(&p, places, turns, b, &sb);
                struct approach x = approach_of(&p, &sa, &sb, p.more);
                remember_names(&p, old_pair(&p, a, b), &m);
                meeting(&p, &sa, &sb, &x, &m);
                ROLLED for (u32 c = 0; c < m.count; c++) {
                    const struct point *q = m.points + c;
                    write_found(found_at(&p, k, c), q->normal, q->gap, q->at, q->feature, 0.0, 0.0);
                }
                p.near_count[k] = m.count;
                if (m.count > 0u) {
                    p.touched[a] = 1u;
                    if (!(b & FIXED))
                        p.touched[b] = 1u;
                }
            }
        }
    }
}

/* Whether contacts of a body are foretold: it has one, and turns by enough. */
INLINE int turns_much(const struct solids *p, u32 k, const struct side *s)
{
    return !(k & FIXED) && s->kind != SHAPE_SPHERE && p->touched[k] && p->h * length_of(s->w) > p->turns;
}

/* What the turns of the step add to gaps, and the contacts that they alone bring about. */
KERNEL solids_foretell(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.near); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.near) {
                u32 a = p.near_owner[k], b = p.near_other[k], count = p.near_count[k], at_start = count;
                struct side sa, sb, ea, eb;
                load_side(&p, p.place, p.turn, a, &sa);
                load_side(&p, p.place, p.turn, b, &sb);
                int ta = turns_much(&p, a, &sa), tb = turns_much(&p, b, &sb);
                if (ta || tb) {
                    struct manifold m;
                    double more = 0.0;
                    u32 old = old_pair(&p, a, b);
                    ea = sa;
                    eb = sb;
                    if (ta) {
                        axes_of(load4(p.ahead + (u64)a * 4u), ea.box.axes);
                        more = p.h * (length_of(sa.v) + length_of(sa.w) * sa.bounding);
                    }
                    if (tb) {
                        axes_of(load4(p.ahead + (u64)b * 4u), eb.box.axes);
                        more = larger(more, p.h * (length_of(sb.v) + length_of(sb.w) * sb.bounding));
                    }
                    struct approach x = approach_of(&p, &ea, &eb, more);
                    double near = x.near - more;
                    v3 wa = ta ? sa.w : vec(0.0, 0.0, 0.0), wb = tb ? sb.w : vec(0.0, 0.0, 0.0);
                    remember_names(&p, old, &m);
                    meeting(&p, &ea, &eb, &x, &m);
                    ROLLED for (u32 c = 0; c < m.count; c++) {
                        struct point e = m.points[c];
                        double *f = found_at(&p, k, 0u);
                        u32 known = 0u, was = old_contact(&p, old, e.feature);
                        int fresh = was == NO_CONTACT;
                        if (!fresh) {
                            v3 z = xyz(load4(p.old_gamma + (u64)was * 4u));
                            fresh = z.x == 0.0 && z.y == 0.0 && z.z == 0.0;
                        }
                        ROLLED while (known < at_start && (u32)f[known * FOUND_NUMBERS + 7u] != e.feature)
                            known++;
                        v3 n = e.normal, la, lb;
                        double gap = e.gap;
                        if (known < at_start) {
                            f += known * FOUND_NUMBERS;
                            n = v3_at(f);
                            gap = f[3];
                            v3 at = v3_at(f + 4), half = times(0.5 * gap, n);
                            la = minus(plus(at, half), sa.box.centre);
                            lb = minus(minus(at, half), sb.box.centre);
                        } else {
                            if (e.gap + p.h * dot(n, minus(sa.v, sb.v)) > near)
                                continue;
                            v3 half = times(0.5 * gap, n);
                            la = minus(plus(e.at, half), sa.box.centre);
                            lb = minus(minus(e.at, half), sb.box.centre);
                            if (ta)
                                la = to_world(sa.box.axes, to_body(ea.box.axes, la));
                            if (tb)
                                lb = to_world(sb.box.axes, to_body(eb.box.axes, lb));
                            v3 pa = plus(la, sa.box.centre), pb = plus(lb, sb.box.centre);
                            e.at = times(0.5, plus(pa, pb));
                            gap = dot(n, minus(pa, pb));
                            if (gap < -x.size || count == MOST_CONTACTS)
                                continue;
                            fresh = 1;
                        }
                        double arc = e.gap - gap - p.h * dot(n, minus(cross(wa, la), cross(wb, lb)));
                        if (fresh) {
                            v3 u = minus(plus(sa.v, cross(sa.w, la)), plus(sb.v, cross(sb.w, lb)));
                            arc = larger(arc, smaller(p.h * dot(n, u), 0.0));
                        }
                        if (known < at_start)
                            f[8] = arc;
                        else
                            write_found(found_at(&p, k, count++), n, gap, e.at, e.feature, arc, 1.0);
                    }
                    p.near_count[k] = count;
                }
            }
        }
    }
}

/* ---- lists ---- */

/* Contacts of every pair rise by name; how many pairs and contacts every body has. */
KERNEL solids_tally(struct solids p)
{
    SHARED double part[1][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 a = chunk * CHUNK + i, ups = 0u, lows = 0u, contacts = 0u;
            double bent = 0.0;
            if (a < p.solids) {
                ROLLED for (u32 k = p.near_first[a]; k < p.near_first[a + 1u]; k++) {
                    u32 count = p.near_count[k];
                    ups += count > 0u;
                    contacts += count;
                    ROLLED for (u32 c = 0; c < count; c++)
                        if (found_at(&p, k, c)[8] != 0.0)
                            bent = 1.0;
                }
                ROLLED for (u32 e = p.near_first[p.solids + a]; e < p.near_first[p.solids + a + 1u]; e++) {
                    u32 count = p.near_count[p.near_low[e - p.near]];
                    lows += count > 0u;
                    contacts += count;
                }
                p.counts[a] = ups;
                p.counts[p.solids + a] = lows;
                p.entries[a] = contacts;
            }
            part[0][i] = bent;
        }
        finish_chunk(part, 1u, 1u, p.body_sums + (u64)chunk * TOLD_SOLIDS);
    }
    ONLY_LAST_BLOCK(&p.posed.control->tickets[0]);
    total_of(p.body_sums, TOLD_SOLIDS, chunks_of(p.solids), part, 1u, 1u);
    LEADER { p.told[TOLD_BENT] = part[0][0]; }
}

/* From the bodies before each one to the near pairs with them. */
KERNEL solids_near_link(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 b = chunk * CHUNK + i;
            if (b < p.solids) {
                ROLLED for (u32 e = p.near_first[p.solids + b]; e < p.near_first[p.solids + b + 1u]; e++) {
                    u32 a = p.near_low[e - p.near];
                    p.near_low[e - p.near] = find(p.near_other, p.near_first[a], p.near_first[a + 1u], b);
                }
            }
        }
    }
}

/* How many pairs touch, and how many contacts there are. */
KERNEL solids_told(struct solids p)
{
    LEADER {
        if (BLOCK == 0u) {
            p.told[TOLD_PAIRS] = (double)p.first[p.solids];
            p.told[TOLD_CONTACTS] = (double)p.near_start[p.near];
        }
    }
}

/* The pairs that touch. */
KERNEL solids_pairs(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 a = chunk * CHUNK + i;
            if (a < p.solids) {
                u32 to = p.first[a];
                ROLLED for (u32 k = p.near_first[a]; k < p.near_first[a + 1u]; k++) {
                    if (p.near_count[k] > 0u) {
                        p.near_pair[k] = to;
                        p.owner[to] = a;
                        p.other[to] = p.near_other[k];
                        p.start[to] = p.near_start[k];
                        to++;
                    }
                }
                if (a == 0u)
                    p.start[p.pairs] = p.contacts;
            }
        }
    }
}

/* The pairs that every body is the second of, and its contacts: those as the second come first, all in rising order. */
KERNEL solids_link(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.solids); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 a = chunk * CHUNK + i;
            if (a < p.solids) {
                u32 to = p.first[p.solids + a] - p.pairs, entry = p.posed.first_entry[a];
                ROLLED for (u32 e = p.near_first[p.solids + a]; e < p.near_first[p.solids + a + 1u]; e++) {
                    u32 k = p.near_low[e - p.near], count = p.near_count[k];
                    if (count > 0u)
                        p.low[to++] = p.near_pair[k];
                    ROLLED for (u32 c = 0; c < count; c++)
                        WORDS(p.posed.entry)[entry++] = 2u * (p.near_start[k] + c) + 1u;
                }
                ROLLED for (u32 k = p.near_first[a]; k < p.near_first[a + 1u]; k++)
                    ROLLED for (u32 c = 0; c < p.near_count[k]; c++)
                        WORDS(p.posed.entry)[entry++] = 2u * (p.near_start[k] + c);
            }
        }
    }
}

/* The contacts of every pair, in the order of their names. */
KERNEL solids_contacts(struct solids p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.near); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i, count = k < p.near ? p.near_count[k] : 0u;
            ROLLED for (u32 c = 0; c < count; c++) {
                const double *f = found_at(&p, k, c);
                u32 before = 0u;
                ROLLED for (u32 n = 0; n < count; n++)
                    before += found_at(&p, k, n)[7] < f[7] || (found_at(&p, k, n)[7] == f[7] && n < c);
                u32 to = p.near_start[k] + before;
                p.holder[to] = p.near_pair[k];
                p.feature[to] = (u32)f[7];
                store4(p.touch + (u64)to * 4u, v3_at(f + 4), f[3]);
                store4(p.normal + (u64)to * 4u, v3_at(f), 0.0);
                p.arc[(u64)to * 2u] = f[8];
                p.arc[(u64)to * 2u + 1u] = f[9];
            }
        }
    }
}
