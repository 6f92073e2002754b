// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <optional>

#include "sim/base/file.h"

namespace spillway::cli {
namespace {

namespace po = boost::program_options;

// What the program understands of one word, found before Boost sees it: Boost's two-phase parsing
// loses `--` and cannot count -v.
struct Scan {
  std::vector<std::string> rest;  // for Boost: without the command word and without -v
  std::optional<std::string> command;
  int verbose = 0;
};

const Option* FindByName(const std::vector<Option>& options, std::string_view name) {
  const auto it =
      std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
  return it == options.end() ? nullptr : &*it;
}

const Option* FindByLetter(const std::vector<Option>& options, char letter) {
  const auto it =
      std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.letter == letter; });
  return it == options.end() ? nullptr : &*it;
}

/// Global options and those of all commands. An option of one name takes a value in all commands or
/// in none (a unit test holds the table to that), so words can be told apart before the command is known.
std::vector<Option> Union(const std::vector<Command>& commands) {
  std::vector<Option> all = GlobalOptions();
  for (const Command& command : commands) {
    all.insert(all.end(), command.options.begin(), command.options.end());
  }
  return all;
}

/// Whether `word` is an option whose value is the next word.
bool TakesNextWord(const std::vector<Option>& options, const std::string& word) {
  if (word.rfind("--", 0) == 0) {
    if (word.find('=') != std::string::npos) return false;
    const Option* option = FindByName(options, std::string_view(word).substr(2));
    return option != nullptr && !option->value.empty();
  }
  const Option* option = word.size() == 2 ? FindByLetter(options, word[1]) : nullptr;
  return option != nullptr && !option->value.empty();
}

/// `-qvv` -> true: a cluster of short flags.
bool IsFlagCluster(const std::vector<Option>& options, const std::string& word) {
  if (word.size() < 2 || word[0] != '-' || word[1] == '-') return false;
  return std::all_of(word.begin() + 1, word.end(), [&](char c) {
    const Option* option = FindByLetter(options, c);
    return option != nullptr && option->value.empty();
  });
}

Scan ScanWords(const std::vector<std::string>& words, const std::vector<Command>& commands) {
  const std::vector<Option> options = Union(commands);
  Scan scan;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {  // the rest is positional, whatever it looks like
      scan.rest.insert(scan.rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (word == "--verbose") {
      ++scan.verbose;
    } else if (IsFlagCluster(options, word)) {
      for (const char c : word.substr(1)) {
        if (c == 'v') {
          ++scan.verbose;
        } else {
          scan.rest.push_back({'-', c});
        }
      }
    } else if (word.size() > 1 && word[0] == '-') {
      scan.rest.push_back(word);
      if (TakesNextWord(options, word) && i + 1 < words.size()) scan.rest.push_back(words[++i]);
    } else if (!scan.command) {
      scan.command = word;
    } else {
      scan.rest.push_back(word);
    }
  }
  return scan;
}

po::options_description Describe(const std::vector<Option>& options) {
  po::options_description description;
  for (const Option& option : options) {
    std::string names = option.name;
    if (option.letter != 0) names += fmt::format(",{}", option.letter);
    if (option.value.empty()) {
      description.add_options()(names.c_str(), "");
    } else {
      description.add_options()(names.c_str(), po::value<std::vector<std::string>>()->composing(), "");
    }
  }
  return description;
}

Diagnostic UnknownOption(const std::string& name, const Command* command, const std::vector<Option>& options,
                         const std::vector<Command>& commands) {
  const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  std::vector<std::string> known;
  for (const Option& option : options) known.push_back(option.name);
  Diagnostic error = Error(fmt::format("unknown option '{}'", name));
  if (const std::string near = Nearest(bare, known); !near.empty()) {
    error.hint = fmt::format("did you mean '--{}'?", near);
    return error;
  }
  for (const Command& other : commands) {
    if (FindByName(other.options, bare) != nullptr) {
      error.hint = fmt::format("'--{}' is an option of '{}'", bare, other.name);
      return error;
    }
  }
  error.hint = command == nullptr ? "'spillway help' lists the options"
                                  : fmt::format("'spillway help {}' lists the options", command->name);
  return error;
}

Diagnostic Reword(const po::invalid_command_line_syntax& e, const std::vector<Option>& options) {
  std::string name = e.get_option_name();
  const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  const Option* option = FindByName(options, bare);
  using Syntax = po::invalid_command_line_syntax;
  switch (e.kind()) {
    case Syntax::missing_parameter:
    case Syntax::empty_adjacent_parameter:
      return Error(fmt::format("option '{}' needs a value", name),
                   option == nullptr ? "" : fmt::format("write {} {}", name, option->value));
    case Syntax::extra_parameter: return Error(fmt::format("option '{}' takes no value", name));
    default: return Error(fmt::format("cannot understand option '{}'", name));
  }
}

Diagnostics CheckValues(const std::vector<Option>& options, const Arguments& arguments) {
  Diagnostics errors;
  for (const Option& option : options) {
    const std::vector<std::string> values = arguments.All(option.name);
    if (!option.value.empty() && !option.repeat && values.size() > 1) {
      errors.push_back(Error(fmt::format("option '--{}' is given {} times", option.name, values.size()),
                             "it takes one value"));
    }
    for (const std::string& value : values) {
      if (!option.value.empty() && value.empty()) {
        errors.push_back(Error(fmt::format("option '--{}' needs a value", option.name)));
      } else if (!option.choices.empty() && !option.open &&
                 std::find(option.choices.begin(), option.choices.end(), value) == option.choices.end()) {
        errors.push_back(UnknownWord(fmt::format("value of '--{}':", option.name), value, option.choices));
      }
    }
  }
  return errors;
}

Diagnostics CheckPositionals(const Command& command, const Arguments& arguments) {
  const std::string hint = fmt::format("'spillway help {}' shows how it is used", command.name);
  int most = 0;
  std::size_t at = 0;
  const std::vector<std::string>& given = arguments.positionals();
  for (const Positional& positional : command.positionals) {
    most = positional.max < 0 || most < 0 ? -1 : most + positional.max;
    if (at + static_cast<std::size_t>(positional.min) > given.size()) {
      std::string what = positional.choices.empty() ? hint
                                                    : fmt::format("{} is one of {}", positional.name,
                                                                  fmt::join(positional.choices, ", "));
      return {Error(fmt::format("'{}' needs {}", command.name, positional.name), what)};
    }
    const std::size_t end = positional.max < 0
                                ? given.size()
                                : std::min(given.size(), at + static_cast<std::size_t>(positional.max));
    for (; at < end; ++at) {
      const auto& choices = positional.choices;
      if (!choices.empty() && std::find(choices.begin(), choices.end(), given[at]) == choices.end()) {
        return {UnknownWord(positional.name, given[at], choices)};
      }
    }
  }
  if (most >= 0 && given.size() > static_cast<std::size_t>(most)) {
    return {
        Error(fmt::format("'{}' takes no argument '{}'", command.name, given[static_cast<std::size_t>(most)]),
              hint)};
  }
  return {};
}

}  // namespace

