//! The program from outside: command lines, exit statuses, output.

mod launch;
mod random_weights;

use fianchetto::encoding::Encoding;
use fianchetto::network::Spec;
use fianchetto::network::spec::Residual;
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// Where the program runs: a folder with weights files of all sorts.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli");
    std::fs::create_dir_all(folder.join("folder")).unwrap();
    let spec = random_weights::small();
    let good = random_weights::file(&spec, 1);
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    write("good.safetensors", &good);
    write("cut.safetensors", &good[..good.len() / 2]);
    write("empty.safetensors", &[]);
    // How a zip archive begins, which is what PyTorch writes.
    write("model.pt", b"PK\x03\x04\x00\x00\x08\x08\x00\x00\x00\x00\x00\x00\x00\x00model/data.pkl");
    let odd = Spec { source: "two\u{1b}[31m\nlines".into(), ..spec.clone() };
    write("odd.safetensors", &random_weights::file(&odd, 1));
    let sizes = Residual { conv_bias: true, ..random_weights::small_sizes() };
    let absolute = random_weights::residual(Encoding::Absolute14, sizes);
    write("absolute.safetensors", &random_weights::file(&absolute, 1));
    write("pair.safetensors", &random_weights::file(&random_weights::pair(4, 5), 1));
    let mut tensors = random_weights::stored(&spec, 1);
    let (.., bytes) = tensors.iter_mut().find(|tensor| tensor.0 == "gate.bias").unwrap();
    bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    write("nan.safetensors", &random_weights::safetensors_file(spec.to_metadata(), &tensors));
    folder
});

fn program<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = launch::program();
    command.args(arguments).current_dir(&*FOLDER).stdin(Stdio::null());
    command
}

/// What a run said, and its exit status.
struct Said {
    status: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        let mut err = text(output.stderr);
        if cfg!(feature = "cuda") {
            // By default such a program looks for a GPU, and says when there is none.
            let lines = err.lines().filter(|line| !line.contains("running on the processor"));
            err = lines.map(|line| format!("{line}\n")).collect();
        }
        Self { status: output.status.code(), out: text(output.stdout), err }
    }
}

fn run(arguments: &[&str]) -> Said {
    program(arguments.iter().copied()).output().expect("the program starts").into()
}

/// Runs with `input` at standard input.
fn run_with(arguments: &[&str], input: &[u8]) -> Said {
    let mut command = program(arguments.iter().copied());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let said = child.wait_with_output().expect("the program ends").into();
    writer.join().unwrap().expect("the program reads all of its input");
    said
}

/// Words, of which double quotes hold several together.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (i, part) in line.split('"').enumerate() {
        match i % 2 {
            0 => words.extend(part.split_whitespace()),
            _ => words.push(part),
        }
    }
    words
}

/// The parts of `expected` that `text` does not fulfil.
fn unfulfilled<'a>(text: &str, expected: &'a str) -> Vec<&'a str> {
    if expected.is_empty() {
        return if text.is_empty() { vec![] } else { vec!["nothing"] };
    }
    let holds = |part: &&str| {
        let lines = part.strip_suffix(" lines").and_then(|count| count.parse::<usize>().ok());
        match (lines, part.strip_prefix('!')) {
            (Some(count), _) => text.lines().count() == count,
            (_, Some(absent)) => !text.contains(absent),
            _ => text.contains(part),
        }
    };
    expected.split(" | ").filter(|part| !holds(part)).collect()
}

#[test]
fn command_lines() {
    let (mut cases, mut wrong) = (0, String::new());
    for line in include_str!("data/cli.txt").lines().filter(|line| !line.starts_with('#')) {
        let [case, status, out, err] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not four columns: {line:?}");
        };
        let said = run(&words(case));
        let missing = [unfulfilled(&said.out, out), unfulfilled(&said.err, err)].concat();
        let one_line = status == "0" || said.err.lines().count() == 1;
        let signed = said.err.lines().all(|line| line.starts_with("fianchetto: "));
        let expected_status = said.status == Some(status.parse().unwrap());
        if !(missing.is_empty() && one_line && signed && expected_status) {
            let Said { status, out, err } = said;
            wrong += &format!("{case}: missing {missing:?}, status {status:?}\n{out}{err}\n");
        }
        cases += 1;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(cases > 80, "only {cases} cases were found");
}

/// The keys of an object in their order. No text in the output holds `":`.
fn keys(json: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = json.split("\":").collect();
    parts.pop();
    parts.into_iter().map(|part| part.rsplit('"').next().unwrap()).collect()
}

