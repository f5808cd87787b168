// SPDX-License-Identifier: Apache-2.0
// Built twice under two names, with code of the same size: the second takes the place of the first after a dlclose.
#define JOINED2(a, b) a##b
#define JOINED(a, b) JOINED2(a, b)

extern "C" {
volatile int plugin_sink;

[[gnu::noinline]] void JOINED(inner_of_, PLUGIN)(void (*callback)()) {
    callback();
    plugin_sink = plugin_sink + 1;
}

void run_plugin(void (*callback)()) {
    JOINED(inner_of_, PLUGIN)(callback);
    plugin_sink = plugin_sink + 1;
}
}
