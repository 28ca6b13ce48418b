// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fake_runtime.hpp"

#include <cstdlib>
#include <filesystem>
#include <sinew/error.hpp>

#include "src/base/log.hpp"

namespace sinew {

// Warnings are dropped, since they would fill the output.
void log_warning(std::string const&) noexcept {}

namespace fuzz {

wire::Flow FakePeer::send(std::uint8_t kind,
                          std::initializer_list<std::span<std::byte const>> parts) {
    std::vector<std::byte> frame;
    for (auto const part : parts) frame.insert(frame.end(), part.begin(), part.end());
    if (!lost_) heard_(kind, frame);
    return wire::Flow::go;
}

void FakePeer::drop(std::string const&) {
    auto& runtime = FakeRuntime::instance();
    for (auto const& each : runtime.peers)
        if (each.get() == this && !lost_) return runtime.lose(std::shared_ptr<FakePeer>(each));
}

FakeRuntime& FakeRuntime::instance() {
    static auto* const runtime = new FakeRuntime;  // never destroyed, like the real one
    return *runtime;
}

FakeRuntime::FakeRuntime() {
    std::string path = std::filesystem::temp_directory_path() / "sinew-fuzz-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) std::abort();
    folder = path;
    std::atexit([] { std::filesystem::remove_all(instance().folder); });
    thread = std::thread([this] {
        std::unique_lock lock(guard);
        loop_leader.attend(lock);
    });
}

void FakeRuntime::message(std::shared_ptr<FakePeer> const& from, std::uint8_t kind,
                          std::span<std::byte const> frame) {
    if (from->lost()) return;
    for (auto const& service : services)
        if (kind >= service.first_kind && kind <= service.last_kind)
            service.message(from, {kind, 0, frame});
}

void FakeRuntime::lose(std::shared_ptr<FakePeer> const& peer) {
    if (peer->lost()) return;
    peer->lose();
    for (auto const& service : services) service.lost(peer, "the fuzzer says so");
}

std::string FakeRuntime::address(std::size_t peer) {
    return "tcp:127.0.0.1:" + std::to_string(peer + 1);
}

}  // namespace fuzz

namespace process {

struct Runtime::State {};
Runtime::Runtime() = default;
Runtime::~Runtime() = default;

Runtime& Runtime::instance() {
    static auto* const runtime = new Runtime;
    return *runtime;
}
bool Runtime::forked() { return false; }
bool Runtime::ending() const { return false; }
bool Runtime::over() const { return false; }
void Runtime::leave_to_parent(std::shared_ptr<void const>) {}
bool Runtime::in_callback() { return false; }
std::mutex& Runtime::guard() { return fuzz::FakeRuntime::instance().guard; }
std::uint64_t Runtime::origin() const { return 0xfeed; }
wire::Loop& Runtime::loop() { return fuzz::FakeRuntime::instance().loop; }
LoopLeader& Runtime::loop_leader() { return fuzz::FakeRuntime::instance().loop_leader; }
std::string const& Runtime::name() const {
    static std::string const name = "the fuzzed";
    return name;
}
std::string const& Runtime::host() const { return name(); }
std::string const& Runtime::folder() { return fuzz::FakeRuntime::instance().folder; }
std::vector<std::string> Runtime::addresses() { return {"tcp:127.0.0.1:9"}; }
void Runtime::serve(Service service) {
    fuzz::FakeRuntime::instance().services.push_back(std::move(service));
}
std::shared_ptr<Peer> Runtime::peer(std::string const&, std::vector<std::string> const& addresses,
                                    std::uint64_t) {
    auto const& peers = fuzz::FakeRuntime::instance().peers;
    for (std::size_t i = 0; i < peers.size() && !addresses.empty(); ++i)
        if (addresses.front() == fuzz::FakeRuntime::address(i)) return peers[i];
    throw UsageError("no such peer");
}
std::shared_ptr<Peer> Runtime::host(std::string const&, wire::Secret const&,
                                    std::chrono::nanoseconds) {
    throw UsageError("no such host");
}
void Runtime::at_end(std::function<void(std::function<void()>)>) {}

}  // namespace process
}  // namespace sinew
