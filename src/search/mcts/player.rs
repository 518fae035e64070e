//! The search as a player: what it remembers from move to move, when it stops, what it tells.

use super::parameters::Parameters;
use super::playout::{Batch, Playouts};
use super::ranking;
use super::tree::{Proof, Tree};
use crate::chess::{Game, Move};
use crate::evaluator::Evaluator;
use crate::search::pace::Pace;
use crate::search::random::Random;
use crate::search::time::Budget;
use crate::search::{Choice, Limits, Line, PlayError, Player, Report, Score, Settings};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a search is silent at most.
const SILENCE: Duration = Duration::from_secs(1);

/// Plays what a tree search over a network finds best.
pub struct Mcts {
    evaluator: Evaluator,
    settings: Settings,
    random: Random,
    tree: Tree,
    /// What the root of the tree is; `None` for a tree that is of no use.
    planted: Option<Planted>,
    playouts: Playouts,
    /// The time since some moment.
    now: Box<dyn FnMut() -> Duration + Send>,
    pace: Pace,
}

/// The root of the tree.
struct Planted {
    game: Game,
    /// The moves considered.
    moves: Vec<Move>,
    /// Whether noise was mixed into their priors.
    noisy: bool,
}

/// What a search has done so far.
#[derive(Clone, Copy, Default)]
struct Progress {
    playouts: u64,
    plies: u64,
    full: bool,
}

impl Progress {
    fn add(&mut self, batch: Batch) {
        self.playouts += u64::from(batch.playouts);
        self.plies += batch.plies;
        self.full |= batch.full;
    }

    /// How deep the playouts went on average, the evaluation of the root being one ply.
    fn depth(&self) -> u32 {
        1 + (self.plies / self.playouts.max(1)) as u32
    }
}

impl Mcts {
    /// A player with the default settings.
    pub fn new(evaluator: Evaluator) -> Self {
        let begin = Instant::now();
        let mut player = Self {
            evaluator,
            settings: Settings::default(),
            random: Random::from_time(),
            tree: Tree::new(0),
            planted: None,
            playouts: Playouts::default(),
            now: Box::new(move || begin.elapsed()),
            pace: Pace::default(),
        };
        player.divide_memory();
        player
    }

    /// Takes the time from `now`, which gives the time since some moment, instead of the system's clock.
    pub fn with_clock(mut self, now: impl FnMut() -> Duration + Send + 'static) -> Self {
        self.now = Box::new(now);
        self
    }

    /// The memory of the tree and of the evaluations remembered, in bytes.
    pub fn memory(&self) -> usize {
        self.tree.bytes() + self.evaluator.remembering()
    }

    /// How often the network was called so far.
    pub fn network_calls(&self) -> u64 {
        self.evaluator.calls()
    }

    /// Shares the memory out anew and forgets everything.
    fn divide_memory(&mut self) {
        let all = (self.settings.hash as usize) << 20;
        self.planted = None;
        self.tree = Tree::new(0);
        self.evaluator.remember(all / 100 * self.settings.mcts.cache_percent as usize);
        self.tree = Tree::new(all.saturating_sub(self.evaluator.remembering()));
    }

    /// The node of `game` with what is known of it; not visited where nothing is known, and `None` where
    /// there is no memory for a single node. While pondering the tree is kept above it too: the opponent may
    /// play another move.
    fn root(&mut self, game: &Game, moves: &[Move], ponder: bool) -> Option<u32> {
        if let Some(root) = self.find(game, moves) {
            if ponder {
                return Some(root);
            }
            self.tree.keep(root);
            let noisy = root == self.tree.root() && self.planted.as_ref().is_some_and(|p| p.noisy);
            self.planted = Some(Planted { game: game.clone(), moves: moves.to_vec(), noisy });
            return Some(self.tree.root());
        }
        let planted = Planted { game: game.clone(), moves: moves.to_vec(), noisy: false };
        self.planted = self.tree.plant(moves).then_some(planted);
        self.planted.is_some().then(|| self.tree.root())
    }

