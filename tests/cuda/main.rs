//! The CUDA backend without a GPU: the host code that ships, on a stand-in for the driver library that runs the kernels on the
//! processor (`kernels/cpu`), once from their source and once from the PTX.
//!
//! A driver library is found when a process starts, so every check runs in a process of its own: this program again, with the
//! stand-in on its library path. On a machine with a GPU `on_this_machine` makes them on the real one, and more:
//! `cargo test --release --features cuda --test cuda on_this_machine -- --ignored --nocapture`.
#![cfg(feature = "cuda")]

#[path = "../random/mod.rs"]
mod random;
#[path = "../random_weights/mod.rs"]
mod random_weights;

mod checks;
mod gpu;
mod stand_in;

use stand_in::{Driver, Said, StandIn};
use std::io::Write;

/// The check that this process is to make, where it was started for one.
const CHECK: &str = "FIANCHETTO_CUDA_CHECK";

/// What another test starts this program again for.
#[test]
#[ignore = "started by the other tests"]
fn one_check() {
    if let Ok(name) = std::env::var(CHECK) {
        checks::run(&name);
    }
}

/// All checks on the GPU of this machine, each in a process of its own all the same: one that fails may break the driver for those
/// after it. `timing` and `timing_of_splits` are not among
/// them.
#[test]
#[ignore = "needs a GPU"]
fn on_this_machine() {
    for check in checks::ON_A_GPU {
        println!("{check}");
        let said = stand_in::run(stand_in::one_check(check), Driver::OfThisMachine);
        print!("{}", said.out);
        said.succeeds();
    }
}

/// A skipped check must be seen: past the test runner's capture.
fn skip(what: &str, why: &str) {
    let line = format!("SKIPPED {what}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The stand-in with the kernels from their source, where there is a compiler.
fn source(what: &str) -> Option<&'static StandIn> {
    stand_in::from_source().map_err(|why| skip(what, why)).ok()
}

/// The one with the kernels from the PTX, where there is also a Python.
fn ptx(what: &str) -> Option<&'static StandIn> {
    stand_in::from_ptx().map_err(|why| skip(what, why)).ok()
}

/// A GPU for both kernels.
const NEW: (&str, &str) = ("STANDIN_CAPABILITY", "80");

#[test]
fn the_kernels_are_the_reference() {
    let Some(stand_in) = source("the_kernels_are_the_reference") else { return };
    for check in ["single", "half"] {
        stand_in.run(check, &[NEW]).succeeds();
    }
}

#[test]
fn the_ptx_is_the_reference() {
    let Some(stand_in) = ptx("the_ptx_is_the_reference") else { return };
    for check in ["single", "half"] {
        stand_in.run(check, &[NEW]).succeeds();
    }
}

/// The rehearsal of what is done with many positions on a GPU.
#[test]
fn the_built_in_network_is_the_processors() {
    let Some(stand_in) = source("the_built_in_network_is_the_processors") else { return };
    stand_in.run("few_real_positions", &[NEW]).succeeds();
}

#[test]
fn no_number_comes_through() {
    let Some(stand_in) = source("no_number_comes_through") else { return };
    stand_in.run("no_number", &[NEW]).succeeds();
    let Some(stand_in) = ptx("no_number_comes_through") else { return };
    stand_in.run("no_number", &[NEW]).succeeds();
}

/// A GPU that runs many blocks at once.
const MANY: (&str, &str) = ("STANDIN_MULTIPROCESSORS", "16");

/// What finds mistakes in a kernel when it splits a position.
fn split_finder(kernel: &str) -> &'static str {
    if kernel == "forward" { "mistake_in_split_single" } else { "mistake_in_split_half" }
}

/// What finds mistakes in a kernel.
fn finder(kernel: &str) -> &'static str {
    if kernel == "forward" { "mistake_in_single" } else { "mistake_in_half" }
}

/// A position that is split over blocks is evaluated to the same bits.
#[test]
fn splits_are_the_whole() {
    let Some(stand_in) = source("splits_are_the_whole") else { return };
    stand_in.run("splits", &[NEW, MANY]).succeeds();
    let Some(stand_in) = ptx("splits_are_the_whole") else { return };
    stand_in.run("splits", &[NEW, MANY]).succeeds();
}

