# SPDX-License-Identifier: Apache-2.0
# Debian ships SystemC with a pkg-config file and no CMake config. Makes SystemC::systemc.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_SYSTEMC QUIET systemc)
endif()
find_path(SystemC_INCLUDE_DIR systemc HINTS ${PC_SYSTEMC_INCLUDE_DIRS})
find_library(SystemC_LIBRARY systemc HINTS ${PC_SYSTEMC_LIBRARY_DIRS})
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SystemC REQUIRED_VARS SystemC_LIBRARY SystemC_INCLUDE_DIR
                                  VERSION_VAR PC_SYSTEMC_VERSION)
if(SystemC_FOUND AND NOT TARGET SystemC::systemc)
  add_library(SystemC::systemc UNKNOWN IMPORTED)
  set_target_properties(SystemC::systemc PROPERTIES
    IMPORTED_LOCATION ${SystemC_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SystemC_INCLUDE_DIR})
endif()