std::string Arguments::Get(const std::string& option, std::string otherwise) const {
  const auto it = values_.find(option);
  return it == values_.end() || it->second.empty() ? otherwise : it->second.back();
}

std::vector<std::string> Arguments::All(const std::string& option) const {
  const auto it = values_.find(option);
  return it == values_.end() ? std::vector<std::string>{} : it->second;
}

const std::vector<Option>& GlobalOptions() {
  static const std::vector<Option> options = {
      {"help", 'h', "", "explain the command"},
      {"version", 0, "", "print the version"},
      {"quiet", 'q', "", "print results and errors only, no warnings and no progress"},
      {"verbose", 'v', "", "say what is being done; -vv says more"},
      {"color",
       0,
       "WHEN",
       "colour messages: auto (on a terminal), always or never",
       false,
       Complete::kNothing,
       {"auto", "always", "never"}},
      {"no-color", 0, "", "same as --color never"},
      {"progress",
       0,
       "WHEN",
       "progress line of long runs: auto (on a terminal) or never",
       false,
       Complete::kNothing,
       {"auto", "never"}},
      {"log-file", 0, "FILE", "also write every message to FILE", false, Complete::kFile},
  };
  return options;
}

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Diagnostic UnknownWord(const std::string& what, const std::string& word,
                       const std::vector<std::string>& known) {
  Diagnostic error = Error(fmt::format("unknown {} '{}'", what, word));
  const std::string near = Nearest(word, known);
  error.hint = near.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                            : fmt::format("did you mean '{}'?", near);
  return error;
}

Result<ParsedLine> ParseLine(const std::vector<std::string>& words, const std::vector<Command>& commands) {
  Scan scan = ScanWords(words, commands);
  ParsedLine line;
  if (scan.command) {
    std::vector<std::string> names;
    for (const Command& command : commands) {
      names.push_back(command.name);
      if (command.name == *scan.command) line.command = &command;
    }
    if (line.command == nullptr) return UnknownWord("command", *scan.command, names);
  }
  std::vector<Option> options = GlobalOptions();
  if (line.command != nullptr) {
    options.insert(options.end(), line.command->options.begin(), line.command->options.end());
  }
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const po::options_description description = Describe(options);
    const po::parsed_options parsed =
        po::command_line_parser(scan.rest).options(description).style(style).run();
    for (const po::option& option : parsed.options) {
      if (option.string_key.empty()) {
        line.arguments.positionals_.insert(line.arguments.positionals_.end(), option.value.begin(),
                                           option.value.end());
      } else {
        std::vector<std::string>& values = line.arguments.values_[option.string_key];
        values.insert(values.end(), option.value.begin(), option.value.end());
      }
    }
  } catch (const po::unknown_option& e) {
    return UnknownOption(e.get_option_name(), line.command, options, commands);
  } catch (const po::invalid_command_line_syntax& e) {
    return Reword(e, options);
  } catch (const po::error& e) {
    return Error(e.what());
  }
  line.arguments.verbose = scan.verbose;
  Diagnostics errors = CheckValues(options, line.arguments);
  if (line.command != nullptr && !line.arguments.Has("help") && !line.arguments.Has("version")) {
    const Diagnostics more = CheckPositionals(*line.command, line.arguments);
    errors.insert(errors.end(), more.begin(), more.end());
  }
  if (!errors.empty()) return errors;
  return line;
}

}  // namespace spillway::cli
