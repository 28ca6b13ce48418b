// SPDX-License-Identifier: Apache-2.0
// PortForward with a kubectl that does what each test says.
#include "launchers/kubernetes/kubectl/port_forward.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sinew/error.hpp>
#include <thread>

#include "src/base/env.hpp"
#include "src/base/text.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::launch::kubernetes {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

k8s::Configuration nowhere() {
    k8s::Configuration configuration;
    configuration.ns = "ml";
    configuration.cluster.server = "https://127.0.0.1:1";
    return configuration;
}

class PortForwardTest : public testing::Test {
protected:
    PortForwardTest() { ::setenv("PATH", text(folder_, ":", path_).c_str(), 1); }
    ~PortForwardTest() override { ::setenv("PATH", path_.c_str(), 1); }

    void kubectl(std::string const& script) {
        auto const file = folder_ + "/kubectl";
        std::ofstream(file) << "#!/bin/sh\necho $$ >" << folder_ << "/pid\n" << script << '\n';
        ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
    }
    void start(std::chrono::seconds patience = 30s) {
        KubernetesOptions options;
        options.kubeconfig = "/a/config";
        options.context = "c";
        forward_ = std::make_unique<PortForward>(
            client_, options,
            PortForward::Route{.pod = "train-1-x", .ns = "ml", .remote = 80, .patience = patience},
            PortForward::Callbacks{.listens = [this](std::uint16_t local) { local_ = local; },
                                   .ended = [this](std::string const& why) { why_ = why; }});
    }
    bool wait(std::function<bool()> const& done) {
        return client_.run_until(done, Clock::now() + 20s);
    }
    /// Why it has ended.
    std::string end() {
        EXPECT_TRUE(wait([this] { return why_.has_value(); }));
        return why_.value_or("");
    }
    bool alive() const {
        pid_t pid = 0;
        std::ifstream(folder_ + "/pid") >> pid;
        EXPECT_GT(pid, 0);
        return ::kill(pid, 0) == 0;
    }

    std::string const path_ = env("PATH").value_or("");
    testing_support::TempFolder const temp_;
    std::string const folder_ = temp_.path().string();
    k8s::Client client_{nowhere()};
    std::unique_ptr<PortForward> forward_;
    std::optional<std::uint16_t> local_;
    std::optional<std::string> why_;
};

TEST_F(PortForwardTest, ReportsThePortAndEndsKubectlWithItself) {
    kubectl("echo 'Forwarding from 127.0.0.1:4321 -> 80'; exec sleep 100");
    start();
    ASSERT_TRUE(wait([&] { return local_.has_value(); }));
    EXPECT_EQ(local_, 4321);
    EXPECT_TRUE(alive());
    forward_.reset();
    EXPECT_FALSE(alive());
    EXPECT_FALSE(why_);
}

TEST_F(PortForwardTest, AsksForTheAddressAndThePort) {
    kubectl("echo \"error: $*\" >&2; exit 1");
    start();
    EXPECT_EQ(end(),
              "port-forward --kubeconfig=/a/config --context=c --namespace=ml "
              "--address=127.0.0.1 pod/train-1-x :80");
    EXPECT_FALSE(local_);
}

TEST_F(PortForwardTest, EndsOneThatDoesNotDoWhatWasAsked) {
    for (char const* line :
         {"Forwarding from 0.0.0.0:4321 -> 80", "Forwarding from 127.0.0.1:4321 -> 81",
          "Forwarding from [::1]:4321 -> 80", "anything"}) {
        why_.reset();
        kubectl(text("echo '", line, "'; exec sleep 100"));
        start();
        EXPECT_EQ(end(), text("kubectl does not forward as it was asked to: ", line));
        EXPECT_FALSE(alive()) << line;
        EXPECT_FALSE(local_) << line;
    }
}

TEST_F(PortForwardTest, EndsOneThatDoesNotListenInTime) {
    kubectl("echo 'W1125 01:02:03.4 7 x.go:1] waits for a login' >&2; exec sleep 100");
    start(1s);
    EXPECT_EQ(end(), "kubectl did not listen within 1 s; it printed: waits for a login");
    EXPECT_FALSE(alive());
}

TEST_F(PortForwardTest, KeepsTheEndOfMuchThatIsPrinted) {
    kubectl(
        "echo 'Forwarding from 127.0.0.1:4321 -> 80'; yes 'Handling connection for 4321' | head -c "
        "1000000; "
        "yes many | head -c 1000000 >&2; echo 'error: lost connection to pod' >&2; exit 1");
    start();
    auto const why = end();
    EXPECT_EQ(local_, 4321);
    EXPECT_THAT(why, HasSubstr("lost connection to pod"));
    EXPECT_LE(why.size(), 2000U);
}

// More than is kept, and less than a pipe holds.
TEST_F(PortForwardTest, ReportsThePortThoughMuchWasPrintedBeforeItWasRead) {
    for (char const* then : {"exec sleep 100", "exit 1"}) {
        local_.reset();
        why_.reset();
        auto const printed = folder_ + "/printed";
        std::filesystem::remove(printed);
        kubectl(
            text("echo 'Forwarding from 127.0.0.1:4321 -> 80'; yes 'Handling connection for 4321' "
                 "| head -c 40000; echo >",
                 printed, "; ", then));
        start();
        auto const deadline = Clock::now() + 20s;
        while (!std::filesystem::exists(printed) && Clock::now() < deadline)
            std::this_thread::sleep_for(1ms);
        ASSERT_TRUE(wait([&] { return local_.has_value() || why_.has_value(); }));
        EXPECT_EQ(local_, 4321) << why_.value_or("");
    }
    EXPECT_EQ(end(), "kubectl ended with code 1 and no reason");
}

TEST_F(PortForwardTest, SaysIfThereIsNoReasonOrNoKubectl) {
    kubectl("exit 3");
    start();
    EXPECT_EQ(end(), "kubectl ended with code 3 and no reason");
    ::setenv("PATH", (folder_ + "/none").c_str(), 1);
    EXPECT_THROW(start(), SystemError);
}

}  // namespace
}  // namespace sinew::launch::kubernetes
