//! The server: a thread for each connection, and how many of them there may be.

use super::engines::{Engines, Maker};
use super::request::{Incoming, PATIENCE, Refusal, Requests};
use super::response::{self, Response};
use super::routes::{Answer, Games};
use super::{Play, session::Session};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Connections at most; a page uses up to six.
const MAX_CONNECTIONS: usize = 512;

/// Ports tried, from the one asked for.
const PORTS: u16 = 100;

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
    pub fn run(
        self,
        play: Play,
        make_player: impl Fn(&crate::uci::Options) -> Result<Box<dyn crate::search::Player>, String>
        + Send
        + Sync
        + 'static,
    ) {
        let make: Box<Maker> = Box::new(make_player);
        let games = Arc::new(Games::new(play, Engines::new(make)));
        for stream in self.listener.incoming() {
            match stream {
                Ok(stream) => accept(stream, &games),
                // Too many files are open, or the client has gone already.
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// Serves a connection on a thread of its own. The games are shared by all threads, so their number counts the
/// connections.
fn accept(stream: TcpStream, games: &Arc<Games>) {
    if Arc::strong_count(games) > MAX_CONNECTIONS {
        return refuse_crowd(&stream);
    }
    let games = games.clone();
    // Where no thread can be had the connection is closed.
    let _ = thread::Builder::new().name("connection".into()).spawn(move || {
        let _ = serve(stream, &games);
    });
}

fn refuse_crowd(mut stream: &TcpStream) {
    let message = format!("more than {MAX_CONNECTIONS} connections; close some pages");
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    let _ = Response::error(503, &message).send(&mut stream, false, false);
}

/// Answers the requests of a connection until either side has enough.
fn serve(mut stream: TcpStream, games: &Games) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut requests = Requests::new(stream.try_clone()?);
    loop {
        match requests.next() {
            Incoming::Closed => return Ok(()),
            Incoming::Refusal(Refusal(status, message)) => {
                Response::error(status, &message).send(&mut stream, false, false)?;
                requests.close();
                return Ok(());
            }
            Incoming::Request(request) => {
                let head_only = request.method == "HEAD";
                match games.answer(&request) {
                    Answer::Response(response) => {
                        response.send(&mut stream, request.keeps_alive, head_only)?;
                    }
                    Answer::Events(session) => return events(&session, &mut stream),
                }
                if !request.keeps_alive {
                    return Ok(());
                }
            }
        }
    }
}

/// Tells what happens in a game until the client has gone.
fn events(session: &Arc<Session>, stream: &mut TcpStream) -> io::Result<()> {
    response::begin_events(stream)?;
    session.listen(|event| match event {
        Some((name, data)) => {
            stream.write_all(format!("event: {name}\ndata: {data}\n\n").as_bytes())
        }
        None => stream.write_all(b":\n\n"),
    })
}
