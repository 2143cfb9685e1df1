// Messages to and from the program: what src/codec and src/command.rs of the crate write and read.

export const HELLO = 1, STAGE = 2, FRAME = 3, STATUS = 4, INPUTS = 5;
const KEY = 1, CONTACTS = 2;
const TURN = 1 / 32767;

const text = new TextDecoder();
const utf8 = new TextEncoder();

/** The number of each binary16. */
export const HALF = new Float32Array(65536);
{
    // The same sign and digits, another exponent.
    const bits = new Uint32Array(HALF.buffer);
    for (let i = 0; i < 32768; i++) {
        const e = i >> 10, m = i & 1023;
        if (e === 0) HALF[i] = m * 2 ** -24;
        else bits[i] = ((e === 31 ? 255 : e + 112) << 23) | (m << 13);
        bits[i + 32768] = bits[i] | 0x80000000;
    }
}

export const json = (bytes) => JSON.parse(text.decode(bytes.subarray(1)));

/** Reads little-endian numbers; running off the end throws a RangeError. */
class Reader {
    constructor(bytes) {
        this.bytes = bytes;
        this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        this.at = 0;
    }
    u8() { return this.view.getUint8(this.at++); }
    u16() { const x = this.view.getUint16(this.at, true); this.at += 2; return x; }
    i16() { const x = this.view.getInt16(this.at, true); this.at += 2; return x; }
    u32() { const x = this.view.getUint32(this.at, true); this.at += 4; return x; }
    i32() { const x = this.view.getInt32(this.at, true); this.at += 4; return x; }
    u64() { const low = this.u32(); return low + this.u32() * 4294967296; }
    f32() { const x = this.view.getFloat32(this.at, true); this.at += 4; return x; }
    f64() { const x = this.view.getFloat64(this.at, true); this.at += 8; return x; }
    f32s(n) { return Float32Array.from({ length: n }, () => this.f32()); }
    text() { const n = this.u8(); this.at += n; return text.decode(this.bytes.subarray(this.at - n, this.at)); }
    varint() {
        const b = this.bytes;
        let byte = b[this.at++], x = byte & 127, scale = 128;
        while (byte > 127) {
            byte = b[this.at++];
            if (byte === undefined) throw new RangeError("a message ends too early");
            x += (byte & 127) * scale;
            scale *= 128;
        }
        return x;
    }
    zigzag() {
        // Most are of a byte or two.
        const b = this.bytes, at = this.at, one = b[at], two = b[at + 1];
        if (one < 128) { this.at = at + 1; return (one >> 1) ^ -(one & 1); }
        if (two < 128) { this.at = at + 2; return (((one & 127) | (two << 7)) >> 1) ^ -(one & 1); }
        const x = this.varint();
        return x % 2 ? -(x + 1) / 2 : x / 2;
    }
    /** The numbers below n that are in a set. Valid until the next one is read. */
    set(n) {
        const blocks = (n + 63) >> 6, top = this.at;
        this.at += (blocks + 7) >> 3;
        if (!this.members || this.members.length < n) this.members = new Uint32Array(n);
        const { members, bytes, view } = this;
        let count = 0, at = this.at;
        for (let b = 0; b < blocks; b++) {
            if (!((bytes[top + (b >> 3)] >> (b & 7)) & 1)) continue;
            for (let first = 64 * b; first < 64 * b + 64; first += 32, at += 4) {
                let bits = view.getUint32(at, true);
                if (bits === 0xffffffff && first + 32 <= n) {
                    for (let k = 0; k < 32; k++) members[count++] = first + k;
                    continue;
                }
                while (bits) {
                    members[count++] = first + 31 - Math.clz32(bits & -bits);
                    bits &= bits - 1;
                }
            }
        }
        this.at = at;
        return members.subarray(0, count);
    }
}