    /// The visited node of `game` from which just these moves are considered.
    fn find(&self, game: &Game, moves: &[Move]) -> Option<u32> {
        let planted = self.planted.as_ref()?;
        let since = game.since(&planted.game)?;
        let root = (since.iter()).try_fold(self.tree.root(), |at, &mv| self.tree.find(at, mv))?;
        let node = self.tree.node(root);
        let considered = if since.is_empty() {
            planted.moves == moves
        } else {
            node.legal as usize == moves.len()
        };
        // A game that could be claimed drawn has no moves in the tree, but must go on here.
        (considered && node.visits > 0 && node.legal > 0).then_some(root)
    }

    fn add_noise(&mut self, root: u32) {
        let Parameters { root_noise, noise_alpha, .. } = self.settings.mcts;
        let Some(planted) = self.planted.as_mut().filter(|p| root_noise > 0.0 && !p.noisy) else {
            return;
        };
        planted.noisy = true;
        let mut noise = self.random.dirichlet(noise_alpha, planted.moves.len()).into_iter();
        self.tree.change_priors(root, |prior| {
            let noise = noise.next().unwrap_or_default() as f32;
            prior + root_noise as f32 * (noise - prior)
        });
    }

    /// Evaluates the root if need be, then searches until there is a reason to end. `moves` is the number of moves
    /// to choose from.
    fn search(
        &mut self,
        root: u32,
        (game, moves): (&Game, usize),
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Progress, PlayError> {
        let began = (self.now)();
        let budget = Budget::new(limits);
        let parameters = self.settings.mcts.clone();
        let nodes = self.node_limit(limits);
        let mut done = Progress::default();
        if self.tree.node(root).visits == 0 {
            let batch =
                self.playouts.evaluate_root(&mut self.tree, root, game, &mut self.evaluator);
            let batch = batch.map_err(|error| PlayError(error.to_string()))?;
            done.add(batch);
            self.pace.note(batch.evaluated, (self.now)().saturating_sub(began));
        }
        if !limits.ponder {
            self.add_noise(root);
        }

        let mut now = (self.now)();
        let mut told = (now, 1);
        loop {
            let elapsed = now.saturating_sub(began);
            let left = budget.end.map(|end| end.saturating_sub(elapsed));
            let settled = self.tree.node(root).proof != Proof::None
                || done.full
                || stop.load(Ordering::Relaxed)
                || (budget.saves && (moves == 1 || self.is_decided(root, done, elapsed, left)))
                || limits.depth.is_some_and(|depth| done.depth() >= depth);
            let wanted = u64::from(parameters.batch_size).min(nodes.saturating_sub(done.playouts));
            let mut size = self.pace.fit(wanted as u32, left);
            if size < wanted as u32 && done.playouts == 0 && left > Some(Duration::ZERO) {
                // A pace from a bad moment must not keep later moves from finding out.
                size = size.max(1);
            }
            if settled || size == 0 {
                return Ok(done);
            }
            if done.playouts >= 2 * told.1 || now.saturating_sub(told.0) >= SILENCE {
                told = (now, done.playouts);
                report(&self.report(root, done));
            }
            let batch = self
                .playouts
                .batch(&mut self.tree, root, game, &mut self.evaluator, &parameters, size)
                .map_err(|error| PlayError(error.to_string()))?;
            done.add(batch);
            let before = std::mem::replace(&mut now, (self.now)());
            self.pace.note(batch.evaluated, now.saturating_sub(before));
        }
    }

    /// Whether in the time left no move can get the visits that the leader is ahead.
    fn is_decided(
        &self,
        root: u32,
        done: Progress,
        elapsed: Duration,
        left: Option<Duration>,
    ) -> bool {
        let catching_up = |left: Duration| {
            left.as_secs_f64() * done.playouts as f64 / elapsed.as_secs_f64().max(1e-9)
        };
        done.playouts > 0
            && left
                .is_some_and(|left| catching_up(left) < f64::from(ranking::lead(&self.tree, root)))
    }

    /// Playouts to make at most.
    fn node_limit(&self, limits: &Limits) -> u64 {
        let Limits { depth, nodes, move_time, clock, infinite, ponder, .. } = limits;
        let limited = depth.is_some() || move_time.is_some() || clock.is_some();
        let default = u64::from(self.settings.mcts.nodes);
        match nodes {
            Some(nodes) => *nodes,
            None if limited || *infinite || *ponder => u64::MAX,
            None => default,
        }
    }

    fn report(&self, root: u32, done: Progress) -> Report {
        let lines = ranking::lines(&self.tree, root);
        let best = lines.first().and_then(|line| self.tree.find(root, line.moves[0]));
        let value = match best {
            Some(best) => -self.tree.node(best).value(),
            None => self.tree.node(root).value(),
        };
        let value = Some(value);
        Report { depth: done.depth(), nodes: done.playouts, value, lines, remark: None }
    }

    fn temperature(&self, game: &Game) -> f64 {
        let ply = game.moves().len();
        let counts = ply < self.settings.mcts.temperature_plies as usize;
        if counts { self.settings.temperature } else { 0.0 }
    }
}

impl Player for Mcts {
    fn name(&self) -> String {
        let batch = self.settings.mcts.batch_size;
        format!("mcts, {batch} positions at a time, on {}", self.evaluator.name())
    }

