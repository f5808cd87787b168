# SPDX-License-Identifier: Apache-2.0
"""NCCL communicators dropped without being destroyed: c50_communicators.py dropped | control (PyTorch, one or more GPUs)

Ten cycles of a new group and one all-reduce, in one process of one rank, or under torchrun with several ranks. Expected:
growth in each cycle below ncclCommInit…, owner libnccl; control: flat after a one-time rest at the first cycle.
"""
import os

import torch
import torch.distributed as dist
from truth import numbers, part, tell


def parallel_group(destroys):
    group = dist.new_group(backend="nccl")
    dist.all_reduce(torch.ones(1024, device="cuda"), group=group)
    torch.cuda.synchronize()
    if destroys:
        dist.destroy_process_group(group)


def main():
    chosen = part("dropped")
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # multicast stays off
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29533")
    rank = int(os.environ.get("RANK", "0"))
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl", rank=rank, world_size=int(os.environ.get("WORLD_SIZE", "1")))
    marks = {"start": numbers()}
    for cycle in range(10):
        parallel_group(chosen == "control")
        marks[f"cycle {cycle}"] = numbers()
    tell("C50", chosen, marks)
    dist.destroy_process_group()


main()
