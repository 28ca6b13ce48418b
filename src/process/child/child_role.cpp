// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/child_role.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/system/io.hpp"
#include "src/base/text.hpp"
#include "src/process/shared/shared_file.hpp"
#include "src/task/to_bytes.hpp"
#include "src/wire/frame.hpp"

namespace sinew::process {
namespace {

bool init_seen = false;

std::string& child_name() {
    static std::string name;
    return name;
}

std::vector<ChildRole>& added_roles() {
    static std::vector<ChildRole> roles;
    return roles;
}

constexpr std::size_t max_frame = (std::size_t{1} << 30) + (std::size_t{1} << 20);

// Ends the process. The parent is gone or not a sinew process, so the error is only logged.
[[noreturn]] void give_up(std::string const& why) {
    log_warning(text("this process was started as a child of a sinew program, but ", why));
    ::_exit(1);
}

void receive(int fd, std::span<std::byte> into) {
    if (read_all(fd, into) != static_cast<ssize_t>(into.size())) give_up("its parent has ended");
}

std::vector<std::byte> read_frame(int fd) {
    std::array<std::byte, wire::frame_header_size> head{};
    // Heartbeats may come first.
    for (;;) {
        receive(fd, head);
        auto const header = wire::decode_header(head);
        std::vector<std::byte> payload(header.length);
        receive(fd, payload);
        if (header.kind == bootstrap::kind) return payload;
        if (header.kind < wire::frame_kind::first_reserved)
            give_up(text("the first message from its parent is unknown (kind ", +header.kind, ")"));
    }
}

StatusPage* map_status(UniqueFd page) {
    void* const at =
        ::mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, page.get(), 0);
    if (at == MAP_FAILED) give_up(text("its status page: ", std::strerror(errno)));
    return static_cast<StatusPage*>(at);
}

UniqueFd inherited(int fd) {
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        give_up(text("descriptor ", fd, " is missing: was ", bootstrap::variable, " set by hand?"));
    return UniqueFd(fd);
}

void read_start(std::span<std::byte const> bytes, ChildStart& start) try {
    Reader reader(bytes);
    auto const told = decode<bootstrap::Head>(reader);
    start.role = told.role;
    start.name = told.name;
    start.parent_name = told.parent_name;
    auto const message = reader.take(reader.left());
    start.message.assign(message.begin(), message.end());
    Runtime::join_session(wire::Secret::from_hex(told.secret), told.name, told.folder,
                          told.network);
} catch (DecodeError const& error) {
    give_up(text("the first message from its parent is unreadable: ", error.what()));
}

// Reads a large message from the file that was inherited with it.
void read_message(UniqueFd file, ChildStart& start) {
    auto const mapped = map_shared_file(file.get());
    if (!mapped) give_up(text("its arguments cannot be read: ", std::strerror(errno)));
    start.message.assign(mapped->bytes.begin(), mapped->bytes.end());
}

}  // namespace

wire::LinkOptions control_options() {
    return {.max_frame = max_frame,
            .heartbeat = std::chrono::milliseconds(250),
            .suspect_after = std::chrono::seconds(1),
            .dead_after = std::chrono::hours(24 * 365)};
}

wire::LinkOptions bulk_options() {
    return {.max_frame = max_frame, .heartbeat = {}, .suspect_after = {}, .dead_after = {}};
}

wire::Identity parent_identity(ChildStart const& start) { return {0, 0, 0, start.parent_name}; }

bool is_child(ChildStart& start) {
    char const* const words = std::getenv(bootstrap::variable);
    if (words == nullptr) return false;
    int control = -1, bulk = -1, status = -1, message = -1;
    if (std::sscanf(words, "%d,%d,%d,%d", &control, &bulk, &status, &message) < 3)
        give_up(text(bootstrap::variable, " is unreadable (", words, "). Unset it"));
    ::unsetenv(bootstrap::variable);
    start.control = inherited(control);
    start.bulk = inherited(bulk);
    start.status = map_status(inherited(status));
    read_start(read_frame(control), start);
    if (message >= 0) read_message(inherited(message), start);
    child_name() = start.name;
    ::prctl(PR_SET_NAME, start.name.c_str());
    return true;
}

void obey_lease(ChildStart const& start) {
    if (start.status->lease_until == 0) return;
    // Never destroyed: the loop may run until the process ends.
    static auto* const looking = new wire::Loop::Handle;
    *looking = Runtime::instance().loop().every(
        std::chrono::milliseconds(250), [status = start.status, name = start.name] {
            if (status->lease_is_over())
                give_up(text("its node has lost the process that started it (", name, ")"));
        });
}

void add_role(ChildRole role) { added_roles().push_back(role); }

int run_role(std::span<ChildRole const> own, ChildStart& start) {
    for (auto const roles : {own, std::span<ChildRole const>(added_roles())})
        for (auto const& role : roles)
            if (start.role == role.role) return role.run(start);
    log_warning(text("this process was started as \"", start.role,
                     "\" (unknown here). Do parent and child run the same version?"));
    return 1;
}

void init_called() { init_seen = true; }
bool was_init_called() { return init_seen; }
std::string const& own_child_name() { return child_name(); }

}  // namespace sinew::process
