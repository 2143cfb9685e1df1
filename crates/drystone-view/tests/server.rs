//! The server over real sockets: what it serves, whom it refuses, and that no message ends it.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use drystone_view::codec::{Decoder, FRAME, HELLO, STAGE, STATUS, VERSION};
use drystone_view::command::Command;
use drystone_view::server::{Server, Show};
use drystone_view::{Hello, Recorder, Store};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// A server of a packing of 60 balls after some steps.
fn server(ip: IpAddr) -> (SocketAddr, String) {
    let scene = drystone_scene::load("packing", &[("n".into(), "60".into())]).unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let store = Arc::new(Store::new(Hello::of(&scene, &world), usize::MAX));
    let mut recorder = Recorder::new(store.clone(), &world, &scene.glass, 0.0);
    for _ in 0..40 {
        let report = world.step().unwrap();
        recorder.observe(&world, &report);
    }
    store.close("");
    let server = Server::bind(ip, 0).unwrap();
    let (address, url) = (server.address().unwrap(), server.url().unwrap());
    server.serve(Show::Frames(store)).unwrap();
    (address, url)
}

fn local() -> SocketAddr {
    server(IpAddr::V4(Ipv4Addr::LOCALHOST)).0
}

/// The answer to a request of these lines.
fn ask(address: SocketAddr, lines: &[&str]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all((lines.join("\r\n") + "\r\n\r\n").as_bytes()).unwrap();
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn connect(address: SocketAddr, origin: &str, query: &str) -> Result<WebSocket<TcpStream>, String> {
    let mut request = format!("ws://{address}/socket{query}").into_client_request().unwrap();
    request.headers_mut().insert("Origin", origin.parse().unwrap());
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    tungstenite::client(request, stream).map(|(socket, _)| socket).map_err(|e| e.to_string())
}

fn say(socket: &mut WebSocket<TcpStream>, command: Command) {
    socket.send(Message::binary(command.write())).unwrap();
}

fn hear(socket: &mut WebSocket<TcpStream>) -> Option<Vec<u8>> {
    match socket.read() {
        Ok(Message::Binary(bytes)) => Some(bytes.to_vec()),
        _ => None,
    }
}

#[test]
fn it_serves_the_page_and_nothing_else() {
    let address = local();
    let host = format!("Host: {address}");
    let page = ask(address, &["GET / HTTP/1.1", &host]);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>drystone</title>"));
    assert!(page.contains("default-src 'none'") && page.contains("frame-ancestors 'none'"));
    assert!(ask(address, &["GET /viewer.js HTTP/1.1", &host]).contains("three.js"));
    for path in ["/../Cargo.toml", "/etc/passwd", "/src/lib.rs", "/viewer.js/../../x", "//etc/passwd"] {
        assert!(
            ask(address, &[&format!("GET {path} HTTP/1.1"), &host]).starts_with("HTTP/1.1 404"),
            "{path}"
        );
    }
    assert!(ask(address, &["POST / HTTP/1.1", &host]).starts_with("HTTP/1.1 405"));
    assert!(ask(address, &["GET / HTTP/1.1", "Host: example.org"]).starts_with("HTTP/1.1 403"));
    assert!(ask(address, &["GET / HTTP/1.1"]).starts_with("HTTP/1.1 400"));
    assert!(ask(address, &["nonsense"]).starts_with("HTTP/1.1 400"));
    assert!(ask(address, &["GET / HTTP/1.1", &"x".repeat(9000)]).starts_with("HTTP/1.1 400"));
}

#[test]
fn a_page_of_another_site_does_not_connect() {
    let address = local();
    assert!(connect(address, &format!("http://{address}"), "").is_ok());
    assert!(connect(address, "https://example.org", "").unwrap_err().contains("403"));
    assert!(connect(address, "null", "").unwrap_err().contains("403"));
}

#[test]
fn beyond_this_machine_it_takes_the_token() {
    let (address, url) = server(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()));
    let origin = format!("http://{address}");
    let query = &url[url.find('?').expect("the printed address has the token")..];
    assert!(connect(address, &origin, query).is_ok());
    assert!(connect(address, &origin, "").unwrap_err().contains("403"));
    assert!(
        connect(address, &origin, "?token=0123456789abcdef0123456789abcdef").unwrap_err().contains("403")
    );
}

