//! What is done with damaged bytes, and what must hold of it.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use drystone_scene::import::{Options, import};
use drystone_view::codec::{Decoder, Encoder, VERSION};
use drystone_view::command::{Added, Command};
use drystone_view::live;
use drystone_view::server::{Server, Show};

use crate::seeds;

thread_local! {
    static READ: Cell<bool> = const { Cell::new(false) };
}

/// Whether the last case was one that was read without an error.
pub fn was_read() -> bool {
    READ.with(Cell::get)
}

fn note_read(good: bool) {
    READ.with(|r| r.set(good));
}

/// A folder for the files that are read, gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("drystone-fuzz-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Scene files of the examples, and those of the tests that something is wrong with.
pub fn scene_seeds() -> Vec<Vec<u8>> {
    seeds::EXAMPLES.iter().chain(seeds::MALFORMED).map(|(_, text)| text.to_vec()).collect()
}

#[rustfmt::skip]
pub const SCENE_WORDS: &[&str] = &[
    "[[body]]", "[[joint]]", "[[emitter]]", "[[sink]]", "[[control]]", "[[probe]]", "[settings]", "[parameters]", "[materials]",
    "[[materials.pair]]", "[stop]", "[record]", "[[field]]", "for", "if", "shape", "type", "\"sphere\"", "\"box\"", "\"plane\"",
    "\"hull\"", "\"mesh\"", "\"capsule\"", "\"cylinder\"", "\"cone\"", "\"ellipsoid\"", "\"heights\"", "\"decomposed\"", "\"hopper.stl\"",
    "\"hills.csv\"", "\"quake.csv\"", "\"case.toml\"", "file", "copies", "\"random\"", "\"lattice\"", "\"curve\"", "\"wall\"", "\"grid\"", "\"csv\"",
    "count", "spacing", "min", "max", "mass", "density", "inertia", "rotation", "guide", "motor", "limits", "spring", "\"= 1 / 0\"", "\"= ((\"",
    "\"${\"", "\"gear\"", "\"pulley\"", "\"screw\"", "\"rolling_disc\"", "\"trajectory\"", "\"bushing\"", "true", "false", "[]", "{}", "[[", "]]", "\"\"\"", "'",
    "include", "scene", "\"stack\"", "periodic", "bounds", "sleep", "planar", "charge", "integrate", "table", "points", "=", ",", ".", "\"\\u0000\"", "é",
];

/// Scene files: `check` ends in words or in an error with a place; what it passes can be loaded.
pub struct Scene {
    folder: Folder,
}

impl Scene {
    pub fn new() -> Self {
        let folder = Folder::new();
        for (name, bytes) in seeds::BESIDE {
            folder.write(name, bytes);
        }
        Self { folder }
    }

    pub fn run(&mut self, bytes: &[u8]) -> Result<(), String> {
        let json = bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
        let path = self.folder.write(if json { "case.json" } else { "case.toml" }, bytes);
        let text = path.to_string_lossy();
        note_read(false);
        match drystone_scene::check(&path) {
            Err(e) => {
                if e.message.is_empty() || !e.to_string().starts_with(&*self.folder.0.to_string_lossy()) {
                    return Err(format!("an error that does not say where: '{e}'"));
                }
            }
            Ok(_) => {
                note_read(true);
                let scene =
                    drystone_scene::load(&text, &[]).map_err(|e| format!("checked, not loaded: {e}"))?;
                drystone_scene::parameters(&text, &[]).map_err(|e| format!("no parameters: {e}"))?;
                scene.world(scene.settings.clone()).map_err(|e| format!("checked, not built: {e}"))?;
            }
        }
        Ok(())
    }
}

