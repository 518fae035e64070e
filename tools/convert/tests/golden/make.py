"""Writes the checkpoints that the tests read, and what PyTorch sees in them.

Run in this folder with PyTorch and safetensors installed. `cases.tsv` says which
`*.expected.safetensors` belongs to a checkpoint; Python's safetensors library writes them from the
same tensors as float32. The policy layer is large, so in all but `full.pt` it repeats one element (stride 0),
and `full.pt` has a formula for it; it is left out of the expected files.
"""

import os
import zipfile
from collections import OrderedDict

import torch
from safetensors.torch import save_file

C, P, V, H, W = 4, 1, 2, 3, 2  # channels, head widths, value hidden, SE width
random = torch.Generator().manual_seed(7)


def rand(*shape):
    return torch.randn(shape, generator=random)


def batch_norm(name, n):
    return {
        f"{name}.weight": rand(n),
        f"{name}.bias": rand(n),
        f"{name}.running_mean": rand(n),
        f"{name}.running_var": rand(n).abs() + 0.5,
        f"{name}.num_batches_tracked": torch.tensor(5),
    }


def linear(name, outputs, inputs):
    return {f"{name}.weight": rand(outputs, inputs), f"{name}.bias": rand(outputs)}


def network(blocks=1, se=False, gate=False):
    tensors = OrderedDict({"stem.0.weight": rand(C, 19, 3, 3)})
    tensors |= batch_norm("stem.1", C)
    for i in range(blocks):
        for n in (1, 2):
            tensors[f"tower.{i}.conv{n}.weight"] = rand(C, C, 3, 3)
            tensors |= batch_norm(f"tower.{i}.bn{n}", C)
        if se:
            tensors |= linear(f"tower.{i}.se.fc1", W, C)
            tensors |= linear(f"tower.{i}.se.fc2", 2 * C, W)
    if gate:
        tensors["gate.weight"] = rand(C, 2 * C, 1, 1)
        tensors["gate.bias"] = rand(C)
    tensors["policy_conv.weight"] = rand(P, C, 1, 1)
    tensors |= batch_norm("policy_bn", P)
    tensors["policy_fc.weight"] = torch.tensor(0.25).expand(4096, 64 * P)
    tensors["policy_fc.bias"] = torch.tensor(0.5).expand(4096)
    tensors["value_conv.weight"] = rand(V, C, 1, 1)
    tensors |= batch_norm("value_bn", V)
    tensors |= linear("value_fc1", H, 64 * V)
    tensors |= linear("value_fc2", 1, H)
    return tensors


def config(**more):
    return {"input_planes": 19, "channels": C, "blocks": 1, "action_size": 4096} | more


def expect(case, tensors):
    kept = {
        name: tensor.detach().float().contiguous().clone()
        for name, tensor in tensors.items()
        if not name.endswith("num_batches_tracked") and not name.startswith("policy_fc.")
    }
    save_file(kept, f"{case}.expected.safetensors")


def save(case, checkpoint, **options):
    torch.save(checkpoint, f"{case}.pt", **options)


def renamed(tensors, *pairs):
    def rename(name):
        for old, new in pairs:
            name = name.replace(old, new)
        return name

    return OrderedDict((rename(name), tensor) for name, tensor in tensors.items())


# Where the tensors lie.
plain = network()
expect("plain", plain)
save("plain", {"network_config": config(), "network": plain})
save("bare", plain)
state = OrderedDict((f"module.{name}", tensor) for name, tensor in plain.items())
state._metadata = OrderedDict({"": {"version": 1}})
save("wrapped", {"epoch": 3, "loss": 0.5, "lr": [1e-3], "device": torch.device("cpu"), "state_dict": state})
state = OrderedDict((f"_orig_mod.module.{name}", tensor) for name, tensor in plain.items())
save("nested", {"seed": 2**70, "dtype": torch.float32, "shape": torch.Size([1]), "model": {"model_state_dict": state}})
weights = torch.nn.Linear(2, 2)
optimizer = torch.optim.AdamW(weights.parameters())
weights(torch.ones(2)).sum().backward()
optimizer.step()
save("training", {"model": plain, "optimizer": optimizer.state_dict(), "step": torch.tensor(9)})
save("two", {"network": plain, "model": plain})
save("empty", {"history": {"loss": [0.5]}, "epoch": 1})
save("net", {"weights": {f"net._orig_mod.{name}": tensor for name, tensor in plain.items()}, "epoch": 1})
save("ema", {"model": plain, "ema": plain, "config": "small.yaml"})
save("several", {"ema": plain, "weights": plain | {"extra": torch.zeros(1)}, "history": {}})
for protocol in (3, 4, 5):
    save(f"protocol{protocol}", {"network": plain}, pickle_protocol=protocol)

