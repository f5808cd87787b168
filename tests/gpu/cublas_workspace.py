# SPDX-License-Identifier: Apache-2.0
"""Creates one cuBLAS handle through ctypes (cuBLAS carries a private static cudart) and leaves it open."""
import ctypes
import glob
import sys

candidates = [p for root in sys.path for p in glob.glob(root + "/nvidia/**/libcublas.so.1[0-9]", recursive=True)]
library = ctypes.CDLL((candidates + ["libcublas.so.13", "libcublas.so.12"])[0])
handle = ctypes.c_void_p()
status = library.cublasCreate_v2(ctypes.byref(handle))
print("status", status)
sys.exit(0 if status == 0 else 1)