    fn configure(&mut self, settings: &Settings) {
        let before = std::mem::replace(&mut self.settings, settings.clone());
        let division = |settings: &Settings| (settings.hash, settings.mcts.cache_percent);
        if division(settings) != division(&before) {
            self.divide_memory();
        }
        if settings.seed != before.seed {
            self.random = Random::of_option(settings.seed);
        }
    }

    fn new_game(&mut self) {
        self.divide_memory();
    }

    fn choose(
        &mut self,
        game: &Game,
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Choice, PlayError> {
        let moves = limits.moves_of(game);
        if moves.is_empty() {
            report(&Report::ended(game));
            return Ok(Choice::default());
        }
        let root = self
            .root(game, &moves, limits.ponder)
            .ok_or_else(|| PlayError::memory(self.settings.hash))?;
        let known = self.tree.node(root).visits;
        let calls = self.evaluator.calls();
        let done = self.search(root, (game, moves.len()), limits, stop, report);
        if done.is_err() {
            self.planted = None;
        }
        let done = done?;

        let mut last = self.report(root, done);
        let temperature = self.temperature(game);
        let is_open = self.tree.node(root).proof == Proof::None;
        if temperature > 0.0 && is_open && !limits.ponder {
            let weight = |line: &Line| match line.score {
                Some(Score::Mate(_)) => 0.0, // A blunder: with a mate to give nothing is open.
                _ => line.probability.unwrap_or(0.0),
            };
            let weights: Vec<f64> = last.lines.iter().map(weight).collect();
            let drawn = self.random.draw(&weights, temperature);
            // The first line is the one that is played.
            last.lines[..=drawn].rotate_right(1);
        }
        let calls = self.evaluator.calls() - calls;
        let mib = |bytes: usize| bytes >> 20;
        let mut remark = format!(
            "{} playouts on {known} known, {calls} network calls, {} of {} MiB",
            done.playouts,
            mib(self.memory()),
            self.settings.hash,
        );
        if done.full {
            remark += "; the tree is full, a larger Hash lets it grow";
        }
        last.remark = Some(remark);
        report(&last);
        let moves = last.lines.first().map_or(&[][..], |line| &line.moves);
        Ok(Choice { best: moves.first().copied(), ponder: moves.get(1).copied() })
    }
}
