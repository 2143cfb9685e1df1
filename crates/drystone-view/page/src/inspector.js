// One body, or the contact between two: its state now and over time; and pulling it.

import { show } from "./colour.js";
import { fill } from "./dom.js";
import { Plot } from "./plots.js";
import { command, Decoder } from "./protocol.js";

const $ = (id) => document.getElementById(id);

export class Inspector {
    constructor(app) {
        this.app = app;
        this.body = null;
        this.other = null;
        this.pulled = null;
        this.clear();
        this.plots = [["height", "m"], ["speed", "m/s"], ["force", "weights"], ["overlap", "% of radius"]].map(([name, unit]) => new Plot(name, unit, { onSeek: (t) => { if (!app.live) app.seek(t); } }));
        $("history").append(...this.plots.map((p) => p.element));
        const canvas = $("canvas");
        let down = null;
        canvas.addEventListener("pointerdown", (e) => {
            down = { x: e.clientX, y: e.clientY };
            if (app.live && e.button === 0 && e.isPrimary && !e.shiftKey && !e.ctrlKey) this.grab(e);
        }, { capture: true });
        canvas.addEventListener("pointermove", (e) => { if (this.pulled?.pointer === e.pointerId) this.pull(e); }, { capture: true });
        const up = (e) => {
            if (this.pulled?.pointer === e.pointerId) this.release();
            if (down && Math.hypot(e.clientX - down.x, e.clientY - down.y) < 4 && e.type === "pointerup") this.click(e);
            down = null;
        };
        canvas.addEventListener("pointerup", up, { capture: true });
        canvas.addEventListener("pointercancel", up, { capture: true });
        $("next").addEventListener("click", () => this.step(1));
        $("previous").addEventListener("click", () => this.step(-1));
        $("contact").addEventListener("click", () => this.stepContact(1));
        $("unpick").addEventListener("click", () => this.pick(null));
        $("follow").addEventListener("click", () => app.setFollow(!app.following));
        for (const b of document.querySelectorAll("[data-pull]")) {
            const d = b.dataset.pull.split(" ").map(Number);
            const begin = () => {
                if (this.body === null) return;
                const p = app.decoder.position(this.body), reach = 3 * Math.max(app.view.radii[this.body], 0.02 * app.view.size);
                app.source.send(command.drag(this.body, [0, 0, 0], p.map((x, k) => x + reach * d[k])));
            };
            const end = () => app.source.send(command.release());
            b.addEventListener("pointerdown", begin);
            b.addEventListener("pointerup", end);
            b.addEventListener("keydown", (e) => { if ((e.code === "Space" || e.code === "Enter") && !e.repeat) begin(); });
            b.addEventListener("keyup", end);
            b.addEventListener("blur", end);
        }
    }
    /** `next`: the first frame that has not been read for it; `late`: one before that has come since. */
    clear() { this.history = { times: [], rows: [], next: 0, late: false, busy: false }; }

    click(e) {
        const { app } = this, contact = app.view.pickContact(app.decoder, e.clientX, e.clientY), hit = app.view.pick(e.clientX, e.clientY);
        if (contact) this.pick(contact.a, contact.b);
        else this.pick(hit ? hit.body : null);
    }
    pick(body, other = null) {
        this.body = body;
        this.other = other;
        this.clear();
        if (body === null) { this.app.following = false; this.app.buttons(); }
        else if (!document.body.classList.contains("live")) this.app.tab("body");
        else if (this.app.info.controls.length === 0) this.app.tab("body");
        if (this.app.live) this.app.ask();
        this.app.redraw();
        this.look();
    }
    /** The next body that moves. */
    step(by) {
        const { decoder: d, source } = this.app, n = d.n;
        if (!n) return;
        let i = this.body ?? (by > 0 ? -1 : 0);
        for (let k = 0; k < n; k++) {
            i = (i + by + n) % n;
            if (d.alive[i] && (source.stage.motions[i] & 3) !== 3) { this.pick(i); this.app.tab("body"); return; }
        }
    }

