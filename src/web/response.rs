//! HTTP/1.1 answers to a socket.

use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write};

/// What every answer says: the page is made of our own files alone and shown in no other page's frame.
const EVERYWHERE: &str = "\
Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
Cross-Origin-Resource-Policy: same-origin\r\n\
X-Content-Type-Options: nosniff\r\n\
Referrer-Policy: no-referrer\r\n";

/// An answer.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub kind: &'static str,
    pub body: Cow<'static, [u8]>,
    /// A header of its own, with its line end.
    pub header: &'static str,
}

impl Response {
    /// A file of the page.
    pub fn file(kind: &'static str, body: &'static [u8]) -> Self {
        Self { status: 200, kind, body: body.into(), header: "Cache-Control: no-cache\r\n" }
    }

    /// JSON that is there already.
    pub fn json_text(status: u16, text: impl Into<String>) -> Self {
        let body = text.into().into_bytes().into();
        Self { status, kind: "application/json", body, header: "Cache-Control: no-store\r\n" }
    }

    /// Anything as JSON.
    pub fn json(status: u16, value: &impl Serialize) -> Self {
        let text =
            serde_json::to_string(value).unwrap_or_else(|error| format!("{:?}", error.to_string()));
        Self::json_text(status, text)
    }

    /// `{"error": ...}`.
    pub fn error(status: u16, message: &str) -> Self {
        Self::json(status, &serde_json::json!({ "error": message }))
    }

    /// Sends it; without the body where only the head was asked for.
    pub fn send(&self, out: &mut impl Write, keep_alive: bool, head_only: bool) -> io::Result<()> {
        let Self { status, kind, body, header } = self;
        let connection = if keep_alive { "keep-alive" } else { "close" };
        let mut bytes = format!(
            "HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Connection: {connection}\r\n{header}{EVERYWHERE}\r\n",
            reason(*status),
            body.len(),
        )
        .into_bytes();
        if !head_only {
            bytes.extend_from_slice(body);
        }
        out.write_all(&bytes)
    }
}

/// Begins an answer that has no end: server-sent events (HTML standard, section 9.2).
pub fn begin_events(out: &mut impl Write) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\
         Cache-Control: no-store\r\n{EVERYWHERE}\r\n"
    );
    out.write_all(head.as_bytes())
}

/// What a status is called (RFC 9110, section 15).
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}
