// Colours of values and kinds.

/** Oklab to sRGB bytes. */
function oklab(L, a, b) {
    const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const light = [
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
    return light.map((c) => {
        c = Math.min(1, Math.max(0, c));
        return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
    });
}

/** From dark violet over teal to yellow, evenly lighter: 256 entries of three bytes. */
export const MAP = new Uint8Array(768);
const STOPS = [[0.4, 0.05, -0.14], [0.49, -0.01, -0.13], [0.58, -0.1, -0.03], [0.73, -0.13, 0.08], [0.85, -0.08, 0.15], [0.95, -0.02, 0.17]];
for (let i = 0; i < 256; i++) {
    const t = (i / 255) * (STOPS.length - 1), k = Math.min(STOPS.length - 2, Math.floor(t)), f = t - k;
    MAP.set(oklab(...[0, 1, 2].map((c) => STOPS[k][c] * (1 - f) + STOPS[k + 1][c] * f)), 3 * i);
}

/** Kinds that the common forms of colour blindness keep apart (Okabe and Ito), then hues by the golden angle. */
const PALETTE = [[86, 180, 233], [230, 159, 0], [0, 158, 115], [204, 121, 167], [240, 228, 66], [0, 114, 178], [213, 94, 0]];

export function kindColour(i) {
    if (i < PALETTE.length) return PALETTE[i];
    return hueColour(i);
}

export function hueColour(i) {
    const angle = i * 2.399963, L = 0.62 + 0.16 * ((i * 0.618034) % 1);
    return oklab(L, 0.13 * Math.cos(angle), 0.13 * Math.sin(angle));
}

export const STONE = [163, 158, 150];

/** A round number at or above x. */
export function nice(x) {
    if (!(x > 0) || !isFinite(x)) return 1;
    const decade = 10 ** Math.floor(Math.log10(x));
    return [1, 2, 5, 10].map((m) => m * decade).find((t) => t >= x * (1 - 1e-9)) ?? x;
}

/** A number with its unit, short enough for a panel. */
export function show(x, unit = "") {
    if (!isFinite(x)) return "–";
    const a = Math.abs(x);
    let body;
    if (a === 0) body = "0";
    else if (a >= 1e5 || a < 1e-3) body = x.toExponential(2).replace("e+", "e");
    else if (Number.isInteger(x)) body = String(x);
    else body = String(Number(x.toPrecision(4)));
    return unit ? `${body} ${unit}` : body;
}
