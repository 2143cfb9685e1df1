// The viewer: puts picture, panels, time and program together.

import { hueColour, kindColour, MAP, nice, show, STONE } from "./colour.js";
import { fill } from "./dom.js";
import { Driver } from "./drive.js";
import { Inspector } from "./inspector.js";
import { bindKeys } from "./keys.js";
import { Plot } from "./plots.js";
import { command, Decoder, HALF, head } from "./protocol.js";
import { DocumentSource, SocketSource } from "./sources.js";
import { View3D } from "./view3d.js";

const $ = (id) => document.getElementById(id);
const LINES = ["#3b82c4", "#d9822b", "#2a9d6f", "#b05fa3", "#888"];

class App {
    constructor() {
        this.index = -1;
        // The frame that is waited for, if it is not here yet.
        this.goal = null;
        this.time = 0;
        this.playing = false;
        this.speed = 1;
        this.loop = false;
        this.colour = "speed";
        this.scales = {};
        this.tints = new Uint8Array(0);
        this.fitted = false;
        this.liveNumbers = { times: [], all: [] };
        // Moments of a live run that have come since the last picture.
        this.pending = [];
        this.driver = new Driver((bytes) => this.source.send(bytes));
        this.timings = { drawn: 0, script: performance.now() };
        const on = {
            hello: (h) => { this.timings.hello = performance.now(); this.hello(h); },
            stage: () => { this.stale = true; },
            frame: (i) => this.arrived(i),
            live: (bytes) => this.pending.push(bytes),
            status: (s) => this.status(s),
            inputs: (blob) => save(blob, `${this.info.name}-inputs.json`),
            closed: () => {
                this.say("the program has ended: this page shows what it was sent", true);
                this.goal = null;
                this.redraw();
            },
        };
        // Frames come while the renderer starts.
        const packed = $("frames");
        this.source = packed ? new DocumentSource(on, packed) : new SocketSource(on);
        this.view = new View3D($("canvas"));
        this.timings.view = performance.now();
        this.inspector = new Inspector(this);
        this.bind();
        const preferred = () => this.theme(localStorageGet("drystone-theme"));
        preferred();
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", preferred);
        new ResizeObserver(() => this.resize()).observe($("stage"));
        this.resize();
        this.last = performance.now();
        const tick = (now) => { this.tick(now); requestAnimationFrame(tick); };
        requestAnimationFrame(tick);
    }

    // --- from the program ---

