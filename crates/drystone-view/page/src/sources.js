// Where messages come from: the program's socket, or the document itself.

import { connect } from "./first.js";
import { FRAME, HELLO, INPUTS, STAGE, STATUS, Stage, command, head, json } from "./protocol.js";

/** Frames asked for at a time. */
const PORTION = 64;

/** Sorts messages and keeps frames. Calls back: hello, stage, frame, live, status, inputs, closed. */
class Source {
    constructor(on) {
        this.on = on;
        this.frames = [];
        this.heads = [];
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
        this.frames[h.index] = bytes;
        this.heads[h.index] = h;
        this.on.frame(h.index);
    }
    status(s) { this.on.status(s); }
    send() {}
}

/** The program. */
export class SocketSource extends Source {
    constructor(on) {
        super(on);
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
    status(s) {
        // It has ended here once all of it is here.
        if (s.next !== undefined) this.end = s.next < s.count ? null : s.end ?? null;
        super.status(s);
        if (s.next === undefined) return;
        if (s.next < s.count) this.send(command.want(s.next, PORTION));
        else if (this.end === null) setTimeout(() => this.send(command.want(s.next, PORTION)), 100);
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
