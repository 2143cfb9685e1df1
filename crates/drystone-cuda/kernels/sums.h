/* Sums of fixed shape: a tree over the items of a chunk, then one over chunks. */

/* Sums that are added up at once, at most. */
#define MOST_SUMS 12u

/* What one item adds. Sums whose bit is set in `most` are largest values, and none of them is below zero. */
INLINE double join(u32 most, u32 k, double a, double b)
{
    return (most >> k) & 1u ? larger(a, b) : a + b;
}

/* part[k][0] becomes the sum over the chunk. All threads of a block. */
INLINE void tree(double (*part)[CHUNK], u32 count, u32 most)
{
    ROLLED for (u32 half = CHUNK / 2u; half > WARP / 2u; half /= 2u) {
        LANES (i, half) {
            for (u32 k = 0; k < count; k++)
                part[k][i] = join(most, k, part[k][i], part[k][i + half]);
        }
        BARRIER;
    }
    /* The rest is the work of one warp. */
    FIRST_WARP {
        ROLLED for (u32 half = WARP / 2u; half > 0u; half /= 2u) {
            LANES (i, half) {
                for (u32 k = 0; k < count; k++)
                    part[k][i] = join(most, k, part[k][i], part[k][i + half]);
            }
            WARP_BARRIER;
        }
    }
    BARRIER;
}

/* The sums of one chunk go to their place. All threads of a block. */
INLINE void finish_chunk(double (*part)[CHUNK], u32 count, u32 most, double *to)
{
    BARRIER;
    tree(part, count, most);
    LEADER {
        for (u32 k = 0; k < count; k++)
            to[k] = part[k][0];
    }
    BARRIER;
}

/* Sums of one kind over all chunks, as far as one thread adds them up: from chunk i on. */
INLINE void add_up(const double *sums, u32 stride, u32 chunks, u32 i, double (*part)[CHUNK], u32 count, u32 most)
{
    const volatile double *from = sums;
    double sum[MOST_SUMS], next[MOST_SUMS];
    for (u32 k = 0; k < count; k++)
        sum[k] = 0.0;
    ROLLED for (u32 c = i; c < chunks; c += CHUNK) {
        /* All on their way before the first is waited for. */
        for (u32 k = 0; k < count; k++)
            next[k] = from[(u64)c * stride + k];
        for (u32 k = 0; k < count; k++)
            sum[k] = join(most, k, sum[k], next[k]);
    }
    for (u32 k = 0; k < count; k++)
        part[k][i] = sum[k];
}

/* part[k][0] becomes the sum over all chunks, whose sums are `stride` numbers apart. All threads of one block, after all
 * others have written theirs. */
INLINE void total_of(const double *sums, u32 stride, u32 chunks, double (*part)[CHUNK], u32 count, u32 most)
{
    LANES (i, CHUNK) { add_up(sums, stride, chunks, i, part, count, most); }
    BARRIER;
    tree(part, count, most);
}

INLINE void total(const double *sums, u32 chunks, double (*part)[CHUNK], u32 count, u32 most)
{
    total_of(sums, SUMS, chunks, part, count, most);
}

/* Returns from the kernel in all blocks but the one that comes last. */
#define ONLY_LAST_BLOCK(ticket)                                                                                        \
    SHARED u32 is_last;                                                                                                \
    LEADER {                                                                                                           \
        FENCE;                                                                                                         \
        is_last = TICKET(ticket) == BLOCKS - 1u;                                                                       \
    }                                                                                                                  \
    BARRIER;                                                                                                           \
    if (!is_last)                                                                                                      \
        return;                                                                                                        \
    LEADER { *(ticket) = 0u; }
