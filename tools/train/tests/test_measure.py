"""`measure` and `report` on cases small enough to know every figure beforehand."""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

import chess
import numpy as np
import pytest
import torch
from torch import nn

from fianchetto_train import __main__, held_out, measure, networks, puzzles, report
from fianchetto_train.model import Model
from fianchetto_train.checkpoint import RunError
from fianchetto_train.shards import LAYOUTS, DataError, Shard

CPU = torch.device("cpu")
WEIGHTS = Path(__file__).resolve().parents[3] / "weights" / "second-64x6.safetensors"


class Fake(nn.Module):
    """Answers positions (FEN without counters) with known moves, and others with the lowest legal index."""

    def __init__(self, answers: dict[str, str]):
        super().__init__()
        self.answers = {}
        for fen, uci in answers.items():
            move = chess.Move.from_uci(uci)
            black = " b " in fen
            flip = 56 if black else 0
            self.answers[self.key(self.board_planes(chess.Board(fen + " 0 1"), black))] = (
                (move.from_square ^ flip) * 64 + (move.to_square ^ flip)
            )

    @staticmethod
    def board_planes(board: chess.Board, black: bool) -> np.ndarray:
        """The twelve planes of pieces, ours first, ranks counted from our side."""
        planes = np.zeros((12, 8, 8))
        for square, piece in board.piece_map().items():
            theirs = piece.color == black
            rank = square // 8
            planes[6 * theirs + piece.piece_type - 1, 7 - rank if black else rank, square % 8] = 1
        return planes

    @staticmethod
    def key(planes: np.ndarray) -> bytes:
        return np.asarray(planes, bool).tobytes()

    def forward(self, planes):
        logits = torch.arange(4096, 0, -1).float().repeat(len(planes), 1) / 4096
        for row, position in enumerate(planes.numpy()):
            if (index := self.answers.get(self.key(position[:12]))) is not None:
                logits[row, index] = 9
            # The strongest logit of all is that of an illegal move: it may not matter.
            logits[row, 0] = 99
        return logits, torch.zeros(len(planes))


def puzzle(name: str, fen: str, moves: str, rating: int = 1500, themes: str = "") -> puzzles.Puzzle:
    return puzzles.Puzzle(name, fen, tuple(moves.split()), rating, frozenset(themes.split()))


def solve(cases: list[puzzles.Puzzle], answers: dict[str, str], batch: int = 3) -> list[puzzles.Outcome]:
    return puzzles.solve(Model("residual", Fake(answers)), cases, CPU, batch)


# Two rooks against a king in the corner: Ra8 and Rb8 both mate.
TWO_MATES = ("6k1/5ppp/8/8/8/8/7P/RR4K1 b - - 0 1", "h7h6 a1a8", "6k1/5pp1/7p/8/8/8/7P/RR4K1 w - -")
TWO_MATES_NO_AIR = ("6k1/4pppp/8/8/8/8/7P/RR4K1 b - - 0 1", "e7e6 a1a8", "6k1/5ppp/4p3/8/8/8/7P/RR4K1 w - -")


def test_any_mate_counts_where_the_last_move_mates():
    fen, moves, after = TWO_MATES_NO_AIR
    case = puzzle("m", fen, moves, themes="mate mateIn1")
    assert solve([case], {after: "b1b8"})[0].right == [True]
    assert solve([case], {after: "b1b7"})[0].right == [False]


def test_another_move_does_not_count_where_the_last_move_does_not_mate():
    fen, moves, after = TWO_MATES  # the king has h7: both rooks only give check
    assert solve([puzzle("n", fen, moves)], {after: "b1b8"})[0].right == [False]
    assert solve([puzzle("n", fen, moves)], {after: "a1a8"})[0].right == [True]


def test_a_mate_does_not_count_where_the_file_has_none():
    fen, _, after = TWO_MATES_NO_AIR
    assert solve([puzzle("w", fen, "e7e6 h2h3")], {after: "a1a8"})[0].right == [False]


