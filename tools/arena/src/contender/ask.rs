//! Single positions: a network is asked about many at once, everybody else about one after the other.

use super::{Contender, Fault, Kind, Opponent, Terms};
use crate::course::Course;
use crate::limits::{Budget, Turn};
use fianchetto::chess::Move;
use fianchetto::engine;
use fianchetto::evaluator::Evaluator;
use fianchetto::uci::{Options, PlayerKind};
use std::time::Duration;

/// Positions that a network is asked about at a time.
const BATCH: usize = 64;

/// Somebody who is asked about positions.
pub struct Asker {
    label: String,
    who: Who,
    turn: Turn,
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
        Ok(Self { label, who, turn })
    }

    /// Asks about positions: of each line one after the other, the lines by themselves. Random moves depend
    /// on the line's number. No position may end the game.
    ///
    /// # Errors
    /// In one line, when there is no answer.
    pub fn ask(&mut self, lines: &[(u64, Vec<Course>)]) -> Result<Vec<Vec<Reply>>, String> {
        let label = &self.label;
        match &mut self.who {
            Who::Network(evaluator) => {
                let games: Vec<_> =
                    lines.iter().flat_map(|(_, line)| line).map(Course::game).collect();
                let mut evaluations = Vec::with_capacity(games.len());
                for batch in games.chunks(BATCH) {
                    let evaluated = evaluator.evaluate_batch(batch);
                    evaluations.extend(evaluated.map_err(|e| format!("{label}: {e}"))?);
                }
                let replies: Option<Vec<Reply>> = (evaluations.into_iter())
                    .map(|evaluation| {
                        let best = evaluation.best()?;
                        Some(Reply { best, ranking: Vec::new(), priors: Some(evaluation.priors) })
                    })
                    .collect();
                let mut replies = replies
                    .ok_or_else(|| {
                        format!("{label}: asked where no move is legal, which is a bug")
                    })?
                    .into_iter();
                Ok(lines
                    .iter()
                    .map(|(_, line)| replies.by_ref().take(line.len()).collect())
                    .collect())
            }
            Who::Player(player) => {
                let mut all = Vec::with_capacity(lines.len());
                for (number, line) in lines {
                    let replies = ask_line(player.as_mut(), line, *number, &self.turn);
                    all.push(replies.map_err(|fault| format!("{label}: {fault}"))?);
                }
                Ok(all)
            }
        }
    }
}

fn ask_line(
    player: &mut dyn Opponent,
    line: &[Course],
    number: u64,
    turn: &Turn,
) -> Result<Vec<Reply>, Fault> {
    player.new_game(number)?;
    let reply = |course| {
        let answer = player.choose(course, turn)?;
        Ok(Reply { best: answer.best, ranking: answer.ranking, priors: None })
    };
    line.iter().map(reply).collect()
}
