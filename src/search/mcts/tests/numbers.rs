//! The numbers in the tree, which are not seen from outside.

use super::super::parameters::{Fpu, Parameters};
use super::super::playout::{Playouts, select};
use super::super::tree::{Edge, Node, Proof, Tree};
use super::Hashing;
use crate::chess::{Game, notation};
use crate::encoding::Encoding;
use crate::evaluator::Evaluator;

/// A search in the making.
struct Search {
    tree: Tree,
    playouts: Playouts,
    evaluator: Evaluator,
    game: Game,
    parameters: Parameters,
}

impl Search {
    fn new(fen: &str, limit: usize) -> Self {
        Self::of(Game::from_fen(fen).unwrap().0, limit)
    }

    fn of(game: Game, limit: usize) -> Self {
        let mut search = Self {
            tree: Tree::new(limit),
            playouts: Playouts::default(),
            evaluator: Evaluator::new(Encoding::Canonical19, Box::new(Hashing)),
            game,
            parameters: Parameters::default(),
        };
        assert!(search.tree.plant(&search.game.legal_moves()));
        let Self { tree, playouts, evaluator, game, .. } = &mut search;
        playouts.evaluate_root(tree, 0, game, evaluator).unwrap();
        search
    }

    /// Makes up to so many playouts in batches of `size`; how many it made.
    fn run(&mut self, playouts: u32, size: u32) -> u32 {
        let (root, mut done) = (self.tree.root(), 0);
        while done < playouts {
            let size = size.min(playouts - done);
            let (tree, evaluator) = (&mut self.tree, &mut self.evaluator);
            let batch =
                self.playouts.batch(tree, root, &self.game, evaluator, &self.parameters, size);
            let batch = batch.unwrap();
            done += batch.playouts;
            if batch.full || batch.playouts == 0 {
                break;
            }
        }
        done
    }
}

/// Calls `check` with every node below and at `at`, and the game there.
fn visit(tree: &Tree, at: u32, game: &Game, check: &mut dyn FnMut(u32, &Game)) {
    check(at, game);
    for (i, child) in tree.children(at).iter().enumerate() {
        let mut after = game.clone();
        after.play(child.mv()).unwrap();
        visit(tree, tree.child(at, i), &after, check);
    }
}

#[test]
fn a_node_takes_32_bytes_and_an_edge_4() {
    assert_eq!((size_of::<Node>(), size_of::<Edge>()), (32, 4));
}

fn parameters(c_puct: &str, fpu: &str, fpu_reduction: &str, virtual_loss: &str) -> Parameters {
    let number = |text: &str| text.parse().unwrap();
    Parameters {
        c_puct: number(c_puct),
        fpu: if fpu == "zero" { Fpu::Zero } else { Fpu::Parent },
        fpu_reduction: number(fpu_reduction),
        virtual_loss: number(virtual_loss),
        ..Parameters::default()
    }
}

/// `tests/golden/puct.py` worked the choices out.
#[test]
fn puct_chooses_as_computed_by_hand() {
    let moves = Game::default().legal_moves();
    let numbers = |text: &str, by: char| -> Vec<f64> {
        text.split(by).filter(|t| !t.is_empty()).map(|t| t.parse().unwrap()).collect()
    };
    for line in include_str!("../../../../tests/data/puct.tsv").lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        let parameters = parameters(fields[0], fields[1], fields[2], fields[3]);
        let priors = numbers(fields[7], ';');
        let mut tree = Tree::new(1 << 20);
        assert!(tree.plant(&moves[..priors.len()]));
        // Tried moves are tried in this order whatever their priors.
        tree.set_priors(
            0,
            &(0..priors.len()).rev().map(|i| (i + 1) as f64 / 10.0).collect::<Vec<_>>(),
        );
        let tried: Vec<_> = fields[8].split(';').filter(|t| !t.is_empty()).collect();
        for stats in &tried {
            let stats = numbers(stats, ',');
            let child = tree.add_child(0, &moves).unwrap();
            let child = tree.node_mut(child);
            (child.visits, child.sum, child.in_flight) =
                (stats[0] as u32, stats[1], stats[2] as u16);
        }
        let mut in_order = priors.iter().map(|&prior| prior as f32);
        tree.change_priors(0, |_| in_order.next().unwrap());
        let root = tree.node_mut(0);
        (root.visits, root.sum, root.in_flight) = (number(4) as u32, number(5), number(6) as u16);
        assert_eq!(select(&tree, 0, &parameters), Some(number(9) as usize), "{line}");
    }
}

/// `tests/golden/playouts.py` searched in Python.
#[test]
fn a_search_visits_what_a_slow_one_visits() {
    for line in include_str!("../../../../tests/data/playouts.tsv").lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[fen, moves, playouts, batch, c, fpu, reduction, loss, expected, visits] = &fields[..]
        else {
            panic!("{line}");
        };
        let (mut game, _) = Game::from_fen(fen).unwrap();
        moves.split_whitespace().for_each(|mv| game.play_uci(mv).map(|_| ()).unwrap());
        let mut search = Search::of(game, 1 << 22);
        search.parameters = parameters(c, fpu, reduction, loss);
        search.run(playouts.parse().unwrap(), batch.parse().unwrap());

        let root = search.tree.node(0);
        let proof = match root.proof {
            Proof::None => "none".to_owned(),
            Proof::Draw => "draw0".to_owned(),
            Proof::Win(plies) => format!("win{plies}"),
            Proof::Loss(plies) => format!("loss{plies}"),
        };
        let value = root.sum / f64::from(root.visits);
        assert_eq!(format!("{},{value:.6},{proof}", root.visits), expected, "{line}");
        let board = search.game.board();
        let visited = search.tree.children(0).iter();
        let mut visited: Vec<String> = visited
            .map(|child| format!("{}:{}", notation::to_uci(board, child.mv()), child.visits))
            .collect();
        visited.sort();
        assert_eq!(visited.join(";"), visits, "{line}");
    }
}

