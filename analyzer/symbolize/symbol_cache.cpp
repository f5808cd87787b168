// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/symbol_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "analyzer/files/json_file.h"
#include "analyzer/files/replaced_file.h"

namespace vramtrace::symbolize {

namespace {

namespace files = std::filesystem;
using Json = nlohmann::json;

constexpr unsigned kCacheSchema = 1;
constexpr char kSuffix[] = ".json";
constexpr char kDraftSuffix[] = ".new";
constexpr time_t kDraftIsLost = 3600;  // seconds after which nobody is writing it any more
constexpr size_t kShortestId = 8, kLongestId = 128;

bool hexadecimal(const std::string& text) {
    return text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool ends_with(const std::string& name, const std::string& end) {
    return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

std::string text_of_module(const std::string& build_id, const CachedModule& module) {
    std::ostringstream out;
    print::JsonWriter json(out, 0);
    json.object();
    json.member("schema_version", kCacheSchema).member("build_id", build_id);
    json.member("debug_link", module.debug_link).member("files", module.files);
    write_frames(json.key("described"), module.described);
    write_frames(json.key("other"), module.other);
    json.end();
    return out.str();
}

// The last of `frames` go until `count` are left.
void shorten(FramesByAddress& frames, size_t count) {
    if (frames.size() <= count) return;
    auto first = frames.begin();
    std::advance(first, static_cast<ptrdiff_t>(count));
    frames.erase(first, frames.end());
}

struct Entry {
    files::path path;
    timespec used{};
    uint64_t bytes = 0;
    bool draft = false;
};

// Files of ours in the directory; others are nobody's business here.
std::vector<Entry> entries_of(const std::string& directory) {
    std::vector<Entry> entries;
    std::error_code error;
    for (files::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        Entry entry{it->path(), {}, 0, ends_with(name, kDraftSuffix)};
        if (!hexadecimal(name.substr(0, name.find('.'))) || !(entry.draft || ends_with(name, kSuffix))) continue;
        struct stat status {};
        if (lstat(entry.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
        entry.used = status.st_mtim;
        entry.bytes = static_cast<uint64_t>(status.st_blocks) * 512;
        entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace

SymbolCache::SymbolCache(std::string directory, Trouble trouble, Limits limits)
    : directory_(std::move(directory)), trouble_(std::move(trouble)), limits_(limits) {}

void SymbolCache::tell(const std::string& sentence) const {
    if (trouble_) trouble_("symbol cache: " + sentence);
}

bool SymbolCache::serves(const std::string& build_id) const {
    return !directory_.empty() && build_id.size() >= kShortestId && build_id.size() <= kLongestId &&
           hexadecimal(build_id);
}

std::string SymbolCache::file_of(const std::string& build_id) const {
    return directory_ + "/" + build_id + kSuffix;
}

CachedModule SymbolCache::read(const std::string& build_id) const {
    CachedModule module;
    if (!serves(build_id)) return module;
    const std::string path = file_of(build_id);
    Json document;
    std::string problem;
    switch (read_json_object(path, limits_.file_bytes, document, problem)) {
        case JsonFile::Missing:
            return module;
        case JsonFile::Bad:
            tell(problem);
            return module;
        case JsonFile::Good:
            break;
    }
    const auto schema = document.find("schema_version");
    if (schema == document.end() || *schema != kCacheSchema || text_of(document, "build_id") != build_id) {
        tell(path + " is not what its name says");
        return module;
    }
    module.debug_link = text_of(document, "debug_link");
    if (module.debug_link.find('/') != std::string::npos) module.debug_link.clear();
    module.files = text_of(document, "files");
    if (const auto found = document.find("described"); found != document.end()) read_frames(*found, module.described);
    if (const auto found = document.find("other"); found != document.end()) read_frames(*found, module.other);
    // Says that it was of use. Not ours to touch: then it is not.
    utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return module;
}

bool SymbolCache::make_directory() {
    if (made_ != Directory::Unknown) return made_ == Directory::Good;
    made_ = Directory::Bad;
    for (size_t end = directory_.find('/', 1);; end = directory_.find('/', end + 1)) {
        const std::string part = directory_.substr(0, end);
        if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && end == std::string::npos) {
            tell("cannot make " + directory_ + ": " + std::strerror(errno));
            return false;
        }
        if (end == std::string::npos) break;
    }
    struct stat status {};
    if (stat(directory_.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || access(directory_.c_str(), W_OK) != 0) {
        tell(directory_ + " is no folder that can be written");
        return false;
    }
    made_ = Directory::Good;
    return true;
}

void SymbolCache::write(const std::string& build_id, CachedModule module, const std::set<uint64_t>& wanted) {
    if (!serves(build_id) || !make_directory()) return;
    std::string text = text_of_module(build_id, module);
    if (text.size() > limits_.file_bytes) {
        const auto unwanted = [&](const auto& entry) { return wanted.count(entry.first) == 0; };
        std::erase_if(module.described, unwanted);
        std::erase_if(module.other, unwanted);
        text = text_of_module(build_id, module);
    }
    while (text.size() > limits_.file_bytes && module.described.size() + module.other.size() != 0) {
        const double share = 0.9 * static_cast<double>(limits_.file_bytes) / static_cast<double>(text.size());
        shorten(module.described, static_cast<size_t>(static_cast<double>(module.described.size()) * share));
        shorten(module.other, static_cast<size_t>(static_cast<double>(module.other.size()) * share));
        text = text_of_module(build_id, module);
    }
    std::string why;
    if (!replace_file(file_of(build_id), text, why)) tell(why);
}

void SymbolCache::trim() const {
    if (made_ != Directory::Good) return;
    std::vector<Entry> entries = entries_of(directory_);
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
    });
    uint64_t bytes = 0;
    for (const Entry& entry : entries) bytes += entry.bytes;
    const time_t now = time(nullptr);
    // Further than it must, so that not every run has to.
    const uint64_t goal = bytes > limits_.all_bytes ? limits_.all_bytes - limits_.all_bytes / 8 : bytes;
    for (const Entry& entry : entries) {
        const bool lost = entry.draft && now - entry.used.tv_sec > kDraftIsLost;
        if (!lost && (bytes <= goal || entry.draft)) continue;
        if (unlink(entry.path.c_str()) == 0 || errno == ENOENT) bytes -= entry.bytes;
    }
}

std::string symbol_cache_directory() {
    const auto absolute = [](const char* name) {
        const char* value = std::getenv(name);
        return value != nullptr && value[0] == '/' ? std::string(value) : std::string();
    };
    std::string base = absolute("XDG_CACHE_HOME");
    if (base.empty()) {
        base = absolute("HOME");
        if (base.empty()) return {};
        base += "/.cache";
    }
    if (geteuid() == 0) {
        std::string owned = base;
        struct stat status {};
        while (stat(owned.c_str(), &status) != 0 && owned.size() > 1) {
            owned.resize(std::max<size_t>(owned.rfind('/'), 1));
        }
        if (status.st_uid != 0) return {};
    }
    return base + "/vramtrace/symbols";
}

}  // namespace vramtrace::symbolize
