// What the page does first, and both of its programs know.

export const VERSION = 2;

/** What is said first: the version, and to send the first frame, which a live run passes over. */
export const FIRST = [Uint8Array.of(1, VERSION & 255, VERSION >> 8), Uint8Array.of(2, 0, 0, 0, 0, 1, 0, 0, 0)];

/** Of the drawing that is tried first. */
export const PLAIN = { alpha: true, depth: true, stencil: false, premultipliedAlpha: true, powerPreference: "high-performance", antialias: false };

export function connect() {
    const address = new URL("socket" + location.search, location.href);
    address.protocol = "ws:";
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => FIRST.forEach((m) => socket.send(m));
    return socket;
}