#[rustfmt::skip]
pub const XML_WORDS: &[&str] = &[
    "<body>", "</body>", "<geom/>", "<joint/>", "<include file=\"other.xml\"/>", "<include file=\"robot.xml\"/>", "<default>", "</default>", "class=\"leg\"",
    "fromto=\"0 0 0 0 0 0\"", "size=\"1\"", "type=\"mesh\"", "mesh=\"part\"", "quat=\"0 0 0 0\"", "euler=\"1 2\"", "<frame pos=\"1 2 3\">", "</frame>",
    "<equality>", "</equality>", "<weld body1=\"leg\" body2=\"torso\"/>", "<connect body1=\"leg\" anchor=\"0 0 0\"/>", "<tendon>", "</tendon>", "<!--", "-->", "<![CDATA[", "]]>",
    "<!DOCTYPE a [<!ENTITY b \"c\">]>", "&b;", "&#0;", "&amp;", "parent", "child", "link", "0 1 0", "mass=\"-1\"", "<link name=\"base\"/>", "part.stl", "inf", "\"", "/>", "<",
];

pub const URDF: &str = include_str!("robot.urdf");
pub const MJCF: &str = include_str!("robot.xml");
/// What the seed of MJCF files includes.
const OTHER: &str = include_str!("other.xml");

/// Robots' files: they are refused, or become a scene file, which may be refused in turn.
pub struct Robot {
    folder: Folder,
    name: &'static str,
}

impl Robot {
    pub fn new(name: &'static str) -> Self {
        let folder = Folder::new();
        let part = seeds::BESIDE.iter().find(|f| f.0.ends_with(".stl")).unwrap();
        folder.write("part.stl", part.1);
        folder.write("other.xml", OTHER.as_bytes());
        Self { folder, name }
    }

    pub fn run(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (from, to) = (self.folder.write(self.name, bytes), self.folder.0.join("robot.toml"));
        note_read(false);
        let made = match import(&from, &to, Options { hold: true, ..Options::default() }) {
            Ok(made) => made,
            Err(e) if e.message.is_empty() || e.file.is_none() => {
                return Err(format!("an error that does not say where: '{e}'"));
            }
            Err(_) => return Ok(()),
        };
        self.folder.write("robot.toml", made.text.as_bytes());
        match drystone_scene::load(&to.to_string_lossy(), &[]) {
            Ok(scene) => {
                note_read(true);
                // What no real robot could have is for the world to refuse.
                let _ = scene.world(scene.settings.clone());
            }
            // Whatever the robot's file holds, what is written is a scene file: nothing is wrong with its
            // form.
            Err(e) if e.field.is_none() && e.place.is_some() || e.message.contains("unknown field") => {
                return Err(format!("wrote no scene file: {e}"));
            }
            Err(_) => {}
        }
        Ok(())
    }
}

/// Messages of a page, each with its length before it.
pub fn live_seeds() -> Vec<Vec<u8>> {
    let all = [
        Command::Hello(VERSION),
        Command::Ready { channels: 31, contacts: true },
        Command::Run(true),
        Command::Control { number: 0, value: 1.0 },
        Command::Drag { body: 0, point: [0.0, 0.0, 0.1], to: [1.0, 0.0, 1.0] },
        Command::Step(3),
        Command::Add { what: Added::Cube, size: 0.1, at: [0.0, 0.0, 2.0], velocity: [0.0; 3] },
        Command::Release,
        Command::Pace(2.0),
        Command::Gravity([0.0, 0.0, -1.0]),
        Command::Set { name: "n".into(), value: "3".into() },
        Command::Inputs,
        Command::Restart,
        Command::Want { from: 0, count: 10 },
    ];
    let framed = |c: &Command| {
        let bytes = c.write();
        [&[bytes.len() as u8][..], &bytes].concat()
    };
    let mut seeds: Vec<Vec<u8>> = all.iter().map(framed).collect();
    seeds.push(all.iter().flat_map(framed).collect());
    seeds
}

/// A live run and a server: messages are obeyed or refused, frames can be read, and others are served as
/// before.
pub struct Live {
    run: live::Live<'static>,
    link: live::Link,
    address: SocketAddr,
    encoder: Encoder,
    decoder: Decoder,
    cases: u64,
}

