// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/socket/stream.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew::wire {

enum class Role : std::uint8_t { dialler, acceptor };

/// TLS 1.3 with a key derived from the job's secret instead of certificates: nobody else can
/// complete a handshake, in either role.
class TlsContext {
public:
    TlsContext(Role role, Secret const& secret);
    ~TlsContext();
    TlsContext(TlsContext const&) = delete;
    TlsContext& operator=(TlsContext const&) = delete;

    /// The handshake happens within reads and writes. The stream may outlive the context.
    std::unique_ptr<Stream> make_stream(UniqueFd fd) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew::wire