/// Every block of a split position has a multiprocessor to itself; large batches are not split.
#[test]
fn small_batches_are_split() {
    let Some(stand_in) = source("small_batches_are_split") else { return };
    let said = stand_in.run("choice", &[MANY, ("STANDIN_TELL", "1")]);
    said.succeeds();
    let told: Vec<_> =
        said.err.lines().filter_map(|line| line.strip_prefix("stand-in: ")).collect();
    let expected = [
        "forward_8, 8 blocks",
        "forward_8, 16 blocks",
        "forward_4, 12 blocks",
        "forward_4, 16 blocks",
        "forward_2, 10 blocks",
        "forward_2, 16 blocks",
        "forward, 9 blocks",
        "forward, 16 blocks",
    ];
    assert_eq!(told, expected);
    assert!(said.out.contains("expected 1 or 2 or 4 or 8 blocks for it"), "{said:?}");
}

/// Without any one of its barriers a kernel is wrong, and it shows: those of a block, of the blocks of a position, and in these the wait
/// for the other blocks.
#[test]
fn a_missing_barrier_is_found() {
    let Some(stand_in) = source("a_missing_barrier_is_found") else { return };
    let lines = |file: &str, of: &dyn Fn(&str) -> bool| -> Vec<String> {
        let text = std::fs::read_to_string(stand_in::kernels().join(file)).unwrap();
        let lines = (1..).zip(text.lines()).filter(|(_, line)| of(line));
        lines.map(|(number, _)| format!("{file}:{number}")).collect()
    };
    let is_barrier = |line: &str| {
        ["__syncthreads();", "meet(team);", "is_waiting(team"]
            .iter()
            .any(|call| line.contains(call))
    };
    for kernel in stand_in::KERNELS {
        let file = format!("{kernel}.cu");
        let of_one = lines(&file, &|line| is_barrier(line) && !line.contains("SPLIT > 1"));
        let of_several = lines(&file, &|line| is_barrier(line) && !line.contains("SPLIT == 1"));
        let of_several = [of_several, lines("common.cuh", &is_barrier)].concat();
        for (check, blocks, barriers) in
            [(finder(kernel), "2", of_one), (split_finder(kernel), "8", of_several)]
        {
            let settings = [NEW, ("STANDIN_MULTIPROCESSORS", blocks)];
            for barrier in &barriers {
                let without = [settings[0], settings[1], ("STANDIN_WITHOUT_BARRIER", barrier)];
                let said = stand_in.run(check, &without);
                assert!(!said.success, "{check}, {barrier}: nobody misses the barrier");
            }
            assert!(barriers.len() >= 8, "{check}: {barriers:?}");
            stand_in.run(check, &settings).succeeds();
        }
    }
}

/// Two operands of one instruction of the PTX exchanged, of a convolution's sum: the source is still right, what ships is not.
#[test]
fn a_swapped_operand_is_found() {
    let wrong = [
        // Of a x b + c, b and c.
        swapped("forward", "forward", "fma.rn.f32", 2, 3),
        // Of a product of matrices, the two halves of b.
        swapped("forward_half", "forward_half_64", "mma.sync", 8, 9),
    ];
    // All that the host loads for the network of the check.
    let entries = ["forward", "forward_2", "forward_4", "forward_half_64", "forward_half_64_2"];
    match stand_in::translated("swapped", &wrong, &entries) {
        Ok(stand_in) => {
            for kernel in stand_in::KERNELS {
                let said = stand_in.run(finder(kernel), &[NEW]);
                assert!(!said.success && said.err.contains("more than"), "{kernel}: {said:?}");
            }
        }
        Err(why) => skip("a_swapped_operand_is_found", &why),
    }
}

/// A PTX text in which one instruction, the middle one of its kind in an entry, has two of its registers exchanged.
fn swapped(kernel: &str, entry: &str, instruction: &str, first: usize, second: usize) -> String {
    let text = stand_in::ptx(kernel);
    let start = text.find(&format!(".entry {entry}(")).expect("the entry is there");
    let is_one = |line: &&str| line.trim_start().starts_with(instruction);
    let all: Vec<_> = text[start..].split("\n}").next().unwrap().lines().filter(is_one).collect();
    let right = all[all.len() / 2];
    assert_eq!(text[start..].matches(right).count(), 1, "{right}");

    let is_word = |c: char| c == '%' || c.is_alphanumeric();
    let registers: Vec<_> =
        right.split(|c| !is_word(c)).filter(|word| word.starts_with('%')).collect();
    let (a, b) = (registers[first], registers[second]);
    let words = right.split_inclusive(|c| !is_word(c)).map(|piece| {
        let word = piece.trim_end_matches(|c| !is_word(c));
        let other = if word == a {
            b
        } else if word == b {
            a
        } else {
            word
        };
        other.to_owned() + &piece[word.len()..]
    });
    let wrong: String = words.collect();
    assert_ne!(wrong, right);
    text[..start].to_owned() + &text[start..].replace(right, &wrong)
}