    /** The next contact of the body, the strongest first; of none, the strongest of all. */
    stepContact(by) {
        const c = this.app.decoder.contacts, forces = new Map();
        for (let k = 0; c && k < c.shown; k++) {
            const a = c.a[k], b = c.b[k];
            if (this.body !== null && a !== this.body && b !== this.body) continue;
            const pair = this.body === b ? [b, a] : [a, b], key = pair.join(" "), known = forces.get(key) ?? { pair, sum: [0, 0, 0] };
            for (let j = 0; j < 3; j++) known.sum[j] += c.force[3 * k + j];
            forces.set(key, known);
        }
        const list = [...forces.values()].sort((x, y) => Math.hypot(...y.sum) - Math.hypot(...x.sum)), n = list.length;
        if (!n) { if (this.body === null) this.step(by); return; }
        const at = list.findIndex(({ pair }) => pair[1] === this.other && pair[0] === this.body);
        this.pick(...list[at < 0 ? (by > 0 ? 0 : n - 1) : (at + by + n) % n].pair);
        this.app.tab("body");
    }

    /** Values of the body in a decoded frame: height, speed, force, overlap. */
    row(d) {
        const i = this.body, at = (name) => d.value(this.app.info.channels.findIndex((c) => c.name === name), i);
        if (i >= d.n || !d.alive[i]) return [NaN, NaN, NaN, NaN];
        const row = [d.position(i)[2], at("speed"), at("force"), at("overlap")];
        const pair = this.other === null ? null : this.pair(d);
        if (pair) row[2] = pair.force;
        return row;
    }
    /** Sum of the forces between the two bodies of a picked contact, N. */
    pair(d) {
        const c = d.contacts, sum = [0, 0, 0];
        let count = 0, gap = Infinity;
        for (let k = 0; c && k < c.shown; k++) {
            if (!((c.a[k] === this.body && c.b[k] === this.other) || (c.a[k] === this.other && c.b[k] === this.body))) continue;
            count++;
            gap = Math.min(gap, c.gap[k]);
            for (let j = 0; j < 3; j++) sum[j] += c.force[3 * k + j];
        }
        return { count, gap, force: Math.hypot(...sum) };
    }
    /** A live moment. */
    note() {
        if (this.body === null) return;
        const { times, rows } = this.history, t = this.app.time;
        if (times.length && t <= times[times.length - 1]) return;
        times.push(t);
        rows.push(this.row(this.app.decoder));
        if (times.length > 4000) { times.splice(0, 1000); rows.splice(0, 1000); }
    }
    /** Goes through the frames of a run that it has not seen, a little at a time, for the body's history. */
    async look() {
        const { app, history } = this, { frames } = app.source;
        if (this.body === null || app.live || history.busy || history.next >= frames.length) return;
        history.busy = true;
        const d = (history.decoder ??= new Decoder(app.info.channels));
        let pause = performance.now();
        for (; history.next < frames.length; history.next++) {
            // What comes after a gap begins with a key frame.
            if (!frames[history.next]) continue;
            d.read(frames[history.next]);
            history.times.push(d.head.time);
            history.rows.push(this.row(d));
            if (performance.now() - pause > 12) {
                this.draw();
                await new Promise((done) => setTimeout(done, 4));
                if (history !== this.history) return;
                pause = performance.now();
            }
        }
        history.busy = false;
        this.draw();
    }
    /** What has come lately: on from there; where it fills a gap, once nothing is missing, from the start. */
    more() {
        const { source } = this.app;
        if (this.history.late && source.loaded >= source.count) this.clear();
        this.look();
    }

