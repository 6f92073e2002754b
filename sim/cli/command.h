// SPDX-License-Identifier: Apache-2.0
// What a command is: one list of option specs from which parsing, help, completion and the check of
// docs/cli.md are made. To add a command: write sim/cli/cmd_NAME.cc with a function that returns its
// Command, declare it in sim/cli/commands.h and add it to the table in sim/cli/commands.cc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/cli/exit_code.h"

namespace spillway::cli {

class Session;

/// What the shell may offer for a value.
enum class Complete { kNothing, kFile, kDirectory, kInput, kChip, kFormat, kFormatList, kCommand, kTopic };

struct Option {
  std::string name;     ///< Long name without dashes.
  char letter = 0;      ///< Short name; 0: none. Only the customary ones.
  std::string value;    ///< Placeholder, "FILE"; empty: a flag.
  std::string help;     ///< One sentence, lower case, no full stop.
  bool repeat = false;  ///< May be given several times.
  Complete complete = Complete::kNothing;
  std::vector<std::string> choices = {};  ///< The only values taken; empty: anything.
  bool in_usage = false;                  ///< Shown in the usage line: hardly ever left out.
  bool open = false;                      ///< Other values than `choices` are taken too.
};

struct Positional {
  std::string name;  ///< "INPUT"
  std::string help;
  int min = 1;
  int max = 1;  ///< -1: any number.
  Complete complete = Complete::kNothing;
  std::vector<std::string> choices = {};
};

struct Example {
  std::string line;  ///< What to type.
  std::string meaning;
};

/// The parsed command line of one command.
class Arguments {
 public:
  bool Has(const std::string& option) const { return values_.count(option) > 0; }
  /// The value of an option, the last if repeated; `otherwise` if absent.
  std::string Get(const std::string& option, std::string otherwise = "") const;
  /// All values in the order given.
  std::vector<std::string> All(const std::string& option) const;
  const std::vector<std::string>& positionals() const { return positionals_; }

  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positionals_;
  int verbose = 0;  ///< Number of -v.
};

struct Command {
  std::string name;
  std::string summary;  ///< One line for the list of commands.
  std::vector<Positional> positionals;
  std::vector<Option> options;
  std::vector<std::string> notes;  ///< Paragraphs below the options in the help.
  std::vector<Example> examples;
  ExitCode (*run)(Session& session, const Arguments& arguments) = nullptr;
};

}  // namespace spillway::cli
