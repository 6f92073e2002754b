// SPDX-License-Identifier: Apache-2.0
#include "sim/config/sweep_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "sim/base/file.h"
#include "sim/config/axis_values.h"
#include "sim/config/map_reader.h"

namespace spillway::config {
namespace {

constexpr char kSchema[] = "spillway.sweep/1";
constexpr char kAxisHint[] = "an axis is a list [a, b], a range '512:32768:x2' or {from: 512, to: 32768, step: x2}";

/// "" if `key` can be typed on a command line and stand in the head of a table.
std::string ProblemOfKey(const std::string& key) {
  if (key.empty()) return "a key is empty";
  const bool good = std::all_of(key.begin(), key.end(), [](unsigned char c) { return c > 0x20 && c != 0x7f && c != '=' && c != ','; });
  return good ? "" : fmt::format("'{}' is no key", Shorten(key));
}

class Reader {
 public:
  Reader(SweepConfig& sweep, Diagnostics& errors) : sweep_(sweep), errors_(errors) {}

  void Read(const YamlNode& tree) {
    MapReader map(tree, "the sweep", errors_);
    if (const YamlNode* schema = map.Get("schema", true); schema != nullptr && schema->text != kSchema) {
      errors_.push_back(ErrorAtNode(schema->at, fmt::format("'schema' must be {}, not {}", kSchema, DescribeKind(*schema))));
    }
    sweep_.description = map.Text("description", false);
    map.EachMember("base", false, [&](const YamlNode& key, const YamlNode& value) {
      if (std::optional<SweepSetting> setting = Setting(key, value)) {
        if (Claim(key)) sweep_.base.push_back(std::move(*setting));
      }
    });
    sweep_.config_files = map.Texts("config", false);
    map.EachMember("axes", false, [&](const YamlNode& key, const YamlNode& value) {
      if (std::optional<SweepAxis> axis = Axis(key, value)) sweep_.axes.push_back(std::move(*axis));
    });
    map.Each("zip", false, [&](const YamlNode& group) { Zip(group); });
    map.Each("exclude", false, [&](const YamlNode& group) { Exclude(group); });
    map.Finish();
  }

 private:
  /// A key may vary or be fixed, once.
  bool Claim(const YamlNode& key) {
    if (const std::string problem = ProblemOfKey(key.text); !problem.empty()) {
      AddError(errors_, key.at, problem);
      return false;
    }
    const auto [it, fresh] = claimed_.emplace(key.text, key.at);
    if (!fresh) AddError(errors_, key.at, fmt::format("'{}' is set twice", key.text), "first at " + it->second.Describe());
    return fresh;
  }

  std::optional<SweepSetting> Setting(const YamlNode& key, const YamlNode& value) {
    SweepSetting setting{key.text, "", key.at};
    if (!ReadText(value, fmt::format("'{}'", key.text), setting.value, errors_)) return std::nullopt;
    if (const std::string problem = ProblemOfValues({setting.value}); !problem.empty()) {
      AddError(errors_, value.at, fmt::format("'{}': {}", key.text, problem));
      return std::nullopt;
    }
    return setting;
  }

  std::optional<SweepAxis> Axis(const YamlNode& key, const YamlNode& value) {
    SweepAxis axis;
    axis.key = key.text;
    axis.at = key.at;
    if (!Claim(key) || !Values(value, axis)) return std::nullopt;
    return axis;
  }

  bool Values(const YamlNode& value, SweepAxis& axis) {
    switch (value.kind) {
      case YamlNode::Kind::kList: return List(value, axis);
      case YamlNode::Kind::kScalar: return Text(value.text, value.at, axis);
      case YamlNode::Kind::kMap: return Range(value, axis);
      case YamlNode::Kind::kNull: break;
    }
    AddError(errors_, value.at, fmt::format("axis '{}' has no value", axis.key), kAxisHint);
    return false;
  }

  bool List(const YamlNode& value, SweepAxis& axis) {
    for (const YamlNode& item : value.children) {
      std::string text;
      if (!ReadText(item, fmt::format("a value of '{}'", axis.key), text, errors_)) return false;
      axis.values.push_back(std::move(text));
    }
    const std::string problem = ProblemOfValues(axis.values);
    if (!problem.empty()) AddError(errors_, value.at, fmt::format("axis '{}': {}", axis.key, problem), kAxisHint);
    return problem.empty();
  }

  bool Text(const std::string& text, const YamlLocation& at, SweepAxis& axis) {
    Result<AxisValues> values = ParseAxisValues(text);
    if (!values.ok()) {
      for (const Diagnostic& error : values.errors()) AddError(errors_, at, error.message, error.hint);
      return false;
    }
    axis.values = std::move(values->values);
    axis.geometric = values->geometric;
    if (axis.geometric) axis.range = text;
    return true;
  }

  bool Range(const YamlNode& value, SweepAxis& axis) {
    const std::size_t before = errors_.size();
    MapReader map(value, fmt::format("axis '{}'", axis.key), errors_);
    const std::string from = map.Text("from", true), to = map.Text("to", true);
    std::string step = map.Text("step", true);
    map.Finish();
    if (errors_.size() != before) return false;
    if (step[0] != 'x' && step[0] != '+') step.insert(0, "+");
    return Text(fmt::format("{}:{}:{}", from, to, step), value.at, axis);
  }

