// SPDX-License-Identifier: Apache-2.0
// The owner thread of a communicator: start, tasks, watchdog, orderly end.
#include "collectives/nccl/core.hpp"

#include <algorithm>
#include <cstdint>

#include <sinew/comm/float16.hpp>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::collectives::nccl {

using namespace std::chrono_literals;

namespace {

constexpr auto longest_pause = 1ms;
constexpr auto longest_error_pause = 50ms;
/// How long an error of NCCL waits for the news of a rank's death, which NCCL cannot name. A quarter of the
/// time for the end, if that is shorter: callers must not come to their own deadlines meanwhile.
constexpr std::chrono::nanoseconds patience_for_news = 2s;
/// Without tasks only NCCL's asynchronous errors are of interest.
constexpr auto pause_without_tasks = 50ms;
constexpr auto trouble_pause = 20ms;

double rounded_seconds(std::chrono::nanoseconds time) {
    return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count() /
                               10) /
           100;
}

}  // namespace

std::shared_ptr<Work const> Core::submit(Task task) {
    auto work = std::make_shared<TaskState>(std::move(task));
    std::lock_guard const lock(mutex);
    if (failure || closing) {
        work->now = Work::Phase::failed;
        return work;
    }
    queued.push_back(work);
    changed.notify_all();
    return work;
}

bool Core::await(bool Core::*flag, std::chrono::nanoseconds longest) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, longest, [&] { return this->*flag; });
}

/// Called by the owner before it calls NCCL. Returns false if the communicator is being ended: another
/// thread may destroy it then.
bool Core::enter() {
    std::lock_guard const lock(mutex);
    if (failure) return false;
    return inside = true;
}

void Core::stop_if_ending() const {
    std::lock_guard const lock(mutex);
    if (failure) std::rethrow_exception(failure);
}

void Core::leave() {
    std::lock_guard const lock(mutex);
    inside = false;
    changed.notify_all();
}

void Core::run() {
    try {
        setup.driver->check(setup.driver->context_set(setup.context), "cuCtxSetCurrent");
        int mode = CudaDriver::capture_mode_relaxed;
        setup.driver->thread_capture_mode(&mode);
        start();
        work();
    } catch (...) {
        lose(std::current_exception());
    }
    std::lock_guard const lock(mutex);
    inside = false;
    owner_ended = true;
    changed.notify_all();
}

/// Waits until NCCL has done what it does in the background. Returns false if the communicator is
/// being ended. Throws BackendError if NCCL reports an error.
bool Core::settle(char const* during, Task const* task) {
    std::chrono::nanoseconds wait = shortest_pause;
    for (;;) {
        int error = success;
        if (!enter()) return false;
        int const result = setup.library->call().async_error(own, &error);
        std::string const words =
            error != success && error != in_progress ? setup.library->words(error, own) : "";
        leave();
        setup.library->check(result, "ncclCommGetAsyncError", nullptr);
        if (!words.empty() && task != nullptr) fail(task->what, words, error);
        if (!words.empty()) throw BackendError(text(setup.self, ": ", during, ": ", words), error);
        if (error == success) return true;
        std::unique_lock lock(mutex);
        changed.wait_for(lock, wait, [&] { return failure != nullptr; });
        wait = std::min<std::chrono::nanoseconds>(wait * 2, longest_error_pause);
    }
}

void Core::start() {
    if (!enter()) return;
    Config config;
    Handle made = nullptr;
    int const result =
        setup.library->call().init_rank_config(&made, setup.ranks, setup.id, setup.rank, &config);
    {
        std::unique_lock lock(mutex);
        inside = false;
        own = comm = made;
        changed.notify_all();
        if (failure) {
            // The communicator was given up while NCCL did not return: whoever ended it had none.
            if (end_found_none && made != nullptr) {
                lock.unlock();
                setup.library->call().abort(made);
            }
            return;
        }
    }
    if (result != success && result != in_progress)
        throw BackendError(
            text(setup.self, ": ncclCommInitRankConfig: ", setup.library->words(result, nullptr)),
            result);
    if (!settle("NCCL's initialisation")) return;
    setup.driver->check(setup.driver->stream_create(&own_stream, CudaDriver::stream_non_blocking),
                        "cuStreamCreate");
    std::lock_guard const lock(mutex);
    if (!failure) state = Communicator::State::ready;
}

std::chrono::nanoseconds Core::next_pause() {
    if (running.empty()) return pause_without_tasks;
    pause = std::min<std::chrono::nanoseconds>(pause + pause / 4, longest_pause);
    return pause;
}

