// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/cli/help.h"
#include "sim/cli/options.h"

namespace spillway::cli {
namespace {

std::string Words(const std::vector<Option>& options) {
  std::string words;
  for (const Option& option : options) {
    words += " --" + option.name;
    if (option.letter != 0) words += fmt::format(" -{}", option.letter);
  }
  return words;
}

/// Shell code that fills COMPREPLY for a value of that sort.
std::string Filler(Complete complete, const std::vector<std::string>& choices) {
  if (!choices.empty()) return fmt::format("_spillway_words \"{}\"", fmt::join(choices, " "));
  switch (complete) {
    case Complete::kFile: return "COMPREPLY=($(compgen -f -- \"$cur\"))";
    case Complete::kDirectory: return "COMPREPLY=($(compgen -d -- \"$cur\"))";
    case Complete::kInput:
      return "_spillway_words \"$(_spillway_list workloads)\"; COMPREPLY+=($(compgen -f -- \"$cur\"))";
    case Complete::kChip: return "_spillway_words \"$(_spillway_list chips)\"";
    case Complete::kFormat: return "_spillway_words \"$(_spillway_list formats)\"";
    case Complete::kFormatList:
      return "local done=; [[ $cur == *,* ]] && done=${cur%,*},; cur=${cur##*,}\n"
             "      COMPREPLY=($(compgen -P \"$done\" -W \"$(_spillway_list formats)\" -- \"$cur\"))";
    case Complete::kCommand: return "_spillway_words \"$commands\"";
    default: return ":";
  }
}

std::string ValueCases(const std::vector<Option>& options, const std::string& command) {
  std::string cases;
  for (const Option& option : options) {
    if (option.value.empty()) continue;
    std::string pattern = fmt::format("{}:--{}", command, option.name);
    if (option.letter != 0) pattern += fmt::format("|{}:-{}", command, option.letter);
    cases +=
        fmt::format("    {})\n      {}\n      return ;;\n", pattern, Filler(option.complete, option.choices));
  }
  return cases;
}

}  // namespace

std::string BashCompletion(const std::vector<Command>& commands) {
  std::string names, options, values, positionals;
  for (const Command& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    options += fmt::format("    {}) options+=\"{}\" ;;\n", command.name, Words(command.options));
    values += ValueCases(command.options, command.name);
    if (!command.positionals.empty()) {
      const Positional& first = command.positionals.front();
      positionals +=
          fmt::format("    {})\n      {} ;;\n", command.name, Filler(first.complete, first.choices));
    }
  }
  return fmt::format(R"(# bash completion of spillway; made by: spillway completion bash
_spillway_words() {{ COMPREPLY=($(compgen -W "$1" -- "$cur")); }}
_spillway_list() {{ spillway list "$1" 2>/dev/null | cut -d ' ' -f 1; }}
_spillway() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= word
  local commands="{names}"
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    if [[ " $commands " == *" $word "* ]]; then command=$word; break; fi
  done
  case "$command:$prev" in
{values}{globals}  esac
  if [[ $cur == -* ]]; then
    local options="{shared}"
    case "$command" in
{options}    esac
    _spillway_words "$options"
    return
  fi
  case "$command" in
    "") _spillway_words "$commands" ;;
{positionals}  esac
}}
complete -o filenames -F _spillway spillway
)",
                     fmt::arg("names", names), fmt::arg("values", values),
                     fmt::arg("globals", ValueCases(GlobalOptions(), "*")),
                     fmt::arg("shared", Words(GlobalOptions()).substr(1)), fmt::arg("options", options),
                     fmt::arg("positionals", positionals));
}

}  // namespace spillway::cli
