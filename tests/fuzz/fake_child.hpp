// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "src/process/child/child.hpp"
#include "tests/support/fake_link.hpp"

namespace sinew::fuzz {

using testing_support::FakeLink;

/// Stands in for process::start_child: returns children that the fuzzer controls.
class FakeChild final : public process::Child {
public:
    FakeChild();
    ~FakeChild() override { living().erase(this); }
    void on(Callbacks callbacks) override { *living()[this] = std::move(callbacks); }
    pid_t pid() const override { return 4711; }
    wire::Link& control() override { return *control_; }
    wire::Link& bulk() override { return *bulk_; }
    void hold_bulk(bool) override {}
    process::StatusPage& status() const override { return page_; }
    void signal(int) override {}
    int sentinel() const override { return -1; }
    static std::map<FakeChild*, std::shared_ptr<Callbacks>>& living();

private:
    unsigned sent_ = 0;
    std::unique_ptr<FakeLink> control_, bulk_;
    mutable process::StatusPage page_{};
};

/// A link to the fuzzer that is full at every fifth message; `sent` counts the messages.
std::unique_ptr<FakeLink> make_link(unsigned& sent);

}  // namespace sinew::fuzz
