//! What a client asks.

use super::server::PATIENCE;
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Incoming};
use hyper::header::{HOST, HeaderName, ORIGIN};
use std::time::Duration;
use tokio::time::timeout;

/// The longest body, in bytes: room for a long game with comments.
const MAX_BODY: usize = 256 << 10;

/// How long a body that is too long is still read: closing the connection at once would make the system throw the
/// answer away.
const LINGER: Duration = Duration::from_secs(1);

/// A request that has arrived.
pub struct Request {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub host: Option<String>,
    pub origin: Option<String>,
    pub body: Vec<u8>,
}

/// A request that cannot be served: a status and what to say.
pub struct Refusal(pub u16, pub String);

impl Request {
    /// Waits for the body.
    pub async fn receive(request: hyper::Request<Incoming>) -> Result<Self, Refusal> {
        let (head, body) = request.into_parts();
        let host = once(&head.headers, HOST)?;
        let origin = once(&head.headers, ORIGIN)?;
        let body = timeout(PATIENCE, read(body)).await.unwrap_or_else(|_| {
            let seconds = PATIENCE.as_secs();
            Err(Refusal(408, format!("the request took longer than {seconds} s")))
        })?;
        let (method, path) = (head.method.as_str().to_owned(), head.uri.path().to_owned());
        Ok(Self { method, path, host, origin, body })
    }
}

/// The whole body, if it is short enough.
async fn read(mut body: Incoming) -> Result<Vec<u8>, Refusal> {
    let announced = body.size_hint().exact();
    let mut whole = Vec::new();
    while announced.is_none_or(|length| length <= MAX_BODY as u64) {
        match body.frame().await {
            None => return Ok(whole),
            Some(Err(error)) => return Err(Refusal(400, format!("the body: {error}"))),
            Some(Ok(frame)) => whole.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
        }
        if whole.len() > MAX_BODY {
            break;
        }
    }
    tokio::spawn(timeout(LINGER, async move { while let Some(Ok(_)) = body.frame().await {} }));
    let found = announced.map_or("more".to_owned(), |length| length.to_string());
    Err(Refusal(413, format!("the body has {found} bytes, at most {MAX_BODY} are read")))
}

/// The value of a header that nobody gives twice.
fn once(headers: &HeaderMap, name: HeaderName) -> Result<Option<String>, Refusal> {
    let mut values = headers.get_all(&name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => Ok(Some(String::from_utf8_lossy(value.as_bytes()).into_owned())),
        (Some(_), Some(_)) => Err(Refusal(400, format!("{name} is given twice"))),
    }
}