def test_a_mate_does_not_count_before_the_last_move():
    # The line delays: at its first move Ra8 would mate at once.
    fen, _, after = TWO_MATES_NO_AIR
    case = puzzle("d", fen, "e7e6 b1b7 e6e5 a1a8")
    last = "6k1/1R3ppp/8/4p3/8/8/7P/R5K1 w - -"
    assert solve([case], {after: "a1a8", last: "a1a8"})[0].right == [False, True]


def test_the_line_goes_on_after_an_error():
    fen, moves = chess.STARTING_FEN, "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6"
    answers = {
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -": "e7e5",
        "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq -": "d7d6",
        "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq -": "a7a6",
    }
    for batch in (1, 2, 64):
        outcome = solve([puzzle("l", fen, moves)], answers, batch)[0]
        assert outcome.right == [True, False, True]
        assert outcome.first and not outcome.whole
        assert outcome.kind == "quiet" and outcome.legal == 20


def test_black_to_move_mates():
    case = puzzle("b", chess.STARTING_FEN, "f2f3 e7e5 g2g4 d8h4", themes="mate mateIn2")
    answers = {
        "rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR b KQkq -": "e7e5",
        "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq -": "d8h4",
    }
    assert solve([case], answers)[0].right == [True, True]


def test_an_under_promotion_is_failed_and_counted_apart():
    under = puzzle("u", "8/2P1k3/8/8/8/8/8/K7 b - - 0 1", "e7d6 c7c8n", themes="underPromotion")
    queen = puzzle("q", under.fen, "e7d6 c7c8q")
    after = "8/2P5/3k4/8/8/8/8/K7 w - -"
    outcomes = solve([under, queen], {after: "c7c8q"})
    assert [o.right for o in outcomes] == [[False], [True]]
    assert [p.under_promotion for p in (under, queen)] == [True, False]
    assert puzzles.summary(outcomes)["under_promotion"] == {"count": 1, "whole_line": 0.0}


def test_only_the_solvers_under_promotion_counts():
    assert not puzzle("o", "8/2P1k3/8/8/8/8/8/K7 b - - 0 1", "c7c8n e7d6").under_promotion


def test_summary():
    mate_fen, mate_moves, mate_after = TWO_MATES_NO_AIR
    capture = puzzle("c", "4k3/8/8/3p4/8/8/8/3RK3 b - - 0 1", "e8e7 d1d5", rating=1199)
    quiet = puzzle("l", chess.STARTING_FEN, "e2e4 e7e5 g1f3 b8c6", rating=2400)
    en_passant = puzzle("e", "4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1", "d7d5 e5d6", rating=1200)
    mate = puzzle("m", mate_fen, mate_moves, rating=800, themes="mateIn1")
    answers = {
        mate_after: "a1a8",
        "8/4k3/8/3p4/8/8/8/3RK3 w - -": "d1d2",
        "4k3/8/8/3pP3/8/8/8/4K3 w - d6": "e5d6",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -": "e7e5",
        "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq -": "d7d6",
    }
    figures = puzzles.summary(solve([capture, quiet, en_passant, mate], answers))
    assert figures["count"] == 4
    assert figures["first_move"] == 0.75
    assert figures["whole_line"] == 0.5
    assert figures["mate_in_one"] == {"count": 1, "found": 1.0}
    assert figures["length"][1] == {"count": 3, "moves": [2 / 3], "whole_line": 2 / 3}
    assert figures["length"][2] == {"count": 1, "moves": [1.0, 0.0], "whole_line": 0.0}
    assert figures["length"][3] == {"count": 0, "moves": [], "whole_line": None}
    assert figures["kind"]["capture"]["<1200"] == {"count": 1, "first_move": 0.0}
    assert figures["kind"]["capture"]["1200-1599"] == {"count": 1, "first_move": 1.0}
    assert figures["kind"]["check"]["<1200"] == {"count": 1, "first_move": 1.0}
    assert figures["kind"]["quiet"]["2400+"] == {"count": 1, "first_move": 1.0}
    # Counted on the board, in the order of the puzzles above.
    assert figures["random_first_move"] == pytest.approx((1 / 11 + 1 / 20 + 1 / 7 + 1 / 24) / 4)
    assert figures["legal_moves"] == (11 + 20 + 7 + 24) / 4
    lines = [line.split() for line in measure.puzzle_tables(figures).splitlines()]
    assert ["first", "move", "4", "75.0"] in lines
    assert ["2", "1", "100.0", "0.0", "0.0"] in lines
    assert ["capture", "0.0", "100.0", "-", "-", "-"] in lines


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("PuzzleId,FEN,Moves,Rating,RatingDeviation,Themes\n" + "\n".join(lines) + "\n")
    return path


