// SPDX-License-Identifier: Apache-2.0
#include "sim/config/workload_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>

#include "sim/base/file.h"
#include "sim/config/map_reader.h"

namespace spillway::config {
namespace {

namespace fs = std::filesystem;

constexpr char kSchema[] = "spillway.workload/1";

template <class T>
bool Contains(const std::vector<T>& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

template <class T>
const T* FindNamed(const std::vector<T>& list, const std::string& name) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const T& item) { return item.name == name; });
  return it == list.end() ? nullptr : &*it;
}

template <class T>
std::vector<std::string> NamesOf(const std::vector<T>& list) {
  std::vector<std::string> names;
  for (const T& item : list) names.push_back(item.name);
  return names;
}

std::string Suggest(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  return nearest.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                         : fmt::format("did you mean '{}'?", nearest);
}

/// "x.{chip}.S{S}" with every placeholder replaced by what `value` says; an empty answer leaves it.
std::string Fill(const std::string& pattern, const std::function<std::string(const std::string&)>& value) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t close = pattern[at] == '{' ? pattern.find('}', at) : std::string::npos;
    if (close == std::string::npos) {
      out += pattern[at++];
      continue;
    }
    const std::string filled = value(pattern.substr(at + 1, close - at - 1));
    out += filled.empty() ? pattern.substr(at, close + 1 - at) : filled;
    at = close + 1;
  }
  return out;
}

/// Reads the file into a WorkloadConfig; complaints go to `errors`.
class Reader {
 public:
  Reader(WorkloadConfig& workload, Diagnostics& errors) : workload_(workload), errors_(errors) {}

  void Read(const YamlNode& tree) {
    MapReader map(tree, "the workload", errors_);
    if (const YamlNode* schema = map.Get("schema", true); schema != nullptr && schema->text != kSchema) {
      errors_.push_back(ErrorAtNode(
          schema->at, fmt::format("'schema' must be {}, not {}", kSchema, DescribeKind(*schema))));
    }
    workload_.name = map.Text("name", true);
    CheckName(tree);
    workload_.description = map.Text("description", true);
    map.EachMember("symbols", false,
                   [&](const YamlNode& name, const YamlNode& value) { Symbol(name, value); });
    workload_.chips = map.Texts("chips", true);
    if (const YamlNode* hlo = map.Get("hlo", false)) {
      map.Get("bind", false);
      map.Get("dimensions", false);
      SingleVariant(tree, *hlo, map.Text("hlo", false));
    }
    map.EachMember("variants", tree.Find("hlo") == nullptr,
                   [&](const YamlNode& name, const YamlNode& value) { Variant(name, value); });
    if (!workload_.chips.empty()) workload_.default_chip = workload_.chips.front();
    if (!workload_.variants.empty()) workload_.default_variant = workload_.variants.front().name;
    if (const YamlNode* defaults = map.Get("default", false)) Defaults(*defaults);
    map.Each("dumps", false, [&](const YamlNode& item) { Dump(item); });
    map.Each("expect", false, [&](const YamlNode& item) { Expectation(item); });
    if (const YamlNode* capture = map.Get("capture", false)) Capture(*capture);
    map.Finish();
  }

