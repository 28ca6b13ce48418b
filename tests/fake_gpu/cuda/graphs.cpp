// SPDX-License-Identifier: Apache-2.0
// The fake driver's captures and graphs.
#include <utility>

#include "tests/fake_gpu/cuda/driver.hpp"

namespace fake_cuda {

bool spoils_capture() {
    if (capture_mode == mode_relaxed) return false;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    for (auto const& graph : all.global_captures) graph->valid = false;
    return !all.global_captures.empty();
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

int cuThreadExchangeStreamCaptureMode(int* mode) {
    std::swap(*mode, capture_mode);
    return success;
}
int cuStreamBeginCapture_v2(void* stream, int mode) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    auto const graph = std::make_shared<Graph>();
    {
        std::lock_guard const lock(found->mutex);
        if (found->capture) return invalid_value;
        found->capture = graph;
    }
    State& all = state();
    std::lock_guard const lock(all.mutex);
    if (mode == mode_global) all.global_captures.push_back(graph);
    return success;
}
int cuStreamEndCapture(void* stream, void** graph) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    std::shared_ptr<Graph> captured;
    {
        std::lock_guard const lock(found->mutex);
        captured.swap(found->capture);
    }
    if (!captured) return invalid_value;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    std::erase(all.global_captures, captured);
    if (!captured->valid) return capture_invalidated;
    return *graph = new std::shared_ptr<Graph>(captured), success;
}
int cuGraphInstantiateWithFlags(void** runnable, void* graph, unsigned long long) {
    *runnable = new std::shared_ptr<Graph>(*static_cast<std::shared_ptr<Graph>*>(graph));
    return success;
}
int cuGraphLaunch(void* runnable, void* stream) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    auto const graph = *static_cast<std::shared_ptr<Graph>*>(runnable);
    return found->add([graph] {
        for (Work const& work : graph->works) work();
    });
}
int cuGraphExecDestroy(void* runnable) {
    delete static_cast<std::shared_ptr<Graph>*>(runnable);
    return success;
}
int cuGraphDestroy(void* graph) {
    delete static_cast<std::shared_ptr<Graph>*>(graph);
    return success;
}
}
