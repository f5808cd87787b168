// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/code_owner.h"

#include "analyzer/symbolize/interpreter_frames.h"
#include "tests/support/catch.h"

using namespace vramtrace::symbolize;

namespace {

Owner python(const char* file) {
    return owner_of_python(file, "f", 100);
}
NativeRole role(const char* module, const char* function, bool embeds = false) {
    return native_role(module, function[0] == '\0' ? SourceFrames{} : SourceFrames{{function, "", 0, false}}, embeds);
}

}  // namespace

TEST_CASE("whose Python code a file holds") {
    CHECK(python("/home/me/train.py") == Owner::Program);
    CHECK(python("train.py") == Owner::Program);
    CHECK(python("<string>") == Owner::Program);
    CHECK(python("<stdin>") == Owner::Program);
    CHECK(python("") == Owner::Program);
    CHECK(python("/venv/lib/python3.12/site-packages/transformers/trainer.py") == Owner::Package);
    CHECK(python("/usr/lib/python3/dist-packages/yaml/loader.py") == Owner::Package);
    CHECK(python("/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py") == Owner::Framework);
    CHECK(python("/venv/lib/python3.12/site-packages/torchmetrics/metric.py") == Owner::Package);
    CHECK(python("<eval_with_key>.12") == Owner::Framework);
    CHECK(python("/usr/lib/python3.11/threading.py") == Owner::Standard);
    CHECK(python("/opt/lib/python312.zip/runpy.py") == Owner::Standard);
    CHECK(python("<frozen importlib._bootstrap>") == Owner::Standard);
    CHECK(python("/home/me/lib/pythonic/train.py") == Owner::Program);
    CHECK(owner_of_python("/venv/bin/vllm", "<module>", 8) == Owner::Package);
    CHECK(owner_of_python("/home/me/bin/train", "<module>", 80) == Owner::Program);
    CHECK(owner_of_python("/home/me/bin/train.py", "<module>", 3) == Owner::Program);
}

TEST_CASE("whose native code a file holds") {
    CHECK(owner_of_native("/home/me/train") == Owner::Program);
    CHECK(owner_of_native("/v/lib/python3.12/site-packages/torch/lib/libc10_cuda.so") == Owner::Framework);
    CHECK(owner_of_native("/opt/libtorch/lib/libtorch_cpu.so") == Owner::Framework);
    CHECK(owner_of_native("/v/lib/python3.12/site-packages/xformers/_C.so") == Owner::Package);
    CHECK(owner_of_native("/usr/lib/python3.12/lib-dynload/_ctypes.cpython-312-x86_64-linux-gnu.so") ==
          Owner::Standard);
    CHECK(owner_of_native("/usr/bin/python3.12") == Owner::Standard);
    CHECK(owner_of_native("/lib/x86_64-linux-gnu/libc.so.6") == Owner::Standard);
}

TEST_CASE("nodes of autograd") {
    CHECK(autograd_node("torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor, "
                        "std::allocator<at::Tensor> >&&)") == "AddmmBackward0");
    CHECK(autograd_node("torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)") == "AccumulateGrad");
    CHECK(autograd_node("torch::autograd::CppNode<theirs::Scale>::apply(std::vector<at::Tensor>&&)") == "Scale");
    CHECK(autograd_node("torch::autograd::CppNode<(anonymous namespace)::Scale>::apply(int)") == "Scale");
    CHECK(autograd_node("torch::autograd::Engine::evaluate_function(int)") == "Engine");
    CHECK(autograd_node("torch::autograd::Engine::thread_main(int)").empty());
    CHECK(autograd_node("torch::autograd::Node::operator()(std::vector<at::Tensor>&&)").empty());
    CHECK(autograd_node("torch::autograd::PyNode::apply(std::vector<at::Tensor>&&)").empty());
    CHECK(autograd_node("torch::autograd::apply(int)").empty());
    CHECK(autograd_node("torch::autograd::CppNode<>::apply(int)").empty());
    CHECK(autograd_node("mine::AddmmBackward0::apply(int)").empty());
    CHECK(autograd_node("").empty());
}

TEST_CASE("the interpreter's files by name") {
    CHECK(is_interpreter_file("/usr/bin/python3.12"));
    CHECK(is_interpreter_file("/venv/bin/python"));
    CHECK(is_interpreter_file("/opt/lib/libpython3.11.so.1.0"));
    CHECK_FALSE(is_interpreter_file("/opt/lib/libpythonic.so"));
    CHECK_FALSE(is_interpreter_file("/opt/lib/libtorch_python.so"));
    CHECK_FALSE(is_interpreter_file("/usr/bin/pythonize"));
    CHECK_FALSE(is_interpreter_file(""));
}

TEST_CASE("what native frames do for the interpreter") {
    CHECK(role("/usr/bin/python3.12", "_PyEval_EvalFrameDefault") == NativeRole::Evaluation);
    CHECK(role("/usr/bin/python3.12", "_PyEval_EvalFrameDefault.cold") == NativeRole::Evaluation);
    CHECK(role("/usr/bin/python3.12", "_PyEval_EvalFrameDefaultish") == NativeRole::Plumbing);
    CHECK(role("/usr/bin/python3.14", "_TAIL_CALL_CALL_KW") == NativeRole::EvaluationPart);
    CHECK(role("/usr/bin/python3.12", "gc_collect_main") == NativeRole::Collection);
    CHECK(role("/usr/bin/python3.12", "cfunction_call") == NativeRole::Plumbing);
    CHECK(role("/usr/bin/python3.12", "PyEval_EvalCode") == NativeRole::EvaluatesCode);
    CHECK(role("/usr/bin/python3.12", "Py_RunMain") == NativeRole::RunsMain);
    CHECK(role("/usr/bin/python3.12", "") == NativeRole::Unnamed);
    CHECK(role("/lib/libc.so.6", "__libc_start_call_main") == NativeRole::Start);
    CHECK(role("/v/torch/lib/libtorch_python.so", "THPFunction_apply") == NativeRole::Outside);
    // Linked into a program: its own functions are not the interpreter's.
    CHECK(role("/opt/game", "_PyEval_EvalFrameDefault", true) == NativeRole::Evaluation);
    CHECK(role("/opt/game", "PyObject_Call", true) == NativeRole::Plumbing);
    CHECK(role("/opt/game", "method_vectorcall", true) == NativeRole::Plumbing);
    CHECK(role("/opt/game", "game::run(int)", true) == NativeRole::Outside);
    CHECK(role("/opt/game", "main", true) == NativeRole::Outside);
    CHECK(role("/opt/game", "", true) == NativeRole::Outside);
    CHECK(role("/opt/game", "PyObject_Call", false) == NativeRole::Outside);
}
