// Lines of any width: a square for each that turns to the camera along its line.

import * as THREE from "three";

const VERTEX = `
attribute vec3 from; attribute vec3 to; attribute float width; attribute vec4 tint;
uniform float pixel;
varying vec4 vTint; varying float vAcross;
void main() {
    vec4 a = modelViewMatrix * vec4(from, 1.0), b = modelViewMatrix * vec4(to, 1.0);
    vec3 p = mix(a.xyz, b.xyz, position.x);
    vec3 side = cross(b.xyz - a.xyz, p);
    float l = length(side);
    side = l > 0.0 ? side / l : vec3(1.0, 0.0, 0.0);
    // At least a pixel wide: what is thinner fades.
    float thin = pixel * max(-p.z, 1e-6);
    float w = max(width, thin);
    vTint = vec4(tint.rgb, tint.a * clamp(width / thin, 0.25, 1.0));
    vAcross = position.y;
    gl_Position = projectionMatrix * vec4(p + 0.5 * w * position.y * side, 1.0);
}`;

const FRAGMENT = `
precision mediump float;
varying vec4 vTint; varying float vAcross;
void main() {
    float shade = 0.65 + 0.35 * sqrt(max(0.0, 1.0 - vAcross * vAcross));
    gl_FragColor = vec4(vTint.rgb * shade, vTint.a);
}`;

export class Ribbons {
    constructor(overlay) {
        this.room = 0;
        this.count = 0;
        this.uniforms = { pixel: { value: 0.001 } };
        const material = new THREE.ShaderMaterial({
            uniforms: this.uniforms, vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true, side: THREE.DoubleSide,
            depthTest: !overlay, depthWrite: false,
        });
        this.object = new THREE.Mesh(new THREE.InstancedBufferGeometry(), material);
        this.object.frustumCulled = false;
        this.object.renderOrder = overlay ? 3 : 2;
        this.object.onBeforeRender = (renderer, scene, camera) => {
            this.uniforms.pixel.value = 2 / (renderer.domElement.height * camera.projectionMatrix.elements[5]);
            material.uniformsNeedUpdate = true;
        };
        this.grow(64);
        this.object.visible = false;
    }
    grow(n) {
        if (n <= this.room) return;
        this.room = Math.max(n, 2 * this.room);
        const geometry = new THREE.InstancedBufferGeometry();
        geometry.setAttribute("position", new THREE.Float32BufferAttribute([0, -1, 0, 1, -1, 0, 1, 1, 0, 0, 1, 0], 3));
        geometry.setIndex([0, 1, 2, 0, 2, 3]);
        const old = this.arrays;
        this.arrays = {
            from: new Float32Array(3 * this.room), to: new Float32Array(3 * this.room), width: new Float32Array(this.room),
            tint: new Float32Array(4 * this.room),
        };
        const sizes = { from: 3, to: 3, width: 1, tint: 4 };
        for (const name in sizes) {
            if (old) this.arrays[name].set(old[name]);
            geometry.setAttribute(name, new THREE.InstancedBufferAttribute(this.arrays[name], sizes[name]).setUsage(THREE.DynamicDrawUsage));
        }
        this.object.geometry.dispose();
        this.object.geometry = geometry;
    }
    begin() { this.count = 0; }
    add(ax, ay, az, bx, by, bz, width, r, g, b, alpha) {
        this.grow(this.count + 1);
        const i = this.count++, { from, to, width: w, tint } = this.arrays;
        from[3 * i] = ax; from[3 * i + 1] = ay; from[3 * i + 2] = az;
        to[3 * i] = bx; to[3 * i + 1] = by; to[3 * i + 2] = bz;
        w[i] = width;
        tint[4 * i] = r; tint[4 * i + 1] = g; tint[4 * i + 2] = b; tint[4 * i + 3] = alpha;
    }
    end() {
        const g = this.object.geometry;
        g.instanceCount = this.count;
        for (const name of ["from", "to", "width", "tint"]) g.getAttribute(name).needsUpdate = true;
        this.object.visible = this.count > 0;
    }
}