/// Old GPUs compute in fp32, and so do new ones with heads that are too wide for the other kernel.
#[test]
fn the_arithmetic_suits_the_gpu() {
    let Some(stand_in) = source("the_arithmetic_suits_the_gpu") else { return };
    for (capability, name) in
        [("61", "cuda, fp32"), ("75", "cuda, fp32"), ("80", "cuda, fp16"), ("120", "cuda, fp16")]
    {
        let said = stand_in.run("name", &[("STANDIN_CAPABILITY", capability)]);
        assert!(said.success && said.out.contains(name), "{capability}: {said:?}");
    }
    let said = stand_in.run("half", &[("STANDIN_CAPABILITY", "75")]);
    assert!(!said.success && said.err.contains("compute capability 7.5, expected 8.0"), "{said:?}");
}

/// When memory is short a batch is evaluated in parts.
#[test]
fn short_memory_halves_the_batch() {
    let Some(stand_in) = source("short_memory_halves_the_batch") else { return };
    for capability in ["61", "80"] {
        let settings = [("STANDIN_CAPABILITY", capability), ("STANDIN_MEMORY", "4500000")];
        stand_in.run("short_memory", &settings).succeeds();
    }
}

/// What is told of a driver, a GPU or a network that does not do: one line with these words.
#[test]
fn refusals_say_what_to_do() {
    let Some(stand_in) = source("refusals_say_what_to_do") else { return };
    for (name, value, words) in [
        ("STANDIN_DRIVER", "11080", "CUDA 11.8, expected 12.0 or newer; install driver 525"),
        (
            "STANDIN_DEVICES",
            "0",
            "the driver sees no GPU; look at nvidia-smi, and whether CUDA_VISIBLE_DEVICES",
        ),
        ("STANDIN_CAPABILITY", "60", "compute capability 6.0, expected 6.1"),
        ("STANDIN_MEMORY", "1000", "uploading the weights: not enough memory"),
        ("STANDIN_FAIL", "cuInit:100", "starting the driver: the driver sees no GPU"),
        ("STANDIN_FAIL", "cuInit:34", "stub, expected the driver's"),
        ("STANDIN_FAIL", "cuInit:803", "different versions; restart"),
        ("STANDIN_FAIL", "cuInit:999", "starting the driver: error 999"),
        ("STANDIN_FAIL", "cuDevicePrimaryCtxRetain:2", "opening the GPU: not enough memory"),
        ("STANDIN_FAIL", "cuModuleLoadData:222", "loading the kernels: the driver is too old"),
        ("STANDIN_FAIL", "cuLaunchKernel:719", "starting the kernel: error 719"),
        ("STANDIN_FAIL", "cuStreamSynchronize:700", "evaluating a batch: error 700"),
        ("STANDIN_FAIL", "cuMemHostAlloc:2", "allocating room for a batch: not enough memory"),
    ] {
        let said = stand_in.run("refusal", &[(name, value)]);
        let told = said.out.lines().find(|line| line.starts_with("CUDA: ")).unwrap_or_default();
        assert!(said.success && told.contains(words), "{name}={value}: {said:?}");
    }
}

#[test]
fn unsuitable_networks_are_refused() {
    let Some(stand_in) = source("unsuitable_networks_are_refused") else { return };
    stand_in.run("unsuitable", &[]).succeeds();
}

/// The program itself: the same moves on the stand-in as on the processor, and without a driver a line that says so.
#[test]
fn the_program_runs_on_it_or_says_why_not() {
    let Some(stand_in) = source("the_program_runs_on_it_or_says_why_not") else { return };
    let weights = stand_in::folder().join("small.safetensors");
    std::fs::write(&weights, random_weights::file(&random_weights::small(), 1)).unwrap();
    let predict = |driver: Driver<'_>, backend: &str| -> Said {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fianchetto"));
        command.args(["predict", "--backend", backend, "--weights"]).arg(&weights);
        stand_in::run(command, driver)
    };
    let cpu = predict(Driver::None, "cpu");
    assert!(cpu.success && cpu.err.is_empty(), "{cpu:?}");
    for backend in ["cuda", "auto"] {
        let there = predict(Driver::StandIn(stand_in), backend);
        assert!(there.success && there.err.is_empty(), "{there:?}");
        assert_eq!(there.out, cpu.out);

        let nowhere = predict(Driver::None, backend);
        assert!(nowhere.success && nowhere.out == cpu.out, "{nowhere:?}");
        let told = &nowhere.err;
        assert!(
            told.lines().count() == 1
                && told.contains("CUDA: ")
                && told.contains("running on the processor"),
            "{told}"
        );
    }
}
