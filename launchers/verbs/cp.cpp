// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <ostream>
#include <sinew/error.hpp>

#include "launchers/cli/small_options.hpp"
#include "launchers/kubernetes/claim_pod.hpp"
#include "launchers/kubernetes/cluster.hpp"
#include "launchers/kubernetes/pod_template.hpp"
#include "launchers/verbs/cluster_flags.hpp"
#include "launchers/verbs/cluster_verbs.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;
using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

constexpr char cp_usage[] =
    "sinew cp SOURCE TARGET [flags]: copies a file or a folder to a PersistentVolumeClaim, or "
    "from\n"
    "one; CLAIM:PATH is the side in the cluster\n\n"
    "  sinew cp data.csv nfs:/in/data.csv --image debian:12\n"
    "  sinew cp nfs:/runs ./runs            a folder, into ./runs\n\n"
    "A pod that mounts the claim copies, and is removed. Its image needs sh and tar; default:\n"
    "SINEW_RUN_IMAGE. The exit code is 0 if all was copied, else that of tar.\n\n";

// How much may wait for the network before the local tar has to wait.
constexpr std::size_t most_waiting = std::size_t{4} << 20;

struct Side {
    std::string claim;  ///< empty: on this host
    std::string path;
};

// "nfs:/in/data.csv"; a path with a slash before its first colon is on this host.
Side parse_side(std::string const& word) {
    auto const colon = word.find(':');
    if (colon == std::string::npos || word.find('/') < colon || colon == 0) return {"", word};
    std::string path = word.substr(colon + 1);
    // As Fiber's documents write it: the path in the pod.
    if (path == "/persistent" || path.starts_with("/persistent/")) path = path.substr(11);
    while (path.starts_with('/')) path.erase(0, 1);
    return {word.substr(0, colon), path.empty() ? "." : path};
}

