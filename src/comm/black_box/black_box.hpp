// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "src/comm/black_box/operation_log.hpp"

namespace sinew::detail {

/// The operation logs of this process, and the file into which they are written: on a failure of a
/// communicator, on a signal, and when the program asks for it. Thread-safe.
class BlackBox {
public:
    /// The one of this process. Never destroyed, because a signal may come until the process ends.
    static BlackBox& instance();

    void add(OperationLog& log);
    void remove(OperationLog& log);

    /// Called when ranks meet. If SINEW_BLACKBOX names a folder, a failure writes the file
    /// rank-RANK.json there. So do SIGUSR2 and, before it ends the process, SIGTERM, by which a
    /// launcher stops the other ranks; unless the program handles these signals itself. Throws UsageError if the folder cannot be made or is not writable. The second World of
    /// a process (an MPI program may have only one) keeps the first one's file.
    void open_folder(int rank, int size, std::string const& host);
    /// The file of this process, if there is a folder.
    std::optional<std::string> file() const;

    /// The collective that this process is in. If it is in none: the last one of the communicator
    /// that was used since the call before this one. Nothing before the first.
    struct Latest {
        std::string communicator;
        OperationRecord record;
        bool inside;
    };
    std::optional<Latest> latest();

    /// Writes all logs as JSON to the file of this process, in place of an earlier one; `reason` is
    /// one line. Returns its path; empty if there is none or it could not be written.
    std::string write(std::string const& reason) noexcept;
    /// The same to any file. Throws std::system_error.
    void write_to(std::filesystem::path const& file, std::string const& reason);

private:
    struct Node {
        OperationLog* log;
        Node* next;
        std::uint64_t seen = 0;     ///< the last operation that latest() saw
        std::uint64_t changed = 0;  ///< the call of latest() that saw it first
    };
    struct Identity {
        int rank = 0, size = 0;
        std::string host;
    };

    bool write_locked(int descriptor, char const* reason) noexcept;
    bool replace_file(char const* reason) noexcept;
    static void on_signal(int signal) noexcept;

    // Held with all signals blocked, so that the handler never interrupts its holder; other threads
    // give it up soon.
    mutable std::atomic_flag guard_ = ATOMIC_FLAG_INIT;
    struct Guard;
    Node* first_ = nullptr;
    std::uint64_t looks_ = 0;  ///< calls of latest()
    Identity identity_;
    std::string path_, temporary_path_;
    bool has_folder_ = false, has_failed_ = false;
};

}  // namespace sinew::detail
