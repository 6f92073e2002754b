# SPDX-License-Identifier: Apache-2.0
find_program(SPILLWAY_CCACHE ccache)
if(SPILLWAY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SPILLWAY_CCACHE})
endif()
find_program(SPILLWAY_MOLD mold)
if(SPILLWAY_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
if(SPILLWAY_SANITIZE)
  add_compile_options(-fsanitize=${SPILLWAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SPILLWAY_SANITIZE})
endif()

# Warnings for our own code; third-party headers come in as SYSTEM.
function(spillway_warnings target)
  # gcc 12 sees overreads that are not there inside boost::container::small_vector.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wno-stringop-overread
                         -Wno-stringop-overflow -Wno-array-bounds
                         $<$<BOOL:${SPILLWAY_WERROR}>:-Werror>)
endfunction()

# spillway_library(NAME DEPS...): the static library of one folder under sim/.
function(spillway_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  add_library(spillway_${name} STATIC ${sources})
  target_include_directories(spillway_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(spillway_${name} PUBLIC ${ARGN})
  spillway_warnings(spillway_${name})
endfunction()
