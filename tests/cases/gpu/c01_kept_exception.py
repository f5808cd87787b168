# SPDX-License-Identifier: Apache-2.0
"""A kept exception keeps the tensors of its frames: c01_kept_exception.py kept | control (PyTorch, a GPU)

Expected at mark B: ten live blocks of 256 MiB from raising_function; at C none. Verdict: delayed-release.
"""
import torch
from truth import MIB, collect, numbers, part, tell


def raising_function():
    activations = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda")
    raise RuntimeError(f"failed with {activations.numel()} bytes")


def main():
    chosen = part("kept")
    failures, marks = [], {}
    for _ in range(10):
        try:
            raising_function()
        except RuntimeError as error:
            if chosen == "kept":
                failures.append(error)
    marks["A"] = numbers()
    collect()
    marks["B"] = numbers()
    failures.clear()
    collect()
    marks["C"] = numbers()
    tell("C1", chosen, marks)


main()
