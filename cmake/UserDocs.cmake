# SPDX-License-Identifier: Apache-2.0
# cmake -DSPILLWAY=PROGRAM -DTO=DIR -P UserDocs.cmake: completion scripts and man pages, as the program prints them, in the
# layout of a share/ directory.
function(print file)
  get_filename_component(folder ${TO}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${SPILLWAY} ${ARGN} OUTPUT_FILE ${TO}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${TO})
print(bash-completion/completions/spillway completion bash)
print(zsh/site-functions/_spillway completion zsh)
print(fish/vendor_completions.d/spillway.fish completion fish)
print(man/man1/spillway.1 help --format man)
file(STRINGS ${TO}/man/man1/spillway.1 lines REGEX "fBspillway.-[a-z]+.fR\\(1\\)")
foreach(line ${lines})
  string(REGEX REPLACE ".*spillway.-([a-z]+).*" "\\1" command "${line}")
  print(man/man1/spillway-${command}.1 help ${command} --format man)
endforeach()
