//! scratch
use drystone::*; use glam::*;
fn main(){
    let text=std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let steps:usize=std::env::args().nth(2).unwrap().parse().unwrap();
    let v:serde_json::Value=serde_json::from_str(&text).unwrap();
    let d3=|x:&serde_json::Value| DVec3::new(x[0].as_f64().unwrap(),x[1].as_f64().unwrap(),x[2].as_f64().unwrap());
    let mut s=Settings::default(); s.h=v["h"].as_f64().unwrap();
    if let Some(i)=std::env::args().nth(3){ s.iterations=i.parse().unwrap();}
    if let Some(i)=std::env::args().nth(4){ s.tolerance=i.parse().unwrap();}
    let mu=v["mu"].as_f64().unwrap();
    let mut w=World::new(s).unwrap();
    for b in v["bodies"].as_array().unwrap(){
        let shape=match b["shape"].as_str().unwrap(){"sphere"=>Shape::Sphere{radius:b["r"].as_f64().unwrap()},"box"=>Shape::Box{half:d3(&b["half"])},_=>panic!()};
        let mut def=BodyDef::dynamic(shape,b["m"].as_f64().unwrap()).at(d3(&b["pos"])).friction(mu).moving(d3(&b["vel"]),d3(&b["omega"]));
        def.mass=MassProperties::principal(b["m"].as_f64().unwrap(),d3(&b["I"]));
        w.add_body(def).unwrap();
    }
    for b in v["statics"].as_array().unwrap(){
        let shape=match b["shape"].as_str().unwrap(){"plane"=>Shape::HalfSpace,"box"=>Shape::Box{half:d3(&b["half"])},_=>panic!()};
        w.add_body(BodyDef::fixed(shape).at(d3(&b["pos"])).friction(mu)).unwrap();
    }
    let t=std::time::Instant::now();
    let (mut it,mut ct,mut solve)=(0,0,0.0);
    for k in 0..steps{
        let r=w.step().unwrap();
        it+=r.iterations; ct+=r.contacts*r.iterations; solve+=r.spans[3].as_secs_f64();
        if k%(steps/20).max(1)==0||k==steps-1{
            let (sm,_)=w.speeds();
            println!("{k} c {} t {} it {} {:?} res {:.1e} rms {:.1e} pen {:.2e} rounds {} fw {:.4} vmax {:.2e} ms {:?}",r.contacts,r.touching,r.iterations,r.status,r.certificate.residual_max,r.certificate.residual_rms,r.penetration_max,r.position_rounds,w.support_over_weight().unwrap(),sm,r.spans.map(|s|(s.as_secs_f64()*1e5).round()/100.0));
        }
    }
    println!("{:.3} ms/step; ns per contact-iteration {:.1}; pen now {:?} bp {:?} hash {:x}",t.elapsed().as_secs_f64()*1e3/steps as f64, solve*1e9/ct as f64, w.penetration(), w.broadphase(), w.state().hash());
}