    hello(h) {
        const again = this.info !== undefined;
        this.info = h;
        this.live = h.live;
        document.body.classList.toggle("live", h.live);
        document.title = `${h.name} · drystone`;
        $("name").textContent = h.name;
        $("title").textContent = h.title;
        $("state").textContent = h.live ? "live" : "loading";
        this.decoder = new Decoder(h.channels);
        this.pending.length = 0;
        if (this.inspector.pulled) this.inspector.release();
        const options = [...h.channels.map((c) => c.name), "kind"];
        $("colour").replaceChildren(...options.map((name) => new Option(name, name)));
        if (!options.includes(this.colour)) this.colour = options[0];
        $("colour").value = this.colour;
        this.liveNumbers = { times: [], all: [] };
        this.makePlots();
        const said = h.notes ?? [];
        $("notes").hidden = !said.length;
        $("notes").querySelector("ul").replaceChildren(...said.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
        if (h.live) {
            this.driver.setControls(h.controls, $("controls"));
            this.makeParameters(h.parameters);
            $("gravity").value = 1;
            $("gravity-value").textContent = "1 ×";
            document.querySelector('[role=tab][data-tab="drive"]').hidden = false;
            if (!again) {
                this.playing = true;
                if (h.controls.length) this.tab("drive");
            }
            this.index = -1;
            this.ask();
        }
        this.buttons();
    }

    ask() {
        const all = this.inspector.body !== null;
        const wanted = all ? 0xffff : 1 << Math.max(0, this.info.channels.findIndex((c) => c.name === this.colour));
        this.source.send(command.ready(wanted, this.view.forces.mode !== "off" || all));
    }

    arrived(i) {
        const slider = $("slider");
        slider.max = this.source.count - 1;
        if (i === 0) { this.timings.frame = performance.now(); this.go(0); this.draw(performance.now()); this.playing = true; this.buttons(); }
        if (this.goal !== null && this.source.has(this.goal)) this.go(this.goal);
        if (i < this.inspector.history.next) this.inspector.history.late = true;
        this.plotsDue = true;
    }

    status(s) {
        if (s.error) { this.say(s.error, true); this.parameters?.all.forEach((p) => p.refused()); }
        else if (this.live) this.say("");
        if (this.live) {
            if (s.running !== undefined) this.playing = s.running;
            this.buttons();
            return;
        }
        const total = Math.max(1, Math.round(100 * Math.min(1, (this.source.heads.at(-1)?.time ?? 0) / (this.info.duration_s || 1))));
        $("slider").max = Math.max(0, this.source.count - 1);
        const n = this.source.loaded, ended = s.end !== null && s.end !== undefined;
        if (this.source.end !== null) $("state").textContent = `${n} frames`;
        else if (ended) $("state").textContent = `loading ${n} of ${s.count} frames`;
        else if (!this.info.recording) $("state").textContent = `simulating ${total} %`;
        else $("state").textContent = n < s.count ? `recording, ${n} of ${s.count} frames loaded` : `recording, ${n} frames so far`;
        if (this.source.end) this.say(this.source.end);
        this.inspector.more();
    }

    // --- time ---

    tick(now) {
        const dt = Math.min(0.1, (now - this.last) / 1000);
        this.last = now;
        if (this.live) {
            this.driver.tell();
            if (this.pending.length) this.takeLive();
        } else if (this.playing && this.index >= 0) this.advance(dt);
        if (this.plotsDue && (!this.plotted || now - this.plotted > 200)) { this.plotted = now; this.drawPlots(); this.inspector.more(); }
        // There is nothing to see before the first frame.
        if (this.view.dirty && this.index >= 0) this.draw(now);
        else if (this.blurred && now - this.blurred > 150) { this.view.render(); this.blurred = 0; }
    }

    draw(now) {
        const begun = performance.now(), coarse = this.view.heavy && !this.recording;
        this.view.render(coarse);
        // What has come to rest is drawn again, as sharp as it can be.
        this.blurred = coarse ? now : 0;
        this.timings.render = performance.now() - begun;
        this.timings.drawn++;
        this.timings.first ??= performance.now();
        appear();
    }

    advance(dt) {
        const { heads, count } = this.source;
        if (this.goal !== null) return;
        this.time += dt * this.speed;
        let i = this.index;
        while (heads[i + 1]?.time <= this.time + 1e-9) i++;
        if (!heads[i + 1] && this.time >= heads[i].time) {
            const over = this.source.end !== null;
            if (i + 1 < count) this.source.fetch(i + 1);
            if (over && this.loop && count > 1) { this.go(0); return; }
            if (over && this.index === count - 1) { this.playing = false; this.buttons(); }
            this.time = heads[i].time;
        }
        if (i !== this.index) this.go(i, this.time);
    }

    /** Shows frame number i, as soon as it is here. */
    go(i, time) {
        i = Math.max(0, Math.min(this.source.count - 1, Math.round(i)));
        this.goal = null;
        if (!this.source.has(i)) {
            this.goal = i;
            this.source.fetch(i);
            this.redraw();
            return;
        }
        const begun = performance.now(), key = i - (i % this.info.key_every);
        let from = this.decoder.index + 1;
        if (!(this.decoder.index >= key && from <= i + 1)) from = key;
        if (this.decoder.index === i) from = i + 1;
        for (let k = from; k <= i; k++) this.decoder.read(this.source.frames[k]);
        this.timings.decode = performance.now() - begun;
        this.index = i;
        this.time = time ?? this.source.heads[i].time;
        this.redraw();
    }

    takeLive() {
        // Each tells what has changed since the one before: all are read, and the last is shown. After a new start the first may be one of before,
        // which means nothing to a decoder that has read no key frame.
        for (const bytes of this.pending.splice(0)) if (this.decoder.head || head(bytes).key) this.decoder.read(bytes);
        if (!this.decoder.head) { this.ask(); return; }
        this.index = this.decoder.index;
        this.time = this.decoder.head.time;
        const { times, all } = this.liveNumbers;
        if (times.length && this.time < times[times.length - 1]) { times.length = 0; all.length = 0; this.inspector.clear(); }
        if (!times.length || this.time > times[times.length - 1]) {
            times.push(this.time);
            all.push(this.decoder.head.numbers);
            if (times.length > 6000) { times.splice(0, 1000); all.splice(0, 1000); }
        }
        this.inspector.note();
        this.inspector.drawPull();
        this.driver.show([...this.decoder.head.numbers].slice(this.info.numbers.length));
        this.plotsDue = true;
        this.redraw();
        this.clock();
        this.ask();
    }

    // --- picture ---

    redraw() {
        if (this.index < 0) return;
        if (this.stale || this.view.stage !== this.source.stage) {
            this.view.setStage(this.source.stage);
            this.kind = null;
            this.stale = false;
        }
        this.paint();
        if (!this.fitted) { this.fitted = true; this.box = this.view.fit(this.decoder); }
        this.view.follow(this.decoder, this.following ? this.inspector.body : null);
        if (this.live && this.info.controls.length && !this.following) this.view.chase(this.decoder);
        this.view.update(this.decoder, this.tints);
        this.inspector.show();
        const c = this.decoder.contacts;
        $("contact-note").textContent = c && c.shown < c.all ? `the ${c.shown.toLocaleString()} strongest of ${c.all.toLocaleString()}` : "";
        $("slider").value = this.goal ?? this.index;
        $("time").textContent = `${this.decoder.head.time.toFixed(this.decoder.head.time < 100 ? 2 : 1)} s`;
        if (this.goal !== null) $("time").textContent = "loading";
        $("slider").setAttribute("aria-valuetext", $("time").textContent);
        if (!this.live) this.plotsDue = true;
    }

    /** A number for every body of one shape and size. */
    kinds() {
        const { stage } = this.source, seen = new Map();
        this.kind = new Uint32Array(stage.motions.length);
        const number = (key) => { if (!seen.has(key)) seen.set(key, seen.size); return seen.get(key); };
        for (let k = 0; k < stage.balls.n; k++) this.kind[stage.balls.bodies[k]] = number(Math.fround(stage.balls.radii[k]));
        for (const i of stage.instances) this.kind[i.body] = number(`${i.geometry} ${Array.from(i.size, (x) => x.toPrecision(3))}`);
    }

    paint() {
        const d = this.decoder, n = d.n, motions = this.source.stage.motions;
        if (this.tints.length < 3 * n) this.tints = new Uint8Array(3 * n);
        const tints = this.tints, channel = this.info.channels.findIndex((c) => c.name === this.colour);
        const set = (i, rgb) => { tints[3 * i] = rgb[0]; tints[3 * i + 1] = rgb[1]; tints[3 * i + 2] = rgb[2]; };
        if (channel < 0 || this.colour === "island") {
            if (!this.kind) this.kinds();
            for (let i = 0; i < n; i++) {
                if ((motions[i] & 3) === 3) set(i, STONE);
                else set(i, channel < 0 ? kindColour(this.kind[i]) : hueColour(d.value(channel, i)));
            }
            this.legend(null);
        } else {
            const log = this.colour === "residual";
            const codes = d.coded(channel), [most, all] = codes ? this.range(codes) : [-99, -99];
            const before = this.scales[this.colour] ?? (log ? -99 : 0);
            // Speeds of the size that steps are solved to are noise, and have no colours of their own.
            const least = this.colour === "speed" && most > 0 && this.info.tolerance > 0 ? nice(10 * this.info.tolerance) : 0;
            const top = log ? Math.max(before, Math.ceil(all)) : Math.max(before, least, most > 0 ? nice(most) : 0);
            this.scales[this.colour] = top;
            const high = log ? (top > -90 ? top : 0) : top || 1, low = log ? high - 6 : 0;
            const place = this.places(low, high);
            for (let i = 0; i < n; i++) {
                const k = codes && (motions[i] & 3) !== 3 ? place[codes[i]] : 65535;
                if (k === 65535) { set(i, STONE); continue; }
                tints[3 * i] = MAP[k]; tints[3 * i + 1] = MAP[k + 1]; tints[3 * i + 2] = MAP[k + 2];
            }
            const unit = this.info.channels[channel].unit;
            this.legend(log ? [`1e${low}`, `1e${high}`, `${this.colour}, ${unit}`] : [show(low), `${all > high ? "≥ " : ""}${show(high)}`, `${this.colour}, ${unit}`]);
        }
        const { body: picked, other } = this.inspector;
        if (other !== null && other < n && (motions[other] & 3) !== 3) set(other, [255, 190, 90]);
        if (picked !== null && picked < n) set(picked, [255, 92, 40]);
    }

    /**
     * What the colours go up to, and the greatest value of all. Of many bodies one in a hundred may be above the first, and has its colour: a
     * single blow, or a chain of forces, would leave all others dark.
     */
    range(codes) {
        const { n, alive } = this.decoder, motions = this.source.stage.motions, counts = (this.counts ??= new Uint32Array(0x7c00)).fill(0);
        let count = 0, all = -99;
        for (let i = 0; i < n; i++) {
            if (!alive[i] || (motions[i] & 3) !== 1) continue;
            const v = HALF[codes[i]];
            if (!(v < Infinity && v > -90)) continue;
            if (v > all) all = v;
            // Codes of numbers that are not negative are in the order of the numbers.
            if (codes[i] < 0x7c00) counts[codes[i]]++;
            count++;
        }
        let above = Math.floor(count / 100), code = 0x7bff;
        while (code > 0 && above >= counts[code]) above -= counts[code--];
        return [HALF[code], all];
    }

    /** Where each code is in the map of colours; 65535: nowhere. */
    places(low, high) {
        const key = `${low} ${high}`;
        if (this.placed?.key === key) return this.placed.table;
        const table = new Uint16Array(65536);
        for (let c = 0; c < 65536; c++) {
            const v = HALF[c];
            table[c] = v > -90 ? 3 * Math.max(0, Math.min(255, Math.round((255 * (v - low)) / (high - low)))) : 65535;
        }
        this.placed = { key, table };
        return table;
    }

    legend(texts) {
        $("legend").hidden = !texts;
        if (!texts) return;
        [$("legend-low").textContent, $("legend-high").textContent, $("legend-name").textContent] = texts;
        if (this.barred) return;
        this.barred = true;
        const c = $("legend").querySelector("canvas").getContext("2d", { willReadFrequently: true }), image = c.createImageData(256, 1);
        for (let i = 0; i < 256; i++) image.data.set([MAP[3 * i], MAP[3 * i + 1], MAP[3 * i + 2], 255], 4 * i);
        c.putImageData(image, 0, 0);
    }

    resize() {
        const { clientWidth: w, clientHeight: h } = $("stage");
        if (w && h) this.view.resize(w, h);
        this.plotsDue = true;
    }

    theme(wish) {
        const dark = wish ? wish === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
        this.dark = dark;
        document.documentElement.dataset.theme = dark ? "dark" : "light";
        this.view.theme(dark);
        this.plotsDue = true;
    }

    // --- panels ---

    tab(name) {
        for (const b of document.querySelectorAll("[role=tab]")) b.setAttribute("aria-selected", b.dataset.tab === name);
        for (const s of document.querySelectorAll("#panel > section")) s.hidden = s.dataset.tab !== name;
        this.drawPlots();
        this.inspector.draw();
    }

    makePlots() {
        const seek = (t) => { if (!this.live) this.seek(t); }, names = this.info.numbers.map((n) => n.name), k = (name) => names.indexOf(name);
        const plot = (title, unit, list, options = {}) => ({ plot: new Plot(title, unit, { ...options, onSeek: seek }), list });
        this.plots = [
            plot("energy", "J", [["kinetic", k("kinetic energy")], ["potential", k("potential energy")], ["total", -1]]),
            plot("deepest overlap", "m", [["overlap", k("deepest overlap")]]),
            plot("residual", "m/s", [["residual", k("residual")]], { log: true, mark: this.info.tolerance > 0 ? this.info.tolerance : null }),
            plot("contacts", "", [["in the problem", k("contacts")], ["touching", k("touching")]]),
            plot("iterations", "", [["done", k("iterations")], ...(this.live ? [["allowed", k("iterations allowed")]] : [])], { log: this.live }),
            plot("time of a step", "ms", [["all", k("step")], ["solve", k("solve")], ["narrow", k("narrow phase")], ["correct", k("correct")]]),
        ];
        if (this.live) this.plots.push(plot("real-time factor", "", [["factor", k("real-time factor")]]), plot("behind real time", "s", [["lost", k("behind real time")]]));
        $("plots").replaceChildren(...this.plots.map((p) => p.plot.element));
    }

    drawPlots() {
        this.plotsDue = false;
        if (!this.plots || $("plots").hidden) return;
        const heads = this.live ? null : this.source.heads;
        let { times, all: rows } = this.liveNumbers;
        if (!this.live) {
            [times, rows] = [[], []];
            // Lines end where frames are missing.
            for (const h of heads) {
                const before = heads[h?.index - 1];
                if (h && !before && h.index > 0) { times.push(h.time); rows.push(null); }
                if (h) { times.push(h.time); rows.push(h.numbers); }
            }
        }
        // The first frame is before the first step: it has no report.
        const skip = !this.live && rows.length > 1 ? 1 : 0;
        for (const { plot, list } of this.plots) {
            const series = list.map(([name, k], i) => ({
                name, colour: LINES[i % LINES.length],
                values: rows.map((r, j) => (!r || (j < skip && k > 1) ? NaN : k < 0 ? r[0] + r[1] : r[k])),
            }));
            plot.set(times, series, this.time);
        }
    }

    clock() {
        const n = this.decoder.head.numbers, get = (name) => n[this.info.numbers.findIndex((x) => x.name === name)];
        const solved = get("residual") <= this.info.tolerance * 1.0001;
        const rows = [
            ["speed", `${(get("real-time factor") || 0).toFixed(2)} × real time`], ["lost so far", `${get("behind real time").toFixed(2)} s`],
            ["a step takes", show(Number(get("step").toPrecision(3)), "ms")], ["iterations", `${get("iterations")} of ${get("iterations allowed")}`],
            ["residual", `${show(get("residual"), "m/s")}${solved ? "" : " (not solved)"}`], ["asked for", show(this.info.tolerance, "m/s")],
            ["solved so far", `${get("steps solved").toLocaleString()} of ${get("steps done").toLocaleString()} steps`],
        ];
        fill($("clock"), rows);
        $("state").textContent = this.playing ? `live · ${(get("real-time factor") || 0).toFixed(2)}×` : "paused";
        $("state").classList.toggle("bad", !solved);
    }

    makeParameters(list) {
        const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
        // The same ones with other values stay where they are: one may be in use.
        const form = JSON.stringify(list.map((p) => [{ ...p, value: null }, hasSlider(p)])), held = document.activeElement?.id;
        if (this.parameters?.form === form) { list.forEach((p, i) => this.parameters.all[i].take(p.value)); return; }
        this.parameters = { form, all: [] };
        $("parameters").replaceChildren(...list.map((parameter) => {
            const { name, unit, about, range, choices, whole, open } = parameter;
            let { value } = parameter, sent = null;
            const limits = range ? `from ${range[0]} to ${range[1]}` : "", title = [about, limits].filter(Boolean).join("; ");
            const id = `parameter-${name}`, row = make("div", { className: "parameter" });
            const input = choices.length ? make("select", { id, title }) : make("input", { id, title, type: "text" });
            if (choices.length) input.append(...choices.map((c) => new Option(c, c)));
            input.value = value;
            if (!value && open) input.placeholder = "the scene’s";
            input.disabled = !open;
            row.append(make("label", { textContent: unit ? `${name}, ${unit}` : name, title, htmlFor: id }));
            const send = () => {
                if (input.value === (sent ?? value)) return;
                sent = input.value;
                this.source.send(command.set(name, sent));
            };
            input.addEventListener("change", send);
            const slider = hasSlider(parameter) ? slide(value, range, whole) : null;
            const speak = () => slider?.element.setAttribute("aria-valuetext", [input.value, unit].filter(Boolean).join(" "));
            if (slider) {
                Object.assign(slider.element, { title, id: `${id}-slider` });
                slider.element.setAttribute("aria-label", name);
                slider.element.addEventListener("input", () => { input.value = slider.value(); speak(); });
                slider.element.addEventListener("change", send);
                row.append(slider.element);
            }
            row.append(input);
            const back = () => { sent = null; input.value = value; slider?.to(value); speak(); };
            speak();
            this.parameters.all.push({
                // What has been moved on since is still to come.
                take: (now) => { value = now; if (sent === null || sent === now) back(); },
                refused: () => { if (sent !== null) back(); },
            });
            return row;
        }));
        if (held?.startsWith("parameter-")) $(held)?.focus();
    }

    say(text, bad = false) {
        $("message").hidden = !text;
        $("message").textContent = text;
        $("message").classList.toggle("bad", bad);
    }

    buttons() {
        $("play").classList.toggle("playing", this.playing);
        $("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
        $("loop").setAttribute("aria-pressed", this.loop);
        $("follow").setAttribute("aria-pressed", !!this.following);
    }

    // --- what one can do ---

    toggle() {
        if (this.live) { this.playing = !this.playing; this.source.send(command.run(this.playing)); }
        else {
            this.playing = !this.playing;
            if (this.playing && this.index === this.source.count - 1) this.go(0);
        }
        this.buttons();
    }
    stepBy(n) {
        if (this.live) { if (n > 0) this.source.send(command.step(n)); this.playing = false; }
        else { this.playing = false; this.go(this.index + n); }
        this.buttons();
    }
    restart() { if (this.live) this.source.send(command.restart()); else this.go(0); }
    seek(t) {
        const heads = this.source.heads;
        let last = 0;
        for (const h of heads) if (h?.time <= t + 1e-9) last = h.index;
        this.go(last);
    }
    setColour(name) { this.colour = name; $("colour").value = name; if (this.live) this.ask(); else this.redraw(); }
    setForces(mode) { this.view.forces.mode = mode; $("forces").value = mode; if (this.live) this.ask(); this.redraw(); }
    setJoints(on) { this.view.showJoints = on; $("joints").checked = on; this.redraw(); }
    setFollow(on) { this.following = on && this.inspector.body !== null; this.view.followed = null; this.redraw(); this.buttons(); }
    cutRange() { const b = this.view.bounds(this.decoder); this.box = b; }
    setCut() {
        const axis = Number($("cut-axis").value), t = Number($("cut-at").value);
        const at = axis < 0 ? 0 : this.box.low[axis] + t * (this.box.high[axis] - this.box.low[axis]);
        this.view.setCut(axis, at);
        this.redraw();
    }
    add(cube) {
        if (!this.live) return;
        const { camera, controls, size } = this.view, r = 0.12 * size * 10 ** Number($("add-size").value), t = controls.target;
        if (cube) { this.source.send(command.add(true, r, [t.x, t.y, t.z + 0.5 * size], [0, 0, 0])); return; }
        const d = t.clone().sub(camera.position), far = d.length();
        d.normalize();
        const at = camera.position.clone().addScaledVector(d, Math.max(0, far - 0.8 * size)), v = d.multiplyScalar(2.5 * Math.sqrt(9.81 * size));
        this.source.send(command.add(false, r, at.toArray(), v.toArray()));
    }
    screenshot() {
        this.view.render();
        $("canvas").toBlob((blob) => save(blob, `${this.info.name}-${this.time.toFixed(2)}s.png`));
    }
    video() {
        if (this.recording) { this.recording.stop(); return; }
        const kinds = ["video/webm;codecs=vp9", "video/webm", "video/mp4"], mimeType = kinds.find((k) => globalThis.MediaRecorder?.isTypeSupported(k));
        if (!mimeType) { this.say("this browser cannot record a video", true); return; }
        const parts = [], r = new MediaRecorder($("canvas").captureStream(60), { mimeType, videoBitsPerSecond: 12e6 });
        r.ondataavailable = (e) => parts.push(e.data);
        r.onstop = () => {
            this.recording = null;
            $("video").setAttribute("aria-pressed", false);
            save(new Blob(parts, { type: mimeType }), `${this.info.name}.${mimeType.includes("mp4") ? "mp4" : "webm"}`);
        };
        this.recording = r;
        r.start();
        $("video").setAttribute("aria-pressed", true);
    }

    bind() {
        const click = (id, f) => $(id).addEventListener("click", f);
        click("play", () => this.toggle());
        click("back", () => this.stepBy(-1));
        click("forth", () => this.stepBy(1));
        click("restart", () => this.restart());
        click("loop", () => { this.loop = !this.loop; this.buttons(); });
        click("shot", () => this.screenshot());
        click("video", () => this.video());
        click("add-ball", () => this.add(false));
        click("add-cube", () => this.add(true));
        click("inputs", () => this.source.send(command.inputs()));
        click("theme", () => { const wish = this.dark ? "light" : "dark"; localStorageSet("drystone-theme", wish); this.theme(wish); });
        click("panel-button", () => this.panel());
        click("help-button", () => $("help").showModal());
        $("gravity").addEventListener("input", (e) => {
            const share = Number(e.target.value);
            $("gravity-value").textContent = `${share} ×`;
            this.source.send(command.gravity(this.info.gravity.map((g) => g * share)));
        });
        $("slider").addEventListener("input", (e) => { this.playing = false; this.buttons(); this.go(Number(e.target.value)); });
        $("speed").addEventListener("change", (e) => { this.speed = Number(e.target.value); if (this.live) this.source.send(command.pace(this.speed)); });
        $("colour").addEventListener("change", (e) => this.setColour(e.target.value));
        $("forces").addEventListener("change", (e) => this.setForces(e.target.value));
        const factor = (e) => e.setAttribute("aria-valuetext", `${Number((10 ** Number(e.value)).toPrecision(2))} ×`);
        for (const id of ["force-scale", "add-size"]) { factor($(id)); $(id).addEventListener("input", (e) => factor(e.target)); }
        $("force-scale").addEventListener("input", (e) => { this.view.forces.scale = 10 ** Number(e.target.value); this.redraw(); });
        $("joints").addEventListener("change", (e) => this.setJoints(e.target.checked));
        $("cut-axis").addEventListener("change", () => this.setCut());
        $("cut-at").addEventListener("input", () => this.setCut());
        for (const b of document.querySelectorAll("[data-view]")) b.addEventListener("click", () => this.view.fit(this.decoder, b.dataset.view));
        for (const b of document.querySelectorAll("[role=tab]")) b.addEventListener("click", () => this.tab(b.dataset.tab));
        bindKeys(this);
    }
    panel() {
        const closed = document.body.classList.toggle("closed");
        $("panel-button").setAttribute("aria-expanded", !closed);
    }
}

/** Whether a slider can stand beside a parameter's box. */
function hasSlider({ value, range, choices, open }) {
    const x = Number(value);
    return open && !choices.length && value !== "" && isFinite(x) && !!(range || x !== 0);
}

/** A slider for a number: over its range, or over a decade to either side. */
function slide(text, range, whole) {
    let x = Number(text);
    const element = Object.assign(document.createElement("input"), { type: "range" });
    whole ||= !range && Number.isInteger(x) && x >= 10;
    const rounded = (v) => (whole ? Math.round(v) : Number(v.toPrecision(3)));
    if (range) Object.assign(element, { min: range[0], max: range[1], step: whole ? 1 : (range[1] - range[0]) / 200, value: x });
    else Object.assign(element, { min: -1, max: 1, step: 0.02, value: 0 });
    return {
        element,
        value: () => rounded(range ? Number(element.value) : x * 10 ** Number(element.value)),
        to: (text) => { x = Number(text); element.value = range ? x : 0; },
    };
}

function save(blob, name) {
    const a = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

// A page that was opened from disk may have no storage.
function localStorageGet(key) { try { return localStorage.getItem(key); } catch { return null; } }
function localStorageSet(key, value) { try { localStorage.setItem(key, value); } catch { /* nothing to keep it in */ } }

/** Shows the page: with its first picture, or when that takes long. */
function appear() { document.documentElement.classList.remove("waiting"); }
setTimeout(appear, 600);

try {
    globalThis.drystone = new App();
} catch (e) {
    appear();
    const message = $("message");
    Object.assign(message, { hidden: false, textContent: `nothing can be drawn here: a browser with WebGL 2 is needed (${e.message})` });
    message.classList.add("bad");
    throw e;
}