 private:
  /// The name is what people type: no space, no path.
  void CheckName(const YamlNode& tree) {
    const bool good = std::all_of(workload_.name.begin(), workload_.name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-';
    });
    if (!good)
      errors_.push_back(ErrorAtNode(tree.Find("name")->at, "a name has letters, digits, _ and - only"));
  }

  void SingleVariant(const YamlNode& tree, const YamlNode& hlo, const std::string& pattern) {
    if (tree.Find("variants") != nullptr) {
      errors_.push_back(
          ErrorAtNode(hlo.at, "the workload has both 'hlo' and 'variants'", "move it into a variant"));
    }
    WorkloadVariant variant;
    variant.name = "default";
    variant.hlo = pattern;
    MapReader map(tree, "the workload", errors_);
    Binding(map, variant);
    CheckPattern(hlo, variant);
    workload_.variants.push_back(std::move(variant));
  }

  /// `bind: {S: 8192}` and `dimensions: {q: [0]}`.
  void Binding(MapReader& map, WorkloadVariant& variant) {
    map.EachMember("bind", false, [&](const YamlNode& key, const YamlNode& value) {
      std::int64_t number = 0;
      if (FindNamed(workload_.symbols, key.text) == nullptr)
        return Unknown(key, "symbol", NamesOf(workload_.symbols));
      if (!ReadInteger(value, fmt::format("'{}'", key.text), number, errors_)) return;
      if (number < 2) errors_.push_back(ErrorAtNode(value.at, "a dump is bound at a value of 2 or more"));
      variant.bind[key.text] = number;
    });
    map.EachMember("dimensions", false, [&](const YamlNode& key, const YamlNode& list) {
      if (list.kind != YamlNode::Kind::kList) {
        errors_.push_back(
            ErrorAtNode(list.at, fmt::format("'{}' must be a list, not {}", key.text, DescribeKind(list)),
                        "for example 'dimensions: {q: [0]}'"));
      }
      for (const YamlNode& item : list.children) {
        std::int64_t number = 0;
        if (!ReadInteger(item, fmt::format("a dimension of '{}'", key.text), number, errors_)) continue;
        if (number < 0 || number > 63) {
          errors_.push_back(ErrorAtNode(item.at, "dimensions count from 0 to 63"));
          continue;
        }
        variant.dimensions[key.text].push_back(static_cast<int>(number));
      }
    });
    const YamlNode* dimensions = map.node().Find("dimensions");
    if (dimensions != nullptr && map.node().Find("bind") == nullptr)
      errors_.push_back(ErrorAtNode(dimensions->at, "'dimensions' needs 'bind'"));
  }

  void Symbol(const YamlNode& name, const YamlNode& value) {
    WorkloadSymbol symbol;
    symbol.name = name.text;
    MapReader map(value, fmt::format("symbol '{}'", name.text), errors_);
    symbol.description = map.Text("description", false);
    symbol.values = map.Integers("values", true);
    symbol.default_value = map.Integer("default", true);
    map.Finish();
    const YamlNode* given = value.Find("default");
    if (given != nullptr && !symbol.values.empty() && !Contains(symbol.values, symbol.default_value)) {
      errors_.push_back(
          ErrorAtNode(given->at, fmt::format("the default of '{}' is none of its values", name.text)));
    }
    workload_.symbols.push_back(std::move(symbol));
  }

  void Variant(const YamlNode& name, const YamlNode& value) {
    WorkloadVariant variant;
    variant.name = name.text;
    MapReader map(value, fmt::format("variant '{}'", name.text), errors_);
    variant.compiler = map.Text("compiler", false);
    variant.hlo = map.Text("hlo", true);
    map.EachMember("symbols", false, [&](const YamlNode& key, const YamlNode& list) {
      const WorkloadSymbol* symbol = FindNamed(workload_.symbols, key.text);
      if (symbol == nullptr) return Unknown(key, "symbol", NamesOf(workload_.symbols));
      std::vector<std::int64_t>& values = variant.symbols[key.text];
      if (list.kind != YamlNode::Kind::kList) {
        errors_.push_back(
            ErrorAtNode(list.at, fmt::format("'{}' must be a list, not {}", key.text, DescribeKind(list))));
      }
      for (const YamlNode& item : list.children) {
        std::int64_t number = 0;
        if (!ReadInteger(item, fmt::format("a value of '{}'", key.text), number, errors_)) continue;
        values.push_back(number);
        if (!Contains(symbol->values, number)) {
          errors_.push_back(
              ErrorAtNode(item.at, fmt::format("{} is no value of symbol '{}'", number, key.text)));
        }
      }
    });
    Binding(map, variant);
    map.Finish();
    if (const YamlNode* hlo = value.Find("hlo")) CheckPattern(*hlo, variant);
    workload_.variants.push_back(std::move(variant));
  }

  void CheckPattern(const YamlNode& hlo, const WorkloadVariant& variant) {
    std::vector<std::string> known = NamesOf(workload_.symbols);
    known.push_back("chip");
    Fill(hlo.text, [&](const std::string& name) {
      if (!Contains(known, name)) {
        errors_.push_back(
            ErrorAtNode(hlo.at, fmt::format("'{{{}}}' names no symbol", name), Suggest(name, known)));
      }
      if (variant.bind.count(name) > 0) {
        errors_.push_back(ErrorAtNode(
            hlo.at, fmt::format("'{{{0}}}' asks for a dump of each {0}, 'bind' for one dump that is rewritten", name)));
      }
      return std::string();
    });
  }

  void Defaults(const YamlNode& value) {
    MapReader map(value, "'default'", errors_);
    const std::string chip = ChipName(map, false);
    const std::string variant = VariantName(map, false);
    if (!chip.empty()) workload_.default_chip = chip;
    if (!variant.empty()) workload_.default_variant = variant;
    map.Finish();
  }

  void Dump(const YamlNode& item) {
    WorkloadDump dump;
    MapReader map(item, "a dump", errors_);
    dump.variant = VariantName(map, true);
    dump.chip = ChipName(map, true);
    dump.path = map.Text("path", true);
    dump.symbols = Values(map);
    map.Finish();
    workload_.dumps.push_back(std::move(dump));
  }

  void Expectation(const YamlNode& item) {
    WorkloadExpectation expectation;
    MapReader map(item, "an expectation", errors_);
    expectation.chip = ChipName(map, true);
    expectation.variant = VariantName(map, false);
    expectation.symbols = Values(map);
    expectation.measured_us = map.Number("measured_us", true);
    expectation.timer = map.Text("timer", true);
    const std::vector<std::string> timers = {"device", "wall", "unclear"};
    if (!expectation.timer.empty() && !Contains(timers, expectation.timer))
      Unknown(*item.Find("timer"), "timer", timers);
    expectation.source = map.Text("source", true);
    expectation.note = map.Text("note", false);
    map.Finish();
    workload_.expect.push_back(std::move(expectation));
  }

  /// What workloads/build.py compiles; the simulator does not use it, so only its form is checked.
  void Capture(const YamlNode& value) {
    MapReader map(value, "'capture'", errors_);
    map.Text("function", true);
    map.Texts("args", true);
    map.EachMember("statics", false, [](const YamlNode&, const YamlNode&) {});
    map.EachMember("compiler_options", false, [](const YamlNode&, const YamlNode&) {});
    map.Finish();
  }

  std::string ChipName(MapReader& map, bool required) {
    const std::string chip = map.Text("chip", required);
    if (!chip.empty() && !Contains(workload_.chips, chip))
      Unknown(*map.node().Find("chip"), "chip", workload_.chips);
    return chip;
  }

  std::string VariantName(MapReader& map, bool required) {
    const std::string variant = map.Text("variant", required);
    if (!variant.empty() && FindNamed(workload_.variants, variant) == nullptr) {
      Unknown(*map.node().Find("variant"), "variant", NamesOf(workload_.variants));
    }
    return variant;
  }

  SymbolValues Values(MapReader& map) {
    SymbolValues values;
    map.EachMember("symbols", !workload_.symbols.empty(), [&](const YamlNode& key, const YamlNode& value) {
      std::int64_t number = 0;
      if (FindNamed(workload_.symbols, key.text) == nullptr)
        return Unknown(key, "symbol", NamesOf(workload_.symbols));
      if (ReadInteger(value, fmt::format("'{}'", key.text), number, errors_)) values[key.text] = number;
    });
    return values;
  }

  void Unknown(const YamlNode& node, const std::string& what, const std::vector<std::string>& known) {
    errors_.push_back(
        ErrorAtNode(node.at, fmt::format("unknown {} '{}'", what, node.text), Suggest(node.text, known)));
  }

  WorkloadConfig& workload_;
  Diagnostics& errors_;
};

