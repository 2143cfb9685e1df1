// Everything by keyboard. Keys that a scene binds to a control are the driver's first.

const KEYS = [
    ["P, space", "play or pause"], [", and .", "a frame back, a frame on"], ["Home, End", "start, end"], ["[ and ]", "slower, faster"], ["L", "loop"],
    ["1 2 3 4", "view from the corner, front, side, top"], ["Shift + arrows", "turn the view"], ["Alt + arrows", "move the view"], ["+ and −", "zoom"],
    ["K", "next colour"], ["Q", "contact forces: none, chains, arrows"], ["J", "joints"], ["X", "cut along the next axis"],
    ["N, Shift + N", "next body, previous body"], ["O, Shift + O", "next contact of the body, the strongest first; previous contact"], ["V", "follow the body"], ["Esc", "no body"],
    ["B, C", "live: throw a ball, drop a cube"], ["S", "screenshot"], ["D", "light or dark"], ["M", "panel"], ["?", "these keys"],
];

export function bindKeys(app) {
    const $ = (id) => document.getElementById(id);
    const list = $("keys");
    for (const [key, what] of KEYS) {
        const dt = document.createElement("dt"), dd = document.createElement("dd");
        dt.textContent = key;
        dd.textContent = what;
        list.append(dt, dd);
    }
    const cycle = (element) => { element.selectedIndex = (element.selectedIndex + 1) % element.options.length; element.dispatchEvent(new Event("change")); };
    const faster = (by) => {
        const s = $("speed");
        s.selectedIndex = Math.max(0, Math.min(s.options.length - 1, s.selectedIndex + by));
        s.dispatchEvent(new Event("change"));
    };
    const views = { Digit1: "iso", Digit2: "front", Digit3: "side", Digit4: "top" };
    const act = (e) => {
        const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.code];
        if (arrows && e.altKey) { app.view.nudge(0, 0, 1, arrows[0], arrows[1]); return true; }
        if (arrows && (e.shiftKey || app.live)) { app.view.nudge(0.08 * arrows[0], -0.06 * arrows[1], 1); return true; }
        if (arrows) { app.stepBy(arrows[0] || 10 * arrows[1]); return true; }
        if (e.key === "+" || e.key === "=") { app.view.nudge(0, 0, 0.9); return true; }
        if (e.key === "-") { app.view.nudge(0, 0, 1.1); return true; }
        if (e.key === "?") { $("help").showModal(); return true; }
        if (e.key === "[") { faster(-1); return true; }
        if (e.key === "]") { faster(1); return true; }
        if (views[e.code] && app.index >= 0) { app.view.fit(app.decoder, views[e.code]); return true; }
        switch (e.code) {
            case "Space": case "KeyP": app.toggle(); break;
            case "Comma": app.stepBy(-1); break;
            case "Period": app.stepBy(1); break;
            case "Home": app.restart(); break;
            case "End": if (!app.live) app.go(app.source.count - 1); break;
            case "KeyL": app.loop = !app.loop; app.buttons(); break;
            case "KeyK": cycle($("colour")); break;
            case "KeyQ": cycle($("forces")); break;
            case "KeyJ": app.setJoints(!app.view.showJoints); break;
            case "KeyX": cycle($("cut-axis")); break;
            case "KeyN": app.inspector.step(e.shiftKey ? -1 : 1); break;
            case "KeyO": app.inspector.stepContact(e.shiftKey ? -1 : 1); break;
            case "KeyV": app.setFollow(!app.following); break;
            case "Escape": app.inspector.pick(null); break;
            case "KeyB": app.add(false); break;
            case "KeyC": app.add(true); break;
            case "KeyS": app.screenshot(); break;
            case "KeyD": $("theme").click(); break;
            case "KeyM": app.panel(); break;
            default: return false;
        }
        return true;
    };
    let tabbed = false;
    addEventListener("pointerdown", () => { tabbed = false; }, { capture: true });
    addEventListener("keydown", (e) => {
        if (e.code === "Tab") tabbed = true;
        if (e.ctrlKey || e.metaKey || !app.info || $("help").open) return;
        const on = e.target, field = on.matches?.("input:not([type=range]):not([type=checkbox]), select");
        if (field) return;
        // A slider that was reached by keyboard keeps the keys that move it, also where a scene binds them.
        const slides = tabbed && on.matches?.("input[type=range]") && /^(Arrow|Page|Home$|End$)/.test(e.code);
        const driven = app.live && !slides && !e.shiftKey && !e.altKey && app.driver.bound(e.code);
        if (driven) {
            if (!e.repeat) app.driver.key(e.code, true);
            e.preventDefault();
            return;
        }
        // Buttons and sliders keep the keys that work them.
        if (on.matches?.("button") && (e.code === "Space" || e.code === "Enter")) return;
        if (on.matches?.("input") && (e.code.startsWith("Arrow") || e.code === "Space" || e.code === "Home" || e.code === "End") && !e.shiftKey) return;
        if (act(e)) e.preventDefault();
    });
    addEventListener("keyup", (e) => { if (app.live) app.driver.key(e.code, false); });
}
