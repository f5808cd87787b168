// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/replay/core.h"

namespace vramtrace::replay {

// MEMORY THAT IS NOT OURS: opened by IPC, imported, or borrowed from a graphics interface. 0 bytes in every total; what is
// open is listed.
class Sharing {
public:
    explicit Sharing(Core& core) : core_(core) {}

    void open_ipc(const trace::Event& event);
    void close_ipc(const trace::Event& event);
    void import_external(const trace::Event& event);
    void map_buffer(const trace::Event& event);
    void map_mipmap(const trace::Event& event);
    void map_graphics(const trace::Event& event);
    void unmap_graphics(const trace::Event& event);

private:
    Core& core_;
};

}  // namespace vramtrace::replay