def test_reading_draws_by_cell(tmp_path):
    line = lambda name, rating, moves: f"{name},{chess.STARTING_FEN},{moves},{rating},80,short"  # noqa: E731
    short, long, six = "e2e4 e7e5", "e2e4 e7e5 g1f3 b8c6", "e2e4 e7e5 " * 6
    lines = [line(f"a{n}", 1199, short) for n in range(50)] + [line(f"b{n}", 1200, short) for n in range(3)]
    lines += [line("c", 1200, long), line("d", 2400, short), line("e", 1500, six.strip())]
    path = write(tmp_path / "p.csv", lines)
    drawn = [p.id for p in puzzles.read(path, 5)]
    assert [name[0] for name in drawn] == ["a"] * 5 + ["b"] * 3 + ["d", "c"]
    assert drawn == [p.id for p in puzzles.read(path, 5)]
    assert len(set(drawn)) == len(drawn) and drawn[:5] != [f"a{n}" for n in range(5)]
    assert [p.id for p in puzzles.read(path, 1000)][:50] == [f"a{n}" for n in range(50)]
    if subprocess.run(["zstd", "-q", path]).returncode == 0:
        assert [p.id for p in puzzles.read(tmp_path / "p.csv.zst", 5)] == drawn


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,FEN,e2e4,1500,80,short", "1 moves"),
        ("x,FEN,e2e4 e7e5,high,80,short", "rating 'high'"),
        ("x,FEN", "too few columns"),
        ("x,FEN,e2e4 e7e5 e7e5 e7e5 e7e5 e7e5 a2a3 a2a3 a2a3 a2a3 a2a3 a2a3,1500,80,short", "no puzzle"),
    ],
)
def test_bad_puzzle_files(tmp_path, line, message):
    with pytest.raises(DataError, match=message):
        puzzles.read(write(tmp_path / "p.csv", [line]), 10)


def test_a_puzzle_file_that_is_no_text(tmp_path):
    (tmp_path / "p.csv").write_bytes(b"PuzzleId,FEN,Moves,Rating,Themes\n\x80\x81,\x00\n")
    with pytest.raises(DataError, match="no text in columns"):
        puzzles.read(tmp_path / "p.csv", 10)


def test_bad_puzzles():
    for fen, moves in (("nonsense", "e2e4 e7e5"), (chess.STARTING_FEN, "e2e4 e7e4"), (chess.STARTING_FEN, "e2e4 x")):
        with pytest.raises(DataError, match="puzzle x"):
            solve([puzzle("x", fen, moves)], {})


RECORD = np.dtype([
    ("game", "<u8"), ("legal_start", "<u4"), ("legal_count", "<u2"), ("played", "<u2"), ("ply", "<u2"),
    ("result", "i1"), ("band", "u1", 2), ("squares", "u1", (13, 8)), ("constants", "u1", 6),
])  # fmt: skip
SQUARES = [*range(12), 16]


