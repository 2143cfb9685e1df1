// The page in a real browser: looks at a run, a recording, a live run and a file; plays, scrubs, picks, drags, drives.
// `node browser.mjs PROGRAM FOLDER [NAME...]`: screenshots go to the folder; names are those of the tests below.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { strict as assert } from "node:assert";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const [program, folder, ...only] = process.argv.slice(2);
const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
mkdirSync(folder, { recursive: true });
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const started = [];

/** Starts the program and returns the address on its first line. */
function start(...args) {
    return new Promise((done, fail) => {
        const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
        let out = "", err = "";
        started.push(child);
        child.ended = new Promise((end) => child.on("exit", end));
        child.stdout.on("data", (d) => { out += d; if (out.includes("\n")) done({ url: out.split("\n")[0], child }); });
        child.stderr.on("data", (d) => { err += d; });
        child.on("exit", (code) => fail(new Error(`${args.join(" ")}: exit ${code}: ${err}`)));
    });
}

async function stop({ child }) {
    child.kill("SIGINT");
    return child.ended;
}

function run(...args) {
    return new Promise((done) => {
        const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
        let text = "";
        child.stdout.on("data", (d) => { text += d; });
        child.stderr.on("data", (d) => { text += d; });
        child.on("exit", (code) => done({ code, text }));
    });
}

const launched = { executablePath, args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"] };
const browser = await chromium.launch(launched);

/** `slow`: what the page says takes so long to the program, ms. */
async function open(url, { slow, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 760 }, colorScheme: "light", ...options });
    if (slow) {
        await context.routeWebSocket(/socket/, (page) => {
            const server = page.connectToServer();
            page.onMessage((m) => setTimeout(() => server.send(m), slow));
        });
    }
    const page = await context.newPage();
    page.faults = [];
    page.on("pageerror", (e) => page.faults.push(String(e)));
    page.on("console", (m) => { if (m.type() === "error") page.faults.push(m.text()); });
    await page.goto(url);
    await until(page, () => globalThis.drystone?.timings.drawn > 0, 30000);
    return page;
}

const shot = (page, name) => page.screenshot({ path: join(folder, `${name}.png`) });
const get = (page, f, x) => page.evaluate(f, x);
/** Waits until something holds; asks from outside, because the page's own policy forbids texts as programs. */
async function until(page, f, timeout = 60000) {
    for (const end = Date.now() + timeout; ; ) {
        if (await page.evaluate(f)) return;
        assert.ok(Date.now() < end, `waited in vain for ${f}`);
        await page.waitForTimeout(50);
    }
}
/** Screen place of a body's centre. */
const place = (page, body) => get(page, (b) => {
    const { view, decoder } = drystone, v = view.controls.target.clone().set(...decoder.position(b)).project(view.camera);
    const box = view.renderer.domElement.getBoundingClientRect();
    return [box.left + (v.x + 1) * 0.5 * box.width, box.top + (1 - v.y) * 0.5 * box.height];
}, body);

/** Six boxes on a belt, and balls that fall onto it. */
const CONVEYOR = `[parameters]
speed = { default = 0.8, unit = "m/s", range = [0, 2], about = "of the belt" }
[settings]
h = 0.005
T = 4
[[body]]
name = "floor"
motion = "static"
shape = { type = "plane" }
mu = 0.5
[[body]]
name = "belt"
motion = "static"
shape = { type = "box", half = [2, 0.3, 0.05] }
position = [0, 0, 0.5]
mu = 0.6
surface_velocity = ["= speed", 0, 0]
[[body]]
for = { i = 6 }
name = "box \${i}"
shape = { type = "box", half = [0.1, 0.08, 0.06] }
mass = 1.5
mu = 0.5
position = ["= -1.8 + 0.25*i", 0, 0.62]
[[emitter]]
min = [-1.9, -0.1, 1.0]
max = [-1.7, 0.1, 1.2]
rate = 2
[[emitter.body]]
name = "drop"
shape = { type = "sphere", r = 0.05 }
density = 800
mu = 0.4
`;

/** A block on a rail, a wheel and an arm, and a crate on the floor. */
const CART = `[settings]
h = 0.005
T = 4
[[body]]
name = "floor"
motion = "static"
shape = { type = "plane" }
mu = 0.5
${["block", "wheel", "arm", "crate"].map((name, k) => `[[body]]
name = "${name}"
shape = { type = "box", half = [0.1, 0.1, 0.1] }
mass = 2
mu = 0.5
position = [${k - 1.5}, 0, ${name === "crate" ? 0.1 : 0.4}]`).join("\n")}
[[joint]]
name = "rail"
type = "prismatic"
b = "block"
axis = [0, 1, 0]
motor = { speed = 0, limit = 1000 }
[[joint]]
name = "hub"
type = "revolute"
b = "wheel"
axis = [0, 1, 0]
motor = { speed = 0, limit = 1000 }
[[joint]]
name = "shoulder"
type = "revolute"
b = "arm"
axis = [0, 1, 0]
motor = { position = 0, limit = 1000 }
[[control]]
name = "along"
unit = "m/s"
joint = "rail"
commands = "speed"
range = [-10, 10]
rate = 100
[[control]]
name = "round"
unit = "rad/s"
joint = "hub"
commands = "speed"
range = [-10, 10]
rate = 100
keys = ["ArrowRight", "ArrowLeft"]
[[control]]
name = "arm"
unit = "rad"
joint = "shoulder"
commands = "position"
range = [0, 1.4]
rate = 2
hold = true
`;