/// Every value that came back is added once, with the right sign, and nothing of the way there is left:
/// a node's visits are its own and its children's, and so are its values.
#[test]
fn the_books_balance_after_any_batch() {
    for (fen, sizes) in [
        ("startpos", &[1, 8, 32][..]),
        ("r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 0 7", &[3, 256]),
        // Few moves: playouts run into each other all the time.
        ("8/8/8/8/8/1p1k4/1P6/1K6 w - - 0 1", &[8, 64]),
    ] {
        for &size in sizes {
            let mut search = Search::new(fen, 1 << 24);
            let done = search.run(2000, size);
            assert!(done == 2000, "{fen}: {done}");
            let mut evaluator = Evaluator::new(Encoding::Canonical19, Box::new(Hashing));
            let tree = &search.tree;
            assert_eq!(tree.node(0).visits, 1 + done);
            visit(tree, 0, &search.game, &mut |at, game| {
                let node = tree.node(at);
                assert_eq!(node.in_flight, 0);
                if node.proof != Proof::None {
                    return;
                }
                let children = tree.children(at);
                assert_eq!(node.visits, 1 + children.iter().map(|c| c.visits).sum::<u32>());
                let sum = node.sum + children.iter().map(|c| c.sum).sum::<f64>();
                let own = evaluator.evaluate(game).unwrap();
                assert!((sum - own.value).abs() < 1e-9, "{}: {sum} {}", game.fen(), own.value);
                assert_eq!(usize::from(node.legal), own.priors.len());
            });
        }
    }
}

/// The evaluation's priors arrive at the right moves.
#[test]
fn priors_belong_to_their_moves() {
    let mut search = Search::new("startpos", 1 << 22);
    search.run(500, 8);
    let mut evaluator = Evaluator::new(Encoding::Canonical19, Box::new(Hashing));
    let tree = &search.tree;
    visit(tree, 0, &search.game, &mut |at, game| {
        let priors = evaluator.evaluate(game).unwrap().priors;
        let tried = tree.children(at).iter().map(|child| (child.mv(), child.prior()));
        let untried = tree.untried(at).iter().map(|edge| (edge.mv(), edge.prior()));
        for (mv, prior) in tried.chain(untried) {
            let (_, exact) = priors.iter().find(|(legal, _)| *legal == mv).unwrap();
            assert!((f64::from(prior) / exact - 1.0).abs() < 1.0 / 4096.0, "{mv}");
        }
    });
}

#[test]
fn a_kept_subtree_is_as_before_and_its_surroundings_are_used_again() {
    let mut search = Search::new("startpos", 1 << 20);
    for _ in 0..40 {
        search.run(100_000, 8);
        let tree = &search.tree;
        assert!(tree.bytes() <= 1 << 20);
        let record = |tree: &Tree, at: u32, game: &Game| {
            let mut all = Vec::new();
            visit(tree, at, game, &mut |at, game| {
                let node = tree.node(at);
                all.push((game.fen(), node.visits, node.sum, tree.untried(at).len()));
            });
            all
        };
        let best = tree.children(0).iter().enumerate().max_by_key(|(_, child)| child.visits);
        let Some((i, child)) = best.filter(|(_, child)| child.legal > 0) else {
            return;
        };
        let mut after = search.game.clone();
        after.play(child.mv()).unwrap();
        let kept = tree.child(0, i);
        let (all, before) = (record(tree, 0, &search.game).len(), record(tree, kept, &after));
        search.tree.keep(kept);
        search.game = after;
        assert_eq!(record(&search.tree, 0, &search.game), before);
        // What was freed can be filled again.
        let freed = all - before.len();
        let filled = search.run(freed as u32, 8) as usize;
        let proven = search.tree.node(0).proof != Proof::None;
        assert!(4 * filled >= 3 * freed || proven, "{filled} of {freed}");
    }
}

#[test]
fn proofs_follow_from_the_children() {
    use Proof::{Draw, Loss, None as Open, Win};
    let moves = Game::default().legal_moves();
    for (children, untried, expected) in [
        (&[Open, Loss(0)][..], 1, Win(1)),
        (&[Loss(4), Loss(2), Open], 0, Win(3)),
        (&[Win(1), Win(3)], 0, Loss(4)),
        (&[Win(1), Win(3)], 1, Open),
        (&[Win(1), Draw], 0, Draw),
        (&[Win(1), Draw], 2, Open),
        (&[Win(1), Open], 0, Open),
        (&[Draw, Loss(254), Draw], 0, Win(255)),
        (&[Win(255)], 0, Loss(255)),
    ] {
        let mut tree = Tree::new(1 << 20);
        assert!(tree.plant(&moves[..children.len() + untried]));
        tree.set_priors(0, &vec![0.1; children.len() + untried]);
        for &proof in children {
            let child = tree.add_child(0, &[]).unwrap();
            tree.node_mut(child).proof = proof;
        }
        assert_eq!(tree.prove(0), expected != Open);
        assert_eq!(tree.node(0).proof, expected, "{children:?}, {untried} untried");
    }
}
