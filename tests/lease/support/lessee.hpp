// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <sinew/lease.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "src/base/system/unique_fd.hpp"
#include "src/lease/locks/layout.hpp"
#include "src/lease/locks/lock_file.hpp"
#include "tests/lease/support/environment.hpp"
#include "tests/support/child.hpp"

namespace sinew::lease::test {

using Seconds = std::chrono::duration<double>;

/// Waits until `holds()`; returns false at the limit.
inline bool eventually(std::function<bool()> const& holds, Seconds limit = Seconds(20)) {
    auto const end = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// A forked child that ends with this process, and never goes on with its tests.
inline testing_support::Child fork_child(std::function<int()> const& body) {
    return testing_support::Child([&] {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        try {
            return body();
        } catch (std::exception const& error) {
            std::fprintf(stderr, "child: %s\n", error.what());
            return 120;
        }
    });
}

struct PipeEnds {
    UniqueFd read, write;
    static PipeEnds make() {
        int ends[2];
        if (::pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
        return {UniqueFd(ends[0]), UniqueFd(ends[1])};
    }
};

/// A process that acquires a lease, writes what its environment then says, and keeps the lease until
/// it is told to end.
class Lessee {
public:
    Lessee(LeaseRequest request, LeaseOptions const& options)
        : child_(fork_child([&] { return run(request, options); })) {}
    explicit Lessee(int gpus, LeaseOptions const& options) : Lessee({.gpus = gpus}, options) {}

    /// "0,1": the GPUs, or the text of an error; nothing if it still waits at the limit.
    std::optional<std::string> answer(Seconds limit = Seconds(20)) {
        ::pollfd ready{answer_.read.get(), POLLIN, 0};
        auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
        if (::poll(&ready, 1, static_cast<int>(ms)) != 1) return std::nullopt;
        std::string words;
        for (char letter = 0; ::read(answer_.read.get(), &letter, 1) == 1 && letter != '\n';)
            words += letter;
        return words;
    }
    pid_t pid() const { return child_.pid(); }
    bool waits() { return !answer(Seconds(0)).has_value(); }
    /// It ends the lease, and exits.
    void end() {
        EXPECT_EQ(::write(order_.write.get(), "e", 1), 1);
        auto const ended = [&] {
            ::siginfo_t about{};
            return ::waitid(P_PID, static_cast<::id_t>(child_.pid()), &about,
                            WEXITED | WNOHANG | WNOWAIT) == 0 &&
                   about.si_pid != 0;
        };
        if (!eventually(ended)) child_.kill(SIGKILL);
        EXPECT_EQ(child_.wait(), 0);
    }
    void kill() {
        child_.kill(SIGKILL);
        child_.wait();
    }
    void signal(int number) const { child_.kill(number); }

private:
    int run(LeaseRequest request, LeaseOptions const& options) const {
        std::string words;
        std::optional<Lease> lease;
        try {
            lease = Lease::acquire(request, options);
            words = variable("CUDA_VISIBLE_DEVICES").value_or("none");
            for (char const* other : {"NVIDIA_VISIBLE_DEVICES", "NV_GPU"})
                if (variable(other) != words && request.gpus != 0) words += text(" but ", other);
        } catch (std::exception const& error) {
            words = error.what();
        }
        words += '\n';
        if (::write(answer_.write.get(), words.data(), words.size()) < 0) return 2;
        char order = 0;
        if (::read(order_.read.get(), &order, 1) != 1) return 3;
        return lease ? 0 : 1;
    }

    template <class... Parts>
    static std::string text(Parts const&... parts) {
        return (std::string() + ... + std::string(parts));
    }

    PipeEnds answer_ = PipeEnds::make(), order_ = PipeEnds::make();
    testing_support::Child child_;
};

inline int count_locks(std::string const& folder, ByteRange range) {
    return static_cast<int>(LockFile(folder).positions_of_others(range).size());
}
/// How many processes wait for a lease, with the one whose turn it is.
inline int queue_length(std::string const& folder) { return count_locks(folder, layout::queue); }
/// The first bytes of the locks that processes sleep for, as the kernel lists them:
/// "1: -> OFDLCK ADVISORY  READ -1 fe:00:10977595 7 7".
inline std::set<std::int64_t> awaited_locks(std::string const& folder) {
    struct ::stat about {};
    if (::stat((folder + "/leases").c_str(), &about) != 0) return {};
    auto const inode = ':' + std::to_string(about.st_ino);
    std::set<std::int64_t> awaited;
    std::ifstream in("/proc/locks");
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string number, arrow, kind, mode, type, pid, where;
        std::int64_t begin = 0;
        if (words >> number >> arrow >> kind >> mode >> type >> pid >> where >> begin &&
            arrow == "->" && where.ends_with(inode))
            awaited.insert(begin);
    }
    return awaited;
}
/// Whether this many processes sleep in the queue, in places that are theirs: one that has just locked its place may leave it
/// for a later one, if somebody else has come meanwhile. A lease is held, for which the first one waits.
inline bool sleep_in_queue(std::string const& folder, int processes) {
    auto const places =
        LockFile(folder).positions_of_others(layout::queue);  // from the last to the first
    if (static_cast<int>(places.size()) != processes) return false;
    if (places.empty()) return true;
    auto const awaited = awaited_locks(folder);
    return std::all_of(places.begin() + 1, places.end(),
                       [&](auto place) { return awaited.count(place) != 0; }) &&
           awaited.lower_bound(layout::holders.begin) != awaited.end();
}
inline bool is_locked(std::string const& folder, ByteRange range) {
    return LockFile(folder).lock_of_others(range).has_value();
}

}  // namespace sinew::lease::test
