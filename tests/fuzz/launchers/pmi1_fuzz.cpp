// SPDX-License-Identifier: Apache-2.0
//
// A rank may write anything into its PMI socket: the server answers or ends that client, replies
// with whole lines, and releases no more ranks from a barrier than have entered it.
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "launchers/pmi/pmi1.hpp"

namespace {

using namespace sinew::launch;

void expect(bool holds) {
    if (!holds) std::abort();
}

constexpr std::string_view words[] = {
    "cmd=init pmi_version=1 pmi_subversion=1\n",
    "cmd=put kvsname=kvs key=",
    "cmd=get kvsname=kvs key=",
    " value=",
    "cmd=barrier_in\n",
    "cmd=finalize\n",
    "cmd=abort exitcode=",
    " message=",
    "cmd=publish_name service=",
    " port=",
    "cmd=lookup_name service=",
    "cmd=unpublish_name service=",
    "mcmd=spawn\n",
    "totspawns=",
    "spawnssofar=",
    "endcmd\n",
    "cmd=get_maxes\n",
    "cmd=get_appnum\n",
    "cmd=get_my_kvsname\n",
    "cmd=get_universe_size\n",
    "key=PMI_process_mapping\n",
};

/// Bytes above 127 stand for words of the protocol, which a fuzzer would hardly spell.
std::string spelled(std::string_view bytes) {
    std::string out;
    for (auto const byte : bytes) {
        auto const value = static_cast<unsigned char>(byte);
        if (value < 128) out += byte;
        else out += words[value % std::size(words)];
    }
    return out;
}

}  // namespace

/// For each message: a byte for the client, a byte for the length, the bytes.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view input(reinterpret_cast<char const*>(data), size);
    Pmi1Server* server = nullptr;
    Pmi1Server::Hooks hooks;
    hooks.reply = [](int rank, std::string_view line) {
        expect(rank >= 0 && rank < 2 && line.ends_with('\n'));
        expect(line.find('\n') == line.size() - 1);
    };
    hooks.barrier = [&](std::string puts) {
        expect(unpack_puts(puts).has_value());
        server->barrier_done({std::move(puts)});
    };
    using Answer = Pmi1Server::NameAnswer const&;
    hooks.publish = [](std::string const&, std::string const& port, Answer done) { done(port); };
    hooks.lookup = [](std::string const& name, Answer found) { found(name); };
    hooks.unpublish = [](std::string const& name, Answer done) {
        done(name.size() % 2 == 0 ? std::optional(name) : std::nullopt);
    };
    Pmi1Server::Job job;
    job.name = "kvs";
    job.local_ranks = {0, 1};
    job.size = 2;
    Pmi1Server serving(std::move(job), std::move(hooks));
    server = &serving;
    (void)unpack_puts(input);
    while (input.size() >= 2) {
        int const rank = input[0] & 1;
        auto const length = static_cast<unsigned char>(input[1]);
        serving.receive(rank, spelled(input.substr(2, length)));
        input.remove_prefix(std::min<std::size_t>(input.size(), 2u + length));
        expect(serving.waiting() < 2);
    }
    return 0;
}
