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
            "verified against the checkpoint as understood here, not against PyTorch: same best move in 100 of 100 positions, largest difference of a probability 0.000e0, of a value 0.000e0"
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
    let nowhere = refused(&golden("full.pt"), &folder.0.join("nowhere/out"), &[], 1);
    assert!(nowhere.contains("cannot write") && nowhere.contains("nowhere/out"), "{nowhere}");
    assert_eq!(std::fs::read(&output).unwrap(), b"before");
    assert_eq!(folder.names(), ["out.safetensors"]);
}

#[test]
fn a_wrong_command_line_is_told_in_one_line() {
    let output = Path::new("out.safetensors");
    let fault = refused(&golden("full.pt"), output, &["--dtype", "f8"], 2);
    assert_eq!(
        fault,
        "error: invalid value 'f8' for '--dtype <DTYPE>' [possible values: f32, f16]; see fianchetto-convert --help\n"
    );
    let fault = refused(&golden("full.pt"), output, &["--rename", "stem"], 2);
    assert!(fault.ends_with(": expected FROM=TO; see fianchetto-convert --help\n"), "{fault}");
}

#[test]
fn the_file_of_an_interrupted_run_is_replaced() {
    let folder = Folder::new("interrupted");
    let output = folder.0.join("out.safetensors");
    std::fs::write(folder.0.join("out.safetensors.part"), vec![1; 5_000_000]).unwrap();
    let (_, bytes) = converted(&golden("full.pt"), &output, &[]);
    compare(&bytes, "full.expected.safetensors", Dtype::F32);
    assert_eq!(folder.names(), ["out.safetensors"]);
}

#[test]
fn nothing_but_a_file_is_replaced() {
    let folder = Folder::new("places");
    let at = |name: &str| folder.0.join(name);
    std::fs::create_dir(at("folder")).unwrap();
    std::fs::write(at("read_only"), "before").unwrap();
    let mut permissions = std::fs::metadata(at("read_only")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(at("read_only"), permissions).unwrap();
    std::fs::copy(golden("full.pt"), at("full.pt")).unwrap();
    std::fs::copy(golden("full.pt"), at("full.part")).unwrap();
    let mut cases = vec![
        ("full.pt", "folder", "it is a folder, pipe or device"),
        ("full.pt", "read_only", "it is read-only"),
        ("full.pt", "full.pt", "writing it would replace the file that is converted"),
        ("full.pt", "folder/../full.pt", "writing it would replace the file that is converted"),
        ("full.part", "full", "writing it would replace the file that is converted"),
    ];
    #[cfg(unix)]
    {
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        for (target, link) in
            [("full.pt", "to_input"), ("pipe", "to_pipe"), ("nothing", "to_nothing")]
        {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        cases.extend([
            ("full.pt", "pipe", "it is a folder, pipe or device"),
            ("full.pt", "to_pipe", "it is a folder, pipe or device"),
            ("full.pt", "to_input", "writing it would replace the file that is converted"),
            ("to_input", "full.pt", "writing it would replace the file that is converted"),
            ("full.pt", "to_nothing", "it leads nowhere"),
        ]);
    }
    let before = folder.names();
    for (input, output, expected) in cases {
        let fault = refused(&at(input), &at(output), &[], 1);
        assert!(fault.contains(&format!("{output}: {expected}")), "{fault}");
        assert!(fault.contains("give another OUT"), "{fault}");
    }
    assert_eq!(folder.names(), before);
    assert_eq!(std::fs::read(at("read_only")).unwrap(), b"before");
    assert_eq!(std::fs::read(at("full.pt")).unwrap(), std::fs::read(golden("full.pt")).unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        assert!(std::fs::metadata(at("pipe")).unwrap().file_type().is_fifo());
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_written_through() {
    let folder = Folder::new("link");
    let inner = folder.0.join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("weights"), "before").unwrap();
    let link = folder.0.join("link.safetensors");
    std::os::unix::fs::symlink("inner/weights", &link).unwrap();
    converted(&golden("full.pt"), &link, &["--verify"]);
    assert!(link.is_symlink());
    let bytes = std::fs::read(inner.join("weights")).unwrap();
    compare(&bytes, "full.expected.safetensors", Dtype::F32);
    assert_eq!(folder.names(), ["inner", "link.safetensors"]);
    assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 1);
}

/// The limit on the size of files stands for a full disk.
#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_finished_is_named_and_removed() {
    let folder = Folder::new("room");
    let output = folder.0.join("out.safetensors");
    std::fs::write(&output, "before").unwrap();
    let run = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$1\" \"$2\""])
        .arg(env!("CARGO_BIN_EXE_fianchetto-convert"))
        .args([&golden("full.pt"), &output])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1));
    let fault = String::from_utf8(run.stderr).unwrap();
    assert!(fault.starts_with(&format!("error: cannot write {}", output.display())), "{fault}");
    assert!(fault.contains("File too large") && fault.trim_end().lines().count() == 1, "{fault}");
    assert_eq!(std::fs::read(&output).unwrap(), b"before");
    assert_eq!(folder.names(), ["out.safetensors"]);
}

