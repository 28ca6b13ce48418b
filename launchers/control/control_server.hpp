// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "launchers/control/output_log.hpp"
#include "launchers/control/protocol.hpp"
#include "src/base/job_folder.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Answers the verbs about this job: listens on a Unix socket in a folder named for the job, for
/// processes of this user and of root. On the loop's thread. No client delays the job: each has
/// bounded buffers and a share of the loop's time, and misses output if it reads too slowly.
class ControlServer {
public:
    struct Settings {
        std::size_t log_bytes = std::size_t{1} << 20;  ///< of output that are kept
    };
    struct Callbacks {
        std::function<JobSummary()> summary;
        /// Ends the job; `by` says who asked. Returns the grace period that applies.
        std::function<std::chrono::milliseconds(ControlRequest const&, std::string const& by)> stop;
    };

    /// `folder` is that of the job. Throws SystemError.
    ControlServer(wire::Loop& loop, JobFolder const& folder, Settings settings,
                  Callbacks callbacks);
    ControlServer(ControlServer const&) = delete;
    ~ControlServer();

    void output(OutputRecord record);
    /// The job is over: clients get what is left and the end. Waits at most 50 ms for each that
    /// does not read.
    void finish(int exit_code, std::string const& cause);

private:
    struct Client {
        UniqueFd fd;
        std::string who;  ///< "user 0, pid 12"
        std::string in, out;
        bool asked = false, follows = false, reads = false, closing = false;
        bool wants_end = false;  ///< it gets the end of the job
        OutputLog::Reader reader;
        std::optional<OutputPrinter> printer;
        wire::Loop::Handle readable, writable, patience;
    };
    using Clients = std::list<Client>;

    void listen();
    void accept();
    void on_readable(Clients::iterator at);
    void answer(Client& client, std::string_view line);
    void pump_soon();
    bool fill(Client& client);
    bool send(Client& client);
    bool pump(Clients::iterator at);
    void drop(Clients::iterator at);

    wire::Loop& loop_;
    Settings const settings_;
    Callbacks const callbacks_;
    OutputLog log_;
    UniqueFd listener_;
    wire::Loop::Handle accepting_, pumping_;
    bool pump_due_ = false;
    Clients clients_;
};

}  // namespace sinew::launch
