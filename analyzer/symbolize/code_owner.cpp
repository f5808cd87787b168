// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/code_owner.h"

#include <algorithm>
#include <array>

#include "analyzer/symbolize/interpreter_frames.h"
#include "analyzer/symbolize/vendor_libraries.h"

namespace vramtrace::symbolize {

namespace {

using std::string_view;

bool starts_with(string_view text, string_view start) {
    return text.substr(0, start.size()) == start;
}

bool ends_with(string_view text, string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// What follows "/site-packages/": "torch/nn/modules/linear.py". Empty if the file is not installed.
string_view inside_packages(string_view path) {
    for (const string_view folder : {"/site-packages/", "/dist-packages/"}) {
        const size_t at = path.rfind(folder);
        if (at != string_view::npos) return path.substr(at + folder.size());
    }
    return {};
}

bool is_framework_package(string_view inside) {
    constexpr std::array<string_view, 16> kFrameworks = {
        "torch", "functorch", "torchgen",      "triton", "tensorflow", "keras",    "jax",    "jaxlib",
        "cupy",  "cupyx",     "cupy_backends", "numpy",  "numba",      "tf_keras", "nvidia", "cuda"};
    const string_view package = inside.substr(0, inside.find_first_of("/."));
    return std::find(kFrameworks.begin(), kFrameworks.end(), package) != kFrameworks.end();
}

// /usr/lib/python3.12/threading.py, …/lib/python312.zip/runpy.pyc
bool is_standard_library(string_view path) {
    for (const string_view folder : {"/lib/python", "/lib64/python"}) {
        const size_t at = path.rfind(folder);
        if (at == string_view::npos) continue;
        const string_view version = path.substr(at + folder.size());
        if (!version.empty() && version[0] >= '0' && version[0] <= '9' && version.find('/') != string_view::npos)
            return true;
    }
    return false;
}

// What installers put into bin/ for a package: some lines that import and call its main().
bool is_launcher(string_view path, string_view function, uint32_t line) {
    constexpr uint32_t kLauncherLines = 12;
    const string_view file = file_name(path);
    const string_view folder = path.substr(0, path.size() - file.size());
    return ends_with(folder, "/bin/") && !ends_with(file, ".py") && function == "<module>" && line <= kLauncherLines;
}

}  // namespace

Owner owner_of_python(string_view file, string_view function, uint32_t line) {
    // "<string>" and "<stdin>" are the user's.
    if (starts_with(file, "<frozen ")) return Owner::Standard;
    if (starts_with(file, "<eval_with_key>")) return Owner::Framework;  // torch.fx
    if (starts_with(file, "<__array_function__")) return Owner::Framework;
    if (const string_view inside = inside_packages(file); !inside.empty()) {
        return is_framework_package(inside) ? Owner::Framework : Owner::Package;
    }
    if (is_standard_library(file)) return Owner::Standard;
    return is_launcher(file, function, line) ? Owner::Package : Owner::Program;
}

Owner owner_of_native(string_view module) {
    const string_view file = file_name(module);
    constexpr std::array<string_view, 8> kFrameworks = {"libtorch",      "libc10",        "libtensorflow", "_pywrap_t",
                                                        "xla_extension", "libjax_common", "xla_cuda",      "libcaffe2"};
    constexpr std::array<string_view, 9> kStandard = {"libc.so", "libc-2",    "libpthread", "ld-linux", "libstdc++.so",
                                                      "libm.so", "libgcc_s.", "libffi",     "_ctypes."};
    const auto is_one_of = [&](const auto& names) {
        return std::any_of(names.begin(), names.end(), [&](string_view name) { return starts_with(file, name); });
    };
    if (is_one_of(kFrameworks)) return Owner::Framework;
    if (is_interpreter_file(module) || is_one_of(kStandard) || is_standard_library(module)) {
        // An extension of an installed package lies below lib/python3.12 too.
        const string_view inside = inside_packages(module);
        if (inside.empty()) return Owner::Standard;
    }
    const string_view inside = inside_packages(module);
    if (inside.empty()) return Owner::Program;
    return is_framework_package(inside) ? Owner::Framework : Owner::Package;
}

std::string autograd_node(string_view function) {
    constexpr string_view kNamespace = "torch::autograd::";
    if (!starts_with(function, kNamespace)) return {};
    // Between nodes: sums and checks gradients.
    if (starts_with(function, "torch::autograd::Engine::evaluate_function(")) return "Engine";
    const size_t call = function.rfind("::apply(");
    if (call == string_view::npos || call < kNamespace.size()) return {};
    string_view type = function.substr(kNamespace.size(), call - kNamespace.size());
    // A user's function in C++: CppNode<theirs::Scale>.
    constexpr string_view kUsers = "CppNode<";
    if (starts_with(type, kUsers) && type.back() == '>') {
        type = type.substr(kUsers.size(), type.size() - kUsers.size() - 1);
    }
    const size_t scope = type.rfind("::");
    if (scope != string_view::npos) type.remove_prefix(scope + 2);
    if (type.find_first_of("<>(), ") != string_view::npos) return {};
    // The base class, and the one that calls Python, which is on the stack itself then.
    if (type.empty() || type == "Node" || type == "PyNode") return {};
    return std::string(type);
}

}  // namespace vramtrace::symbolize
