// SPDX-License-Identifier: Apache-2.0
// An extension whose constructor makes a tensor: it runs while its thread holds the loader's lock.
extern "C" void job_makes_a_tensor();

[[gnu::constructor]] static void when_loaded() {
    job_makes_a_tensor();
}
