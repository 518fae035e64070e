//! From a player's report to the lines that a chess program shows.

use crate::chess::{Board, notation};
use crate::search::{Choice, Line, Report, Score};
use std::fmt::Write;
use std::time::Duration;

/// The `info` lines of a report on the position `board`, `elapsed` after the search began: one for
/// each of the best `multi_pv` candidate moves, then the remark, if any, and what else there is to say of
/// those moves.
pub fn lines(report: &Report, board: &Board, elapsed: Duration, multi_pv: u32) -> Vec<String> {
    let Report { depth, nodes, .. } = report;
    let time = elapsed.as_millis();
    let nps = u128::from(*nodes) * 1_000_000 / elapsed.as_micros().max(1);
    let mut lines: Vec<_> = (1..=multi_pv)
        .zip(&report.lines)
        .map(|(rank, line)| {
            let seldepth = line.moves.len().max(*depth as usize);
            let multipv = if multi_pv > 1 { format!(" multipv {rank}") } else { String::new() };
            let score = line.score.map_or(String::new(), score);
            let pv = moves(board, line);
            format!(
                "info depth {depth} seldepth {seldepth}{multipv}{score} nodes {nodes} \
                 nps {nps} time {time} pv{pv}"
            )
        })
        .collect();
    if lines.is_empty() {
        lines.push(format!("info depth {depth} nodes {nodes} nps {nps} time {time}"));
    }
    lines.extend(report.remark.as_deref().map(string));
    lines.extend(
        report.lines.iter().take(multi_pv as usize).filter_map(|line| figures(line, board)),
    );
    lines.extend((multi_pv > 1).then(|| shares(report, board, multi_pv)).flatten());
    lines
}

/// What share of the player's belief each of the best candidates has, where the player knows.
fn shares(report: &Report, board: &Board, multi_pv: u32) -> Option<String> {
    let share = |line: &Line| {
        let (mv, probability) = (*line.moves.first()?, line.probability?);
        Some(format!("{} {:.1}%", notation::to_uci(board, mv), 100.0 * probability))
    };
    let shares: Option<Vec<_>> = report.lines.iter().take(multi_pv as usize).map(share).collect();
    shares.filter(|shares| !shares.is_empty()).map(|shares| string(&shares.join(", ")))
}

/// What else the player counts of a candidate.
fn figures(line: &Line, board: &Board) -> Option<String> {
    let mv = notation::to_uci(board, *line.moves.first()?);
    let figures: Vec<_> =
        line.figures.iter().map(|(name, figure)| format!("{name} {figure}")).collect();
    (!figures.is_empty()).then(|| string(&format!("{mv}: {}", figures.join(", "))))
}

/// An `info string` line; control characters become blanks.
pub fn string(text: &str) -> String {
    format!("info string {}", text.replace(char::is_control, " "))
}

/// The `bestmove` line for a choice on the position `board`. `0000`, UCI's null move, says that
/// there is none; a `ponder` move that is not legal after the best one is left out.
pub fn best_move(board: &Board, choice: Choice) -> String {
    let Some(best) = choice.best else {
        return "bestmove 0000".into();
    };
    let mut line = format!("bestmove {}", notation::to_uci(board, best));
    let mut after = board.clone();
    after.play_unchecked(best);
    if let Some(ponder) = choice.ponder.filter(|&mv| after.is_legal(mv)) {
        let _ = write!(line, " ponder {}", notation::to_uci(&after, ponder));
    }
    line
}

/// A score as UCI writes it, a blank before it.
fn score(score: Score) -> String {
    match score {
        Score::Centipawns(value) => format!(" score cp {value}"),
        Score::Mate(moves) => format!(" score mate {moves}"),
    }
}

