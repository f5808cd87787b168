# SPDX-License-Identifier: Apache-2.0
"""The jobs of torch_test.py: torch_jobs.py JOB OUTPUT.json

Each does what PyTorch jobs do, in an unmodified PyTorch, and writes down what PyTorch itself says of its memory at some
moments. A moment is right after the coming of a block of MARKER bytes, which nothing else here has.
"""
import json
import os
import sys
import threading

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MARKER = 15 * 512
KEYS = [f"{what}.all.{how}" for what in ("allocation", "allocated_bytes", "segment", "reserved_bytes")
        for how in ("allocated", "freed", "current", "peak")] + ["num_ooms"]
moments = []
kept = []  # to the end of the process


def statistics():
    torch.cuda.synchronize()
    found = [torch.cuda.memory_stats(device) for device in range(torch.cuda.device_count())]
    return [{key: stats.get(key, 0) for key in KEYS} for stats in found]


def moment(name):
    marker = torch.empty(MARKER, dtype=torch.uint8, device="cuda:0")  # may need a segment: before the question
    moments.append({"name": name, "devices": statistics()})
    del marker


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256))
        self.middle = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.1))
        self.last = nn.Linear(256, 10)
        self.checkpointing = False

    def forward(self, x):
        x = self.first(x)
        x = checkpoint(self.middle, x, use_reentrant=False) if self.checkpointing else self.middle(x)
        return self.last(x)


def train(steps=4, amp=False, checkpointing=False):
    net = Net().cuda()
    net.checkpointing = checkpointing
    optimizer = torch.optim.AdamW(net.parameters())
    target = torch.zeros(512, dtype=torch.long, device="cuda")
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=amp, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(net(torch.rand(512, 64, device="cuda")), target)
        loss.backward()  # in a thread of autograd's own
        optimizer.step()
        loss.item()
    del loss
    torch._C._cuda_clearCublasWorkspaces()  # a block that PyTorch would keep to its end


def blocks():
    kept = [torch.empty(n * 1000, dtype=torch.uint8, device="cuda") for n in range(1, 300)]
    del kept[::2]  # holes
    kept += [torch.zeros(n << 20, dtype=torch.uint8, device="cuda") for n in (3, 7, 12, 19, 33)]
    moment("small and large blocks")
    del kept[100:]
    torch.cuda.empty_cache()
    moment("after empty_cache")
    x = torch.ones(1 << 20).pin_memory().to("cuda", non_blocking=True)
    assert x.cpu()[5] == 1  # copies do copy, on the simulated CUDA too


def streams():
    side = torch.cuda.Stream()
    x = torch.ones(1 << 20, device="cuda")
    with torch.cuda.stream(side):
        y = x * 2
    x.record_stream(side)
    del x  # held back until `side` is done
    z = torch.ones(1 << 20, device="cuda")
    side.synchronize()
    del y, z


def graphs():
    side = torch.cuda.Stream()
    x = torch.ones(1 << 16, device="cuda")
    with torch.cuda.stream(side):
        x.sin().exp()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # blocks from a private pool
        y = x.sin().exp() + 1
    graph.replay()
    torch.cuda.synchronize()
    moment("with a graph")
    del graph, y
    if not hasattr(torch.cuda, "MemPool"):  # came with 2.5
        return
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        y = torch.ones(1 << 20, device="cuda")
    del y, pool


def out_of_memory():
    everything = torch.cuda.get_device_properties(0).total_memory
    kept = torch.ones(1 << 22, device="cuda")
    for _ in range(2):
        try:
            torch.empty(everything, dtype=torch.uint8, device="cuda")
            raise AssertionError("there was room for the whole device")
        except torch.cuda.OutOfMemoryError:
            pass
    del kept


def second_device():
    if torch.cuda.device_count() < 2:
        return
    with torch.cuda.device(1):
        x = torch.ones(3 << 20, device="cuda")
        y = x.to("cuda:0")
    del x, y


def threads():
    def work():
        for n in range(100):
            torch.empty((n % 7 + 1) * 300_000, dtype=torch.uint8, device="cuda")

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def job_all():
    for name, part in (("training", train), ("training with AMP", lambda: train(amp=True)),
                       ("gradient checkpointing", lambda: train(checkpointing=True)), ("blocks", blocks),
                       ("streams", streams), ("graphs", graphs), ("out of memory", out_of_memory),
                       ("second device", second_device), ("threads", threads)):
        part()
        moment(name)


def job_tensors():
    """One allocation of the driver for each tensor: allocators without blocks. Ends before anything is freed."""
    kept.extend(torch.empty(1000 * n, dtype=torch.uint8, device="cuda") for n in range(1, 21))
    del kept[:5]
    torch.cuda.synchronize()
    return {"bytes": sum(t.numel() for t in kept), "tensors": len(kept), "allocator": torch.cuda.get_allocator_backend()}


def job_observers():
    """PyTorch's own observers of its memory, which take their events from where we stand."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        x = torch.ones(1000, device="cuda")
        y = (x + 1).exp()
        del x, y
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
        except torch.cuda.OutOfMemoryError:
            pass
    usage = "device_memory_usage" if int(torch.__version__.split(".")[1]) >= 4 else "cuda_memory_usage"
    memory = [(event.name, getattr(event, usage)) for event in profile.events() if getattr(event, usage)]
    ooms = sum(event.name == "[OutOfMemory]" for event in profile.events())
    torch.cuda.memory._record_memory_history()
    x = torch.ones(1000, device="cuda")
    del x
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    actions = [(entry["action"], entry["size"]) for entry in snapshot["device_traces"][0]]
    return {"profiler": memory, "ooms": ooms, "history": actions,
            "line": any(f["filename"].endswith("torch_jobs.py") for e in snapshot["device_traces"][0] for f in e["frames"])}


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return torch.full((100,), float(index))


def job_workers():
    kept = torch.ones(1 << 20, device="cuda")
    total = 0.0
    for context in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2, pin_memory=True,
                                             multiprocessing_context=context)
        for batch in loader:
            total += batch.to("cuda", non_blocking=True).cpu().sum().item()
    held = [torch.ones(1000, device="cuda") for _ in range(5)]
    child = os.fork()
    if child == 0:
        del held, kept  # blocks of its parent, given back in the child alone
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    del held
    moment("workers")
    return {"total": total, "parent": os.getpid()}


def main():
    job, output = sys.argv[1:]
    if "TEST_PLUGGABLE_ALLOCATOR" in os.environ:
        library = os.environ["TEST_PLUGGABLE_ALLOCATOR"]
        torch.cuda.memory.change_current_allocator(
            torch.cuda.memory.CUDAPluggableAllocator(library, "plugged_alloc", "plugged_free"))
    torch.cuda.init()
    result = globals()[f"job_{job}"]()
    with open(output, "w") as file:
        json.dump({"moments": moments, "result": result}, file)
    if job == "tensors":
        os._exit(0)


if __name__ == "__main__":
    main()
