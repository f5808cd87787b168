# SPDX-License-Identifier: Apache-2.0
"""Small tensors that stay split a big cached segment: c18_split_segment.py split | control (PyTorch, a GPU)

The process is limited to 12 GiB. Expected: the second request of 8 GiB fails with 8 GiB reserved and 640 MiB live; the
40 tensors of small_tensors pin the segment. control: they are dropped first, and it succeeds.
"""
import torch
from truth import MIB, numbers, part, tell

GIB = 1024 * MIB


def big_tensor():
    return torch.empty(8 * GIB, dtype=torch.uint8, device="cuda")


def small_tensors():
    return [torch.empty(16 * MIB, dtype=torch.uint8, device="cuda") for _ in range(40)]


def main():
    chosen = part("split")
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(12 * GIB / total)
    marks = {}
    big = big_tensor()
    del big
    small = small_tensors()
    if chosen == "control":
        small.clear()
    marks["before"] = numbers()
    try:
        big_tensor()
        marks["failed"] = False
    except torch.cuda.OutOfMemoryError:
        marks["failed"] = True
    marks["after"] = numbers()
    tell("C18", chosen, marks)


main()
