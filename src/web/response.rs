//! What a client is answered.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde::Serialize;
use std::borrow::Cow;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// What every answer says: the page is made of our own files alone and shown in no other page's frame.
const EVERYWHERE: [(&str, &str); 4] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
];

/// An answer on its way to the socket.
pub type Sent = hyper::Response<BoxBody<Bytes, Infallible>>;

/// An answer.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub kind: &'static str,
    pub body: Cow<'static, [u8]>,
    /// Whether the client may keep it as long as it asks each time whether it has changed.
    pub cache: &'static str,
    /// The file to save it as.
    pub file_name: Option<&'static str>,
}

impl Response {
    /// A file of the page.
    pub fn file(kind: &'static str, body: &'static [u8]) -> Self {
        Self { status: 200, kind, body: body.into(), cache: "no-cache", file_name: None }
    }

    /// A text that is there already.
    pub fn text(status: u16, kind: &'static str, text: impl Into<String>) -> Self {
        let body = text.into().into_bytes().into();
        Self { status, kind, body, cache: "no-store", file_name: None }
    }

    /// JSON that is there already.
    pub fn json_text(status: u16, text: impl Into<String>) -> Self {
        Self::text(status, "application/json", text)
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

    /// As it is sent.
    pub fn into_sent(self) -> Sent {
        let body = match self.body {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        };
        let mut builder = head(self.status, self.kind, self.cache);
        if let Some(name) = self.file_name {
            let value = format!("attachment; filename=\"{name}\"");
            builder = builder.header("content-disposition", value);
        }
        builder.body(Full::new(body).boxed()).expect("the headers are our own")
    }
}

/// An answer that has no end: server-sent events (HTML standard, section 9.2), one a message.
pub fn events(messages: Receiver<Bytes>) -> Sent {
    let body = Events(messages).boxed();
    head(200, "text/event-stream", "no-store").body(body).expect("the headers are our own")
}

fn head(status: u16, kind: &str, cache: &str) -> hyper::http::response::Builder {
    let builder = hyper::Response::builder().status(status);
    let builder = builder.header(CONTENT_TYPE, kind).header(CACHE_CONTROL, cache);
    EVERYWHERE.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value))
}

/// A body that goes on until nobody sends messages any more.
struct Events(Receiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|message| message.map(|message| Ok(Frame::data(message))))
    }
}
