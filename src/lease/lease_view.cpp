// SPDX-License-Identifier: Apache-2.0
#include "src/lease/lease_view.hpp"

#include "src/lease/acquisition.hpp"
#include "src/lease/locks/layout.hpp"

namespace sinew::lease {

LeaseView::LeaseView() : file_(lease_folder({})) {}

bool LeaseView::is_leased(GpuInventory const& inventory, Gpu const& gpu) const {
    return file_.lock_of_others(inventory.lock(gpu)).has_value();
}

std::size_t LeaseView::count() const { return file_.positions_of_others(layout::holders).size(); }

}  // namespace sinew::lease
