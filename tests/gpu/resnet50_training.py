# SPDX-License-Identifier: Apache-2.0
"""ResNet-50, STEPS training steps with fixed seeds; prints one JSON line with losses and allocator statistics."""
import json
import sys
import time

import torch
import torchvision

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
torch.manual_seed(0)
torch.backends.cudnn.benchmark = False
torch.backends.cudnn.deterministic = True
torch.use_deterministic_algorithms(True, warn_only=True)
device = torch.device("cuda")
model = torchvision.models.resnet50(weights=None).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
loss_function = torch.nn.CrossEntropyLoss()
generator = torch.Generator().manual_seed(1)
images = torch.randn(16, 3, 224, 224, generator=generator).to(device)
labels = torch.randint(0, 1000, (16,), generator=generator).to(device)
losses, times = [], []
for _ in range(steps):
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    loss = loss_function(model(images), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    times.append(time.perf_counter() - start)
stats = torch.cuda.memory_stats()
times.sort()
print(json.dumps({
    "losses": losses,
    "segments_allocated": stats["segment.all.allocated"],
    "segments_freed": stats["segment.all.freed"],
    "reserved_peak": stats["reserved_bytes.all.peak"],
    "reserved_current": stats["reserved_bytes.all.current"],
    "median_step_ms": 1e3 * times[len(times) // 2],
}))
