/* Broad phase: grains in the cells of a grid, by counting. A cell is as large as two grains can be apart and have a contact. */

/* Free velocities. */
KERNEL grains_predict(struct grains p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.grains) {
                const double *m = p.motion + (u64)k * 8u;
                v3 v = xyz(load4(m)), w = xyz(load4(m + 4));
                store4(p.free + (u64)k * 8u, plus(v, times(p.h, vec(p.gx, p.gy, p.gz))), 0.0);
                store4(p.free + (u64)k * 8u + 4u, w, 0.0);
            }
        }
    }
}

/* How far a grain's half of a contact reaches, at most. */
INLINE double own_reach(const struct grains *p, u32 k)
{
    double r = p->centres[(u64)k * 4u + 3u], out = r + p->share * r + 0.5 * (p->base + p->more);
    if (p->moving) {
        v3 v = xyz(load4(p->free + (u64)k * 8u)), w = xyz(load4(p->free + (u64)k * 8u + 4u));
        double way = p->h * sqrt(dot(v, v)), spin = p->h * r * sqrt(dot(w, w)), hover = p->most_mu * (way + spin);
        out += way + (hover < r ? hover : r);
    }
    return out;
}

/* A number that no coordinate is below. */
#define LEAST (-1e300)

/* The grid around all grains. */
KERNEL grains_bounds(struct grains p)
{
    SHARED double part[7][CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            for (u32 n = 0; n < 7u; n++)
                part[n][i] = LEAST;
            if (k < p.grains) {
                const double *x = p.centres + (u64)k * 4u;
                for (u32 n = 0; n < 3u; n++) {
                    part[n][i] = x[n];
                    part[3u + n][i] = -x[n];
                }
                part[6][i] = own_reach(&p, k);
            }
        }
        finish_chunk(part, 7u, 127u, p.grain_sums + (u64)chunk * TOLD);
    }
    ONLY_LAST_BLOCK(&p.control->tickets[0]);
    const volatile double *from = p.grain_sums;
    LANES (i, CHUNK) {
        for (u32 n = 0; n < 7u; n++) {
            double most = LEAST;
            ROLLED for (u32 c = i; c < chunks_of(p.grains); c += CHUNK)
                most = larger(most, from[(u64)c * TOLD + n]);
            part[n][i] = most;
        }
    }
    BARRIER;
    tree(part, 7u, 127u);
    LEADER {
        struct grid *g = p.grid;
        g->cell = 2.0 * part[6][0] * (1.0 + 1e-9);
        g->sound = g->cell > 0.0 && is_finite(g->cell);
        for (u32 n = 0; n < 3u; n++) {
            double length = (part[n][0] + part[3u + n][0]) / g->cell;
            g->corner[n] = -part[3u + n][0];
            g->sound = g->sound && length < 2e9 && is_finite(length);
            g->count[n] = g->sound ? (u32)length + 1u : 1u;
        }
    }
}

/* The cell of a coordinate. */
INLINE u32 cell_at(const struct grid *g, u32 n, double x)
{
    double at = (x - g->corner[n]) / g->cell;
    u32 k = at > 0.0 ? (u32)at : 0u;
    return k < g->count[n] ? k : g->count[n] - 1u;
}

INLINE u32 bucket_of(const struct grains *p, const struct grid *g, u32 x, u32 y, u32 z)
{
    return (u32)((x + g->count[0] * (y + (u64)g->count[1] * z)) % p->buckets);
}

KERNEL cells_clear(struct grains p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.buckets); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            if (chunk * CHUNK + i < p.buckets)
                p.cell_count[chunk * CHUNK + i] = p.cell_cursor[chunk * CHUNK + i] = 0u;
        }
    }
}

KERNEL cells_count(struct grains p)
{
    const struct grid g = *p.grid;
    if (!g.sound)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.grains) {
                const double *x = p.centres + (u64)k * 4u;
                u32 b = bucket_of(&p, &g, cell_at(&g, 0, x[0]), cell_at(&g, 1, x[1]), cell_at(&g, 2, x[2]));
                p.bucket[k] = b;
                (void)TICKET(&p.cell_count[b]);
            }
        }
    }
}

/* Grains go to their cells in any order, */
KERNEL cells_fill(struct grains p)
{
    if (!p.grid->sound)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.grains) {
                u32 b = p.bucket[k];
                p.in_cells[p.cell_first[b] + TICKET(&p.cell_cursor[b])] = k;
            }
        }
    }
}

/* and are sorted there: the same order in every run. */
KERNEL cells_sort(struct grains p)
{
    if (!p.grid->sound)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.buckets); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 b = chunk * CHUNK + i;
            u32 from = b < p.buckets ? p.cell_first[b] : 0u, to = b < p.buckets ? p.cell_first[b + 1u] : 0u;
            ROLLED for (u32 k = from + 1u; k < to; k++) {
                u32 own = p.in_cells[k], at = k;
                ROLLED while (at > from && p.in_cells[at - 1u] > own) {
                    p.in_cells[at] = p.in_cells[at - 1u];
                    at--;
                }
                p.in_cells[at] = own;
            }
        }
    }
}
