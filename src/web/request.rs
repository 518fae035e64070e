//! HTTP/1.1 requests from a socket, as much of the protocol as a browser needs (RFC 9112).

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 16 << 10;
const MAX_HEADERS: usize = 64;

/// The longest body, in bytes: room for a long game with comments.
pub const MAX_BODY: usize = 256 << 10;

/// How long a request may take to arrive, once begun.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How long a connection may be silent between two requests.
const IDLE: Duration = Duration::from_secs(30);

/// A request.
#[derive(Debug, Default)]
pub struct Request {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub host: Option<String>,
    pub origin: Option<String>,
    pub body: Vec<u8>,
    /// Whether the client wants to ask more on this connection.
    pub keeps_alive: bool,
}

/// A request that cannot be served: a status and what to say.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal(pub u16, pub String);

impl Refusal {
    fn malformed(why: &str) -> Self {
        Self(400, format!("this is no HTTP request: {why}"))
    }
}

/// What came of waiting for a request.
pub enum Incoming {
    Request(Request),
    Refusal(Refusal),
    /// The client has gone, or asked nothing for a while.
    Closed,
}

/// The receiving half of a connection.
pub struct Requests {
    stream: TcpStream,
    /// Bytes received and not used yet.
    buffer: Vec<u8>,
}

/// Why receiving ended before there was a request.
enum Interrupted {
    Refused(Refusal),
    Gone,
}

impl From<io::Error> for Interrupted {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl Requests {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// Waits for the next request.
    pub fn next(&mut self) -> Incoming {
        match self.receive() {
            Ok(request) => Incoming::Request(request),
            Err(Interrupted::Refused(refusal)) => Incoming::Refusal(refusal),
            Err(Interrupted::Gone) => Incoming::Closed,
        }
    }

    fn receive(&mut self) -> Result<Request, Interrupted> {
        if self.buffer.is_empty() {
            let idle = Instant::now() + IDLE;
            self.read_some(idle).map_err(|_| Interrupted::Gone)?;
        }
        let deadline = Instant::now() + PATIENCE;
        let (mut request, length, waits) = loop {
            match read_head(&self.buffer).map_err(Interrupted::Refused)? {
                Some(Head { request, bytes, length, waits }) => {
                    self.buffer.drain(..bytes);
                    break (request, length, waits);
                }
                None => self.read_some(deadline)?,
            }
        };
        if waits && self.buffer.len() < length {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        while self.buffer.len() < length {
            self.read_some(deadline)?;
        }
        let rest = self.buffer.split_off(length);
        request.body = std::mem::replace(&mut self.buffer, rest);
        Ok(request)
    }

    /// Reads what there is, waiting for it until `deadline`.
    fn read_some(&mut self, deadline: Instant) -> Result<(), Interrupted> {
        let mut chunk = [0; 4096];
        let late = || {
            let seconds = PATIENCE.as_secs();
            Interrupted::Refused(Refusal(408, format!("the request took longer than {seconds} s")))
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        self.stream.set_read_timeout(Some(left))?;
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(Interrupted::Gone),
            Ok(bytes) => {
                self.buffer.extend_from_slice(&chunk[..bytes]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                Err(late())
            }
            Err(_) => Err(Interrupted::Gone),
        }
    }

    /// Ends the connection so that the client can read the last answer although it is still sending: closing
    /// at once would make the system throw that answer away.
    pub fn close(mut self) {
        const LINGER: Duration = Duration::from_secs(1);
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        let deadline = Instant::now() + LINGER;
        while self.read_some(deadline).is_ok() {
            self.buffer.clear();
        }
    }
}

/// A request's head.
#[derive(Debug)]
struct Head {
    /// The request without its body.
    request: Request,
    /// Of the head.
    bytes: usize,
    /// Of the body.
    length: usize,
    /// Whether the client sends the body only once told to.
    waits: bool,
}

/// The head that `bytes` begin with; `None` where its end has not come yet.
fn read_head(bytes: &[u8]) -> Result<Option<Head>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD => length,
        Ok(httparse::Status::Partial) if bytes.len() <= MAX_HEAD => return Ok(None),
        Ok(_) => {
            return Err(Refusal(
                431,
                format!("the request's head is longer than {MAX_HEAD} bytes"),
            ));
        }
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal(431, format!("more than {MAX_HEADERS} headers")));
        }
        Err(error) => return Err(Refusal::malformed(&error.to_string())),
    };
    let mut request = Request {
        method: parsed.method.unwrap_or_default().into(),
        path: parsed.path.unwrap_or_default().split('?').next().unwrap_or_default().into(),
        keeps_alive: parsed.version == Some(1),
        ..Request::default()
    };
    let mut head = Head { request: Request::default(), bytes: length, length: 0, waits: false };
    let mut body = None;
    for header in parsed.headers.iter() {
        let value = str::from_utf8(header.value)
            .map_err(|_| Refusal::malformed("a header is not UTF-8"))?
            .trim();
        match header.name.to_ascii_lowercase().as_str() {
            "host" => once(&mut request.host, value, "Host")?,
            "origin" => once(&mut request.origin, value, "Origin")?,
            "content-length" => once(&mut body, value, "Content-Length")?,
            "transfer-encoding" => {
                let why = "the body's length must be given as Content-Length";
                return Err(Refusal(411, why.into()));
            }
            "connection" if value.eq_ignore_ascii_case("close") => request.keeps_alive = false,
            "expect" => head.waits = value.eq_ignore_ascii_case("100-continue"),
            _ => {}
        }
    }
    head.length = match body {
        None => 0,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()) => {
            digits.parse().ok().filter(|&length| length <= MAX_BODY).ok_or_else(|| {
                Refusal(413, format!("the body has {digits} bytes, at most {MAX_BODY} are read"))
            })?
        }
        Some(_) => return Err(Refusal::malformed("Content-Length is no number")),
    };
    head.request = request;
    Ok(Some(head))
}

fn once(place: &mut Option<String>, value: &str, name: &str) -> Result<(), Refusal> {
    match place.replace(value.into()) {
        None => Ok(()),
        Some(_) => Err(Refusal::malformed(&format!("{name} is given twice"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `read_head` makes of a text.
    fn status(text: &str) -> Result<bool, u16> {
        read_head(text.as_bytes()).map(|head| head.is_some()).map_err(|refusal| refusal.0)
    }

    #[test]
    fn heads() {
        let head =
            read_head(b"POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        let head = head.unwrap();
        assert_eq!((head.request.method.as_str(), head.request.path.as_str()), ("POST", "/a"));
        assert_eq!((head.bytes, head.length, head.waits), (50, 2, false));
        assert!(head.request.keeps_alive);
        for (text, expected) in [
            ("GET / HTTP/1.1\r\n", Ok(false)),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Err(400)),
            ("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", Err(400)),
            ("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Err(400)),
            ("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", Err(413)),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Err(411)),
            ("\u{0}\r\n\r\n", Err(400)),
        ] {
            assert_eq!(status(text), expected, "{text:?}");
        }
    }
}
