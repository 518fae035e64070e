//! From the tree to candidate moves, best first.

use super::tree::{Edge, Node, Proof, Tree};
use crate::chess::Move;
use crate::search::{Line, Score};
use std::cmp::Ordering;

/// A move from the root.
#[derive(Clone, Copy)]
struct Candidate {
    mv: Move,
    prior: f32,
    /// The node that it leads to, when it was tried.
    node: Option<u32>,
}

/// All moves from `root`, best first, each with what is expected after it.
pub(super) fn lines(tree: &Tree, root: u32) -> Vec<Line> {
    let tried = (tree.children(root).iter().enumerate()).map(|(i, child)| Candidate {
        mv: child.mv(),
        prior: child.prior(),
        node: Some(tree.child(root, i)),
    });
    let untried = tree.untried(root).iter();
    let untried =
        untried.map(|edge: &Edge| Candidate { mv: edge.mv(), prior: edge.prior(), node: None });
    let mut candidates: Vec<Candidate> = tried.chain(untried).collect();
    let unvisited = Node::default();
    let node = |candidate: &Candidate| candidate.node.map_or(&unvisited, |at| tree.node(at));
    candidates.sort_by(|a, b| rank(node(b), node(a)).then_with(|| b.prior.total_cmp(&a.prior)));

    let visits: u32 = tree.children(root).iter().map(|child| child.visits).sum();
    let line = |candidate: &Candidate| {
        let mut moves = vec![candidate.mv];
        if let Some(at) = candidate.node {
            follow(tree, at, &mut moves);
        }
        let node = node(candidate);
        let score = match candidate.node {
            Some(_) => score(node),
            None => Score::of_value(tree.node(root).value()),
        };
        let share = match visits {
            0 => f64::from(candidate.prior),
            _ => f64::from(node.visits) / f64::from(visits),
        };
        let visits = Some(node.visits);
        Line { moves, score: Some(score), probability: Some(share), visits, ..Line::default() }
    };
    candidates.iter().map(line).collect()
}

/// The order of two moves by the nodes that they lead to; the greater is better. A proven win comes first,
/// the sooner the better, a proven loss last. Otherwise visits decide: the best move gets the most of them.
fn rank(a: &Node, b: &Node) -> Ordering {
    let key = |node: &Node| match node.proof {
        Proof::Loss(plies) => (2, -i32::from(plies), node.visits),
        Proof::None | Proof::Draw => (1, 0, node.visits),
        Proof::Win(plies) => (0, i32::from(plies), node.visits),
    };
    key(a).cmp(&key(b)).then_with(|| b.value().total_cmp(&a.value()))
}

/// Appends the best moves from `at` on.
fn follow(tree: &Tree, at: u32, moves: &mut Vec<Move>) {
    let mut at = at;
    // The last among equals would be the least probable one.
    while let Some((i, best)) =
        tree.children(at).iter().enumerate().rev().max_by(|(_, a), (_, b)| rank(a, b))
    {
        moves.push(best.mv());
        at = tree.child(at, i);
    }
}

/// The score of a node for the side that moved there.
fn score(node: &Node) -> Score {
    match node.proof {
        Proof::Loss(plies) => Score::Mate((i32::from(plies) + 2) / 2),
        Proof::Win(plies) => Score::Mate(-(i32::from(plies) + 1) / 2),
        Proof::None | Proof::Draw => Score::of_value(-node.value()),
    }
}

/// By how many visits the most visited child is ahead of the next.
pub(super) fn lead(tree: &Tree, root: u32) -> u32 {
    let (mut first, mut second) = (0, 0);
    for child in tree.children(root) {
        if child.visits > first {
            (first, second) = (child.visits, first);
        } else {
            second = second.max(child.visits);
        }
    }
    first - second
}
