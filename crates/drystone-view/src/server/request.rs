//! The head of an HTTP request, as far as this server reads it.

/// Longest head that is read, bytes.
pub const LONGEST: usize = 8192;

/// A request without a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`.
    pub method: String,
    /// Before the question mark.
    pub path: String,
    /// After it.
    pub query: String,
    headers: Vec<(String, String)>,
}

impl Request {
    /// Reads a head that ends with an empty line; None while it does not end.
    pub fn read(bytes: &[u8]) -> Option<Result<Self, &'static str>> {
        let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else {
            return (bytes.len() >= LONGEST).then_some(Err("the request is too long"));
        };
        Some(parse(&bytes[..end]))
    }

    /// The value of a header that occurs once; of one that occurs twice, none.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(key, _)| key == name);
        all.next().filter(|_| all.next().is_none()).map(|(_, value)| value.as_str())
    }

    /// Whether a header has a word, in a list with commas.
    pub fn says(&self, name: &str, word: &str) -> bool {
        self.header(name).is_some_and(|v| v.split(',').any(|w| w.trim().eq_ignore_ascii_case(word)))
    }

    /// The value of a key of the query.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.split_once('=').filter(|(k, _)| *k == key)).map(|(_, v)| v)
    }
}

fn parse(head: &[u8]) -> Result<Request, &'static str> {
    let text = std::str::from_utf8(head).map_err(|_| "the request is no text")?;
    let mut lines = text.split("\r\n");
    let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = first.as_slice() else {
        return Err("the request is not HTTP/1.1");
    };
    if !target.starts_with('/') {
        return Err("the request names no path");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = Vec::new();
    for line in lines {
        let (key, value) = line.split_once(':').ok_or("a header has no colon")?;
        headers.push((key.trim().to_ascii_lowercase(), value.trim().to_string()));
    }
    Ok(Request { method: method.to_string(), path: path.into(), query: query.into(), headers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_head_is_read() {
        let text = b"GET /socket?token=abc&x=1 HTTP/1.1\r\nHost: localhost:1\r\nConnection: keep-alive, Upgrade\r\n\r\nrest";
        let r = Request::read(text).unwrap().unwrap();
        assert_eq!((r.method.as_str(), r.path.as_str(), r.value("token")), ("GET", "/socket", Some("abc")));
        assert!(r.says("connection", "upgrade") && r.header("host") == Some("localhost:1"));
        assert!(Request::read(&text[..40]).is_none());
        assert!(Request::read(&vec![b'x'; LONGEST]).unwrap().is_err());
        let twice = b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
        assert_eq!(Request::read(twice).unwrap().unwrap().header("host"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Request::read(&bytes);
            bytes.extend(b"\r\n\r\n");
            let _ = Request::read(&bytes).unwrap();
            let mut framed = b"GET /".to_vec();
            framed.extend(&bytes);
            let _ = Request::read(&framed).unwrap();
        }
    }
}
