// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/preload.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "analyzer/print/units.h"
#include "analyzer/symbolize/module_files.h"

namespace vramtrace::cli {

namespace {

namespace files = std::filesystem;

constexpr char kBreakers[] = " \t\n\v\f\r:";

std::string first_readable(const std::vector<std::string>& candidates) {
    for (const std::string& path : candidates) {
        std::error_code error;
        const files::path real = files::canonical(path, error);
        if (!error && access(real.c_str(), R_OK) == 0 && files::is_regular_file(real, error)) return real.string();
    }
    return {};
}

// A directory that only we can write to: made new, or found just as we would have made it.
bool own_directory(const std::string& path) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 077) == 0;
}

bool link_to(const std::string& target, const std::string& link) {
    std::error_code error;
    if (files::read_symlink(link, error) == target && !error) return true;
    const std::string draft = link + "." + std::to_string(getpid());
    unlink(draft.c_str());
    return symlink(target.c_str(), draft.c_str()) == 0 && rename(draft.c_str(), link.c_str()) == 0;
}

}  // namespace

Installation find_installation(const std::string& library) {
    Installation found;
    std::error_code error;
    const files::path program = files::read_symlink("/proc/self/exe", error);
    const std::string here = error ? std::string(".") : program.parent_path().string();
    found.program_directory = here;
    const std::vector<std::string> places = {here,
                                             here + "/../shim",
                                             here + "/../lib",
                                             here + "/../lib/vramtrace",
                                             here + "/../lib64",
                                             here + "/../lib64/vramtrace",
                                             here + "/../lib/x86_64-linux-gnu",
                                             here + "/../lib/x86_64-linux-gnu/vramtrace"};
    std::vector<std::string> libraries;
    for (const std::string& place : places) libraries.push_back(place + "/libvramtrace.so");
    found.library = library.empty() ? first_readable(libraries) : first_readable({library});
    std::vector<std::string> collectors;
    if (!found.library.empty()) {
        // Where the shim itself looks first.
        collectors.push_back(files::path(found.library).parent_path().string() + "/vramtrace-collect");
    }
    for (const std::string& place : places) collectors.push_back(place + "/vramtrace-collect");
    collectors.push_back(here + "/../libexec/vramtrace-collect");
    collectors.push_back(here + "/../bin/vramtrace-collect");
    found.collector = first_readable(collectors);
    found.looked_in = library.empty() ? here + " and lib/ beside it" : library;
    return found;
}

std::string preloadable_path(const std::string& library, std::string& why) {
    if (library.find_first_of(kBreakers) == std::string::npos) return library;
    const std::string user = std::to_string(geteuid());
    const std::string name = print::hex(std::hash<std::string>{}(library)).substr(2);
    for (const char* place : {"/tmp", "/dev/shm", "/var/tmp"}) {
        std::string directory = std::string(place) + "/vramtrace-" + user;
        if (!own_directory(directory)) {
            // Somebody else sits on that name: one that nobody can guess.
            directory += "-XXXXXX";
            if (mkdtemp(directory.data()) == nullptr) continue;
        }
        const std::string inner = directory + "/" + name;
        const std::string link = inner + "/libvramtrace.so";
        if (!own_directory(inner) || !link_to(library, link)) continue;
        // The shim starts the collector that lies beside it.
        const std::string collector = files::path(library).parent_path().string() + "/vramtrace-collect";
        std::error_code error;
        if (files::exists(collector, error)) link_to(collector, inner + "/vramtrace-collect");
        return link;
    }
    why = "the path " + library +
          " has blanks or colons, which LD_PRELOAD cannot carry, and no directory for a link to it could be made";
    return {};
}

std::string preload_value(const std::string& path, const char* existing) {
    std::string value = path;
    std::string entry;
    std::string text = existing != nullptr ? existing : "";
    text += ':';
    for (const char byte : text) {
        if (std::strchr(kBreakers, byte) == nullptr || byte == '\0') {
            entry += byte;
            continue;
        }
        if (!entry.empty() && entry != path) value += ":" + entry;
        entry.clear();
    }
    return value;
}

std::string find_command(const std::string& command) {
    if (command.find('/') != std::string::npos) return command;
    const char* path = std::getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "/bin:/usr/bin");
    for (std::string directory; std::getline(directories, directory, ':');) {
        std::string candidate = (directory.empty() ? "." : directory) + "/" + command;
        struct stat status {};
        if (stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(candidate.c_str(), X_OK) == 0) {
            return candidate;
        }
    }
    return {};
}

std::string preload_obstacle(const std::string& command) {
    const std::string path = find_command(command);
    const int descriptor = path.empty() ? -1 : symbolize::open_regular(path);
    if (descriptor < 0) return {};
    std::string obstacle;
    struct stat status {};
    Elf64_Ehdr header{};
    const bool read_header = pread(descriptor, &header, sizeof header, 0) == sizeof header;
    const bool elf = read_header && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    if (fstat(descriptor, &status) == 0 && (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) {
        obstacle = "it runs with raised privileges, so the loader ignores LD_PRELOAD";
    } else if (elf && header.e_ident[EI_CLASS] != ELFCLASS64) {
        obstacle = "it is a 32-bit program";
    } else if (elf && header.e_machine != EM_X86_64) {
        obstacle = "it is no x86-64 program";
    } else if (elf && header.e_phentsize == sizeof(Elf64_Phdr)) {
        bool interpreter = false;
        for (unsigned i = 0; i < header.e_phnum && !interpreter; ++i) {
            Elf64_Phdr segment{};
            const auto at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
            if (pread(descriptor, &segment, sizeof segment, at) != sizeof segment) break;
            interpreter = segment.p_type == PT_INTERP;
        }
        if (!interpreter) obstacle = "it is statically linked, so there is no loader to preload anything";
    }
    close(descriptor);
    return obstacle;
}

}  // namespace vramtrace::cli
