// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "analyzer/opaque_arenas.h"
#include "analyzer/report/json_report.h"
#include "analyzer/report/text_report.h"
#include "analyzer/verdict/verdicts.h"
#include "tests/support/catch.h"
#include "tests/unit/analyzer/report/report_trace.h"

using namespace vramtrace;

namespace {

// A training script on PyTorch, as it lies in a trace: files, code objects, and the native side of stacks.
struct TorchTrace : test::ReportTrace {
    TorchTrace() {
        python_ = module("/usr/bin/python3.12", "");
        torch_ = module("/v/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so", "");
        glue_ = module("/v/lib/python3.12/site-packages/torch/lib/libtorch_python.so", "");
        c10_ = module("/v/lib/python3.12/site-packages/torch/lib/libc10_cuda.so", "");
        libc_ = module("/lib/x86_64-linux-gnu/libc.so.6", "");
        jit_ = module("[anonymous]", "");
        linear_ = code("/v/lib/python3.12/site-packages/torch/nn/modules/linear.py", "Linear.forward", 120, "");
        step_ = code("/home/me/train.py", "step", 40, std::string("\0\1\10\2", 4));
        module_ = code("/home/me/train.py", "<module>", 1, std::string("\0\1\20\74", 4));
        more_names[{"/usr/bin/python3.12", ""}].addresses = {
            {kEvaluation, {{"_PyEval_EvalFrameDefault", "", 0, false}}},
            {kPlumbing, {{"cfunction_call", "", 0, false}}},
            {kRun, {{"Py_RunMain", "", 0, false}}}};
        more_names[{"/v/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so", ""}].addresses = {
            {1, {{"at::_ops::empty::call(long)", "", 0, false}}},
            {2, {{"torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", "", 0, false}}},
            {3, {{"torch::autograd::Engine::thread_main(int)", "", 0, false}}}};
        more_names[{"/v/lib/python3.12/site-packages/torch/lib/libtorch_python.so", ""}].addresses = {
            {1, {{"THPFunction_apply", "", 0, false}}}};
        more_names[{"/v/lib/python3.12/site-packages/torch/lib/libc10_cuda.so", ""}].addresses = {
            {1, {{"c10::cuda::CUDACachingAllocator::malloc(unsigned long)", "", 0, false}}}};
        more_names[{"/lib/x86_64-linux-gnu/libc.so.6", ""}].addresses = {
            {1, {{"__libc_start_call_main", "", 0, false}}}, {2, {{"start_thread", "", 0, false}}}};
        native_ = stack({{cudart_, 0x10},
                         {c10_, 1},
                         {torch_, 1},
                         {python_, kPlumbing},
                         {python_, kEvaluation},
                         {glue_, 1},
                         {python_, kPlumbing},
                         {python_, kEvaluation},
                         {python_, kRun},
                         {libc_, 1}});
        frames_ = stack({{linear_, kEntered + 2}, {step_, 4}, {module_, kEntered + 20}});
    }

    const NamedStack& allocated_at(uint32_t stack, ShownFrames shown = ShownFrames::Merged) {
        job.stack(stack).label(kMalloc).api(kMemAlloc);
        job.device_alloc(next_ += 1 << 20, 4096);
        kept_ = analysis(shown);
        return kept_.processes[0].stack(stack);
    }
    std::string told(const NamedStack& stack) const {
        std::string text;
        for (const uint32_t index : stack.frames) {
            text += kept_.processes[0].frames[index].title() + "|";
        }
        return text;
    }
    const NamedFrame& headline(const NamedStack& stack) const {
        return kept_.processes[0].frames[stack.frames[stack.headline]];
    }

    static constexpr uint64_t kEvaluation = 0x10, kPlumbing = 0x20, kRun = 0x30, kEntered = trace::kFrameEntered;
    trace::DefinitionId python_, torch_, glue_, c10_, libc_, jit_, linear_, step_, module_;
    uint32_t native_, frames_;
    uint64_t next_ = 0x10000000;
    Analysis kept_;
};

constexpr char kInner[] =
    "cudaMalloc|c10::cuda::CUDACachingAllocator::malloc(unsigned long)|at::_ops::empty::call(long)|";

}  // namespace

