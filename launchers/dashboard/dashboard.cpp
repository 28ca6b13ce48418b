// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/dashboard.hpp"

#include "src/base/log.hpp"
#include "src/base/system/work_thread.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::dashboard {

Dashboard::Dashboard(Settings const& settings)
    : token_(settings.token_file.empty() ? Token::random() : Token::from_file(settings.token_file)),
      server_(loop_, state_, token_, settings.port, settings.limits) {
    thread_ = start_thread("of the dashboard", [this] {
        try {
            loop_.run(sleeps_);
        } catch (std::exception const& problem) {
            log_warning(text("the dashboard has ended: ", problem.what()));
        }
    });
}

Dashboard::~Dashboard() {
    if (!thread_.joinable()) return;
    loop_.post([this] { loop_.stop(); });
    thread_.join();
}

std::string Dashboard::address() const {
    return text("http://127.0.0.1:", server_.port(), "/#token=", token_.value());
}

void Dashboard::finish(std::chrono::milliseconds patience) {
    if (!thread_.joinable()) return;
    loop_.post([this, patience] {
        server_.finish();
        patience_ = loop_.after(patience, [this] { loop_.stop(); });
        watching_ = loop_.every(std::chrono::milliseconds(5), [this] {
            if (server_.idle()) loop_.stop();
        });
        if (server_.idle()) loop_.stop();
    });
    thread_.join();
}

}  // namespace sinew::launch::dashboard