const tests = {
    async view() {
        const server = await start("view", "packing", "--time", "1.2", "--no-open", "--quiet");
        assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
        const page = await open(server.url);
        await until(page, () => drystone.source.end !== null && drystone.source.frames.length > 60);
        // Play goes on by itself; P stops it, before it has come to its end.
        await get(page, () => { drystone.speed = 0.1; drystone.go(0); drystone.playing = true; });
        await until(page, () => drystone.index > 3);
        await page.locator("#canvas").focus();
        await page.keyboard.press("p");
        assert.equal(await get(page, () => drystone.playing), false);
        // Scrub to the middle with the slider, by keyboard to the end and a frame back.
        await page.locator("#slider").fill("30");
        assert.equal(await get(page, () => drystone.index), 30);
        await page.locator("#canvas").focus();
        await page.keyboard.press("End");
        const last = await get(page, () => drystone.source.frames.length - 1);
        await page.keyboard.press("Comma");
        assert.equal(await get(page, () => drystone.index), last - 1);
        await page.keyboard.press("End");
        // The last frame is what the engine says the state is.
        const state = join(folder, "packing-state.json");
        const { code, text } = await run("state", "packing", "--at-time", "1.2", "--to", state);
        assert.equal(code, 0, text);
        const bodies = JSON.parse(readFileSync(state)).bodies, seen = await get(page, () => bodiesNow());
        bodies.forEach((b, i) => b.pos.forEach((x, k) => assert.ok(Math.abs(x - seen[i][k]) < 1e-3, `body ${i}: ${x} ${seen[i][k]}`)));
        // Pick by mouse, then by key; its history is there.
        await page.mouse.click(...(await place(page, 100)));
        const picked = await get(page, () => drystone.inspector.body);
        assert.notEqual(picked, null);
        await until(page, () => drystone.inspector.history.times.length === drystone.source.frames.length);
        await page.locator("#canvas").focus();
        await page.keyboard.press("n");
        assert.notEqual(await get(page, () => drystone.inspector.body), picked);
        await shot(page, "view-body");
        // Colours, force chains, a contact.
        for (const colour of ["force", "overlap", "residual", "island", "kind"]) {
            await get(page, (c) => drystone.setColour(c), colour);
            assert.equal(await get(page, () => drystone.colour), colour);
        }
        await get(page, () => { drystone.inspector.pick(null); drystone.setColour("force"); drystone.setForces("chains"); drystone.tab("plots"); });
        await page.waitForTimeout(400);
        assert.ok((await get(page, () => drystone.view.contacts.count)) > 100, "force chains are drawn");
        await shot(page, "view-chains");
        const pair = await get(page, () => { const c = drystone.decoder.contacts, k = strongest(c); return [c.a[k], c.b[k], c.point[3 * k], c.point[3 * k + 1], c.point[3 * k + 2]]; });
        await get(page, ([a, b]) => drystone.inspector.pick(a, b), pair);
        assert.ok((await page.locator("#facts").innerText()).includes("force between"));
        // A cut hides bodies; a plot's click seeks.
        await get(page, () => { drystone.inspector.pick(null); drystone.setForces("off"); drystone.tab("plots"); });
        await page.locator(".plot canvas").first().click({ position: { x: 120, y: 40 } });
        assert.ok((await get(page, () => drystone.index)) < last);
        const download = page.waitForEvent("download");
        await get(page, () => drystone.screenshot());
        assert.match((await download).suggestedFilename(), /^packing-.*\.png$/);
        assert.deepEqual(page.faults, []);
        await page.context().close();
        // Dark, in a window of a phone's size, without anything outside the window.
        const phone = await open(server.url, { viewport: { width: 390, height: 780 }, colorScheme: "dark", hasTouch: true });
        await until(phone, () => drystone.source.end !== null && drystone.source.frames.length > 60);
        await get(phone, () => { drystone.playing = false; drystone.buttons(); drystone.go(70); });
        await phone.waitForTimeout(200);
        assert.ok(await get(phone, () => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
        assert.equal(await get(phone, () => document.documentElement.dataset.theme), "dark");
        await shot(phone, "view-phone");
        await phone.context().close();
        assert.equal(await stop(server), 130);
    },

    /** Plots of a body that was picked early go on as frames come. */
    async growing() {
        const server = await start("view", "packing", "--time", "1000", "--no-open", "--quiet"), page = await open(server.url);
        await until(page, () => drystone.source.frames.length > 3);
        await page.locator("#canvas").focus();
        await page.keyboard.press("n");
        const early = await get(page, () => drystone.source.frames.length);
        await until(page, `drystone.source.frames.length > ${early + 20}`);
        await until(page, `drystone.inspector.history.times.length > ${early + 10}`, 10000);
        assert.equal(await get(page, () => drystone.source.end), null, "it is still being simulated");
        const { times, newest } = await get(page, () => ({ times: drystone.inspector.history.times, newest: drystone.source.heads.at(-1).time }));
        assert.ok(times.every((t, k) => k === 0 || t > times[k - 1]) && times.at(-1) <= newest, `${times} ${newest}`);
        // A system that turns dark turns the page dark.
        await page.emulateMedia({ colorScheme: "dark" });
        await until(page, () => document.documentElement.dataset.theme === "dark", 5000);
        await shot(page, "growing");
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
    },

    /** The first picture has what stands there, too: a belt is as long as it is before anything has gone along it. */
    async opening() {
        const scene = join(folder, "conveyor.toml");
        writeFileSync(scene, CONVEYOR);
        const server = await start("view", scene, "--time", "0.1", "--no-open", "--quiet"), page = await open(server.url);
        const { low, high } = await get(page, () => drystone.box);
        assert.ok(low[0] <= -2 && high[0] >= 2, `from ${low} to ${high}`);
        await shot(page, "opening");
        await page.context().close();
        assert.equal(await stop(server), 130);
    },

    /** Everything by keyboard: no mouse, no touch, no call into the page but to ask. */
    async keyboard() {
        const server = await start("view", "hopper", "--set", "n=1500", "--time", "0.7", "--no-open", "--quiet");
        const page = await open(server.url);
        await until(page, () => drystone.source.end !== null && drystone.source.frames.length > 40);
        const key = (k) => page.keyboard.press(k), ask = (f) => get(page, f);
        // The camera sees the walls, too, and not only what moves between them.
        const outside = await ask(() => [...drystone.source.stage.motions].map((m, i) => i).filter((i) => (drystone.source.stage.motions[i] & 3) === 3 && drystone.view.radii[i] > 0)
            .filter((i) => drystone.decoder.position(i).some((x, k) => x < drystone.box.low[k] || x > drystone.box.high[k])));
        assert.deepEqual(outside, [], "bodies that stand outside the picture");
        const canvas = async (name) => { await page.waitForTimeout(250); await shot(page, name); return page.locator("#canvas").screenshot(); };
        await key("End");
        if (await ask(() => drystone.playing)) await key("p");
        await key("End");
        // Colours, forces, joints, cut: each changes the picture.
        let before = await canvas("keys-start");
        for (const [k, name, holds] of [
            // A few strong ones do not leave all others dark: colours end below the strongest, and the legend says so.
            ["k", "keys-colour", () => drystone.colour === "force" && document.getElementById("legend-high").textContent.startsWith("≥ ")],
            ["q", "keys-chains", () => drystone.view.forces.mode === "chains"],
            ["q", "keys-arrows", () => drystone.view.forces.mode === "arrows"],
            ["q", "keys-no-forces", () => drystone.view.forces.mode === "off"],
            ["x", "keys-cut-x", () => drystone.view.cut.axis === 0],
            ["x", "keys-cut-y", () => drystone.view.cut.axis === 1],
            ["4", "keys-top", () => drystone.view.camera.position.z > drystone.view.controls.target.z],
            ["2", "keys-front", () => drystone.view.camera.position.y < drystone.view.controls.target.y],
            ["Shift+ArrowLeft", "keys-turned", () => true],
            ["Alt+ArrowUp", "keys-moved", () => true],
            ["+", "keys-zoomed", () => true],
            ["d", "keys-dark", () => document.documentElement.dataset.theme === "dark"],
        ]) {
            await key(k);
            assert.ok(await ask(holds), name);
            const after = await canvas(name);
            assert.ok(!before.equals(after), `${name}: the picture is another one`);
            before = after;
        }
        await key("x");
        await key("x");
        assert.equal(await ask(() => drystone.view.cut.axis), -1);
        // A body, its plots, the camera with it, and none again.
        await key("n");
        await key("n");
        const body = await ask(() => drystone.inspector.body);
        assert.notEqual(body, null);
        await key("v");
        assert.ok(await ask(() => drystone.following));
        const off = () => ask(() => Math.hypot(...drystone.decoder.position(drystone.inspector.body).map((x, k) => x - drystone.view.controls.target.toArray()[k])));
        assert.ok((await off()) < 1e-4, "the camera looks at it");
        for (let k = 0; k < 10; k++) await key("Comma");
        assert.ok((await off()) < 1e-4, "and goes with it");
        await until(page, () => drystone.inspector.history.times.length === drystone.source.frames.length);
        await canvas("keys-follow");
        await key("Escape");
        assert.equal(await ask(() => drystone.inspector.body), null);
        // Contacts: the strongest of all, then the others of its body, one after the other, and back to it.
        const pair = () => ask(() => { const i = drystone.inspector; return { pair: [i.body, i.other], force: i.pair(drystone.decoder).force }; });
        await key("o");
        const strongest = await pair();
        assert.ok((await page.locator("#facts").innerText()).includes("force between"));
        const most = await ask(() => { const c = drystone.decoder.contacts; return Math.max(...Array.from({ length: c.shown }, (_, k) => Math.hypot(c.force[3 * k], c.force[3 * k + 1], c.force[3 * k + 2]))); });
        assert.ok(strongest.pair[1] !== null && strongest.force >= most * (1 - 1e-6), `${JSON.stringify(strongest)} of ${most}`);
        let all = 0;
        for (let last = strongest; ; last = await pair()) {
            await key("o");
            all++;
            const next = await pair();
            assert.equal(next.pair[0], strongest.pair[0]);
            if (next.pair[1] === strongest.pair[1]) break;
            assert.ok(next.force <= last.force && all < 30, `${JSON.stringify(next)} after ${JSON.stringify(last)}`);
        }
        await key("Shift+O");
        assert.equal((await pair()).pair[0], strongest.pair[0]);
        assert.equal(await ask(() => drystone.inspector.other) === strongest.pair[1], all === 1);
        await canvas("keys-contact");
        await until(page, () => drystone.inspector.history.times.length === drystone.source.frames.length);
        await key("Escape");
        // The list of keys, the panel, the loop, the screenshot; buttons and fields by Tab.
        await key("?");
        assert.ok(await ask(() => document.getElementById("help").open));
        await canvas("keys-help");
        await key("Escape");
        await key("m");
        assert.ok(await ask(() => document.body.classList.contains("closed")));
        await key("m");
        await key("l");
        assert.ok(await ask(() => drystone.loop));
        const download = page.waitForEvent("download");
        await key("s");
        await download;
        // The panel shows the body: by Tab to its first sheet, which has the fields.
        const sheet = () => ask(() => document.activeElement.dataset.tab);
        for (let k = 0; k < 40 && (await sheet()) !== "look"; k++) await key("Tab");
        await key("Enter");
        const reached = new Set();
        for (let k = 0; k < 40; k++) { await key("Tab"); reached.add(await ask(() => document.activeElement.id || document.activeElement.dataset.tab || document.activeElement.dataset.view)); }
        for (const id of ["theme", "plots", "colour", "cut-axis", "cut-at", "shot", "video", "play", "slider", "speed", "loop"]) assert.ok(reached.has(id), `Tab reaches ${id}: ${[...reached]}`);
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
    },

    async file() {
        const html = resolve(folder, "four-bar.html");
        const { code, text } = await run("view", "four-bar", "--time", "1", "--html", html, "--quiet");
        assert.equal(code, 0, text);
        const page = await open(`file://${html}`);
        await until(page, () => drystone.source.frames.length > 50);
        await get(page, () => { drystone.playing = false; drystone.setJoints(true); drystone.go(25); });
        await page.waitForTimeout(200);
        assert.ok((await get(page, () => drystone.view.links.count)) > 3, "joints are drawn");
        // A video of what is seen.
        const video = page.waitForEvent("download");
        await get(page, () => { drystone.loop = true; drystone.playing = true; drystone.video(); globalThis.begun = drystone.timings.drawn; });
        await page.waitForTimeout(2000);
        // On a busy machine that may be no picture yet.
        await until(page, () => drystone.timings.drawn > globalThis.begun + 30);
        await get(page, () => drystone.video());
        const kept = join(folder, "video.webm");
        await (await video).saveAs(kept);
        assert.ok(statSync(kept).size > 2000, "the video has something in it");
        assert.deepEqual(page.faults, []);
        await shot(page, "file");
        await page.context().close();
    },

    async recording() {
        const made = join(folder, "packing-run"), seconds = 3, every = 0.02;
        rmSync(made, { recursive: true, force: true });
        const balls = ["--set", "n=1000"], running = run("run", "packing", ...balls, "--time", String(seconds), "--record", made, "--record-every", `${every}s`, "--quiet");
        for (const end = Date.now() + 60000; !existsSync(join(made, "run.00000.h5")); ) {
            assert.ok(Date.now() < end, "a first segment");
            await new Promise((done) => setTimeout(done, 50));
        }
        // It opens while the run still records, and follows it to its end.
        const server = await start("view", made, "--no-open");
        const page = await open(server.url);
        const early = await get(page, () => ({ end: drystone.source.end, n: drystone.source.frames.length }));
        const { code, text } = await running, frames = Math.round(seconds / every) + 1;
        assert.equal(code, 0, text);
        await until(page, `drystone.source.end !== null && drystone.source.frames.length === ${frames}`, 120000);
        console.log(`recording: ${early.n} frames when it was opened (${early.end === null ? "still growing" : "whole"}), ${frames} in the end`);
        // Play, scrub, and what is seen at the end is what the engine says.
        await get(page, () => { drystone.go(0); drystone.playing = true; drystone.buttons(); });
        await until(page, () => drystone.index > 3);
        await page.locator("#canvas").focus();
        await page.keyboard.press("p");
        await page.locator("#slider").fill("70");
        assert.equal(await get(page, () => drystone.index), 70);
        assert.ok(Math.abs((await get(page, () => drystone.time)) - 70 * every) < 1e-6);
        await page.locator("#canvas").focus();
        await page.keyboard.press("End");
        const state = join(folder, "recording-state.json");
        assert.equal((await run("state", "packing", ...balls, "--at-time", String(seconds), "--to", state)).code, 0);
        const bodies = JSON.parse(readFileSync(state)).bodies, seen = await get(page, () => bodiesNow());
        bodies.forEach((b, i) => b.pos.forEach((x, k) => assert.ok(Math.abs(x - seen[i][k]) < 1e-3, `body ${i}: ${x} ${seen[i][k]}`)));
        // Walls in front are glass, as in the scene; contacts carry the weight of what lies on them.
        assert.ok((await get(page, () => [...drystone.source.stage.motions].filter((m) => m & 4).length)) > 0, "glass");
        await get(page, () => { drystone.setColour("force"); drystone.setForces("chains"); drystone.tab("plots"); });
        await page.waitForTimeout(400);
        assert.ok((await get(page, () => drystone.view.contacts.count)) > 100, "force chains are drawn");
        // Plots come from the recorded steps: the file says the same.
        const csv = join(folder, "steps.csv");
        assert.equal((await run("export", made, "--to", csv, "--table", "steps", "--quiet")).code, 0);
        const [head, ...rows] = readFileSync(csv, "utf8").trim().split("\n").map((l) => l.split(","));
        const last = Object.fromEntries(head.map((name, k) => [name, Number(rows.at(-1)[k])]));
        const shown = await get(page, () => Object.fromEntries(drystone.info.numbers.map((n, k) => [n.name, drystone.source.heads.at(-1).numbers[k]])));
        for (const [name, column] of [["kinetic energy", "kinetic_j"], ["potential energy", "potential_j"], ["contacts", "contacts"]]) {
            assert.ok(Math.abs(shown[name] - last[column]) <= 1e-5 * Math.abs(last[column]), `${name}: ${shown[name]} ${last[column]}`);
        }
        assert.ok(shown.residual > 0 && shown["deepest overlap"] > 0);
        await shot(page, "recording");
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
        // Over a slow line the end can be looked at before the middle is here, and the middle comes.
        const again = await start("view", made, "--no-open"), slow = { slow: 300 };
        const far = await open(again.url, slow);
        await until(far, `drystone.source.count === ${frames}`);
        await far.locator("#canvas").focus();
        await far.keyboard.press("End");
        assert.equal(await far.locator("#slider").getAttribute("max"), String(frames - 1));
        assert.equal(await far.locator("#slider").inputValue(), String(frames - 1));
        await until(far, `drystone.index === ${frames - 1}`);
        assert.ok(await get(far, () => drystone.source.loaded < drystone.source.count && drystone.source.end === null), "not all is here");
        assert.deepEqual(await get(far, () => bodiesNow()), seen);
        await far.keyboard.press("n");
        await shot(far, "recording-end");
        await get(far, () => drystone.tab("plots"));
        await until(far, () => drystone.source.end !== null);
        assert.equal(await get(far, () => drystone.source.frames.filter(Boolean).length), frames);
        await until(far, `drystone.inspector.history.times.length === ${frames}`);
        await far.keyboard.press("Home");
        assert.equal(await get(far, () => drystone.index), 0);
        assert.deepEqual(far.faults, []);
        await far.context().close();
        assert.equal(await stop(again), 130);
        // The same as one file, every other frame of it.
        const html = resolve(folder, "packing-run.html");
        const exported = await run("export", made, "--to", html, "--every", "2");
        assert.equal(exported.code, 0, exported.text);
        const file = await open(`file://${html}`);
        await until(file, `drystone.source.frames.length === ${(frames + 1) / 2}`);
        await get(file, () => { drystone.playing = false; drystone.go(1e9); });
        const same = await get(file, () => bodiesNow());
        seen.forEach((x, i) => x.forEach((c, k) => assert.ok(Math.abs(c - same[i][k]) < 1e-3)));
        assert.deepEqual(file.faults, []);
        await file.context().close();
    },

    async forklift() {
        const inputs = join(folder, "driven.json"), server = await start("live", "forklift", "--no-open", "--inputs", inputs);
        const page = await open(server.url);
        await page.locator("#canvas").focus();
        const body = (name) => get(page, (n) => [...drystone.source.stage.names].find(([, x]) => x === n)[0], name);
        const frame = await body("frame"), pallet = await body("pallet");
        const at = (b) => get(page, (i) => drystone.decoder.position(i), b);
        const from = await at(frame), pallet0 = await at(pallet);
        // Ahead until the forks are under the pallet, stop, lift, lean back, and away with it.
        await page.keyboard.down("ArrowUp");
        await until(page, `drystone.decoder.position(${frame})[0] > ${from[0] + 1.2}`);
        // The sliders show what the keys do; one that only brakes has nothing to the left of nothing.
        assert.equal(await page.locator("#control-0").inputValue(), "1");
        assert.equal(await page.locator("#control-2").getAttribute("min"), "0");
        await page.keyboard.up("ArrowUp");
        await page.keyboard.down("r");
        await until(page, `drystone.decoder.position(${pallet})[2] > ${pallet0[2] + 0.15}`);
        await page.keyboard.up("r");
        await shot(page, "forklift-lifted");
        const lifted = await at(frame);
        await page.keyboard.down("ArrowDown");
        await page.keyboard.down("ArrowLeft");
        await until(page, `Math.hypot(drystone.decoder.position(${frame})[0] - ${lifted[0]}, drystone.decoder.position(${frame})[1] - ${lifted[1]}) > 1.05`);
        await page.keyboard.up("ArrowLeft");
        await page.keyboard.up("ArrowDown");
        const [f, p] = [await at(frame), await at(pallet)];
        const way = Math.hypot(f[0] - lifted[0], f[1] - lifted[1]);
        assert.ok(way > 1, `the truck has moved ${way} m`);
        assert.ok(p[2] > pallet0[2] + 0.1, `the pallet is ${p[2] - pallet0[2]} m up`);
        await page.waitForTimeout(500);
        await shot(page, "forklift-driven");
        const numbers = await get(page, () => Object.fromEntries(drystone.info.numbers.map((n, i) => [n.name, drystone.decoder.head.numbers[i]])));
        console.log(`forklift: ${way.toFixed(2)} m with the pallet ${(p[2] - pallet0[2]).toFixed(2)} m up; ${JSON.stringify(numbers)}`);
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
        // The same again without a page: the same bits, or this fails.
        const log = JSON.parse(readFileSync(inputs)), report = join(folder, "driven-report.json");
        const { code, text } = await run("run", "forklift", "--inputs", inputs, "--quiet", "--report", report);
        assert.equal(code, 0, text);
        assert.equal(JSON.parse(readFileSync(report)).state_hash, log.end.state_hash);
    },

    /** The forklift by gamepad alone: throttle, steering, mast and forks, brake, and letting go. */
    async gamepad() {
        const inputs = join(folder, "gamepad.json"), server = await start("live", "forklift", "--no-open", "--inputs", inputs);
        const page = await open(server.url);
        // What a browser shows of one that is plugged in (standard mapping: 4 axes, 17 buttons), in the second of four places.
        await get(page, () => {
            globalThis.pad = { connected: true, mapping: "standard", axes: [0, 0, 0, 0], buttons: Array.from({ length: 17 }, () => ({ value: 0, pressed: false })) };
            Object.defineProperty(navigator, "getGamepads", { value: () => [null, globalThis.pad, null, null] });
        });
        const press = (...all) => get(page, (list) => { for (const [kind, k, value] of list) { if (kind === "axis") pad.axes[k] = value; else pad.buttons[k].value = value; } }, all);
        const value = (name) => get(page, (n) => drystone.decoder.head.numbers[drystone.info.numbers.length + drystone.info.controls.findIndex((c) => c.name === n)], name);
        const body = (name) => get(page, (n) => [...drystone.source.stage.names].find(([, x]) => x === n)[0], name);
        const frame = await body("frame"), carriage = await body("carriage"), mast = await body("mast");
        const at = (b) => get(page, (i) => drystone.decoder.position(i), b);
        const from = await at(frame), low = await at(carriage);
        // A stick that does not rest quite in its middle drives nothing.
        await press(["axis", 0, 0.05], ["axis", 3, -0.06]);
        await page.waitForTimeout(400);
        assert.deepEqual(await Promise.all(["throttle", "steering", "lift", "tilt back"].map(value)), [0, 0, 0, 0]);
        // Forks up by the right stick, half way; then they stay.
        await press(["axis", 0, 0], ["axis", 3, -0.5]);
        await until(page, `drystone.decoder.position(${carriage})[2] > ${low[2] + 0.1}`);
        await press(["axis", 3, 0]);
        await page.waitForTimeout(300);
        const lifted = await value("lift");
        assert.ok(lifted > 0.1, `the forks are ${lifted} m up`);
        // Mast back by a shoulder button: its head goes to the rear.
        const upright = await get(page, (b) => drystone.decoder.rotation(b), mast);
        await press(["button", 5, 1]);
        await until(page, () => drystone.decoder.head.numbers[drystone.info.numbers.length + drystone.info.controls.findIndex((c) => c.name === "tilt back")] > 3);
        await press(["button", 5, 0]);
        const leant = await get(page, (b) => drystone.decoder.rotation(b), mast);
        assert.ok(2 * Math.asin(Math.abs(leant[1] - upright[1])) > 0.03, `the mast leans: ${upright} ${leant}`);
        // Back by the left trigger, half pressed, and to one side by the left stick.
        await press(["button", 6, 0.5], ["axis", 0, -1]);
        await until(page, `Math.hypot(drystone.decoder.position(${frame})[0] - ${from[0]}, drystone.decoder.position(${frame})[1] - ${from[1]}) > 1`);
        const driven = [await value("throttle"), await value("steering")];
        assert.ok(Math.abs(driven[0] + 1) < 0.05, `half of 2 m/s back: ${driven[0]}`);
        assert.equal(driven[1], 50);
        const q = await get(page, (b) => drystone.decoder.rotation(b), frame);
        assert.ok(Math.abs(2 * Math.asin(q[2])) > 0.2, `the truck has turned: ${q}`);
        await shot(page, "gamepad");
        // Brake and let go: it stands. Unplugged, nothing is held.
        await press(["button", 6, 0], ["axis", 0, 0], ["button", 0, 1]);
        await until(page, () => drystone.decoder.head.numbers[drystone.info.numbers.length + drystone.info.controls.findIndex((c) => c.name === "brake")] === 400);
        await get(page, () => { pad.connected = false; });
        await until(page, () => drystone.decoder.head.numbers[drystone.info.numbers.length + drystone.info.controls.findIndex((c) => c.name === "brake")] === 0);
        assert.ok((await value("lift")) >= lifted - 1e-6, "a lever stays");
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
        // The same again without a page.
        const { code, text } = await run("run", "forklift", "--inputs", inputs, "--quiet");
        assert.equal(code, 0, text);
    },

    /** The page says of a file what `drystone check` does; so do the programs of one that is wrong. */
    async notes() {
        const file = join(folder, "notes.toml"), floor = `[[body]]\nname = "floor"\nmotion = "static"\nshape = { type = "plane" }\n`;
        writeFileSync(file, `[settings]\nT = 0.1\n${floor}[[body]]\nname = "ball"\nshape = { type = "sphere", r = 0.5 }\nmass = 1\nmu = 40\nposition = [0, 0, 0.4]\n`);
        const said = (await run("check", file)).text.split("\n").filter((l) => l.startsWith("note: ")).map((l) => l.slice(6));
        assert.ok(said.length >= 3, said.join("\n"));
        for (const command of ["view", "live"]) {
            const server = await start(command, file, "--no-open", ...(command === "view" ? ["--quiet"] : []));
            const page = await open(server.url);
            await page.locator('[role=tab][data-tab="look"]').click();
            assert.deepEqual(await page.locator("#notes li").allInnerTexts(), said);
            await shot(page, `notes-${command}`);
            assert.deepEqual(page.faults, []);
            await page.context().close();
            await stop(server);
        }
        writeFileSync(file, `[settings]\nT = 0.1\n${floor}mas = 1\n[[body]]\nshape = { type = "spher", r = 1 }\nmass = -1\n`);
        const wrong = await run("check", file);
        assert.ok(wrong.code === 2 && ["mas", "spher", "-1"].every((w) => wrong.text.includes(w)), wrong.text);
        for (const command of ["view", "live"]) assert.deepEqual(await run(command, file, "--no-open"), wrong);
    },

    async drag() {
        const server = await start("live", "stack", "--set", "n=4", "--no-open");
        const page = await open(server.url);
        await until(page, () => drystone.decoder.head.step > 20);
        const moving = await get(page, () => [...drystone.source.stage.motions].map((m, i) => [m & 3, i]).filter(([m]) => m === 1).map(([, i]) => i));
        const top = moving.at(-1), before = await get(page, (b) => drystone.decoder.position(b), top);
        const [x, y] = await place(page, top);
        await page.mouse.move(x, y);
        await page.mouse.down();
        for (let k = 1; k <= 10; k++) await page.mouse.move(x + 8 * k, y - 6 * k);
        await until(page, `Math.hypot(...drystone.decoder.position(${top}).map((x, k) => x - [${before}][k])) > 0.3 * drystone.view.radii[${top}]`);
        await shot(page, "drag");
        await page.mouse.up();
        // Without weight it keeps what speed it has; with it, it falls again.
        await page.locator("#gravity").evaluate((e) => { e.value = "0"; e.dispatchEvent(new Event("input")); });
        assert.equal(await page.locator("#gravity-value").textContent(), "0 ×");
        await page.locator("#gravity").evaluate((e) => { e.value = "1"; e.dispatchEvent(new Event("input")); });
        // Pause holds it, a step moves it on by one, restart brings it back.
        await page.locator("#canvas").focus();
        await page.keyboard.press("p");
        await until(page, () => !drystone.playing);
        let step = -1;
        for (let now = 0; now !== step; now = await get(page, () => drystone.decoder.head.step)) { step = now; await page.waitForTimeout(400); }
        await page.keyboard.press("Period");
        await until(page, `drystone.decoder.head.step === ${step + 1}`);
        const n = await get(page, () => drystone.decoder.n);
        await page.keyboard.press("b");
        await until(page, `drystone.decoder.n === ${n + 1}`);
        await page.keyboard.press("Home");
        await until(page, `drystone.decoder.head?.step < ${step} && drystone.decoder.n === ${n}`);
        await page.locator("#parameter-n").evaluate((e) => { e.value = "2"; e.dispatchEvent(new Event("change")); });
        await until(page, `drystone.decoder.n === ${n - 2}`);
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
    },

    /** Motors that a scene file binds, and a parameter that it declares. */
    async controls() {
        const scene = join(root, "examples/scenes/vehicle.toml"), server = await start("live", scene, "--no-open");
        const page = await open(server.url);
        const chassis = await get(page, () => [...drystone.source.stage.names].find(([, x]) => x === "chassis")[0]);
        const at = () => get(page, (b) => drystone.decoder.position(b), chassis);
        assert.deepEqual(await get(page, () => drystone.info.controls.map((c) => c.name)), ["throttle", "turn, 1", "turn, 2"]);
        await page.locator("#canvas").focus();
        const from = await at();
        await page.keyboard.down("ArrowUp");
        await until(page, `Math.hypot(drystone.decoder.position(${chassis})[0] - ${from[0]}, drystone.decoder.position(${chassis})[1] - ${from[1]}) > 1`);
        await page.keyboard.up("ArrowUp");
        // The camera has gone with it.
        await page.waitForTimeout(1500);
        const [x, y] = await place(page, chassis), box = await page.locator("#canvas").boundingBox();
        assert.ok(x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height, `the chassis is in the picture: ${x} ${y}`);
        await shot(page, "controls");
        // By its slider alone: back again.
        const there = await at();
        await page.locator("#control-0").evaluate((e) => { e.value = "-1"; e.dispatchEvent(new Event("input")); });
        await until(page, `Math.hypot(drystone.decoder.position(${chassis})[0] - ${there[0]}, drystone.decoder.position(${chassis})[1] - ${there[1]}) > 0.5`);
        assert.match(await page.locator("#clock").innerText(), /solved so far\s+[\d,]+ of [\d,]+ steps/);
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
    },

    /** Parameters by keyboard: each stroke starts the scene again, and everything is still there after many quick ones. */
    async parameters() {
        const scene = join(folder, "conveyor.toml");
        writeFileSync(scene, CONVEYOR);
        const server = await start("live", scene, "--no-open"), page = await open(server.url);
        // What the file says where nobody has set it.
        const box = (name) => page.locator(`#parameter-${name}`).inputValue();
        assert.deepEqual([await box("h"), await box("seed"), await box("mu")], ["0.005", "1", ""]);
        await page.locator('[role=tab][data-tab="drive"]').click();
        const slider = page.locator("#parameter-speed-slider");
        await slider.focus();
        assert.equal(await slider.getAttribute("aria-valuetext"), "0.8 m/s");
        for (let k = 0; k < 12; k++) await page.keyboard.press("ArrowLeft");
        await until(page, () => drystone.info.parameters[0].value === "0.68" && drystone.decoder.head?.step > 100);
        assert.equal(await slider.inputValue(), "0.68");
        assert.ok(await get(page, () => document.activeElement.id === "parameter-speed-slider"), "it is still in hand");
        // All bodies are drawn. A name may come a picture before its body does.
        await until(page, () => ![...drystone.source.stage.names].some(([b]) => !drystone.decoder.alive[b]), 10000);
        // Moments that are asked for twice come twice: none is passed over, or bodies would drift from where they are.
        await page.keyboard.press("p");
        await until(page, () => !drystone.playing);
        await get(page, () => { for (let k = 0; k < 5; k++) { drystone.setColour(k % 2 ? "force" : "speed"); drystone.source.send(new Uint8Array([5, 1, 0])); } });
        await page.waitForTimeout(500);
        const second = await open(server.url), n = await get(page, () => drystone.decoder.head.step);
        await until(second, `drystone.decoder.head?.step === ${n}`);
        assert.deepEqual(await get(page, () => bodiesNow()), await get(second, () => bodiesNow()));
        await second.context().close();
        // What is refused is said, and the box says again what holds.
        for (const [name, value, holds] of [["h", "-1", "0.005"], ["seed", "half", "1"], ["mu", "-1", ""]]) {
            await page.locator(`#parameter-${name}`).fill(value);
            await page.keyboard.press("Enter");
            await until(page, `document.getElementById("parameter-${name}").value === "${holds}" && !document.getElementById("message").hidden`, 5000);
        }
        // A slider of factors says the number that it makes.
        await page.locator("#parameter-mu").fill("0.4");
        await page.keyboard.press("Enter");
        await until(page, () => drystone.info.parameters.find((p) => p.name === "mu").value === "0.4" && document.getElementById("parameter-mu-slider"));
        assert.equal(await page.locator("#parameter-mu-slider").getAttribute("aria-valuetext"), "0.4");
        await shot(page, "parameters");
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
    },

    /** Controls without keys: their sliders by keyboard alone; and the line of a spring follows its body. */
    async sliders() {
        const scene = join(folder, "cart.toml");
        writeFileSync(scene, CART);
        const server = await start("live", scene, "--no-open"), page = await open(server.url);
        const value = (k) => get(page, (i) => drystone.decoder.head.numbers[drystone.info.numbers.length + i], k);
        // A cart that stands is dark: what is left of its speed is noise.
        await until(page, () => drystone.decoder.head?.step > 20);
        assert.ok(await get(page, () => drystone.scales.speed >= 10 * drystone.info.tolerance), "the scale has a floor");
        // The spring's line begins at its body, also while the pointer rests.
        const crate = await get(page, () => [...drystone.source.stage.names].find(([, name]) => name === "crate")[0]);
        await get(page, () => { const draw = drystone.view.drawPull; drystone.view.drawPull = function (from, to) { globalThis.line = from; draw.call(this, from, to); }; });
        const [x, y] = await place(page, crate);
        await page.mouse.move(x, y);
        await page.mouse.down();
        await page.mouse.move(x, y - 120, { steps: 3 });
        await page.waitForTimeout(1500);
        const off = await get(page, (b) => Math.hypot(...drystone.decoder.position(b).map((c, k) => c - line[k])), crate);
        assert.ok(off < 0.18, `the line begins ${off} m from the middle of the crate`);
        await shot(page, "pulled");
        await page.mouse.up();
        await page.locator("#control-0").focus();
        await page.keyboard.press("Tab");
        await page.keyboard.press("Shift+Tab");
        assert.equal(await get(page, () => document.activeElement.id), "control-0");
        // The arrows are bound to the other one, and move this slider while it is in hand.
        for (let k = 0; k < 5; k++) { await page.keyboard.down("ArrowRight"); await page.waitForTimeout(60); }
        assert.equal(await page.locator("#control-0").inputValue(), "0.25");
        await until(page, () => drystone.decoder.head.numbers[drystone.info.numbers.length] === 2.5);
        assert.equal(await value(1), 0);
        await page.keyboard.up("ArrowRight");
        assert.equal(await page.locator("#control-0").inputValue(), "0");
        await until(page, () => drystone.decoder.head.numbers[drystone.info.numbers.length] === 0);
        // A lever goes while its slider is held, and stays.
        await page.locator("#control-2").focus();
        for (let k = 0; k < 10; k++) { await page.keyboard.down("ArrowRight"); await page.waitForTimeout(40); }
        await until(page, () => drystone.decoder.head.numbers[drystone.info.numbers.length + 2] > 0.2);
        await page.keyboard.up("ArrowRight");
        assert.equal(await page.locator("#control-2").inputValue(), "0");
        // What was on its way arrives; then it stands, and neither at its end nor where it began.
        const pause = () => page.waitForTimeout(500);
        let up = -1;
        for (let now = await value(2); now !== up; now = await value(2)) { up = now; await pause(); }
        await pause();
        assert.ok(up > 0.2 && up < 1.4 && (await value(2)) === up, `the lever stays: ${up}`);
        // By mouse it springs back when it is let go; the arrows then drive.
        const track = await page.locator("#control-0").boundingBox();
        await page.mouse.move(track.x + track.width / 2, track.y + track.height / 2);
        await page.mouse.down();
        await page.mouse.move(track.x + 0.8 * track.width, track.y + track.height / 2, { steps: 4 });
        await until(page, () => drystone.decoder.head.numbers[drystone.info.numbers.length] > 4);
        await page.mouse.up();
        assert.equal(await page.locator("#control-0").inputValue(), "0");
        await page.keyboard.down("ArrowRight");
        await until(page, () => drystone.decoder.head.numbers[drystone.info.numbers.length + 1] === 10);
        await page.keyboard.up("ArrowRight");
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
    },

    async spider() {
        const server = await start("live", "spider", "--no-open");
        const page = await open(server.url);
        await page.locator("#canvas").focus();
        await page.keyboard.down("ArrowDown");
        await until(page, () => drystone.decoder.head.numbers[drystone.info.numbers.length] === -1);
        await page.keyboard.up("ArrowDown");
        const t = await get(page, () => drystone.time), x = await get(page, () => drystone.decoder.position(0)[0]);
        await until(page, `drystone.time > ${t} + 2.5`);
        const gone = (await get(page, () => drystone.decoder.position(0)[0])) - x;
        assert.ok(gone < -0.05, `the spider walks back: ${gone} m`);
        await shot(page, "spider");
        assert.deepEqual(page.faults, []);
        await page.context().close();
        assert.equal(await stop(server), 130);
    },

    /**
     * Not part of the checks: figures for the documents, as a table. `BALLS=10000,100000`, `RUN_S` (s), `SCENE`, `REPEATS`, `SETTLE_MS`. The first picture
     * is there when the renderer has finished it: from opening the page on, in a browser that has drawn nothing so far (cold) and in one that has.
     */
    async measure() {
        const median = (a) => [...a].sort((x, y) => x - y)[a.length >> 1], ms = (a) => `${Math.round(Math.min(...a))} to ${Math.round(Math.max(...a))}`;
        const scene = process.env.SCENE ?? "shaker", kB = (x) => `${Math.round(x / 1000)}`;
        console.log("| balls | key frame, kB | other frames, kB | bytes a ball | decode and update, ms | draw, ms | frames a second | sharp, at rest, ms | first picture, cold, ms | warm, ms |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
        for (const n of (process.env.BALLS ?? "10000,100000").split(",")) {
            const server = await start("view", scene, "--set", `n=${n}`, "--time", process.env.RUN_S ?? "0.05", "--frames", "1000", "--iterations", "40", "--no-open", "--quiet");
            const page = await open(server.url);
            await until(page, () => drystone.source.end !== null, 600000);
            const r = await get(page, async () => {
                const { source, decoder, view } = drystone, sizes = source.frames.map((f) => f.length), gl = view.renderer.getContext();
                drystone.playing = false;
                const update = [], draw = [], sharp = [], timed = (list, f) => { const t = performance.now(); f(); list.push(performance.now() - t); };
                // Waits until it is drawn.
                const drawn = (coarse) => { view.render(coarse); gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); };
                for (let k = 0; k < 12; k++) {
                    timed(update, () => drystone.go(k % sizes.length));
                    timed(draw, () => drawn(view.heavy));
                }
                for (let k = 0; k < 8; k++) timed(sharp, () => drawn(false));
                return { bodies: decoder.n, key: sizes[0], changes: sizes.slice(1), update: update.slice(2), draw: draw.slice(2), sharp: sharp.slice(1) };
            });
            const url = await get(page, () => { drystone.view.render(); return document.getElementById("canvas").toDataURL(); });
            writeFileSync(join(folder, `balls-${n}.png`), Buffer.from(url.split(",")[1], "base64"));
            await page.context().close();
            const cold = [], warm = [];
            for (let k = 0; k < Number(process.env.REPEATS ?? 3); k++) {
                const fresh = await chromium.launch(launched);
                for (const list of [cold, warm, warm]) {
                    const context = await fresh.newContext({ viewport: { width: 1200, height: 760 } });
                    await context.addInitScript(finished);
                    const opened = await context.newPage();
                    // The browser's own window has pages, too, which it loads first.
                    await opened.waitForTimeout(Number(process.env.SETTLE_MS ?? 1500));
                    await opened.goto(server.url);
                    await until(opened, () => globalThis.picture > 0, 60000);
                    list.push(await get(opened, () => picture));
                    await context.close();
                }
                await fresh.close();
            }
            const change = median(r.changes), u = median(r.update), d = median(r.draw);
            console.log(`| ${r.bodies.toLocaleString("en")} | ${kB(r.key)} | ${kB(change)} | ${(change / r.bodies).toFixed(1)} | ${u.toFixed(0)} | ${d.toFixed(0)} | ${(1000 / (u + d)).toFixed(1)} | ${median(r.sharp).toFixed(0)} | ${ms(cold)} | ${ms(warm)} |`);
            await stop(server);
        }
    },
};

// Notes when the first picture has been drawn, and not only asked for.
const finished = `(function watch() {
    const view = globalThis.drystone?.view;
    if (!(globalThis.drystone?.timings.drawn > 0)) { setTimeout(watch, 3); return; }
    const gl = view.renderer.getContext();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    globalThis.picture = performance.now();
})();`;
// Helpers that live in the page.
const helpers = `
globalThis.bodiesNow = () => Array.from({ length: drystone.decoder.n }, (_, i) => drystone.decoder.position(i));
globalThis.strongest = (c) => { let k = 0, m = -1; for (let i = 0; i < c.shown; i++) { const f = Math.hypot(c.force[3*i], c.force[3*i+1], c.force[3*i+2]); if (f > m) { m = f; k = i; } } return k; };`;
const newContext = browser.newContext.bind(browser);
browser.newContext = async (o) => { const c = await newContext(o); await c.addInitScript(helpers); return c; };

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
    if (only.length ? !only.includes(name) : name === "measure") continue;
    const begun = performance.now();
    try {
        await test();
        console.log(`ok      ${name} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
    } catch (e) {
        failed++;
        console.log(`FAILED  ${name}: ${e.stack}`);
        for (const context of browser.contexts()) for (const page of context.pages()) {
            await shot(page, `failed-${name}`).catch(() => {});
            console.log(page.faults?.join("\n") ?? "");
            await context.close();
        }
    }
    started.splice(0).forEach((c) => { if (c.exitCode === null) c.kill("SIGKILL"); });
}
await browser.close();
process.exit(failed ? 1 : 0);
