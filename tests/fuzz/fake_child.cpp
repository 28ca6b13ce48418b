// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fake_child.hpp"

#include <sinew/error.hpp>

#include "tests/fuzz/fake_runtime.hpp"

namespace sinew {
namespace fuzz {

FakeChild::FakeChild() : control_(make_link(sent_)), bulk_(make_link(sent_)) {
    living().emplace(this, std::make_shared<Callbacks>());
}

std::map<FakeChild*, std::shared_ptr<process::Child::Callbacks>>& FakeChild::living() {
    static std::map<FakeChild*, std::shared_ptr<Callbacks>> all;
    return all;
}

std::unique_ptr<FakeLink> make_link(unsigned& sent) {
    return std::make_unique<FakeLink>(
        FakeRuntime::instance().loop, [&sent](std::uint8_t, auto const&) {
            return ++sent % 5 == 0 ? wire::Flow::full : wire::Flow::go;
        });
}

}  // namespace fuzz

namespace process {

std::unique_ptr<Child> start_child(ChildSpec const& spec) {
    if (spec.message.size() % 16 == 15) throw SystemError("it cannot be started", 11);
    return std::make_unique<fuzz::FakeChild>();
}
std::int64_t lease_clock_ns() { return 1; }

}  // namespace process
}  // namespace sinew