# How they lie in memory.
views = network()
views["stem.0.weight"] = rand(3, 19, 3, C).permute(3, 1, 0, 2)
views["tower.0.conv1.weight"] = rand(C, C, 3, 3).to(memory_format=torch.channels_last)
views["value_fc1.weight"] = rand(64 * V, H).t()
views["value_fc2.weight"] = rand(H, 5)[:, 2:3].t()
pool = rand(40)
for i, part in enumerate(["weight", "bias", "running_mean", "running_var"]):
    views[f"tower.0.bn1.{part}"] = pool[3 + 4 * i : 3 + 4 * i + C]
    views[f"tower.0.bn2.{part}"] = pool[i : i + 2 * C : 2]
save("views", {"network": views})
expect("views", views)
for case, dtype in (("half", torch.float16), ("bfloat", torch.bfloat16), ("double", torch.float64)):
    typed = {name: tensor.to(dtype) if tensor.is_floating_point() else tensor for name, tensor in network().items()}
    typed["policy_fc.weight"] = torch.tensor(0.25).expand(4096, 64 * P)
    save(case, {"network": typed})
    expect(case, typed)
parameters = {
    name: torch.nn.Parameter(tensor, requires_grad=tensor.is_floating_point()) for name, tensor in plain.items()
}
save("parameters", {"network": parameters})
with zipfile.ZipFile("plain.pt") as little, zipfile.ZipFile("big.pt", "w") as big:
    sizes = {  # storages in the order of the state dict
        f"plain/data/{i}": tensor.element_size() for i, tensor in enumerate(plain.values())
    }
    for name in little.namelist():
        data = little.read(name)
        if name in sizes:
            n = sizes[name]
            data = b"".join(data[i : i + n][::-1] for i in range(0, len(data), n))
        big.writestr(name, b"big" if name.endswith("/byteorder") else data)

# What the names are.
gated = network(se=True, gate=True)
expect("gated", gated)
save("gated", {"network_config": config(recurrence=2, gated=True, se=True), "network": gated})
save("gated_bare", gated)
save("config", {"config": {"recurrence": 2, "lr": 0.1}, "weights": gated})
unfamiliar = renamed(gated, (".se.fc1", ".squeeze.0"), (".se.fc2", ".squeeze.2"), ("gate.", "memory.mix."))
for name in ("tower.0.squeeze.0.weight", "tower.0.squeeze.2.weight"):
    unfamiliar[name] = unfamiliar[name][:, :, None, None]
unfamiliar["memory.mix.weight"] = unfamiliar["memory.mix.weight"].flatten(1)
save("unfamiliar", {"network_config": config(recurrence=2, gated=1, se=W, dropout=0.1, warmup=4), "network": unfamiliar})
save("blocks", {"network": renamed(plain, ("tower.", "trunk.blocks."), ("bn1", "norm.0"), ("bn2", "norm.1"))})
save("ambiguous", {"network": renamed(plain, ("bn1", "norm.0"), ("bn2", "norm.1"))})
save("two_gates", {"network": gated | {"mix.weight": rand(C, 2 * C), "mix.bias": rand(C)}})
twins = renamed(gated, ("gate.", "mix_a.")) | {"mix_b.weight": rand(C, 2 * C), "mix_b.bias": rand(C)}
save("twin_gates", {"network": twins})
save("missing", {"network": {n: t for n, t in plain.items() if n not in ("value_fc2.bias", "tower.0.bn2.running_var")}})
save("half_se", {"network": {n: t for n, t in gated.items() if ".se.fc2" not in n}})
scales = {f"tower.0.se.fc2.{part}": gated[f"tower.0.se.fc2.{part}"][:C] for part in ("weight", "bias")}
save("scale_only", {"network": gated | scales})
save("planes", {"network": plain | {"stem.0.weight": torch.zeros(C, 112, 1, 1).expand(C, 112, 3, 3)}})
save("moves", {"network": plain | {"policy_fc.weight": torch.zeros(()).expand(1858, 64 * P)}})
save("outcomes", {"network": plain | {"value_fc2.weight": torch.zeros(3, H)}})
save("bias", {"network": plain | {"stem.0.bias": rand(C)}})
save("shape", {"network": plain | {"tower.0.conv2.weight": rand(C, C + 1, 3, 3)}})
save("integers", {"network": plain | {"stem.1.weight": torch.ones(C, dtype=torch.int64)}})
save("nan", {"network": plain | {"stem.1.weight": torch.tensor([1.0, float("nan"), 1.0, 1.0])}})
save("contradiction", {"network_config": config(channels=8), "network": plain})
save("not_gated", {"network_config": config(recurrence=2, gated=False), "network": gated})

# A whole network to convert: values of f32 that f16 must round, a policy layer stored as f16.
full = network(blocks=2, se=True, gate=True)
index = torch.arange(4096 * 64)
full["policy_fc.weight"] = ((index * 37 % 1021 - 510) / 512).half().view(4096, 64)
full["policy_fc.bias"] = (torch.arange(4096) * 37 % 1021 - 510) / 512
save("full", {"network_config": config(blocks=2, recurrence=2, gated=True, se=True), "network": full})
expect("full", full)
rounded = {n: t.half() if t.dim() > 1 else t for n, t in full.items() if not n.endswith("num_batches_tracked")}
rounded = {n: t.contiguous() for n, t in rounded.items() if not n.startswith("policy_fc.")}
save_file(rounded, "full.f16.safetensors")

