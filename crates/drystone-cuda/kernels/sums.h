/* Sums of fixed shape: a tree over the items of a chunk, then one over chunks. */

/* What one item adds. Sums whose bit is set in `most` are largest values, and none of them is below zero. */
INLINE double join(u32 most, u32 k, double a, double b)
{
    return (most >> k) & 1u ? larger(a, b) : a + b;
}

/* part[k][0] becomes the sum over the chunk. All threads of a block. */
INLINE void tree(double (*part)[CHUNK], u32 count, u32 most)
{
    ROLLED for (u32 half = CHUNK / 2u; half > 0u; half /= 2u) {
        LANES (i, half) {
            for (u32 k = 0; k < count; k++)
                part[k][i] = join(most, k, part[k][i], part[k][i + half]);
        }
        BARRIER;
    }
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

/* part[k][0] becomes the sum over all chunks. All threads of one block, after all others have written theirs. */
INLINE void total(const double *sums, u32 chunks, double (*part)[CHUNK], u32 count, u32 most)
{
    const volatile double *from = sums;
    LANES (i, CHUNK) {
        ROLLED for (u32 k = 0; k < count; k++) {
            double sum = 0.0;
            ROLLED for (u32 c = i; c < chunks; c += CHUNK)
                sum = join(most, k, sum, from[(u64)c * SUMS + k]);
            part[k][i] = sum;
        }
    }
    BARRIER;
    tree(part, count, most);
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
    LEADER { *(ticket) = 0u; }                                                                                         \
    FENCE
