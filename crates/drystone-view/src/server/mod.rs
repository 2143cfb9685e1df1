//! The server: one page, its script and style, and a socket. It reads no files and starts no programs.

mod connection;
mod door;
mod guard;
mod request;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::frames::Frames;
use crate::live::Link;
use crate::page;
use door::{Door, Pass};
use guard::{Guard, new_token};
use request::Request;

/// How long a client may take to ask, or to take what it asked for.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long one may take to ask that is told that there is no room.
const HASTE: Duration = Duration::from_secs(2);

/// What a server shows.
#[derive(Clone)]
pub enum Show {
    /// A run.
    Frames(Arc<dyn Frames>),
    /// A live run.
    Live(Link),
}

/// A listening server.
pub struct Server {
    listener: TcpListener,
    guard: Arc<Guard>,
}

impl Server {
    /// Listens; port 0 is any free one. At an address beyond this machine it makes a token that pages need.
    pub fn bind(ip: IpAddr, port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((ip, port))?;
        let address = listener.local_addr()?;
        let token = if ip.is_loopback() { None } else { Some(new_token()?) };
        Ok(Self { listener, guard: Arc::new(Guard::new(address, token)) })
    }

    /// Where it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What to open in a browser, the token included.
    pub fn url(&self) -> std::io::Result<String> {
        let address = self.address()?;
        Ok(match self.guard.token() {
            Some(token) => format!("http://{address}/?token={token}"),
            None => format!("http://{address}/"),
        })
    }

    /// Answers from now on, in threads of its own.
    pub fn serve(self, show: Show) -> std::io::Result<()> {
        let door = Arc::new(Door::default());
        std::thread::Builder::new().name("server".into()).spawn(move || {
            for stream in self.listener.incoming() {
                let Ok(stream) = stream else { continue };
                let Some(pass) = Door::enter(&door, &stream) else { continue };
                let (guard, show) = (self.guard.clone(), show.clone());
                let answer = move || {
                    // A client that goes away in the middle is nobody's fault.
                    let _ = answer(stream, &pass, &guard, show);
                };
                // A thread that there is no room for takes the connection with it.
                let _ = std::thread::Builder::new().name("viewer".into()).spawn(answer);
            }
        })?;
        Ok(())
    }
}

fn answer(mut stream: TcpStream, pass: &Pass, guard: &Guard, show: Show) -> std::io::Result<()> {
    stream.set_read_timeout(Some(if pass.is_turned_away { HASTE } else { CLIENT_TIMEOUT }))?;
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    stream.set_nodelay(true)?;
    let mut head = Vec::new();
    let request = loop {
        let mut part = [0; 1024];
        let n = stream.read(&mut part)?;
        if n == 0 {
            return Ok(());
        }
        head.extend(&part[..n]);
        match Request::read(&head) {
            None => {}
            Some(Ok(request)) => break request,
            Some(Err(why)) => return refuse(&mut stream, 400, why),
        }
    };
    if pass.is_turned_away {
        return refuse(&mut stream, 503, "too many open pages: close one");
    }
    if request.path == "/socket" {
        return match guard.check_socket(&request) {
            // It has asked for nothing yet.
            Ok(()) => connection::run(stream, &request, show, pass),
            Err((status, why)) => refuse(&mut stream, status, why),
        };
    }
    pass.asked();
    if let Err((status, why)) = guard.check(&request) {
        return refuse(&mut stream, status, why);
    }
    match request.path.as_str() {
        "/" => send(&mut stream, 200, "text/html; charset=utf-8", page::HTML),
        "/start.js" => send(&mut stream, 200, "text/javascript; charset=utf-8", page::START),
        "/viewer.js" => send(&mut stream, 200, "text/javascript; charset=utf-8", page::SCRIPT),
        "/viewer.css" => send(&mut stream, 200, "text/css; charset=utf-8", page::STYLE),
        _ => refuse(&mut stream, 404, "there is nothing here"),
    }
}

fn refuse(stream: &mut TcpStream, status: u16, why: &str) -> std::io::Result<()> {
    send(stream, status, "text/plain; charset=utf-8", &format!("{why}\n"))
}

/// The page may load what this server has, and connect to it; nothing else, and nobody may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; \
                      img-src 'self' data: blob:; media-src blob:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

fn send(stream: &mut TcpStream, status: u16, kind: &str, body: &str) -> std::io::Result<()> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        503 => "Service Unavailable",
        _ => "Method Not Allowed",
    };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: {POLICY}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}
