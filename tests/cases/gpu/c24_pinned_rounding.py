# SPDX-License-Identifier: Apache-2.0
"""Pinned tensors rounded up to a power of two: c24_pinned_rounding.py (PyTorch, a GPU)

Expected: 2048 MiB of pinned memory in 8 blocks at pinned_tensor for 1036 MiB asked.
"""
import torch
from truth import MIB, numbers, part, tell


def pinned_tensor():
    return torch.empty(129 * MIB + MIB // 2, dtype=torch.uint8, pin_memory=True)


def main():
    kept = [pinned_tensor() for _ in range(8)]
    tell("C24", part("rounded"), {"asked": sum(tensor.numel() for tensor in kept), "end": numbers()})


main()