const std::vector<std::int64_t>& ValuesOf(const WorkloadVariant& variant, const WorkloadSymbol& symbol) {
  const auto it = variant.symbols.find(symbol.name);
  return it == variant.symbols.end() ? symbol.values : it->second;
}

WorkloadPoint MakePoint(const WorkloadConfig& workload, const std::string& chip,
                        const WorkloadVariant& variant, SymbolValues symbols) {
  WorkloadPoint point;
  point.chip = chip;
  point.variant = variant.name;
  point.symbols = std::move(symbols);
  point.compiled = variant.bind;
  point.dimensions = variant.dimensions;
  const fs::path beside = fs::path(workload.file).parent_path();
  point.hlo = (beside / Fill(variant.hlo, [&](const std::string& name) {
                 if (name == "chip") return chip;
                 const auto it = point.symbols.find(name);
                 return it == point.symbols.end() ? std::string() : std::to_string(it->second);
               })).string();
  for (const WorkloadDump& dump : workload.dumps) {
    if (dump.chip == chip && dump.variant == variant.name && dump.symbols == point.symbols) {
      point.dump = (beside / dump.path).string();
    }
  }
  return point;
}

/// "S=8192" into `symbols`.
std::optional<Diagnostic> Bind(const WorkloadConfig& workload, const std::string& bind,
                               SymbolValues& symbols) {
  const std::size_t equals = bind.find('=');
  const std::string name = bind.substr(0, equals);
  const std::string text = equals == std::string::npos ? "" : bind.substr(equals + 1);
  std::int64_t number = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || code != std::errc() || stop != text.data() + text.size()) {
    return Error(fmt::format("'{}' is not of the form SYMBOL=INTEGER", bind), "for example S=8192");
  }
  if (FindNamed(workload.symbols, name) == nullptr) {
    const std::vector<std::string> known = NamesOf(workload.symbols);
    return Error(fmt::format("workload '{}' has no symbol '{}'", workload.name, name),
                 known.empty() ? "it has no symbols" : Suggest(name, known));
  }
  symbols[name] = number;
  return std::nullopt;
}

}  // namespace

