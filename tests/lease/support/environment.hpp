// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sinew::lease::test {

/// Sets variables until the end of the scope. First it removes those of the user and of a batch
/// system that would change what a lease finds, and makes the fake NVML the one that is loaded.
class Environment {
public:
    Environment(std::initializer_list<std::pair<char const*, char const*>> variables) {
        for (char const* name :
             {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "NV_GPU",
              "SINEW_GPUS", "SINEW_LEASE_DIR", "SINEW_LEASE_MEMORY", "SINEW_LEASED_GPUS",
              "FAKE_NVML"})
            unset(name);
        set("SINEW_NVML_LIBRARY", FAKE_NVML_LIBRARY);
        for (auto const& [name, value] : variables) set(name, value);
    }
    Environment(Environment const&) = delete;
    ~Environment() {
        for (auto const& [name, value] : former_) {
            if (value) ::setenv(name.c_str(), value->c_str(), 1);
            else ::unsetenv(name.c_str());
        }
    }

    void set(std::string const& name, std::string const& value) {
        keep(name);
        ::setenv(name.c_str(), value.c_str(), 1);
    }
    void unset(std::string const& name) {
        keep(name);
        ::unsetenv(name.c_str());
    }

private:
    void keep(std::string const& name) {
        char const* const value = std::getenv(name.c_str());
        former_.emplace(name, value != nullptr ? std::optional<std::string>(value) : std::nullopt);
    }
    std::map<std::string, std::optional<std::string>> former_;
};

inline std::optional<std::string> variable(char const* name) {
    char const* const value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace sinew::lease::test