std::string parent_of(std::string const& path) {
    auto const parent = std::filesystem::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

std::string name_of(std::string const& path) {
    auto const name = std::filesystem::path(path).lexically_normal();
    return name.has_filename() ? name.filename().string() : name.parent_path().filename().string();
}

// A local tar at one end of a pipe.
class Tar {
public:
    Tar(Words arguments, bool reads) {
        auto [read_end, write_end] = make_pipe();
        SpawnRequest request;
        request.path = "/usr/bin/tar";
        if (::access(request.path.c_str(), X_OK) != 0) request.path = "/bin/tar";
        request.argv = {"tar"};
        request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
        for (char** at = environ; *at != nullptr; ++at) request.env.emplace_back(*at);
        (reads ? request.in : request.out) = reads ? read_end.get() : write_end.get();
        request.death_signal = SIGTERM;
        auto spawned = spawn(request);
        if (spawned.error != 0)
            throw SystemError(text("tar cannot be executed (", std::strerror(spawned.error),
                                   "). Debian: apt-get install tar"),
                              spawned.error);
        pid_ = spawned.pid;
        pipe_ = std::move(reads ? write_end : read_end);
    }
    Tar(Tar const&) = delete;
    ~Tar() { wait(); }

    int fd() const { return pipe_.get(); }
    void close() { pipe_ = {}; }
    int wait() {
        close();
        if (pid_ != 0) {
            ::waitpid(pid_, &status_, 0);
            pid_ = 0;
        }
        return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    }

private:
    pid_t pid_ = 0;
    int status_ = 0;
    UniqueFd pipe_;
};

// Executes a command in the pod with tar's bytes in one direction. Returns its exit code.
class Copy {
public:
    Copy(k8s::Client& client, kubernetes::ClaimPod const& pod) : client_(client), pod_(pod) {}

    int upload(Tar& tar, std::string const& script, std::string const& argument) {
        start(script, argument, true, [](std::string_view) {});
        read_from(tar);
        return finish();
    }

    int download(Tar& tar, std::string const& script, std::string const& argument) {
        start(script, argument, false, [&tar](std::string_view bytes) {
            while (!bytes.empty()) {
                ssize_t const count = ::write(tar.fd(), bytes.data(), bytes.size());
                if (count < 0 && errno == EINTR) continue;
                if (count < 0) throw SystemError("the local tar has failed", errno);
                bytes.remove_prefix(static_cast<std::size_t>(count));
            }
        });
        return finish();
    }

private:
    template <class Sink>
    void start(std::string const& script, std::string const& argument, bool input, Sink sink) {
        exec_ = client_.exec(
            {.pod = pod_.name(),
             .container = kubernetes::container_name,
             .ns = {},
             .command = {"sh", "-c", script, "sh", argument},
             .input = input,
             .terminal = false},
            [sink](k8s::ExecStream::Output stream, std::string_view bytes) {
                if (stream == k8s::ExecStream::Output::out) return sink(bytes);
                [[maybe_unused]] auto const shown =
                    ::write(STDERR_FILENO, bytes.data(), bytes.size());
            },
            [this](std::exception_ptr failure, int code) {
                failure_ = failure;
                code_ = failure ? 1 : code;
            });
    }

    void read_from(Tar& tar) {
        reading_ = client_.readable(tar.fd(), [this, &tar] {
            std::array<char, 65536> buffer;
            ssize_t const count = ::read(tar.fd(), buffer.data(), buffer.size());
            if (count < 0 && errno == EINTR) return;
            if (count <= 0) {
                reading_ = {};
                exec_.close_input();
            } else if (exec_.write({buffer.data(), static_cast<std::size_t>(count)}) >
                       most_waiting) {
                reading_ = {};
                exec_.on_drained([this, &tar] { read_from(tar); });
            }
        });
    }

    int finish() {
        while (!client_.run_until([&] { return code_.has_value(); },
                                  Clock::now() + std::chrono::hours(1))) {}
        if (failure_) std::rethrow_exception(failure_);
        return *code_;
    }

    k8s::Client& client_;
    kubernetes::ClaimPod const& pod_;
    k8s::ExecStream exec_;
    k8s::Registration reading_;
    std::optional<int> code_;
    std::exception_ptr failure_;
};

// TARGET names the copy; a folder that exists, or a name that ends with '/', gets it under its name.
int upload(k8s::Client& client, kubernetes::ClaimPod const& pod, std::string const& source,
           std::string const& target) {
    auto const name = name_of(source);
    Tar tar({"-c", "-f", "-", "-C", parent_of(source), "--", name}, false);
    // tar's end mark ends the copy, as servers before Kubernetes 1.30 cannot end the input.
    static constexpr char script[] =
        "set -e; cd /persistent; t=$1; n=${t##*//}; t=${t%%//*}; "
        "if [ -d \"$t\" ] || [ \"${t%/}\" != \"$t\" ]; then mkdir -p \"$t\"; tar -x -f - -C "
        "\"$t\"; "
        "else d=$(dirname \"$t\"); mkdir -p \"$d\"; w=$(mktemp -d \"$d/.sinew-cp-XXXXXX\"); "
        "tar -x -f - -C \"$w\" && mv -T \"$w/$n\" \"$t\"; c=$?; rmdir \"$w\" 2>/dev/null || "
        "rm -rf \"$w\"; exit $c; fi";
    Copy copy(client, pod);
    int const there = copy.upload(tar, script, text(target, "//", name));
    int const here = tar.wait();
    return there != 0 ? there : here;
}

int download(k8s::Client& client, kubernetes::ClaimPod const& pod, std::string const& source,
             std::string const& target) {
    namespace fs = std::filesystem;
    bool const into = fs::is_directory(target) || target.ends_with('/');
    auto const folder = into ? target : parent_of(target);
    fs::create_directories(folder);
    auto work = (fs::path(folder) / ".sinew-cp-XXXXXX").string();
    if (::mkdtemp(work.data()) == nullptr)
        throw SystemError(text(folder, " cannot be written (", std::strerror(errno), ")"), errno);
    int there = 0, here = 0;
    {
        Tar tar({"-x", "-f", "-", "-C", work}, true);
        static constexpr char script[] =
            "cd /persistent && tar -c -f - -C \"$(dirname \"$1\")\" -- \"$(basename \"$1\")\"";
        Copy copy(client, pod);
        there = copy.download(tar, script, source);
        here = tar.wait();
    }
    if (there == 0 && here == 0) {
        auto const name = name_of(source);
        auto const from = name == "." ? fs::path(work) : fs::path(work) / name;
        auto const to = into ? fs::path(target) / name : fs::path(target);
        fs::rename(from, to);
    }
    std::error_code ignored;
    fs::remove_all(work, ignored);
    return there != 0 ? there : here;
}

}  // namespace

int cp_main(Words const& arguments, std::ostream& out) {
    po::options_description flags("flags");
    flags.add_options()("help,h", "this text")("image",
                                               po::value<std::string>()->value_name("IMAGE"),
                                               "of the pod that copies; needs sh and tar");
    add_cluster_flags(flags);
    auto all = flags;
    all.add_options()("words", po::value<Words>());
    auto const values = parse_small(arguments, all, "cp", "words");
    if (values.count("help") != 0) {
        out << cp_usage << flags;
        return 0;
    }
    auto const words = values.count("words") != 0 ? values["words"].as<Words>() : Words();
    if (words.size() != 2)
        throw UsageError("a source and a target are expected: sinew cp SOURCE CLAIM:PATH");
    auto const source = parse_side(words[0]), target = parse_side(words[1]);
    if (source.claim.empty() == target.claim.empty())
        throw UsageError(text("cp ", words[0], " ", words[1],
                              source.claim.empty() ? " (one side must be CLAIM:PATH)"
                                                   : " (one side must be on this host)"));
    auto options = cluster_options(values);
    if (options.image.empty())
        throw UsageError("cp needs --image (or SINEW_RUN_IMAGE), with sh and tar");
    if (target.claim.empty() == false && !std::filesystem::exists(source.path))
        throw UsageError(text(source.path, " does not exist"));
    ::signal(SIGPIPE, SIG_IGN);
    auto const client = kubernetes::open_cluster(options);
    kubernetes::ClaimPod const pod(*client, options,
                                   source.claim.empty() ? target.claim : source.claim);
    return source.claim.empty() ? upload(*client, pod, source.path, target.path)
                                : download(*client, pod, source.path, target.path);
}

}  // namespace sinew::launch
