"""Makes tests/data/playouts.tsv: whole tree searches, done slowly in float64 over python-chess.

    python playouts.py > ../data/playouts.tsv

The network is a hash of the planes (the tests have the same). A case is kept only if no choice in it hung on less
than the rounding of float32.
"""

import math
import random

import canonical19
import chess
import numpy as np

HEAD = (
    "# FEN\tmoves\tplayouts\tbatch\tc_puct\tfpu\treduction\tvirtual loss\t"
    "root: visits,value,proof\tvisits of the moves tried, in UCI order"
)
PRIME, BASE, MASK = 0x100000001B3, 0xCBF29CE484222325, (1 << 64) - 1
MARGIN = 1e-5


class Undecided(Exception):
    """A choice hung on less than rounding."""


def step(code: int, bits: int) -> int:
    return (code ^ bits) * PRIME & MASK


def unit(code: int) -> float:
    return (code >> 40) / (1 << 24)


def rounded(prior: float) -> float:
    """A prior as the tree stores it: eleven bits of mantissa, at least 2^-31."""
    prior = max(float(np.float32(prior)), 2.0**-31)
    mantissa, exponent = math.frexp(prior)
    return math.ldexp(math.floor(mantissa * 4096 + 0.5), exponent - 12)


def evaluate(board: chess.Board) -> tuple[float, list[tuple[chess.Move, float]]]:
    """The value for the side to move, and the moves with their priors, most probable first."""
    code = BASE
    for bits in canonical19.planes(board).ravel().view(np.uint32).tolist():
        code = step(code, bits)
    logits = {}
    for move in board.legal_moves:
        if move.promotion in (None, chess.QUEEN):
            place = (canonical19.index(board, move) * 2477 + (code >> 40)) % 4096
            logits[move] = float(np.float32(place) / np.float32(1365))
        else:
            logits[move] = -math.inf
    most = max(logits.values())
    shares = {move: math.exp(logit - most) for move, logit in logits.items()}
    total = sum(shares.values())
    priors = [(move, rounded(share / total)) for move, share in shares.items()]
    return 2 * unit(step(code, 1)) - 1, sorted(priors, key=lambda pair: -pair[1])


class Node:
    def __init__(self, prior: float = 1.0):
        self.prior = prior
        self.visits = 0
        self.sum = 0.0
        self.in_flight = 0
        # For the side to move: ("win", plies), ("loss", plies) or ("draw", 0).
        self.proof = None
        self.moves: list[tuple[chess.Move, float]] = []
        self.children: dict[chess.Move, Node] = {}

    def value(self) -> float:
        if self.proof:
            return {"win": 1.0, "loss": -1.0, "draw": 0.0}[self.proof[0]]
        return self.sum / self.visits


