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
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wno-stringop-overread
                         -Wno-stringop-overflow -Wno-array-bounds
                         # Files of a batch see each other's private names: no shadow in the program.
                         $<$<NOT:$<BOOL:${SPILLWAY_BATCH_LINES}>>:-Wshadow>
                         $<$<BOOL:${SPILLWAY_WERROR}>:-Werror>)
endfunction()

# spillway_batches(TARGET SOURCES...): compiles sources whose private names do not meet as one translation unit, up to
# SPILLWAY_BATCH_LINES lines. A third of the CPU time of a build from nothing, but no check that each file includes
# what it needs, and no help to ccache or to a build after an edit: CI's sanitizer build uses it, the others do not.
function(spillway_batches target)
  if(NOT SPILLWAY_BATCH_LINES)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/batch_sources.py ${PROJECT_SOURCE_DIR}
            ${SPILLWAY_BATCH_LINES} ${ARGN}
    OUTPUT_VARIABLE batches COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" batches "${batches}")
  set(number 0)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(batch IN LISTS batches)
    math(EXPR number "${number} + 1")
    string(REPLACE "|" ";" files "${batch}")
    set_source_files_properties(${files} PROPERTIES UNITY_GROUP ${target}_${number})
  endforeach()
endfunction()

# spillway_library(NAME DEPS...): the static library of one folder under sim/.
function(spillway_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  add_library(spillway_${name} STATIC ${sources})
  target_include_directories(spillway_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(spillway_${name} PUBLIC ${ARGN})
  spillway_batches(spillway_${name} ${sources})
  spillway_warnings(spillway_${name})
endfunction()
