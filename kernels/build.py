#!/usr/bin/env python3
"""Makes the .ptx beside each kernel from its .cu, or checks that they are the ones (--check).

Needs the packages in requirements.txt: NVRTC, NVIDIA's compiler as a library, and ptxas; no CUDA toolkit, no GPU. NVRTC is pinned to
12.0 because a PTX file asks for a driver of its compiler's version: 12.0 writes PTX ISA 8.0, which every driver from 525 on
reads. The first line of a .ptx holds the SHA-256 of its sources, so that a stale one is found without a compiler, too.

usage: build.py [--check]      exit status 0 done, 1 something is wrong, 3 checked only what needs no compiler
"""
import ctypes
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

KERNELS = pathlib.Path(__file__).parent.resolve()

# Per kernel file: the oldest architecture it is for, those that ptxas tries, and the most registers and bytes of spills that a
# thread may have there. A thread of a block of 512, of `forward`, cannot have more than 128 registers. What spills are sizes and addresses,
# once a convolution: the loops over its weights have no access to local memory.
FILES = {
    "forward": ("compute_61", ["sm_61", "sm_75", "sm_80", "sm_90", "sm_120"], 255, 192),
    "forward_half": ("compute_80", ["sm_80", "sm_86", "sm_90", "sm_120"], 255, 96),
}
PTX_ISA_AT_MOST = (8, 0)
STATIC_SHARED_AT_MOST = 0  # All shared memory is asked for at the launch.


def package_file(name):
    """A file of an installed NVIDIA package, or None."""
    found = (path for folder in sys.path for path in pathlib.Path(folder or ".").glob(f"nvidia/{name}"))
    return next(found, None)


def stamp(name):
    sources = [KERNELS / f"{name}.cu", *sorted(KERNELS.glob("*.cuh"))]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    return f"// SHA-256 of the sources: {digest.hexdigest()}\n"


def compile_ptx(library, name, architecture):
    """The PTX text of one .cu file."""
    nvrtc = ctypes.CDLL(str(library))
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    program = ctypes.c_void_p()

    def call(function, *arguments):
        status = getattr(nvrtc, function)(*arguments)
        if status:
            sys.exit(f"error: {name}.cu: {function}: {nvrtc.nvrtcGetErrorString(status).decode()}\n{log()}")

    def text(kind):
        size = ctypes.c_size_t()
        call(f"nvrtcGet{kind}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        call(f"nvrtcGet{kind}", program, buffer)
        return buffer.value.decode()

    def log():
        return text("ProgramLog").strip()

    source = (KERNELS / f"{name}.cu").read_bytes()
    call("nvrtcCreateProgram", ctypes.byref(program), source, f"{name}.cu".encode(), 0, None, None)
    options = [f"--gpu-architecture={architecture}", "--std=c++17", f"--include-path={KERNELS}"]
    options = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    call("nvrtcCompileProgram", program, len(options), options)
    if log():
        print(log(), file=sys.stderr)
    return text("PTX")


def limits(ptxas, path, architecture, registers, spill):
    """What ptxas says against a PTX file for one architecture, a line each."""
    with tempfile.NamedTemporaryFile() as output:
        command = [ptxas, "-v", f"-arch={architecture}", path, "-o", output.name]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return [done.stderr.strip()]
    wrong = []
    for entry in done.stderr.split("Compiling entry function")[1:]:
        kernel = re.search(r"'(\w+)'", entry)[1]
        spilled = int(re.search(r"(\d+) bytes spill stores", entry)[1])
        used = int(re.search(r"Used (\d+) registers", entry)[1])
        shared = re.search(r"(\d+) bytes smem", entry)
        shared = int(shared[1]) if shared else 0
        print(f"{path.name} {architecture}: {kernel} {used} registers, {spilled} bytes spilled, {shared} bytes of static shared memory")
        if used > registers:
            wrong.append(f"{kernel} for {architecture}: {used} registers, expected at most {registers}")
        if spilled > spill:
            wrong.append(f"{kernel} for {architecture}: {spilled} bytes spilled, expected at most {spill}")
        if shared > STATIC_SHARED_AT_MOST:
            wrong.append(f"{kernel} for {architecture}: {shared} bytes of static shared memory, expected none")
    return wrong


def check(name, nvrtc, ptxas):
    """All that is wrong with one committed PTX file."""
    architecture, targets, registers, spill = FILES[name]
    path = KERNELS / f"{name}.ptx"
    if not path.exists():
        return [f"there is no {path.name}: run kernels/build.py"]
    ptx, wrong = path.read_text(), []
    if not ptx.startswith(stamp(name)):
        wrong.append("made from other sources: run kernels/build.py")
    elif nvrtc and ptx != stamp(name) + compile_ptx(nvrtc, name, architecture):
        wrong.append("not what the compiler makes of its sources: run kernels/build.py")
    version = re.search(r"^\.version (\d+)\.(\d+)", ptx, re.M)
    if not version or tuple(map(int, version.groups())) > PTX_ISA_AT_MOST:
        wrong.append(f"PTX ISA {version and version[0]}, expected at most {PTX_ISA_AT_MOST}: too new for older drivers")
    if not re.search(rf"^\.target {architecture.replace('compute', 'sm')}$", ptx, re.M):
        wrong.append(f"not for {architecture}")
    if ptxas:
        for target in targets:
            wrong += limits(ptxas, path, target, registers, spill)
    return wrong


def main():
    nvrtc, ptxas = package_file("cuda_nvrtc/lib/libnvrtc.so.12"), package_file("cuda_nvcc/bin/ptxas")
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    if not sys.argv[1:]:
        if not nvrtc:
            sys.exit("error: no NVRTC found: pip install --no-deps -r kernels/requirements.txt")
        for name, (architecture, *_) in FILES.items():
            ptx = stamp(name) + compile_ptx(nvrtc, name, architecture)
            (KERNELS / f"{name}.ptx").write_text(ptx)
    wrong = [f"{name}.ptx: {line}" for name in FILES for line in check(name, nvrtc, ptxas)]
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    if wrong:
        sys.exit(1)
    if not (nvrtc and ptxas):
        missing = " and ".join(what for what, there in [("NVRTC", nvrtc), ("ptxas", ptxas)] if not there)
        print(f"SKIPPED kernels/build.py: no {missing}: pip install --no-deps -r kernels/requirements.txt", file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main()
