# SPDX-License-Identifier: Apache-2.0
# Standalone asio, headers only. Target sinew::asio.
find_path(Asio_INCLUDE_DIR asio.hpp)
mark_as_advanced(Asio_INCLUDE_DIR)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Asio REQUIRED_VARS Asio_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "Debian: apt-get install libasio-dev")
if(Asio_FOUND AND NOT TARGET sinew::asio)
    add_library(sinew::asio INTERFACE IMPORTED)
    set_target_properties(sinew::asio PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${Asio_INCLUDE_DIR}"
        INTERFACE_COMPILE_DEFINITIONS "ASIO_STANDALONE;ASIO_NO_DEPRECATED")
endif()
