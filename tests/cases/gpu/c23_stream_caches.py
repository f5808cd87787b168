# SPDX-License-Identifier: Apache-2.0
"""A cache for each stream, a new stream in each epoch: c23_stream_caches.py fresh | control (PyTorch, a GPU)

Expected: 5 GiB reserved and 0 live after ten epochs, 512 MiB idle on each of ten streams; control: 512 MiB.
"""
import torch
from truth import MIB, numbers, part, tell


def prefetch(stream):
    with torch.cuda.stream(stream):
        torch.empty(512 * MIB, dtype=torch.uint8, device="cuda")


def main():
    chosen = part("fresh")
    only = torch.cuda.Stream()
    for _ in range(10):
        prefetch(torch.cuda.Stream() if chosen == "fresh" else only)
    tell("C23", chosen, {"end": numbers()})


main()
