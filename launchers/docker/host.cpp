// SPDX-License-Identifier: Apache-2.0
#include "launchers/docker/host.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sinew/error.hpp>
#include <sstream>
#include <thread>
#include <utility>

#include "launchers/agent/command_copy.hpp"
#include "launchers/common/copy_layout.hpp"
#include "launchers/common/own_path.hpp"
#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::docker {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Of a process of this host; empty: there is none, or it has ended and waits for its parent.
std::string start_time(::pid_t pid) {
    std::ifstream file(text("/proc/", pid, "/stat"));
    std::string line;
    std::getline(file, line);
    auto const name_end = line.rfind(')');
    if (name_end == line.npos) return {};
    std::istringstream words(line.substr(name_end + 1));
    std::string state, word;
    words >> state;
    for (int i = 0; i < 19 && words >> word; ++i) {}  // field 22 of proc(5)
    return state == "Z" || state == "X" ? std::string() : word;
}

// Process numbers mean the same processes wherever this is the same.
std::string number_space() {
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    std::error_code none;
    auto const pids = fs::read_symlink("/proc/self/ns/pid", none).string();
    return text(boot, "/", pids);
}

/// A process of this host and of its process numbers.
struct Owner {
    ::pid_t pid = 0;
    std::string started;
};

std::optional<Owner> parse_owner(std::string const& words) {
    auto const here = number_space() + "/";
    if (!words.starts_with(here)) return std::nullopt;
    Owner owner;
    auto const* const end = words.data() + words.size();
    auto const parsed = std::from_chars(words.data() + here.size(), end, owner.pid);
    if (parsed.ec != std::errc() || owner.pid <= 0 || parsed.ptr == end || *parsed.ptr != '/')
        return std::nullopt;
    owner.started.assign(parsed.ptr + 1, end);
    if (owner.started.empty()) return std::nullopt;
    return owner;
}

fs::path cache_folder() {
    if (auto const cache = env("XDG_CACHE_HOME"); cache && cache->front() == '/') return *cache;
    if (auto const home = env("HOME"); home && home->front() == '/')
        return fs::path(*home) / ".cache";
    throw UsageError(
        "there is no folder for a copy of sinew, which containers need (HOME is not set). Set it, "
        "or XDG_CACHE_HOME");
}

// Changes whenever the command is another file.
std::string identity_of(std::string const& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        throw SystemError(text(path, " cannot be looked at (", std::strerror(errno), ")"), errno);
    std::ostringstream words;
    words << std::hex << status.st_dev << '-' << status.st_ino << '-' << status.st_mtim.tv_sec
          << '-' << status.st_mtim.tv_nsec << '-' << status.st_size;
    return words.str();
}

}  // namespace

std::string owner_of_process() {
    return text(number_space(), "/", ::getpid(), "/", start_time(::getpid()));
}

bool has_ended(std::string const& owner) {
    auto const process = parse_owner(owner);
    return process && start_time(process->pid) != process->started;
}

::pid_t process_of(std::string const& owner) {
    auto const process = parse_owner(owner);
    return process && start_time(process->pid) == process->started ? process->pid : 0;
}

std::string copy_command_folder() {
    if (auto const copy = own_copy()) return *copy;
    auto const base = cache_folder() / "sinew" / "copies";
    auto const folder = base / identity_of(own_path());
    if (::access((folder / copy_start).c_str(), X_OK) == 0) return folder.string();
    std::error_code problem;
    fs::create_directories(base, problem);
    auto const lock_path = base / "lock";
    UniqueFd const lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock || ::flock(lock.get(), LOCK_EX) != 0)
        throw SystemError(text(lock_path.string(), " cannot be locked (", std::strerror(errno),
                               "). Name a folder that you may write by XDG_CACHE_HOME"),
                          errno);
    // Another may have made it meanwhile.
    if (::access((folder / copy_start).c_str(), X_OK) != 0) copy_command_to(folder.string());
    return folder.string();
}

JobHost::JobHost(Wish wish, std::function<void(std::string const&)> const& say)
    : wish_(std::move(wish)), engine_(engine_socket()), owner_(owner_of_process()) {
    remove_leftovers();
    find_image(say);
    join_network();
}

JobHost::~JobHost() {
    if (!removes_network_) return;
    try {
        // The engine lets go of the last container a moment after it has removed it.
        for (int attempt = 0; attempt < 20 && !engine_.remove_network(network_); ++attempt)
            std::this_thread::sleep_for(100ms);
    } catch (std::exception const& problem) {
        log_warning(text("the network ", network_, " is left: ", problem.what()));
    }
}

void JobHost::find_image(std::function<void(std::string const&)> const& say) const {
    bool const there = wish_.pull != "Always" && engine_.has_image(wish_.image);
    if (there) return;
    if (wish_.pull == "Never")
        throw Unavailable(text("the image ", wish_.image,
                               " is not on this host, and "
                               "--image-pull-policy is Never. Say docker pull ",
                               wish_.image));
    say(text("pulling ", wish_.image));
    engine_.pull(wish_.image, say);
}

void JobHost::join_network() {
    if (wish_.network.empty()) {
        network_ = "sinew-" + wish_.job;
        gateway_ =
            engine_.make_network(network_, {{job_label, wish_.job}, {owner_label, owner_}}).gateway;
        removes_network_ = true;
        return;
    }
    network_ = wish_.network;
    gateway_ = network_ == "host" ? "127.0.0.1" : engine_.network(network_).gateway;
}

// A `sinew run` that was killed together with all of its processes removed nothing. Containers that
// run end by themselves.
void JobHost::remove_leftovers() const {
    auto const is_left = [](auto const& labels) {
        auto const owner = labels.find(owner_label);
        return owner != labels.end() && has_ended(owner->second);
    };
    for (auto const& each : engine_.list({owner_label}))
        if (each.state == "created" && is_left(each.labels)) engine_.remove(each.id);
    for (auto const& each : engine_.networks(owner_label))
        if (is_left(each.labels)) engine_.remove_network(each.id);
}

ContainerSpec JobHost::spec() const {
    ContainerSpec spec;
    spec.socket = engine_.socket();
    spec.image = wish_.image;
    spec.network = network_;
    spec.removes_network = removes_network_;
    spec.labels = {{job_label, wish_.job}, {owner_label, owner_}};
    return spec;
}

}  // namespace sinew::launch::docker
