#!/usr/bin/env python3
"""Translates the kernels of a PTX file to C++ that runs on fibers.h, so that the tests run the very code that ships.

One instruction becomes one statement; what an instruction means is in ptx.h. It knows those that NVRTC makes of our kernels and
refuses any other by name.

usage: translate.py KERNEL.ptx KERNEL.cpp [ENTRY ...]      all entries, or these
"""
import re
import sys

C_TYPES = {"pred": "bool", "f16": "uint16_t", "f16x2": "uint32_t", "f32": "float", "f64": "double"}
C_TYPES |= {f"{kind}{bits}": f"{'' if kind == 's' else 'u'}int{bits}_t" for kind in "bus" for bits in (8, 16, 32, 64)}

# What the registers are declared as, by their names' letters.
REGISTERS = {"p": "pred", "rs": "u16", "r": "u32", "rd": "u64", "f": "f32", "fd": "f64"}

SPECIAL = {"%tid": "threadIdx", "%ntid": "blockDim", "%ctaid": "blockIdx", "%nctaid": "gridDim"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
OPPOSITE = {"eq": "!=", "ne": "==", "lt": ">=", "le": ">", "gt": "<=", "ge": "<"}
OPERATOR = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}


def name(operand):
    """A register or label as a C++ name."""
    return operand.strip().replace("%", "r_").replace("$", "l_")


def register_type(register):
    """The PTX type of a register."""
    return REGISTERS[re.fullmatch(r"%([a-z]+)\d+", register)[1]]


def converted(expression, found, wanted):
    """An expression of one PTX type as another of its size: the same number among integers, otherwise the same bits."""
    if C_TYPES[found] == C_TYPES[wanted]:
        return expression
    if (found + wanted).isalnum() and "f" not in found + wanted:
        return f"static_cast<{C_TYPES[wanted]}>({expression})"
    return f"ptx::as<{C_TYPES[wanted]}>({expression})"


def operands(text):
    """Splits at the commas outside of brackets."""
    return [part.strip() for part in re.findall(r"(?:[^,{\[]|\{[^}]*\}|\[[^\]]*\])+", text)]


def elements(operand):
    """A vector's registers, or the one."""
    return [part.strip() for part in operand.strip("{}").split(",")]


