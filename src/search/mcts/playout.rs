//! The playout: select, expand, evaluate, back up.
//!
//! A playout goes down the tree from the root, at each node to the child of the highest
//!
//! ```text
//! Q(child) + c_puct * prior(child) * sqrt(visits(node)) / (1 + visits(child))
//! ```
//!
//! until it reaches a move that was not tried. The position after it becomes a node, the network says what
//! it is worth and which moves are probable in it, and the value is added to every node on the way, with
//! the sign turned at each ply. (Rosin 2011; Silver et al., "Mastering the game of Go without human
//! knowledge", 2017.)
//!
//! A network call for one position wastes most of what a processor can do. So several playouts go down
//! before the network is asked for all of them at once. Those on their way count as visits, and as lost
//! ones (virtual loss), which sends the next ones elsewhere.
//!
//! Where the game has ended, or a move mates, nobody is asked. What then is proven is proven for the parents too as far as it
//! settles them, and what is settled is not searched again (Winands, Bjornsson and Saito, "Monte-Carlo tree
//! search solver", 2008).

use super::parameters::{Fpu, Parameters};
use super::tree::{Proof, Tree};
use crate::chess::{Game, Move};
use crate::evaluator::{EvaluateError, Evaluator};
use crate::search::mate::mating_move;

/// A playout that is this many plies deep ends with the value that is there.
const MAX_PLIES: usize = 1000;

/// Runs playouts, many times with the same memory.
#[derive(Default)]
pub(super) struct Playouts {
    /// The root's game, played on to wherever the playout is.
    game: Game,
    moves: Vec<Move>,
    /// Where the playout under way, or just ended, went: which child at each node.
    path: Vec<u8>,
    /// Playouts that wait for the network, in the order of its queue.
    waiting: Vec<Waiting>,
    /// Their paths, one after the other, and those of playouts that ran into them.
    paths: Vec<u8>,
    /// The nodes on a path, the root first.
    nodes: Vec<u32>,
}

/// A playout whose leaf waits for the network.
struct Waiting {
    /// Where its path ends in [`Playouts::paths`]; it begins where the one before ends.
    end: usize,
    /// `false` for one that has no position in the queue, because another got to its leaf before it.
    queued: bool,
}

/// How a way down ended.
enum Leaf {
    /// In a new node, now in the evaluator's queue.
    New,
    /// In a node whose value needs no evaluation.
    Known(f64),
    /// In a node that waits for its evaluation already.
    Taken,
    /// Before a move for whose node there is no memory.
    NoRoom,
}

/// What came of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// Playouts that brought a value back.
    pub playouts: u32,
    /// Plies that these went down.
    pub plies: u64,
    /// Positions that the network evaluated for them.
    pub evaluated: u32,
    /// Whether there was no memory for another node.
    pub full: bool,
}

impl Playouts {
    /// Evaluates the root, which was not visited, for the moves that it has.
    pub fn evaluate_root(
        &mut self,
        tree: &mut Tree,
        root: u32,
        game: &Game,
        evaluator: &mut Evaluator,
    ) -> Result<Batch, EvaluateError> {
        let considered: Vec<Move> = tree.untried(root).iter().map(|edge| edge.mv()).collect();
        if mating_move(game.board(), &considered).is_some_and(|mv| tree.add_mate(root, mv)) {
            let node = tree.node_mut(root);
            (node.visits, node.sum) = (1, 1.0);
            return Ok(Batch { playouts: 1, ..Batch::default() });
        }
        game.legal_moves_into(&mut self.moves);
        evaluator.clear();
        evaluator.queue(game, &self.moves);
        let evaluated = evaluator.run()?;
        let prior = |mv: Move| {
            let place = self.moves.iter().position(|&legal| legal == mv);
            place.map_or(0.0, |place| evaluator.priors(0)[place])
        };
        let mut priors: Vec<f64> = tree.untried(root).iter().map(|edge| prior(edge.mv())).collect();
        let sum: f64 = priors.iter().sum();
        priors.iter_mut().for_each(|prior| *prior /= sum.max(f64::MIN_POSITIVE));
        tree.set_priors(root, &priors);
        let node = tree.node_mut(root);
        node.visits = 1;
        node.sum = evaluator.value(0).into();
        Ok(Batch { playouts: 1, evaluated, ..Batch::default() })
    }

