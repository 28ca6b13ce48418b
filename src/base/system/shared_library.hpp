// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew {

/// A shared library that is loaded at run time and stays loaded: drivers and NCCL have threads and
/// handlers of their own, so that none of them can be unloaded safely. Copies refer to the same one.
class SharedLibrary {
public:
    SharedLibrary() = default;
    /// Returns the library of this name if the process has loaded it already, whoever did; otherwise
    /// an empty one.
    static SharedLibrary already_loaded(char const* name);
    /// Loads a library by name or path. Throws Unavailable with the dynamic loader's reason.
    static SharedLibrary open(std::string const& name);

    explicit operator bool() const { return handle_ != nullptr; }
    /// The path of the file that has the symbol; the library's name if that is unknown.
    std::string path_of(char const* symbol) const;
    /// Sets `function` to the symbol, or to null if there is none; returns whether there is one.
    template <class Function>
    bool look_up(char const* symbol, Function*& function) const {
        function = reinterpret_cast<Function*>(address(symbol));
        return function != nullptr;
    }

private:
    SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
    void* address(char const* symbol) const;

    void* handle_ = nullptr;
    std::string name_;
};

}  // namespace sinew