void Core::work() {
    for (;;) {
        std::shared_ptr<TaskState> next;
        {
            std::unique_lock lock(mutex);
            changed.wait_for(lock, next_pause(),
                             [&] { return failure || closing || !queued.empty(); });
            if (failure) return;
            if (closing && queued.empty()) break;
            if (!queued.empty()) {
                next = queued.front();
                queued.pop_front();
                running.push_back(next);
            }
        }
        if (next) {
            pause = shortest_pause;
            error_pause = first_error_pause;
            issue(*next);
        }
        poll_tasks();
        poll_errors();
    }
    close();
}

CudaDriver::Event Core::take_event() {
    CudaDriver::Event event = nullptr;
    if (idle_events.empty()) {
        setup.driver->check(setup.driver->event_create(&event, CudaDriver::event_without_timing),
                            "cuEventCreate");
        return event;
    }
    event = idle_events.back();
    idle_events.pop_back();
    return event;
}

void Core::give_back(TaskState& task) {
    for (CudaDriver::Event* const event : {&task.begins, &task.ends})
        if (*event != nullptr) idle_events.push_back(std::exchange(*event, nullptr));
    idle_scratch.insert(idle_scratch.end(), task.scratch.begin(), task.scratch.end());
    task.scratch.clear();
    task.task.after = nullptr;
}

void Core::issue(TaskState& state) {
    Task& task = state.task;
    CudaDriver const& driver = *setup.driver;
    CudaDriver::Stream const stream = task.stream != nullptr ? task.stream : own_stream;
    if (!enter()) return;
    issuing = &state;
    try {
        if (!task.captured) {
            if (task.after)
                driver.check(driver.stream_wait_event(stream, task.after.get(), 0),
                             "cuStreamWaitEvent");
            state.begins = take_event();
            state.ends = take_event();
            driver.check(driver.event_record(state.begins, stream), "cuEventRecord");
        }
        Calls calls(*this, stream);
        task.issue(calls);
        task.issue = nullptr;
    } catch (BackendError const& error) {
        issuing = nullptr;
        leave();
        throw BackendError(text(task.what, ": ", error.what()), error.code());
    } catch (...) {
        issuing = nullptr;
        leave();
        throw;
    }
    issuing = nullptr;
    leave();
    // In communicators that do not block, NCCL launches in the background.
    if (!settle(task.what.c_str(), &task)) return;
    if (!task.captured) driver.check(driver.event_record(state.ends, stream), "cuEventRecord");
    state.enqueued_at = Clock::now();
    std::lock_guard const lock(mutex);
    if (failure) return;
    state.now.store(task.captured ? Work::Phase::done : Work::Phase::enqueued,
                    std::memory_order_release);
    if (task.captured) std::erase_if(running, [&](auto const& one) { return one.get() == &state; });
}

void Core::poll_tasks() {
    // A copy, because a task that has ended leaves the list.
    for (auto const& task : std::vector(running)) poll_task(*task);
}

void Core::poll_task(TaskState& state) {
    CudaDriver const& driver = *setup.driver;
    if (!state.has_begun) {
        int const begun = driver.event_query(state.begins);
        if (begun == CudaDriver::success) {
            state.has_begun = true;
            state.begun_at = Clock::now();
        } else if (begun != CudaDriver::not_ready) driver.check(begun, "cuEventQuery");
    }
    int const ended = driver.event_query(state.ends);
    if (ended == CudaDriver::not_ready) return enforce_deadline(state);
    driver.check(ended, state.task.what.c_str());
    give_back(state);
    std::lock_guard const lock(mutex);
    if (failure) return;
    state.now.store(Work::Phase::done, std::memory_order_release);
    std::erase_if(running, [&](auto const& one) { return one.get() == &state; });
}

/// Throws Timeout if the device has been in a task for too long and the other ranks are not only late.
void Core::enforce_deadline(TaskState& state) {
    if (!state.task.watch) return;
    auto const now = Clock::now();
    auto const since_enqueued = now - state.enqueued_at;
    auto const& [silent, late] = *state.task.watch;
    if (setup.peers != nullptr && now >= next_trouble_poll) {
        next_trouble_poll = now + trouble_pause;
        if (auto const trouble = setup.peers->trouble())
            throw PeerLost(text(state.task.what, " stopped after ", rounded_seconds(since_enqueued),
                                " s (", *trouble, "). This communicator is lost"));
    }
    auto const since_begun = state.has_begun ? now - state.begun_at : std::chrono::nanoseconds{0};
    bool const over = since_begun - state.forgiven > silent;
    if (!over && since_enqueued <= late) return;
    Peers::Findings findings;
    if (setup.peers != nullptr) findings = setup.peers->investigate();
    bool const just_came = findings.all_came && !std::exchange(state.all_came, true);
    if ((findings.only_late || just_came) && since_enqueued <= late) {
        state.forgiven = since_begun;
        return;
    }
    throw Timeout(text(
        state.task.what, " stopped ", rounded_seconds(since_enqueued), " s after it was enqueued, ",
        state.has_begun ? text(rounded_seconds(since_begun), " s after the GPU began it")
                        : std::string("before the GPU began it: earlier work of its stream "
                                      "has not ended"),
        findings.text.empty() ? "" : text(" (", findings.text, ')'),
        ". SINEW_TIMEOUT and SINEW_LATE_TIMEOUT set the deadlines"));
}