    /// Up to `size` playouts with one call of the network. `game` is the root's; it must be evaluated and
    /// not proven. After an error the tree is good for nothing any more.
    pub fn batch(
        &mut self,
        tree: &mut Tree,
        root: u32,
        game: &Game,
        evaluator: &mut Evaluator,
        parameters: &Parameters,
        size: u32,
    ) -> Result<Batch, EvaluateError> {
        let mut done = Batch::default();
        // Those that run into each other are no playouts, but there must be an end to them too.
        let mut collisions = 0;
        evaluator.clear();
        self.waiting.clear();
        self.paths.clear();
        self.game.clone_from(game);
        while done.playouts < size && collisions < size && tree.node(root).proof == Proof::None {
            let leaf = self.descend(tree, root, evaluator, parameters);
            self.game.return_to(game);
            match leaf {
                Leaf::New | Leaf::Taken => {
                    self.paths.extend(&self.path);
                    let queued = matches!(leaf, Leaf::New);
                    self.waiting.push(Waiting { end: self.paths.len(), queued });
                    collisions += u32::from(!queued);
                }
                Leaf::Known(value) => {
                    walk(tree, root, &self.path, &mut self.nodes);
                    back_up(tree, &self.nodes, value);
                }
                Leaf::NoRoom => {
                    walk(tree, root, &self.path, &mut self.nodes);
                    self.nodes.iter().for_each(|&at| tree.node_mut(at).in_flight -= 1);
                    done.full = true;
                    break;
                }
            }
            if !matches!(leaf, Leaf::Taken) {
                done.playouts += 1;
                done.plies += self.path.len() as u64;
            }
        }

        done.evaluated = evaluator.run()?;
        let (mut start, mut position) = (0, 0);
        for waiting in &self.waiting {
            walk(tree, root, &self.paths[start..waiting.end], &mut self.nodes);
            start = waiting.end;
            if waiting.queued {
                let leaf = self.nodes[self.nodes.len() - 1];
                tree.set_priors(leaf, evaluator.priors(position));
                back_up(tree, &self.nodes, evaluator.value(position).into());
                position += 1;
            } else {
                self.nodes.iter().for_each(|&at| tree.node_mut(at).in_flight -= 1);
            }
        }
        Ok(done)
    }

    /// Goes down from the root and adds a node. On the whole way, the new node included, one more playout
    /// is in flight then.
    fn descend(
        &mut self,
        tree: &mut Tree,
        root: u32,
        evaluator: &mut Evaluator,
        parameters: &Parameters,
    ) -> Leaf {
        self.path.clear();
        let mut at = root;
        loop {
            let node = tree.node(at);
            let known = node.proof != Proof::None || self.path.len() >= MAX_PLIES;
            let (value, pending) = (node.value(), node.is_pending());
            let chosen = if known || pending { None } else { select(tree, at, parameters) };
            tree.node_mut(at).in_flight += 1;
            let Some(ordinal) = chosen else {
                return if pending { Leaf::Taken } else { Leaf::Known(value) };
            };
            if ordinal == usize::from(tree.node(at).tried) {
                return self.expand(tree, at, evaluator);
            }
            self.path.push(ordinal as u8);
            at = tree.child(at, ordinal);
            tree.prefetch(at);
            self.game.play_legal(tree.node(at).mv());
        }
    }

