# SPDX-License-Identifier: Apache-2.0
"""One training of a few steps with fixed seeds, for trainings.py: MODEL (mlp, resnet50, gpt2) in MODE (plain, amp, checkpoint,
graph, workers-fork, workers-spawn; expandable segments come from the environment), and one deliberate out-of-memory. Writes
losses, step times, torch.cuda.memory_stats() and, with --history, PyTorch's own record of every allocation, as JSON.
"""
import argparse
import contextlib
import ctypes
import json
import time

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

BATCH = {"mlp": 64, "resnet50": 16, "gpt2": 4}


class Inputs(Dataset):
    def __init__(self, model):
        self.model = model

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        if self.model == "mlp":
            return torch.randn(1024, generator=generator), torch.randint(0, 10, (), generator=generator)
        if self.model == "resnet50":
            return torch.randn(3, 224, 224, generator=generator), torch.randint(0, 1000, (), generator=generator)
        tokens = torch.randint(0, 50257, (129,), generator=generator)
        return tokens[:-1], tokens[1:]


class Gpt2(nn.Module):
    """A transformer of GPT-2's size: 12 layers, 12 heads, width 768."""

    def __init__(self, checkpointed):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(12))
        self.norm, self.head = nn.LayerNorm(768), nn.Linear(768, 50257, bias=False)
        self.checkpointed = checkpointed

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.positions(torch.arange(length, device=tokens.device))
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        for layer in self.layers:
            x = checkpoint(layer, x, mask, use_reentrant=False) if self.checkpointed else layer(x, mask)
        return self.head(self.norm(x)).flatten(0, 1)


class Checkpointed(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        for part in self.parts:
            x = checkpoint(part, x, use_reentrant=False)
        return x


def make_model(name, checkpointed):
    if name == "gpt2":
        return Gpt2(checkpointed)
    if name == "mlp":
        parts = [nn.Sequential(nn.Linear(1024, 4096), nn.ReLU()), nn.Sequential(nn.Linear(4096, 4096), nn.ReLU()), nn.Linear(4096, 10)]
        return Checkpointed(parts) if checkpointed else nn.Sequential(*parts)
    import torchvision
    net = torchvision.models.resnet50(weights=None)
    if not checkpointed:
        return net
    stem = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool)
    return Checkpointed([stem, net.layer1, net.layer2, net.layer3, net.layer4, nn.Sequential(net.avgpool, nn.Flatten(), net.fc)])


def batches(options, device):
    data = Inputs(options.model)
    size = BATCH[options.model]
    if options.mode.startswith("workers-"):
        loader = DataLoader(data, batch_size=size, num_workers=2, pin_memory=True,
                            multiprocessing_context=options.mode.split("-")[1])
        for inputs, labels in loader:
            yield inputs.to(device, non_blocking=True), labels.to(device, non_blocking=True).flatten()
    fixed = torch.utils.data.default_collate([data[i] for i in range(size)])
    while True:
        yield fixed[0].to(device), fixed[1].to(device).flatten()


def eager_step(options, model, optimizer, loss_function, scaler, inputs, labels):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.float16) if options.mode == "amp" else contextlib.nullcontext():
        loss = loss_function(model(inputs), labels)
    if scaler is None:
        loss.backward()
        optimizer.step()
    else:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return loss


def graph_steps(model, optimizer, loss_function, source):
    inputs, labels = next(source)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            loss_function(model(inputs), labels).backward()
            optimizer.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = loss_function(model(inputs), labels)
        loss.backward()
        optimizer.step()
    while True:
        new_inputs, new_labels = next(source)
        inputs.copy_(new_inputs)
        labels.copy_(new_labels)
        graph.replay()
        yield loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("mode")
    parser.add_argument("result")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--history", choices=("python", "all"))
    parser.add_argument("--dump-history", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.use_deterministic_algorithms(True, warn_only=True)
    device = torch.device("cuda")
    torch.cuda.init()
    if options.history:
        torch.cuda.memory._record_memory_history("all", context="all", stacks=options.history, max_entries=10_000_000)
    model = make_model(options.model, options.mode == "checkpoint").to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_function = nn.CrossEntropyLoss()
    scaler = torch.amp.GradScaler("cuda") if options.mode == "amp" else None
    source = batches(options, device)
    captured = graph_steps(model, optimizer, loss_function, source) if options.mode == "graph" else None
    losses, times = [], []
    for _ in range(options.steps):
        start = time.perf_counter()
        loss = next(captured) if captured else eager_step(options, model, optimizer, loss_function, scaler, *next(source))
        losses.append(loss.item())
        times.append(time.perf_counter() - start)
    try:
        torch.empty(1 << 44, dtype=torch.uint8, device=device)
    except torch.OutOfMemoryError:
        pass
    source.close()
    torch.cuda.synchronize()
    time.sleep(0.2)  # nothing happens here: the mark may be looked up a little too early
    if hasattr(ctypes.CDLL(None), "vramtrace_api_mark"):
        ctypes.CDLL(None).vramtrace_api_mark(b"memory_stats asked")
    stats = torch.cuda.memory_stats()
    result = {"losses": losses, "step_ms": [1e3 * t for t in times], "stats": dict(stats), "torch": torch.__version__}
    if options.dump_history:
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        result["history"] = [{"action": e["action"], "addr": e.get("addr", 0), "size": e["size"],
                              "frames": [[f["filename"], f["line"], f["name"]] for f in e.get("frames", [])]}
                             for e in trace if e["action"] in ("alloc", "free_requested")]
    with open(options.result, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