/// Connections that ask for nothing, or never end asking, keep nobody out; those that have asked stay.
#[test]
fn idle_connections_keep_no_page_out() {
    let address = local();
    let mut page = connect(address, &format!("http://{address}"), "").unwrap();
    let idle: Vec<TcpStream> = (0..200)
        .map(|k| {
            let mut stream = TcpStream::connect(address).unwrap();
            if k % 2 == 0 {
                let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
            }
            stream
        })
        .collect();
    let begun = std::time::Instant::now();
    let host = format!("Host: {address}");
    for path in ["/", "/viewer.css", "/start.js", "/viewer.js"] {
        let got = ask(address, &[&format!("GET {path} HTTP/1.1"), &host]);
        assert!(got.starts_with("HTTP/1.1 200"), "{path}: '{}'", got.lines().next().unwrap_or_default());
    }
    let mut other = connect(address, &format!("http://{address}"), "").unwrap();
    for socket in [&mut page, &mut other] {
        say(socket, Command::Hello(VERSION));
        assert_eq!(hear(socket).unwrap()[0], HELLO);
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(idle);
}

/// WebSockets that ask for nothing, greeting or not, make room for those that do; where all have asked, the
/// next is told so.
#[test]
fn silent_sockets_keep_no_page_out_and_busy_ones_are_kept() {
    let address = local();
    let host = format!("Host: {address}");
    let open = || connect(address, &format!("http://{address}"), "");
    let silent: Vec<_> = (0..70)
        .map(|k| {
            let mut socket = open().unwrap();
            if k % 2 == 0 {
                say(&mut socket, Command::Hello(VERSION));
            }
            socket
        })
        .collect();
    assert!(ask(address, &["GET / HTTP/1.1", &host]).starts_with("HTTP/1.1 200"));
    let mut busy = Vec::new();
    let told = loop {
        match open() {
            Ok(mut socket) => {
                say(&mut socket, Command::Hello(VERSION));
                assert_eq!(hear(&mut socket).unwrap()[0], HELLO);
                say(&mut socket, Command::Want { from: 0, count: 1 });
                assert_eq!(hear(&mut socket).unwrap()[0], STAGE);
                busy.push(socket);
            }
            Err(why) => break why,
        }
        assert!(busy.len() <= 64, "{}", busy.len());
    };
    assert!(told.contains("503") && busy.len() == 64, "{told}, {}", busy.len());
    let told = ask(address, &["GET / HTTP/1.1", &host]);
    assert!(told.starts_with("HTTP/1.1 503") && told.contains("too many open pages"), "{told}");
    for socket in &mut busy {
        say(socket, Command::Want { from: 0, count: 1 });
        let _ = hear(socket).expect("it is served as before");
    }
    drop((silent, busy.pop()));
    let begun = std::time::Instant::now();
    while !ask(address, &["GET / HTTP/1.1", &host]).starts_with("HTTP/1.1 200") {
        assert!(begun.elapsed() < Duration::from_secs(10), "there is room again");
    }
}

#[test]
fn one_that_does_not_greet_is_ended() {
    let address = local();
    let begun = std::time::Instant::now();
    let mut socket = connect(address, &format!("http://{address}"), "").unwrap();
    while hear(&mut socket).is_some() {}
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
}

#[test]
fn frames_come_as_they_are_asked_for() {
    let address = local();
    let mut socket = connect(address, &format!("http://{address}"), "").unwrap();
    say(&mut socket, Command::Hello(VERSION));
    assert_eq!(hear(&mut socket).unwrap()[0], HELLO);
    // From a key frame in the middle: shapes first, once.
    say(&mut socket, Command::Want { from: 32, count: 5 });
    assert_eq!(hear(&mut socket).unwrap()[0], STAGE);
    let mut decoder = Decoder::default();
    for k in 32..37 {
        let frame = hear(&mut socket).unwrap();
        assert_eq!(frame[0], FRAME);
        assert_eq!(decoder.read(&frame).unwrap().index, k);
    }
    assert_eq!(hear(&mut socket).unwrap()[0], STATUS);
    say(&mut socket, Command::Want { from: 40, count: 100 });
    assert_eq!(hear(&mut socket).unwrap()[0], FRAME);
    let status = hear(&mut socket).unwrap();
    assert!(String::from_utf8_lossy(&status).contains("\"count\":41"));
    say(&mut socket, Command::Want { from: u32::MAX, count: 100 });
    assert_eq!(hear(&mut socket).unwrap()[0], STATUS);
}

#[test]
fn what_is_no_command_ends_the_connection_and_nothing_else() {
    let address = local();
    let open = || connect(address, &format!("http://{address}"), "").unwrap();
    // Another version, nonsense, text, and more than a message may have.
    for (hello, bad) in [
        (Command::Hello(VERSION + 1).write(), Message::binary(vec![6])),
        (Command::Hello(VERSION).write(), Message::binary(vec![255, 1, 2])),
        (Command::Hello(VERSION).write(), Message::text("hello")),
        (Command::Hello(VERSION).write(), Message::binary(vec![2; 100_000])),
    ] {
        let mut socket = open();
        socket.send(Message::binary(hello)).unwrap();
        let _ = hear(&mut socket);
        let _ = socket.send(bad);
        while let Some(message) = hear(&mut socket) {
            assert_ne!(message[0], FRAME);
        }
        assert!(!socket.can_read() || socket.read().is_err());
    }
    let mut socket = open();
    say(&mut socket, Command::Hello(VERSION));
    assert_eq!(hear(&mut socket).unwrap()[0], HELLO, "others are served as before");
}
