// SPDX-License-Identifier: Apache-2.0
#include "launchers/cli/doctor.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "launchers/checks/facts.hpp"

namespace sinew::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Outcome = Reach::Outcome;

/// A machine without problems.
Facts sound() {
    Facts facts;
    facts.own_addresses = {{"10.0.0.1"}, std::chrono::milliseconds(2)};
    facts.mpi = {{"Open MPI", "libmpi.so.40", "4.1.4"}};
    facts.pmix = "libpmix 4.2.2";
    facts.processors.cores = {{0, 0, 0, {0, 1}}, {1, 0, 0, {2, 3}}};
    facts.processors.topology_known = true;
    facts.interfaces = {{"eth0", "10.0.0.1", 24}, {"lo", "127.0.0.1", 8, true}};
    return facts;
}

HostFacts sound_host(std::string name) {
    HostFacts host;
    host.host = std::move(name);
    host.forward = {{"10.0.0.2"}, std::chrono::milliseconds(3)};
    host.reverse = {{"node-b"}, std::chrono::milliseconds(3)};
    host.reach = {Outcome::reached, "", "0.1.0", -0.1, 0.2};
    return host;
}

Findings of(std::string_view check, Facts const& facts) {
    for (auto const& one : checks())
        if (one.name == check) return one.run(facts);
    ADD_FAILURE() << "no check named " << check;
    return {};
}

/// Expects one finding of this check with the given text; it must have a cause and a remedy.
void expect(std::string_view check, Facts const& facts, Severity severity, char const* words) {
    SCOPED_TRACE(check);
    auto const findings = of(check, facts);
    ASSERT_THAT(findings, Not(IsEmpty()));
    EXPECT_EQ(name(findings[0].severity), name(severity));
    EXPECT_THAT(findings[0].found, HasSubstr(words));
    if (severity == Severity::ok) return;
    EXPECT_NE(findings[0].cause, "");
    EXPECT_NE(findings[0].remedy, "");
}

TEST(Doctor, FindsNothingWrongWithASoundMachine) {
    auto facts = sound();
    facts.hosts = {sound_host("node-b")};
    for (auto const& diagnosis : diagnose(facts)) {
        EXPECT_THAT(diagnosis.findings, Not(IsEmpty())) << diagnosis.check.name;
        for (auto const& finding : diagnosis.findings)
            EXPECT_EQ(finding.severity, Severity::ok) << finding.found;
    }
    EXPECT_FALSE(has_errors(diagnose(facts)));
}

TEST(Doctor, SharedMemory) {
    auto facts = sound();
    facts.shm = {64 << 20, 60 << 20, ""};
    expect("shared memory", facts, Severity::warning, "64 MiB");
    EXPECT_THAT(of("shared memory", facts)[0].remedy, HasSubstr("--shm-size"));
    facts.shm = {std::uint64_t{8} << 30, 1 << 20, ""};
    expect("shared memory", facts, Severity::error, "1 MiB free");
    facts.shm = {std::uint64_t{8} << 30, 100 << 20, ""};
    expect("shared memory", facts, Severity::warning, "100 MiB free");
    facts.shm.error = "Read-only file system";
    expect("shared memory", facts, Severity::error, "Read-only file system");
}

TEST(Doctor, Limits) {
    auto facts = sound();
    facts.open_files = {1024, 4096};
    expect("open files", facts, Severity::note, "1024");
    facts.open_files = {512, 4096};
    expect("open files", facts, Severity::warning, "512");
    facts.open_files = {64, 64};
    expect("open files", facts, Severity::error, "64");
    facts.memlock = {8 << 20, 8 << 20};
    expect("locked memory", facts, Severity::note, "8 MiB");
    facts.core_size = {0, std::nullopt};
    expect("core files", facts, Severity::note, "0 bytes");
}

TEST(Doctor, CoresUnderAQuota) {
    auto facts = sound();
    facts.processors.quota = 1.5;
    expect("cores", facts, Severity::warning, "the time of 1.5");
    EXPECT_THAT(of("cores", facts)[0].remedy, HasSubstr("2 ranks"));
    facts.processors.quota = 4;
    expect("cores", facts, Severity::ok, "2 usable cores, 4 hardware threads");
    facts.processors.topology_known = false;
    expect("cores", facts, Severity::note, "without topology");
}

TEST(Doctor, ClockSourceAndPtraceAndCongestion) {
    auto facts = sound();
    facts.clock_source = "hpet";
    expect("clock source", facts, Severity::warning, "hpet");
    facts.ptrace_scope = 1;
    expect("single copy", facts, Severity::note, "ptrace_scope = 1");
    facts.congestion_control = "reno";
    expect("congestion", facts, Severity::note, "reno");
}