/** Shapes, names and joints as far as they are known: grows by messages. */
export class Stage {
    constructor(epoch) {
        this.epoch = epoch;
        this.motions = [];
        this.geometries = [];
        // Pieces of bodies; plain balls, of which there may be a million, apart: bodies and radii.
        this.instances = [];
        this.balls = { n: 0, bodies: new Uint32Array(0), radii: new Float32Array(0) };
        this.names = new Map();
        this.joints = [];
        this.version = 0;
    }
    static epochOf(bytes) { return new Reader(bytes.subarray(1)).u32(); }
    add(bytes) {
        const r = new Reader(bytes);
        r.at = 5;
        r.u32();
        const motions = r.u32();
        for (let k = 0; k < motions; k++) this.motions.push(bytes[r.at + k]);
        r.at += motions;
        r.u32();
        for (let n = r.u32(); n > 0; n--) this.geometries.push(readGeometry(r));
        const balls = this.balls;
        for (let runs = r.u32(); runs > 0; runs--) {
            const first = r.u32(), count = r.u32(), radius = r.f32(), n = balls.n;
            balls.bodies = grown(balls.bodies, n + count);
            balls.radii = grown(balls.radii, n + count);
            for (let k = 0; k < count; k++) balls.bodies[n + k] = first + k;
            balls.radii.fill(radius, n, n + count);
            balls.n += count;
        }
        for (let n = r.u32(); n > 0; n--) {
            const body = r.u32(), geometry = r.u32(), flags = r.u8();
            const size = flags & 1 ? new Float32Array(3).fill(r.f32()) : r.f32s(3);
            const pose = flags & 2 ? r.f32s(7) : null;
            this.instances.push({ body, geometry, size, pose });
        }
        for (let n = r.u32(); n > 0; n--) {
            const body = r.u32();
            this.names.set(body, r.text());
        }
        for (let n = r.u32(); n > 0; n--) {
            this.joints.push({
                a: r.i32(), b: r.i32(), kind: r.text(), name: r.text(), at: [r.f32s(3), r.f32s(3)], axis: r.f32s(3),
            });
        }
        this.version++;
    }
}

function readGeometry(r) {
    const kind = ["ball", "box", "plane", "cylinder", "cone", "ellipsoid", "capsule", "mesh"][r.u8()];
    if (kind === "capsule") return { kind, radius: r.f32(), half: r.f32() };
    if (kind !== "mesh") return { kind };
    const smooth = r.u8() === 1, v = r.u32(), t = r.u32();
    const vertices = r.f32s(3 * v);
    return { kind, smooth, vertices, triangles: Uint32Array.from({ length: 3 * t }, () => r.u32()) };
}

/** What stands at the head of a frame: enough for plots. */
export function head(bytes) {
    const r = new Reader(bytes);
    r.at = 1;
    const flags = r.u8(), mask = r.u16(), epoch = r.u32(), index = r.u32(), step = r.u64(), time = r.f64();
    const bodies = r.u32(), quantum = r.f64(), numbers = r.f32s(r.u8());
    return { key: (flags & KEY) > 0, contacts: (flags & CONTACTS) > 0, mask, epoch, index, step, time, bodies, quantum, numbers, at: r.at };
}

/** Grows a typed array, keeping what is in it. */
function grown(array, length) {
    if (array.length >= length) return array;
    const more = new array.constructor(Math.max(length, Math.ceil(1.5 * array.length)));
    more.set(array);
    return more;
}