impl Live {
    pub fn new() -> Self {
        let make = |set: &[(String, String)]| {
            // Large ones only take time.
            if set.iter().any(|(_, v)| v.parse::<f64>().is_ok_and(|x| x > 6.0)) {
                return Err("too many".to_string());
            }
            let scene = drystone_scene::load("stack", set).map_err(|e| e.to_string())?;
            let world = scene.world(scene.settings.clone()).map_err(|e| e.to_string())?;
            Ok((scene, world))
        };
        let options = live::Options {
            scene: "stack".into(),
            set: vec![("n".into(), "2".into())],
            parameters: Vec::new(),
            paused: true,
            pace: 1000.0,
            exact: false,
            notes: Vec::new(),
        };
        let (run, link) = live::Live::new(Box::new(make), options).unwrap();
        let server = Server::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).unwrap();
        let address = server.address().unwrap();
        server.serve(Show::Live(link.clone())).unwrap();
        Self { run, link, address, encoder: Encoder::default(), decoder: Decoder::default(), cases: 0 }
    }

    pub fn run(&mut self, bytes: &[u8]) -> Result<(), String> {
        note_read(false);
        self.cases += 1;
        let mut rest = bytes;
        let mut steps = 0;
        while let Some((length, after)) = rest.split_first() {
            let (message, next) = after.split_at(after.len().min(usize::from(*length)));
            rest = next;
            let Ok(command) = Command::read(message) else { continue };
            if Command::read(&command.write()) != Ok(command.clone()) {
                return Err(format!("{command:?} is written otherwise than it is read"));
            }
            note_read(true);
            self.link.send(command);
            self.link.want();
            for _ in 0..3 {
                self.run.turn(Duration::from_micros(1));
                steps += 1;
            }
            self.show()?;
            if steps > 300 {
                break;
            }
        }
        // Bodies that were added, and what has become of them, are for others to begin without.
        if self.cases.is_multiple_of(50) {
            self.link.send(Command::Set { name: "n".into(), value: "2".into() });
            self.link.send(Command::Gravity([0.0, 0.0, -9.81]));
            self.link.send(Command::Run(false));
            for _ in 0..4 {
                self.run.turn(Duration::from_micros(1));
            }
        }
        if self.cases.is_multiple_of(20) { self.over_sockets(bytes) } else { Ok(()) }
    }

    /// What pages would be sent can be read.
    fn show(&mut self) -> Result<(), String> {
        let now = self.link.now();
        let Some(snapshot) = now.snapshot else { return Ok(()) };
        // Those that begin anew come whole.
        self.encoder.restart();
        let frame = self.encoder.encode(&snapshot, 31, true);
        let seen = self.decoder.read(&frame).map_err(|e| format!("a frame that cannot be read: {e}"))?;
        if seen.step != snapshot.step {
            return Err(format!("step {} was shown as {}", snapshot.step, seen.step));
        }
        Ok(())
    }

    /// The bytes as a request, and as what follows the greeting; then somebody else asks for the page.
    fn over_sockets(&self, bytes: &[u8]) -> Result<(), String> {
        let host = self.address;
        let upgrade = format!(
            "GET /socket HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        );
        let page = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        for begin in [Vec::new(), upgrade.into_bytes()] {
            let mut stream = TcpStream::connect(host).map_err(|e| e.to_string())?;
            let _ = stream.write_all(&begin);
            let _ = stream.write_all(bytes);
        }
        let mut stream = TcpStream::connect(host).map_err(|e| e.to_string())?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(|e| e.to_string())?;
        stream.write_all(page.as_bytes()).map_err(|e| e.to_string())?;
        let mut start = [0; 12];
        stream.read_exact(&mut start).map_err(|e| format!("the page is not served any more: {e}"))?;
        if &start == b"HTTP/1.1 200" { Ok(()) } else { Err(String::from_utf8_lossy(&start).into_owned()) }
    }
}
