# SPDX-License-Identifier: Apache-2.0
"""Hook closures and result lists: c03_retention.py collected | appended | control (PyTorch, a GPU)

collected: 20 modules of 100 MiB in reference cycles, about 2 GB before gc and 0 after; verdict delayed-release.
appended: 50 results of 20 MiB, 1000 MiB live at exit, 20 MiB a step at forward; verdict growth.
"""
import gc

import torch
from truth import MIB, collect, numbers, part, tell

results = []


def module_on_device():
    module = torch.nn.Linear(1, 1, bias=False)
    module.weight = torch.nn.Parameter(torch.empty(25 * MIB))
    module.register_forward_hook(lambda *_: module)
    module.to("cuda")


def forward():
    return torch.empty(5 * MIB, dtype=torch.float32, device="cuda").fill_(1)


def main():
    chosen = part("collected")
    marks = {}
    if chosen == "collected":
        gc.disable()
        for _ in range(20):
            module_on_device()
        marks["before gc"] = numbers()
        collect()
        marks["after gc"] = numbers()
    else:
        for _ in range(50):
            result = forward()
            results.append(result if chosen == "appended" else result.sum().item())
        del result
        marks["end"] = numbers()
    tell("C3", chosen, marks)


main()
