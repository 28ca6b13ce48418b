// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/object.hpp>
#include <string>

#include "src/manager/connection.hpp"

namespace sinew::manager {

class Desk;

/// An object as a process sees it that calls it.
class RemoteObject final : public detail::ObjectEnd {
public:
    RemoteObject(Desk& desk, std::shared_ptr<Connection> connection, ObjectId id, char const* type)
        : desk_(desk), connection_(std::move(connection)), id_(id), type_(type) {}
    ~RemoteObject() override;

    std::shared_ptr<detail::PendingCall> call(detail::TaskEntry const& method, Writer& arguments,
                                              detail::CallKind kind) override;
    void oneway(detail::TaskEntry const& method, Writer& arguments) override;
    void encode_to(Writer& writer) override;
    void publish(std::string const& name) override;
    void detach() override;
    void checkpoint() override;
    std::shared_ptr<detail::ObjectEnd> refreshed(std::chrono::nanoseconds limit) override;
    char const* type() const { return type_; }
    /// With the guard held: see Connection.
    void call_instead(Follower const& follower) { connection_->call_instead(id_, row_, follower); }

private:
    std::shared_ptr<Pending> submit(Op op, detail::TaskEntry const& method, Writer& arguments,
                                    std::uint32_t gives = 0);
    Desk& desk_;
    std::shared_ptr<Connection> const connection_;
    ObjectId const id_;
    char const* const type_;
    std::uint64_t row_ = 0;
    bool travelled_ = false;
};

}  // namespace sinew::manager