TEST(Doctor, PmixMattersWhereOpenMpiIs) {
    auto facts = sound();
    facts.pmix_usable = false;
    facts.pmix = "libpmix.so.2: cannot open shared object file";
    expect("PMIx", facts, Severity::error, "cannot open");
    facts.mpi = {{"MPICH", "libmpich.so.12", "4.0.2"}};
    expect("PMIx", facts, Severity::note, "cannot open");
    facts.mpi.clear();
    expect("MPI", facts, Severity::note, "no MPI library");
}

TEST(Doctor, ProcessContext) {
    auto facts = sound();
    facts.inherited = {"PMI_FD", "SLURM_A", "SLURM_B", "SLURM_C", "SLURM_D", "SLURM_E"};
    expect("environment", facts, Severity::note, "PMI_FD, SLURM_A, SLURM_B, SLURM_C and 2 more");
    facts.stale_folders = {"/dev/shm/sinew-0-x"};
    expect("leftovers", facts, Severity::note, "/dev/shm/sinew-0-x");
    facts.strays = {{17, false}, {18, true}};
    expect("agents", facts, Severity::warning, "17");
    EXPECT_THAT(of("agents", facts)[1].found, HasSubstr("18"));
}

TEST(Doctor, Interfaces) {
    auto facts = sound();
    facts.interfaces = {{"eth0", "10.0.0.1", 24}};
    expect("interfaces", facts, Severity::error, "loopback");
    facts.interfaces = {{"lo", "127.0.0.1", 8, true}};
    expect("interfaces", facts, Severity::note, "no network besides loopback");
    facts.hosts = {sound_host("b")};
    expect("interfaces", facts, Severity::error, "no network besides loopback");
    facts = sound();
    facts.interfaces.push_back({"docker0", "172.17.0.1", 16});
    expect("interfaces", facts, Severity::note, "docker0");
}

TEST(Doctor, OwnName) {
    auto facts = sound();
    facts.own_addresses.answers.clear();
    expect("own name", facts, Severity::warning, "'node-a' has no address");
    facts.own_addresses.timed_out = true;
    expect("own name", facts, Severity::error, "no answer");
    facts = sound();
    facts.own_addresses.took = std::chrono::milliseconds(2500);
    expect("own name", facts, Severity::warning, "2500 ms");
    facts.own_addresses = {{"127.0.1.1"}, std::chrono::milliseconds(1)};
    expect("own name", facts, Severity::ok, "127.0.1.1");
    facts.hosts = {sound_host("b")};
    expect("own name", facts, Severity::note, "127.0.1.1");
}

TEST(Doctor, EachWayNotToReachAHostHasItsRemedy) {
    struct Case {
        Outcome outcome;
        char const *found, *remedy;
    };
    for (auto const& [outcome, found, remedy] :
         {Case{Outcome::no_ssh, "no ssh here", "openssh-client"},
          Case{Outcome::unresolved, "does not know", "spelling"},
          Case{Outcome::refused, "refused", "start sshd"},
          Case{Outcome::unreachable, "no route", "ip route get"},
          Case{Outcome::timed_out, "no answer", "port 22"},
          Case{Outcome::host_key, "host key", "known_hosts"},
          Case{Outcome::denied, "refused the login", "ssh-copy-id"},
          Case{Outcome::failed, "ssh failed", "ssh -v"}}) {
        auto facts = sound();
        facts.hosts = {sound_host("node-b")};
        facts.hosts[0].reach = {outcome, "its words"};
        expect("reach", facts, Severity::error, found);
        EXPECT_THAT(of("reach", facts)[0].found, HasSubstr("its words"));
        EXPECT_THAT(of("reach", facts)[0].remedy, HasSubstr(remedy));
        EXPECT_EQ(of("reach", facts)[0].host, "node-b");
        EXPECT_THAT(of("version", facts), IsEmpty()) << "is not asked then";
        EXPECT_TRUE(has_errors(diagnose(facts)));
    }
}

TEST(Doctor, NamesOfHosts) {
    auto facts = sound();
    facts.hosts = {sound_host("node-b")};
    facts.hosts[0].reverse = {{}, std::chrono::milliseconds(5000), true};
    expect("names", facts, Severity::warning, "5000 ms");
    facts.hosts[0].forward.answers.clear();
    expect("names", facts, Severity::note, "no address");
    facts.hosts[0].reach.outcome = Outcome::unresolved;
    expect("names", facts, Severity::error, "no address");
}

