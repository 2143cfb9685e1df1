/* Colours of contacts: two of one colour share no grain, so that a sweep may take all of a colour at once and leave the same bits.
 *
 * In a round every grain names the contact that comes first among its contacts without a colour; one that both its grains name takes
 * the least colour that neither has [JonesPlassmann1993]. Contacts of grains that have many come first; among the same number one
 * is drawn. Nothing depends on who is quicker. Contacts are then sorted by colour, rising in each. */

/* Colours there are, and that of a contact that has none yet, or found all of them taken. */
#define COLOURS 64u
#define NO_COLOUR COLOURS

/* Bits of the number that is drawn for a contact; those above are how many contacts its grains have. */
#define DRAWN 22u

/* How soon a contact is to have a colour: the larger, the sooner. */
INLINE u32 urgency(const struct grains *p, u32 c)
{
    u32 a = p->owner[c], b = p->other[c], x = (c ^ (c >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    u32 many = p->counts[a] + p->counts[p->grains + a], most = (1u << (32u - DRAWN)) - 1u;
    if (!(b & FIXED))
        many += p->counts[b] + p->counts[p->grains + b];
    return ((many < most ? many : most) << DRAWN) | ((x ^ (x >> 16)) >> (32u - DRAWN));
}

/* The first of two contacts; one that is NO_CONTACT comes last. Urgencies lie where places will. */
#define NO_CONTACT 0xffffffffu
INLINE u32 first_of(const struct grains *p, u32 a, u32 b)
{
    if (a == NO_CONTACT)
        return b;
    u32 x = p->slot[a], y = p->slot[b];
    return x > y || (x == y && a < b) ? a : b;
}

KERNEL colours_clear(struct grains p)
{
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts > p.grains ? p.contacts : p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            if (k < p.contacts) {
                p.colour[k] = NO_COLOUR;
                p.slot[k] = urgency(&p, k);
            }
            if (k < p.grains) {
                p.taken[k] = 0u;
                p.top[k] = 0u;
            }
            if (k == 0u)
                p.colours[COLOURS + 1u] = p.contacts;
        }
    }
}

/* Which contact of every grain takes a colour next. */
KERNEL colours_name(struct grains p)
{
    if (p.colours[COLOURS + 1u] == 0u)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.grains); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 k = chunk * CHUNK + i;
            /* One that has named none has none left. */
            if (k < p.grains && p.top[k] != NO_CONTACT) {
                u32 best = NO_CONTACT;
                ROLLED for (u32 e = p.first[p.grains + k]; e < p.first[p.grains + k + 1u]; e++) {
                    u32 c = p.low[e - p.contacts];
                    if (p.colour[c] == NO_COLOUR)
                        best = first_of(&p, best, c);
                }
                ROLLED for (u32 c = p.first[k]; c < p.first[k + 1u]; c++)
                    if (p.colour[c] == NO_COLOUR)
                        best = first_of(&p, best, c);
                p.top[k] = best;
            }
        }
    }
}

/* The least colour that is not taken. */
INLINE u32 least_free(u64 taken)
{
    u32 colour = 0u;
    ROLLED while (colour < COLOURS && (taken >> colour) & 1u)
        colour++;
    return colour;
}

/* Contacts that both their grains name take a colour; where all are taken, there is none, and what is left never becomes none. */
KERNEL colours_take(struct grains p)
{
    if (p.colours[COLOURS + 1u] == 0u)
        return;
    ROLLED for (u32 chunk = BLOCK; chunk < chunks_of(p.contacts); chunk += BLOCKS) {
        LANES (i, CHUNK) {
            u32 c = chunk * CHUNK + i;
            if (c < p.contacts && p.colour[c] == NO_COLOUR) {
                u32 a = p.owner[c], b = p.other[c];
                if (p.top[a] == c && (b & FIXED || p.top[b] == c)) {
                    u64 taken = p.taken[a] | (b & FIXED ? 0u : p.taken[b]);
                    u32 colour = least_free(taken);
                    if (colour < COLOURS) {
                        p.colour[c] = colour;
                        p.taken[a] |= (u64)1u << colour;
                        if (!(b & FIXED))
                            p.taken[b] |= (u64)1u << colour;
                        LESS(&p.colours[COLOURS + 1u]);
                    }
                }
            }
        }
    }
}

/* How many contacts of each colour a chunk has. */
KERNEL colours_tally(struct grains p)
{
    SHARED u32 part[CHUNK];
    u32 chunks = chunks_of(p.contacts);
    ROLLED for (u32 chunk = BLOCK; chunk < chunks; chunk += BLOCKS) {
        LANES (i, CHUNK) { part[i] = chunk * CHUNK + i < p.contacts ? p.colour[chunk * CHUNK + i] : NO_COLOUR; }
        BARRIER;
        LANES (colour, COLOURS) {
            u32 sum = 0u;
            ROLLED for (u32 k = 0u; k < CHUNK; k++)
                sum += part[k] == colour;
            p.tally[(u64)colour * chunks + chunk] = sum;
        }
        BARRIER;
    }
}

/* The place of every contact, and where each colour begins. */
KERNEL colours_place(struct grains p)
{
    SHARED u32 part[CHUNK];
    u32 chunks = chunks_of(p.contacts);
    ROLLED for (u32 chunk = BLOCK; chunk < chunks; chunk += BLOCKS) {
        LANES (i, CHUNK) { part[i] = chunk * CHUNK + i < p.contacts ? p.colour[chunk * CHUNK + i] : NO_COLOUR; }
        BARRIER;
        LANES (i, CHUNK) {
            u32 c = chunk * CHUNK + i, before = 0u;
            if (c < p.contacts && part[i] < COLOURS) {
                ROLLED for (u32 k = 0u; k < i; k++)
                    before += part[k] == part[i];
                u32 to = p.tally_first[(u64)part[i] * chunks + chunk] + before;
                p.slot[c] = to;
                u32 a = p.owner[c], b = p.other[c];
                /* Whether a sweep comes to its grains first here. */
                u32 first_a = p.taken[a] & (((u64)1u << part[i]) - 1u) ? 0u : FIRST_OF_OWNER;
                u32 first_b = b & FIXED || p.taken[b] & (((u64)1u << part[i]) - 1u) ? 0u : FIRST_OF_OTHER;
                p.sides[(u64)to * 2u] = a | first_a | first_b;
                p.sides[(u64)to * 2u + 1u] = b;
            }
            if (chunk == 0u && i <= COLOURS)
                p.colours[i] = p.tally_first[(u64)i * chunks];
        }
        BARRIER;
    }
}
