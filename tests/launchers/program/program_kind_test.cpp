// SPDX-License-Identifier: Apache-2.0
#include "launchers/program/program_kind.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "launchers/program/command_output.hpp"
#include "launchers/program/elf.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using testing::HasSubstr;

constexpr char const* usual_path = "/usr/local/bin:/usr/bin:/bin";

/// The kinds that apply, of "open_mpi mpich sinew unknown", or the error number.
std::string summary(ProgramKind const& kind) {
    if (kind.error != 0) return text("error ", kind.error);
    std::string words;
    if (kind.open_mpi) words += "open_mpi ";
    if (kind.mpich) words += "mpich ";
    if (kind.sinew) words += "sinew ";
    if (kind.unknown) words += "unknown ";
    return words.empty() ? "plain" : words.substr(0, words.size() - 1);
}

std::string error(int number) { return text("error ", number); }

class ProgramKinds : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + text("sinew-program-kind-", ::getpid());
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void file(std::string const& name, std::string const& content, ::mode_t mode = 0755) const {
        std::ofstream(folder_ + '/' + name, std::ios::binary) << content;
        ASSERT_EQ(::chmod((folder_ + '/' + name).c_str(), mode), 0);
    }
    /// Compiles a program that is linked with this compiler's MPI; returns false if there is none.
    bool compile(std::string const& compiler, std::string const& name) const {
        file(name + ".cpp", "#include <mpi.h>\nint main() { return MPI_Init(0, 0); }\n", 0644);
        return command_output({compiler, "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-o",
                               folder_ + '/' + name, folder_ + '/' + name + ".cpp"},
                              {.time = std::chrono::seconds(40)})
            .succeeded();
    }
    std::string of(std::vector<std::string> const& argv) const {
        return summary(inspect(argv, folder_, usual_path));
    }
    std::string folder_;
};

TEST_F(ProgramKinds, PlainProgramsWantNothing) {
    EXPECT_EQ(of({"hostname"}), "plain");
    EXPECT_EQ(of({"date", "-u"}), "plain");
    EXPECT_EQ(inspect({"/bin/date"}, "", "").path, "/bin/date");
}

TEST_F(ProgramKinds, OpenMpiProgramsWantPmix) {
    if (!compile("mpicxx.openmpi", "hello")) GTEST_SKIP() << "no mpicxx.openmpi here";
    auto const kind = inspect({"./hello"}, folder_, usual_path);
    EXPECT_EQ(summary(kind), "open_mpi") << kind.why;
    EXPECT_THAT(kind.why, HasSubstr("libmpi.so"));
    EXPECT_EQ(kind.path, folder_ + "/./hello");
    EXPECT_EQ(of({"env", "A=1", "./hello"}), "open_mpi") << "behind a wrapper";
    EXPECT_EQ(of({"bash", "-c", "./hello"}), "open_mpi");
    EXPECT_EQ(of({"cp", "./hello", "there"}), "unknown") << "may only be a file to it";
    file("run.sh", "#!/bin/sh\nexec \"$@\"\n");
    EXPECT_EQ(of({"./run.sh", "./hello"}), "open_mpi");
}

TEST_F(ProgramKinds, MpichProgramsWantPmi1) {
    if (!compile("mpicxx.mpich", "hello")) GTEST_SKIP() << "no mpicxx.mpich here";
    EXPECT_EQ(of({"./hello"}), "mpich");
    EXPECT_EQ(of({"numactl", "-l", "./hello"}).substr(0, 5),
              std::filesystem::exists("/usr/bin/numactl") ? "mpich" : "error");
}

TEST_F(ProgramKinds, LibrariesOfLibrariesCount) {
    if (!compile("mpicxx.openmpi", "probe")) GTEST_SKIP() << "no mpicxx.openmpi here";
    file("inner.cpp", "#include <mpi.h>\nint inner() { return MPI_Init(0, 0); }\n", 0644);
    file("outer.cpp", "int inner();\nint main() { return inner(); }\n", 0644);
    auto const in = [&](char const* name) { return folder_ + '/' + name; };
    ASSERT_TRUE(command_output({"mpicxx.openmpi", "-DOMPI_SKIP_MPICXX", "-shared", "-fPIC", "-o",
                                in("libinner.so"), in("inner.cpp")},
                               {.time = std::chrono::seconds(40)})
                    .succeeded());
    auto const linked = command_output({"g++", "-o", in("outer"), in("outer.cpp"), "-L" + folder_,
                                        "-linner", "-Wl,-rpath," + folder_},
                                       {.time = std::chrono::seconds(40)});
    ASSERT_TRUE(linked.succeeded()) << linked.err;
    EXPECT_EQ(of({"./outer"}), "open_mpi");
    std::filesystem::remove(in("libinner.so"));
    EXPECT_THAT(inspect({"./outer"}, folder_, usual_path).why,
                HasSubstr("libinner.so: cannot open"));
}

TEST_F(ProgramKinds, InterpretersScriptsAndWrappersAreUnknown) {
    file("script", "#!/bin/sh\nexit 0\n");
    file("bare", "exit 0\n");
    EXPECT_EQ(of({"./script"}), "unknown");
    EXPECT_EQ(of({"./bare"}), error(ENOEXEC)) << "the kernel does not run it, whatever shells do";
    EXPECT_EQ(of({"bash", "-c", "true"}), "unknown");
    EXPECT_EQ(of({"env", "hostname"}), "unknown");
    EXPECT_TRUE(runs_other_programs("/usr/bin/python3.11"));
    EXPECT_TRUE(runs_other_programs("timeout"));
    EXPECT_FALSE(runs_other_programs("./solver"));
    EXPECT_FALSE(runs_other_programs(""));
}

