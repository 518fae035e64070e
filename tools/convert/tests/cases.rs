//! Checkpoints made by PyTorch, case by case: `golden/cases.tsv`.

use clap::Parser;
use fianchetto::network::Architecture;
use fianchetto_convert::checkpoint::Checkpoint;
use fianchetto_convert::recognise::Network;
use fianchetto_convert::{Failure, Options, plan};
use safetensors::SafeTensors;
use std::path::PathBuf;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(golden(name)).unwrap()
}

fn options(file: &str, arguments: &str) -> Options {
    let mut line = vec!["fianchetto-convert", file, "out.safetensors"];
    line.extend(arguments.split(' ').filter(|&argument| argument != "-"));
    Options::try_parse_from(line).unwrap()
}

fn architecture(network: &Network) -> String {
    let encoding = network.spec.encoding.name();
    let sizes = match &network.spec.architecture {
        Architecture::Residual(sizes) => sizes,
        Architecture::SquarePair(sizes) => {
            return format!("ok {encoding} filters={} hidden={}", sizes.filters, sizes.hidden);
        }
    };
    let (se, bias) = (sizes.se_width.unwrap_or(0), sizes.conv_bias);
    assert_eq!(
        (sizes.channels, sizes.policy_channels, sizes.value_channels, sizes.value_hidden),
        (4, 1, 2, 3)
    );
    format!(
        "ok {encoding} blocks={} recurrence={} gate={} se={se} bias={bias}",
        sizes.blocks, sizes.recurrence, sizes.gate
    )
}

/// Every float that PyTorch sees, bit for bit.
fn compare(network: &Network, checkpoint: &Checkpoint, expected: &str) {
    let bytes = read(&format!("{expected}.expected.safetensors"));
    let expected = SafeTensors::deserialize(&bytes).unwrap();
    let mut compared = 0;
    for (name, shape) in network.spec.tensors() {
        let values = checkpoint.tensors[&network.names[&name]].values().unwrap();
        if name.starts_with("policy_fc.") {
            let same = if name.ends_with("weight") { 0.25 } else { 0.5 };
            assert!(values.iter().all(|&value| value == same), "{name}");
            continue;
        }
        let view = expected.tensor(&name).unwrap();
        assert_eq!(view.shape(), shape, "{name}");
        let bits: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(view.data(), bits, "{name}");
        compared += 1;
    }
    assert_eq!(compared, expected.len());
}

#[test]
fn every_case() {
    let cases = String::from_utf8(read("cases.tsv")).unwrap();
    for line in cases.lines().filter(|line| !line.starts_with('#')) {
        let [file, arguments, tensors, outcome] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not four columns: {line}");
        };
        let bytes = read(file);
        let result = Checkpoint::read(&bytes).and_then(|mut checkpoint| {
            let network = plan(&options(file, arguments), &mut checkpoint)?;
            Ok((network, checkpoint))
        });
        match result {
            Ok((network, checkpoint)) => {
                assert_eq!(architecture(&network), outcome, "{line}");
                compare(&network, &checkpoint, tensors);
            }
            Err(Failure(text)) => {
                assert!(!text.contains('\n'), "{line}: {text}");
                for words in outcome.split('|') {
                    assert!(text.contains(words), "{line}: {text}");
                }
            }
        }
    }
    assert!(!PathBuf::from("fianchetto-convert-was-executed").exists());
}

/// Checkpoint, start of a note.
const NOTES: [(&str, &str); 14] = [
    ("unfamiliar.pt", "left out: network_config.dropout, no number"),
    ("unfamiliar.pt", "left out, not understood: network_config.warmup = 4"),
    (
        "unfamiliar.pt",
        "placed by shape and role: tower.0.squeeze.0 as tower.0.se.fc1 (bias [2], weight [2, 4, 1, 1])",
    ),
    (
        "unfamiliar.pt",
        "placed by shape and role: tower.0.squeeze.2 as tower.0.se.fc2 (bias [8], weight [8, 2, 1, 1]; taken: the first half of the outputs scales",
    ),
    (
        "unfamiliar.pt",
        "placed by shape and role: memory.mix as gate (bias [4], weight [4, 8]; taken: the first half of the inputs is the candidate",
    ),
    ("wrapped.pt", "left out at the top level: epoch, loss, lr, device"),
    ("wrapped.pt", "all names begin with module., left out"),
    ("net.pt", "all names begin with net._orig_mod., left out"),
    ("net.pt", "left out at the top level: epoch"),
    ("net.pt", "nothing says how often the tower is applied: taken as once"),
    ("training.pt", "left out at the top level: optimizer, step"),
    ("ema.pt", "left out at the top level: ema"),
    ("ema.pt", "left out: config, no dict"),
    ("config.pt", "left out: config.lr, no number"),
];

#[test]
fn says_what_was_placed_by_shape_and_what_was_left_out() {
    for (file, expected) in NOTES {
        let bytes = read(file);
        let mut checkpoint = Checkpoint::read(&bytes).unwrap();
        let notes = plan(&options(file, "-"), &mut checkpoint).unwrap().notes;
        assert!(notes.iter().any(|note| note.starts_with(expected)), "{expected}: {notes:#?}");
    }
}

#[test]
fn does_not_guess_where_the_recurrence_is_said() {
    for (file, arguments) in [("gated.pt", "-"), ("config.pt", "-"), ("plain.pt", "--recurrence 1")]
    {
        let bytes = read(file);
        let mut checkpoint = Checkpoint::read(&bytes).unwrap();
        let notes = plan(&options(file, arguments), &mut checkpoint).unwrap().notes;
        assert!(!notes.iter().any(|note| note.contains("how often")), "{file}: {notes:#?}");
    }
}

#[test]
fn values_that_no_network_has_are_named() {
    for (file, expected) in
        [("integers.pt", "its elements are I64"), ("nan.pt", "element [1] is NaN")]
    {
        let bytes = read(file);
        let checkpoint = Checkpoint::read(&bytes).unwrap();
        let Failure(text) = checkpoint.tensors["stem.1.weight"].values().unwrap_err();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn command_lines_that_are_wrong() {
    for wrong in [
        "--rename stem",
        "--rename =stem",
        "--rename a.*=b",
        "--recurrence 0",
        "--recurrence 65",
        "--dtype f8",
        "third",
    ] {
        let line =
            ["fianchetto-convert", "a.pt", "b.safetensors"].into_iter().chain(wrong.split(' '));
        assert!(Options::try_parse_from(line).is_err(), "{wrong}");
    }
}
