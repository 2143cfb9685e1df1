// Balls as impostors. Near: a square for each that faces the camera, shaded and with the depth of a sphere. Where many are
// small on the screen: a point for each, shaded, with the depth of its centre.

import * as THREE from "three";

/** So few are always squares; so many always points; in between, points where they are smaller than so many pixels. */
const FEW = 3000, MANY = 300000, SMALL = 7;

const SQUARE_VERTEX = `
uniform float cutAxis; uniform float cutAt;
attribute vec3 centre; attribute float radius; attribute vec3 tint;
varying vec3 vTint; varying vec2 vCorner; varying vec3 vCentre; varying float vRadius;
void main() {
    vec4 c = modelViewMatrix * vec4(centre, 1.0);
    float along = cutAxis < 0.5 ? centre.x : cutAxis < 1.5 ? centre.y : centre.z;
    float r = (cutAxis >= 0.0 && along < cutAt) ? 0.0 : radius;
    // A sphere near the camera looks larger than its middle's circle.
    float d = max(length(c.xyz), 1e-6);
    float reach = isOrthographic ? r : r * d / sqrt(max(d * d - r * r, 1e-4 * d * d));
    vec3 z = isOrthographic ? vec3(0.0, 0.0, 1.0) : normalize(-c.xyz);
    vec3 x = normalize(cross(vec3(0.0, 1.0, 0.0), z));
    vec3 y = cross(z, x);
    vTint = tint; vCorner = position.xy; vCentre = c.xyz; vRadius = r;
    gl_Position = projectionMatrix * vec4(c.xyz + reach * (position.x * x + position.y * y), 1.0);
    if (r == 0.0) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`;

const SQUARE_FRAGMENT = `
precision highp float;
uniform mat4 projectionMatrix; uniform vec3 light; uniform float ambient;
varying vec3 vTint; varying vec2 vCorner; varying vec3 vCentre; varying float vRadius;
void main() {
    float rr = dot(vCorner, vCorner);
    if (rr > 1.0) discard;
    vec3 z = normalize(-vCentre);
    vec3 x = normalize(cross(vec3(0.0, 1.0, 0.0), z));
    vec3 n = normalize(vCorner.x * x + vCorner.y * cross(z, x) + sqrt(1.0 - rr) * z);
    vec3 p = vCentre + vRadius * n;
    float shade = ambient + (1.0 - ambient) * max(dot(n, light), 0.0);
    float rim = 1.0 - 0.25 * pow(rr, 3.0);
    // Light is linear, what is shown is its root.
    gl_FragColor = vec4(vTint * pow(shade * rim, 1.0 / 2.2), 1.0);
    vec4 clip = projectionMatrix * vec4(p, 1.0);
    gl_FragDepth = 0.5 + 0.5 * clip.z / clip.w;
}`;

const POINT_VERTEX = `
uniform float cutAxis; uniform float cutAt; uniform float scale;
attribute vec3 centre; attribute float radius; attribute vec3 tint;
varying vec3 vTint;
void main() {
    vec4 c = modelViewMatrix * vec4(centre, 1.0);
    float along = cutAxis < 0.5 ? centre.x : cutAxis < 1.5 ? centre.y : centre.z;
    vTint = tint;
    gl_Position = projectionMatrix * c;
    gl_PointSize = max(1.0, 2.0 * radius * scale / max(gl_Position.w, 1e-6));
    if (radius == 0.0 || (cutAxis >= 0.0 && along < cutAt)) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); gl_PointSize = 0.0; }
}`;

const POINT_FRAGMENT = `
precision mediump float;
uniform vec3 light; uniform float ambient;
varying vec3 vTint;
void main() {
    vec2 p = vec2(2.0, -2.0) * (gl_PointCoord - 0.5);
    float rr = dot(p, p);
    if (rr > 1.0) discard;
    float shade = ambient + (1.0 - ambient) * max(dot(vec3(p, sqrt(1.0 - rr)), light), 0.0);
    // As for the squares: light is linear, what is shown is its root.
    gl_FragColor = vec4(vTint * pow(shade, 1.0 / 2.2), 1.0);
}`;

