use super::*;
use crate::search::from_to::Prediction;
use crate::search::mcts::Fpu;

#[test]
fn sets_every_kind() {
    let mut options = Options::default();
    for (name, value) in [
        ("player", "From-To"),
        ("WeightsFile", "C:\\my nets\\a b.safetensors"),
        ("BACKEND", "cpu"),
        ("threads", "64"),
        ("hash", " 65536 "),
        ("multipv", "218"),
        ("FinishPlies", "0"),
        ("Temperature", "0.75"),
        ("move overhead", "0"),
        ("depth", "60"),
        ("Prediction", "Product"),
        ("PredictionPlies", "1"),
        ("TemperaturePlies", "0"),
        ("Nodes", "1"),
        ("BatchSize", "256"),
        ("CPuct", "1"),
        ("FPU", "Zero"),
        ("FPUReduction", "0"),
        ("VirtualLoss", "0.5"),
        ("CachePercent", "0"),
        ("RootNoise", "0.25"),
        ("NoiseAlpha", "1.5"),
        ("Seed", "2147483647"),
        ("Ponder", "True"),
        ("SyzygyPath", "/tables"),
        ("uci_showwdl", "true"),
    ] {
        options.set(name, value).unwrap();
    }
    let mcts = mcts::Parameters {
        cache_percent: 0,
        batch_size: 256,
        c_puct: 1.0,
        fpu: Fpu::Zero,
        fpu_reduction: 0.0,
        virtual_loss: 0.5,
        root_noise: 0.25,
        noise_alpha: 1.5,
        temperature_plies: 0,
        nodes: 1,
    };
    let expected = Options {
        player: PlayerKind::FromTo,
        weights_file: "C:\\my nets\\a b.safetensors".into(),
        backend: BackendKind::Cpu,
        threads: 64,
        hash: 65536,
        multi_pv: 218,
        finish_plies: 0,
        temperature: 0.75,
        move_overhead: 0,
        depth: 60,
        seed: i32::MAX as u32,
        mcts: mcts.clone(),
        from_to: from_to::Parameters { prediction: Prediction::Product, prediction_plies: 1 },
        ponder: true,
        syzygy_path: "/tables".into(),
        show_wdl: true,
    };
    assert_eq!(options, expected);
    let settings = Settings {
        finish_plies: 0,
        temperature: 0.75,
        depth: 60,
        lines: 218,
        hash: 65536,
        seed: i32::MAX as u32,
        mcts,
        from_to: expected.from_to,
    };
    assert_eq!(options.settings(), settings);
}

#[test]
fn refuses_what_does_not_suit_and_keeps_the_old_value() {
    let digits = "9".repeat(30);
    let mut options = Options { threads: 3, temperature: 0.5, ..Options::default() };
    let before = options.clone();
    for (name, value) in [
        ("Threads", "abc"),
        ("Threads", "4abc"),
        ("Threads", &digits),
        ("Threads", ""),
        ("Threads", "0"),
        ("Threads", "65"),
        ("Threads", "-1"),
        ("Threads", "2.5"),
        ("Temperature", "NaN"),
        ("Temperature", "inf"),
        ("Temperature", "-0.1"),
        ("Temperature", "10.1"),
        ("Temperature", ""),
        ("Ponder", "yes"),
        ("Ponder", ""),
        ("Player", "alphazero"),
        ("Backend", ""),
        ("Thread", "2"),
        ("", "2"),
    ] {
        assert!(options.set(name, value).is_err(), "{name} = {value:?} was accepted");
        assert_eq!(options, before);
    }
}

