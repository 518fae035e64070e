//! Players that behave, and players that do not.

use fianchetto::chess::{Game, Move, Square};
use fianchetto::search::{Choice, Limits, Line, PlayError, Player, Report, Score, Settings};
use fianchetto::uci::Options;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What makes players of the kind that the name describes.
pub fn maker(name: &str) -> impl FnMut(&Options) -> Result<Box<dyn Player>, String> + Send + use<> {
    let kind = match name {
        "thinker" => Kind::Thinker,
        "slow" => Kind::Slow,
        "breaks" => Kind::Breaks,
        "gives-up" => Kind::GivesUp,
        "illegal" => Kind::Illegal,
        "breaks-loading" => Kind::BreaksLoading,
        _ => panic!("no player is named {name}"),
    };
    let mut loaded = 0;
    move |_| {
        loaded += 1;
        let name = match kind {
            Kind::Thinker => format!("loaded {loaded}"),
            Kind::Slow => {
                sleep(Duration::from_millis(1500));
                "slow".into()
            }
            // Not `panic!`, which would write to the test's own output.
            Kind::BreaksLoading => resume_unwind(Box::new("no such layer")),
            _ => "breaks".into(),
        };
        Ok(Box::new(Fake { kind, name, settings: Settings::default() }))
    }
}

#[derive(Clone, Copy)]
enum Kind {
    /// Reports its first move, then thinks until its limits or `stop`.
    Thinker,
    /// Takes long to load, then answers at once.
    Slow,
    /// Panics without a word.
    Breaks,
    /// Reports its last move, then fails.
    GivesUp,
    /// Chooses what is not legal.
    Illegal,
    /// Panics when made.
    BreaksLoading,
}

struct Fake {
    kind: Kind,
    name: String,
    settings: Settings,
}

impl Player for Fake {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn configure(&mut self, settings: &Settings) {
        self.settings = settings.clone();
    }

    fn choose(
        &mut self,
        game: &Game,
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Choice, PlayError> {
        let mut moves = limits.search_moves.clone();
        if moves.is_empty() {
            moves = game.legal_moves();
            moves.sort_by_key(Move::to_string);
        }
        let (first, last) = (moves[0], moves[moves.len() - 1]);
        let best = match self.kind {
            Kind::Thinker => {
                report(&Report { remark: Some(self.describe(game, limits)), ..report_of(&moves) });
                think(limits, stop);
                first
            }
            Kind::Slow => first,
            Kind::Breaks => resume_unwind(Box::new("index out of range")),
            Kind::GivesUp => {
                report(&report_of(&[last]));
                return Err(PlayError("not a number".into()));
            }
            Kind::Illegal | Kind::BreaksLoading => {
                Move { from: Square::A1, to: Square::A1, promotion: None }
            }
        };
        Ok(Choice { best: Some(best), ponder: None })
    }
}

impl Fake {
    /// All that it was told, times up to the next second: some is gone already.
    fn describe(&self, game: &Game, limits: &Limits) -> String {
        let about = |time: Duration| time.as_millis().div_ceil(1000) * 1000;
        let Settings { finish_plies, temperature, .. } = self.settings;
        let mut told = Vec::new();
        told.extend(limits.depth.map(|depth| format!("depth {depth}")));
        told.extend(limits.nodes.map(|nodes| format!("nodes {nodes}")));
        told.extend(limits.mate.map(|mate| format!("mate {mate}")));
        told.extend(limits.move_time.map(|time| format!("movetime {}", about(time))));
        told.extend(limits.clock.map(|clock| {
            let (left, increment) = (about(clock.left), clock.increment.as_millis());
            let to_go = clock.moves_to_go.map_or(String::new(), |moves| format!(", {moves} to go"));
            format!("clock {left} + {increment}{to_go}")
        }));
        if told.is_empty() {
            told.push("no limits".into());
        }
        let fen = game.fen();
        let told = told.join(" ");
        format!("thinking about {fen} with finish {finish_plies} temperature {temperature} {told}")
    }
}

fn report_of(moves: &[Move]) -> Report {
    let line =
        |&mv: &Move| Line { moves: vec![mv], score: Some(Score::Centipawns(0)), ..Line::default() };
    Report { depth: 1, nodes: 1, lines: moves.iter().map(line).collect(), ..Report::default() }
}

/// Spends exactly the time allowed; no time at all under any limit but that.
fn think(limits: &Limits, stop: &AtomicBool) {
    let Limits { depth, nodes, mate, clock, move_time, .. } = limits;
    if depth.is_some() || nodes.is_some() || mate.is_some() || clock.is_some() {
        return;
    }
    let begin = Instant::now();
    while !stop.load(Ordering::Relaxed) && move_time.is_none_or(|time| begin.elapsed() < time) {
        sleep(Duration::from_millis(1));
    }
}