class Kernel:
    """One entry of a PTX file on its way to C++."""

    def __init__(self, entry, parameters, body, line):
        self.entry, self.line = entry, line
        self.parameters = [self.parameter(text) for text in parameters.split(",") if text.strip()]
        self.lines = [self.statement(number, " ".join(text.split())) for number, text in enumerate(body.split("\n"), line)]

    @staticmethod
    def parameter(text):
        if array := re.search(r"(\w+)\[(\d+)\]", text):
            return f"ptx::Bytes<{array[2]}>", array[1]
        kind, parameter = re.search(r"\.(\w+) (\w+)$", text.strip()).groups()
        return C_TYPES[kind], parameter

    def text(self):
        parameters = ", ".join(f"[[maybe_unused]] {kind} {parameter}" for kind, parameter in self.parameters)
        head = f"static void {self.entry}({parameters}) {{\n    unsigned char* const shared_memory = fibers::block->shared;"
        return "\n".join([head, *filter(None, self.lines), "}", f"KERNEL({self.entry})"])

    def value(self, operand, kind):
        """An operand as a C++ expression of a PTX type."""
        c_type = C_TYPES[kind]
        if number := re.fullmatch(r"0[fF]([0-9A-Fa-f]{8})", operand):
            return f"ptx::as<float>(0x{number[1]}u)"
        if re.fullmatch(r"-?\d+", operand):
            return f"static_cast<{c_type}>({operand}ll)"
        if "." in operand and operand.split(".")[0] in SPECIAL:
            register, axis = operand.split(".")
            return f"static_cast<{c_type}>({SPECIAL[register]}.{axis})"
        if operand == "shared_":  # The start of shared memory, whose addresses count from there.
            return "0"
        if operand.startswith("%"):
            return converted(name(operand), register_type(operand), kind)
        raise SystemExit(f"{self.entry}: operand {operand}?")

    def address(self, operand, space):
        base, offset = re.fullmatch(r"\[([%\w]+)(?:\+(-?\d+))?\]", operand).groups()
        offset = offset or 0
        if space == "param":
            return f"reinterpret_cast<unsigned char*>(&{base}) + {offset}"
        if space == "shared":
            return f"shared_memory + {self.value(base, 'u32')} + {offset}"
        return f"reinterpret_cast<unsigned char*>({self.value(base, 'u64')} + {offset})"

    def statement(self, number, text):
        if text in ("", "{", ")") or text.startswith((".maxntid", ".minnctapersm", ".pragma", "//")):
            return ""
        if registers := re.fullmatch(r"\.reg \.\w+ (%\w+)<(\d+)>;", text):
            register, count = registers.groups()
            c_type = C_TYPES[register_type(f"{register}0")]
            return "\n".join(f"    [[maybe_unused]] {c_type} {name(register)}{i} = 0;" for i in range(int(count)))
        if text.endswith(":"):
            return f"{name(text)};"
        guard, operation, rest = re.fullmatch(r"(?:@(!?%p\d+) )?([\w.:]+)\s*(.*);", text).groups()
        code = self.instruction(number, operation, operands(rest))
        if guard:
            code = f"if ({'!' * guard.startswith('!')}{name(guard.strip('!'))}) {{ {code} }}"
        return f"    {code}"

    def instruction(self, number, operation, args):
        parts = operation.split(".")
        head, kind = parts[0], parts[-1]

        def arg(i, of=kind):
            return self.value(args[i], of)

        def to(expression, of=kind, register=args[0] if args else ""):
            return f"{name(register)} = {converted(expression, of, register_type(register))};"

        match head:
            case "mov" if "{" in args[0]:
                return f"ptx::unpack({arg(1)}, {', '.join(map(name, elements(args[0])))});"
            case "mov" if "{" in args[1]:
                return to(f"ptx::pack({', '.join(map(name, elements(args[1])))})", f"u{kind[1:]}")
            case "mov":
                return to(arg(1))
            case "ld" | "st":
                space = next((space for space in ("param", "global", "shared") if space in parts), "generic")
                vector = elements(args[0 if head == "ld" else 1])
                address = self.address(args[1 if head == "ld" else 0], space)
                ask = f"fibers::ask({number}); " if head == "ld" and "volatile" in parts else ""
                code = f"{ask}unsigned char* p = ptx::aligned<{len(vector)} * sizeof({C_TYPES[kind]})>({address});"
                for i, element in enumerate(vector):
                    if head == "ld":
                        code += " " + to(f"ptx::load<{C_TYPES[kind]}>(p, {i})", register=element)
                    else:
                        code += f" ptx::store<{C_TYPES[kind]}>(p, {i}, {self.value(element, kind)});"
                return f"{{ {code} }}"
            case "cvta" if "shared" in parts:
                return to(f"{arg(1)} {'-' if 'to' in parts else '+'} reinterpret_cast<uint64_t>(shared_memory)", "u64")
            case "cvta":
                return to(arg(1))
            case "add" | "sub" | "and" | "or" | "xor":
                return to(f"static_cast<{C_TYPES[kind]}>({arg(1)} {OPERATOR[head]} {arg(2)})")
            case "mul" | "mad" if "wide" in parts:
                wide = kind[0] + str(2 * int(kind[1:]))
                product = f"static_cast<{C_TYPES[wide]}>({arg(1)}) * static_cast<{C_TYPES[wide]}>({arg(2)})"
                return to(product if head == "mul" else f"{product} + {arg(3, wide)}", wide)
            case "mul" | "mad" if "hi" not in parts:
                addend = f" + {arg(3)}" if head == "mad" else ""
                return to(f"static_cast<{C_TYPES[kind]}>({arg(1)} * {arg(2)}{addend})")
            case "mul" if kind in ("u32", "s32"):
                return to(f"static_cast<{C_TYPES[kind]}>(static_cast<int64_t>({arg(1)}) * {arg(2)} >> 32)")
            case "div" | "rem" if kind in ("u32", "s32"):
                return to(f"{arg(1)} {'/' if head == 'div' else '%'} {arg(2)}")
            case "fma":
                return to(f"ptx::{'fma_down' if 'rm' in parts else 'fma'}({arg(1)}, {arg(2)}, {arg(3)})")
            case "neg":
                return to(f"static_cast<{C_TYPES[kind]}>(-{arg(1)})")
            case "abs" if kind == "f32":
                return to(f"fabsf({arg(1)})")
            case "min" | "max":
                return to(f"ptx::{head}({arg(1)}, {arg(2)})")
            case "rcp":
                return to(f"1.f / {arg(1)}")
            case "ex2":
                return to(f"exp2f({arg(1)})")
            case "not":
                return to(f"static_cast<{C_TYPES[kind]}>({'!' if kind == 'pred' else '~'}{arg(1)})")
            case "shl" | "shr":
                return to(f"ptx::{head}({arg(1)}, {arg(2, 'u32')})")
            case "bfi" if kind == "b32":
                return to(f"ptx::insert({arg(1)}, {arg(2)}, {arg(3, 'u32')}, {arg(4, 'u32')})")
            case "bfe" if kind == "u32":
                return to(f"ptx::extract({arg(1)}, {arg(2)}, {arg(3)})")
            case "selp":
                return to(f"{name(args[3])} ? {arg(1)} : {arg(2)}")
            case "setp" if parts[1] in COMPARE:
                return to(f"{arg(1)} {COMPARE[parts[1]]} {arg(2)}", "pred")
            case "setp" if parts[1][-1] == "u" and parts[1][:-1] in OPPOSITE:  # Also true when one is NaN.
                return to(f"!({arg(1)} {OPPOSITE[parts[1][:-1]]} {arg(2)})", "pred")
            case "cvt" if parts[-2] == "f16x2":  # The first operand is the upper half.
                return to(f"halves({arg(2)}, {arg(1)})", "b32")
            case "cvt" if kind == "f16" and parts[-2] == "f32":
                return to(f"from_half({arg(1, 'b16')})", "f32")
            case "cvt" if "sat" in parts:
                return to(f"ptx::saturated({arg(1)})")
            case "cvt":
                return to(f"static_cast<{C_TYPES[parts[-2]]}>({arg(1)})", parts[-2])
            case "bra":
                return f"goto {name(args[0])};"
            case "ret":
                return "return;"
            case "bar" if args == ["0"]:
                return f"fibers::barrier(__FILE__, {number});"
            case "membar" | "fence":
                return "__threadfence();"
            case "atom" if parts[1:] == ["global", "add", "u32"]:
                address = self.address(args[1], "global")
                return to(f"atomicAdd(reinterpret_cast<unsigned*>(ptx::aligned<4>({address})), {arg(2)})")
            case "shfl" if parts[2] == "bfly":
                register, valid = args[0].split("|")
                value = f"ptx::shuffle_xor({arg(4, 'u32')}, {arg(1)}, {arg(2, 's32')}, {number})"
                return f"{to(value, register=register)} {name(valid)} = true;"
            case "mma" if operation == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":
                registers = [name(element) for vector in args for element in elements(vector)]
                return f"ptx::mma({number}, {', '.join(registers)});"
            case "ldmatrix" if operation == "ldmatrix.sync.aligned.m8n8.x4.shared.b16":
                registers = ", ".join(map(name, elements(args[0])))
                return f"ptx::ldmatrix({number}, {self.address(args[1], 'shared')}, {registers});"
        raise SystemExit(f"{self.entry}, line {number}: no translation of {operation} {args}")


def translate(ptx, entries):
    out = ['#include "device.cuh"', '#include "cpu/ptx.h"']
    for entry in re.finditer(r"\.entry (\w+)\((.*?)\)(.*?)\n\}", ptx, re.S):
        if not entries or entry[1] in entries:
            line = ptx.count("\n", 0, entry.start(3)) + 1
            out.append(Kernel(*entry.groups(), line).text())
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1]) as source:
        code = translate(source.read(), sys.argv[3:])
    with open(sys.argv[2], "w") as target:
        target.write(code)
