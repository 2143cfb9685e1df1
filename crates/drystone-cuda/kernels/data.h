/* The problem and the iteration on the device. `src/layout.rs` has the same structures: keep both alike. */

/* In place of a second body. */
#define WORLD 0xffffffffu
/* Items that are added up together. */
#define CHUNK 256u
/* Sums over blocks or bodies that one kernel makes, at most. */
#define SUMS 5u

/* Steps from one look at the residual to the next. */
#define EVERY 4u

/* Sums over blocks of a step. */
#define MEASURE 0 /* max |S^-1 (z - y)|^2 */
#define LENGTH 1  /* sum of <z - y, S^-1 (z - y)> */
#define DESCENT 2 /* sum of <u_y, z - gamma> */
#define SOFT 3    /* sum of <z - y, C (z - y)> */
#define WORK 4    /* sum of <b, z> + 1/2 <z, C z> */
/* Sums over bodies. */
#define CHANGE 0  /* sum of <F_z - F_y, v_z - v_y> */
#define KINETIC 1 /* sum of <F_z, v_z + v_free> */
#define BOUND 2   /* max over bodies of the sum of eta tr(J M^-1 J') over their blocks */

/* How the step follows the problem. */
#define CURVATURE 0u
#define PAPER 1u
#define JACOBI 2u
#define SWEEPS 3u

/* Why the iteration waits for the host. */
#define LOOK 1u
#define LIMIT 2u
#define DIVERGED 4u
#define STALLED 8u

/* Sets of multipliers of general blocks. */
#define FREE 0u
#define NON_NEGATIVE 1u
#define INTERVAL 2u
#define FRICTION2 3u
#define FRICTION3 4u
#define ROLLING5 5u

struct control {
    double theta, beta;         /* momentum, y = gamma + beta (gamma - gamma_before) */
    double next_theta, next_beta; /* those after the next step, unless it restarts */
    double lipschitz, most; /* L, and a bound that no eigenvalue exceeds */
    double kappa;           /* eta_n / eta_t of all points */
    double omega, lambda;   /* of the Jacobi iteration */
    double threshold;       /* the measure below which the host looks, m/s; negative: never */
    double measure, length, descent, curvature;
    double objective, start_objective, best_measure; /* J, J, m/s */
    double residual;                                 /* natural map at gamma, m/s */
    double work, bottom, softest;
    double noise; /* what rounding may make of a residual, m/s */
    double settle_below; /* mean square of sweeps' residuals below which it is tried again to settle, (m/s)^2 */
    double settle_from;  /* the measure when it was last looked whether settling leads anywhere, m/s */
    u32 rule, safeguard, cone, plain;
    u32 now, before, trial, best; /* places of multipliers, forces and velocities */
    u32 used, limit, halt, best_is_start;
    u32 rejected, wish_best;
    u32 ahead_place, has_ahead; /* where v_y is, if not at gamma */
    u32 runs, since;  /* sweeps since momentum began anew, and since velocities were made anew from multipliers */
    u32 settling, rounds; /* whether only contacts above the tolerance are solved, and how many sweeps did so */
    u32 settle_after, spare;
    u32 tickets[8];
};

struct args {
    struct control *control;
    const double *normal;      /* by point: n, bias */
    const double *arm_a;       /* by point: arm, mu */
    double *arm_b;             /* by point: arm, eta_t */
    const double *drift;       /* by point: four numbers, or none */
    const double *soft;        /* by point: C_n, C_t, or none */
    const u32 *sides;          /* by block: two bodies */
    const u32 *first_row;      /* by general block, and the number of rows */
    const u32 *kind;           /* by general block */
    const double *limits;      /* by general block: two numbers of its set */
    const double *jacobian;    /* by general row: 12 */
    const double *bias;        /* by general row */
    const double *compliance;  /* by general row, or none */
    const double *mass;        /* by body: 1/m, 0, xx, yy, zz, xy, xz, yz of I^-1 */
    const double *free;        /* by body: v, 0, w, 0 */
    const u32 *first_entry;    /* by body, and the number of entries */
    const u32 *first_general;  /* by body: its first entry that is not a point's */
    const u32 *entry;          /* 2 block + side, rising in each body's list */
    const u32 *first_part;     /* by body, and the number of parts; none where no list is long */
    const u32 *part;           /* by part of a long list of points: first entry, and the end */
    const u32 *first_value;    /* by row of an explicit matrix, and the number of its entries; or none */
    const u32 *column;         /* by entry */
    const double *value;       /* by entry */
    const u32 *block_of;       /* by row */
    const double *diagonal;    /* by block: g */
    const double *guess;       /* by row of the problem, or none */
    double *scale;             /* by block: eta_t, 1/eta_t, g, 0 */
    double *share;             /* by block: two numbers */
    double *gamma;             /* four places of 4 numbers a point, 1 a general row */
    double *force;             /* four places of 8 numbers a body */
    double *velocity;          /* four places of 8 numbers a body */
    double *ahead;             /* velocities at y: two places of 8 numbers a body */
    double *part_sums;         /* by part: force, 0, torque, 0 */
    double *block_sums;        /* by chunk of blocks: SUMS */
    double *body_sums;         /* by chunk of bodies: SUMS */
    double *rows;              /* by row of the problem: what goes back */
    u64 gamma_stride;          /* numbers of one place */
    u32 bodies, points, blocks, general_rows;
    u32 width, parts; /* numbers that a body has in force, velocity and ahead; parts of long lists */
};

/* Problems with an explicit matrix W have no bodies. Each of their rows takes the place of one, and (W gamma)_j that of its velocity: one number. All
 * blocks are general ones. */
INLINE int is_matrix(const struct args *p)
{
    return p->first_value != 0;
}

INLINE double *gamma_at(const struct args *p, u32 place)
{
    return p->gamma + (u64)place * p->gamma_stride;
}

INLINE double *force_at(const struct args *p, u32 place)
{
    return p->force + (u64)place * p->bodies * p->width;
}

INLINE double *velocity_at(const struct args *p, u32 place)
{
    return p->velocity + (u64)place * p->bodies * p->width;
}

INLINE double *ahead_at(const struct args *p, u32 place)
{
    return p->ahead + (u64)place * p->bodies * p->width;
}

/* Velocities at y. */
INLINE const double *velocity_ahead(const struct args *p, const struct control *c)
{
    return c->has_ahead ? ahead_at(p, c->ahead_place) : velocity_at(p, c->now);
}

INLINE u32 chunks_of(u32 items)
{
    return items / CHUNK + (items % CHUNK ? 1u : 0u);
}
