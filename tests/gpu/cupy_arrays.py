# SPDX-License-Identifier: Apache-2.0
"""100 CuPy arrays of 8,000 bytes without CuPy's pool: 100 driver allocations."""
import cupy

cupy.cuda.set_allocator(None)
arrays = [cupy.zeros(1000) for _ in range(100)]
print(len(arrays), float(arrays[0].sum()))
