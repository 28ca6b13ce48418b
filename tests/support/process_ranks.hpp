// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/error.hpp>

#include "src/comm/join.hpp"
#include "src/transport/socket_transport.hpp"
#include "tests/support/child.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/socket_job.hpp"

namespace sinew::testing_support {

/// The ranks of one node, or of several synthetic ones, as processes, over sinew's sockets: forks of the test, each of which writes
/// what came of it. The destructor kills those that still run.
class ProcessRanks {
public:
    struct Options {
        int ranks = 2;
        std::vector<int> node_of = {};  ///< of each rank; empty: all are on one node
        /// Called in a rank's process before it joins. Returns false if something is not permitted
        /// here; the rank then ends with not_permitted.
        std::function<bool(int rank)> prepare = {};
        bool pid_namespaces = false;  ///< each rank has one of its own
        std::chrono::milliseconds timeout = std::chrono::seconds(20);
    };
    static constexpr int not_permitted = 77;

    ProcessRanks(Options options, std::function<std::string(Communicator&)> const& body)
        : options_(std::move(options)),
          job_(options_.node_of.empty()
                   ? std::vector<int>(static_cast<std::size_t>(options_.ranks), 0)
                   : options_.node_of) {
        for (int rank = 0; rank < options_.ranks; ++rank)
            children_.emplace_back([&, rank] { return start(rank, body); });
        for (auto& listeners : job_.listeners) listeners.clear();
    }

    /// Waits until the rank has ended. Returns false after `longest`.
    bool has_ended(int rank, std::chrono::seconds longest = std::chrono::seconds(30)) {
        auto const end = std::chrono::steady_clock::now() + longest;
        siginfo_t info{};
        while (::waitid(P_PID, static_cast<id_t>(pid(rank)), &info, WEXITED | WNOHANG | WNOWAIT) ==
                   0 &&
               info.si_pid == 0) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return true;
    }
    /// Waits until all ranks have ended. Returns false if one does not, or if one was not permitted
    /// to prepare itself.
    bool all_have_ended() {
        for (int rank = 0; rank < options_.ranks; ++rank)
            if (!has_ended(rank)) return false;
        return true;
    }
    bool were_permitted() {
        for (int rank = 0; rank < options_.ranks; ++rank) {
            siginfo_t info{};
            ::waitid(P_PID, static_cast<id_t>(pid(rank)), &info, WEXITED | WNOHANG | WNOWAIT);
            if (info.si_code == CLD_EXITED && info.si_status == not_permitted) return false;
        }
        return true;
    }
    pid_t pid(int rank) const { return children_[static_cast<std::size_t>(rank)].pid(); }
    /// What `body` returned on the rank, or the type and text of its exception; empty if it was
    /// killed.
    std::string result(int rank) const { return read_whole(file("result", rank)); }
    /// What the rank wrote to its standard error.
    std::string said(int rank) const { return read_whole(file("said", rank)); }

private:
    std::string file(char const* what, int rank) const {
        return job_.folder / (what + std::to_string(rank));
    }

    /// Shared memory of sinew that this process has open or mapped.
    static std::string memory_left() {
        std::string left;
        std::error_code ignored;
        for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
            auto const target = std::filesystem::read_symlink(entry, ignored).string();
            if (target.find("memfd:sinew") != target.npos ||
                target.find("/dev/shm/sinew-") != target.npos)
                left += target + '\n';
        }
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            if (line.find("memfd:sinew") != line.npos || line.find("/dev/shm/sinew-") != line.npos)
                left += line + '\n';
        return left;
    }

    int start(int rank, std::function<std::string(Communicator&)> const& body) {
        int const out =
            ::open(file("said", rank).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        ::dup2(out, STDERR_FILENO);
        if (!options_.pid_namespaces) return run(rank, body);
        if (::unshare(CLONE_NEWPID) != 0) return not_permitted;
        Child inner([&] { return run(rank, body); });  // dies with its namespace's first process
        int const status = inner.wait();
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }

    int run(int rank, std::function<std::string(Communicator&)> const& body) {
        auto own = job_.take_listeners(rank);
        job_.listeners.clear();
        if (options_.prepare && !options_.prepare(rank)) return not_permitted;
        std::string result;
        try {
            detail::CommonSettings settings = detail::CommonSettings::from_environment();
            settings.deadlines = {options_.timeout, options_.timeout};
            settings.calibrate = false;
            std::string node = "node";
            if (!options_.node_of.empty())
                node += std::to_string(options_.node_of[static_cast<std::size_t>(rank)]);
            auto state = detail::join(
                std::make_unique<SocketTransport>(
                    std::make_unique<SocketMesh>(job_.world, rank, std::move(own))),
                detail::Engine::make(Threading::any), NodeIdentity::named(node, node), settings);
            Communicator comm(state);
            result = body(comm);
            if (!state->lost()) comm.barrier();
        } catch (Timeout const& error) {
            result = std::string("Timeout: ") + error.what();
        } catch (PeerLost const& error) {
            result = std::string("PeerLost: ") + error.what();
        } catch (std::exception const& error) {
            result = std::string("exception: ") + error.what();
        }
        if (auto const left = memory_left(); !left.empty()) result = "left: " + left + result;
        std::ofstream(file("result", rank)) << result;
        return 0;
    }

    Options options_;
    SocketJob job_;
    std::vector<Child> children_;
};

}  // namespace sinew::testing_support
