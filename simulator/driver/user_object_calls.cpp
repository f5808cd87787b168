// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/graphs.h"

using namespace vramtrace::simulator;

SIM_API(cuUserObjectCreate,
        (CUuserObject * object_out, void* ptr, CUhostFn destroy, unsigned int initialRefcount, unsigned int flags),
        (object_out, ptr, destroy, initialRefcount, flags)) {
    require(object_out != nullptr && destroy != nullptr && initialRefcount != 0);
    require(flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    auto object = std::make_unique<UserObject>();
    object->pointer = ptr;
    object->destroy = destroy;
    object->references = initialRefcount;
    *object_out = HandleTable<UserObject, CUuserObject>::handle_of(user_objects().add(std::move(object)));
    return CUDA_SUCCESS;
}

SIM_API(cuUserObjectRetain, (CUuserObject object, unsigned int count), (object, count)) {
    require(count != 0);
    user_objects().get(object, CUDA_ERROR_INVALID_VALUE).references += count;
    return CUDA_SUCCESS;
}

SIM_API(cuUserObjectRelease, (CUuserObject object, unsigned int count), (object, count)) {
    require(count != 0);
    release_user_object(user_objects().get(object, CUDA_ERROR_INVALID_VALUE), count);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphRetainUserObject, (CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags),
        (graph, object, count, flags)) {
    require(count != 0 && (flags & ~static_cast<unsigned int>(CU_GRAPH_USER_OBJECT_MOVE)) == 0);
    UserObject& found = user_objects().get(object, CUDA_ERROR_INVALID_VALUE);
    graph_of(graph).user_objects[&found] += count;
    if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) {
        found.references += count;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuGraphReleaseUserObject, (CUgraph graph, CUuserObject object, unsigned int count), (graph, object, count)) {
    UserObject& found = user_objects().get(object, CUDA_ERROR_INVALID_VALUE);
    auto& held = graph_of(graph).user_objects;
    const auto entry = held.find(&found);
    require(entry != held.end() && count != 0 && count <= entry->second);
    entry->second -= count;
    if (entry->second == 0) {
        held.erase(entry);
    }
    release_user_object(found, count);
    return CUDA_SUCCESS;
}