def shard(cases: list[tuple[str, str, int, int, int]]) -> Shard:
    """Records of (FEN, move played, ply, result, rating band of the mover)."""
    records, legal = np.zeros(len(cases), RECORD), []
    for record, (fen, played, ply, result, band) in zip(records, cases):
        board = chess.Board(fen)
        flip = 0 if board.turn else 56
        index = lambda move: (move.from_square ^ flip) * 64 + (move.to_square ^ flip)  # noqa: B023, E731
        indices = sorted({index(move) for move in board.legal_moves})
        planes = Fake.board_planes(board, not board.turn).astype(np.uint8)
        record["squares"][:12] = np.packbits(planes, axis=-1, bitorder="little")[..., 0]
        record["legal_start"], record["legal_count"] = len(legal), len(indices)
        record["played"] = index(chess.Move.from_uci(played))
        record["ply"], record["result"], record["band"] = ply, result, (band, 30)
        legal += indices
    return Shard(records, np.array(legal, np.uint16))


E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
ROOKS = "r2rk3/pppp4/8/8/8/8/PPPP4/R2RK3 w - - 0 1"  # four pieces besides kings and pawns
SEVEN = "r2rk1nn/pppp4/8/8/8/8/PPPP4/R2RK1N1 w - - 0 1"


def test_held_out_figures():
    cases = [
        (chess.STARTING_FEN, "e2e4", 0, 1, 19),
        (E4, "c7c5", 1, -1, 20),
        (ROOKS, "a1c1", 40, 0, 26),
        (SEVEN, "a1c1", 40, 1, 0),
    ]
    answers = {"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -": "e2e4", E4[:-4]: "e7e5"}
    data = shard(cases)
    for batch in (1, 3, 8):
        found = held_out.ask(Model("residual", Fake(answers)), LAYOUTS["canonical19"], data, CPU, batch)
        figures = held_out.summary(found, data.records)
        # e2e4 has 9, Black's e7e5 has 9 before its c7c5, both rooks' a1b1 (index 1) comes before a1c1 (2).
        assert found.rank[[0, 2, 3]].tolist() == [0, 1, 1]
        assert found.rank[1] == 1 + sum(i < data.records["played"][1] for i in data.legal[20:40] if i != 12 * 64 + 28)
        others = [math.exp(1 - i / 4096 - 9) for i in data.legal[:20] if i != 12 * 64 + 28]
        assert found.policy[0] == pytest.approx(math.log1p(sum(others)), rel=1e-3)
        assert found.value.tolist() == [1, 1, 0, 1]
        assert figures["all"]["count"] == 4 and figures["all"]["top1"] == 0.25 and figures["all"]["value"] == 0.75
        assert {k: v["count"] for k, v in figures["rating"].items()} == {
            "unknown": 1, "<2000": 1, "2000-2199": 1, "2600+": 1
        }  # fmt: skip
        assert figures["rating"]["<2000"]["top1"] == 1.0 and figures["rating"]["2600+"]["top3"] == 1.0
        assert {k: v["count"] for k, v in figures["phase"].items()} == {"opening": 2, "middlegame": 1, "endgame": 1}
    assert "mover 2000-2199         1" in measure.held_out_table(figures)