  void Zip(const YamlNode& group) {
    if (group.kind != YamlNode::Kind::kMap || group.children.empty()) {
      return AddError(errors_, group.at, "a group of 'zip' must be a map of axes", kAxisHint);
    }
    std::vector<SweepAxis> axes;
    for (std::size_t i = 0; i < group.children.size(); ++i) {
      std::optional<SweepAxis> axis = Axis(group.keys[i], group.children[i]);
      if (!axis) continue;
      if (!axes.empty() && axes[0].values.size() != axis->values.size()) {
        AddError(errors_, axis->at, fmt::format("'{}' has {} values, '{}' has {}: axes of one group advance together",
                                                axis->key, axis->values.size(), axes[0].key, axes[0].values.size()));
      }
      axes.push_back(std::move(*axis));
    }
    if (!axes.empty()) sweep_.zips.push_back(std::move(axes));
  }

  const SweepAxis* FindAxis(const std::string& key) const {
    for (const SweepAxis& axis : sweep_.axes) {
      if (axis.key == key) return &axis;
    }
    for (const auto& group : sweep_.zips) {
      for (const SweepAxis& axis : group) {
        if (axis.key == key) return &axis;
      }
    }
    return nullptr;
  }

  void Exclude(const YamlNode& group) {
    if (group.kind != YamlNode::Kind::kMap || group.children.empty()) {
      return AddError(errors_, group.at, "an exclusion must be a map of axis values", "for example {chip: v5e, S: 512}");
    }
    std::vector<SweepSetting> settings;
    for (std::size_t i = 0; i < group.children.size(); ++i) {
      std::optional<SweepSetting> setting = Setting(group.keys[i], group.children[i]);
      if (!setting) continue;
      const SweepAxis* axis = FindAxis(setting->key);
      if (axis == nullptr) {
        AddError(errors_, setting->at, fmt::format("there is no axis '{}' to exclude from", setting->key));
      } else if (std::find(axis->values.begin(), axis->values.end(), setting->value) == axis->values.end()) {
        AddError(errors_, group.children[i].at, fmt::format("axis '{}' has no value '{}'", setting->key, setting->value),
                 fmt::format("it has: {}", Shorten(fmt::format("{}", fmt::join(axis->values, ", ")))));
      }
      settings.push_back(std::move(*setting));
    }
    sweep_.exclude.push_back(std::move(settings));
  }

  SweepConfig& sweep_;
  Diagnostics& errors_;
  std::map<std::string, YamlLocation> claimed_;
};

}  // namespace

Result<SweepConfig> LoadSweep(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.errors();
  const auto source = std::make_shared<YamlSource>(YamlSource{path, std::move(*text)});
  SweepConfig sweep;
  sweep.file = path;
  Diagnostics errors;
  const std::optional<YamlNode> tree = ParseYaml(source, 0, errors);
  if (tree) {
    Reader(sweep, errors).Read(*tree);
  } else if (errors.empty()) {
    errors.push_back(ErrorAtNode({source, 0}, "the file holds no sweep", fmt::format("begin with 'schema: {}'", kSchema)));
  }
  if (!errors.empty()) return errors;
  return sweep;
}

Result<SweepAxis> ParseAxis(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const std::string key = argument.substr(0, equals);
  if (equals == std::string::npos || !ProblemOfKey(key).empty()) {
    return Error(fmt::format("--axis '{}' is not of the form KEY=VALUES", Shorten(argument)),
                 "for example --axis S=512:32768:x2, --axis chip=v5e,v6e or --axis hbm.channels=16,32,64");
  }
  Result<AxisValues> values = ParseAxisValues(std::string_view(argument).substr(equals + 1));
  if (!values.ok()) {
    Diagnostics errors = values.errors();
    for (Diagnostic& error : errors) error.message = fmt::format("--axis {}: {}", key, error.message);
    return errors;
  }
  SweepAxis axis;
  axis.key = key;
  axis.values = std::move(values->values);
  axis.geometric = values->geometric;
  if (axis.geometric) axis.range = argument.substr(equals + 1);
  axis.at.source = std::make_shared<YamlSource>(YamlSource{"", "--axis " + argument});
  return axis;
}

Status OverrideAxis(SweepConfig& sweep, SweepAxis axis) {
  for (const auto& group : sweep.zips) {
    for (const SweepAxis& zipped : group) {
      if (zipped.key != axis.key) continue;
      return Error(fmt::format("--axis {}: that axis advances together with others ({})", axis.key, zipped.at.source == nullptr ? "zip" : zipped.at.Describe()),
                   "change it in the file");
    }
  }
  const auto same = [&](const auto& item) { return item.key == axis.key; };
  sweep.base.erase(std::remove_if(sweep.base.begin(), sweep.base.end(), same), sweep.base.end());
  const auto old = std::find_if(sweep.axes.begin(), sweep.axes.end(), same);
  if (old != sweep.axes.end()) {
    *old = std::move(axis);
  } else {
    sweep.axes.push_back(std::move(axis));
  }
  return Done{};
}

bool LooksLikeSweep(const std::string& text) { return SchemaOf(text).rfind("spillway.sweep/", 0) == 0; }

}  // namespace spillway::config