    show() {
        const { app } = this, d = app.decoder, i = this.body, stage = app.source.stage;
        $("pulls").hidden = !app.live || i === null;
        $("pick-note").hidden = i !== null;
        if (i === null || i >= d.n) { fill($("facts"), []); this.draw(); return; }
        const at = (name) => d.value(app.info.channels.findIndex((c) => c.name === name), i);
        const motion = ["", "dynamic", "kinematic", "static"][stage.motions[i] & 3], p = d.position(i).map((x) => Number(x.toPrecision(4)));
        if (this.shapesOf !== i) {
            this.shapesOf = i;
            const kinds = stage.instances.filter((x) => x.body === i).map((x) => stage.geometries[x.geometry].kind);
            if (stage.balls.bodies.subarray(0, stage.balls.n).includes(i)) kinds.push("ball");
            this.shapes = [...new Set(kinds)];
        }
        const { shapes } = this;
        const name = (b) => stage.names.get(b) ?? `body ${b}`, c = d.contacts;
        let touching = 0;
        for (let k = 0; c && k < c.shown; k++) if (c.a[k] === i || c.b[k] === i) touching++;
        const residual = at("residual");
        const rows = [
            ["body", stage.names.has(i) ? `${stage.names.get(i)} (${i})` : `${i}`], ["is", `${motion}, ${shapes.join(", ") || "without shape"}`],
            ["position", `${p.join(", ")} m`], ["speed", show(at("speed"), "m/s")], ["contact force", show(at("force"), "weights")],
            ["deepest overlap", show(at("overlap"), "% of radius")], ["residual", residual > -29 ? show(10 ** residual, "m/s") : "–"],
            ["island", show(at("island"))], ["contacts", String(touching)],
        ];
        if (this.other !== null) {
            const pair = this.pair(d);
            rows.unshift(["contact", `${name(i)} – ${name(this.other)}`], ["points", String(pair.count)], ["force between", show(pair.force, "N")], ["least gap", show(pair.gap, "m")]);
        }
        fill($("facts"), rows);
        this.draw();
    }
    draw() {
        const visible = this.body !== null;
        $("history").hidden = !visible;
        if (!visible) return;
        const { times, rows } = this.history;
        this.plots.forEach((plot, k) => {
            if (k === 2) [plot.title, plot.unit] = this.other === null ? ["contact force", "weights"] : ["force between", "N"];
            plot.set(times, [{ name: plot.title, colour: "#3b82c4", values: rows.map((r) => r[k]) }], this.app.time);
        });
    }

    // --- pulling with the pointer ---

    grab(e) {
        const { app } = this, hit = app.view.pick(e.clientX, e.clientY, true);
        if (!hit) return;
        e.stopImmediatePropagation();
        $("canvas").setPointerCapture(e.pointerId);
        $("canvas").focus({ preventScroll: true });
        const d = app.decoder, c = d.position(hit.body), q = d.rotation(hit.body), v = hit.point.map((x, k) => x - c[k]);
        const inverse = [-q[0], -q[1], -q[2], q[3]];
        this.pulled = { pointer: e.pointerId, body: hit.body, local: rotate(inverse, v), through: hit.point };
        this.pull(e);
    }
    pull(e) {
        e.stopImmediatePropagation();
        const { app } = this, p = this.pulled, to = app.view.onPlane(e.clientX, e.clientY, p.through);
        if (!to) return;
        p.to = to;
        this.drawPull();
        app.source.send(command.drag(p.body, p.local, to));
    }
    /** The spring, from where its body is now. */
    drawPull() {
        const { app, pulled: p } = this, d = app.decoder;
        if (!p?.to) return;
        if (p.body >= d.n || !d.alive[p.body]) { this.release(); return; }
        const c = d.position(p.body), v = rotate(d.rotation(p.body), p.local);
        app.view.drawPull(c.map((x, k) => x + v[k]), p.to);
    }
    release() {
        this.pulled = null;
        this.app.view.drawPull(null);
        this.app.source.send(command.release());
    }
}

function rotate([x, y, z, w], v) {
    const t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])];
    return [v[0] + w * t[0] + y * t[2] - z * t[1], v[1] + w * t[1] + z * t[0] - x * t[2], v[2] + w * t[2] + x * t[1] - y * t[0]];
}
