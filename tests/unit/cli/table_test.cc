// SPDX-License-Identifier: Apache-2.0
// The command table against itself and against docs/cli.md.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "sim/cli/commands.h"
#include "sim/cli/help.h"
#include "sim/cli/options.h"

namespace spillway::cli {
namespace {

std::string Documentation() {
  std::ifstream file(SPILLWAY_SOURCE_DIR "/docs/cli.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The text from the heading to the next one of the same level; empty if there is no such heading.
std::string Section(const std::string& text, const std::string& heading) {
  const std::size_t at = text.find("\n## " + heading + "\n");
  if (at == std::string::npos) return "";
  return text.substr(at + 1, text.find("\n## ", at + 1) - at - 1);
}

TEST_CASE("an option name takes a value in all commands or in none, and has one short name") {
  std::map<std::string, std::pair<bool, char>> seen;
  const auto note = [&](const Option& option) {
    CAPTURE(option.name);
    const std::pair<bool, char> form = {option.value.empty(), option.letter};
    CHECK(seen.emplace(option.name, form).first->second == form);
  };
  for (const Option& option : GlobalOptions()) note(option);
  for (const Command& command : Commands()) {
    std::set<std::string> names;
    for (const Option& option : command.options) {
      note(option);
      CHECK(names.insert(option.name).second);
      for (const Option& global : GlobalOptions()) CHECK(option.name != global.name);
    }
  }
}

TEST_CASE("every command says what it does, has an example and can run") {
  for (const Command& command : Commands()) {
    CAPTURE(command.name);
    CHECK_FALSE(command.summary.empty());
    CHECK(command.summary.size() <= 76);
    CHECK(command.run != nullptr);
    REQUIRE_FALSE(command.examples.empty());
    for (const Option& option : command.options) CHECK_FALSE(option.help.empty());
    for (const Positional& positional : command.positionals) CHECK_FALSE(positional.help.empty());
  }
}

TEST_CASE("help fits a terminal of 100 columns and names every option") {
  for (const Command& command : Commands()) {
    std::istringstream lines(CommandHelp(command));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 100);
    }
    for (const Option& option : command.options) {
      CHECK_THAT(CommandHelp(command), Catch::Matchers::Contains("  " + OptionTerm(option)));
    }
  }
}

TEST_CASE("docs/cli.md documents every command and option, and nothing else") {
  const std::string docs = Documentation();
  const std::string shared = Section(docs, "Options of every command");
  for (const Option& option : GlobalOptions()) {
    CAPTURE(option.name);
    CHECK(shared.find("`" + OptionTerm(option) + "`") != std::string::npos);
  }
  for (const Command& command : Commands()) {
    const std::string section = Section(docs, "spillway " + command.name);
    CAPTURE(command.name);
    REQUIRE_FALSE(section.empty());
    std::set<std::string> known = {"help", "version"};
    for (const Option& option : GlobalOptions()) known.insert(option.name);
    for (const Option& option : command.options) {
      known.insert(option.name);
      CAPTURE(option.name);
      CHECK(section.find("`" + OptionTerm(option) + "`") != std::string::npos);
    }
    const std::regex word("--([a-z][a-z-]*)(?![a-z_-])");
    for (std::sregex_iterator it(section.begin(), section.end(), word), end; it != end; ++it) {
      CAPTURE(it->str());
      CHECK(known.count((*it)[1]) == 1);
    }
  }
  const std::regex heading("\n## spillway ([a-z]+)\n");
  for (std::sregex_iterator it(docs.begin(), docs.end(), heading), end; it != end; ++it) {
    bool found = false;
    for (const Command& command : Commands()) found = found || command.name == (*it)[1];
    CAPTURE(it->str());
    CHECK(found);
  }
}

TEST_CASE("examples are command lines that parse") {
  for (const Command& command : Commands()) {
    for (const Example& example : command.examples) {
      CAPTURE(example.line);
      std::istringstream text(example.line);
      std::vector<std::string> words;
      for (std::string word; text >> word && word != "&&" && word != "|" && word != "<(spillway";)
        words.push_back(word);
      REQUIRE_FALSE(words.empty());
      if (words.front() != "spillway") continue;  // shell around it
      words.erase(words.begin());
      const Result<ParsedLine> line = ParseLine(words, Commands());
      CHECK(line.ok());
    }
  }
}

TEST_CASE("bash completion knows every command and option") {
  const std::string script = BashCompletion(Commands());
  for (const Command& command : Commands()) {
    CHECK(script.find(" " + command.name) != std::string::npos);
    for (const Option& option : command.options) CHECK(script.find(" --" + option.name) != std::string::npos);
  }
}

}  // namespace
}  // namespace spillway::cli