Result<WorkloadConfig> LoadWorkload(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.errors();
  const auto source = std::make_shared<YamlSource>(YamlSource{path, std::move(*text)});
  WorkloadConfig workload;
  workload.file = path;
  Diagnostics errors;
  const std::optional<YamlNode> tree = ParseYaml(source, 0, errors);
  if (tree) {
    Reader(workload, errors).Read(*tree);
  } else if (errors.empty()) {
    errors.push_back(ErrorAtNode({source, 0}, "the file holds no workload",
                                 fmt::format("begin with 'schema: {}'", kSchema)));
  }
  if (!errors.empty()) return errors;
  return workload;
}

Result<WorkloadPoint> SelectPoint(const WorkloadConfig& workload, const std::string& chip,
                                  const std::string& variant, const std::vector<std::string>& binds) {
  Diagnostics errors;
  const std::string& wanted_chip = chip.empty() ? workload.default_chip : chip;
  if (!Contains(workload.chips, wanted_chip)) {
    errors.push_back(
        Error(fmt::format("workload '{}' is not compiled for chip '{}'", workload.name, wanted_chip),
              fmt::format("it is for: {}", fmt::join(workload.chips, ", "))));
  }
  const std::string& wanted_variant = variant.empty() ? workload.default_variant : variant;
  const WorkloadVariant* found = FindNamed(workload.variants, wanted_variant);
  if (found == nullptr) {
    errors.push_back(Error(fmt::format("workload '{}' has no variant '{}'", workload.name, wanted_variant),
                           Suggest(wanted_variant, NamesOf(workload.variants))));
  }
  SymbolValues symbols;
  for (const WorkloadSymbol& symbol : workload.symbols) symbols[symbol.name] = symbol.default_value;
  for (const std::string& bind : binds) {
    if (std::optional<Diagnostic> error = Bind(workload, bind, symbols)) errors.push_back(std::move(*error));
  }
  for (const WorkloadSymbol& symbol : workload.symbols) {
    if (found == nullptr) break;
    const std::vector<std::int64_t>& values = ValuesOf(*found, symbol);
    if (Contains(values, symbols[symbol.name])) continue;
    if (found->bind.count(symbol.name) > 0) {
      if (symbols[symbol.name] > 0) continue;
      errors.push_back(Error(fmt::format("{}={} is no size", symbol.name, symbols[symbol.name])));
      continue;
    }
    errors.push_back(Error(fmt::format("workload '{}', variant '{}', is not compiled for {}={}",
                                       workload.name, found->name, symbol.name, symbols[symbol.name]),
                           fmt::format("there is {} = {}", symbol.name, fmt::join(values, ", "))));
  }
  if (!errors.empty()) return errors;
  return MakePoint(workload, wanted_chip, *found, std::move(symbols));
}

std::vector<WorkloadPoint> AllPoints(const WorkloadConfig& workload) {
  std::vector<WorkloadPoint> points;
  for (const WorkloadVariant& variant : workload.variants) {
    std::vector<SymbolValues> grid = {{}};
    for (const WorkloadSymbol& symbol : workload.symbols) {
      std::vector<SymbolValues> wider;
      for (const SymbolValues& values : grid) {
        for (const std::int64_t value : ValuesOf(variant, symbol)) {
          wider.push_back(values);
          wider.back()[symbol.name] = value;
        }
      }
      grid = std::move(wider);
    }
    for (const std::string& chip : workload.chips) {
      for (const SymbolValues& values : grid) points.push_back(MakePoint(workload, chip, variant, values));
    }
  }
  return points;
}

bool LooksLikeWorkload(const std::string& text) { return SchemaOf(text).rfind("spillway.workload/", 0) == 0; }

}  // namespace spillway::config
