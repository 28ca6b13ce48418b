// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/process/child/child.hpp"
#include "src/process/child/error_stream.hpp"
#include "src/process/child/status_page.hpp"
#include "src/process/resources/reservation.hpp"

namespace sinew::process {

class ChildProcess;

/// The children of this process. Requires: runtime's guard held.
struct ChildTable {
    std::set<std::shared_ptr<ChildProcess>> children;  ///< that have not completely ended
    std::uint64_t oom_kills = 0;                       ///< of this cgroup, as far as accounted for
    std::function<void()> all_ended;
    bool begun = false;

    void tell_if_all_ended() {
        if (!children.empty()) return;
        if (auto const tell = std::exchange(all_ended, nullptr)) tell();
    }
    static ChildTable& instance() {
        static ChildTable* const table = new ChildTable;
        return *table;
    }
};

/// One child, from its start until it has been reaped and its last message was received.
class ChildProcess : public std::enable_shared_from_this<ChildProcess> {
public:
    ChildProcess(Runtime& runtime, ChildSpec const& spec)
        : runtime_(runtime), name_(spec.name), watched_(spec.watched) {}

    void start(ChildSpec const& spec);
    void on(Child::Callbacks callbacks);
    /// The handle is gone: ends the child without callbacks.
    void abandon();
    void signal(int number);
    void hold_bulk(bool hold);

    std::string const& name() const { return name_; }
    pid_t pid() const { return pid_; }
    bool reaped() const { return reaped_; }
    wire::Link& control() { return *control_; }
    wire::Link& bulk() { return *bulk_; }
    StatusPage& status() const { return page_.page(); }
    int sentinel() const { return ended_.get(); }

private:
    using Watched = std::function<void(wire::Message const&)> Child::Callbacks::*;
    void adopt(UniqueFd control, UniqueFd bulk);
    void listen(wire::Link& link, bool& over, Watched message);
    void reap();
    void remove_folder_of(pid_t pid) const;
    void note(siginfo_t const& info);
    void note_unknown_end();
    void be_patient();
    void finish_if_over();

    Runtime& runtime_;
    std::string const name_;
    bool const watched_;
    SharedPage page_;
    std::unique_ptr<ResourceReservation> reservation_;
    pid_t pid_ = 0;
    UniqueFd ended_;
    wire::Loop::Handle ended_watch_, patience_;
    std::unique_ptr<wire::Link> control_, bulk_;
    std::shared_ptr<ErrorStream> errors_;
    std::shared_ptr<Child::Callbacks const> callbacks_;
    std::uint64_t heard_ = 0;  ///< number of messages
    bool control_over_ = false, bulk_over_ = false, errors_over_ = false;
    bool reaped_ = false, killed_ = false, finished_ = false;
    ChildEnd end_;
};

}  // namespace sinew::process
