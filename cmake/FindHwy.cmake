# SPDX-License-Identifier: Apache-2.0
# The headers of Google Highway (Debian: libhwy-dev), as the target sinew::hwy; no library is linked
# (docs/decisions/0009-highway-without-its-library.md).
find_path(Hwy_INCLUDE_DIR hwy/highway.h)
mark_as_advanced(Hwy_INCLUDE_DIR)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hwy REQUIRED_VARS Hwy_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "sinew needs Google Highway. Debian: apt-get install libhwy-dev")
if(Hwy_FOUND AND NOT TARGET sinew::hwy)
    add_library(sinew::hwy INTERFACE IMPORTED)
    set_target_properties(sinew::hwy PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${Hwy_INCLUDE_DIR})
endif()