/** Reads frames one after the other; the bodies as they are then. */
export class Decoder {
    constructor(channels) {
        this.channels = channels;
        this.n = 0;
        this.x = new Int32Array(0);
        this.dx = new Int32Array(0);
        this.q = new Int16Array(0);
        this.dq = new Int16Array(0);
        this.alive = new Uint8Array(0);
        this.codes = channels.map(() => new Uint16Array(0));
        this.sent = 0;
        this.index = -1;
        this.head = null;
        this.contacts = null;
    }
    reset() {
        this.n = 0;
        for (const a of [this.x, this.dx, this.q, this.dq, this.alive, ...this.codes]) a.fill(0);
        this.sent = 0;
    }
    read(bytes) {
        const h = head(bytes);
        if (h.key) this.reset();
        const n = h.bodies;
        this.x = grown(this.x, 3 * n);
        this.dx = grown(this.dx, 3 * n);
        this.q = grown(this.q, 4 * n);
        this.dq = grown(this.dq, 4 * n);
        this.alive = grown(this.alive, n);
        this.codes = this.codes.map((c) => grown(c, n));
        this.n = n;
        const r = new Reader(bytes);
        r.at = h.at;
        r.members = this.members;
        const { x, dx, q, dq, alive } = this;
        const came = r.set(n).slice();
        for (let m = 0; m < came.length; m++) alive[came[m]] ^= 1;
        if (h.key) this.places(r, n);
        else {
            // Everybody goes on as before; what differs from that is told.
            for (let k = 0; k < 3 * n; k++) x[k] += dx[k];
            const moved = r.set(n);
            for (let m = 0; m < moved.length; m++) for (let k = 3 * moved[m], end = k + 3; k < end; k++) { const e = r.zigzag(); x[k] += e; dx[k] += e; }
            for (let k = 0; k < 4 * n; k++) q[k] += dq[k];
        }
        const turned = r.set(n);
        for (let m = 0; m < turned.length; m++) for (let k = 4 * turned[m], end = k + 4; k < end; k++) { const e = r.zigzag(); q[k] += e; dq[k] += e; }
        // Who has just come goes nowhere yet.
        if (came.length === n) { dx.fill(0); dq.fill(0); }
        else for (const i of came) { dx.fill(0, 3 * i, 3 * i + 3); dq.fill(0, 4 * i, 4 * i + 4); }
        for (let c = 0; c < this.channels.length; c++) {
            if (!((h.mask >> c) & 1)) continue;
            const codes = this.codes[c], set = r.set(n);
            for (let m = 0; m < set.length; m++) codes[set[m]] = r.u16();
        }
        this.members = r.members;
        this.sent = h.mask;
        this.contacts = h.contacts ? this.readContacts(r, h.quantum) : null;
        this.head = h;
        this.index = h.index;
        return this;
    }
    /** Places of a key frame: whole numbers, which pages and processors order alike, lowest byte first. */
    places(r, n) {
        const members = r.set(n), bytes = 12 * members.length;
        if (r.at + bytes > r.bytes.length) throw new RangeError("a message ends too early");
        const all = new Int32Array(r.bytes.slice(r.at, r.at + bytes).buffer), { x } = this;
        r.at += bytes;
        if (members.length === n) { x.set(all); return; }
        for (let m = 0; m < members.length; m++) for (let k = 0; k < 3; k++) x[3 * members[m] + k] = all[3 * m + k];
    }
    readContacts(r, quantum) {
        const all = r.varint(), shown = r.varint(), force = r.f32(), gap = r.f32();
        const c = {
            all, shown, a: new Uint32Array(shown), b: new Uint32Array(shown), point: new Float32Array(3 * shown),
            force: new Float32Array(3 * shown), gap: new Float32Array(shown),
        };
        for (let i = 0, a = 0; i < shown; i++) {
            a += r.varint();
            c.a[i] = a;
            c.b[i] = a + r.zigzag();
            for (let k = 0; k < 3; k++) c.point[3 * i + k] = (this.x[3 * a + k] + r.zigzag()) * quantum;
            for (let k = 0; k < 3; k++) c.force[3 * i + k] = r.i16() * force;
            c.gap[i] = r.i16() * gap;
        }
        return c;
    }
    /** Value of a channel, or NaN where it was not sent. */
    value(channel, i) {
        if (!((this.sent >> channel) & 1)) return NaN;
        const code = this.codes[channel][i];
        return this.channels[channel].name === "island" ? code : HALF[code];
    }
    /** Codes of a channel, by body, or null where it was not sent. */
    coded(channel) { return (this.sent >> channel) & 1 ? this.codes[channel] : null; }
    position(i, to = [0, 0, 0]) {
        const s = this.head.quantum;
        for (let k = 0; k < 3; k++) to[k] = this.x[3 * i + k] * s;
        return to;
    }
    rotation(i, to = [0, 0, 0, 1]) {
        let s = 0;
        for (let k = 0; k < 4; k++) { to[k] = this.q[4 * i + k] * TURN; s += to[k] * to[k]; }
        if (s > 0) for (let k = 0, l = 1 / Math.sqrt(s); k < 4; k++) to[k] *= l;
        else to[3] = 1;
        return to;
    }
}

/** Writes a command. */
function message(kind, size, fill) {
    const bytes = new Uint8Array(1 + size), view = new DataView(bytes.buffer);
    bytes[0] = kind;
    if (fill) fill(view, bytes);
    return bytes;
}

function vectors(view, at, ...all) {
    for (const v of all) for (const x of v) { view.setFloat32(at, x, true); at += 4; }
}

export const command = {
    want: (from, count) => message(2, 8, (v) => { v.setUint32(1, from, true); v.setUint32(5, count, true); }),
    ready: (channels, contacts) => message(3, 3, (v) => { v.setUint16(1, channels, true); v.setUint8(3, contacts ? 1 : 0); }),
    run: (on) => message(4, 1, (v) => v.setUint8(1, on ? 1 : 0)),
    step: (n) => message(5, 2, (v) => v.setUint16(1, n, true)),
    restart: () => message(6, 0),
    pace: (x) => message(7, 4, (v) => v.setFloat32(1, x, true)),
    set: (name, value) => {
        const [a, b] = [name, value].map((t) => utf8.encode(t).subarray(0, 255));
        return message(8, 2 + a.length + b.length, (v, bytes) => {
            bytes[1] = a.length;
            bytes.set(a, 2);
            bytes[2 + a.length] = b.length;
            bytes.set(b, 3 + a.length);
        });
    },
    control: (number, value) => message(9, 6, (v) => { v.setUint16(1, number, true); v.setFloat32(3, value, true); }),
    drag: (body, point, to) => message(10, 28, (v) => { v.setUint32(1, body, true); vectors(v, 5, point, to); }),
    release: () => message(11, 0),
    add: (cube, size, at, velocity) => message(12, 29, (v) => {
        v.setUint8(1, cube ? 1 : 0);
        v.setFloat32(2, size, true);
        vectors(v, 6, at, velocity);
    }),
    inputs: () => message(13, 0),
    gravity: (g) => message(14, 12, (v) => vectors(v, 1, g)),
};
