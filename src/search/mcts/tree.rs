//! The tree: what is known of positions, and how they hang together.
//!
//! A position that was visited is a [`Node`]; a legal move from it is an [`Edge`], four bytes, and has a
//! node only once it was tried. The edges of a node stand in one block, tried ones first, in the order in
//! which they were tried, and the children stand in another block in the same order. So choosing among the
//! children reads memory from front to back. When a node has more children than their block holds, they
//! move to one twice as large: the index of a node holds only until its parent gets another child.

use super::arena::{Arena, Entry};
use crate::chess::{Move, Piece, Square};

/// A position, 32 bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Node {
    /// Sum of the values of all visits, for the side to move here.
    pub sum: f64,
    /// How often a value was backed up through here, the node's own evaluation included.
    pub visits: u32,
    children: u32,
    edges: u32,
    prior: Prior,
    /// The prior of the most probable move not tried yet, kept here to spare a look at the edges.
    next_prior: Prior,
    action: Action,
    /// Descents through here whose values have not come back yet.
    pub in_flight: u16,
    /// Legal moves; 0 where the game has ended, and for a root not looked at yet.
    pub legal: u8,
    /// How many of them have a node.
    pub tried: u8,
    pub proof: Proof,
}

/// What is known for sure of a position, for the side to move, best play assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Proof {
    #[default]
    None,
    Draw,
    /// It mates in at most so many plies.
    Win(u8),
    /// It is mated in at most so many plies; in 0 it is mated now.
    Loss(u8),
}

/// A legal move with its prior, 4 bytes: the prior above, as a number that grows with it, the move below.
#[derive(Clone, Copy, Default)]
pub(super) struct Edge(u32);

/// A probability in 16 bits, from 2^-31 to 1 and within 1 part in 4096 of what it was made from: five bits of
/// exponent above eleven of mantissa.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Prior(u16);

/// A move in 15 bits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Action(u16);

impl Node {
    /// The mean value for the side to move; 0 without a visit.
    pub fn value(&self) -> f64 {
        match self.proof {
            Proof::Win(_) => 1.0,
            Proof::Loss(_) => -1.0,
            Proof::Draw => 0.0,
            Proof::None => self.sum / f64::from(self.visits.max(1)),
        }
    }

    /// The probability of the move that leads here.
    pub fn prior(&self) -> f32 {
        self.prior.get()
    }

    /// The probability of the most probable move not tried yet, when there is one.
    pub fn next_prior(&self) -> Option<f32> {
        (self.tried < self.legal).then(|| self.next_prior.get())
    }

    /// The move that leads here.
    pub fn mv(&self) -> Move {
        self.action.mv()
    }

    /// Whether the position waits for its evaluation.
    pub fn is_pending(&self) -> bool {
        self.visits == 0 && self.proof == Proof::None
    }
}

impl Prior {
    fn new(probability: f32) -> Self {
        let rounded = probability.clamp(2_f32.powi(-31), 1.0).to_bits() + (1 << 11) - (96 << 23);
        Self((rounded >> 12) as u16)
    }

    fn get(self) -> f32 {
        f32::from_bits((u32::from(self.0) << 12) + (96 << 23))
    }
}

impl Action {
    fn new(mv: Move) -> Self {
        let promotion = mv.promotion.map_or(0, |piece| piece as u16);
        Self(promotion << 12 | (mv.from as u16) << 6 | mv.to as u16)
    }

    fn mv(self) -> Move {
        let square = |bits: u16| Square::index(usize::from(bits & 63));
        // No pawn becomes a pawn, so 0 is free for the other moves.
        let promotion = Some(self.0 >> 12).filter(|&piece| piece > 0);
        let promotion = promotion.and_then(|piece| Piece::try_index(piece.into()));
        Move { from: square(self.0 >> 6), to: square(self.0), promotion }
    }
}

impl Edge {
    fn new(mv: Move) -> Self {
        Self(Action::new(mv).0.into())
    }

    pub fn mv(self) -> Move {
        self.action().mv()
    }

    fn action(self) -> Action {
        Action(self.0 as u16)
    }

    pub fn prior(self) -> f32 {
        self.prior_bits().get()
    }

    fn prior_bits(self) -> Prior {
        Prior((self.0 >> 16) as u16)
    }

    fn set_prior(&mut self, prior: f32) {
        self.0 = u32::from(Prior::new(prior).0) << 16 | self.0 & 0xffff;
    }
}

impl Entry for Node {
    fn from_link(link: u32) -> Self {
        Self { children: link, ..Self::default() }
    }

    fn link(self) -> u32 {
        self.children
    }
}

impl Entry for Edge {
    fn from_link(link: u32) -> Self {
        Self(link)
    }

    fn link(self) -> u32 {
        self.0
    }
}

/// The block size for so many children.
fn child_block(tried: u8) -> usize {
    usize::from(tried).next_power_of_two()
}

