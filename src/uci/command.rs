//! From a line of text to a command. Nothing here acts, and nothing here knows chess.

use std::time::Duration;

/// What a chess program asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Say who you are.
    Uci,
    /// Say when you can start.
    IsReady,
    /// The next position is of another game.
    NewGame,
    /// Set up a position.
    Position {
        /// A FEN or `startpos`.
        fen: String,
        /// Moves from there, in UCI notation, unchecked.
        moves: Vec<String>,
    },
    /// Set an option.
    SetOption {
        /// Its name, words joined by one blank.
        name: String,
        /// Its value; empty when none is given.
        value: String,
    },
    /// Think.
    Go(Box<Go>),
    /// Stop thinking and say the move.
    Stop,
    /// The opponent played the move on which we ponder.
    PonderHit,
    /// End the program.
    Quit,
    /// Accepted, without effect: a blank line, `debug`, `register`.
    Nothing,
}

/// The parameters of `go`, as sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Go {
    /// Time left on the clocks, White first.
    pub time: [Option<Duration>; 2],
    /// Time added after each move, White first.
    pub increment: [Option<Duration>; 2],
    /// Moves until more time is added.
    pub moves_to_go: Option<u32>,
    /// Plies.
    pub depth: Option<u32>,
    /// Positions evaluated.
    pub nodes: Option<u64>,
    /// Look for a mate in so many moves.
    pub mate: Option<u32>,
    /// Time for this move.
    pub move_time: Option<Duration>,
    /// Say the move only when told to stop.
    pub infinite: bool,
    /// Think on the opponent's time.
    pub ponder: bool,
    /// The only moves to consider, in UCI notation, unchecked.
    pub search_moves: Vec<String>,
    /// What could not be understood and is left out, in words.
    pub remarks: Vec<String>,
}

/// Reads one line. Words may stand apart by any number of blanks and tabs.
///
/// # Errors
/// In words, when the line is no command.
pub fn parse(line: &str) -> Result<Command, String> {
    let (word, rest) = next_word(line);
    Ok(match word {
        "uci" => Command::Uci,
        "isready" => Command::IsReady,
        "ucinewgame" => Command::NewGame,
        "position" => return position(rest),
        "setoption" => return set_option(rest),
        "go" => Command::Go(Box::new(go(rest))),
        "stop" => Command::Stop,
        "ponderhit" => Command::PonderHit,
        "quit" => Command::Quit,
        "" | "debug" | "register" => Command::Nothing,
        _ => return Err(format!("unknown command: {}", shorten(line.trim()))),
    })
}

/// Longest piece of the sender's text that is repeated in an answer, in characters.
const QUOTE: usize = 80;

/// The beginning of `text`, short enough for a message.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into(),
    }
}

/// The first word and what follows it; an empty word when there is none.
fn next_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

fn position(rest: &str) -> Result<Command, String> {
    const FORM: &str =
        "expected `position startpos` or `position fen FEN`, then `moves ...` if any";
    let mut words = rest.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let before_moves = words.by_ref().take_while(|word| *word != "moves");
    let fen = before_moves.collect::<Vec<_>>().join(" ");
    let fen = match kind {
        "startpos" if fen.is_empty() => kind.into(),
        "fen" if !fen.is_empty() => fen,
        _ => return Err(format!("{FORM}; found `position {}`", shorten(rest.trim()))),
    };
    Ok(Command::Position { fen, moves: words.map(String::from).collect() })
}

fn set_option(rest: &str) -> Result<Command, String> {
    let (word, mut rest) = next_word(rest);
    let mut names = Vec::new();
    let value = loop {
        let (word, after) = next_word(rest);
        rest = after;
        match word {
            // A value is kept as it is: a path may hold two blanks.
            "value" | "" => break rest.trim(),
            name => names.push(name),
        }
    };
    if word != "name" || names.is_empty() {
        return Err("expected `setoption name NAME value VALUE`".into());
    }
    Ok(Command::SetOption { name: names.join(" "), value: value.into() })
}

/// The words that `go` knows.
const GO_WORDS: [&str; 12] = [
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "depth",
    "nodes",
    "mate",
    "movetime",
    "infinite",
    "ponder",
    "searchmoves",
];

fn go(rest: &str) -> Go {
    let mut go = Go::default();
    let mut words = rest.split_whitespace().peekable();
    while let Some(word) = words.next() {
        match word {
            "infinite" => go.infinite = true,
            "ponder" => go.ponder = true,
            "searchmoves" => {
                while let Some(mv) = words.next_if(|word| !GO_WORDS.contains(word)) {
                    go.search_moves.push(mv.into());
                }
            }
            _ if GO_WORDS.contains(&word) => {
                let text = words.next_if(|word| !GO_WORDS.contains(word));
                match text.and_then(|text| text.parse::<i64>().ok()) {
                    // Clocks run below zero while a message is on its way.
                    Some(number) => go.set(word, number.max(0) as u64),
                    None => {
                        let found = text.map_or("nothing".into(), shorten);
                        go.remarks.push(format!("go {word}: expected a number, found {found}"));
                    }
                }
            }
            _ => go.remarks.push(format!("go: ignored {}", shorten(word))),
        }
    }
    go
}