class Search:
    def __init__(self, board: chess.Board, c_puct: float, fpu: str, reduction: float, virtual_loss: float):
        self.board = board
        self.c_puct, self.fpu, self.reduction, self.virtual_loss = c_puct, fpu, reduction, virtual_loss
        self.root = Node()
        if self.mates(self.root):
            self.root.sum = 1.0
        else:
            self.expand(self.root)
        self.root.visits = 1

    def mates(self, node: Node) -> bool:
        """Whether a move mates here; then it has a node and this one is proven."""
        for move in self.board.legal_moves:
            self.board.push(move)
            mates = self.board.is_checkmate()
            self.board.pop()
            if mates:
                child = node.children[move] = Node(0.0)
                child.visits, child.sum, child.proof = 1, -1.0, ("loss", 0)
                node.proof = ("win", 1)
                return True
        return False

    def expand(self, node: Node) -> None:
        node.sum, node.moves = evaluate(self.board)

    def select(self, node: Node) -> chess.Move:
        parent = math.sqrt(node.visits + node.in_flight)
        seen = sum(child.prior for child in node.children.values())
        scored, first = [], None
        for move, prior in node.moves:
            if child := node.children.get(move):
                if child.proof and child.proof[0] == "win":
                    continue
                count = child.visits + child.in_flight
                if child.proof:
                    value = -child.value()
                else:
                    value = (-child.sum - self.virtual_loss * child.in_flight) / count
            elif first is None:
                first, count = prior, 0
                value = 0.0 if self.fpu == "zero" else node.value() - self.reduction * math.sqrt(seen)
            else:
                assert prior < first or move.promotion
                continue
            scored.append((value + self.c_puct * prior * parent / (1 + count), move))
        scored.sort(key=lambda pair: -pair[0])
        if len(scored) > 1 and scored[0][0] - scored[1][0] < MARGIN:
            raise Undecided
        return scored[0][1]

    def ended(self) -> tuple[str, int] | None:
        board = self.board
        if not any(board.legal_moves):
            return ("loss", 0) if board.is_check() else ("draw", 0)
        if board.is_insufficient_material() or board.halfmove_clock >= 100 or board.is_repetition(3):
            return ("draw", 0)
        return None

    def descend(self) -> tuple[list[Node], float | None]:
        """The nodes from the root to a leaf, and the leaf's value for its side to move where it is known; the
        evaluation of a new node is held back in its `sum`."""
        path, depth = [self.root], 0
        value = None
        while True:
            node = path[-1]
            if node.proof:
                value = node.value()
                break
            if node.visits == 0:
                break  # Waits for the network.
            move = self.select(node)
            self.board.push(move)
            depth += 1
            is_new = move not in node.children
            if is_new:
                node.children[move] = Node(dict(node.moves)[move])
            child = node.children[move]
            path.append(child)
            if is_new:
                child.proof = self.ended()
                if child.proof or self.mates(child):
                    value = child.value()
                else:
                    self.expand(child)
                break
        for _ in range(depth):
            self.board.pop()
        for node in path:
            node.in_flight += 1
        return path, value

    def back_up(self, path: list[Node], value: float) -> None:
        for node in reversed(path):
            node.in_flight -= 1
            node.visits += 1
            node.sum += value
            value = -value
        for node in reversed(path[:-1]):
            if not (path[-1].proof and self.prove(node)):
                break

    def prove(self, node: Node) -> bool:
        proofs = [child.proof for child in node.children.values()]
        if losses := [proof[1] for proof in proofs if proof and proof[0] == "loss"]:
            node.proof = ("win", min(losses) + 1)
        elif None in proofs or len(proofs) < len(node.moves):
            return False
        elif any(proof[0] == "draw" for proof in proofs):
            node.proof = ("draw", 0)
        else:
            node.proof = ("loss", max(proof[1] for proof in proofs) + 1)
        return True

    def batch(self, size: int) -> int:
        done = collisions = 0
        waiting: list[tuple[list[Node], float | None]] = []
        while done < size and collisions < size and not self.root.proof:
            path, value = self.descend()
            leaf = path[-1]
            if value is not None:
                self.back_up(path, value)
                done += 1
            elif any(leaf is other[-1] for other, _ in waiting):
                waiting.append((path, None))
                collisions += 1
            else:
                waiting.append((path, leaf.sum))
                leaf.sum = 0.0
                done += 1
        for path, value in waiting:
            if value is None:
                for node in path:
                    node.in_flight -= 1
            else:
                self.back_up(path, value)
        return done


def line(fen: str, moves: str, playouts: int, batch: int, setting: tuple) -> str:
    board = chess.Board(fen)
    for move in moves.split():
        board.push_uci(move)
    search = Search(board, *setting)
    done = 0
    while done < playouts and not search.root.proof:
        done += search.batch(min(batch, playouts - done))
    root = search.root
    proof = "".join(map(str, root.proof)) if root.proof else "none"
    visits = sorted((move.uci(), child.visits) for move, child in root.children.items())
    visits = ";".join(f"{move}:{count}" for move, count in visits)
    fields = [fen, moves, playouts, batch, *setting, f"{root.visits},{root.sum / root.visits:.6f},{proof}", visits]
    return "\t".join(map(str, fields))


POSITIONS = [
    (chess.STARTING_FEN, ""),
    (chess.STARTING_FEN, "e2e4"),
    # One repetition more is a draw.
    (chess.STARTING_FEN, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1"),
    ("r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 0 7", ""),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", ""),
    # Hardly a choice: playouts run into each other.
    ("8/8/8/8/8/1p1k4/1P6/1K6 w - - 0 1", ""),
    # Fifty moves and bare kings are near.
    ("8/8/8/3k4/8/3K4/3R4/8 w - - 96 90", ""),
    ("8/8/8/8/3k4/8/3p4/3K4 w - - 0 1", ""),
    # Mates are near.
    ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", ""),
    ("5k2/R7/4K3/8/8/8/8/8 b - - 0 1", ""),
    ("6k1/8/6K1/8/8/8/8/6QR b - - 0 1", ""),
    ("7k/8/8/8/8/8/R7/1R4K1 w - - 0 1", ""),
]


def main():
    source = random.Random(1)
    print(HEAD)
    for fen, moves in POSITIONS:
        kept = 0
        while kept < 4:
            playouts, batch = source.choice([(50, 1), (200, 1), (100, 4), (200, 8), (150, 32)])
            setting = (
                source.choice([1.0, 1.5, 3.0]),
                source.choice(["zero", "parent"]),
                source.choice([0.0, 0.3]),
                source.choice([1.0, 0.5]),
            )
            try:
                print(line(fen, moves, playouts, batch, setting))
                kept += 1
            except Undecided:
                pass


if __name__ == "__main__":
    main()
