// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/cli/help.h"
#include "sim/cli/options.h"

namespace spillway::cli {
namespace {

/// A word in single quotes.
std::string Quote(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// For a part of a spec of _arguments: `special` characters end the part unless a backslash stands before them.
std::string Escape(const std::string& text, const std::string& special) {
  std::string escaped;
  for (char c : text) {
    if (c == '\\' || special.find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string Action(Complete complete, const std::vector<std::string>& choices, bool open) {
  if (!choices.empty() && !open) return fmt::format("({})", fmt::join(choices, " "));
  if (!choices.empty()) return fmt::format("_spillway_or_files {}", fmt::join(choices, ","));
  switch (complete) {
    case Complete::kFile: return "_files";
    case Complete::kDirectory: return "_files -/";
    case Complete::kInput: return "_spillway_inputs";
    case Complete::kChip: return "_spillway_list chips";
    case Complete::kFormat: return "_spillway_list formats";
    case Complete::kFormatList: return "_sequence -s , _spillway_list - formats";
    case Complete::kCommand: return "_spillway_commands";
    default: return " ";
  }
}

/// One line for each name of each option.
std::string Specs(const std::vector<Option>& options, const std::string& indent) {
  std::string specs;
  for (const Option& option : options) {
    const std::string both = option.letter != 0 ? fmt::format("-{} --{}", option.letter, option.name) : "--" + option.name;
    const std::string before = option.repeat || option.name == "verbose" ? "*" : fmt::format("({})", both);
    std::string after = fmt::format("[{}]", Escape(option.help, "[]"));
    if (!option.value.empty()) after += fmt::format(":{}:{}", Escape(option.value, ":"), Action(option.complete, option.choices, option.open));
    const bool value = !option.value.empty();
    specs += fmt::format("{}{}\n", indent, Quote(fmt::format("{}--{}{}{}", before, option.name, value ? "=" : "", after)));
    if (option.letter != 0) specs += fmt::format("{}{}\n", indent, Quote(fmt::format("{}-{}{}{}", before, option.letter, value ? "+" : "", after)));
  }
  return specs;
}

std::string PositionalSpecs(const std::vector<Positional>& positionals, const std::string& indent) {
  std::string specs;
  for (const Positional& positional : positionals) {
    const std::string tail = fmt::format("{}:{}", Escape(positional.name, ":"), Action(positional.complete, positional.choices, false));
    if (positional.max < 0) {
      specs += indent + Quote("*:" + tail) + "\n";
      continue;
    }
    for (int i = 0; i < positional.max; ++i) specs += indent + Quote((i < positional.min ? ":" : "::") + tail) + "\n";
  }
  return specs;
}

}  // namespace

std::string ZshCompletion(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const Command& command : commands) {
    names += fmt::format("    {}\n", Quote(fmt::format("{}:{}", command.name, command.summary)));
    cases += fmt::format("    {})\n      options+=(\n{}{}      )\n      ;;\n", command.name, Specs(command.options, "        "),
                         PositionalSpecs(command.positionals, "        "));
  }
  return fmt::format(R"zsh(#compdef spillway
# zsh completion of spillway; made by: spillway completion zsh
_spillway_list() {{
  local topic=${{@[-1]}}
  local -a found
  found=(${{(f)"$(spillway list $topic 2>/dev/null | cut -d ' ' -f 1)"}})
  compadd "${{@[1,-2]}}" -a found
}}
_spillway_or_files() {{
  local -a words
  words=(${{(s:,:)@[-1]}})
  compadd "${{@[1,-2]}}" -a words
  _files
}}
_spillway_inputs() {{ _alternative 'workloads:workload:_spillway_list workloads' 'files:file:_files' }}
_spillway_commands() {{
  local -a commands
  commands=(
{names}  )
  _describe command commands
}}
_spillway() {{
  local context state state_descr line
  typeset -A opt_args
  local -a options
  options=(
{globals}  )
  _arguments -C $options ': :_spillway_commands' '*:: :->arguments' && return
  [[ $state == arguments ]] || return
  case $words[1] in
{cases}    *) return 1 ;;
  esac
  _arguments $options
}}
if [[ $funcstack[1] == _spillway ]]; then _spillway "$@"; else compdef _spillway spillway; fi
)zsh",
                     fmt::arg("names", names), fmt::arg("globals", Specs(GlobalOptions(), "    ")), fmt::arg("cases", cases));
}

}  // namespace spillway::cli
