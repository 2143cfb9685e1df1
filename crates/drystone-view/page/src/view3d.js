// The picture: camera, bodies, contacts, joints; and what is under the pointer.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Balls, turn } from "./balls.js";
import { PLAIN } from "./first.js";
import { figures, Ground } from "./figures.js";
import { Ribbons } from "./ribbons.js";
import { MAP } from "./colour.js";

const VIEWS = { iso: [0.62, -0.85, 0.52], front: [0, -1, 0.06], side: [1, 0, 0.06], top: [0, -0.001, 1] };

/**
 * A renderer, with smooth edges where a graphics card draws: they cost a processor several times the picture. Which of the two it is only a
 * context can tell, and a processor needs long for one: it keeps this one, and a card, for which they are cheap, gets another on a fresh canvas.
 */
/** So many balls are drawn coarsely while they move, where no graphics card does it. */
const HEAVY = 20000;

function rendererFor(canvas) {
    const context = globalThis.early?.context ?? canvas.getContext("webgl2", PLAIN);
    const about = context?.getExtension("WEBGL_debug_renderer_info");
    const name = context?.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : context.RENDERER) ?? "";
    if (/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name)) return Object.assign(new THREE.WebGLRenderer({ canvas, context }), { software: true });
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    const fresh = canvas.cloneNode();
    canvas.replaceWith(fresh);
    return new THREE.WebGLRenderer({ ...PLAIN, canvas: fresh, antialias: true });
}