TEST_CASE("Python frames stand where their evaluations were, and the user's line is the headline") {
    TorchTrace trace;
    const NamedStack& stack = trace.allocated_at(trace.joined(trace.native_, trace.frames_));
    CHECK(trace.told(stack) == kInner + std::string("Linear.forward|THPFunction_apply|step|<module>|"));
    CHECK(trace.headline(stack).title() == "step");
    CHECK(trace.headline(stack).place() == "train.py:41");
    CHECK(trace.headline(stack).owner == symbolize::Owner::Program);
    CHECK_FALSE(stack.guessed);
    CHECK(stack.recorded().size() == 10);
    CHECK(trace.kept_.processes[0].frames[stack.frames.back()].place() == "train.py:62");
}

TEST_CASE("one kind can be shown alone; the key of the site stays") {
    TorchTrace trace;
    const uint32_t both = trace.joined(trace.native_, trace.frames_);
    const std::string key = trace.allocated_at(both).key;
    const NamedStack& python = trace.allocated_at(both, ShownFrames::Python);
    CHECK(trace.told(python) == "Linear.forward|step|<module>|");
    CHECK(trace.headline(python).title() == "step");
    CHECK(python.key == key);
    CHECK(python.key_of_shown() != key);
    const NamedStack& native = trace.allocated_at(both, ShownFrames::Native);
    CHECK(native.frames.size() == 10);
    CHECK(trace.told(native).rfind(kInner + std::string("cfunction_call|_PyEval_EvalFrameDefault|"), 0) == 0);
    CHECK(trace.headline(native).module_name() == "libc10_cuda.so");
    CHECK(native.key == key);
    const auto findings = [&](ShownFrames shown) {
        const Analysis judged = trace.analysis(shown);
        std::vector<std::pair<std::string, std::string>> keys;
        for (const auto& finding : verdict::judge(judged.processes[0]))
            keys.emplace_back(finding.key, std::string(verdict::class_name(finding.what)));
        return keys;
    };
    CHECK(findings(ShownFrames::Merged).size() == 1);
    CHECK(findings(ShownFrames::Native) == findings(ShownFrames::Merged));
    CHECK(findings(ShownFrames::Python) == findings(ShownFrames::Merged));
    // What has no Python frames is shown as it is.
    const uint32_t bare = trace.bare_;
    CHECK(trace.told(trace.allocated_at(bare, ShownFrames::Python)) == "train+0x999|");
}

TEST_CASE("without a line of the user's the nearest package, then the framework, is the headline") {
    TorchTrace trace;
    const auto trainer = trace.code("/v/lib/python3.12/site-packages/transformers/trainer.py", "Trainer.train", 9, "");
    const auto launcher = trace.code("/v/bin/serve", "<module>", 8, "");
    const auto thread = trace.code("/usr/lib/python3.12/threading.py", "Thread.run", 900, "");
    const auto entered = TorchTrace::kEntered;
    const uint32_t packaged = trace.stack({{trace.linear_, 0}, {trainer, 0}, {thread, 0}, {launcher, entered}});
    const uint32_t framework = trace.stack({{trace.linear_, 0}, {thread, entered}});
    CHECK(trace.headline(trace.allocated_at(trace.joined(0, packaged))).title() == "Trainer.train");
    const NamedStack& stack = trace.allocated_at(trace.joined(0, framework));
    CHECK(trace.headline(stack).title() == "Linear.forward");
    CHECK(stack.incomplete);  // the native frames are missing
    CHECK_FALSE(stack.missing);
}

TEST_CASE("a thread of backward is named after its node") {
    TorchTrace trace;
    const uint32_t backward =
        trace.stack({{trace.cudart_, 0x10}, {trace.c10_, 1}, {trace.torch_, 2}, {trace.torch_, 3}, {trace.libc_, 2}});
    const NamedStack& stack = trace.allocated_at(backward);
    CHECK(trace.headline(stack).title() == "MmBackward0 (autograd)");
    CHECK(stack.frames.size() == 5);
    CHECK_FALSE(stack.python);
    std::ostringstream text;
    report::write_text(text, report::build_report(trace.kept_, {}));
    CHECK(text.str().find("MmBackward0 (autograd)") != std::string::npos);
}

TEST_CASE("an interpreter without symbols is known by its name, and places in it are guessed") {
    TorchTrace trace;
    trace.more_names[{"/usr/bin/python3.12", ""}].addresses.clear();
    const NamedStack& stack = trace.allocated_at(trace.joined(trace.native_, trace.frames_));
    CHECK(trace.told(stack) == kInner + std::string("Linear.forward|THPFunction_apply|step|<module>|"));
    CHECK(stack.guessed);
    std::ostringstream text;
    report::Options full;
    full.full = true;
    report::write_text(text, report::build_report(trace.kept_, full));
    CHECK(text.str().find("is a guess") != std::string::npos);
}

