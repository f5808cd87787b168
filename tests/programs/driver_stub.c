/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs are linked with in place of a driver, as the toolkit's own stub library: the same SONAME and names,
 * nothing behind them. At run time the loader takes the libcuda.so.1 of the library path.
 */
#define STUB(name)   \
    int name(void);  \
    int name(void) { \
        return 34;   \
    }
STUB(cuInit)
STUB(cuDeviceGet)
STUB(cuDevicePrimaryCtxRetain)
STUB(cuCtxSetCurrent)
STUB(cuMemAlloc_v2)
STUB(cuMemFree_v2)
STUB(cuMemAllocManaged)
STUB(cuMemHostAlloc)
STUB(cuMemFreeHost)
STUB(cuMemAllocAsync)
STUB(cuMemAllocAsync_ptsz)
STUB(cuMemFreeAsync)
STUB(cuMemFreeAsync_ptsz)
STUB(cuStreamSynchronize)
STUB(cuStreamSynchronize_ptsz)