impl Go {
    fn set(&mut self, word: &str, number: u64) {
        let small = u32::try_from(number).unwrap_or(u32::MAX);
        let time = Duration::from_millis(number);
        match word {
            "wtime" => self.time[0] = Some(time),
            "btime" => self.time[1] = Some(time),
            "winc" => self.increment[0] = Some(time),
            "binc" => self.increment[1] = Some(time),
            "movestogo" => self.moves_to_go = Some(small),
            "depth" => self.depth = Some(small),
            "nodes" => self.nodes = Some(number),
            "mate" => self.mate = Some(small),
            "movetime" => self.move_time = Some(time),
            _ => unreachable!("{word} takes no number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Option<Duration> {
        Some(Duration::from_millis(milliseconds))
    }

    fn parse_go(line: &str) -> Go {
        match parse(line) {
            Ok(Command::Go(go)) => *go,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn reads_plain_commands_in_any_spacing() {
        for (line, command) in [
            ("uci", Command::Uci),
            ("  isready  \r\n", Command::IsReady),
            ("\tucinewgame\t", Command::NewGame),
            ("stop", Command::Stop),
            ("ponderhit", Command::PonderHit),
            ("quit now", Command::Quit),
            ("", Command::Nothing),
            (" \r", Command::Nothing),
            ("debug on", Command::Nothing),
            ("register later", Command::Nothing),
        ] {
            assert_eq!(parse(line), Ok(command), "{line:?}");
        }
    }

    #[test]
    fn names_unknown_commands_in_few_characters() {
        assert_eq!(parse("hello  you"), Err("unknown command: hello  you".into()));
        assert_eq!(parse("UCI").unwrap_err(), "unknown command: UCI");
        let long = parse(&"\u{fffd}".repeat(100_000)).unwrap_err();
        assert_eq!(long, format!("unknown command: {}...", "\u{fffd}".repeat(80)));
    }

    #[test]
    fn reads_positions() {
        let position = |fen: &str, moves: &[&str]| {
            let moves = moves.iter().map(|mv| mv.to_string()).collect();
            Ok(Command::Position { fen: fen.into(), moves })
        };
        assert_eq!(parse("position startpos"), position("startpos", &[]));
        assert_eq!(parse("position startpos moves"), position("startpos", &[]));
        assert_eq!(
            parse("position \t startpos   moves e2e4  e7e5\r"),
            position("startpos", &["e2e4", "e7e5"])
        );
        assert_eq!(parse("position fen 1"), position("1", &[]));
        assert_eq!(
            parse("position fen 8/8/8/8/8/4k3/4p3/4K3  w - - 0 1 moves e1d1"),
            position("8/8/8/8/8/4k3/4p3/4K3 w - - 0 1", &["e1d1"])
        );
        for line in ["position", "position fen", "position fen moves e2e4", "position moves e2e4"] {
            assert!(parse(line).unwrap_err().starts_with("expected `position startpos`"), "{line}");
        }
        assert!(parse("position startpos e2e4").unwrap_err().ends_with("`position startpos e2e4`"));
    }

    #[test]
    fn reads_options() {
        let option = |name: &str, value: &str| {
            Ok(Command::SetOption { name: name.into(), value: value.into() })
        };
        assert_eq!(parse("setoption name Threads value 4"), option("Threads", "4"));
        assert_eq!(
            parse("setoption  name  Move   Overhead\tvalue  100 \r"),
            option("Move Overhead", "100")
        );
        assert_eq!(
            parse("setoption name WeightsFile value C:\\two  blanks\\value x"),
            option("WeightsFile", "C:\\two  blanks\\value x")
        );
        assert_eq!(parse("setoption name Threads"), option("Threads", ""));
        assert_eq!(parse("setoption name SyzygyPath value"), option("SyzygyPath", ""));
        for line in ["setoption", "setoption name", "setoption name value 3", "setoption Hash 3"] {
            assert!(parse(line).unwrap_err().starts_with("expected `setoption"), "{line}");
        }
    }

    #[test]
    fn reads_go_in_any_order() {
        assert_eq!(parse_go("go"), Go::default());
        let expected = Go {
            time: [ms(1000), ms(2000)],
            increment: [ms(10), ms(20)],
            moves_to_go: Some(40),
            ..Go::default()
        };
        for line in [
            "go wtime 1000 btime 2000 winc 10 binc 20 movestogo 40",
            "go movestogo 40 binc 20 winc 10 btime 2000 wtime 1000",
        ] {
            assert_eq!(parse_go(line), expected);
        }
        let expected = Go {
            depth: Some(5),
            nodes: Some(0),
            mate: Some(3),
            move_time: ms(0),
            infinite: true,
            ponder: true,
            search_moves: vec!["e2e4".into(), "d2d4".into()],
            ..Go::default()
        };
        assert_eq!(
            parse_go("go ponder searchmoves e2e4 d2d4 infinite depth 5 nodes 0 mate 3 movetime 0"),
            expected
        );
    }

    #[test]
    fn clamps_clocks_and_leaves_out_garbage() {
        assert_eq!(parse_go("go wtime -50 btime 0").time, [ms(0), ms(0)]);
        assert_eq!(parse_go("go depth 99999999999").depth, Some(u32::MAX));
        let digits = "9".repeat(30);
        for (line, expected, remark) in [
            ("go mate", Go::default(), "go mate: expected a number, found nothing"),
            (
                "go depth nodes 7",
                Go { nodes: Some(7), ..Go::default() },
                "go depth: expected a number, found nothing",
            ),
            (
                "go depth 4abc nodes 7",
                Go { nodes: Some(7), ..Go::default() },
                "go depth: expected a number, found 4abc",
            ),
            ("go fast movetime 9", Go { move_time: ms(9), ..Go::default() }, "go: ignored fast"),
            (
                &format!("go nodes {digits}"),
                Go::default(),
                &format!("go nodes: expected a number, found {digits}"),
            ),
        ] {
            assert_eq!(parse_go(line), Go { remarks: vec![remark.into()], ..expected }, "{line}");
        }
    }
}