    /// Makes a node of the most probable move not tried at `at`.
    fn expand(&mut self, tree: &mut Tree, at: u32, evaluator: &mut Evaluator) -> Leaf {
        let ordinal = tree.node(at).tried;
        let Some(edge) = tree.next_untried(at) else {
            return Leaf::Known(tree.node(at).value());
        };
        self.game.play_legal(edge.mv());
        self.game.legal_moves_into(&mut self.moves);
        let ended = if self.moves.is_empty() {
            let mated = !self.game.board().checkers().is_empty();
            Some(if mated { Proof::Loss(0) } else { Proof::Draw })
        } else {
            self.game.draw().map(|_| Proof::Draw)
        };
        if ended.is_some() {
            self.moves.clear();
        }
        let Some(child) = tree.add_child(at, &self.moves) else {
            return Leaf::NoRoom;
        };
        self.path.push(ordinal);
        let node = tree.node_mut(child);
        node.in_flight = 1;
        if let Some(proof) = ended {
            node.proof = proof;
            return Leaf::Known(node.value());
        }
        let mate = mating_move(self.game.board(), &self.moves);
        if mate.is_some_and(|mv| tree.add_mate(child, mv)) {
            return Leaf::Known(tree.node(child).value());
        }
        evaluator.queue(&self.game, &self.moves);
        Leaf::New
    }
}

/// The child to go to: its number among the children, or their count for the most probable move that has
/// no node yet. `None` only where all is lost.
pub(super) fn select(tree: &Tree, at: u32, parameters: &Parameters) -> Option<usize> {
    let node = tree.node(at);
    let children = tree.children(at);
    let visits = (node.visits + u32::from(node.in_flight)) as f32;
    let scale = parameters.c_puct as f32 * visits.sqrt();
    let virtual_loss = parameters.virtual_loss as f32;
    let (mut best, mut chosen) = (f32::NEG_INFINITY, None);
    let mut tried_prior = 0.0;
    for (i, child) in children.iter().enumerate() {
        let (prior, in_flight) = (child.prior(), f32::from(child.in_flight));
        tried_prior += prior;
        let visits = child.visits as f32 + in_flight;
        let value = match child.proof {
            // For the side that moves here, playouts in flight counted as so much lost.
            Proof::None => (-child.sum as f32 - virtual_loss * in_flight) / visits,
            Proof::Win(_) => continue, // The opponent's win.
            Proof::Loss(_) | Proof::Draw => -child.value() as f32,
        };
        let score = value + scale * prior / (1.0 + visits);
        if score > best {
            (best, chosen) = (score, Some(i));
        }
    }
    if let Some(prior) = node.next_prior() {
        let value = match parameters.fpu {
            Fpu::Zero => 0.0,
            Fpu::Parent => {
                node.value() as f32 - parameters.fpu_reduction as f32 * tried_prior.sqrt()
            }
        };
        if value + scale * prior > best {
            chosen = Some(children.len());
        }
    }
    chosen
}

/// The nodes on the path, the root first.
fn walk(tree: &Tree, root: u32, path: &[u8], nodes: &mut Vec<u32>) {
    nodes.clear();
    nodes.push(root);
    let mut at = root;
    for &ordinal in path {
        at = tree.child(at, ordinal.into());
        nodes.push(at);
    }
}

/// Brings the value of the last of the nodes, for its side to move, up to the first. One playout less is in
/// flight then. What is proven below is proven above, as far as it goes.
fn back_up(tree: &mut Tree, nodes: &[u32], value: f64) {
    let mut value = value;
    for &at in nodes.iter().rev() {
        let node = tree.node_mut(at);
        node.in_flight -= 1;
        node.visits += 1;
        node.sum += value;
        value = -value;
    }
    let mut proven = nodes.last().is_some_and(|&leaf| tree.node(leaf).proof != Proof::None);
    for &at in nodes.iter().rev().skip(1) {
        if !proven {
            break;
        }
        proven = tree.prove(at);
    }
}
