// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/kubectl/port_forward.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "launchers/kubernetes/kubectl/kubectl.hpp"
#include "launchers/kubernetes/kubectl/kubectl_output.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

constexpr std::size_t most_kept = std::size_t{16} << 10;

std::vector<std::string> command(KubernetesOptions const& options,
                                 PortForward::Route const& route) {
    auto words = kubectl_command(options, route.ns, "port-forward");
    auto const local = route.local == 0 ? std::string() : std::to_string(route.local);
    words.insert(words.end(), {"--address=" + route.address, "pod/" + route.pod,
                               text(local, ":", route.remote)});
    return words;
}

}  // namespace

PortForward::PortForward(k8s::Client& client, KubernetesOptions const& options, Route route,
                         Callbacks callbacks)
    : route_(std::move(route)), callbacks_(std::move(callbacks)) {
    auto out = make_pipe(), err = make_pipe();
    child_ = std::make_unique<ChildProgram>(
        command(options, route_),
        ChildProgram::Streams{.out = out.second.get(), .err = err.second.get()});
    out_ = std::move(out.first);
    err_ = std::move(err.first);
    for (int const fd : {out_.get(), err_.get()})
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    reads_out_ = client.readable(out_.get(), [this] { on_output(); });
    reads_err_ = client.readable(err_.get(), [this] { read_end(err_.get(), errors_); });
    exits_ = client.readable(child_->ended_fd(), [this] { on_exit(); });
    deadline_ = client.after(route_.patience, [this] {
        read_end(err_.get(), errors_);
        auto const said = kubectl_reason(errors_);
        finish(text("kubectl did not listen within ", route_.patience.count(), " s",
                    said.empty() ? "" : "; it printed: ", said));
    });
}

bool PortForward::read_some(int fd, std::string& into) {
    std::array<char, 4096> buffer{};
    ssize_t count = 0;
    do count = ::read(fd, buffer.data(), buffer.size());
    while (count < 0 && errno == EINTR);
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) {
        (fd == out_.get() ? reads_out_ : reads_err_) = {};
        return false;
    }
    into.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
}

void PortForward::read_end(int fd, std::string& into) {
    // One that prints without end must not hold the loop.
    for (int turns = 0; turns < 1000 && read_some(fd, into); ++turns)
        if (into.size() > most_kept) into.erase(0, into.size() - most_kept);
}

std::optional<std::string> PortForward::first_line() {
    auto end = output_.find('\n');
    while (end == output_.npos && output_.size() < most_kept && read_some(out_.get(), output_))
        end = output_.find('\n');
    if (end == output_.npos && output_.size() < most_kept) return std::nullopt;
    return output_.substr(0, end);
}

void PortForward::on_output() {
    if (callbacks_.listens) {
        if (auto const line = first_line()) on_line(*line);
        return;
    }
    read_end(out_.get(), output_);  // "Handling connection for 8080"
    output_.clear();
}

// The first line says where it listens.
void PortForward::on_line(std::string const& line) {
    auto const found = parse_forwarding_line(line);
    if (!found || found->remote != route_.remote || found->address != route_.address ||
        (route_.local != 0 && found->local != route_.local))
        return finish(text("kubectl does not forward as it was asked to: ", kubectl_reason(line)));
    deadline_ = {};
    std::exchange(callbacks_.listens, nullptr)(found->local);
}

void PortForward::on_exit() {
    // What it has printed comes before its end. The callback may destroy this object; if it does not, this function
    // is called again, as the child remains ended.
    if (callbacks_.listens)
        if (auto const line = first_line()) return on_line(*line);
    read_end(err_.get(), errors_);
    auto const said = kubectl_reason(errors_);
    int const code = child_->wait();
    finish(said.empty() ? text("kubectl ended with code ", code, " and no reason") : said);
}

void PortForward::finish(std::string const& why) {
    reads_out_ = {};
    reads_err_ = {};
    exits_ = {};
    deadline_ = {};
    child_.reset();
    if (auto const call = std::exchange(callbacks_.ended, nullptr)) call(why);
}

}  // namespace sinew::launch::kubernetes
