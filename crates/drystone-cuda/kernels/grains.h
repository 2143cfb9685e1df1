/* A world of grains on the device: balls that move, and fixed shapes. `src/grains/layout.rs` has the same structures: keep both alike. */

/* In `other`: the number of a fixed shape, not of a grain. */
#define FIXED 0x80000000u

/* Kinds of fixed shapes, and numbers that each has. */
#define SHAPE_SPHERE 0u
#define SHAPE_HALF_SPACE 1u
#define SHAPE_BOX 2u
#define SHAPE_CAPSULE 3u
#define FIXED_NUMBERS 26u
/* Of a shape that is led: the velocity of its centre, its angular velocity, and 1. */
#define FIXED_SPEED 18u
#define FIXED_SPIN 21u
#define FIXED_LED 24u

/* What a step tells of itself, and how many numbers that are. */
#define TOLD_RESIDUAL 0u      /* largest natural-map residual, m/s */
#define TOLD_VIOLATION 1u     /* largest distance of u from its dual cone, m/s */
#define TOLD_BACKWARD 2u      /* backward error, m/s */
#define TOLD_OVERLAP 3u       /* largest overlap at the start, m */
#define TOLD_SQUARES 4u       /* sum of squares of residuals */
#define TOLD_COMPLEMENTARITY 5u
#define TOLD_MULTIPLIERS 6u   /* |gamma|^2 */
#define TOLD_BIAS 7u          /* <b, gamma> */
#define TOLD_SUPPORT 8u       /* impulse of fixed shapes against gravity, N s */
#define TOLD_TOUCHING 9u
#define TOLD_DEPTH 10u        /* sum of overlaps at the start, m */
#define TOLD_BY_CONTACTS 11u
#define TOLD_RHS 11u          /* <v_free, D gamma> */
#define TOLD_KINETIC 12u      /* <gamma, N gamma> */
#define TOLD_WRONG 13u        /* not zero: something is not finite */
#define TOLD_BY_BODIES 3u
#define TOLD_WORST 14u        /* largest overlap over its size, at the end */
#define TOLD_UNRESOLVED 15u   /* not zero: an overlap that the step has made */
#define TOLD_DEEPEST 16u      /* largest error that is to be corrected, m */
#define TOLD_WAY 17u          /* largest correction over the size of its grain */
#define TOLD_CUT 18u          /* not zero: a correction was cut short */
#define TOLD_CONTACTS 19u
#define TOLD 20u

/* Cells of the last search: cubes of one size, from a corner on. */
struct grid {
    double corner[3], cell;
    u32 count[3], sound;
};

struct grains {
    struct control *control;
    struct grid *grid;
    double *told;              /* TOLD numbers */
    const double *place;       /* by grain: centre, radius */
    double *place_after;
    const double *turn;        /* by grain: quaternion x, y, z, w */
    double *turn_after;
    const double *motion;      /* by grain: v, 0, w, 0; world axes */
    double *motion_after;
    double *free;              /* by grain: the same without contacts */
    const double *mass;        /* by grain: 1/m, r^2/I, m, I/r^2 */
    const u32 *surface;        /* by grain: its row of `mu` */
    const double *mu;          /* by pair of surfaces */
    const double *fixed;       /* by fixed shape: FIXED_NUMBERS, where it is looked for */
    const double *fixed_before; /* the same when the step began */
    const double *centres;     /* where grains are looked for: place or place_after */
    u32 *bucket;               /* by grain */
    u32 *cell_count;           /* by bucket */
    u32 *cell_first;           /* by bucket, and the number of grains */
    u32 *cell_cursor;          /* by bucket */
    u32 *in_cells;             /* grains by bucket, rising in each */
    u32 *counts;               /* by grain: contacts that it has as the first, then as the second of two */
    u32 *first;                /* the sums of these, and the number of all */
    u32 *scan_from, *scan_to;  /* what is added up */
    u32 *scan_sums;            /* by chunk */
    u32 *owner, *other;        /* by contact: first grain; second grain, or FIXED and a fixed shape */
    double *touch;             /* by contact: normal from the second to the first, gap */
    double *soft;              /* by contact, if shapes are led: compliance, and that times what it is about */
    u32 *low;                  /* by grain, contacts that it is the second of */
    u32 *colour;               /* by contact: its colour, or NO_COLOUR */
    u32 *slot;                 /* by contact, in sweeps: its place in the order of colours */
    u32 *sides;                /* by place: owner, other */
    u32 *colours;              /* by colour: its first place; then the number of contacts, and what is left to colour */
    u32 *tally, *tally_first;  /* by colour and chunk of contacts: how many, and the sums of these */
    u64 *taken;                /* by grain: colours of its contacts */
    u32 *top;                  /* by grain: which of its contacts takes a colour next */
    float *seen;               /* by place: what a sweep measured of it, two numbers */
    const u32 *old_first, *old_other; /* those of the last step */
    const double *old_gamma;
    double *gamma;             /* by contact: multiplier, N s, world axes, 0 */
    void *row;                 /* by contact: normal, bias */
    void *rub;                 /* by contact: mu, eta across */
    void *drift;               /* by contact, if shapes are led: bias across, compliance */
    void *places;              /* four places of multipliers, 4 numbers a contact */
    void *velocity;            /* four places of v, 0, r w, 0 by grain */
    void *ahead;               /* the same at y: two places */
    void *start;               /* v_free, 0, r w_free, 0 */
    void *light;               /* by grain: 1/m, r^2/I, 0, 0 */
    double *contact_sums;      /* by chunk of contacts: TOLD */
    double *grain_sums;        /* by chunk of grains: TOLD */
    u64 stride;                /* numbers of one place of multipliers */
    double h, gx, gy, gz;      /* s, m/s^2 */
    double base, share, more;  /* contacts exist up to base + share size + more, m */
    double most_mu, kappa;
    double reach;              /* of a position problem: largest correction over the size */
    double resolved;           /* share of the size that a step may overlap by */
    double tolerance, compliance; /* of rows that ask for a motion */
    double leash;              /* how far a correction may go, over how far contacts were looked for */
    u32 grains, fixed_count, surfaces, buckets, contacts, scan_count;
    u32 moving;    /* whether contacts are looked for as far as grains go in the step */
    u32 positions; /* whether the problem is one of positions */
    u32 old_contacts, best;
    u32 run;  /* chunks that the iteration adds up together */
    u32 led;  /* whether some shapes move by themselves */
    u32 again; /* whether the problem is the same one, in another precision */
    u32 from, to; /* places of the colour, or colours, that a sweep is at */
};

