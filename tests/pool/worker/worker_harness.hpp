// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sinew/detail/call.hpp>
#include <sinew/remote_error.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/pool/protocol.hpp"
#include "src/pool/transfers.hpp"
#include "src/process/child/child.hpp"
#include "src/wire/link.hpp"
#include "tests/support/child.hpp"
#include "tests/wire/support.hpp"

namespace sinew::pool::test {

/// What a worker has reported of one batch.
struct Heard {
    struct Thrown {
        std::uint32_t offset;
        ErrorRecord record;
    };
    std::uint32_t done = 0;
    int reports = 0;
    std::uint64_t busy_ns = 0;
    std::vector<Thrown> thrown;
    std::vector<std::byte> results;  ///< consecutive values of all tasks that did not throw
    std::optional<std::uint32_t> kept;
    bool through_transfer = false;
};

/// A shared page, mapped as a worker's parent does.
class Page {
public:
    Page();
    Page(Page const&) = delete;
    ~Page();
    process::StatusPage& operator*() const { return *page_; }
    process::StatusPage* operator->() const { return page_; }

private:
    process::StatusPage* page_;
};

/// A start message of this program, with short limits of silence.
WorkerStart usual_start();

/// A real worker in a forked process, and its master in this one.
class Master {
public:
    explicit Master(WorkerStart const& start = usual_start());
    ~Master();

    /// Runs the loop until the condition is true; returns false at a generous limit.
    bool wait(std::function<bool()> const& condition) {
        return wire::test::run_until(loop, condition);
    }
    bool wait_ready() {
        return wait([this] { return ready || gone(); }) && ready;
    }
    /// Returns the status of waitpid(2), once both links have ended.
    int wait_end();
    bool gone() const { return control_end && bulk_end; }

    /// Submits a job that calls F; `A` are the types of the arguments.
    template <auto F, class... A>
    void job(std::uint64_t id, std::uint64_t soft_ns = 0, std::uint64_t hard_ns = 0) {
        auto const task = detail::id_of(detail::Call<Task<F>, A...>::entry());
        send(Kind::function, FunctionHead{id, task.value, soft_ns, hard_ns});
    }
    /// `arguments`: of all its tasks, consecutively.
    void batch(TasksHead head, Writer const& arguments);
    template <class Head>
    void send(Kind kind, Head const& head, std::span<std::byte const> rest = {}) {
        control->send_now(static_cast<std::uint8_t>(kind), 0,
                          {std::as_bytes(std::span(&head, 1)), rest});
    }
    void send(Kind kind) { control->send_now(static_cast<std::uint8_t>(kind), 0, {}); }
    /// Whether all tasks of the batch were executed or given back.
    bool settled(std::uint64_t batch, std::uint32_t count);

    Page page;
    wire::Loop loop;
    std::unique_ptr<wire::Link> control, bulk;
    std::optional<testing_support::Child> process;
    std::map<std::uint64_t, Heard> heard;
    std::optional<wire::LinkEnd> control_end, bulk_end;
    std::string refused;
    bool ready = false;
    int recycled = 0;
    int files = 0;           ///< files offered with results
    bool maps_files = true;  ///< false: cannot access the worker's descriptors

private:
    void adopt(int control_fd, int bulk_fd);
    void take(wire::Message const& message);
    bool deliver(std::uint8_t kind, std::span<std::byte const> payload);
    void deliver_waiting();
    void take_piece(std::span<std::byte const> payload);
    void take_results(ResultsHead const& head, std::span<std::byte const> payload);

    Transfers transfers_;
    /// Messages behind results that are still in transit over the bulk link.
    std::deque<std::pair<std::uint8_t, std::vector<std::byte>>> waiting_;
    std::uint64_t last_transfer_ = 0;
};

/// Adds the arguments of several tasks, one each.
template <auto F, class... A>
void add_arguments(Writer& writer, A const&... arguments) {
    detail::Call<Task<F>, A...>::encode_arguments(writer, arguments...);
}
template <class T>
std::vector<T> results(Heard const& heard) {
    std::vector<T> values;
    for (Reader reader(heard.results); reader.left() > 0;) values.push_back(decode<T>(reader));
    return values;
}

}  // namespace sinew::pool::test
