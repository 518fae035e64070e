//! `describe`: what a weights file holds, and what this machine will run it with.

use super::{Failure, grouped};
use fianchetto::backend::cpu::{Algorithm, Instructions};
use fianchetto::engine;
use fianchetto::network::spec::{Int8, Residual};
use fianchetto::network::{Architecture, Contents, Network, Spec};
use fianchetto::uci::Options;
use std::io::Write;

pub fn run(options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    let bytes = engine::weights(options).map_err(Failure::Work)?;
    let unusable = |error| Failure::Work(engine::unusable(options, error));
    let Contents { spec, values } = Contents::from_safetensors(&bytes).map_err(unusable)?;
    // Loading it tells whether the numbers are usable too.
    let network = Network::from_safetensors(&bytes).map_err(unusable)?;
    let backend = engine::backend(network, options);

    let values: Vec<String> =
        values.iter().map(|(kind, count)| format!("{} as {kind}", grouped(count))).collect();
    let stored =
        format!("{:.1} MiB: {} values", bytes.len() as f64 / f64::from(1 << 20), values.join(", "));
    let mut rows = vec![
        ("weights", engine::weights_name(options).to_owned()),
        ("encoding", format!("{}, policy {}", spec.encoding.name(), spec.encoding.policy_name())),
    ];
    let algorithm = match &spec.architecture {
        Architecture::Residual(sizes) => {
            let policy_size = spec.encoding.policy_size();
            let policy = format!("{} -> {policy_size}", channels(sizes.policy_channels));
            let value =
                format!("{} -> {} -> 1", channels(sizes.value_channels), sizes.value_hidden);
            rows.extend([("tower", tower(sizes)), ("policy head", policy), ("value head", value)]);
            match spec.is_int8() {
                true => format!("{}, exact in whole numbers", Algorithm::Int8),
                false => {
                    let all = Algorithm::PLAIN.map(Algorithm::name).join(", ");
                    format!("of {all}, by a table for {} and batch sizes", channels(sizes.channels))
                }
            }
        }
        Architecture::SquarePair(sizes) => {
            let each = format!("2 x {} filters -> 2 x {} -> 64", sizes.filters, sizes.hidden);
            rows.extend([
                ("networks", "2: squares moved from, squares moved to".to_owned()),
                ("each", each),
                ("value head", "none".to_owned()),
            ]);
            format!("{}, the others are for 3x3 taps", Algorithm::Direct)
        }
    };
    let kernels = kernels(&spec);
    rows.extend([
        ("parameters", grouped(spec.parameters())),
        ("stored", stored),
        ("source", spec.source),
        ("licence", spec.licence),
        ("runs on", format!("{}, {}", backend.name(), backend.device())),
        ("machine", machine()),
        ("kernels", kernels),
        ("algorithm", algorithm),
        ("override", "to measure others: fianchetto speed --kernel portable+direct".to_owned()),
    ]);
    for (name, value) in rows {
        // The file's own words may hold anything.
        writeln!(out, "{name:<12} {}", value.replace(char::is_control, " "))?;
    }
    Ok(())
}

fn channels(count: usize) -> String {
    format!("{count} {}", if count == 1 { "channel" } else { "channels" })
}

fn tower(sizes: &Residual) -> String {
    let mut text = format!("{} x {} blocks", channels(sizes.channels), sizes.blocks);
    if sizes.recurrence > 1 {
        text += &format!(", applied {} times", sizes.recurrence);
    }
    if sizes.gate {
        text += ", gated";
    }
    if sizes.int8 != Int8::Nothing {
        text += ", int8";
    }
    if let Some(width) = sizes.se_width {
        text += &format!(", squeeze-and-excitation of width {width}");
    }
    text
}

/// Which instruction sets there are kernels for, for such a network, and why one of them is taken.
fn kernels(spec: &Spec) -> String {
    let taken = Instructions::preferred(spec);
    let sets = Instructions::built(spec).map(|set| {
        let is_here = Instructions::available(spec).any(|here| here == set);
        let why = match is_here {
            false => "not in this machine",
            true if set == taken => "taken, the fastest here",
            true => "in this machine",
        };
        format!("{set} ({why})")
    });
    sets.collect::<Vec<_>>().join(", ")
}

fn machine() -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let features = cpu_features().join(" ");
    format!("{}, {threads} threads, {features}", std::env::consts::ARCH)
}

/// The instruction sets that matter to a forward pass, as far as this processor has them.
fn cpu_features() -> Vec<&'static str> {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    macro_rules! present {
        ($detect:ident: $($feature:tt)*) => {
            [$(($feature, std::arch::$detect!($feature))),*]
        };
    }
    #[cfg(target_arch = "x86_64")]
    let all = present!(is_x86_feature_detected: "sse2" "avx2" "fma" "f16c" "avxvnni" "avx512f" "avx512vnni");
    #[cfg(target_arch = "aarch64")]
    let all = present!(is_aarch64_feature_detected: "neon" "dotprod" "i8mm");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let all: [(&str, bool); 0] = [];
    all.into_iter().filter(|(_, present)| *present).map(|(feature, _)| feature).collect()
}
