/* Projections on sets of multipliers. */

/* The point of the cone nearest to `along` n + `across` in the metric that counts lengths along the normal kappa times less
 * [docs/decisions/0019]; `across` is orthogonal to n. */
INLINE v3 project_parts(double along, v3 across, v3 n, double mu, double kappa)
{
    double r = sqrt(dot(across, across)), pull = kappa * mu;
    if (pull * r <= -along)
        return vec(0.0, 0.0, 0.0);
    if (r <= mu * along)
        return plus(times(along, n), across);
    double pressed = (along + pull * r) / (1.0 + pull * mu);
    double share = r > 0.0 ? mu * pressed / r : 0.0;
    return plus(times(pressed, n), times(share, across));
}

/* The same for rows (normal, tangents): x is replaced. [TasoraAnitescu2011, eq. 45-46] */
INLINE void project_friction(double mu, double *x, u32 rows)
{
    double square = 0.0;
    for (u32 k = 1; k < rows; k++)
        square += x[k] * x[k];
    double r = sqrt(square), along = x[0];
    if (mu * r <= -along) {
        for (u32 k = 0; k < rows; k++)
            x[k] = 0.0;
        return;
    }
    if (r <= mu * along)
        return;
    double pressed = (mu * r + along) / (mu * mu + 1.0);
    double share = r > 0.0 ? mu * pressed / r : 0.0;
    x[0] = pressed;
    for (u32 k = 1; k < rows; k++)
        x[k] *= share;
}

INLINE double positive(double x)
{
    return x > 0.0 ? x : 0.0;
}

/* Two tangential parts that share one normal: the root of a rising, piecewise linear function of the normal part. */
INLINE void project_rolling(double mu, double mu_r, double *x)
{
    double t = sqrt(x[1] * x[1] + x[2] * x[2]), m = sqrt(x[3] * x[3] + x[4] * x[4]), along = x[0];
    if (along + mu * t + mu_r * m <= 0.0) {
        for (u32 k = 0; k < 5u; k++)
            x[k] = 0.0;
        return;
    }
    double end_t = t > 0.0 ? t / mu : 0.0, end_m = m > 0.0 ? m / mu_r : 0.0;
    double slope_t = end_t - along - mu * positive(t - mu * end_t) - mu_r * positive(m - mu_r * end_t);
    double slope_m = end_m - along - mu * positive(t - mu * end_m) - mu_r * positive(m - mu_r * end_m);
    double top = along, bottom = 1.0;
    if (!(is_finite(end_t) && slope_t <= 0.0)) {
        top += mu * t;
        bottom += mu * mu;
    }
    if (!(is_finite(end_m) && slope_m <= 0.0)) {
        top += mu_r * m;
        bottom += mu_r * mu_r;
    }
    double n = positive(top / bottom), most_t = mu * n, most_m = mu_r * n;
    x[0] = n;
    if (t > most_t) {
        x[1] *= most_t / t;
        x[2] *= most_t / t;
    }
    if (m > most_m) {
        x[3] *= most_m / m;
        x[4] *= most_m / m;
    }
}

/* Replaces x by the nearest point of a general block's set. */
INLINE void project_set(u32 kind, double a, double b, double *x)
{
    switch (kind) {
    case NON_NEGATIVE:
        x[0] = positive(x[0]);
        break;
    case INTERVAL:
        x[0] = x[0] < a ? a : x[0] > b ? b : x[0];
        break;
    case FRICTION2:
        project_friction(a, x, 2u);
        break;
    case FRICTION3:
        project_friction(a, x, 3u);
        break;
    case ROLLING5:
        project_rolling(a, b, x);
        break;
    default:
        break;
    }
}

/* Two unit vectors that complete n to a right-handed frame [Duff2017]. */
INLINE void frame(v3 n, v3 *t1, v3 *t2)
{
    double sign = copysign(1.0, n.z);
    double a = -1.0 / (sign + n.z), b = n.x * n.y * a;
    *t1 = vec(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x);
    *t2 = vec(b, sign + n.y * n.y * a, -n.y);
}
