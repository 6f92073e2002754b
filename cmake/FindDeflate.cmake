# SPDX-License-Identifier: Apache-2.0
# Debian ships libdeflate 1.14, which has no CMake config yet. Makes Deflate::deflate.
find_path(Deflate_INCLUDE_DIR libdeflate.h)
find_library(Deflate_LIBRARY NAMES libdeflate.a deflate)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Deflate REQUIRED_VARS Deflate_LIBRARY Deflate_INCLUDE_DIR)
if(Deflate_FOUND AND NOT TARGET Deflate::deflate)
  add_library(Deflate::deflate UNKNOWN IMPORTED)
  set_target_properties(Deflate::deflate PROPERTIES
    IMPORTED_LOCATION ${Deflate_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Deflate_INCLUDE_DIR})
endif()
