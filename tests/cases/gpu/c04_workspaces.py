# SPDX-License-Identifier: Apache-2.0
"""cuBLAS workspaces, one for each handle and stream: c04_workspaces.py once | again (PyTorch, a GPU)

Expected: as many equal blocks as streams (8.1 MiB each on most GPUs, 32 MiB on Hopper), a library cache and no growth;
"again" runs the same 8 streams five times, which adds nothing.
"""
import torch
from truth import collect, numbers, part, tell


def small_matmul(stream):
    with torch.cuda.stream(stream):
        left = torch.ones(64, 64, device="cuda")
        (left @ left).sum()


def main():
    chosen = part("once")
    streams = [torch.cuda.Stream() for _ in range(8)]
    marks = {"streams": len({stream.cuda_stream for stream in streams})}
    for round_ in range(5 if chosen == "again" else 1):
        for stream in streams:
            small_matmul(stream)
        torch.cuda.synchronize()
        collect()
        marks[f"round {round_}"] = numbers()
    tell("C4", chosen, marks)


main()
