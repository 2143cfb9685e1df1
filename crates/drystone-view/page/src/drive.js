// Controls of a live run: keys, gamepad, sliders. What is not held is let go.

import { show } from "./colour.js";
import { command } from "./protocol.js";

const NAMES = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Space: "space" };
const keyName = (code) => NAMES[code] ?? code.replace(/^Key|^Digit/, "");

export class Driver {
    constructor(send) {
        this.send = send;
        this.controls = [];
        this.held = new Set();
        this.slid = [];
        this.last = [];
        addEventListener("blur", () => this.letGo());
        document.addEventListener("visibilitychange", () => { if (document.hidden) this.letGo(); });
    }
    setControls(controls, element) {
        this.controls = controls;
        this.slid = controls.map(() => 0);
        this.last = controls.map(() => 0);
        this.element = element;
        element.replaceChildren();
        this.rows = controls.map((c, i) => {
            const row = document.createElement("div");
            row.className = "control";
            const label = document.createElement("label");
            label.htmlFor = `control-${i}`;
            label.textContent = c.name;
            const keys = document.createElement("span");
            keys.className = "keys";
            for (const k of c.keys.filter(Boolean)) {
                const kbd = document.createElement("kbd");
                kbd.textContent = keyName(k);
                keys.append(kbd);
            }
            const slider = Object.assign(document.createElement("input"), { type: "range", min: c.hold || c.keys[1] || c.range[0] < 0 ? -1 : 0, max: 1, step: 0.05, value: 0, id: `control-${i}` });
            slider.addEventListener("input", () => { this.slid[i] = Number(slider.value); this.tell(); });
            // It springs back when it is let go: by keyboard that is the key's end, for each stroke of a key is a change.
            let keyed = false;
            const back = () => { keyed = false; this.slid[i] = 0; slider.value = 0; this.tell(); };
            slider.addEventListener("keydown", () => { keyed = true; });
            slider.addEventListener("change", () => { if (!keyed) back(); });
            slider.addEventListener("keyup", back);
            slider.addEventListener("blur", back);
            const value = document.createElement("output");
            row.append(label, keys, slider, value);
            element.append(row);
            return { slider, value };
        });
    }
    bound(code) { return this.controls.some((c) => c.keys.includes(code)); }
    key(code, down) {
        if (!this.bound(code)) return false;
        if (down) this.held.add(code); else this.held.delete(code);
        this.tell();
        return true;
    }
    letGo() {
        this.held.clear();
        this.slid.fill(0);
        this.tell();
    }
    /** Value of a place on the gamepad that is plugged in, if any. */
    pad(text) {
        const pad = navigator.getGamepads?.().find((p) => p?.connected);
        if (!pad || !text) return 0;
        const [word, ...numbers] = text.split(" "), button = (k) => pad.buttons[Number(k)]?.value ?? 0;
        const raw = word === "button" ? button(numbers[0]) : word === "buttons" ? button(numbers[0]) - button(numbers[1])
            : (word === "-axis" ? -1 : 1) * (pad.axes[Number(numbers[0])] ?? 0);
        return Math.abs(raw) < 0.08 ? 0 : Math.max(-1, Math.min(1, raw));
    }
    /** Sends what has changed. */
    tell() {
        this.controls.forEach((c, i) => {
            const keys = (this.held.has(c.keys[0]) ? 1 : 0) - (this.held.has(c.keys[1]) ? 1 : 0);
            const value = keys || this.slid[i] || this.pad(c.gamepad);
            // The slider shows what keys and the gamepad do.
            if (!this.slid[i]) this.rows[i].slider.value = value;
            if (value === this.last[i]) return;
            this.last[i] = value;
            this.send(command.control(i, value));
        });
    }
    show(values) {
        this.controls.forEach((c, i) => { if (this.rows[i]) this.rows[i].value.textContent = show(Number((values[i] ?? 0).toPrecision(3)), c.unit); });
    }
}
