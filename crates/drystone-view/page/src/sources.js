// Where messages come from: the program's socket, or the document itself.

import { connect } from "./first.js";
import { FRAME, HELLO, INPUTS, STAGE, STATUS, Stage, command, head, json } from "./protocol.js";

/** Frames asked for at a time. */
const PORTION = 64;

/** Sorts messages and keeps frames. Calls back: hello, stage, frame, live, status, inputs, closed. */
class Source {
    constructor(on) {
        this.on = on;
        // By number; of a long run that is looked at before it is here, with gaps.
        this.frames = [];
        this.heads = [];
        this.loaded = 0;
        // Frames that there are, here or not yet.
        this.count = 0;
        this.bytes = 0;
        this.stage = null;
        this.end = null;
    }
    take(bytes) {
        switch (bytes[0]) {
            case HELLO:
                this.hello = json(bytes);
                this.on.hello(this.hello);
                break;
            case STAGE: {
                const epoch = Stage.epochOf(bytes);
                if (this.stage?.epoch !== epoch) this.stage = new Stage(epoch);
                this.stage.add(bytes);
                this.on.stage(this.stage);
                break;
            }
            case FRAME: this.frame(bytes); break;
            case STATUS: this.status(json(bytes)); break;
            case INPUTS: this.on.inputs(new Blob([bytes.subarray(1)], { type: "application/json" })); break;
        }
    }
    frame(bytes) {
        this.bytes += bytes.length;
        if (this.hello.live) {
            this.on.live(bytes);
            return;
        }
        const h = head(bytes);
        if (!this.frames[h.index]) this.loaded++;
        this.frames[h.index] = bytes;
        this.heads[h.index] = h;
        this.count = Math.max(this.count, h.index + 1);
        this.on.frame(h.index);
    }
    key(i) { return i - (i % this.hello.key_every); }
    /** Whether frame number i can be read: it is here, and so are those between it and its key frame. */
    has(i) {
        for (let k = this.key(i); k <= i; k++) if (!this.frames[k]) return false;
        return true;
    }
    /** Asks for frame number i before others. */
    fetch() {}
    status(s) { this.on.status(s); }
    send() {}
}

/** The program. */
export class SocketSource extends Source {
    constructor(on) {
        super(on);
        this.wish = null;
        const early = globalThis.early;
        this.socket = early?.socket ?? connect();
        this.socket.onmessage = (e) => this.take(new Uint8Array(e.data));
        this.socket.onclose = () => on.closed();
        // What has come before, once whoever asked for this source has it.
        queueMicrotask(() => {
            early?.messages.splice(0).forEach((e) => this.take(new Uint8Array(e.data)));
            if (early?.closed) on.closed();
        });
    }
    send(bytes) { if (this.socket.readyState === 1) this.socket.send(bytes); }
    fetch(i) { this.wish = i; }
    status(s) {
        if (s.next === undefined) { super.status(s); return; }
        this.count = s.count;
        // It has ended here once all of it is here.
        const whole = this.loaded >= s.count;
        this.end = whole ? s.end ?? null : null;
        super.status(s);
        if (whole && this.end === null) setTimeout(() => this.send(command.want(s.count, PORTION)), 100);
        if (whole) return;
        // First what is waited for; then on from there, and at the end what was left out.
        if (this.wish !== null && this.has(this.wish)) this.wish = null;
        let from = this.gap(this.wish === null ? s.next : this.key(this.wish));
        if (from >= s.count) from = this.gap(0);
        let to = from;
        while (to < s.count && to - from < PORTION && !this.frames[to]) to++;
        const ask = () => this.send(command.want(from, to - from)), again = from === this.asked;
        this.asked = from;
        // What did not come once may be damaged.
        if (again) setTimeout(ask, 1000);
        else ask();
    }
    /** The first frame from number i on that is not here. */
    gap(i) {
        while (this.frames[i]) i++;
        return i;
    }
}

/** Messages packed into the document. */
export class DocumentSource extends Source {
    constructor(on, element) {
        super(on);
        this.end = "";
        this.unpack(element.textContent.trim());
    }
    async unpack(text) {
        const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
        const all = new Uint8Array(await new Response(stream).arrayBuffer()), view = new DataView(all.buffer);
        for (let at = 0; at + 4 <= all.length;) {
            const n = view.getUint32(at, true);
            this.take(all.subarray(at + 4, at + 4 + n));
            at += 4 + n;
        }
        this.on.status({ count: this.frames.length, end: "" });
    }
}