/** All balls of a stage, in one draw call. */
export class Balls {
    /** Plain ones, and those that are a part of their bodies. */
    constructor(plain, parts) {
        this.n = plain.n + parts.length;
        this.plain = plain.n;
        this.poses = parts.map((i) => i.pose);
        this.bodies = new Uint32Array(this.n);
        this.radii = new Float32Array(this.n);
        this.bodies.set(plain.bodies.subarray(0, plain.n));
        this.radii.set(plain.radii.subarray(0, plain.n));
        parts.forEach((i, k) => { this.bodies[plain.n + k] = i.body; this.radii[plain.n + k] = i.size[0]; });
        this.mean = this.radii.reduce((a, r) => a + r, 0) / this.n;
        this.arrays = { centre: new Float32Array(3 * this.n), radius: new Float32Array(this.n), tint: new Uint8Array(4 * this.n) };
        this.uniforms = {
            light: { value: new THREE.Vector3(0.35, 0.5, 0.8).normalize() }, ambient: { value: 0.35 }, cutAxis: { value: -1 },
            cutAt: { value: 0 }, scale: { value: 500 }, projectionMatrix: { value: new THREE.Matrix4() },
        };
        this.object = new THREE.Group();
        this.points = null;
        this.made = {};
        this.choose(this.n > MANY);
    }
    /** Points, or squares. */
    choose(points) {
        points = this.n > FEW && (points || this.n > MANY);
        if (points === this.points) return;
        this.points = points;
        const shape = (this.made[points] ??= this.make(points));
        this.object.clear();
        this.object.add(shape);
        this.sent();
    }
    make(points) {
        const material = new THREE.ShaderMaterial({
            uniforms: this.uniforms, vertexShader: points ? POINT_VERTEX : SQUARE_VERTEX, fragmentShader: points ? POINT_FRAGMENT : SQUARE_FRAGMENT,
        });
        const geometry = points ? new THREE.BufferGeometry() : new THREE.InstancedBufferGeometry();
        const Attribute = points ? THREE.BufferAttribute : THREE.InstancedBufferAttribute;
        for (const [name, size] of [["centre", 3], ["radius", 1], ["tint", 4]]) {
            geometry.setAttribute(name, new Attribute(this.arrays[name], size, name === "tint").setUsage(THREE.DynamicDrawUsage));
        }
        if (points) {
            geometry.setAttribute("position", geometry.getAttribute("centre"));
        } else {
            geometry.setAttribute("position", new THREE.Float32BufferAttribute([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0], 3));
            geometry.setIndex([0, 1, 2, 0, 2, 3]);
            geometry.instanceCount = this.n;
        }
        const shape = points ? new THREE.Points(geometry, material) : new THREE.Mesh(geometry, material);
        shape.frustumCulled = false;
        shape.onBeforeRender = (renderer, scene, camera) => {
            this.uniforms.projectionMatrix.value.copy(camera.projectionMatrix);
            this.uniforms.scale.value = 0.5 * renderer.domElement.height * camera.projectionMatrix.elements[5];
            material.uniformsNeedUpdate = true;
        };
        return shape;
    }
    /** Chooses for a camera at this distance: `scale` is pixels of a metre a metre away. */
    look(scale, distance) { this.choose((this.mean * scale) / distance < SMALL); }
    sent() {
        const { geometry } = this.made[this.points];
        for (const name in this.arrays) geometry.getAttribute(name).needsUpdate = true;
    }
    dispose() {
        for (const shape of Object.values(this.made)) { shape.geometry.dispose(); shape.material.dispose(); }
    }
    /** Takes places and colours from the bodies. */
    update(bodies, tints) {
        const { x, alive, head } = bodies, s = head.quantum, { centre: c, radius: r, tint: t } = this.arrays;
        const v = [0, 0, 0], q = [0, 0, 0, 1];
        for (let i = 0; i < this.n; i++) {
            const b = this.bodies[i], pose = i < this.plain ? null : this.poses[i - this.plain];
            const there = b < bodies.n && alive[b];
            r[i] = there ? this.radii[i] : 0;
            if (!there) continue;
            c[3 * i] = x[3 * b] * s;
            c[3 * i + 1] = x[3 * b + 1] * s;
            c[3 * i + 2] = x[3 * b + 2] * s;
            if (pose) {
                turn(bodies.rotation(b, q), pose, v);
                for (let k = 0; k < 3; k++) c[3 * i + k] += v[k];
            }
            // Four bytes each: three would have to be moved before they are drawn.
            t[4 * i] = tints[3 * b];
            t[4 * i + 1] = tints[3 * b + 1];
            t[4 * i + 2] = tints[3 * b + 2];
        }
        this.sent();
    }
    /** The ball that a ray meets first: its body and the distance. */
    hit(origin, direction) {
        const { centre: c, radius: r } = this.arrays, { cutAxis, cutAt } = this.uniforms;
        let best = null, least = Infinity;
        for (let i = 0; i < this.n; i++) {
            if (r[i] === 0 || (cutAxis.value >= 0 && c[3 * i + cutAxis.value] < cutAt.value)) continue;
            const x = c[3 * i] - origin.x, y = c[3 * i + 1] - origin.y, z = c[3 * i + 2] - origin.z;
            const along = x * direction.x + y * direction.y + z * direction.z;
            const off = x * x + y * y + z * z - along * along, room = r[i] * r[i] - off;
            if (room < 0) continue;
            const distance = along - Math.sqrt(room);
            if (distance > 0 && distance < least) { least = distance; best = this.bodies[i]; }
        }
        return best === null ? null : { body: best, distance: least };
    }
}

/** A quaternion times a vector. */
export function turn(q, v, to) {
    const [x, y, z, w] = q;
    const tx = 2 * (y * v[2] - z * v[1]), ty = 2 * (z * v[0] - x * v[2]), tz = 2 * (x * v[1] - y * v[0]);
    to[0] = v[0] + w * tx + y * tz - z * ty;
    to[1] = v[1] + w * ty + z * tx - x * tz;
    to[2] = v[2] + w * tz + x * ty - y * tx;
    return to;
}