/// The moves of a line, a blank before each, as far as they are legal.
fn moves(board: &Board, line: &Line) -> String {
    let mut board = board.clone();
    let mut text = String::new();
    for &mv in line.moves.iter() {
        if !board.is_legal(mv) {
            break;
        }
        text.push(' ');
        text.push_str(&notation::to_uci(&board, mv));
        board.play_unchecked(mv);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::{Game, Move};

    /// The position of `fen` and the moves played from there.
    fn line(fen: &str, uci: &str) -> (Board, Vec<Move>) {
        let (mut game, _) = Game::from_fen(fen).unwrap();
        let board = game.board().clone();
        let moves = uci.split_whitespace().map(|mv| game.play_uci(mv).unwrap()).collect();
        (board, moves)
    }

    fn report(lines: Vec<(Vec<Move>, Score)>) -> Report {
        let lines = lines
            .into_iter()
            .map(|(moves, score)| Line { moves, score: Some(score), ..Line::default() })
            .collect();
        Report { depth: 2, nodes: 3000, lines, ..Report::default() }
    }

    const ELAPSED: Duration = Duration::from_millis(1500);

    #[test]
    fn one_line_without_multipv() {
        let (board, one) = line("startpos", "e2e4 e7e5 g1f3");
        let (_, two) = line("startpos", "d2d4");
        let mut report = report(vec![(one, Score::Centipawns(-31)), (two, Score::Centipawns(-40))]);
        let expected = "info depth 2 seldepth 3 score cp -31 nodes 3000 nps 2000 time 1500 \
                        pv e2e4 e7e5 g1f3";
        assert_eq!(lines(&report, &board, ELAPSED, 1), [expected]);
        report.remark = Some("policy 43.1%\nover 20 moves".into());
        let remark = "info string policy 43.1% over 20 moves";
        assert_eq!(lines(&report, &board, ELAPSED, 1), [expected, remark]);
    }

    #[test]
    fn numbered_lines_with_multipv_and_no_more_than_there_are() {
        let (board, one) = line("startpos", "e2e4");
        let (_, two) = line("startpos", "d2d4 d7d5");
        let report = report(vec![(one, Score::Mate(4)), (two, Score::Mate(-3))]);
        assert_eq!(
            lines(&report, &board, ELAPSED, 5),
            [
                "info depth 2 seldepth 2 multipv 1 score mate 4 nodes 3000 nps 2000 time 1500 \
                 pv e2e4",
                "info depth 2 seldepth 2 multipv 2 score mate -3 nodes 3000 nps 2000 time 1500 \
                 pv d2d4 d7d5",
            ]
        );
    }

    #[test]
    fn shares_with_multipv() {
        let (board, one) = line("startpos", "e2e4");
        let (_, two) = line("startpos", "d2d4");
        let mut report = report(vec![(one, Score::Centipawns(9)), (two, Score::Centipawns(9))]);
        for (line, probability) in report.lines.iter_mut().zip([0.5, 0.2468]) {
            line.probability = Some(probability);
        }
        let text = lines(&report, &board, ELAPSED, 3);
        assert_eq!(text.last().unwrap(), "info string e2e4 50.0%, d2d4 24.7%");
        assert_eq!(lines(&report, &board, ELAPSED, 1).len(), 1);
    }

    #[test]
    fn figures_of_the_moves_shown_and_no_score_where_there_is_none() {
        let (board, one) = line("startpos", "e2e4");
        let (_, two) = line("startpos", "d2d4");
        let mut report = report(vec![(one, Score::Mate(1)), (two, Score::Mate(1))]);
        for line in &mut report.lines {
            line.score = None;
            line.figures = vec![("from rank", 3.0), ("prediction", 1.737)];
        }
        let expected = [
            "info depth 2 seldepth 2 nodes 3000 nps 2000 time 1500 pv e2e4",
            "info string e2e4: from rank 3, prediction 1.737",
        ];
        assert_eq!(lines(&report, &board, ELAPSED, 1), expected);
        assert_eq!(lines(&report, &board, ELAPSED, 2).len(), 4);
    }

    #[test]
    fn castling_is_written_as_the_kings_move_and_nothing_illegal_is_written() {
        let (board, mut moves) = line("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 4 1", "e1g1 e8c8");
        moves.push(moves[0]);
        let text = lines(&report(vec![(moves, Score::Centipawns(0))]), &board, ELAPSED, 1);
        assert!(text[0].ends_with(" pv e1g1 e8c8"), "{}", text[0]);
    }

    #[test]
    fn no_time_and_no_lines_are_no_trouble() {
        let text = lines(&report(vec![]), &Board::default(), Duration::ZERO, 1);
        assert_eq!(text, ["info depth 2 nodes 3000 nps 3000000000 time 0"]);
    }

    #[test]
    fn best_moves() {
        let (board, moves) = line("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 4 1", "e1c1 e8g8");
        let choice = |best, ponder| best_move(&board, Choice { best, ponder });
        assert_eq!(choice(None, None), "bestmove 0000");
        assert_eq!(choice(Some(moves[0]), None), "bestmove e1c1");
        assert_eq!(choice(Some(moves[0]), Some(moves[1])), "bestmove e1c1 ponder e8g8");
        assert_eq!(choice(Some(moves[0]), Some(moves[0])), "bestmove e1c1");
    }
}
