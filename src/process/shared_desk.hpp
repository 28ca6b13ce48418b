// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <sinew/shared.hpp>
#include <string>
#include <utility>

#include "src/process/queue_mail.hpp"

namespace sinew::process {

/// Bytes and what keeps them.
struct SharedBytes {
    std::shared_ptr<void const> keeper;
    std::span<std::byte const> bytes;
};

/// A shared object as it travels.
struct SharedHandle {
    ProcessAddress owner;
    std::uint64_t id = 0;
    std::string path;
    std::uint64_t size = 0;

    void encode_to(Writer& writer) const;
    static SharedHandle decode_from(Reader& reader);
};

/// The shared objects of this process, and those of others that it has handles of.
class SharedDesk {
public:
    static SharedDesk& instance();
    SharedDesk(SharedDesk const&) = delete;

    enum class Route { mapped, fetched };
    Route route(SharedHandle const& handle) const;
    std::shared_ptr<detail::SharedObject> add(std::span<std::byte const> bytes);
    std::shared_ptr<detail::SharedObject> find(SharedHandle handle, Route route);

private:
    class Object;
    struct Fetch {
        bool answered = false;
        SharedBytes bytes;
        std::string why_lost;
    };
    using Key = std::pair<Peer*, std::uint64_t>;

    explicit SharedDesk(Mail& mail);
    SharedBytes bytes(SharedHandle const& handle, Route route);
    SharedBytes fetch(SharedHandle const& handle);
    void letter(std::shared_ptr<Peer> const& peer, Letter const& letter);
    void lost(std::shared_ptr<Peer> const& peer, std::string const& why);

    Mail& mail_;
    std::uint64_t ids_ = 0;
    std::map<std::uint64_t, SharedBytes> own_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<Object>> known_;
    std::multimap<Key, Fetch*> fetches_;
    std::condition_variable arrived_;
};

/// Writes the bytes into a new file, and maps it. Throws SystemError.
SharedBytes map_new_file(std::string const& path, std::span<std::byte const> bytes);
/// Empty keeper: there is no such file, or it is not of this size.
SharedBytes map_file(std::string const& path, std::size_t size);

}  // namespace sinew::process
