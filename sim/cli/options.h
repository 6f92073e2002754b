// SPDX-License-Identifier: Apache-2.0
// Command line -> command and arguments. The only user of Boost.Program_options.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/command.h"

namespace spillway::cli {

/// Options that every command takes, before or after its name.
const std::vector<Option>& GlobalOptions();

struct ParsedLine {
  const Command* command = nullptr;  ///< Null: no command word was given.
  Arguments arguments;
};

/// Reads the words after the program's name. Abbreviated commands and options are refused. With
/// `--help` or `--version` present, missing or surplus positional arguments are no error.
/// Errors: every kind of misuse, with "did you mean" where a known word is near.
Result<ParsedLine> ParseLine(const std::vector<std::string>& words, const std::vector<Command>& commands);

/// Splits "a,b,c"; empty parts are dropped.
std::vector<std::string> SplitList(const std::string& text);

/// "unknown WHAT 'word'" with "did you mean" or the list of what is known.
Diagnostic UnknownWord(const std::string& what, const std::string& word,
                       const std::vector<std::string>& known);

}  // namespace spillway::cli
