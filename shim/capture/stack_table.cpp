// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/stack_table.h"

#include <cstring>

#include "trace/ring/definition_table.h"

namespace vramtrace::shim {

trace::DefinitionId StackTable::intern(trace::DefinitionTable& definitions, const trace::Frame* frames, size_t count,
                                       uint16_t flags, uint64_t hash) {
    trace::StackBody body;
    body.frame_count = static_cast<uint16_t>(count);
    body.flags = flags;
    const size_t frame_bytes = count * sizeof(trace::Frame);
    const auto equal = [&](trace::DefinitionId id) {
        const auto known = definitions.body(id);
        return known.size() == sizeof(body) + frame_bytes && memcmp(known.data(), &body, sizeof(body)) == 0 &&
               memcmp(known.data() + sizeof(body), frames, frame_bytes) == 0;
    };
    if (const trace::DefinitionId known = index_.find(hash, equal)) return known;
    if (!index_.has_room()) return 0;
    const trace::DefinitionId id =
        definitions.append(trace::DefinitionKind::Stack, {{&body, sizeof(body)}, {frames, frame_bytes}});
    return id == 0 ? 0 : index_.insert(hash, id, equal);
}

}  // namespace vramtrace::shim
