# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: the numbers a report is compared with, as one JSON document on stdout."""
import gc
import json
import sys

import torch

MIB = 1 << 20


def part(default):
    """The part of the case to run: the first argument."""
    return sys.argv[1] if len(sys.argv) > 1 else default


def numbers():
    """PyTorch's own count, the driver's, and that of pinned memory if this version has one."""
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    statistics = torch.cuda.memory_stats()
    found = {"allocated": torch.cuda.memory_allocated(), "reserved": torch.cuda.memory_reserved(),
             "peak_allocated": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved(),
             "retries": statistics.get("num_alloc_retries", 0), "ooms": statistics.get("num_ooms", 0),
             "segments": statistics.get("segment.all.current", 0), "free": free, "total": total}
    if hasattr(torch.cuda, "host_memory_stats"):
        found["host"] = {key: value for key, value in torch.cuda.host_memory_stats().items()
                         if key.endswith((".current", ".peak", ".allocated"))}
    return found


def collect():
    gc.collect()
    torch.cuda.empty_cache()


def tell(case, chosen, marks):
    print(json.dumps({"case": case, "part": chosen, "torch": torch.__version__,
                      "device": torch.cuda.get_device_name(), "marks": marks}))
