//! `predict`: what a player thinks of a position.

use super::arguments::Predict;
use super::{Failure, tell};
use fianchetto::chess::{Color, Game, Outcome, notation};
use fianchetto::engine;
use fianchetto::search::{Limits, Player, Report, Score};
use fianchetto::uci::Options;
use serde::{Serialize, Serializer};
use std::io::{self, BufRead, Write};
use std::sync::atomic::AtomicBool;

/// The candidate moves shown to people who do not say how many they want.
const SHOWN: usize = 5;

/// More moves than any position has.
const ALL: usize = 1000;

/// A position's prediction as JSON.
#[derive(Serialize)]
struct Prediction<'a> {
    fen: String,
    side: &'static str,
    value: Option<f64>,
    moves: &'a [Candidate],
}

#[derive(Serialize)]
struct Candidate {
    uci: String,
    san: String,
    p: f64,
    /// Of a player that gives scores in place of probabilities.
    #[serde(flatten)]
    score: Option<JsonScore>,
    /// What else the player counts of the move, by name.
    #[serde(flatten, serialize_with = "by_name")]
    figures: Vec<(&'static str, f64)>,
}

fn by_name<S: Serializer>(figures: &[(&str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(figures.iter().map(|(name, figure)| (name.replace(' ', "_"), figure)))
}

/// `"cp": 31` or `"mate": -2`, as UCI counts them.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum JsonScore {
    Cp(i32),
    Mate(i32),
}

impl From<Score> for JsonScore {
    fn from(score: Score) -> Self {
        match score {
            Score::Centipawns(score) => Self::Cp(score),
            Score::Mate(moves) => Self::Mate(moves),
        }
    }
}

pub fn run(wanted: &Predict, options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    if wanted.position != ["-"] {
        // A wrong position is told before the network is loaded.
        let text = match wanted.position.is_empty() {
            true => "startpos".to_owned(),
            false => wanted.position.join(" "),
        };
        let game = read_position(&text).map_err(Failure::Work)?;
        let mut player = player(wanted, options)?;
        return predict(&game, player.as_mut(), wanted, out);
    }
    let mut player = player(wanted, options)?;
    let mut refused = 0;
    for (i, line) in io::stdin().lock().split(b'\n').enumerate() {
        let line =
            line.map_err(|error| Failure::Work(format!("cannot read line {}: {error}", i + 1)))?;
        match read_position(&String::from_utf8_lossy(&line)) {
            Ok(game) => predict(&game, player.as_mut(), wanted, out)?,
            Err(error) => {
                refused += 1;
                tell(&format!("line {}: {error}", i + 1));
                // Keeps the output in step with the input.
                if wanted.json {
                    writeln!(out, "{}", serde_json::json!({ "error": error, "line": i + 1 }))?;
                }
            }
        }
        out.flush()?;
    }
    match refused {
        0 => Ok(()),
        _ => {
            Err(Failure::Work(format!("{refused} of the lines held no usable position, see above")))
        }
    }
}

fn player(wanted: &Predict, options: &Options) -> Result<Box<dyn Player>, Failure> {
    let mut player = engine::player(options).map_err(Failure::Work)?;
    let multi_pv = shown(wanted) as u32;
    // A prediction ranks the moves; it does not draw one.
    let options = Options { multi_pv, temperature: 0.0, ..options.clone() };
    player.configure(&options.settings());
    Ok(player)
}

/// How many candidate moves to show.
fn shown(wanted: &Predict) -> usize {
    wanted.top.unwrap_or(if wanted.json { ALL } else { SHOWN })
}

/// Reads a position in words, and tells what had to be mended.
fn read_position(text: &str) -> Result<Game, String> {
    let (game, repairs) = Game::from_words(text).map_err(|error| error.to_string())?;
    for repair in repairs {
        tell(&format!("note: {repair}"));
    }
    Ok(game)
}

fn predict(
    game: &Game,
    player: &mut dyn Player,
    wanted: &Predict,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut last = Report::default();
    // What is said of a position must not depend on the one before.
    player.new_game();
    player
        .choose(game, &Limits::default(), &AtomicBool::new(false), &mut |report| {
            last = report.clone()
        })
        .map_err(|error| Failure::Work(error.to_string()))?;
    let outcome = game.outcome();
    if outcome.is_some_and(|outcome| !matches!(outcome, Outcome::Checkmate { .. })) {
        // A draw, whatever a network thinks that does not know so.
        last.value = Some(0.0);
        last.lines.iter_mut().for_each(|line| line.score = None);
    }
    let candidates = (last.lines.iter().take(shown(wanted)).enumerate())
        .map(|(place, line)| {
            let (board, mv) = (game.board(), line.moves[0]);
            let san =
                notation::to_san(board, mv).map_err(|error| Failure::Work(error.to_string()))?;
            let (p, score) = match line.probability {
                Some(p) => (p, None),
                // The first line is the one that is played.
                None => (if place == 0 { 1.0 } else { 0.0 }, line.score.map(JsonScore::from)),
            };
            let figures = line.figures.clone();
            Ok(Candidate { uci: notation::to_uci(board, mv), san, p, score, figures })
        })
        .collect::<Result<Vec<_>, Failure>>()?;

    let side = match game.board().side_to_move() {
        Color::White => "white",
        Color::Black => "black",
    };
    if wanted.json {
        let prediction =
            Prediction { fen: game.fen(), side, value: last.value, moves: &candidates };
        let json = serde_json::to_string(&prediction).map_err(io::Error::from)?;
        writeln!(out, "{json}")?;
        return Ok(());
    }
    writeln!(out, "{}", game.fen())?;
    if let Some(outcome) = outcome {
        writeln!(out, "{outcome}")?;
    }
    match last.value {
        Some(value) => write!(out, "{side} to move, value {value:+.3}")?,
        None => write!(out, "{side} to move, no value")?,
    }
    match last.lines.first().and_then(|line| line.score) {
        Some(Score::Centipawns(score)) => {
            writeln!(out, " ({:+.2} pawns)", f64::from(score) / 100.0)?
        }
        Some(Score::Mate(moves)) => writeln!(out, " (mate in {moves})")?,
        _ => writeln!(out)?,
    }
    if let Some(remark) = last.remark {
        writeln!(out, "{remark}")?;
    }
    for Candidate { uci, san, p, score, figures } in &candidates {
        write!(out, "  {san:<8} {uci:<6} ")?;
        match score {
            None if figures.is_empty() => write!(out, "{:>5.1} %", 100.0 * p)?,
            None => {}
            Some(JsonScore::Cp(score)) => write!(out, "{:>+7.2}", f64::from(*score) / 100.0)?,
            Some(JsonScore::Mate(moves)) => write!(out, " mate in {moves}")?,
        }
        for (name, figure) in figures {
            write!(out, "  {name} {figure}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
