// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>

#include "simulator/driver/call.h"

namespace vramtrace::simulator {

// The live objects of one opaque handle type. An unknown handle is an error, never a crash.
template <class Object, class Handle>
class HandleTable {
public:
    Object& add(std::unique_ptr<Object> object) {
        Object* raw = object.get();
        objects_.emplace(raw, std::move(object));
        return *raw;
    }
    Object* find(Handle handle) const {
        const auto found = objects_.find(as_object(handle));
        return found == objects_.end() ? nullptr : found->second.get();
    }
    Object& get(Handle handle, CUresult error = CUDA_ERROR_INVALID_HANDLE) const {
        Object* object = find(handle);
        require(object != nullptr, error);
        return *object;
    }
    void remove(Object& object) { objects_.erase(&object); }
    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& entry : objects_) {
            visit(*entry.second);
        }
    }
    template <class Condition>
    void remove_if(Condition condition) {
        std::erase_if(objects_, [&](const auto& entry) { return condition(*entry.second); });
    }
    static Handle handle_of(const Object& object) {
        return (Handle)(reinterpret_cast<uintptr_t>(&object));  // a pointer type or an integer
    }

private:
    static Object* as_object(Handle handle) { return reinterpret_cast<Object*>((uintptr_t)handle); }

    std::unordered_map<Object*, std::unique_ptr<Object>> objects_;
};

}  // namespace vramtrace::simulator
