// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cli/options.h"

namespace spillway::cli {
namespace {

constexpr std::size_t kWidth = 96;

constexpr const char* kWhatItIs =
    "Spillway replays the program that XLA compiled for a TPU and shows where its memory time goes.\n";

/// Words of `text` in lines of `width`, every line after the first indented.
std::string Wrap(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t length = end - begin;
    if (column > indent && column + 1 + length > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(begin, length);
    column += length;
    begin = end + 1;
  }
  return out;
}

struct Row {
  std::string term, text;
};

/// Two columns; a long term has a line of its own.
std::string Table(const std::vector<Row>& rows) {
  constexpr std::size_t kMaxTerm = 26;
  std::size_t term = 0;
  for (const Row& row : rows) {
    if (row.term.size() <= kMaxTerm) term = std::max(term, row.term.size());
  }
  std::string out;
  for (const Row& row : rows) {
    out += "  " + row.term;
    if (row.term.size() > term) {
      out += "\n" + std::string(term + 4, ' ');
    } else {
      out += std::string(term + 2 - row.term.size(), ' ');
    }
    out += Wrap(row.text, term + 4, kWidth) + "\n";
  }
  return out;
}

std::vector<Row> OptionRows(const std::vector<Option>& options) {
  std::vector<Row> rows;
  for (const Option& option : options) {
    std::string text = option.help;
    if (option.repeat) text += " (repeatable)";
    rows.push_back({OptionTerm(option), text});
  }
  return rows;
}

std::string Examples(const std::vector<Example>& examples) {
  std::string out = "\nexamples:\n";
  for (const Example& example : examples) {
    out += fmt::format("  # {}\n  {}\n", example.meaning, example.line);
  }
  return out;
}

std::string ExitCodes() {
  return "Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 bad input, 4 internal error, 5 a limit was\n"
         "reached, 130 interrupted.\n";
}

}  // namespace

std::string OptionTerm(const Option& option) {
  std::string term = option.letter == 0 ? "" : fmt::format("-{}, ", option.letter);
  term += "--" + option.name;
  if (!option.value.empty()) term += " " + option.value;
  return term;
}

std::string UsageLine(const Command& command) {
  std::string line = command.name;
  for (const Positional& positional : command.positionals) {
    const std::string name = positional.max == 1 ? positional.name : positional.name + "...";
    line += positional.min == 0 ? fmt::format(" [{}]", name) : " " + name;
  }
  for (const Option& option : command.options) {
    if (option.in_usage) line += fmt::format(" --{} {}", option.name, option.value);
  }
  return line + (command.options.empty() ? "" : " [OPTIONS]");
}

std::string ShortHelp() {
  return std::string(kWhatItIs) +
         "\nusage: spillway COMMAND [ARGUMENTS] [OPTIONS]\n\n"
         "try:\n"
         "  spillway list workloads              what there is to run\n"
         "  spillway run attention --chip v6e    where its time goes\n\n"
         "'spillway help' lists all commands.\n";
}

std::string GeneralHelp(const std::vector<Command>& commands) {
  std::string out = std::string(kWhatItIs) + "\nusage: spillway COMMAND [ARGUMENTS] [OPTIONS]\n\ncommands:\n";
  std::vector<Row> rows;
  for (const Command& command : commands) rows.push_back({command.name, command.summary});
  out += Table(rows);
  out += "\noptions of every command, before or after its name:\n" + Table(OptionRows(GlobalOptions()));
  out += Examples(
      {{"spillway run attention --chip v6e", "replay a bundled workload"},
       {"spillway run DUMP --chip v6e -o out", "replay your own --xla_dump_to directory, keep the timeline"},
       {"spillway report out", "look at it in a browser"}});
  out += "\nResults go to standard output, messages to standard error.\n" + ExitCodes();
  out += "\n'spillway help COMMAND' explains one command.\n";
  return out;
}

std::string CommandHelp(const Command& command) {
  std::string out = fmt::format("spillway {}: {}\n\nusage: spillway {}\n", command.name, command.summary,
                                UsageLine(command));
  std::vector<Row> rows;
  for (const Positional& positional : command.positionals) rows.push_back({positional.name, positional.help});
  if (!rows.empty()) out += "\narguments:\n" + Table(rows);
  if (!command.options.empty()) out += "\noptions:\n" + Table(OptionRows(command.options));
  for (const std::string& note : command.notes) out += "\n" + Wrap(note, 0, kWidth) + "\n";
  if (!command.examples.empty()) out += Examples(command.examples);
  out += "\nOptions of every command (-q, -v, --color, ...) are in 'spillway help'.\n";
  return out;
}

}  // namespace spillway::cli