TEST_F(ProgramKinds, WhatCannotStartSaysWhy) {
    file("data", "text\n", 0644);
    file("bad-script", "#!/no/such/interpreter\n");
    file("dos-script", "#!/bin/sh\r\nexit 0\r\n");
    file("garbage", std::string("\x01\x02\x00\x03garbage", 11));
    std::filesystem::create_directory(folder_ + "/folder");
    EXPECT_EQ(of({"./missing"}), error(ENOENT));
    EXPECT_EQ(of({"no-such-program"}), error(ENOENT));
    EXPECT_EQ(of({""}), error(ENOENT));
    EXPECT_EQ(of({}), error(ENOENT));
    EXPECT_EQ(of({"./data"}), error(EACCES));
    EXPECT_EQ(of({"./folder"}), error(EACCES));
    EXPECT_EQ(of({"./data/below"}), error(ENOTDIR));
    EXPECT_EQ(of({"./garbage"}), error(ENOEXEC));
    EXPECT_EQ(of({"./bad-script"}), error(ENOENT));
    EXPECT_THAT(inspect({"./bad-script"}, folder_, "").why, HasSubstr("/no/such/interpreter"));
    EXPECT_THAT(inspect({"./dos-script"}, folder_, "").why, HasSubstr("Windows line ends"));
    EXPECT_THAT(inspect({"prog"}, folder_, "/a:/b").why, HasSubstr("not in PATH (/a:/b)"));
}

TEST_F(ProgramKinds, PathIsSearchedAsExecvpDoes) {
    std::filesystem::create_directory(folder_ + "/first");
    std::filesystem::create_directory(folder_ + "/second");
    file("first/tool", "#!/bin/sh\n", 0644);
    EXPECT_EQ(find_program("tool", folder_, "first:second").error, EACCES);
    file("second/tool", "#!/bin/sh\n");
    EXPECT_EQ(find_program("tool", folder_, "first:second").path, folder_ + "/second/tool");
    file("here", "#!/bin/sh\n");
    EXPECT_EQ(find_program("here", folder_, "first::second").path, folder_ + "/./here");
}

TEST_F(ProgramKinds, DamagedProgramsAreUnknown) {
    std::ifstream whole("/proc/self/exe", std::ios::binary);
    std::string head(4096, '\0');
    whole.read(head.data(), static_cast<std::streamsize>(head.size()));
    file("cut", head.substr(0, 100));
    EXPECT_EQ(of({"./cut"}), "unknown");
    head[5] = 2;  // big-endian
    file("foreign", head);
    EXPECT_EQ(of({"./foreign"}), "unknown");
}

TEST(Libraries, TellTheirMpi) {
    EXPECT_EQ(summary(kind_of_library("libmpi.so.40")), "open_mpi");
    EXPECT_EQ(summary(kind_of_library("libmpi.so.12")), "mpich");
    EXPECT_EQ(summary(kind_of_library("libmpi.so")), "unknown");
    EXPECT_EQ(summary(kind_of_library("libmpich.so.12")), "mpich");
    EXPECT_EQ(summary(kind_of_library("libpmix.so.2")), "open_mpi");
    EXPECT_EQ(summary(kind_of_library("/opt/sinew/lib/libsinew.so.0.1")), "sinew");
    EXPECT_EQ(summary(kind_of_library("libmpi_abi.so.1")), "unknown");
    EXPECT_EQ(summary(kind_of_library("libmpir.so.3")), "plain");
}

TEST(CommandOutputs, AreCollectedAndLimited) {
    auto const both = command_output({"sh", "-c", "echo out; echo err >&2; exit 3"});
    EXPECT_EQ(both.out, "out\n");
    EXPECT_EQ(both.err, "err\n");
    EXPECT_EQ(both.exit_code, 3);
    EXPECT_EQ(command_output({"no-such-program-anywhere"}).start_error, ENOENT);
    EXPECT_EQ(command_output({"head", "-c", "100000", "/dev/zero"}, {.bytes = 10}).out.size(), 10U);
    EXPECT_EQ(command_output({"sh", "-c", "kill -9 $$"}).exit_code, 137);
    EXPECT_EQ(command_output({"sh", "-c", "echo $A"}, {}, {"A=b", "PATH=/bin"}).out, "b\n");
}

TEST(CommandOutputs, EndAtTheirDeadlineWithAllTheyStarted) {
    auto const slow = command_output({"sh", "-c", "sleep 100 & sleep 100"},
                                     {.time = std::chrono::milliseconds(50)});
    EXPECT_TRUE(slow.timed_out);
    EXPECT_FALSE(slow.succeeded());
    // The pipes stay open in the background; their end is not waited for.
    auto const left = command_output({"sh", "-c", "sleep 2 & echo done"});
    EXPECT_EQ(left.exit_code, 0);
    EXPECT_EQ(left.out, "done\n");
}

// A background process may write forever, faster than its output is read.
TEST(CommandOutputs, EndThoughAFloodDoesNot) {
    auto const left = command_output({"sh", "-c", "for i in 1 2 3; do yes & done; exit 3"},
                                     {.time = std::chrono::seconds(20)});
    EXPECT_FALSE(left.timed_out);
    EXPECT_EQ(left.exit_code, 3);
    EXPECT_TRUE(command_output({"yes"}, {.time = std::chrono::milliseconds(50)}).timed_out);
}

}  // namespace
}  // namespace sinew::launch
