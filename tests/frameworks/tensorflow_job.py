# SPDX-License-Identifier: Apache-2.0
"""A job of tensorflow_test.py: trains a little on TensorFlow's CPU device, whose memory a BFCAllocator serves when
TF_CPU_ALLOCATOR_USE_BFC is set, and prints what TensorFlow itself says of it:
    at MARK current N peak N     MARK = bytes of a device allocation made at that moment, to find it in the trace
    loss HEX
With "oom" as argument it asks for more than there is, and goes on."""
import ctypes
import sys


class Marks:
    """Allocations of the (simulated) driver: they open the trace and mark moments in it."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        for result in (self.driver.cuInit(0), self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
                       self.driver.cuCtxSetCurrent(context)):
            assert result == 0
        self.bytes = 1000

    def set(self):
        self.bytes += 1
        assert self.driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(self.bytes)) == 0
        return self.bytes


marks = Marks()
marks.set()
import tensorflow as tf  # noqa: E402


def tell():
    info = tf.config.experimental.get_memory_info("CPU:0")
    print("at", marks.set(), "current", info["current"], "peak", info["peak"], flush=True)


print("version", tf.__version__, flush=True)
tf.random.set_seed(7)
weights = [tf.Variable(tf.random.normal(shape)) for shape in ((100, 64), (64,), (64, 10))]
tell()


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.relu(x @ weights[0] + weights[1]) @ weights[2] - y) ** 2)
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(0.01 * gradient)
    return loss


inputs, targets = tf.random.normal([256, 100]), tf.random.normal([256, 10])
kept = []
for number in range(60):
    loss = step(inputs, targets)
    if number % 10 == 0:
        kept.append(tf.random.normal([number + 1, 1000]))
        tell()
print("loss", float(loss).hex(), flush=True)
if "oom" in sys.argv:
    try:
        kept.append(tf.zeros([200, 1 << 20], tf.uint8) + 1)
        print("no error", flush=True)
    except tf.errors.ResourceExhaustedError:
        print("exhausted", flush=True)
    tell()
del kept, loss, inputs, targets
tell()
