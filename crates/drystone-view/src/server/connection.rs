//! A page that stays connected: it asks, and is sent what it asked for. Nothing is queued for a page that
//! does not read.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::Show;
use super::door::Pass;
use super::request::Request;
use crate::codec::{Encoder, HELLO, INPUTS, STATUS};
use crate::command::{Command, LONGEST};
use crate::frames::Frames;
use crate::live::Link;
use crate::stage::Told;

/// How long a read waits while there may be something to send.
const GLANCE: Duration = Duration::from_millis(4);
/// How long a page may take to greet.
const GREETING: Duration = Duration::from_secs(5);
/// Bytes of frames that one request is answered with, about.
const PORTION: usize = 4 << 20;

type Socket = WebSocket<TcpStream>;

/// Agrees on a WebSocket and talks over it until one of the two ends it.
pub fn run(mut stream: TcpStream, request: &Request, show: Show, pass: &Pass) -> std::io::Result<()> {
    let Some(key) = request.header("sec-websocket-key") else {
        return super::refuse(&mut stream, 400, "the header Sec-WebSocket-Key is missing");
    };
    pass.opened();
    let accept = derive_accept_key(key.as_bytes());
    write!(
        stream,
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )?;
    let config = WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
    let mut socket = WebSocket::from_raw_socket(stream, Role::Server, Some(config));
    let ended = match show {
        Show::Frames(frames) => watch(&mut socket, frames.as_ref(), pass),
        Show::Live(link) => steer(&mut socket, &link, pass),
    };
    if ended.is_err() {
        let _ = socket.close(None);
        let _ = socket.flush();
    }
    Ok(())
}

/// The next command, if one has come within the socket's patience.
fn next(socket: &mut Socket) -> Result<Option<Command>, Error> {
    match socket.read() {
        Ok(Message::Binary(bytes)) => {
            Command::read(&bytes).map(Some).map_err(|e| Error::Io(std::io::Error::other(e)))
        }
        Ok(Message::Close(_)) => Err(Error::ConnectionClosed),
        Ok(Message::Text(_)) => Err(Error::Io(std::io::Error::other("text is not spoken here"))),
        Ok(_) => Ok(None),
        Err(Error::Io(e))
            if matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
        {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

fn text(kind: u8, body: &str) -> Message {
    let mut bytes = vec![kind];
    bytes.extend(body.bytes());
    Message::binary(bytes)
}

/// The first message must be of the version that is spoken here.
fn greet(socket: &mut Socket) -> Result<(), Error> {
    socket.get_ref().set_read_timeout(Some(GREETING))?;
    match next(socket)? {
        Some(command) if command.is_hello() => Ok(()),
        _ => {
            socket.send(text(
                STATUS,
                &json!({ "error": "this page is of another version: load it again" }).to_string(),
            ))?;
            Err(Error::ConnectionClosed)
        }
    }
}

/// Frames of a run, as they are asked for.
fn watch(socket: &mut Socket, frames: &dyn Frames, pass: &Pass) -> Result<(), Error> {
    greet(socket)?;
    socket.send(text(HELLO, &frames.hello().json().to_string()))?;
    let mut told = Told::default();
    // A page that is looked at may ask for nothing for a long time.
    socket.get_ref().set_read_timeout(None)?;
    loop {
        let Some(Command::Want { from, count }) = next(socket)? else { continue };
        pass.asked();
        let (mut sent, mut bytes) = (0, 0);
        while sent < count && bytes < PORTION {
            let Some(frame) = frames.frame((from + sent) as usize) else { break };
            if let Some(news) = frames.stage(&mut told) {
                socket.send(Message::binary(news))?;
            }
            bytes += frame.len();
            sent += 1;
            socket.send(Message::binary(frame.to_vec()))?;
        }
        let status = json!({ "count": frames.count(), "end": frames.end(), "next": from + sent });
        socket.send(text(STATUS, &status.to_string()))?;
    }
}

/// Moments of a live run, the newest whenever the page is ready; commands the other way.
fn steer(socket: &mut Socket, link: &Link, pass: &Pass) -> Result<(), Error> {
    greet(socket)?;
    socket.get_ref().set_read_timeout(Some(GLANCE))?;
    let (mut told, mut encoder, mut seen) = (Told::default(), Encoder::default(), Seen::default());
    let mut ready: Option<(u16, bool)> = None;
    let mut has_asked = false;
    loop {
        let command = next(socket)?;
        if !has_asked && command.as_ref().is_some_and(|c| !matches!(c, Command::Hello(_))) {
            has_asked = true;
            pass.asked();
        }
        match command {
            None => {}
            Some(Command::Ready { channels, contacts }) => {
                // Channels that were not sent before are sent whole.
                if channels & !seen.channels != 0 {
                    encoder.restart();
                }
                seen.channels = channels;
                ready = Some((channels, contacts));
                link.want();
            }
            Some(Command::Hello(_) | Command::Want { .. }) => {}
            Some(command) => link.send(command),
        }
        let now = link.now();
        if seen.greeting != now.greeting {
            seen.greeting = now.greeting;
            socket.send(text(HELLO, &now.hello.json().to_string()))?;
        }
        if seen.status != now.status.0 {
            seen.status = now.status.0;
            socket.send(text(STATUS, &now.status.1))?;
        }
        if seen.inputs != now.inputs.0 {
            seen.inputs = now.inputs.0;
            socket.send(text(INPUTS, &now.inputs.1))?;
        }
        let Some(((channels, contacts), snapshot)) = ready.zip(now.snapshot.as_ref()) else { continue };
        // A run that is stopped is sent again only where more of it is wanted.
        if (seen.moment, seen.sent) == (now.moment, (channels, contacts)) {
            continue;
        }
        (seen.moment, seen.sent) = (now.moment, (channels, contacts));
        ready = None;
        if snapshot.epoch != seen.epoch {
            seen.epoch = snapshot.epoch;
            encoder.restart();
        }
        if let Some(news) = now.stage.news(&mut told) {
            socket.send(Message::binary(news))?;
        }
        socket.send(Message::binary(encoder.encode(snapshot, channels, contacts)))?;
    }
}

/// What a page has been told.
#[derive(Default)]
struct Seen {
    greeting: u64,
    status: u64,
    inputs: u64,
    moment: u64,
    epoch: u32,
    channels: u16,
    /// Channels and contacts of the last frame.
    sent: (u16, bool),
}
