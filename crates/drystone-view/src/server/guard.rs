//! Who may connect: this machine only, unless told otherwise, and then only with the token; and no page of
//! somebody else.

use std::net::SocketAddr;

use super::request::Request;

/// Decides about requests.
#[derive(Clone, Debug)]
pub struct Guard {
    address: SocketAddr,
    token: Option<String>,
}

/// A request that is not answered: status and reason.
pub type Refusal = (u16, &'static str);

impl Guard {
    /// For a server at this address. Beyond this machine there is always a token.
    pub fn new(address: SocketAddr, token: Option<String>) -> Self {
        Self { address, token }
    }

    /// The token, if one is needed.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Any request: the host that it was meant for must be this one, or a page elsewhere could reach here by
    /// giving its own name our address.
    pub fn check(&self, request: &Request) -> Result<(), Refusal> {
        if request.method != "GET" {
            return Err((405, "only GET is answered"));
        }
        let host = request.header("host").ok_or((400, "the header Host is missing"))?;
        let port = self.address.port();
        let own = ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| host == format!("{name}:{port}"));
        if self.address.ip().is_loopback() && !own {
            return Err((403, "this server answers to localhost alone"));
        }
        Ok(())
    }

    /// A request for a connection that stays: from our own page, with the token where one is needed.
    pub fn check_socket(&self, request: &Request) -> Result<(), Refusal> {
        self.check(request)?;
        let host = request.header("host").unwrap_or_default();
        if request.header("origin") != Some(format!("http://{host}").as_str()) {
            return Err((403, "only this server's own page may connect"));
        }
        if let Some(token) = &self.token
            && !same(token, request.value("token").unwrap_or_default())
        {
            return Err((403, "the token is missing or wrong: use the address that the program printed"));
        }
        let upgrade = request.says("connection", "upgrade") && request.says("upgrade", "websocket");
        if !upgrade || request.header("sec-websocket-version") != Some("13") {
            return Err((400, "a WebSocket of version 13 is needed here"));
        }
        Ok(())
    }
}

/// Compares all letters, however early two differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (x, y)| d | (x ^ y)) == 0
}

/// 128 random bits, hexadecimal.
pub fn new_token() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| std::io::Error::other(e.to_string()))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str, host: &str, origin: &str) -> Request {
        let text = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\n\r\n"
        );
        Request::read(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn only_our_own_page_connects() {
        let guard = Guard::new("127.0.0.1:8000".parse().unwrap(), None);
        let ok = |host: &str, origin: &str| guard.check_socket(&request("GET /socket", host, origin));
        assert_eq!(ok("127.0.0.1:8000", "http://127.0.0.1:8000"), Ok(()));
        assert_eq!(ok("localhost:8000", "http://localhost:8000"), Ok(()));
        // Another site, another port, a name that was given our address, and a site that claims both.
        for (host, origin) in [
            ("127.0.0.1:8000", "https://example.org"),
            ("127.0.0.1:8000", "http://127.0.0.1:9000"),
            ("127.0.0.1:8000", "null"),
            ("example.org:8000", "http://example.org:8000"),
            ("127.0.0.1", "http://127.0.0.1"),
        ] {
            assert!(ok(host, origin).is_err(), "{host} {origin}");
        }
        assert!(guard.check(&request("POST /", "localhost:8000", "null")).is_err());
    }

    #[test]
    fn beyond_this_machine_a_token_is_needed() {
        let token = new_token().unwrap();
        assert_eq!(token.len(), 32);
        assert_ne!(token, new_token().unwrap());
        let guard = Guard::new("0.0.0.0:8000".parse().unwrap(), Some(token.clone()));
        let ask = |query: &str| {
            guard.check_socket(&request(&format!("GET /socket{query}"), "lab:8000", "http://lab:8000"))
        };
        assert_eq!(ask(&format!("?token={token}")), Ok(()));
        assert!(ask("").is_err() && ask("?token=").is_err() && ask(&format!("?token={token}0")).is_err());
    }
}
