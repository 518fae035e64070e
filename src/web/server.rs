//! The server: connections, how many of them there may be, and how long they may take.

use super::engines::{Engines, Maker};
use super::request::{Refusal, Request};
use super::response::{self, Response, Sent};
use super::routes::{Answer, Games};
use super::{Play, session::Session};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;

/// Connections at most; a page uses up to six.
const MAX_CONNECTIONS: usize = 512;

/// Ports tried, from the one asked for.
const PORTS: u16 = 100;

/// How long a request may take to arrive and an answer to be taken; also how long a connection may be silent.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 16 << 10;

/// Events that wait for a client.
const WAITING_EVENTS: usize = 4;

/// A server that has its port.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Takes the port, or the next one that is free, on this machine's own address; port 0 is any free one.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn bind(port: u16) -> io::Result<Self> {
        let mut last = port;
        loop {
            match TcpListener::bind((Ipv4Addr::LOCALHOST, last)) {
                Ok(listener) => return Ok(Self { address: listener.local_addr()?, listener }),
                Err(error)
                    if error.kind() == io::ErrorKind::AddrInUse
                        && last < port.saturating_add(PORTS - 1) =>
                {
                    last += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Serves until the process ends. `make_player` may be called from several threads at once.
    ///
    /// # Errors
    /// When the system has no threads or no way to wait for connections.
    pub fn run(
        self,
        play: Play,
        make_player: impl Fn(&crate::uci::Options) -> Result<Box<dyn crate::search::Player>, String>
        + Send
        + Sync
        + 'static,
    ) -> io::Result<()> {
        let make: Box<Maker> = Box::new(make_player);
        let games = Arc::new(Games::new(play, Engines::new(make)));
        // One thread answers, as answers are there at once; each listener has a thread that waits for its game.
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MAX_CONNECTIONS)
            .build()?;
        runtime.block_on(async {
            self.listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => _ = tokio::spawn(serve(stream, games.clone())),
                    // Too many files are open, or the client has gone already.
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        })
    }
}

/// Answers the requests of a connection until either side has enough. The games are shared by all connections, so
/// their number counts these.
async fn serve(stream: TcpStream, games: Arc<Games>) {
    let crowded = Arc::strong_count(&games) > MAX_CONNECTIONS;
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(PATIENCE));
    let service = service_fn(|request| async {
        let answer = if crowded { crowd() } else { answer(request, &games).await };
        Ok::<_, Infallible>(answer)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MAX_HEAD)
        .keep_alive(!crowded)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    // A client that has gone or sends no HTTP needs no word in the terminal.
    let _ = connection.await;
}

fn crowd() -> Sent {
    let message = format!("more than {MAX_CONNECTIONS} connections; close some pages");
    Response::error(503, &message).into_sent()
}

async fn answer(request: hyper::Request<Incoming>, games: &Games) -> Sent {
    match Request::receive(request).await.map(|request| games.answer(&request)) {
        Ok(Answer::Response(response)) => response.into_sent(),
        Ok(Answer::Events(session)) => events(session),
        Err(Refusal(status, message)) => Response::error(status, &message).into_sent(),
    }
}

/// Tells what happens in a game until the client has gone or no longer reads.
fn events(session: Arc<Session>) -> Sent {
    let (sender, messages) = mpsc::channel(WAITING_EVENTS);
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        session.listen(|event| {
            let message: Bytes = match event {
                Some((name, data)) => format!("event: {name}\ndata: {data}\n\n").into(),
                None => Bytes::from_static(b":\n\n"),
            };
            let taken = runtime.block_on(timeout(PATIENCE, sender.send(message)));
            taken.ok().and_then(Result::ok).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
        })
    });
    response::events(messages)
}
