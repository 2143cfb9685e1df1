/* Sums of all numbers before each one, of 32 bits: chunks, the sums of chunks, and all of them. */

/* part[0..CHUNK] becomes the sums up to and with each; `spare` is as large. All threads of a block. */
INLINE void sums_up_to(u32 *part, u32 *spare)
{
    u32 *from = part, *to = spare;
    ROLLED for (u32 step = 1u; step < CHUNK; step *= 2u) {
        LANES (i, CHUNK) { to[i] = from[i] + (i >= step ? from[i - step] : 0u); }
        BARRIER;
        u32 *other = from;
        from = to;
        to = other;
    }
    if (from != part) {
        LANES (i, CHUNK) { part[i] = from[i]; }
        BARRIER;
    }
}

/* The sum of every chunk. */
KERNEL scan_chunks(struct grains p)
{
    SHARED u32 part[CHUNK], spare[CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.scan_count); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 at = chunk * CHUNK + i;
            part[i] = at < p.scan_count ? p.scan_from[at] : 0u;
        }
        BARRIER;
        sums_up_to(part, spare);
        LEADER { p.scan_sums[chunk] = part[CHUNK - 1u]; }
        BARRIER;
    }
}

/* The sums of chunks become those of all chunks before each one: one block, a run of chunks for each of its threads. */
KERNEL scan_totals(struct grains p)
{
    SHARED u32 part[CHUNK], spare[CHUNK];
    u32 chunks = chunks_of(p.scan_count), run = chunks / CHUNK + 1u;
    if (BLOCK != 0u)
        return;
    LANES (i, CHUNK) {
        u32 sum = 0u;
        ROLLED for (u32 k = i * run; k < (i + 1u) * run && k < chunks; k++)
            sum += p.scan_sums[k];
        part[i] = sum;
    }
    BARRIER;
    sums_up_to(part, spare);
    LANES (i, CHUNK) {
        u32 sum = i > 0u ? part[i - 1u] : 0u;
        ROLLED for (u32 k = i * run; k < (i + 1u) * run && k < chunks; k++) {
            u32 own = p.scan_sums[k];
            p.scan_sums[k] = sum;
            sum += own;
        }
    }
    LEADER { p.scan_to[p.scan_count] = part[CHUNK - 1u]; }
}

/* The sums before each number. */
KERNEL scan_each(struct grains p)
{
    SHARED u32 part[CHUNK], spare[CHUNK];
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.scan_count); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 at = chunk * CHUNK + i;
            part[i] = at < p.scan_count ? p.scan_from[at] : 0u;
        }
        BARRIER;
        sums_up_to(part, spare);
        LANES (i, CHUNK) {
            u32 at = chunk * CHUNK + i;
            if (at < p.scan_count)
                p.scan_to[at] = p.scan_sums[chunk] + (i > 0u ? part[i - 1u] : 0u);
        }
        BARRIER;
    }
}
