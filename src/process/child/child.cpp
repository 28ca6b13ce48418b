// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/child.hpp"

#include <csignal>
#include <cstring>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/system/oom.hpp"
#include "src/base/text.hpp"
#include "src/process/child/child_process.hpp"
#include "src/process/child/child_role.hpp"
#include "src/process/resources/reservation.hpp"

namespace sinew::process {
namespace {

/// The handle of a child for the code that started it.
class Handle final : public Child {
public:
    explicit Handle(std::shared_ptr<ChildProcess> child) : child_(std::move(child)) {}
    ~Handle() override {
        if (!Runtime::forked()) child_->abandon();  // in a fork, the child belongs to the parent
    }
    void on(Callbacks callbacks) override { child_->on(std::move(callbacks)); }
    pid_t pid() const override { return child_->pid(); }
    wire::Link& control() override { return child_->control(); }
    wire::Link& bulk() override { return child_->bulk(); }
    void hold_bulk(bool hold) override { child_->hold_bulk(hold); }
    StatusPage& status() const override { return child_->status(); }
    void signal(int number) override { child_->signal(number); }
    int sentinel() const override { return child_->sentinel(); }

private:
    std::shared_ptr<ChildProcess> child_;
};

// At the end of the program: kills all children; calls `done` when their output is written.
void end_all(std::function<void()> const& done) {
    auto& table = ChildTable::instance();
    table.all_ended = [done] {
        finish_error_output(std::chrono::seconds(2));
        remove_left_memory_groups();
        done();
    };
    auto const children = table.children;
    for (auto const& child : children) child->signal(SIGKILL);
    table.tell_if_all_ended();
}

}  // namespace

std::int64_t lease_clock_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string ChildEnd::text() const {
    if (!fate.empty()) return fate;
    if (signal == 0) return sinew::text("exited with code ", code);
    auto const usual = out_of_memory ? "by the kernel, for lack of memory" : ::strsignal(signal);
    return sinew::text("killed by signal ", signal, " (", why.empty() ? usual : why, ")");
}

std::vector<std::pair<std::string, pid_t>> living_children() {
    std::vector<std::pair<std::string, pid_t>> found;
    for (auto const& child : ChildTable::instance().children)
        if (!child->reaped()) found.emplace_back(child->name(), child->pid());
    return found;
}

std::unique_ptr<Child> start_child(ChildSpec const& spec) {
    if (!was_init_called())
        throw UsageError(text(spec.name,
                              " cannot be started (sinew::init(argc, argv) was not "
                              "called: the new process would run all of main). Make it "
                              "the first statement of main"));
    auto& runtime = Runtime::instance();
    if (runtime.ending())
        throw UsageError(text(spec.name,
                              " cannot be started (this program is ending). Start "
                              "processes before main is left or exit is called"));
    auto& table = ChildTable::instance();
    if (!std::exchange(table.begun, true)) {
        runtime.at_end(end_all);
        remove_stale_memory_groups();
    }
    if (table.children.empty()) table.oom_kills = oom_kills();
    auto child = std::make_shared<ChildProcess>(runtime, spec);
    try {
        child->start(spec);
    } catch (...) {
        if (child->pid() > 0) table.children.insert(child);  // to be reaped
        child->abandon();
        throw;
    }
    table.children.insert(child);
    return std::make_unique<Handle>(std::move(child));
}

}  // namespace sinew::process