/** Least and greatest corner of a piece where its body is now. */
function boxOf({ body, size, pose }, g, bodies) {
    let low = [-size[0], -size[1], -size[2]], high = [...size];
    if (g.kind === "capsule") [low, high] = [[-g.radius, -g.radius, -g.radius - g.half], [g.radius, g.radius, g.radius + g.half]];
    if (g.kind === "mesh") {
        [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
        g.vertices.forEach((x, k) => { low[k % 3] = Math.min(low[k % 3], x); high[k % 3] = Math.max(high[k % 3], x); });
    }
    const box = new THREE.Box3(new THREE.Vector3(...low), new THREE.Vector3(...high)), one = new THREE.Vector3(1, 1, 1);
    const place = (v, q) => box.applyMatrix4(new THREE.Matrix4().compose(new THREE.Vector3(...v), new THREE.Quaternion(...q), one));
    if (pose) place(pose.subarray(0, 3), pose.subarray(3));
    place(bodies.position(body), bodies.rotation(body));
    return [box.min.toArray(), box.max.toArray()];
}

/** The largest moving body that a joint holds, or null. */
function largestJoined(stage, radii) {
    let best = null;
    for (const j of stage.joints) for (const b of [j.a, j.b]) {
        if (b >= 0 && (stage.motions[b] & 3) === 1 && (best === null || radii[b] > radii[best])) best = b;
    }
    return best;
}

export class View3D {
    constructor(canvas) {
        THREE.Object3D.DEFAULT_UP.set(0, 0, 1);
        this.renderer = rendererFor(canvas);
        this.scene = new THREE.Scene();
        this.camera = new THREE.PerspectiveCamera(38, 1, 0.01, 1000);
        this.camera.up.set(0, 0, 1);
        this.controls = new OrbitControls(this.camera, this.renderer.domElement);
        this.controls.addEventListener("change", () => { this.dirty = true; });
        this.controls.zoomToCursor = true;
        this.ground = new Ground();
        this.ground.object.visible = false;
        this.bodies = new THREE.Group();
        this.contacts = new Ribbons(true);
        this.links = new Ribbons(true);
        this.pull = new Ribbons(true);
        this.sky = new THREE.HemisphereLight(0xffffff, 0x8a8478, 1.6);
        this.sun = new THREE.DirectionalLight(0xffffff, 1.9);
        this.scene.add(this.ground.object, this.bodies, this.contacts.object, this.links.object, this.pull.object, this.sky, this.sun);
        this.cut = { axis: -1, at: 0 };
        this.forces = { mode: "off", scale: 1 };
        this.showJoints = false;
        this.size = 1;
        this.dirty = true;
        this.followed = null;
        this.warm();
    }
    /**
     * Lets a graphics card make the programs of what is drawn most while the first frame is still on its way. A processor has nothing to spare
     * for it: there it is not sooner done.
     */
    warm() {
        if (this.renderer.software) return;
        const one = new Float32Array(3).fill(1), balls = new Balls({ n: 1, bodies: new Uint32Array(1), radii: one.subarray(0, 1) }, []);
        const [box] = figures({ instances: [{ body: 0, geometry: 0, size: one, pose: null }], geometries: [{ kind: "box" }], motions: [1] });
        // Kept: what nobody uses is thrown away.
        this.warmed = new THREE.Group().add(balls.object, balls.make(true), box.object);
        this.renderer.compile(this.warmed, this.camera, this.scene);
    }
    theme(dark) {
        this.renderer.setClearColor(dark ? 0x14171c : 0xf1f0ec);
        this.ground.paint(dark);
        this.dirty = true;
    }
    resize(w, h) {
        // The canvas itself follows with the next picture: making room twice is slow.
        this.extent = [w, h, Math.min(devicePixelRatio || 1, 2)];
        this.camera.aspect = w / h;
        this.camera.updateProjectionMatrix();
        this.dirty = true;
    }
    /** Draws so many pixels for one of the window's, each way. */
    sharpen(share) {
        const [w, h, ratio] = this.extent, size = [w, h, share * ratio];
        if (size.every((x, k) => x === this.drawn?.[k])) return;
        this.drawn = size;
        this.renderer.setDrawingBufferSize(...size);
    }
    /** Whether a processor has to draw so many balls that a picture takes long. */
    get heavy() { return !!this.renderer.software && (this.balls?.n ?? 0) >= HEAVY; }
    /** Builds what draws a stage. */
    setStage(stage) {
        this.stage = stage;
        this.balls?.dispose();
        this.figures?.forEach((f) => { f.object.geometry.dispose(); f.object.material.dispose(); f.object.dispose(); });
        this.bodies.clear();
        const isBall = (i) => stage.geometries[i.geometry].kind === "ball";
        const parts = stage.instances.filter(isBall);
        this.balls = stage.balls.n + parts.length ? new Balls(stage.balls, parts) : null;
        this.figures = figures(stage);
        if (this.balls) this.bodies.add(this.balls.object);
        this.figures.forEach((f) => this.bodies.add(f.object));
        this.plane = stage.instances.find((i) => stage.geometries[i.geometry].kind === "plane") ?? null;
        this.radii = new Float32Array(stage.motions.length);
        for (let k = 0; k < stage.balls.n; k++) this.radii[stage.balls.bodies[k]] = stage.balls.radii[k];
        for (const i of stage.instances) {
            const g = stage.geometries[i.geometry];
            let r = Math.hypot(...i.size);
            if (g.kind === "ball") r = i.size[0];
            if (g.kind === "plane") r = 0;
            if (g.kind === "capsule") r = g.radius + g.half;
            if (g.kind === "mesh") for (let k = r = 0; k < g.vertices.length; k += 3) r = Math.max(r, Math.hypot(g.vertices[k], g.vertices[k + 1], g.vertices[k + 2]));
            if (i.pose) r += Math.hypot(i.pose[0], i.pose[1], i.pose[2]);
            this.radii[i.body] = Math.max(this.radii[i.body], r);
        }
        this.setCut(this.cut.axis, this.cut.at);
    }
    setCut(axis, at) {
        this.cut = { axis, at };
        if (this.balls) { this.balls.uniforms.cutAxis.value = axis; this.balls.uniforms.cutAt.value = at; }
        this.dirty = true;
    }
    /** Box around what moves, and around what stands there where that leaves it large enough to be seen. */
    bounds(bodies) {
        let low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
        const p = [0, 0, 0], { motions, instances, geometries } = this.stage, stands = (b) => (motions[b] & 3) === 3;
        const { x, n, alive } = bodies, { radii } = this, { quantum } = bodies.head;
        for (let b = 0; b < n; b++) {
            if (!alive[b] || (motions[b] & 3) === 3) continue;
            const r = radii[b];
            for (let k = 0; k < 3; k++) p[k] = x[3 * b + k] * quantum;
            for (let k = 0; k < 3; k++) {
                if (p[k] - r < low[k]) low[k] = p[k] - r;
                if (p[k] + r > high[k]) high[k] = p[k] + r;
            }
        }
        const moving = isFinite(low[0]), across = (a, b) => Math.hypot(b[0] - a[0], b[1] - a[1], b[2] - a[2]);
        const most = moving ? 4 * across(low, high) : Infinity;
        for (const i of instances) {
            if (i.body >= bodies.n || !bodies.alive[i.body] || !stands(i.body) || geometries[i.geometry].kind === "plane") continue;
            const [a, b] = boxOf(i, geometries[i.geometry], bodies);
            const wide = [a.map((x, k) => Math.min(x, low[k])), b.map((x, k) => Math.max(x, high[k]))];
            if (across(...wide) <= most) [low, high] = wide;
        }
        if (!isFinite(low[0])) { low.fill(-0.5); high.fill(0.5); }
        this.size = Math.max(1e-6, across(low, high) || 1);
        const middle = [0, 1, 2].map((k) => 0.5 * (low[k] + high[k]));
        return { low, high, middle };
    }
    fit(bodies, name = "iso") {
        const box = this.bounds(bodies), { middle } = box, d = new THREE.Vector3(...VIEWS[name]).normalize();
        const half = Math.tan((this.camera.fov * Math.PI) / 360) * Math.min(1, this.camera.aspect);
        this.controls.target.set(...middle);
        this.camera.position.set(...middle).addScaledVector(d, (0.57 * this.size) / half);
        this.leash = null;
        this.camera.near = this.size / 500;
        this.camera.far = this.size * 60;
        this.camera.updateProjectionMatrix();
        this.controls.minDistance = this.size / 200;
        this.controls.maxDistance = this.size * 20;
        this.controls.update();
        if (this.plane) this.ground.fit(this.size);
        this.dirty = true;
        return box;
    }
    /** Turns, moves and zooms by keys. */
    nudge(azimuth, polar, zoom, panX = 0, panY = 0) {
        const { camera, controls } = this, v = camera.position.clone().sub(controls.target);
        const s = new THREE.Spherical().setFromVector3(new THREE.Vector3(v.x, v.z, -v.y));
        s.theta += azimuth;
        s.phi = Math.min(Math.PI - 0.02, Math.max(0.02, s.phi + polar));
        s.radius = Math.min(controls.maxDistance, Math.max(controls.minDistance, s.radius * zoom));
        v.setFromSpherical(s);
        camera.position.copy(controls.target).add(new THREE.Vector3(v.x, -v.z, v.y));
        if (panX || panY) {
            const e = camera.matrix.elements, step = 0.06 * s.radius;
            const move = new THREE.Vector3(e[0], e[1], e[2]).multiplyScalar(panX * step).add(new THREE.Vector3(e[4], e[5], e[6]).multiplyScalar(panY * step));
            camera.position.add(move);
            controls.target.add(move);
        }
        controls.update();
        this.dirty = true;
    }
    /** Keeps the camera with a body. */
    follow(bodies, body) {
        if (body === null || body >= bodies.n) { this.followed = null; return; }
        const p = bodies.position(body);
        if (this.followed?.body === body) {
            const d = new THREE.Vector3(p[0] - this.followed.p[0], p[1] - this.followed.p[1], p[2] - this.followed.p[2]);
            this.camera.position.add(d);
            this.controls.target.add(d);
        } else {
            const d = new THREE.Vector3(...p).sub(this.controls.target);
            this.camera.position.add(d);
            this.controls.target.set(...p);
        }
        this.followed = { body, p };
        this.controls.update();
    }
    /** Goes after what is driven once it is about to leave the picture; whoever moves the view makes the leash longer. */
    chase(bodies) {
        const driven = (this.stage.driven ??= largestJoined(this.stage, this.radii));
        if (driven === null || driven >= bodies.n) return;
        const p = bodies.position(driven), { target } = this.controls, d = new THREE.Vector3(p[0] - target.x, p[1] - target.y, p[2] - target.z), away = d.length();
        if (!this.leash?.target.equals(target)) this.leash = { target: target.clone(), length: Math.max(0.35 * this.size, this.leash ? away : 0) };
        const over = away - this.leash.length;
        if (over <= 0) return;
        d.multiplyScalar(over / away);
        this.camera.position.add(d);
        target.add(d);
        this.controls.update();
        this.leash.target.copy(target);
    }
    /** Shows the bodies with these colours, three bytes each. */
    update(bodies, tints) {
        const { axis, at } = this.cut;
        const hidden = axis < 0 ? () => false : (b, p) => p[axis] < at;
        this.balls?.update(bodies, tints);
        this.figures.forEach((f) => f.update(bodies, tints, hidden));
        if (this.plane) {
            const o = this.ground.object, q = bodies.rotation(this.plane.body), p = bodies.position(this.plane.body);
            const local = this.plane.pose;
            o.visible = true;
            o.quaternion.set(...q);
            if (local) {
                o.quaternion.multiply(new THREE.Quaternion(local[3], local[4], local[5], local[6]));
                const v = turn(q, local, [0, 0, 0]);
                for (let k = 0; k < 3; k++) p[k] += v[k];
            }
            o.position.set(...p);
        } else this.ground.object.visible = false;
        this.drawContacts(bodies, hidden);
        this.drawJoints(bodies);
        this.dirty = true;
    }
    drawContacts(bodies, hidden) {
        const c = bodies.contacts, r = this.contacts, p = [0, 0, 0], q = [0, 0, 0];
        r.begin();
        if (c && this.forces.mode !== "off") {
            let most = 0;
            for (let i = 0; i < c.shown; i++) most = Math.max(most, Math.hypot(c.force[3 * i], c.force[3 * i + 1], c.force[3 * i + 2]));
            this.strongest = Math.max(most, 0.97 * (this.strongest ?? 0));
            const chains = this.forces.mode === "chains", widest = 0.02 * this.size * this.forces.scale;
            for (let i = 0; i < c.shown; i++) {
                const a = c.a[i], b = c.b[i], fx = c.force[3 * i], fy = c.force[3 * i + 1], fz = c.force[3 * i + 2];
                const f = Math.hypot(fx, fy, fz) / this.strongest;
                if (!(f > 1e-4)) continue;
                bodies.position(a, p);
                if (hidden(a, p)) continue;
                const k = 3 * Math.min(255, Math.round(60 + 195 * f)), x = c.point[3 * i], y = c.point[3 * i + 1], z = c.point[3 * i + 2];
                const col = [MAP[k] / 255, MAP[k + 1] / 255, MAP[k + 2] / 255];
                if (chains) {
                    r.add(...p, x, y, z, widest * f, ...col, 0.95);
                    if ((this.stage.motions[b] & 3) !== 3) r.add(x, y, z, ...bodies.position(b, q), widest * f, ...col, 0.95);
                } else {
                    const l = (0.25 * this.size * this.forces.scale) / this.strongest;
                    r.add(x, y, z, x + l * fx, y + l * fy, z + l * fz, 0.006 * this.size, ...col, 1);
                }
            }
        }
        r.end();
    }
    drawJoints(bodies) {
        const r = this.links, ends = [[0, 0, 0], [0, 0, 0]], v = [0, 0, 0], c = [0, 0, 0];
        r.begin();
        if (this.showJoints) for (const j of this.stage.joints) {
            const there = [j.a, j.b].every((b) => b < 0 || (b < bodies.n && bodies.alive[b]));
            if (!there) continue;
            [j.a, j.b].forEach((b, k) => {
                if (b < 0) { ends[k] = [...j.at[k]]; return; }
                turn(bodies.rotation(b), j.at[k], v);
                bodies.position(b, c);
                ends[k] = [0, 1, 2].map((i) => c[i] + v[i]);
                r.add(...c, ...ends[k], 0.003 * this.size, 0.95, 0.55, 0.2, 0.55);
            });
            const w = 0.006 * this.size;
            r.add(...ends[0], ...ends[1], w, 0.95, 0.4, 0.15, 1);
            const axis = j.a < 0 ? j.axis : turn(bodies.rotation(j.a), j.axis, v), l = 0.05 * this.size;
            if (Math.hypot(...j.axis) > 0.5) {
                const e = ends[0];
                r.add(e[0] - l * axis[0], e[1] - l * axis[1], e[2] - l * axis[2], e[0] + l * axis[0], e[1] + l * axis[1], e[2] + l * axis[2], w, 0.2, 0.6, 1, 1);
            }
        }
        r.end();
    }
    /** The line of a spring between two points; none without them. */
    drawPull(from, to) {
        this.pull.begin();
        if (from) this.pull.add(...from, ...to, 0.008 * this.size, 1, 0.35, 0.2, 1);
        this.pull.end();
        this.dirty = true;
    }
    ray(x, y) {
        const box = this.renderer.domElement.getBoundingClientRect(), caster = new THREE.Raycaster();
        caster.setFromCamera(new THREE.Vector2((2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height), this.camera);
        return caster;
    }
    /** The body under a place of the window: number, point, distance. */
    pick(x, y, draggable = false) {
        const caster = this.ray(x, y), { origin, direction } = caster.ray;
        let best = this.balls?.hit(origin, direction) ?? null;
        for (const f of this.figures) {
            if (f.object.material.transparent) continue;
            for (const hit of caster.intersectObject(f.object, false)) {
                const body = f.instances[hit.instanceId].body;
                if (!best || hit.distance < best.distance) best = { body, distance: hit.distance };
                break;
            }
        }
        if (!best || (draggable && (this.stage.motions[best.body] & 3) !== 1)) return null;
        best.point = origin.clone().addScaledVector(direction, best.distance).toArray();
        return best;
    }
    /** The contact nearest to a place of the window, within some pixels. */
    pickContact(bodies, x, y) {
        const c = bodies.contacts;
        if (!c || this.forces.mode === "off") return null;
        const box = this.renderer.domElement.getBoundingClientRect(), v = new THREE.Vector3();
        let best = null, least = 10;
        for (let i = 0; i < c.shown; i++) {
            v.set(c.point[3 * i], c.point[3 * i + 1], c.point[3 * i + 2]).project(this.camera);
            if (v.z > 1) continue;
            const d = Math.hypot(box.left + (v.x + 1) * 0.5 * box.width - x, box.top + (1 - v.y) * 0.5 * box.height - y);
            if (d < least) { least = d; best = i; }
        }
        return best === null ? null : { a: c.a[best], b: c.b[best] };
    }
    /** Where the ray under the pointer meets the plane through a point across the line of sight. */
    onPlane(x, y, through) {
        const normal = this.camera.getWorldDirection(new THREE.Vector3());
        const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, new THREE.Vector3(...through));
        return this.ray(x, y).ray.intersectPlane(plane, new THREE.Vector3())?.toArray() ?? null;
    }
    /** Draws; `coarse`: a quarter of the pixels, for what moves and is heavy to draw. */
    render(coarse = false) {
        this.sharpen(coarse ? 0.5 : 1);
        const scale = 0.5 * this.extent[1] * this.extent[2] * this.camera.projectionMatrix.elements[5];
        this.balls?.look(scale, this.camera.position.distanceTo(this.controls.target));
        this.sun.position.copy(this.camera.position).sub(this.controls.target).normalize()
            .add(new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, 0).multiplyScalar(0.45))
            .add(new THREE.Vector3(0, 0, 0.7));
        this.renderer.render(this.scene, this.camera);
        // Begun now and not with the page's next picture.
        this.renderer.getContext().flush();
        this.dirty = false;
    }
}
