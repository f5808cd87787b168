// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/units.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {
namespace {

struct Meaning {
    Weight weight;
    const char* what;  // "3 IPC handles opened and not closed"
    const char* remedy;
};

Meaning meaning_of(accounts::Kind kind) {
    using accounts::Kind;
    switch (kind) {
        case Kind::IpcMemory:
            return {
                Weight::Leak, "opened from another process and never closed: its owner's free has no effect until then",
                "Close it with cudaIpcCloseMemHandle when the last use is over; a cache of openings needs a bound."};
        case Kind::RegisteredMemory:
            return {Weight::Leak, "registered and never unregistered",
                    "Call cudaHostUnregister with the very pointer that was registered, before the memory goes."};
        case Kind::Module:
        case Kind::Library:
            return {Weight::Leak, "loaded and never unloaded: code and static variables stay on the device",
                    "Call cuModuleUnload (cuLibraryUnload) when the last kernel of it has run."};
        case Kind::Stream:
        case Kind::Event:
            return {Weight::Note, "created and never destroyed", "Destroy it, or keep one and use it again."};
        case Kind::Context:
        case Kind::PrimaryContext:
        case Kind::GreenContext:
            return {Weight::Note, "created and never destroyed", ""};
        case Kind::ImportedPhysical:
        case Kind::ImportedPointer:
        case Kind::ExternalMemory:
        case Kind::ExternalBuffer:
        case Kind::ExternalMipmap:
        case Kind::GraphicsResource:
            return {Weight::Suspicion, "imported and never given back: the memory stays with its owner until then", ""};
        default:
            return {Weight::Suspicion, "created and never destroyed", ""};
    }
}

}  // namespace

std::optional<Finding> handles(const Candidate& candidate) {
    const bool registered = candidate.kind == accounts::Kind::RegisteredMemory;
    const bool module = candidate.kind == accounts::Kind::Module;
    if (candidate.left.count == 0) return std::nullopt;
    if (candidate.quantity() != accounts::Quantity::Handle && !registered && !module) return std::nullopt;
    const Meaning meaning = meaning_of(candidate.kind);
    Finding finding = about(candidate, Class::Handles);
    finding.weight = meaning.weight;
    const std::string kind(replay::kind_name(candidate.kind));
    finding.title =
        "handles: " + print::grouped(candidate.left.count) + " × " + kind + " never closed, from " + candidate.place();
    finding.evidence.push_back(
        print::grouped(candidate.allocated.count) + " made, " +
        print::grouped(candidate.allocated.count - std::min(candidate.left.count, candidate.allocated.count)) +
        " ended; " + meaning.what);
    if (candidate.left.bytes > 0) finding.evidence.push_back(print::exact_bytes(candidate.left.bytes) + " in all");
    if (const auto growing = growth(candidate)) {
        finding.weight = Weight::Leak;
        finding.iterations = growing->iterations;
        finding.survivors_per_iteration = growing->survivors_per_iteration;
        finding.bytes_per_iteration = growing->bytes_per_iteration;
        for (const std::string& sentence : growing->evidence) finding.evidence.push_back(sentence);
    }
    finding.remedy = meaning.remedy;
    return finding;
}

}  // namespace vramtrace::verdict
