// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "k8s/call.hpp"
#include "k8s/known_objects.hpp"
#include "k8s/requests/call_run.hpp"
#include "k8s/watch.hpp"
#include "k8s/watch_lines.hpp"

namespace sinew::k8s {

/// What a watch does: list, follow, and list again if it must.
class Watch::Body final : public ExchangeListener,
                          public std::enable_shared_from_this<Watch::Body> {
public:
    Body(Session& session, Resource const& resource, Selection selection, Callback callback,
         WatchOptions options);
    void start();
    void cancel() noexcept;
    bool synced() const { return synced_; }
    Session::Clock::duration disconnected_for() const;

private:
    void list();
    void listed(std::exception_ptr failure, Json list);
    void follow();
    void began() override;
    TransferListener::Take data(std::string_view bytes) override;
    void ended(ExchangeEnd end) override;
    bool take(WatchLines::Line const& line);
    void check_silence();
    void broken(std::exception_ptr failure, bool for_good,
                std::optional<std::chrono::seconds> wait = {});
    void fail(std::exception_ptr failure);
    void deliver_soon();
    void deliver();

    Session& session_;
    Resource resource_;
    Selection selection_;
    Subject subject_;
    Callback callback_;  // null: cancelled
    WatchOptions options_;
    std::shared_ptr<CallRun> list_;
    std::unique_ptr<Exchange> exchange_;
    Registration retry_, silence_;
    WatchLines lines_;
    KnownObjects known_;
    std::string version_, problem_;
    std::exception_ptr error_;
    std::size_t queued_bytes_ = 0;
    int attempts_ = 0;
    bool watched_ = false;  ///< a watch was once permitted, so that a refusal may pass
    bool synced_ = false, over_ = false, connected_ = false, must_list_ = false, waits_ = false;
    bool delivery_queued_ = false, progress_ = false;
    Session::Clock::time_point started_, contact_, sync_deadline_;
    std::chrono::seconds asked_{};
};

}  // namespace sinew::k8s
