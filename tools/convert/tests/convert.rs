//! The command from end to end on a whole small network, `golden/full.pt`.

use safetensors::{Dtype, SafeTensors};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own for each test, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("fianchetto-convert-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn convert(input: &Path, output: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fianchetto-convert"));
    command.arg(input).arg(output).args(arguments).output().unwrap()
}

/// Converts, expecting success; gives what was printed and the file.
fn converted(input: &Path, output: &Path, arguments: &[&str]) -> (String, Vec<u8>) {
    let run = convert(input, output, arguments);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    (String::from_utf8(run.stdout).unwrap(), std::fs::read(output).unwrap())
}

/// Converts, expecting failure; gives the one line of the error.
fn refused(input: &Path, output: &Path, arguments: &[&str], status: i32) -> String {
    let run = convert(input, output, arguments);
    assert_eq!(run.status.code(), Some(status));
    let text = String::from_utf8(run.stderr).unwrap();
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    text
}

/// The policy weights that `make.py` makes, by its formula.
fn policy() -> impl Iterator<Item = f32> {
    (0..).map(|i: u32| (i * 37 % 1021) as f32 / 512.0 - 510.0 / 512.0)
}

/// Compares with a file that Python's safetensors library wrote, byte for byte.
fn compare(bytes: &[u8], expected: &str, matrices: Dtype) {
    let expected = std::fs::read(golden(expected)).unwrap();
    let expected = SafeTensors::deserialize(&expected).unwrap();
    let found = SafeTensors::deserialize(bytes).unwrap();
    assert_eq!(found.len(), expected.len() + 2);
    for (name, view) in found.iter() {
        let dtype = if view.shape().len() > 1 { matrices } else { Dtype::F32 };
        assert_eq!(view.dtype(), dtype, "{name}");
        if let Some(name) = name.strip_prefix("policy_fc.") {
            assert_eq!(view.shape()[0], 4096);
            let size = if view.dtype() == Dtype::F16 { 2 } else { 4 };
            let value = |b: &[u8]| match size {
                2 => half::f16::from_le_bytes([b[0], b[1]]).to_f32(),
                _ => f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
            };
            let values = view.data().chunks_exact(size).map(value);
            assert_eq!(values.len(), if name == "weight" { 4096 * 64 } else { 4096 });
            assert!(values.zip(policy()).all(|(found, expected)| found == expected), "{name}");
        } else {
            let expected = expected.tensor(name).unwrap();
            assert_eq!((view.shape(), view.data()), (expected.shape(), expected.data()), "{name}");
        }
    }
}

#[test]
fn f32_is_what_pytorch_holds() {
    let folder = Folder::new("f32");
    let output = folder.0.join("out.safetensors");
    let arguments = ["--source", "a test", "--licence", "CC0-1.0"];
    let (printed, bytes) = converted(&golden("full.pt"), &output, &arguments);
    compare(&bytes, "full.expected.safetensors", Dtype::F32);
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().clone().unwrap();
    for (key, value) in [
        ("format_version", "1"),
        ("encoding", "canonical19"),
        ("policy", "from-to-4096"),
        ("channels", "4"),
        ("blocks", "2"),
        ("recurrence", "2"),
        ("gate", "true"),
        ("se_width", "2"),
        ("policy_channels", "1"),
        ("value_channels", "2"),
        ("value_hidden", "3"),
        ("source", "a test"),
        ("licence", "CC0-1.0"),
    ] {
        assert_eq!(metadata[key], value, "{key}");
    }
    assert!(printed.contains(&format!("{} bytes, F32", bytes.len())), "{printed}");
    assert!(!printed.contains("rounding"), "{printed}");

    let (printed, again) =
        converted(&golden("full.pt"), &output, &[&arguments[..], &["--verify"]].concat());
    assert!(
        printed.contains(
            "verified: same best move in 100 of 100 positions, largest difference of a probability 0.000e0, of a value 0.000e0"
        ),
        "{printed}"
    );
    assert!(bytes == again, "another run, other bytes");
    assert_eq!(folder.names(), ["out.safetensors"]);
}

#[test]
fn f16_is_rounded_as_pytorch_rounds() {
    let folder = Folder::new("f16");
    let output = folder.0.join("out.safetensors");
    let (printed, bytes) = converted(&golden("full.pt"), &output, &["--dtype", "f16"]);
    compare(&bytes, "full.f16.safetensors", Dtype::F16);
    assert!(printed.contains("largest absolute change by rounding: "), "{printed}");
    assert!(printed.contains("largest relative change by rounding: "), "{printed}");

    // By way of an f32 file, whose metadata tells the recurrence and the source.
    let single = folder.0.join("single.safetensors");
    converted(&golden("full.pt"), &single, &[]);
    let (_, again) = converted(&single, &folder.0.join("half.safetensors"), &["--dtype", "f16"]);
    assert!(bytes == again, "by way of f32, other bytes");
}

#[test]
fn a_failure_leaves_everything_as_it_was() {
    let folder = Folder::new("failure");
    let output = folder.0.join("out.safetensors");
    std::fs::write(&output, "before").unwrap();
    let fault = refused(&golden("malicious.pt"), &output, &[], 1);
    assert!(fault.starts_with("error: ") && fault.contains("posix.system"), "{fault}");
    let repeated = refused(&golden("plain.pt"), &output, &[], 1);
    assert!(repeated.contains("repeat elements"), "{repeated}");
    let absent = refused(&folder.0.join("absent.pt"), &output, &[], 1);
    assert!(absent.contains("absent.pt"), "{absent}");
    assert!(refused(&golden("full.pt"), &output, &["--dtype", "f8"], 2).contains("f32, f16"));
    let nowhere = refused(&golden("full.pt"), &folder.0.join("nowhere/out"), &[], 1);
    assert!(nowhere.contains("cannot write"), "{nowhere}");
    assert_eq!(std::fs::read(&output).unwrap(), b"before");
    assert_eq!(folder.names(), ["out.safetensors"]);
}

/// 65520 is the first number that rounds beyond f16's largest, 65504.
#[test]
fn f16_overflow_names_the_tensor() {
    let folder = Folder::new("overflow");
    let single = folder.0.join("single.safetensors");
    let (_, bytes) = converted(&golden("full.pt"), &single, &[]);
    let start = {
        let file = SafeTensors::deserialize(&bytes).unwrap();
        file.tensor("gate.weight").unwrap().data().as_ptr() as usize - bytes.as_ptr() as usize
    };
    for (value, overflows) in [(65519.0f32, false), (65520.0, true)] {
        let mut changed = bytes.clone();
        changed[start..start + 4].copy_from_slice(&value.to_le_bytes());
        std::fs::write(&single, changed).unwrap();
        let output = folder.0.join("half.safetensors");
        if overflows {
            let fault = refused(&single, &output, &["--dtype", "f16"], 1);
            assert!(fault.contains("gate.weight holds 65520"), "{fault}");
            assert_eq!(folder.names(), ["half.safetensors", "single.safetensors"]);
        } else {
            let (printed, _) = converted(&single, &output, &["--dtype", "f16"]);
            let line = "largest absolute change by rounding: 1.500e1 in gate.weight (6.5519e4 -> 6.5504e4)";
            assert!(printed.contains(line), "{printed}");
        }
    }
}