# Sigma-Go's names, with the biases that its convolutions have.
def sigma_network():
    tensors = OrderedDict()

    def convolution(name, *shape):
        tensors.update({f"{name}.weight": rand(*shape), f"{name}.bias": rand(shape[0])})

    convolution("conv_input.0", C, 14, 3, 3)
    tensors.update(batch_norm("conv_input.1", C))
    for i in range(2):
        for n in (1, 2):
            convolution(f"res_tower.{i}.conv{n}", C, C, 3, 3)
            tensors.update(batch_norm(f"res_tower.{i}.bn{n}", C))
    convolution("policy_head.0", P, C, 1, 1)
    tensors.update(batch_norm("policy_head.1", P))
    tensors["policy_head.4.weight"] = torch.tensor(0.25).expand(4544, 64 * P)
    tensors["policy_head.4.bias"] = torch.tensor(0.5).expand(4544)
    convolution("value_head.0", V, C, 1, 1)
    tensors.update(batch_norm("value_head.1", V))
    tensors.update(linear("value_head.4", H, 64 * V))
    tensors.update(linear("value_head.6", 1, H))
    return tensors


OWN_NAMES = [
    ("conv_input", "stem"), ("res_tower", "tower"),
    ("policy_head.0", "policy_conv"), ("policy_head.1", "policy_bn"), ("policy_head.4", "policy_fc"),
    ("value_head.0", "value_conv"), ("value_head.1", "value_bn"), ("value_head.4", "value_fc1"),
    ("value_head.6", "value_fc2"),
]  # fmt: skip
sigma = sigma_network()
sizes = {"channels": C, "blocks": 2, "input_planes": 14, "action_size": 4544}
own = renamed(sigma, *OWN_NAMES)
expect("sigma", own)
save("sigma", sigma)
save("sigma_trained", {"network_config": sizes, "network": sigma})
save("sigma_own", own)
save("sigma_odd", renamed(sigma, ("res_tower.1.bn2", "res_tower.1.last_norm"), ("value_head.6", "value_out")))
absent = ("conv_input.1.running_mean", "res_tower.1.conv2.bias", "value_head.6.weight")
save("sigma_missing", {n: t for n, t in sigma.items() if n not in absent})
save("sigma_extra", sigma | {"auxiliary_head.weight": rand(7, 5)})
save("sigma_moves", sigma | {"policy_head.4.weight": torch.zeros(()).expand(4096, 64 * P)})
save("sigma_planes", sigma | {"conv_input.0.weight": rand(C, 15, 3, 3)})
save("sigma_shape", sigma | {"value_head.4.weight": rand(H, 64)})
save("sigma_config", {"network_config": sizes | {"blocks": 3}, "network": sigma})

# A pair of networks that score squares.
pair = OrderedDict()
for network_name in ("origin", "target"):
    for layer, shape in (("conv1", (C, 12, 2, 2)), ("conv2", (C, C, 2, 2)), ("fc1", (H, 36 * C)), ("fc2", (H, H)), ("fc3", (64, H))):
        pair |= {f"{network_name}.{layer}.weight": rand(*shape), f"{network_name}.{layer}.bias": rand(shape[0])}
expect("pair", pair)
save("pair", pair)
sizes = {"filters": C, "hidden": H, "input_planes": 12}
save("pair_trained", {"network_config": sizes, "network": pair})
save("pair_odd", {"net": renamed(pair, ("origin", "one"), ("target", "other"))})
save("pair_missing", {n: t for n, t in pair.items() if n not in ("origin.conv2.bias", "target.fc3.weight")})
save("pair_extra", pair | {"origin.bn1.weight": rand(C)})
save("pair_moves", pair | {"target.fc3.weight": torch.zeros(()).expand(4096, H)})
save("pair_unlike", pair | {"target.fc2.weight": rand(5, 5)})
save("pair_config", {"network_config": sizes | {"hidden": 1024}, "network": pair})


# What must be refused.
class Malice:
    def __reduce__(self):
        return os.system, ("touch fianchetto-convert-was-executed",)


save("malicious", {"network": plain, "extra": Malice()})
save("module", {"model": torch.nn.Linear(2, 2)})
save("old", plain, _use_new_zipfile_serialization=False)
torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), "script.pt")
with zipfile.ZipFile("plain.pt") as stored, zipfile.ZipFile("bomb.pt", "w") as bomb:
    for name in stored.namelist():
        big = name == "plain/data/0"
        data = bytes(20_000_000) if big else stored.read(name)
        bomb.writestr(name, data, zipfile.ZIP_DEFLATED if big else zipfile.ZIP_STORED)