/* Runs of chunks. */
INLINE u32 runs_of(const struct grains *p, u32 items)
{
    u32 chunks = chunks_of(items);
    return chunks / p->run + (chunks % p->run ? 1u : 0u);
}

INLINE v3 v3_at(const double *p)
{
    return vec(p[0], p[1], p[2]);
}

/* Friction of two surfaces. */
INLINE double rubs(const struct grains *p, u32 a, u32 b)
{
    return p->mu[(u64)a * p->surfaces + b];
}

/* Numbers of the fixed shape of a contact. */
INLINE const double *shape_of(const double *fixed, u32 other)
{
    return fixed + (u64)(other ^ FIXED) * FIXED_NUMBERS;
}

/* Whether a contact is one with a shape that is led. */
INLINE int is_led(const struct grains *p, u32 other)
{
    return p->led && (other & FIXED) && shape_of(p->fixed, other)[FIXED_LED] != 0.0;
}

/* The velocity of a shape that is led at a point. */
INLINE v3 led_velocity(const double *f, v3 at)
{
    return plus(v3_at(f + FIXED_SPEED), cross(v3_at(f + FIXED_SPIN), minus(at, v3_at(f + 3))));
}

/* The row of `mu` of a fixed shape. */
INLINE u32 fixed_surface(const struct grains *p, u32 k)
{
    return (u32)p->fixed[(u64)k * FIXED_NUMBERS + 1u];
}

/* In `sides`, beside the owner: whether a sweep comes to the owner, and to the other grain, for the first time. */
#define FIRST_OF_OWNER 0x80000000u
#define FIRST_OF_OTHER 0x40000000u
#define OWNER 0x3fffffffu

/* Where what belongs to a contact in the iteration is: at its number, or in sweeps where the order of colours puts it. */
INLINE u32 place_of(const struct grains *p, u32 contact)
{
    return p->slot ? p->slot[contact] : contact;
}

/* The grain that a place's contact belongs to, and the other one or a fixed shape. */
INLINE u32 owner_at(const struct grains *p, u32 place)
{
    return p->slot ? p->sides[(u64)place * 2u] & OWNER : p->owner[place];
}

INLINE u32 other_at(const struct grains *p, u32 place)
{
    return p->slot ? p->sides[(u64)place * 2u + 1u] : p->other[place];
}

/* Friction of a contact. */
INLINE double contact_mu(const struct grains *p, u32 a, u32 other)
{
    u32 second = other & FIXED ? fixed_surface(p, other ^ FIXED) : p->surface[other];
    return p->positions ? 0.0 : rubs(p, p->surface[a], second);
}

/* The smaller inner radius of a contact's two shapes. */
INLINE double contact_size(const struct grains *p, u32 a, u32 other)
{
    double r = p->place[(u64)a * 4u + 3u];
    double s = other & FIXED ? p->fixed[(u64)(other ^ FIXED) * FIXED_NUMBERS + 2u] : p->place[(u64)other * 4u + 3u];
    return s < r ? s : r;
}

/* Up to which distance there is a contact at rest. */
INLINE double near_by(const struct grains *p, double size)
{
    return p->base + p->share * size + p->more;
}
