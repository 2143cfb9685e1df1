// Runs before the viewer has been read: the connection and the renderer, for which one waits, start meanwhile.

import { connect, PLAIN } from "./first.js";

const early = (globalThis.early = { messages: [], closed: false });
if (!document.getElementById("frames")) {
    early.socket = connect();
    early.socket.onmessage = (e) => early.messages.push(e);
    early.socket.onclose = () => { early.closed = true; };
}
early.context = document.getElementById("canvas").getContext("webgl2", PLAIN);
