// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace sinew::testing_support {

/// A new, empty folder, removed by the destructor.
class TempFolder {
public:
    TempFolder() {
        std::string pattern = testing::TempDir() + "sinew-test-XXXXXX";
        path_ = mkdtemp(pattern.data());
    }
    TempFolder(TempFolder const&) = delete;
    ~TempFolder() { std::filesystem::remove_all(path_); }

    std::filesystem::path const& path() const { return path_; }
    std::filesystem::path write(char const* name, std::string_view bytes) const {
        std::ofstream(path_ / name, std::ios::binary) << bytes;
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

}  // namespace sinew::testing_support
