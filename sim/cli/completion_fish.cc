// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/cli/help.h"
#include "sim/cli/options.h"

namespace spillway::cli {
namespace {

std::string Quote(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

/// Arguments of `complete` that offer values. `only`: nothing else is taken.
std::string Values(Complete complete, const std::vector<std::string>& choices, bool open, bool option) {
  const std::string only = option ? " -x" : "", files = option ? " -r -F" : " -F";
  if (!choices.empty()) return fmt::format("{} -a {}", open ? files : only, Quote(fmt::format("{}", fmt::join(choices, " "))));
  switch (complete) {
    case Complete::kFile: return files;
    case Complete::kDirectory: return only + " -a '(__fish_complete_directories)'";
    case Complete::kInput: return files + " -a '(__spillway_list workloads)'";
    case Complete::kChip: return only + " -a '(__spillway_list chips)'";
    case Complete::kFormat: return only + " -a '(__spillway_list formats)'";
    case Complete::kFormatList: return only + " -a '(__spillway_format_list)'";
    default: return only;
  }
}

std::string Options(const std::vector<Option>& options, const std::string& condition) {
  std::string lines;
  for (const Option& option : options) {
    lines += fmt::format("complete -c spillway{} -l {}", condition, option.name);
    if (option.letter != 0) lines += fmt::format(" -s {}", option.letter);
    if (!option.value.empty()) lines += Values(option.complete, option.choices, option.open, true);
    lines += fmt::format(" -d {}\n", Quote(option.help));
  }
  return lines;
}

}  // namespace

std::string FishCompletion(const std::vector<Command>& commands) {
  std::string names, lines;
  for (const Command& command : commands) names += (names.empty() ? "" : " ") + command.name;
  for (const Command& command : commands) {
    lines += fmt::format("complete -c spillway -n __spillway_no_command -a {} -d {}\n", command.name, Quote(command.summary));
  }
  lines += Options(GlobalOptions(), "");
  for (const Command& command : commands) {
    const std::string condition = fmt::format(" -n '__spillway_command {}'", command.name);
    lines += Options(command.options, condition);
    for (const Positional& positional : command.positionals) {
      std::vector<std::string> choices = positional.choices;
      if (positional.complete == Complete::kCommand) {
        for (const Command& other : commands) choices.push_back(other.name);
      }
      const std::string values = Values(positional.complete, choices, false, false);
      if (!values.empty()) lines += fmt::format("complete -c spillway{}{} -d {}\n", condition, values, Quote(positional.name));
    }
  }
  return fmt::format(R"(# fish completion of spillway; made by: spillway completion fish
set -g __spillway_commands {names}
function __spillway_list
  spillway list $argv[1] 2>/dev/null | string replace -r ' .*' ''
end
# What was typed of a list, with each format added to it.
function __spillway_format_list
  set -l typed (string replace -r '^--[a-z-]+=' '' -- (commandline -ct))
  set -l before (string match -r '.*,' -- $typed)
  for format in (__spillway_list formats)
    echo $before$format
  end
end
function __spillway_command
  for word in (commandline -opc)[2..-1]
    if contains -- $word $__spillway_commands
      test $word = $argv[1]
      return
    end
  end
  return 1
end
function __spillway_no_command
  for word in (commandline -opc)[2..-1]
    contains -- $word $__spillway_commands; and return 1
  end
  return 0
end
complete -c spillway -f
{lines})",
                     fmt::arg("names", names), fmt::arg("lines", lines));
}

}  // namespace spillway::cli
