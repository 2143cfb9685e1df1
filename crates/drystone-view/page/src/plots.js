// Small plots with a cursor that is linked to time.

import { show } from "./colour.js";

/** Lines over time on a canvas. `series`: [{ name, colour, values }], `times` for all of them. */
export class Plot {
    constructor(title, unit, options = {}) {
        this.title = title;
        this.unit = unit;
        this.log = options.log ?? false;
        this.mark = options.mark ?? null;
        this.onSeek = options.onSeek ?? null;
        this.times = [];
        this.series = [];
        this.at = 0;
        this.element = document.createElement("figure");
        this.element.className = "plot";
        this.caption = document.createElement("figcaption");
        this.canvas = document.createElement("canvas");
        this.element.append(this.caption, this.canvas);
        const seek = (e) => {
            if (!this.onSeek || !this.span) return;
            const box = this.canvas.getBoundingClientRect(), t = (e.clientX - box.left - this.left) / (box.width - this.left - 4);
            this.onSeek(this.span[0] + Math.min(1, Math.max(0, t)) * (this.span[1] - this.span[0]));
        };
        this.canvas.addEventListener("pointerdown", (e) => { this.canvas.setPointerCapture(e.pointerId); seek(e); });
        this.canvas.addEventListener("pointermove", (e) => { if (e.buttons) seek(e); });
        this.left = 44;
    }
    set(times, series, at) {
        this.times = times;
        this.series = series;
        this.at = at;
        this.draw();
    }
    draw() {
        if (!this.element.isConnected || this.element.offsetParent === null) return;
        const style = getComputedStyle(this.element), ink = style.getPropertyValue("--ink-2"), rule = style.getPropertyValue("--rule");
        const ratio = devicePixelRatio || 1, w = this.canvas.clientWidth, h = this.canvas.clientHeight;
        if (!w) return;
        this.canvas.width = Math.round(w * ratio);
        this.canvas.height = Math.round(h * ratio);
        const c = this.canvas.getContext("2d"), n = this.times.length;
        c.scale(ratio, ratio);
        c.font = "10px system-ui, sans-serif";
        const value = (x) => (this.log ? Math.log10(Math.max(x, 1e-16)) : x);
        let low = Infinity, high = -Infinity;
        for (const s of this.series) for (let i = 0; i < n; i++) {
            const x = s.values[i];
            if (!isFinite(x) || (this.log && x <= 0)) continue;
            low = Math.min(low, value(x));
            high = Math.max(high, value(x));
        }
        if (this.mark !== null) { low = Math.min(low, value(this.mark)); high = Math.max(high, value(this.mark)); }
        const now = this.index();
        this.caption.replaceChildren();
        const title = document.createElement("span");
        title.textContent = this.title;
        this.caption.append(title);
        for (const s of this.series) {
            const key = document.createElement("span");
            key.className = "key";
            key.style.setProperty("--key", s.colour);
            key.textContent = `${this.series.length > 1 ? s.name + " " : ""}${show(s.values[now] ?? NaN, this.unit)}`;
            this.caption.append(key);
        }
        if (!(high >= low)) return;
        if (high === low) { high += this.log ? 1 : Math.abs(high) * 0.1 || 1; low -= this.log ? 1 : Math.abs(low) * 0.1 || 0; }
        const span = [this.times[0], Math.max(this.times[n - 1], this.times[0] + 1e-9)];
        this.span = span;
        const left = this.left, X = (t) => left + ((t - span[0]) / (span[1] - span[0])) * (w - left - 4);
        const Y = (v) => h - 14 - ((v - low) / (high - low)) * (h - 20);
        c.strokeStyle = rule;
        c.fillStyle = ink;
        c.lineWidth = 1;
        c.textAlign = "right";
        c.textBaseline = "middle";
        for (const v of ticks(low, high, this.log)) {
            c.beginPath();
            c.moveTo(left, Math.round(Y(v)) + 0.5);
            c.lineTo(w - 4, Math.round(Y(v)) + 0.5);
            c.stroke();
            c.fillText(this.log ? `1e${Math.round(v)}` : show(v), left - 5, Y(v));
        }
        c.textAlign = "left";
        c.fillText(show(span[0]), left, h - 5);
        c.textAlign = "right";
        c.fillText(`${show(span[1])} s`, w - 4, h - 5);
        if (this.mark !== null) {
            c.setLineDash([4, 3]);
            c.strokeStyle = ink;
            c.beginPath();
            c.moveTo(left, Y(value(this.mark)));
            c.lineTo(w - 4, Y(value(this.mark)));
            c.stroke();
            c.setLineDash([]);
        }
        c.save();
        c.beginPath();
        c.rect(left, 0, w - left, h - 12);
        c.clip();
        for (const s of this.series) this.line(c, s, X, Y, value, n, w);
        c.restore();
        const x = X(this.at);
        c.strokeStyle = style.getPropertyValue("--accent");
        c.beginPath();
        c.moveTo(x, 2);
        c.lineTo(x, h - 14);
        c.stroke();
    }
    /** A line; of many points in one column of pixels, the least and the greatest. */
    line(c, s, X, Y, value, n, w) {
        c.strokeStyle = s.colour;
        c.lineWidth = 1.5;
        c.beginPath();
        let column = -1, low = 0, high = 0, begun = false;
        const flush = () => { if (column >= 0 && low !== high) { c.moveTo(column, Y(low)); c.lineTo(column, Y(high)); c.moveTo(column, Y(high)); } };
        for (let i = 0; i < n; i++) {
            const v = s.values[i];
            if (!isFinite(v) || (this.log && v <= 0)) { begun = false; continue; }
            const y = value(v), x = n > 2 * w ? Math.round(X(this.times[i])) : X(this.times[i]);
            if (x === column) { low = Math.min(low, y); high = Math.max(high, y); continue; }
            flush();
            if (begun) c.lineTo(x, Y(y)); else c.moveTo(x, Y(y));
            begun = true;
            column = x;
            low = high = y;
        }
        flush();
        c.stroke();
    }
    /** The last time not after the cursor. */
    index() {
        let a = 0, b = this.times.length;
        while (b - a > 1) { const m = (a + b) >> 1; if (this.times[m] <= this.at + 1e-12) a = m; else b = m; }
        return a;
    }
}

function ticks(low, high, log) {
    if (log) {
        const from = Math.ceil(low), to = Math.floor(high), by = Math.max(1, Math.ceil((to - from) / 4));
        return Array.from({ length: Math.max(0, Math.floor((to - from) / by) + 1) }, (_, k) => from + k * by);
    }
    const rough = (high - low) / 3, decade = 10 ** Math.floor(Math.log10(rough));
    const by = [1, 2, 5, 10].map((m) => m * decade).find((t) => t >= rough) ?? rough;
    const all = [];
    for (let v = Math.ceil(low / by) * by; v <= high + 1e-9 * by; v += by) all.push(Math.abs(v) < 1e-9 * by ? 0 : v);
    return all;
}