def test_whether_the_pairs_first_choice_is_legal():
    class Pair(nn.Module):
        """Wants to move from the mover's e2 to e4, wherever it is."""

        def forward(self, planes):
            squares = torch.eye(64)[[12, 28]]
            return tuple(square.repeat(len(planes), 1) for square in squares)

    # White's e-pawn may go, Black's, seen from its own side, too; in the third there is no piece, in the fourth it is the other's, in
    # the fifth it is in the way of a bishop.
    cases = [
        (chess.STARTING_FEN, "e2e4", 0, 1, 0),
        (E4, "c7c5", 1, -1, 0),
        (ROOKS, "a1c1", 40, 0, 0),
        ("4k3/8/8/8/8/8/4p3/R6K w - - 0 1", "a1a2", 40, 0, 0),
        ("4k3/8/8/8/8/4b3/4P3/R6K w - - 0 1", "a1a2", 40, 0, 0),
    ]
    data = shard(cases)
    found = held_out.ask(Model("from-to", Pair()), LAYOUTS["canonical12"], data, CPU, 3)
    assert found.own.tolist() == [1, 1, 0, 0, 1]
    assert found.legal.tolist() == [1, 1, 0, 0, 0]
    figures = held_out.summary(found, data.records)
    assert figures["phase"]["opening"]["legal"] == 1.0 and figures["phase"]["endgame"]["own"] == pytest.approx(1 / 3)
    line = measure.held_out_table(figures).splitlines()[1]
    assert line.split()[-2:] == ["60.0", "40.0"]


def test_bands_and_phases_at_their_edges():
    hundreds = [0, 1, 19, 20, 21, 22, 23, 24, 25, 26, 255]
    data = shard([(ROOKS, "a1c1", 40, 0, band) for band in hundreds])
    members = held_out.by_rating(data.records)
    assert np.sum(list(members.values()), axis=0).tolist() == [1] * len(hundreds)
    found = [next(name for name, chosen in members.items() if chosen[i]) for i in range(len(hundreds))]
    assert found == ["unknown", "<2000", "<2000"] + ["2000-2199"] * 2 + ["2200-2399"] * 2 + ["2400-2599"] * 2 + ["2600+"] * 2
    six = "r2rk1n1/pppp4/8/8/8/8/PPPP4/R2RK1N1 w - - 0 1"
    phases = held_out.by_phase(shard([(six, "a1c1", 19, 0, 0), (six, "a1c1", 20, 0, 0), (SEVEN, "a1c1", 20, 0, 0)]).records)
    assert {name: chosen.tolist() for name, chosen in phases.items()} == {
        "opening": [True, False, False], "endgame": [False, True, False], "middlegame": [False, False, True]
    }  # fmt: skip


def test_values_are_the_movers_whatever_the_family():
    class ForWhite(nn.Module):
        def forward(self, planes):
            return torch.zeros(len(planes), 4544), torch.full((len(planes),), 0.5)

    planes = torch.zeros(2, 14, 8, 8)
    planes[0, 12] = 1
    planes[1, 13] = 1
    assert Model("sigma-go", ForWhite()).evaluate(planes)[1].tolist() == [0.5, -0.5]


def test_the_pair_prefers_by_both_squares():
    class Pair(nn.Module):
        def forward(self, planes):
            origin, target = torch.zeros(1, 64), torch.zeros(1, 64)
            origin[0, 6], target[0, 21], target[0, 28] = 2.0, 1.0, 1.5
            return origin, target

    logits, values = Model("from-to", Pair()).evaluate(torch.zeros(1, 12, 8, 8))
    assert values is None
    assert logits[0, [6 * 64 + 21, 12 * 64 + 28, 6 * 64 + 28]].tolist() == [3.0, 1.5, 3.5]


def test_numbers_that_are_not_finite_are_refused():
    network = networks.build("residual", {"channels": 4, "blocks": 1}).eval()
    nn.init.constant_(network.policy_fc.bias, math.nan)
    with pytest.raises(RunError, match="not finite"):
        Model("residual", network).evaluate(torch.zeros(1, 19, 8, 8))


SMALL = {
    "residual": {"channels": 4, "blocks": 1, "recurrence": 2, "gated": True, "se": True},
    "sigma-go": {"channels": 4, "blocks": 1},
    "from-to": {"filters": 4, "hidden": 8},
}


