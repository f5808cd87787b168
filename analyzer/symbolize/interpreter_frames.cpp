// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/interpreter_frames.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "analyzer/symbolize/vendor_libraries.h"

namespace vramtrace::symbolize {

namespace {

bool starts_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

bool goes_on_as_a_name(std::string_view text, size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
}

std::string_view function_of(const SourceFrames& names) {
    return names.empty() ? std::string_view() : std::string_view(names.back().function);
}

bool is_part_of_evaluation(std::string_view function) {
    return starts_with(function, "_TAIL_CALL_");
}

// gc_collect_main, gc_collect_generations, PyGC_Collect, _PyGC_Collect…, _Py_RunGC
bool is_collection(std::string_view function) {
    return starts_with(function, "gc_collect") || starts_with(function, "PyGC_Collect") ||
           starts_with(function, "_PyGC_") || starts_with(function, "_Py_RunGC");
}

// Static functions of CPython that stand between evaluations, by the beginnings of their names.
constexpr std::array<std::string_view, 28> kPlumbing = {
    "slot_tp_",      "slot_",           "method_vectorcall", "cfunction_",     "builtin_exec",       "builtin_eval",
    "builtin___",    "type_call",       "object_vacall",     "partial_",       "gen_send_ex",        "gen_iternext",
    "wrap_",         "wrapper_call",    "vectorcall_",       "run_mod",        "run_eval_code_obj",  "pymain_",
    "property_desc", "do_call_core",    "call_function",     "import_",        "function_code_fast", "pyrun_",
    "thread_run",    "thread_PyThread", "pythread_wrapper",  "call_trampoline"};

bool is_plumbing_name(std::string_view function) {
    if (function.find_first_of(":(<") != std::string_view::npos) return false;  // C++
    if (starts_with(function, "Py") || starts_with(function, "_Py")) return true;
    return std::any_of(kPlumbing.begin(), kPlumbing.end(),
                       [&](std::string_view n) { return starts_with(function, n); });
}

bool is_c_library(std::string_view file) {
    return starts_with(file, "libc.so") || starts_with(file, "libc-2") || starts_with(file, "libpthread") ||
           starts_with(file, "ld-linux") || starts_with(file, "ld-musl") || starts_with(file, "libc.musl");
}

}  // namespace

bool is_interpreter_file(std::string_view path) {
    std::string_view file = file_name(path);
    if (starts_with(file, "lib")) file.remove_prefix(3);
    constexpr std::string_view kPython = "python";
    if (!starts_with(file, kPython)) return false;
    return file.size() == kPython.size() || file[kPython.size()] == '.' ||
           std::isdigit(static_cast<unsigned char>(file[kPython.size()])) != 0;
}

bool is_evaluation(const SourceFrames& names) {
    // Its ".cold" part too: the same activation.
    constexpr std::string_view kEvaluation = "_PyEval_EvalFrameDefault";
    const std::string_view function = function_of(names);
    return starts_with(function, kEvaluation) && !goes_on_as_a_name(function, kEvaluation.size());
}

NativeRole native_role(std::string_view module, const SourceFrames& names, bool embeds) {
    const bool interpreter = is_interpreter_file(module);
    if (!interpreter && !embeds) return is_c_library(file_name(module)) ? NativeRole::Start : NativeRole::Outside;
    const std::string_view function = function_of(names);
    if (is_evaluation(names)) return NativeRole::Evaluation;
    if (is_part_of_evaluation(function)) return NativeRole::EvaluationPart;
    if (is_collection(function)) return NativeRole::Collection;
    if (function == "PyEval_EvalCode") return NativeRole::EvaluatesCode;
    if (function == "Py_RunMain" || function == "Py_BytesMain" || function == "Py_Main") return NativeRole::RunsMain;
    if (interpreter) return function.empty() ? NativeRole::Unnamed : NativeRole::Plumbing;
    return is_plumbing_name(function) ? NativeRole::Plumbing : NativeRole::Outside;
}

}  // namespace vramtrace::symbolize