TEST(Doctor, VersionAndClockOfHosts) {
    auto facts = sound();
    facts.hosts = {sound_host("node-b"), sound_host("node-c")};
    facts.hosts[0].reach.sinew_version = "0.0.9";
    expect("version", facts, Severity::error, "0.0.9 there, 0.1.0 here");
    facts.hosts[0].reach.sinew_version = "";
    expect("version", facts, Severity::error, "not found");
    EXPECT_THAT(of("version", facts), SizeIs(2));
    facts.hosts[0].reach.clock_least = 89.5;
    facts.hosts[0].reach.clock_most = 90.5;
    expect("clock", facts, Severity::warning, "ahead of ours by 89.5 to 90.5 s");
    facts.hosts[0].reach.clock_least = -0.5;
    facts.hosts[0].reach.clock_most = 30;
    expect("clock", facts, Severity::ok, "agrees with ours within 30.0 s");
    facts.hosts[0].reach.clock_least = -2.5;
    facts.hosts[0].reach.clock_most = -1.5;
    expect("clock", facts, Severity::warning, "behind ours by 1.5 to 2.5 s");
}

TEST(Doctor, ReadsSshsWords) {
    EXPECT_EQ(ssh_outcome(255, "ssh: Could not resolve hostname x: Name or service not known"),
              Outcome::unresolved);
    EXPECT_EQ(ssh_outcome(255, "ssh: connect to host x port 22: Connection refused"),
              Outcome::refused);
    EXPECT_EQ(ssh_outcome(255, "ssh: connect to host x port 22: Connection timed out"),
              Outcome::timed_out);
    EXPECT_EQ(ssh_outcome(255, "ssh: connect to host x port 22: No route to host"),
              Outcome::unreachable);
    EXPECT_EQ(ssh_outcome(255, "Host key verification failed."), Outcome::host_key);
    EXPECT_EQ(ssh_outcome(255, "u@x: Permission denied (publickey)."), Outcome::denied);
    EXPECT_EQ(ssh_outcome(255, "something new"), Outcome::failed);
    EXPECT_EQ(ssh_outcome(1, "Permission denied"), Outcome::failed) << "not ssh's own words";
}

TEST(Doctor, ReadsTheAnswerOfAHost) {
    Reach reach;
    read_answer(reach, "Welcome to 12.5!\n1700000010.5\nsinew 1.2.3\n", 1.7e9, 1.7e9 + 1);
    EXPECT_DOUBLE_EQ(reach.clock_least.value(), 9.5);
    EXPECT_DOUBLE_EQ(reach.clock_most.value(), 10.5);
    EXPECT_EQ(reach.sinew_version, "1.2.3");
    Reach nothing;
    read_answer(nothing, "sh: date: not found\n", 1.7e9, 1.7e9);
    EXPECT_FALSE(nothing.clock_least);
    Reach without;
    read_answer(without, "1700000010.5\nsh: 1: sinew: not found\n", 1.7e9, 1.7e9);
    EXPECT_EQ(without.sinew_version, "") << "the shell's line number is no version";
}

TEST(Doctor, KnowsMpiLibrariesByTheLoadersCache) {
    auto const found = mpi_libraries(
        "2 libs found in cache `/etc/ld.so.cache'\n"
        "\tlibmpich.so.12 (libc6,x86-64) => /usr/lib/libmpich.so.12\n"
        "\tlibmpi.so.40 (libc6,x86-64) => /usr/lib/libmpi.so.40\n"
        "\tlibmpi.so.40 (libc6) => /usr/lib32/libmpi.so.40\n"
        "\tlibmpi_cxx.so.40 (libc6,x86-64) => /usr/lib/libmpi_cxx.so.40\n");
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].implementation, "MPICH");
    EXPECT_EQ(found[1].implementation, "Open MPI");
    EXPECT_EQ(version_in("mpirun (Open MPI) 4.1.4\n\nReport bugs"), "4.1.4");
    EXPECT_EQ(version_in("no number 12 with a dot."), "");
}

TEST(Doctor, TextNamesTheHostTheCauseAndTheRemedy) {
    auto facts = sound();
    facts.hosts = {sound_host("node-b")};
    facts.hosts[0].reach = {Outcome::refused, "port 22: Connection refused"};
    std::ostringstream out;
    write_text(diagnose(facts), facts, out);
    EXPECT_THAT(out.str(),
                AllOf(HasSubstr("error    reach          node-b: the connection was refused"),
                      HasSubstr("likely: the host is up"), HasSubstr("remedy: start sshd"),
                      HasSubstr("1 error, ")));
}

TEST(Doctor, JsonIsValidWhateverTheWords) {
    auto facts = sound();
    facts.hosts = {sound_host("node-b")};
    facts.hosts[0].reach = {Outcome::failed, "\"quoted\" \xff\xfe\x01"};
    std::ostringstream out;
    write_json(diagnose(facts), facts, out);
    auto const report = nlohmann::json::parse(out.str());
    EXPECT_EQ(report["counts"]["error"], 1);
    EXPECT_EQ(report["findings"][0]["check"], "shared memory");
    EXPECT_EQ(report["findings"][0]["severity"], "ok");
    EXPECT_EQ(report["host"], "node-a");
}

}  // namespace
}  // namespace sinew::launch
