//! Makes the stand-in for the driver library, and processes that find it.

use super::CHECK;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// A folder with a libcuda.so.1.
pub struct StandIn(PathBuf);

/// How a process ended and what it said.
#[derive(Debug)]
pub struct Said {
    pub success: bool,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn succeeds(&self) {
        assert!(self.success, "{}\n{}", self.out, self.err);
    }
}

/// The kernels' sources.
pub fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// Where this test keeps what it makes.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The kernels' files.
pub const KERNELS: [&str; 2] = ["forward", "forward_half"];

/// The one with the kernels from their source, or why there is none.
pub fn from_source() -> Result<&'static StandIn, &'static str> {
    static MADE: LazyLock<Result<StandIn, String>> = LazyLock::new(|| {
        make("source", &KERNELS.map(|kernel| kernels().join(format!("{kernel}.cu"))))
    });
    MADE.as_ref().map_err(String::as_str)
}

/// The one with the kernels from the PTX that ships.
pub fn from_ptx() -> Result<&'static StandIn, &'static str> {
    static MADE: LazyLock<Result<StandIn, String>> =
        LazyLock::new(|| translated("ptx", &KERNELS.map(ptx), &[]));
    MADE.as_ref().map_err(String::as_str)
}

/// The PTX that ships.
pub fn ptx(kernel: &str) -> String {
    std::fs::read_to_string(kernels().join(format!("{kernel}.ptx"))).unwrap()
}

/// A stand-in with these kernels of some PTX texts, or all of them.
pub fn translated(name: &str, texts: &[String], entries: &[&str]) -> Result<StandIn, String> {
    let mut sources = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let [ptx, source] = ["ptx", "cpp"].map(|kind| folder().join(format!("{name}{i}.{kind}")));
        std::fs::write(&ptx, text).unwrap();
        let translator = kernels().join("cpu/translate.py");
        let status =
            Command::new("python3").arg(translator).args([&ptx, &source]).args(entries).status();
        let status = status.map_err(|error| format!("no python3: {error}"))?;
        assert!(status.success(), "{name} cannot be translated");
        sources.push(source);
    }
    make(name, &sources)
}

fn compiler() -> Command {
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned()));
    command.args([
        "-std=c++17",
        "-O2",
        "-march=native",
        "-fPIC",
        // What is one instruction is the kernels' to say, also in the PTX.
        "-ffp-contract=off",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unknown-pragmas",
    ]);
    command.arg("-I").arg(kernels());
    command
}

/// Compiles the driver and kernels into a library. A kernel that does not compile fails the test; without a compiler there is
/// nothing to test with.
fn make(name: &str, kernel_files: &[PathBuf]) -> Result<StandIn, String> {
    let made = folder().join(name);
    std::fs::create_dir_all(&made).unwrap();
    let driver = kernels().join("cpu/driver.cpp");
    let mut objects = Vec::new();
    let children: Vec<_> = (kernel_files.iter().chain([&driver]))
        .map(|source| {
            objects.push(made.join(source.file_name().unwrap()).with_extension("o"));
            let mut command = compiler();
            command.args(["-x", "c++", "-c"]).arg(source).arg("-o").arg(objects.last().unwrap());
            command.spawn()
        })
        .collect();
    for child in children {
        let status = child.map_err(|error| format!("no C++ compiler: {error}"))?.wait().unwrap();
        assert!(status.success(), "{name} does not compile");
    }
    let library = made.join("libcuda.so.1");
    let mut link = compiler();
    link.args(["-shared", "-pthread", "-Wl,-soname,libcuda.so.1", "-o"]).arg(library);
    assert!(link.args(&objects).status().unwrap().success(), "{name} does not link");
    Ok(StandIn(made))
}

/// Where a process finds a driver library.
pub enum Driver<'a> {
    StandIn(&'a StandIn),
    OfThisMachine,
    /// Nowhere: a GPU of this machine is hidden from it.
    None,
}

/// This program again, for one check.
pub fn one_check(check: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "one_check", "--ignored", "--nocapture"]).env(CHECK, check);
    command
}

impl StandIn {
    /// Makes a check in a process of its own, with these settings of the stand-in.
    pub fn run(&self, check: &str, settings: &[(&str, &str)]) -> Said {
        let mut command = one_check(check);
        command.envs(settings.iter().copied());
        run(command, Driver::StandIn(self))
    }
}

/// Runs a program.
pub fn run(mut command: Command, driver: Driver<'_>) -> Said {
    match driver {
        Driver::StandIn(StandIn(folder)) => command.env("LD_LIBRARY_PATH", folder),
        Driver::OfThisMachine => &mut command,
        Driver::None => command.env_remove("LD_LIBRARY_PATH").env("CUDA_VISIBLE_DEVICES", ""),
    };
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { success: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
}