void Core::poll_errors() {
    auto const now = Clock::now();
    if (now < next_error_poll || !enter()) return;
    next_error_poll = now + error_pause;
    error_pause = std::min<std::chrono::nanoseconds>(error_pause * 2, longest_error_pause);
    int error = success;
    int const result = setup.library->call().async_error(own, &error);
    std::string const words =
        error != success && error != in_progress ? setup.library->words(error, own) : "";
    leave();
    setup.library->check(result, "ncclCommGetAsyncError", nullptr);
    if (!words.empty())
        fail(running.empty() ? setup.self : running.front()->task.what, words, error);
}

void Core::fail(std::string const& what, std::string const& words, int error) {
    std::string const reported = text(what, ": NCCL reports an error: ", words);
    auto const until = Clock::now() + std::min(patience_for_news, setup.ending / 4);
    while (setup.peers != nullptr) {
        if (auto const trouble = setup.peers->trouble())
            throw PeerLost(text(reported, " (", *trouble, "). This communicator is lost"));
        std::unique_lock lock(mutex);
        bool const ends = changed.wait_for(lock, trouble_pause, [&] { return failure != nullptr; });
        if (ends || Clock::now() >= until) break;
    }
    throw BackendError(text(reported,
                            ". Its cause is often another rank that died: see the errors "
                            "of the other ranks"),
                       error);
}

int Core::average(int type) {
    auto const found = averages.find(type);
    if (found != averages.end()) return found->second;
    double const exact = 1.0 / setup.ranks;
    auto const as_float = static_cast<float>(exact);
    // The scalar has the type of the elements; NCCL reads it before it returns.
    union {
        double f64;
        float f32;
        std::uint16_t bits;
    } scalar{};
    if (type == type_f64) scalar.f64 = exact;
    else if (type == type_f32) scalar.f32 = as_float;
    else if (type == type_f16) scalar.bits = float16(as_float).bits;
    else scalar.bits = bfloat16(as_float).bits;
    int op = 0;
    setup.library->check(
        setup.library->call().create_pre_mul_sum(&op, &scalar, type, scalar_host_immediate, own),
        "ncclRedOpCreatePreMulSum", nullptr);
    return averages[type] = op;
}

void* Core::scratch(std::size_t bytes) {
    auto fits = std::find_if(idle_scratch.begin(), idle_scratch.end(),
                             [&](auto const& memory) { return memory.second >= bytes; });
    if (fits == idle_scratch.end()) {
        CudaDriver::Address memory = 0;
        setup.driver->check(setup.driver->memory_allocate(&memory, bytes), "cuMemAlloc");
        fits = idle_scratch.insert(fits, {memory, bytes});
    }
    issuing->scratch.push_back(*fits);
    auto const address = fits->first;
    idle_scratch.erase(fits);
    return reinterpret_cast<void*>(address);
}

/// Waits for the tasks, then destroys the communicator in order: finalizing it lets the data leave
/// that other ranks still wait for.
void Core::close() {
    auto const until = Clock::now() + setup.ending;
    while (!running.empty()) {
        poll_tasks();
        poll_errors();
        if (running.empty()) break;
        if (Clock::now() > until)
            throw Timeout(text(running.front()->task.what, " had not ended ",
                               rounded_seconds(setup.ending),
                               " s after its communicator was destroyed"));
        std::unique_lock lock(mutex);
        if (changed.wait_for(lock, next_pause(), [&] { return failure != nullptr; })) return;
    }
    Library const& library = *setup.library;
    if (!enter()) return;
    for (auto const& [type, op] : averages) library.call().destroy_op(op, own);
    int const result = library.call().finalize(own);
    leave();
    library.check(result, "ncclCommFinalize", nullptr);
    if (!settle("ncclCommFinalize") || !enter()) return;
    library.check(library.call().destroy(own), "ncclCommDestroy", nullptr);
    {
        std::lock_guard const lock(mutex);
        comm = nullptr;
        inside = false;
    }
}

void Core::release() noexcept try {
    CudaContextScope const scope(*setup.driver, setup.context);
    for (auto const& task : running) give_back(*task);
    for (CudaDriver::Event const event : idle_events) setup.driver->event_destroy(event);
    for (auto const& [memory, bytes] : idle_scratch) setup.driver->memory_free(memory);
    if (own_stream != nullptr) setup.driver->stream_destroy(own_stream);
} catch (std::exception const&) {
    // The context was destroyed, and all of them with it.
}

}  // namespace sinew::collectives::nccl
