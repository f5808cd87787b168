// SPDX-License-Identifier: Apache-2.0
// Memory that lives as long as its owner: c14_owners three | reassigned | control
#include "tests/cases/case.h"

#include <memory>
#include <vector>

class Resources {
public:
    Resources();
    ~Resources() { MUST(cudaFree(scratch_)); }
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;

private:
    void* scratch_;
};

__attribute__((noinline)) Resources::Resources() : scratch_(device_memory(512 * kMiB)) {}

int main(int argc, char** argv) {
    if (is_part(argc, argv, "reassigned")) {
        // Never destroyed: the last owner lives to the end of the program.
        static std::unique_ptr<Resources>* const owner = new std::unique_ptr<Resources>;
        for (int i = 0; i < 3; ++i) *owner = std::make_unique<Resources>();
        return 0;
    }
    static auto* const owners = new std::vector<std::unique_ptr<Resources>>;
    for (int i = 0; i < 3; ++i) owners->push_back(std::make_unique<Resources>());
    if (is_part(argc, argv, "control")) owners->clear();
    return 0;
}