@pytest.mark.parametrize("family", SMALL)
def test_networks_are_read_as_they_were_written(tmp_path, family):
    torch.manual_seed(1)
    network = networks.build(family, SMALL[family])
    planes = torch.rand(8, network.config.input_planes, 8, 8)
    network(planes)  # moves BatchNorm's running statistics
    network.eval()
    torch.save(networks.checkpoint(network), tmp_path / "network.pt")
    model = Model.load(tmp_path / "network.pt", CPU)
    assert model.family == family
    with torch.inference_mode():
        for ours, theirs in zip(model.network(planes), network(planes), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_the_projects_weights_file():
    """Its card (weights/second-64x6.md) and the program: 9,020,001 parameters, opens with e4."""
    model = Model.load(WEIGHTS, CPU)
    assert sum(p.numel() for p in model.network.parameters()) == 9_020_001
    board = chess.Board()
    asked = puzzles.question(board, chess.Move.from_uci("e2e4"), puzzles.encoder("canonical19"))
    assert puzzles.choose(model, [asked], CPU) == ["e2e4"]


def test_bad_networks(tmp_path):
    path = tmp_path / "network.pt"
    good = networks.checkpoint(networks.build("from-to", SMALL["from-to"]))
    cases = [
        ({"training_network": {}}, "give the network.pt"),
        ({"network": {}}, "no network_config"),
        ({"network_config": {}, "network": {}}, "no family"),
        ({**good, "network_config": {"filters": 5, "hidden": 8}}, r"has shape \[4, 12, 2, 2\], expected \[5, 12, 2, 2\]"),
        ({**good, "network_config": {"width": 5}}, "no size named width"),
        ({**good, "network_config": {"filters": -5}}, "make no from-to network"),
        ({**good, "network": {k: v for k, v in good["network"].items() if k != "target.fc3.bias"}}, "target.fc3.bias is missing"),
        ({**good, "network": {**good["network"], "more": torch.zeros(1)}}, "more is not expected"),
    ]
    for content, message in cases:
        torch.save(content, path)
        with pytest.raises(RunError, match=message):
            Model.load(path, CPU)
    path.write_bytes(b"nothing")
    with pytest.raises(RunError, match="cannot be read"):
        Model.load(path, CPU)
    with pytest.raises(RunError, match="is not there"):
        Model.load(tmp_path / "absent.safetensors", CPU)


def test_mcnemar():
    """The exact binomial tail: 1 of 9 on one side gives 2 * (1 + 9) / 512; equal sides give 1."""
    first = np.array([True] * 8 + [False] + [True, False])
    second = np.array([False] * 8 + [True] + [True, False])
    test = measure.mcnemar(first, second)
    assert (test["count"], test["only_first"], test["only_second"]) == (11, 8, 1)
    assert test["p"] == pytest.approx(20 / 512)
    assert measure.mcnemar(first, first)["p"] == 1.0
    assert measure.mcnemar(np.array([True, False]), np.array([False, True]))["p"] == 1.0
    # 9,000 to 10,000: the normal approximation gives 3.96e-13, its error is far below a tenth.
    many = measure.mcnemar(np.repeat([True, False], [9000, 10000]), np.repeat([False, True], [9000, 10000]))
    assert many["p"] == pytest.approx(math.erfc(999 / math.sqrt(19000) / math.sqrt(2)), rel=0.05)


def main(monkeypatch, *arguments) -> int:
    """Runs the command line."""
    monkeypatch.setattr(sys, "argv", ["fianchetto_train", *map(str, arguments)])
    return __main__.main()


def test_the_verb(tmp_path, monkeypatch, capsys):
    torch.manual_seed(2)
    torch.save(networks.checkpoint(networks.build("residual", SMALL["residual"])), tmp_path / "network.pt")
    folder = tmp_path / "held"
    folder.mkdir()
    data = shard([(chess.STARTING_FEN, "e2e4", 0, 1, 19), (E4, "c7c5", 1, -1, 20)])
    with open(folder / "shard-00000.npy", "wb") as file:
        np.save(file, data.records)
        np.save(file, data.legal)
    manifest = {"encoding": "canonical19", "square_planes": SQUARES, "constant_planes": [12, 13, 14, 15, 17, 18]}
    manifest |= {"positions": 2, "positions_per_shard": 10, "shards": 1}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    lines = [f"m,{TWO_MATES_NO_AIR[0]},{TWO_MATES_NO_AIR[1]},900,80,mateIn1"]
    csv = write(tmp_path / "p.csv", lines)
    network, out = tmp_path / "network.pt", tmp_path / "figures.json"
    rooms = ["--held-out", folder, "--puzzles", csv, "--device", "cpu"]
    assert main(monkeypatch, "measure", network, "--against", network, *rooms, "--json", out) == 0
    printed = capsys.readouterr().out
    figures = json.loads(out.read_text())
    assert figures["held_out"]["all"]["count"] == 2 and figures["puzzles"]["mate_in_one"]["count"] == 1
    assert figures["against"]["puzzles"] == figures["puzzles"]
    assert {test["p"] for test in figures["mcnemar"].values()} == {1.0}
    assert "McNemar's test" in printed and "value error" in printed


def log(folder: Path, lines: list[str]) -> Path:
    folder.mkdir()
    header = "kind,positions,seconds,lr,loss,policy,value,origin,target,top1,top3,origin_top1,target_top1,gradient"
    (folder / "log.csv").write_text("\n".join([header, *lines]) + "\n")
    return folder


def test_report(tmp_path):
    first = log(tmp_path / "first", [
        "training,1000,60,0.001,4.2,3.4,0.8,,,0.07,0.18,,,4.4",
        "held-out,1000,60.0,,,3.1,0.75,,,0.11,0.2,,,",
        "held-out,9000,540.0,,,2.5,0.7,,,0.255,0.45,,,",
    ])  # fmt: skip
    second = log(tmp_path / "second", ["held-out,5000,120.0,,,,,3.0,3.1,0.2,0.4,0.3,0.3,"])
    arguments = argparse.Namespace(runs=[first, second], out=tmp_path / "report", published=False)
    assert report.run(arguments) == 0
    lines = (tmp_path / "report" / "runs.txt").read_text().splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["first", "9,000", "9", "25.5", "25.5", "45.0", "2.500", "0.700"],
        ["second", "5,000", "2", "20.0", "20.0", "40.0", "-", "-"],
    ]
    own = (tmp_path / "report" / "runs.png").read_bytes()
    assert own.startswith(b"\x89PNG")
    arguments.published = True
    assert report.run(arguments) == 0
    assert (tmp_path / "report" / "runs.png").read_bytes() != own
    marks = (tmp_path / "report" / "runs.txt").read_text().splitlines()[3:]
    assert "400,581,531" in marks[0] and "51.7" in marks[0] and "2,340,000" in marks[1] and "37.9" in marks[1]


def test_report_of_what_is_no_run(tmp_path):
    for folder, message in (
        (tmp_path / "absent", "is not there"),
        (log(tmp_path / "young", ["training,1000,60,0.001,4.2,3.4,0.8,,,0.07,0.18,,,4.4"]), "no whole line of kind held-out"),
        (log(tmp_path / "broken", ["held-out,many,60.0,,,3.1,0.75,,,0.11,0.2,,,"]), "cannot be read"),
    ):
        with pytest.raises(RunError, match=message):
            report.run(argparse.Namespace(runs=[folder], out=tmp_path / "report", published=False))
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to measure on"),
        (["--puzzles", "absent.csv"], "absent.csv"),
        (["--puzzles", "absent.csv", "--per-cell", "0"], "--per-cell is 0"),
        (["--held-out", "absent"], "is no folder"),
    ],
)
def test_what_cannot_be_measured(arguments, message, monkeypatch, capsys):
    assert main(monkeypatch, "measure", "network.pt", *arguments) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