/// Nodes and edges under one limit in bytes.
pub(super) struct Tree {
    nodes: Arena<Node>,
    edges: Arena<Edge>,
    limit: usize,
    /// Bytes left.
    budget: usize,
}

/// The root's place.
const ROOT: u32 = 0;

/// Bytes for each node that [`Tree::keep`] needs for its lists.
const KEEPING: usize = 2 * size_of::<(u32, u32)>() + size_of::<u32>();

impl Tree {
    /// An empty tree that will never take more than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { nodes: Arena::new(KEEPING), edges: Arena::new(0), limit, budget: limit }
    }

    /// Forgets everything and begins with an unvisited root that has these moves. `false` when there is no room
    /// even for that.
    pub fn plant(&mut self, moves: &[Move]) -> bool {
        *self = Self::new(self.limit);
        let root = self.nodes.take(1, &mut self.budget);
        root.is_some_and(|root| {
            self.nodes[root] = Node::default();
            root == ROOT && self.set_moves(root, moves)
        })
    }

    pub fn root(&self) -> u32 {
        ROOT
    }

    /// The memory taken, in bytes, with what [`Tree::keep`] needs.
    pub fn bytes(&self) -> usize {
        self.limit - self.budget
    }

    pub fn node(&self, at: u32) -> &Node {
        &self.nodes[at]
    }

    pub fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at]
    }

    /// The index of a child.
    pub fn child(&self, at: u32, ordinal: usize) -> u32 {
        self.nodes[at].children + ordinal as u32
    }

    /// Has the processor fetch what is known of a node's moves.
    pub fn prefetch(&self, at: u32) {
        let Node { children, edges, legal, tried, .. } = self.nodes[at];
        self.nodes.prefetch(children, tried.into());
        self.edges.prefetch(edges + u32::from(tried), usize::from(legal - tried));
    }

    /// The nodes of the moves tried.
    pub fn children(&self, at: u32) -> &[Node] {
        let node = &self.nodes[at];
        self.nodes.block(node.children, node.tried.into())
    }

    pub fn children_mut(&mut self, at: u32) -> &mut [Node] {
        let Node { children, tried, .. } = self.nodes[at];
        self.nodes.block_mut(children, tried.into())
    }

    /// The child that `mv` leads to.
    pub fn find(&self, at: u32, mv: Move) -> Option<u32> {
        let action = Action::new(mv);
        let ordinal = self.children(at).iter().position(|child| child.action == action)?;
        Some(self.child(at, ordinal))
    }

    /// The moves not tried yet, the most probable one first.
    pub fn untried(&self, at: u32) -> &[Edge] {
        let node = &self.nodes[at];
        &self.edges.block(node.edges, node.legal.into())[node.tried.into()..]
    }

    /// The most probable of the moves not tried yet.
    pub fn next_untried(&self, at: u32) -> Option<Edge> {
        let node = &self.nodes[at];
        (node.tried < node.legal).then(|| self.edges[node.edges + u32::from(node.tried)])
    }

    /// Gives a node its moves, without priors. `false`, and nothing changed, when the tree is full.
    fn set_moves(&mut self, at: u32, moves: &[Move]) -> bool {
        // No position has more than 218 legal moves.
        let legal = moves.len() as u8;
        let Some(block) = self.edges.take(legal.into(), &mut self.budget) else {
            return false;
        };
        let edges = self.edges.block_mut(block, legal.into());
        edges.iter_mut().zip(moves).for_each(|(edge, &mv)| *edge = Edge::new(mv));
        self.nodes[at].edges = block;
        self.nodes[at].legal = legal;
        true
    }

    /// Sets the priors of an evaluated node, in the order of its moves.
    pub fn set_priors(&mut self, at: u32, priors: &[f64]) {
        let Node { edges, legal, .. } = self.nodes[at];
        let edges = self.edges.block_mut(edges, legal.into());
        edges.iter_mut().zip(priors).for_each(|(edge, &prior)| edge.set_prior(prior as f32));
        self.bring_best_forward(at);
    }

    /// Changes the priors of all moves, tried or not: `change` gets them in the edges' order.
    pub fn change_priors(&mut self, at: u32, mut change: impl FnMut(f32) -> f32) {
        for child in self.children_mut(at) {
            child.prior = Prior::new(change(child.prior()));
        }
        let Node { edges, legal, tried, .. } = self.nodes[at];
        for edge in &mut self.edges.block_mut(edges, legal.into())[tried.into()..] {
            edge.set_prior(change(edge.prior()));
        }
        self.bring_best_forward(at);
    }

    /// Puts the most probable untried move before the others.
    fn bring_best_forward(&mut self, at: u32) {
        let Node { edges, legal, tried, .. } = self.nodes[at];
        let untried = &mut self.edges.block_mut(edges, legal.into())[tried.into()..];
        let Some(best) = untried.iter().map(|edge| edge.0 >> 16).max() else {
            return;
        };
        let place = untried.iter().position(|edge| edge.0 >> 16 == best).unwrap_or_default();
        untried.swap(0, place);
        self.nodes[at].next_prior = Prior(best as u16);
    }

    /// Makes the node of the most probable untried move, with that node's legal moves, none where the game
    /// has ended. `None`, and nothing changed, when the tree is full. Moves the node's other children.
    pub fn add_child(&mut self, at: u32, moves: &[Move]) -> Option<u32> {
        let Node { children, tried, edges, .. } = self.nodes[at];
        let (before, after) = (child_block(tried), child_block(tried + 1));
        let mut block = children;
        if tried == 0 || after > before {
            block = self.nodes.take(after, &mut self.budget)?;
        }
        let edge = self.edges[edges + u32::from(tried)];
        let child = block + u32::from(tried);
        self.nodes[child] =
            Node { prior: edge.prior_bits(), action: edge.action(), ..Node::default() };
        if !moves.is_empty() && !self.set_moves(child, moves) {
            if block != children || tried == 0 {
                self.nodes.give(block, after);
            }
            return None;
        }
        if block != children && tried > 0 {
            for i in 0..u32::from(tried) {
                self.nodes[block + i] = self.nodes[children + i];
            }
            self.nodes.give(children, before);
        }
        self.nodes[at].children = block;
        self.nodes[at].tried += 1;
        self.bring_best_forward(at);
        Some(child)
    }

    /// Makes the node of an untried move that mates, which proves `at`. `false`, and nothing changed, when the tree is full.
    pub fn add_mate(&mut self, at: u32, mv: Move) -> bool {
        let Node { edges, legal, tried, .. } = self.nodes[at];
        let untried = &mut self.edges.block_mut(edges, legal.into())[tried.into()..];
        let Some(place) = untried.iter().position(|edge| edge.action() == Action::new(mv)) else {
            return false;
        };
        untried.swap(0, place);
        let Some(child) = self.add_child(at, &[]) else { return false };
        let node = &mut self.nodes[child];
        (node.visits, node.sum, node.proof) = (1, -1.0, Proof::Loss(0));
        self.prove(at)
    }

    /// Works out a node's proof from its children's. `true` when it has one.
    pub fn prove(&mut self, at: u32) -> bool {
        let node = &self.nodes[at];
        let (mut win, mut loss, mut draw) = (None, 0, false);
        let mut all = node.tried == node.legal;
        for child in self.children(at) {
            match child.proof {
                Proof::Loss(plies) => win = Some(win.map_or(plies, |best: u8| best.min(plies))),
                Proof::Win(plies) => loss = loss.max(plies),
                Proof::Draw => draw = true,
                Proof::None => all = false,
            }
        }
        let proof = match win {
            Some(plies) => Proof::Win(plies.saturating_add(1)),
            None if !all || node.legal == 0 => return false,
            None if draw => Proof::Draw,
            None => Proof::Loss(loss.saturating_add(1)),
        };
        self.nodes[at].proof = proof;
        true
    }

    /// Makes the node at `kept` the root, forgets all that is not below it, and moves what is together.
    pub fn keep(&mut self, kept: u32) {
        if kept == ROOT {
            return;
        }
        self.nodes[ROOT] = self.nodes[kept];
        // Blocks in use, each with the node that it belongs to; every node was visited.
        let most = self.nodes.len().min(self.nodes[ROOT].visits as usize);
        let (mut edges, mut children) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut found = vec![ROOT];
        while let Some(at) = found.pop() {
            let node = &self.nodes[at];
            if node.legal > 0 {
                edges.push((node.edges, at));
            }
            if node.tried > 0 {
                children.push((node.children, at));
                found.extend(node.children..node.children + u32::from(node.tried));
            }
        }

        edges.sort_unstable();
        self.edges.begin_sliding();
        for (block, owner) in edges {
            let legal = self.nodes[owner].legal;
            self.nodes[owner].edges = self.edges.slide(block, legal.into());
        }
        self.edges.end_sliding(&mut self.budget);

        children.sort_unstable();
        let mut slid = Vec::with_capacity(children.len());
        self.nodes.begin_sliding();
        self.nodes.slide(ROOT, 1);
        for &(block, owner) in &children {
            // The owner stands in a block before or behind this one, and has moved or not.
            let home = children.partition_point(|&(block, _)| block <= owner);
            let moved =
                home.checked_sub(1).and_then(|home| Some((children[home].0, slid.get(home)?)));
            let owner = moved.map_or(owner, |(from, to)| to + (owner - from));
            let size = child_block(self.nodes[owner].tried);
            let to = self.nodes.slide(block, size);
            self.nodes[owner].children = to;
            slid.push(to);
        }
        self.nodes.end_sliding(&mut self.budget);
    }
}