/// A line of `predict --json`: the object, and its moves as `uci=san` and probability.
fn prediction(line: &str) -> (Value, Vec<(String, f64)>) {
    let object: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let moves: Vec<(String, f64)> = object["moves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mv| {
            let text = |key: &str| mv[key].as_str().unwrap().to_owned();
            (format!("{}={}", text("uci"), text("san")), mv["p"].as_f64().unwrap())
        })
        .collect();
    let mut expected = vec!["fen", "side", "value", "moves"];
    expected.extend(["uci", "san", "p"].iter().cycle().take(3 * moves.len()));
    assert_eq!(keys(line), expected, "{line}");
    assert!(moves.is_sorted_by(|(_, a), (_, b)| a >= b), "the moves are not sorted: {line}");
    assert!(moves.iter().all(|(_, p)| (0.0..=1.0).contains(p)), "{line}");
    assert!(object["value"].as_f64().is_some_and(|value| value.abs() <= 1.0), "{line}");
    (object, moves)
}

fn sum(moves: &[(String, f64)]) -> f64 {
    moves.iter().map(|(_, p)| p).sum()
}

/// Positions with all of their moves as python-chess writes them.
fn positions() -> Vec<(&'static str, Vec<&'static str>)> {
    let lines = include_str!("data/notation.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_once('\t').unwrap())
        .map(|(fen, moves)| (fen, moves.split_whitespace().collect()))
        .collect()
}

#[test]
fn predict_json_has_every_legal_move() {
    let positions = positions();
    let input: String = positions.iter().map(|(fen, _)| format!("{fen}\n")).collect();
    let said = run_with(&["predict", "--json", "-"], input.as_bytes());
    assert_eq!((said.status, &said.err[..]), (Some(0), ""));
    assert_eq!(said.out.lines().count(), positions.len());
    let mut blacks = 0;
    for (line, (fen, legal)) in said.out.lines().zip(positions) {
        let (object, moves) = prediction(line);
        assert_eq!(object["fen"], fen);
        let black = fen.split(' ').nth(1) == Some("b");
        blacks += usize::from(black);
        assert_eq!(object["side"], if black { "black" } else { "white" });
        let mut found: Vec<&str> = moves.iter().map(|(mv, _)| &mv[..]).collect();
        let mut legal = legal;
        found.sort_unstable();
        legal.sort_unstable();
        assert_eq!(found, legal, "{fen}");
        assert!(legal.is_empty() || (sum(&moves) - 1.0).abs() < 1e-9, "{line}");
    }
    assert!(blacks > 5, "only {blacks} positions with Black to move");
}

#[test]
fn predict_json_on_the_command_line() {
    let fen = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R b KQkq - 0 1";
    let all = run(&["predict", fen, "--json"]);
    let (_, all) = prediction(all.out.strip_suffix('\n').unwrap());
    assert_eq!(all.len(), 25); // python-chess
    assert!((sum(&all) - 1.0).abs() < 1e-9);
    let top = run(&["predict", "--json", "--top", "3", fen]);
    let (_, top) = prediction(top.out.trim_end());
    assert_eq!(top, all[..3]);
    // Words, a text, and standard input are the same position.
    let quoted = run(&["predict", "--json", fen]).out;
    let mut arguments = vec!["predict", "--json"];
    arguments.extend(fen.split(' '));
    assert_eq!(run(&arguments).out, quoted);
    assert_eq!(run_with(&["predict", "--json", "-"], fen.as_bytes()).out, quoted);
    // More threads and the network by name change nothing here.
    assert_eq!(run(&["predict", "--json", fen, "--threads", "3"]).out, quoted);
}

/// A player without probabilities gives scores, and all of the belief to the move it would play.
#[test]
fn predict_json_of_minimax() {
    let arguments = ["predict", "--json", "--player", "minimax", "--option", "Seed=1", "--depth"];
    let predict = |depth, position: &[&str]| {
        let said = run(&[&arguments[..], &[depth], position].concat());
        assert_eq!((said.status, &said.err[..]), (Some(0), ""));
        serde_json::from_str::<Value>(&said.out).unwrap()
    };
    // White mates at once with one move; the rest is what a rook more is worth.
    let object = predict("2", &["6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"]);
    assert_eq!((&object["side"], &object["value"]), (&"white".into(), &1.0.into()));
    let moves = object["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 17); // python-chess
    let mate = serde_json::json!({ "uci": "a1a8", "san": "Ra8#", "p": 1.0, "mate": 1 });
    assert_eq!(moves[0], mate);
    assert!(moves[1..].iter().all(|mv| mv["p"] == 0.0 && mv["mate"].is_null()));
    assert!(moves[1..].is_sorted_by_key(|mv| -mv["cp"].as_i64().unwrap()));
    let object = predict("1", &["startpos", "--top", "2"]);
    // The formula of the value, the other way round: 111.714640912 tan(1.5620688421 value).
    let value = object["value"].as_f64().unwrap();
    assert_eq!((111.714_640_912 * (1.562_068_842_1 * value).tan()).round(), 50.0);
    let keys: Vec<Value> =
        object["moves"].as_array().unwrap().iter().map(|mv| mv["cp"].clone()).collect();
    assert_eq!(keys, [50, 50]);
}

/// The from/to player gives a move's figures instead.
#[test]
fn predict_json_of_from_to() {
    let weights = ["--player", "from-to", "--weights", "pair.safetensors", "--depth", "1"];
    let said = run(&[&["predict", "--json", "--top", "3"][..], &weights].concat());
    assert_eq!((said.status, &said.err[..]), (Some(0), ""));
    let object: Value = serde_json::from_str(&said.out).unwrap();
    assert!(object["value"].is_null());
    let moves = object["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 3);
    for mv in moves {
        let [from, to, prediction, material, searched] =
            ["from_rank", "to_rank", "prediction", "material", "searched"]
                .map(|name| mv[name].as_f64().unwrap());
        assert_eq!((prediction, material, searched), (400.0 - from - to, 0.0, prediction));
        assert!(mv["cp"].is_null() && mv["mate"].is_null());
    }
    assert_eq!((&moves[0]["p"], &moves[1]["p"]), (&1.0.into(), &0.0.into()));
}

#[test]
fn predict_json_of_a_finished_game() {
    let mate = run(&["predict", "--json", "moves", "f2f3", "e7e5", "g2g4", "d8h4"]);
    let (object, moves) = prediction(mate.out.trim_end());
    assert_eq!((mate.status, &mate.err[..]), (Some(0), ""));
    assert_eq!(object["side"], "white");
    assert!(moves.is_empty());
    let draw = run(&["predict", "--json", "8/8/4k3/8/8/8/4P3/4K3 w - - 100 80"]);
    let (_, moves) = prediction(draw.out.trim_end());
    assert_eq!(moves.len(), 6); // python-chess
}

#[test]
fn predict_reads_good_and_bad_lines() {
    let input = b"startpos\r\nstartpos moves e2e4\n\nno position\n\xff\xfe w - - 0 1\nmoves e2e5\nmoves d2d4 d7d5";
    for json in [true, false] {
        let arguments = ["predict", "-", "--top", "1", "--json"];
        let said = run_with(&arguments[..if json { 5 } else { 4 }], input);
        assert_eq!(said.status, Some(1), "{}", said.err);
        let told: Vec<&str> = said.err.lines().collect();
        for (told, start) in told.iter().zip([
            "fianchetto: line 3: the FEN is empty",
            "fianchetto: line 4: ",
            "fianchetto: line 5: ",
            "fianchetto: line 6: move \"e2e5\"",
            "fianchetto: 4 of the lines",
        ]) {
            assert!(told.starts_with(start), "expected {start:?} in\n{}", said.err);
        }
        assert_eq!(told.len(), 5, "{}", said.err);
        if json {
            let answers: Vec<Value> =
                said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let fens: Vec<Option<&str>> = answers.iter().map(|a| a["fen"].as_str()).collect();
            assert_eq!(
                fens,
                [
                    Some("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
                    Some("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"),
                    None,
                    None,
                    None,
                    None,
                    Some("rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq d6 0 2"),
                ]
            );
            for (answer, told) in answers[2..6].iter().zip(&told) {
                let error = answer["error"].as_str().expect("an error");
                assert!(told.ends_with(error), "{error:?} and {told:?}");
            }
        } else {
            assert_eq!(said.out.lines().count(), 12, "{}", said.out);
        }
    }
}

#[test]
fn speed_json_has_its_keys() {
    let said = run(&["speed", "--json", "--seconds", "0.05", "--batch", "1,2"]);
    assert_eq!((said.status, &said.err[..]), (Some(0), ""));
    assert_eq!(said.out.lines().count(), 1);
    let mut expected = vec!["network", "backend", "threads", "results"];
    let result = ["batch", "runs", "median_ms", "min_ms", "positions_per_second"];
    expected.extend([result, result].concat());
    assert_eq!(keys(&said.out), expected);
    let object: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(object["threads"], 1);
    for (result, batch) in object["results"].as_array().unwrap().iter().zip([1.0, 2.0]) {
        let number = |key: &str| result[key].as_f64().unwrap();
        assert_eq!(number("batch"), batch);
        assert!(number("runs") >= 1.0);
        assert!(0.0 < number("min_ms") && number("min_ms") <= number("median_ms"));
        let speed = batch / number("median_ms") * 1e3;
        assert!((number("positions_per_second") / speed - 1.0).abs() < 1e-6);
    }
}

/// OpenBench reads the last line and wants the same count on every machine.
#[test]
fn bench_counts_the_same_whatever_the_options() {
    let count = |arguments: &[&str]| {
        let said = run(arguments);
        assert_eq!((said.status, &said.err[..]), (Some(0), ""));
        let mut lines: Vec<String> = said.out.lines().map(str::to_owned).collect();
        let last = lines.pop().expect("a last line");
        let [nodes, "nodes", nps, "nps"] = last.split(' ').collect::<Vec<_>>()[..] else {
            panic!("expected `N nodes N nps`, found {last:?}");
        };
        nps.parse::<u64>().expect("whole nodes a second");
        (nodes.parse::<u64>().expect("nodes"), lines)
    };
    let weights = ["bench", "--weights", "good.safetensors"];
    let plain = count(&weights);
    assert!(plain.0 > 0);
    assert_eq!(count(&weights), plain);
    let options = ["--threads", "3", "--option", "Temperature=2", "--option", "FinishPlies=3"];
    assert_eq!(count(&[&weights[..], &options[..]].concat()), plain);
}

/// A pipe that nobody reads.
fn closed() -> io::PipeWriter {
    io::pipe().expect("a pipe").1
}

#[test]
fn nobody_reads_the_output() {
    let weights = ["--weights", "good.safetensors"];
    for line in [
        "help",
        "--version",
        "describe",
        "predict",
        "predict --json",
        "predict -",
        "predict --json -",
        "bench",
        "speed --seconds 0 --batch 1",
        "speed --json --seconds 0 --batch 1",
        "uci",
    ] {
        let mut command = program(line.split(' ').chain(weights));
        let command = command.stdin(Stdio::piped()).stdout(closed()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // A program that has ended already reads nothing.
        let _ = child.stdin.take().unwrap().write_all("uci\nstartpos\n".repeat(100).as_bytes());
        let said = Said::from(child.wait_with_output().expect("the program ends"));
        assert!(!said.err.contains("panicked"), "{line}: {}", said.err);
        let told = said.err.lines().filter(|told| !told.starts_with("fianchetto: line ")).count();
        assert_eq!((said.status, told), (Some(0), 0), "{line}: {}", said.err);
    }
}

#[test]
fn nobody_reads_the_errors() {
    let repaired = "4k3/8/8/8/8/8/8/4K2R w KQkq - 0 1";
    for (arguments, status, lines) in [
        (&["predict", "hello"][..], 1, 0),
        (&["perdict"], 2, 0),
        (&["predict", repaired, "--json"], 0, 1),
        (&["predict", "-", "--json"], 1, 3),
    ] {
        let mut command = program(arguments.iter().copied());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(closed());
        let mut child = command.spawn().expect("the program starts");
        let input = format!("{repaired}\nhello\nstartpos\n");
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let said = Said::from(child.wait_with_output().expect("the program ends"));
        assert_eq!(said.status, Some(status), "{arguments:?}");
        assert_eq!(said.out.lines().count(), lines, "{arguments:?}: {}", said.out);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    for line in ["help", "describe", "predict --json", "bench"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let output = program(line.split(' ')).stdout(full).output().expect("the program starts");
        let said = Said::from(output);
        assert_eq!((said.status, said.err.lines().count()), (Some(1), 1), "{line}: {}", said.err);
        assert!(said.err.contains("cannot write the output"), "{line}: {}", said.err);
    }
}

#[cfg(unix)]
#[test]
fn arguments_that_are_no_text_are_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let odd = OsStr::from_bytes(b"\xff\xfe");
    for before in [&[][..], &["predict"], &["predict", "--top"], &["describe"], &["--weights"]] {
        let mut command = program(before.iter().copied());
        let said = Said::from(command.arg(odd).output().expect("the program starts"));
        assert_eq!(
            (said.status, said.err.lines().count()),
            (Some(2), 1),
            "{before:?}: {}",
            said.err
        );
    }
}