TEST_CASE("truncated stacks say so, and lose no Python frame") {
    TorchTrace trace;
    const uint32_t cut = trace.stack(
        {{trace.cudart_, 0x10}, {trace.c10_, 1}, {trace.python_, TorchTrace::kEvaluation}, {trace.glue_, 1}},
        trace::kStackTruncated);
    const NamedStack& stack = trace.allocated_at(trace.joined(cut, trace.frames_));
    CHECK(trace.told(stack) ==
          "cudaMalloc|c10::cuda::CUDACachingAllocator::malloc(unsigned long)|Linear.forward|"
          "THPFunction_apply|step|<module>|");
    CHECK(stack.truncated);
    CHECK_FALSE(stack.guessed);
}

TEST_CASE("joined stacks with damaged ids are shown as far as they can be") {
    TorchTrace trace;
    const uint32_t next = trace.joined(trace.native_, 0);
    CHECK(trace.told(trace.allocated_at(next)).rfind(kInner, 0) == 0);
    CHECK(trace.allocated_at(trace.joined(0, 0)).missing);
    CHECK(trace.allocated_at(trace.joined(0xfffffff, 0xffffffff)).missing);
    const uint32_t itself = trace.joined(trace.native_, trace.joined(1, 2));
    CHECK_FALSE(trace.allocated_at(itself).python);
    CHECK(trace.allocated_at(trace.joined(trace.linear_, trace.python_)).missing);
    // Sides exchanged: what a frame is, its own definition says.
    const NamedStack& exchanged = trace.allocated_at(trace.joined(trace.frames_, trace.native_));
    CHECK(trace.headline(exchanged).title() == "step");
    // A frame of nothing at all.
    const uint32_t unknown = trace.stack({{0xabcdef, 4}, {trace.step_, TorchTrace::kEntered}});
    CHECK(trace.headline(trace.allocated_at(trace.joined(0, unknown))).title() == "step");
    const uint32_t nameless = trace.stack({{trace.code("", "", 0, ""), TorchTrace::kEntered}});
    CHECK(trace.headline(trace.allocated_at(trace.joined(0, nameless))).title() == "[unknown Python code]");
}

TEST_CASE("an arena of a framework is known by the native side, whatever the headline and whatever is shown") {
    TorchTrace trace;
    const auto plugin = trace.module("/v/lib/python3.12/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so", "");
    const uint32_t both = trace.joined(
        trace.stack({{trace.cudart_, 0x10}, {plugin, 1}, {trace.python_, TorchTrace::kEvaluation}}), trace.frames_);
    trace.job.stack(both).label(trace.kMalloc).api(trace.kMemAlloc);
    trace.job.device_alloc(0x90000000, 3ULL << 30);
    for (const ShownFrames shown : {ShownFrames::Merged, ShownFrames::Native, ShownFrames::Python}) {
        const Analysis analysis = trace.analysis(shown);
        CHECK(opaque_arena(analysis.processes[0], analysis.processes[0].accounts.sites[0]).framework == "JAX");
    }
}

TEST_CASE("generated code does not bring addresses into keys") {
    TorchTrace trace;
    const uint32_t one = trace.stack({{trace.jit_, 0x7123}, {trace.app_, 0x400}});
    const uint32_t other = trace.stack({{trace.jit_, 0x9999}, {trace.app_, 0x400}});
    const std::string key = trace.allocated_at(one).key;
    CHECK(trace.allocated_at(other).key == key);
}

TEST_CASE("JSON tells Python frames and libraries") {
    TorchTrace trace;
    trace.allocated_at(trace.joined(trace.native_, trace.frames_));
    std::ostringstream text;
    report::write_json(text, report::build_report(trace.kept_, {}));
    const auto flat = [](std::string json) {
        json.erase(std::remove_if(json.begin(), json.end(), [](char c) { return c == ' ' || c == '\n'; }), json.end());
        return json;
    };
    const std::string json = flat(text.str());
    CHECK(json.find(R"("function":"step","file":"/home/me/train.py","line":41,)") != std::string::npos);
    CHECK(json.find(R"("vendor":false,"python":true,"library":false)") != std::string::npos);
    CHECK(json.find(R"("vendor":false,"python":true,"library":true)") != std::string::npos);
    CHECK(json.find(R"("stack_merge_guessed":false)") != std::string::npos);
}
