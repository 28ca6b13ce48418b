// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/manager/object.hpp>
#include <string>

#include "src/manager/client/connection.hpp"

namespace sinew::manager {

class ObjectRegistry;

/// An object as seen by a process that calls it.
class RemoteObject final : public detail::ObjectEnd {
public:
    RemoteObject(ObjectRegistry& registry, std::shared_ptr<Connection> connection, ObjectId id,
                 char const* type)
        : registry_(registry), connection_(std::move(connection)), id_(id), type_(type) {}
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
    void call_instead(PipelinedCall const& pipelined) {
        connection_->call_instead(id_, row_, pipelined);
    }

private:
    std::shared_ptr<PendingReply> submit(Op op, detail::TaskEntry const& method, Writer& arguments,
                                         std::uint32_t gives = 0);
    ObjectRegistry& registry_;
    std::shared_ptr<Connection> const connection_;
    ObjectId const id_;
    char const* const type_;
    std::uint64_t row_ = 0;
    bool travelled_ = false;
};

}  // namespace sinew::manager