#[test]
fn says_what_was_found_and_expected() {
    let message = |name, value| Options::default().set(name, value).unwrap_err().to_string();
    assert_eq!(
        message("threads", "4abc"),
        "option Threads: expected a whole number from 1 to 64, found \"4abc\""
    );
    assert_eq!(
        message("Backend", "tpu"),
        "option Backend: expected auto or cpu or cuda, found \"tpu\""
    );
    assert!(message("Thread", "2").starts_with("no option is named \"Thread\"; there are: Player"));
    assert!(message("Threads", &"9".repeat(100_000)).len() < 200);
    let error = Options::default().set_assignment("Hash:1").unwrap_err();
    assert_eq!(error.to_string(), "expected an option as NAME=VALUE, found \"Hash:1\"");
}

#[test]
fn the_empty_text_has_names() {
    for empty in ["", "<built-in>", "<empty>"] {
        let mut options = Options { weights_file: "a".into(), ..Options::default() };
        options.set("WeightsFile", empty).unwrap();
        assert_eq!(options, Options::default());
    }
}

#[test]
fn flags_and_assignments_name_the_same_options() {
    let mut options = Options::default();
    options.set(Options::name_of_flag("threads").unwrap(), "2").unwrap();
    options.set_assignment("Move Overhead=50").unwrap();
    options.set_assignment("WeightsFile=a=b").unwrap();
    let weights_file = "a=b".into();
    let expected = Options { threads: 2, move_overhead: 50, weights_file, ..Options::default() };
    assert_eq!(options, expected);
    assert_eq!(Options::name_of_flag("weights"), Some("WeightsFile"));
    assert_eq!(Options::name_of_flag("thread"), None);
    assert_eq!(Options::flag_help().count(), 6);
}

#[test]
fn only_some_changes_need_a_new_player() {
    let options = Options::default();
    let same = |name, value| {
        let mut changed = options.clone();
        changed.set(name, value).unwrap();
        assert_ne!(changed, options, "{name}");
        options.same_player(&changed)
    };
    assert!(!same("WeightsFile", "other"));
    assert!(!same("Backend", "cpu"));
    assert!(!same("Threads", "2"));
    assert!(same("FinishPlies", "2"));
    assert!(same("Temperature", "1"));
    assert!(same("MultiPV", "3"));
}

/// The forms of the UCI specification, and the five names of a stock lichess-bot configuration.
#[test]
fn lists_as_uci_wants() {
    let lines: Vec<_> = Options::listing().collect();
    for line in [
        "option name Player type combo default policy var policy var mcts var minimax var from-to",
        "option name WeightsFile type string default <built-in>",
        "option name Backend type combo default auto var auto var cpu var cuda",
        "option name Threads type spin default 1 min 1 max 64",
        "option name Temperature type string default 0",
        "option name Move Overhead type spin default 10 min 0 max 5000",
        "option name Hash type spin default 128 min 1 max 65536",
        "option name SyzygyPath type string default <empty>",
        "option name UCI_ShowWDL type check default false",
    ] {
        assert!(lines.iter().any(|l| l == line), "{line} is not among {lines:#?}");
    }
}

/// The README's table, between its two markers.
fn markdown() -> String {
    let rows = TABLE.iter().map(|row| {
        let mut defaults = Options::default();
        let field = (row.field)(&mut defaults);
        let (name, default, expects) = (row.name, field.value(), field.expects());
        let flag = row.flag.map_or(String::new(), |flag| format!("`--{flag}`"));
        format!("| `{name}` | {expects} | `{default}` | {flag} | {} |\n", row.help)
    });
    let head = "| Option | Value | Default | Flag | Meaning |\n|---|---|---|---|---|\n";
    head.to_owned() + &rows.collect::<String>()
}

#[test]
fn the_readme_has_this_table() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .unwrap_or_default();
    let table = readme
        .split_once("<!-- options -->\n")
        .and_then(|(_, rest)| rest.split_once("<!-- /options -->"))
        .map_or("", |(table, _)| table);
    let markdown = markdown();
    assert!(
        table.trim() == markdown.trim(),
        "put this between <!-- options --> and <!-- /options --> in README.md:\n{markdown}"
    );
}
