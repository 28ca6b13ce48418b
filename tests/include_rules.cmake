# SPDX-License-Identifier: Apache-2.0
message(STATUS "placeholder")
