# SPDX-License-Identifier: Apache-2.0
"""NVTX from Python: the package nvtx ("nvtx") or PyTorch ("torch"), with GPU memory from the runtime by ctypes."""
import ctypes
import sys

cuda = ctypes.CDLL("libcudart.so.13")


def touch(size):
    memory = ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size)) == 0
    assert cuda.cudaFree(memory) == 0


if sys.argv[1] == "torch":
    import torch
    for step in range(3):
        torch.cuda.nvtx.range_push("step")
        with torch.cuda.nvtx.range("forward"):
            touch(1001)
        torch.cuda.nvtx.range_pop()
    handle = torch.cuda.nvtx.range_start("crossing")
    touch(1003)
    torch.cuda.nvtx.range_end(handle)
else:
    import nvtx
    for step in range(3):
        with nvtx.annotate("step"):
            with nvtx.annotate("forward", domain="model"):
                touch(1001)
    handle = nvtx.start_range("crossing")
    touch(1003)
    nvtx.end_range(handle)
print("done")
