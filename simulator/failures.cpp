// SPDX-License-Identifier: Apache-2.0
#include "simulator/failures.h"

#include <cstdlib>
#include <sstream>

namespace vramtrace::simulator {
namespace {

constexpr int kOutOfMemory = 2;

bool read_number(const std::string& text, uint64_t& number) {
    char* end = nullptr;
    number = std::strtoull(text.c_str(), &end, 10);
    return !text.empty() && *end == '\0';
}

}  // namespace

std::string Failures::read(const std::string& text) {
    std::istringstream list(text);
    std::string entry;
    while (std::getline(list, entry, ';')) {
        if (entry.empty()) {
            continue;
        }
        const size_t colon = entry.find(':');
        uint64_t every = 1;
        uint64_t after = 0;
        uint64_t count = 0;
        uint64_t code = kOutOfMemory;
        std::istringstream pairs(colon == std::string::npos ? "" : entry.substr(colon + 1));
        std::string pair;
        while (std::getline(pairs, pair, ',')) {
            const size_t equals = pair.find('=');
            const std::string key = pair.substr(0, equals);
            uint64_t* target = key == "every"   ? &every
                               : key == "after" ? &after
                               : key == "count" ? &count
                               : key == "code"  ? &code
                                                : nullptr;
            if (target == nullptr || equals == std::string::npos || !read_number(pair.substr(equals + 1), *target)) {
                return pair;
            }
        }
        if (!set(entry.substr(0, colon), every, after, count, static_cast<int>(code))) {
            return entry;
        }
    }
    return "";
}

bool Failures::set(const std::string& name, uint64_t every, uint64_t after, uint64_t count, int code) {
    const Function function = function_named(name.c_str());
    if (name != "*" && function == Function::kCount) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    std::vector<Rule>& rules = name == "*" ? rules_for_all_ : rules_[static_cast<size_t>(function)];
    if (every == 0) {
        if (name == "*") {
            rules_.fill({});
        }
        rules.clear();
        return true;
    }
    rules.push_back({every, after, count, code, 0, 0});
    any_rules_.store(true, std::memory_order_relaxed);
    return true;
}

int Failures::apply(std::vector<Rule>& rules) {
    int code = 0;
    for (Rule& rule : rules) {
        rule.seen += 1;
        const bool due = rule.seen > rule.after && (rule.seen - rule.after) % rule.every == 0;
        if (due && code == 0 && (rule.count == 0 || rule.failed < rule.count)) {
            rule.failed += 1;
            code = rule.code;
        }
    }
    return code;
}

int Failures::on_call(Function function) {
    at(function).calls.fetch_add(1, std::memory_order_relaxed);
    if (!any_rules_.load(std::memory_order_relaxed)) {
        return 0;
    }
    const std::lock_guard lock(mutex_);
    int code = apply(rules_[static_cast<size_t>(function)]);
    if (code == 0) {
        code = apply(rules_for_all_);
    }
    if (code != 0) {
        at(function).injected.fetch_add(1, std::memory_order_relaxed);
    }
    return code;
}

}  // namespace vramtrace::simulator
