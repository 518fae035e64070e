//! Single positions: a network is asked about many at once, everybody else about one after the other.

use super::{Answer, Contender, Fault, Kind, Opponent, Terms};
use crate::course::Course;
use crate::limits::{Budget, Turn};
use fianchetto::chess::Move;
use fianchetto::engine;
use fianchetto::evaluator::Evaluator;
use fianchetto::uci::{Options, PlayerKind};
use std::fmt;
use std::time::{Duration, Instant};

/// Positions that a network is asked about at a time.
const BATCH: usize = 64;

/// Somebody who is asked about positions.
pub struct Asker {
    label: String,
    who: Who,
    turn: Turn,
    effort: Effort,
}

/// What answers have cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    /// Positions asked about.
    pub positions: u64,
    /// Positions that were looked at for it (of a network: evaluated), as far as told.
    pub nodes: u64,
    /// How long it took.
    pub time: Duration,
}

enum Who {
    Network(Box<Evaluator>),
    Player(Box<dyn Opponent>),
}

/// What somebody says about a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The move chosen.
    pub best: Move,
    /// The candidates, best first, as far as told.
    pub ranking: Vec<Move>,
    /// Every legal move and its probability, where it is a network that tells.
    pub priors: Option<Vec<(Move, f64)>>,
}

/// Where there was no answer, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Unanswered {
    /// Who was asked.
    pub label: String,
    /// The number of the line.
    pub line: usize,
    /// The number of the position in it.
    pub position: usize,
    /// What happened, and what to do.
    pub reason: String,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.label, self.reason)
    }
}

impl Contender {
    /// Whether the network is asked itself, many positions at a time. That is how a policy player is asked
    /// about single positions, where its rules of play would hide what the network thinks.
    pub fn is_network(&self) -> bool {
        matches!(&self.kind, Kind::Player(options) if options.player == PlayerKind::Policy)
    }

    /// Whether it can be asked about single positions within this budget.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_askable(&self, budget: &Budget) -> Result<(), String> {
        let label = &self.label;
        if budget.clock.is_some() {
            return Err(format!(
                "{label}: a clock is for games; expected nodes, depth or movetime for single positions"
            ));
        }
        match &self.kind {
            Kind::Player(options)
                if self.is_network() && options.settings() != Options::default().settings() =>
            {
                Err(format!(
                    "{label}: the network itself is asked, without the rules of play; leave options \
                     such as FinishPlies and Temperature away"
                ))
            }
            Kind::Engine(_) if budget.is_empty() => {
                Err(format!("{label} would think for ever: give it nodes=, depth= or movetime="))
            }
            _ => Ok(()),
        }
    }
}

impl Asker {
    /// Starts the contender.
    ///
    /// # Errors
    /// In one line, when it cannot be started.
    pub fn start(contender: &Contender, budget: &Budget, terms: Terms) -> Result<Self, String> {
        let label = contender.label.clone();
        let failed = |error: String| format!("{label}: {error}");
        let who = match &contender.kind {
            Kind::Player(options) if contender.is_network() => {
                Who::Network(engine::evaluator(options).map_err(failed)?.into())
            }
            _ => Who::Player(contender.start(terms)?),
        };
        let turn = Turn::new([budget; 2], [Duration::ZERO; 2], terms.patience, terms.patience);
        Ok(Self { label, who, turn, effort: Effort::default() })
    }

    /// What its answers have cost so far.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Asks about positions: of each line one after the other, the lines by themselves. Random moves depend
    /// on the line's number. No position may end the game.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn ask(&mut self, lines: &[(u64, Vec<Course>)]) -> Result<Vec<Vec<Reply>>, Unanswered> {
        let begun = Instant::now();
        let answered = match &mut self.who {
            Who::Network(evaluator) => ask_network(evaluator, lines),
            Who::Player(player) => (lines.iter().enumerate())
                .map(|(i, (number, line))| {
                    let answered = ask_line(player.as_mut(), line, *number, &self.turn);
                    answered.map_err(|(position, reason)| (i, position, reason))
                })
                .collect(),
        };
        self.effort.time += begun.elapsed();
        let answered = answered.map_err(|(line, position, reason)| {
            let label = self.label.clone();
            Unanswered { label, line, position, reason }
        })?;
        let answers = || answered.iter().flatten();
        self.effort.positions += answers().count() as u64;
        self.effort.nodes += answers().filter_map(|(_, nodes)| *nodes).sum::<u64>();
        let replies = |line: Vec<Told>| line.into_iter().map(|(reply, _)| reply).collect();
        Ok(answered.into_iter().map(replies).collect())
    }
}

/// A reply, and the positions that were looked at for it.
type Told = (Reply, Option<u64>);

/// The lines' answers; else the line and the position where there is none, and why.
fn ask_network(
    evaluator: &mut Evaluator,
    lines: &[(u64, Vec<Course>)],
) -> Result<Vec<Vec<Told>>, (usize, usize, String)> {
    let places: Vec<(usize, usize)> = (lines.iter().enumerate())
        .flat_map(|(i, (_, line))| (0..line.len()).map(move |position| (i, position)))
        .collect();
    let mut answered: Vec<Vec<Told>> = lines.iter().map(|_| Vec::new()).collect();
    for batch in places.chunks(BATCH) {
        let games: Vec<_> =
            batch.iter().map(|&(line, position)| lines[line].1[position].game()).collect();
        let (line, position) = batch[0];
        let evaluations = evaluator
            .evaluate_batch(&games)
            .map_err(|error| (line, position, error.to_string()))?;
        for (evaluation, &(line, position)) in evaluations.into_iter().zip(batch) {
            let no_move = || (line, position, "asked where no move is legal, a bug".to_owned());
            let best = evaluation.best().ok_or_else(no_move)?;
            let reply = Reply { best, ranking: Vec::new(), priors: Some(evaluation.priors) };
            answered[line].push((reply, Some(1)));
        }
    }
    Ok(answered)
}

/// The answers along a line; else the number of the position where there is none, and why.
fn ask_line(
    player: &mut dyn Opponent,
    line: &[Course],
    number: u64,
    turn: &Turn,
) -> Result<Vec<Told>, (usize, String)> {
    player.new_game(number).map_err(|fault| (0, fault.to_string()))?;
    let reply = |(i, course): (usize, &Course)| {
        let told = |answer: Answer| {
            let Answer { best, ranking, nodes, .. } = answer;
            (Reply { best, ranking, priors: None }, nodes)
        };
        player.choose(course, turn).map(told).map_err(|fault| {
            let fen = course.game().fen();
            (i, format!("{fault}, asked in {fen}; {}", advice(&fault)))
        })
    };
    line.iter().enumerate().map(reply).collect()
}

fn advice(fault: &Fault) -> &'static str {
    match fault {
        Fault::Illegal(_) => "expected a legal move: mend the program, or leave it out",
        Fault::NoAnswer => "give it more --patience, or less to think about",
        Fault::Died(_) => "expected a move: ask it by hand, mend it, or leave it out",
        Fault::Unusable(_) => "expected a move: see to it",
    }
}