/// Where a tensor begins in a safetensors file.
fn start(bytes: &[u8], name: &str) -> usize {
    let file = SafeTensors::deserialize(bytes).unwrap();
    file.tensor(name).unwrap().data().as_ptr() as usize - bytes.as_ptr() as usize
}

#[test]
fn what_the_engine_would_refuse_is_not_written() {
    let folder = Folder::new("engine");
    let single = folder.0.join("single.safetensors");
    let (_, bytes) = converted(&golden("full.pt"), &single, &[]);
    for (tensor, value, expected) in [
        (
            "stem.1.running_var",
            -1.0f32,
            "tensor stem.1.running_var gives -1.0, expected no negative",
        ),
        (
            "stem.1.weight",
            3e38,
            "tensor stem.0.weight gives inf, expected finite numbers after folding",
        ),
        ("gate.bias", f32::NAN, "tensor gate.bias: element [0] is NaN"),
    ] {
        let mut changed = bytes.clone();
        changed[start(&bytes, tensor)..][..4].copy_from_slice(&value.to_le_bytes());
        std::fs::write(&single, changed).unwrap();
        let fault = refused(&single, &folder.0.join("out.safetensors"), &[], 1);
        assert!(fault.contains(&format!("single.safetensors: {expected}")), "{fault}");
        assert_eq!(folder.names(), ["single.safetensors"]);
    }
}

/// 65520 is the first number that rounds beyond f16's largest, 65504.
#[test]
fn f16_overflow_names_the_tensor() {
    let folder = Folder::new("overflow");
    let single = folder.0.join("single.safetensors");
    let (_, bytes) = converted(&golden("full.pt"), &single, &[]);
    let start = start(&bytes, "gate.weight");
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

/// A file with a position a line: those of the engine's golden outputs, twice over.
fn calibration(folder: &Folder) -> PathBuf {
    let positions = include_str!("../../../tests/golden/positions.txt");
    let path = folder.0.join("positions");
    std::fs::write(&path, positions.repeat(100_usize.div_ceil(positions.lines().count()))).unwrap();
    path
}

#[test]
fn a_network_is_quantized() {
    let folder = Folder::new("quantize");
    let (plain, bytes, again) =
        (folder.0.join("plain"), folder.0.join("bytes"), folder.0.join("again"));
    let positions = calibration(&folder);
    let quantize = ["--quantize", positions.to_str().unwrap()];
    converted(&golden("full.pt"), &plain, &[]);
    let (text, file) = converted(&golden("full.pt"), &bytes, &quantize);
    assert!(text.contains("same best move in") && text.contains("kept apart"), "{text}");
    // A plain weights file is as good as the checkpoint, and the same input gives the same bytes.
    let (_, same) = converted(&plain, &again, &quantize);
    let of = |file: &[u8], name: &str| {
        let file = SafeTensors::deserialize(file).unwrap();
        let view = file.tensor(name).unwrap();
        (view.dtype(), view.data().to_vec())
    };
    assert_eq!(of(&file, "tower.0.conv1.weight").0, Dtype::I8);
    assert_eq!(of(&file, "policy_fc.weight").0, Dtype::F32);
    for name in ["tower.0.conv1.weight", "tower.0.conv2.bias", "tower.0.conv1.input_scale"] {
        assert!(of(&file, name) == of(&same, name), "{name}");
    }
    // The largest weight of each output channel is the largest byte.
    let (_, weights) = of(&file, "tower.0.conv1.weight");
    let channels = of(&file, "tower.0.conv1.scale").1.len() / 4;
    for filter in weights.chunks(weights.len() / channels) {
        assert_eq!(filter.iter().map(|&byte| (byte as i8).unsigned_abs()).max(), Some(127));
    }

    let all = ["--quantize", quantize[1], "--quantize-policy"];
    let (_, file) = converted(&golden("full.pt"), &again, &all);
    assert_eq!(of(&file, "policy_fc.weight").0, Dtype::I8);
}

#[test]
fn a_bad_calibration_file_is_refused() {
    let folder = Folder::new("calibration");
    let (path, output) = (folder.0.join("positions"), folder.0.join("out"));
    let quantize = ["--quantize", path.to_str().unwrap()];
    let refused = |status| refused(&golden("full.pt"), &output, &quantize, status);
    assert!(refused(1).contains("give a file with a position a line"));
    std::fs::write(&path, "startpos\n\nstartpos moves e2e5\n").unwrap();
    let text = refused(1);
    assert!(text.contains("line 3") && text.contains("e2e5"), "{text}");
    std::fs::write(&path, "startpos\n".repeat(38)).unwrap();
    assert!(refused(1).contains("38 positions, expected at least 40"));
    assert!(!output.exists());
}
