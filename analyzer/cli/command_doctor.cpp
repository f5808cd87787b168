// SPDX-License-Identifier: Apache-2.0
#include <gnu/libc-version.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/exit_codes.h"
#include "analyzer/cli/preload.h"
#include "analyzer/cli/surroundings.h"
#include "analyzer/print/printable.h"
#include "analyzer/print/units.h"

extern char** environ;

namespace vramtrace::cli {

namespace {

constexpr unsigned kChildSeconds = 60;  // a driver on a large machine may take half a minute to start
constexpr uint64_t kUsefulSpace = 512ULL << 20;

constexpr char kDoctorHelp[] =
    R"(Each line says "good", "note" (works, but know it) or "BAD" (will not work). Exit code 0 if a CUDA job started here with
`vramtrace run` would be recorded, else 1.)";

class Findings {
public:
    void good(const std::string& what, const std::string& text) { line("good", what, text); }
    void note(const std::string& what, const std::string& text) { line("note", what, text); }
    void bad(const std::string& what, const std::string& text) {
        line("BAD ", what, text);
        ++bad_;
    }
    unsigned bad_count() const { return bad_; }

private:
    static void line(const char* verdict, const std::string& what, const std::string& text) {
        std::cout << verdict << "  " << what << std::string(what.size() < 16 ? 16 - what.size() : 1, ' ')
                  << print::printable(text) << "\n";
    }
    unsigned bad_ = 0;
};

void check_library(Findings& findings, const Installation& installation) {
    const std::string& library = installation.library;
    if (library.empty()) {
        findings.bad("libvramtrace.so", "not there (looked in " + installation.looked_in + ")");
        return;
    }
    std::string why;
    const std::string path = preloadable_path(library, why);
    if (path.empty()) {
        findings.bad("libvramtrace.so", why);
        return;
    }
    // The loader only warns about an object that it cannot preload, so its words decide, not the exit code.
    const ChildOutput child =
        run_child({"/proc/self/exe", "--version"}, {"LD_PRELOAD=" + path, "VRAMTRACE_DISABLE=1"}, kChildSeconds);
    if (!child.succeeded() || child.text.find("cannot be preloaded") != std::string::npos ||
        child.text.find("ERROR: ld.so") != std::string::npos) {
        findings.bad("libvramtrace.so", path + " cannot be loaded: " + child.text.substr(0, child.text.find('\n')));
        return;
    }
    findings.good("libvramtrace.so", path + (path != library ? " (a link to " + library + ")" : ""));
}

void check_glibc(Findings& findings) {
    unsigned major = 0;
    unsigned minor = 0;
    const std::string version = gnu_get_libc_version();
    const bool read = std::sscanf(version.c_str(), "%u.%u", &major, &minor) == 2;
    const bool enough = read && (major > 2 || (major == 2 && minor >= 34));
    enough ? findings.good("glibc", version) : findings.bad("glibc", version + ", but 2.34 or newer is needed");
}

void check_collector(Findings& findings, const Installation& installation) {
    if (installation.collector.empty()) {
        findings.note("collector",
                      "vramtrace-collect was not found: events stay in the rings until they are full, then they are "
                      "lost and counted");
        return;
    }
    // Without arguments it explains itself and gives 2.
    const ChildOutput child = run_child({installation.collector}, {}, kChildSeconds);
    const bool starts = child.finished && WIFEXITED(child.status) && WEXITSTATUS(child.status) == 2;
    starts ? findings.good("collector", installation.collector)
           : findings.bad("collector", installation.collector + " does not start");
}

void check_directory(Findings& findings) {
    const char* named = std::getenv("VRAMTRACE_DIR");
    std::error_code ignored;
    std::string directory = named != nullptr ? named : ".";
    if (!std::filesystem::is_directory(directory, ignored)) directory = ".";
    const DirectoryFound found = look_at_directory(directory);
    const std::string text = std::filesystem::absolute(directory, ignored).lexically_normal().string() + ", " +
                             found.file_system + ", " + print::bytes(found.free_bytes) + " free";
    if (!found.writable) {
        findings.bad("trace directory", text + ": cannot be written to; choose another with run -o DIR");
    } else if (found.free_bytes < kUsefulSpace) {
        findings.note("trace directory", text + ": that is little; what finds no room is lost and counted");
    } else if (!found.local) {
        findings.note("trace directory", text + ": on a network, so the rings go to /dev/shm if there is room");
    } else {
        findings.good("trace directory", text);
    }
}

void check_cuda(Findings& findings) {
    const CudaFound found = look_for_cuda(kChildSeconds);
    if (found.driver_path.empty()) {
        findings.bad("CUDA driver",
                     "none: " + found.why + "; programs run as without vramtrace, and there is nothing to record");
    } else {
        const std::string version =
            std::to_string(found.driver_version / 1000) + "." + std::to_string(found.driver_version % 1000 / 10);
        const std::string text =
            found.driver_path + ", CUDA " + version + (found.simulated ? ", vramtrace's simulated CUDA" : "");
        found.started ? findings.good("CUDA driver", text) : findings.bad("CUDA driver", text + ": " + found.why);
        for (const CudaDevice& device : found.devices) {
            findings.good("device " + std::to_string(device.ordinal),
                          device.name + ", " + print::bytes(device.total_bytes));
        }
        if (found.started && found.devices.empty()) findings.bad("devices", "the driver sees none");
    }
    for (const std::string& runtime : found.runtimes) findings.good("CUDA runtime", runtime);
    if (found.runtimes.empty()) {
        findings.note("CUDA runtime",
                      "no shared libcudart is in the loader's path; programs that bring their own (static, Python "
                      "wheels) are seen too");
    }
}

void check_environment(Findings& findings) {
    if (const char* existing = std::getenv("LD_PRELOAD"); existing != nullptr && *existing != '\0') {
        findings.note("LD_PRELOAD", std::string("is set and will be kept behind ours: ") + existing);
    }
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (text.rfind("VRAMTRACE_", 0) == 0) findings.note("setting", text);
    }
    if (const char* tool = std::getenv("NVTX_INJECTION64_PATH"); tool != nullptr && *tool != '\0') {
        findings.note("NVTX",
                      std::string("ranges go to ") + tool +
                          " (NVTX_INJECTION64_PATH) and are no phases in reports, unless that is libvramtrace.so");
    } else {
        findings.good("NVTX", "ranges become phases; with a bare LD_PRELOAD, set NVTX_INJECTION64_PATH to it too");
    }
    findings.good("rights", "none are needed: no ptrace, no root, no driver options");
    findings.note("not seen",
                  "malloc() inside kernels; statically linked and setuid programs; plugins with RTLD_DEEPBIND and a "
                  "runtime of their own");
}

int doctor(const std::string& library) {
    Findings findings;
    const Installation installation = find_installation(library);
    check_library(findings, installation);
    check_glibc(findings);
    check_collector(findings, installation);
    check_directory(findings);
    check_cuda(findings);
    check_environment(findings);
    std::cout << (findings.bad_count() == 0 ? "A CUDA job started here with `vramtrace run` will be recorded.\n"
                                            : "A CUDA job started here would NOT be recorded: see BAD above.\n");
    return findings.bad_count() == 0 ? kGood : kFailed;
}

}  // namespace

void add_doctor(CLI::App& program, Chosen& chosen) {
    CLI::App* command = program.add_subcommand("doctor", "Will it work here, and what will be seen");
    auto library = std::make_shared<std::string>();
    command->footer(kDoctorHelp);
    command->add_option("--library", *library, "The libvramtrace.so to try")->type_name("FILE");
    command->callback([library, &chosen] { chosen.action = [library] { return doctor(*library); }; });
}

}  // namespace vramtrace::cli
