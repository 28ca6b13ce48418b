// SPDX-License-Identifier: Apache-2.0
#include "src/comm/black_box/black_box.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include <sinew/comm/black_box.hpp>
#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"
#include "src/comm/black_box/json_stream.hpp"

namespace sinew::detail {

namespace {

std::int64_t unix_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void write_time(JsonStream& json, std::string_view key, std::int64_t steady, std::int64_t offset) {
    json.key(key);
    if (steady == 0) json.null();
    else json.value(steady + offset);
}

/// `DataType::name` and `ReduceOp::name` allocate memory.
constexpr std::array<std::string_view, DataType::kinds> type_names{
    "f16", "bf16", "f32", "f64", "c64",       "c128",      "i8",        "i16",       "i32",   "i64",
    "u8",  "u16",  "u32", "u64", "f32_index", "f64_index", "i32_index", "i64_index", "opaque"};
constexpr std::array<std::string_view, ReduceOp::kinds> op_names{
    "sum",     "prod",   "min",     "max",    "logical_and", "logical_or", "logical_xor",
    "bit_and", "bit_or", "bit_xor", "minloc", "maxloc",      "average",    "user"};

void write_record(JsonStream& json, OperationRecord const& record, std::uint64_t entered,
                  bool inside, std::int64_t offset) {
    json.begin_object();
    json.member("sequence", record.sequence);
    json.member("operation", name(record.collective));
    if (record.collective != Collective::barrier) {
        json.member("type", type_names[static_cast<std::size_t>(record.type) % type_names.size()]);
        json.member("count", record.count);
    }
    if (record.op < op_names.size()) json.member("reduce", op_names[record.op]);
    if (record.root >= 0) json.member("root", record.root);
    if (record.device) json.member("device", true);
    json.member("state", record.sequence == entered && inside ? std::string_view("running")
                                                              : std::string_view("left"));
    write_time(json, "entered", record.entered, offset);
    write_time(json, "left", record.left, offset);
    json.end_object();
    json.line();
}

void write_log(JsonStream& json, OperationLog const& log, std::int64_t offset) {
    std::uint64_t const entered = log.entered();
    bool const inside = log.inside();
    json.begin_object();
    json.member("name", std::string_view(log.name()));
    json.member("rank", log.rank());
    json.key("hosts");
    json.begin_array();
    for (std::string const& host : log.hosts()) json.value(std::string_view(host));
    json.end_array();
    json.member("entered", entered);
    json.member("inside", inside);
    json.key("operations");
    json.begin_array();
    std::uint64_t const first = entered > OperationLog::most ? entered - OperationLog::most + 1 : 1;
    for (std::uint64_t sequence = first; sequence <= entered; ++sequence)
        if (auto const record = log.at(sequence))
            write_record(json, *record, entered, inside, offset);
    json.end_array();
    json.end_object();
    json.line();
}

}  // namespace

struct BlackBox::Guard {
    /// A handler waits for another thread, but not for ever.
    explicit Guard(BlackBox const& box, bool in_handler = false) : box_(box) {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
        constexpr int most_polls = 100'000'000;
        for (int polls = 0; box_.guard_.test_and_set(std::memory_order_acquire); ++polls)
            if (in_handler && polls == most_polls) return;
        held_ = true;
    }
    ~Guard() {
        if (held_) box_.guard_.clear(std::memory_order_release);
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    Guard(Guard const&) = delete;
    bool held() const { return held_; }

private:
    BlackBox const& box_;
    sigset_t before_;
    bool held_ = false;
};

BlackBox& BlackBox::instance() {
    static BlackBox& box = *new BlackBox;
    return box;
}

void BlackBox::add(OperationLog& log) {
    Node* const node = new Node{.log = &log, .next = nullptr};
    Guard const guard(*this);
    node->next = first_;
    first_ = node;
}

void BlackBox::remove(OperationLog& log) {
    Node* found = nullptr;
    {
        Guard const guard(*this);
        for (Node** place = &first_; *place != nullptr; place = &(*place)->next) {
            if ((*place)->log != &log) continue;
            found = *place;
            *place = found->next;
            break;
        }
    }
    delete found;
}

void BlackBox::open_folder(int rank, int size, std::string const& host) {
    auto const folder = env("SINEW_BLACKBOX");
    bool handles_signal = false;
    {
        std::string const file = folder ? text(*folder, "/rank-", rank, ".json") : std::string();
        if (folder) {
            std::error_code error;
            std::filesystem::create_directories(*folder, error);
            if (::access(folder->c_str(), W_OK | X_OK) != 0)
                throw UsageError(text("SINEW_BLACKBOX=", *folder, " (rank ", rank, " on ", host,
                                      " cannot write there: ", std::strerror(errno),
                                      "). It names the folder for the ranks' last operations"));
        }
        std::string const temporary = file.empty() ? file : text(file, ".", ::getpid());
        Guard const guard(*this);
        identity_ = {rank, size, host};
        if (folder && !has_folder_) {
            path_ = file;
            temporary_path_ = temporary;
            has_folder_ = handles_signal = true;
        }
    }
    if (!handles_signal) return;
    for (int const signal : {SIGUSR2, SIGTERM}) {
        struct sigaction known = {};
        ::sigaction(signal, nullptr, &known);
        if (known.sa_handler != SIG_DFL) continue;
        struct sigaction ours = {};
        ours.sa_handler = &BlackBox::on_signal;
        ours.sa_flags = SA_RESTART;
        ::sigaction(signal, &ours, nullptr);
    }
}

std::optional<std::string> BlackBox::file() const {
    Guard const guard(*this);
    return has_folder_ ? std::optional(path_) : std::nullopt;
}

std::optional<BlackBox::Latest> BlackBox::latest() {
    std::optional<Latest> found;
    Guard const guard(*this);
    ++looks_;
    Node const* newest = nullptr;
    for (Node* node = first_; node != nullptr; node = node->next) {
        if (auto const entered = node->log->entered(); entered != node->seen) {
            node->seen = entered;
            node->changed = looks_;
        }
        if (node->seen == 0) continue;
        auto const urgency = [](Node const& each) {
            return std::pair(each.log->inside(), each.changed);
        };
        if (newest == nullptr || urgency(*node) > urgency(*newest)) newest = node;
    }
    if (newest == nullptr) return found;
    auto const& log = *newest->log;
    if (auto const record = log.at(newest->seen))
        found = Latest{log.name(), *record, log.inside() && log.entered() == newest->seen};
    return found;
}

void BlackBox::on_signal(int signal) noexcept {
    int const before = errno;
    BlackBox& box = instance();
    {
        Guard const guard(box, true);
        // The reason of a failure says more than that the rank was stopped then.
        if (guard.held() && (signal != SIGTERM || !box.has_failed_))
            box.replace_file(signal == SIGTERM ? "SIGTERM" : "SIGUSR2");
    }
    if (signal == SIGTERM) {
        std::signal(SIGTERM, SIG_DFL);
        ::raise(SIGTERM);  // arrives when this handler returns
    }
    errno = before;
}

std::string BlackBox::write(std::string const& reason) noexcept {
    try {
        Guard const guard(*this);
        has_failed_ = true;
        if (has_folder_ && replace_file(reason.c_str())) return path_;
        if (!has_folder_) return {};
    } catch (std::exception const&) {
        return {};
    }
    log_warning(text("the black box could not be written to ", path_));
    return {};
}

void BlackBox::write_to(std::filesystem::path const& file, std::string const& reason) {
    UniqueFd const descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (descriptor.get() < 0)
        throw std::system_error(errno, std::generic_category(), file.string());
    Guard const guard(*this);
    if (!write_locked(descriptor.get(), reason.c_str()))
        throw std::system_error(errno, std::generic_category(), file.string());
}

/// In a signal handler, too.
bool BlackBox::replace_file(char const* reason) noexcept {
    int const descriptor = ::open(temporary_path_.c_str(),
                                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return false;
    bool const written = write_locked(descriptor, reason);
    ::close(descriptor);
    if (written && ::rename(temporary_path_.c_str(), path_.c_str()) == 0) return true;
    ::unlink(temporary_path_.c_str());
    return false;
}

/// Times become those of the system clock. In a signal handler, too.
bool BlackBox::write_locked(int descriptor, char const* reason) noexcept {
    std::int64_t const unix_time = unix_now();
    auto const offset = unix_time - static_cast<std::int64_t>(OperationLog::now());
    JsonStream json(descriptor);
    json.begin_object();
    json.member("schema", std::string_view("sinew-black-box-1"));
    json.member("rank", identity_.rank);
    json.member("size", identity_.size);
    json.member("host", std::string_view(identity_.host));
    json.member("pid", static_cast<std::int64_t>(::getpid()));
    json.member("written", unix_time);
    json.member("reason", std::string_view(reason));
    json.key("communicators");
    json.begin_array();
    for (Node const* node = first_; node != nullptr; node = node->next)
        write_log(json, *node->log, offset);
    json.end_array();
    json.end_object();
    json.line();
    return json.flush();
}

}  // namespace sinew::detail

namespace sinew {

void write_black_box(std::filesystem::path const& file) {
    detail::BlackBox::instance().write_to(file, "asked for by the program");
}

}  // namespace sinew
