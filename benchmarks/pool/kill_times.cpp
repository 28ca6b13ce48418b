// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <sinew/error.hpp>
#include <sinew/pool.hpp>
#include <sinew/this_task.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/pool/ours.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, common to all processes of a host
using std::chrono::milliseconds;

/// One start of a task.
struct Start {
    Clock::time_point at;
    pid_t pid;
    std::uint32_t attempt;
};

/// The starts of one task, in shared memory, which survives the worker that executes it.
class CheckpointClient {
public:
    explicit CheckpointClient(std::string const& path) {
        int const file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (file < 0) throw SystemError(text(path, " cannot be opened"), errno);
        void* const memory =
            ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        int const error = errno;
        ::close(file);
        if (memory == MAP_FAILED) throw SystemError(text(path, " cannot be mapped"), error);
        page_ = static_cast<Page*>(memory);
    }
    CheckpointClient(CheckpointClient const&) = delete;
    CheckpointClient& operator=(CheckpointClient const&) = delete;
    ~CheckpointClient() { ::munmap(page_, sizeof(Page)); }

    void clear() { page_->count = 0; }
    /// Only one execution runs at a time, so there is one writer.
    void note(Start const& start) {
        auto const count = page_->count.load();
        if (count == page_->starts.size()) throw Error("a task was begun again and again");
        page_->starts[count] = start;
        page_->count = count + 1;
    }
    std::span<Start const> starts() const { return {page_->starts.data(), page_->count}; }

private:
    struct Page {
        std::atomic<std::uint32_t> count;  // zero in a new file
        std::array<Start, 8> starts;
    };
    Page* page_;
};

/// A file without a name, which other processes open through /proc. Nothing of it remains.
class SharedFile {
public:
    SharedFile() : file_(::memfd_create("starts", MFD_CLOEXEC)) {
        if (file_ < 0 || ::ftruncate(file_, ::sysconf(_SC_PAGESIZE)) != 0)
            throw SystemError("no shared memory", errno);
    }
    SharedFile(SharedFile const&) = delete;
    SharedFile& operator=(SharedFile const&) = delete;
    ~SharedFile() { ::close(file_); }
    std::string path() const { return text("/proc/", ::getpid(), "/fd/", file_); }

private:
    int file_;
};

/// Records its start; the first execution then waits to be killed.
pid_t stay(std::string const& journal) {
    auto const at = Clock::now();
    CheckpointClient(journal).note({at, ::getpid(), this_task::attempt()});
    if (this_task::attempt() == 1) std::this_thread::sleep_for(std::chrono::seconds(30));
    return ::getpid();
}

struct Times {
    double redispatch, replacement;  ///< seconds since the kill
};

/// Measures what follows the death of a worker during a task, while the other workers are idle.
class KillTimes final : public Contestant {
public:
    KillTimes(double Times::*which, double goal, int workers)
        : which_(which), goal_(goal), pool_(workers, quiet()) {
        if (which == &Times::redispatch && workers < 2)
            throw UsageError("kill-redispatch with 1 worker (needs 2: another takes the task)");
        wait_until_up();
    }

    double cost(std::uint64_t size) override {
        std::vector<double> turn;
        for (std::uint64_t i = 0; i < size; ++i) turn.push_back(kill_one().*which_);
        all_.insert(all_.end(), turn.begin(), turn.end());
        return median(turn) * static_cast<double>(size);
    }
    std::optional<double> worst() const override {
        return *std::max_element(all_.begin(), all_.end());
    }
    std::string note() const override {
        return text(all_.size(), " kills; goal: median of at most ", goal_ * 1e3, " ms, ",
                    median(all_) <= goal_ ? "met" : "MISSED");
    }

private:
    Times kill_one() {
        journal_.clear();
        auto result = pool_.apply_async<stay>(file_.path());
        auto const victim = first_start();
        std::this_thread::sleep_for(milliseconds(5));  // until woken threads sleep again
        auto const killed = Clock::now();
        if (::kill(victim.pid, SIGKILL) != 0) throw SystemError("kill failed", errno);
        pid_t const other = result.get();
        wait_until_up();  // the pool knows of the death by now
        auto const up = Clock::now();
        auto const starts = journal_.starts();
        if (starts.size() != 2 || starts[1].pid != other || other == victim.pid ||
            starts[1].attempt != 2)
            throw Error(text("a killed task was begun ", starts.size(), " times, last in pid ",
                             starts.back().pid, ", attempt ", starts.back().attempt));
        auto const since = [killed](Clock::time_point then) {
            return std::chrono::duration<double>(then - killed).count();
        };
        return {since(starts[1].at), since(up)};
    }
    Start first_start() const {
        Stopwatch const time;
        while (journal_.starts().empty()) {
            if (time.seconds() > 30) throw Timeout("a task was not begun in 30 s");
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        return journal_.starts().front();
    }
    void wait_until_up() {
        if (!pool_.wait_until_workers_up()) throw Timeout("our workers are not up after 60 s");
        auto const stats = pool_.stats();
        if (stats.ready < stats.workers) throw Error("a worker that was up is not");
    }

    double Times::*which_;
    double goal_;
    std::vector<double> all_;
    SharedFile file_;
    CheckpointClient journal_{file_.path()};
    Pool pool_;
};

}  // namespace

std::unique_ptr<Contestant> make_kill_time_case(Case const& what, int workers) {
    if (what.name == "kill-redispatch")
        return std::make_unique<KillTimes>(&Times::redispatch, 5e-3, workers);
    return std::make_unique<KillTimes>(&Times::replacement, 100e-3, workers);
}

}  // namespace sinew::bench
