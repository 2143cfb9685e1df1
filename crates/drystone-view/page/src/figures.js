// Everything that is no ball: instanced meshes, one for each geometry; and the ground.

import * as THREE from "three";

function geometryOf(g) {
    switch (g.kind) {
        case "box": return new THREE.BoxGeometry(2, 2, 2);
        case "cylinder": return new THREE.CylinderGeometry(1, 1, 2, 40).rotateX(Math.PI / 2);
        case "cone": return new THREE.ConeGeometry(1, 1, 40).rotateX(Math.PI / 2).translate(0, 0, 0.25);
        case "ball":
        case "ellipsoid": return new THREE.SphereGeometry(1, 32, 20);
        case "capsule": return new THREE.CapsuleGeometry(g.radius, 2 * g.half, 10, 24).rotateX(Math.PI / 2);
        default: {
            let geometry = new THREE.BufferGeometry();
            geometry.setAttribute("position", new THREE.BufferAttribute(g.vertices, 3));
            geometry.setIndex(new THREE.BufferAttribute(g.triangles, 1));
            if (!g.smooth) geometry = geometry.toNonIndexed();
            geometry.computeVertexNormals();
            return geometry;
        }
    }
}

const GROUND_VERTEX = `
varying vec3 vPlace; varying vec3 vSeen;
void main() {
    vPlace = position;
    vec4 p = modelViewMatrix * vec4(position, 1.0);
    vSeen = p.xyz;
    gl_Position = projectionMatrix * p;
}`;

const GROUND_FRAGMENT = `
precision highp float;
uniform vec3 base; uniform vec3 line; uniform float cell; uniform float reach;
varying vec3 vPlace; varying vec3 vSeen;
float grid(float size) {
    vec2 p = vPlace.xy / size, w = fwidth(p);
    vec2 g = abs(fract(p - 0.5) - 0.5) / max(w, 1e-6);
    return (1.0 - min(min(g.x, g.y), 1.0)) * (1.0 - smoothstep(0.2, 0.6, max(w.x, w.y)));
}
void main() {
    float away = smoothstep(0.1, 1.0, length(vSeen) / reach);
    float lines = 0.35 * grid(cell) + 0.5 * grid(10.0 * cell);
    gl_FragColor = vec4(mix(base, line, lines), 1.0 - away);
}`;

/** The floor that half-spaces are: a grid that fades in the distance. */
export class Ground {
    constructor() {
        this.uniforms = { base: { value: new THREE.Color() }, line: { value: new THREE.Color() }, cell: { value: 1 }, reach: { value: 100 } };
        const material = new THREE.ShaderMaterial({
            uniforms: this.uniforms, vertexShader: GROUND_VERTEX, fragmentShader: GROUND_FRAGMENT, transparent: true, side: THREE.DoubleSide,
            polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2,
        });
        this.object = new THREE.Mesh(new THREE.PlaneGeometry(1, 1), material);
        this.object.renderOrder = -1;
    }
    fit(size) {
        this.uniforms.cell.value = 10 ** Math.round(Math.log10(size / 12));
        this.uniforms.reach.value = 12 * size;
        this.object.geometry.dispose();
        this.object.geometry = new THREE.PlaneGeometry(30 * size, 30 * size);
    }
    paint(dark) {
        this.uniforms.base.value.setRGB(...(dark ? [0.1, 0.112, 0.13] : [0.87, 0.868, 0.855]));
        this.uniforms.line.value.setRGB(...(dark ? [0.3, 0.33, 0.37] : [0.62, 0.62, 0.6]));
    }
}

/** Instances of one geometry. */
class Figure {
    constructor(geometry, instances, glass) {
        this.instances = instances;
        const material = new THREE.MeshLambertMaterial({ transparent: glass, opacity: glass ? 0.06 : 1, depthWrite: !glass });
        this.object = new THREE.InstancedMesh(geometryOf(geometry), material, instances.length);
        this.object.frustumCulled = false;
        this.object.renderOrder = glass ? 1 : 0;
        this.object.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
        this.object.setColorAt(0, new THREE.Color(1, 1, 1));
        this.local = instances.map((i) => {
            const p = i.pose ?? [0, 0, 0, 0, 0, 0, 1];
            return new THREE.Matrix4().compose(
                new THREE.Vector3(p[0], p[1], p[2]), new THREE.Quaternion(p[3], p[4], p[5], p[6]),
                new THREE.Vector3(...i.size),
            );
        });
    }
    update(bodies, tints, hidden) {
        const m = new THREE.Matrix4(), p = new THREE.Vector3(), q = new THREE.Quaternion(), one = new THREE.Vector3(1, 1, 1);
        const at = [0, 0, 0], turn = [0, 0, 0, 1], colour = new THREE.Color();
        const none = new THREE.Matrix4().makeScale(0, 0, 0);
        this.instances.forEach((instance, k) => {
            const b = instance.body;
            if (b >= bodies.n || !bodies.alive[b] || hidden(b, bodies.position(b, at))) {
                this.object.setMatrixAt(k, none);
                return;
            }
            bodies.position(b, at);
            bodies.rotation(b, turn);
            m.compose(p.set(...at), q.set(...turn), one).multiply(this.local[k]);
            this.object.setMatrixAt(k, m);
            colour.setRGB(tints[3 * b] / 255, tints[3 * b + 1] / 255, tints[3 * b + 2] / 255, THREE.SRGBColorSpace);
            this.object.setColorAt(k, colour);
        });
        this.object.instanceMatrix.needsUpdate = true;
        this.object.instanceColor.needsUpdate = true;
        this.object.boundingSphere = null;
    }
}

/** The figures of a stage. */
export function figures(stage) {
    const groups = new Map();
    for (const i of stage.instances) {
        const g = stage.geometries[i.geometry];
        if (g.kind === "ball" || g.kind === "plane") continue;
        const glass = (stage.motions[i.body] & 4) > 0, key = `${i.geometry} ${glass}`;
        if (!groups.has(key)) groups.set(key, { g, glass, list: [] });
        groups.get(key).list.push(i);
    }
    return [...groups.values()].map(({ g, glass, list }) => new Figure(g, list, glass));
}
