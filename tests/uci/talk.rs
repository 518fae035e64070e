//! Both ends of a conversation: lines sent, lines received, each within its time.

use crate::launch;
use fianchetto::search::Player;
use fianchetto::uci::Options;
use std::io::{BufRead, BufReader, PipeWriter, Read, Write, pipe};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A UCI session seen from outside.
pub struct Talk {
    input: Option<Input>,
    lines: Receiver<String>,
    partner: Partner,
}

enum Input {
    Program(ChildStdin),
    Thread(PipeWriter),
}

enum Partner {
    Program(Child),
    Thread(Option<JoinHandle<std::io::Result<()>>>),
}

impl Talk {
    /// Starts the program itself.
    pub fn with_program(arguments: &[&str]) -> Self {
        let mut child = launch::program()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let output = child.stdout.take().expect("piped");
        let input = child.stdin.take().map(Input::Program);
        Self { input, lines: read(output), partner: Partner::Program(child) }
    }

    /// Starts a session on a thread of this process.
    pub fn with_player(
        make_player: impl FnMut(&Options) -> Result<Box<dyn Player>, String> + Send + 'static,
    ) -> Self {
        let (their_input, our_output) = pipe().expect("a pipe");
        let (our_input, their_output) = pipe().expect("a pipe");
        let thread = thread::spawn(move || {
            let input = BufReader::new(their_input);
            fianchetto::uci::run(input, their_output, Options::default(), make_player)
        });
        let input = Some(Input::Thread(our_output));
        Self { input, lines: read(our_input), partner: Partner::Thread(Some(thread)) }
    }

    /// Sends bytes in one write.
    pub fn send(&mut self, bytes: &[u8]) {
        match self.input.as_mut().expect("the input has not ended") {
            Input::Program(input) => input.write_all(bytes),
            Input::Thread(input) => input.write_all(bytes),
        }
        .expect("the session reads");
    }

    /// Ends the input.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// The next line, or `None` when none comes before `deadline` or the output has ended.
    pub fn line(&self, deadline: Instant) -> Option<String> {
        self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    /// Whether the other side ends, with success, before `deadline`.
    pub fn ends(&mut self, deadline: Instant) -> bool {
        loop {
            match &mut self.partner {
                Partner::Program(child) => {
                    if let Some(status) = child.try_wait().expect("the program can be waited for") {
                        return status.success();
                    }
                }
                Partner::Thread(thread) => {
                    if let Some(thread) = thread.take_if(|thread| thread.is_finished()) {
                        return matches!(thread.join(), Ok(Ok(())));
                    }
                }
            }
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// The program's process number.
    #[cfg(target_os = "linux")]
    pub fn process(&self) -> u32 {
        match &self.partner {
            Partner::Program(child) => child.id(),
            Partner::Thread(_) => std::process::id(),
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if let Partner::Program(child) = &mut self.partner {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn read(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line.expect("the output is UTF-8")).is_err() {
                break;
            }
        }
    });
    lines
}
