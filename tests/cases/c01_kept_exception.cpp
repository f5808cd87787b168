// SPDX-License-Identifier: Apache-2.0
// A caught exception that is kept also keeps what its function held: c01_kept_exception kept | control
// kept: ten failures are remembered, and forgotten in the end; control: each is forgotten at once.
#include "tests/cases/case.h"

#include <memory>
#include <vector>

namespace {

struct Failed {
    std::shared_ptr<void> held;
};

}  // namespace

CASE_FUNCTION void raising_function() {
    const std::shared_ptr<void> activations(device_memory(256 * kMiB), [](void* memory) { MUST(cudaFree(memory)); });
    throw Failed{activations};
}

CASE_FUNCTION void forget_failures(std::vector<Failed>& failures) {
    failures.clear();
}

int main(int argc, char** argv) {
    const bool keep = !is_part(argc, argv, "control");
    std::vector<Failed> failures;
    for (int call = 0; call < 10; ++call) {
        try {
            raising_function();
        } catch (const Failed& failed) {
            if (keep) failures.push_back(failed);
        }
    }
    forget_failures(failures);
    return 0;
}
