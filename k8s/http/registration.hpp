// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

namespace sinew::k8s {

/// A callback that may still come. The destructor ends it: after that, the callback is not called.
/// Empty after having been moved from.
class Registration {
public:
    struct Body {
        virtual ~Body() = default;
        virtual void cancel() noexcept = 0;
    };

    Registration() = default;
    explicit Registration(std::shared_ptr<Body> body) : body_(std::move(body)) {}
    Registration(Registration&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
    Registration& operator=(Registration&& other) noexcept {
        std::swap(body_, other.body_);
        return *this;
    }
    ~Registration() {
        if (body_) body_->cancel();
    }
    explicit operator bool() const { return body_ != nullptr; }

private:
    std::shared_ptr<Body> body_;
};

}  // namespace sinew::k8s
