// SPDX-License-Identifier: Apache-2.0
#include "sim/output/vcd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>

namespace spillway::output {
namespace {

using timeline::Slice;
using timeline::TrackKind;

struct Signal {
  enum class Type { kWire, kInteger, kReal } type;
  std::string scope, name;
  std::vector<std::pair<Picos, double>> changes;  // by time, the last of equal times holds
};

// VCD names hold no blanks; anything unusual becomes '_'.
std::string Word(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out.empty() ? "_" : out;
}

// A short printable code: base 94 from '!'.
std::string Code(std::size_t index) {
  std::string code;
  do {
    code += static_cast<char>('!' + index % 94);
    index /= 94;
  } while (index > 0);
  return code;
}

std::string Binary(std::uint64_t value) {
  std::string bits;
  do {
    bits += static_cast<char>('0' + (value & 1));
    value >>= 1;
  } while (value > 0);
  std::reverse(bits.begin(), bits.end());
  return bits;
}

// How many of the chosen slices are open, at each time where that changes.
template <class Choose>
std::vector<std::pair<Picos, double>> CountOpen(const timeline::Timeline& t, Choose&& choose) {
  std::vector<std::pair<Picos, int>> edges;
  for (const Slice& slice : t.slices) {
    if (!choose(slice) || slice.start == slice.end) continue;
    edges.emplace_back(slice.start, 1);
    edges.emplace_back(slice.end, -1);
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::pair<Picos, double>> out = {{0, 0}};
  int open = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    open += edges[i].second;
    if (i + 1 < edges.size() && edges[i + 1].first == edges[i].first) continue;
    if (open != static_cast<int>(out.back().second)) out.emplace_back(edges[i].first, open);
  }
  return out;
}

std::vector<Signal> Collect(const timeline::Timeline& t) {
  std::vector<Signal> signals;
  std::set<std::string> used;
  const auto unique = [&used](std::string name) {
    std::string candidate = name;
    for (int i = 2; !used.insert(candidate).second; ++i) candidate = fmt::format("{}_{}", name, i);
    return candidate;
  };
  for (std::size_t track = 0; track < t.tracks.size(); ++track) {
    const std::string scope = unique(Word(t.tracks[track].name));
    const auto on_track = [track](const Slice& s) { return static_cast<std::size_t>(s.track) == track; };
    auto active = CountOpen(t, on_track);
    auto busy = active;
    for (auto& change : busy) change.second = change.second > 0 ? 1 : 0;
    signals.push_back({Signal::Type::kWire, scope, "busy", std::move(busy)});
    signals.push_back({Signal::Type::kInteger, scope, "active", std::move(active)});
    if (t.tracks[track].kind != TrackKind::kCore) continue;
    for (const char* kind : {"compute", "wait"}) {
      auto open = CountOpen(t, [&](const Slice& s) { return on_track(s) && s.kind == kind; });
      for (auto& change : open) change.second = change.second > 0 ? 1 : 0;
      signals.push_back({Signal::Type::kWire, scope, kind, std::move(open)});
    }
  }
  for (const auto& counter : t.counters) {
    Signal signal{Signal::Type::kReal, "counters", unique(Word(counter.name)), {{0, 0}}};
    signal.changes.insert(signal.changes.end(), counter.points.begin(), counter.points.end());
    signals.push_back(std::move(signal));
  }
  return signals;
}

std::string Change(const Signal& signal, std::size_t index, double value) {
  switch (signal.type) {
    case Signal::Type::kWire: return fmt::format("{}{}\n", value > 0 ? 1 : 0, Code(index));
    case Signal::Type::kInteger:
      return fmt::format("b{} {}\n", Binary(static_cast<std::uint64_t>(value)), Code(index));
    case Signal::Type::kReal: return fmt::format("r{} {}\n", std::isfinite(value) ? value : 0, Code(index));
  }
  return "";
}

std::string Header(const std::vector<Signal>& signals, const RunData& run) {
  std::string out = fmt::format("$version Spillway {} $end\n$timescale 1 ps $end\n$scope module tpu $end\n",
                                Word(run.summary.version));
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const bool opens = i == 0 || signals[i - 1].scope != signals[i].scope;
    const bool closes = i + 1 == signals.size() || signals[i + 1].scope != signals[i].scope;
    if (opens) out += fmt::format("$scope module {} $end\n", signals[i].scope);
    const char* type = signals[i].type == Signal::Type::kWire      ? "wire 1"
                       : signals[i].type == Signal::Type::kInteger ? "integer 32"
                                                                   : "real 64";
    out += fmt::format("$var {} {} {} $end\n", type, Code(i), signals[i].name);
    if (closes) out += "$upscope $end\n";
  }
  return out + "$upscope $end\n$enddefinitions $end\n";
}

}  // namespace

std::string Vcd(const RunData& run) {
  const std::vector<Signal> signals = Collect(run.timeline);
  struct Edge {
    Picos time;
    std::size_t signal;
    double value;
  };
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const auto& changes = signals[i].changes;
    for (std::size_t k = 0; k < changes.size(); ++k) {
      const bool overtaken = k + 1 < changes.size() && changes[k + 1].first == changes[k].first;
      if (!overtaken) edges.push_back({changes[k].first, i, changes[k].second});
    }
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
  std::string out = Header(signals, run);
  Picos now = -1;
  for (const Edge& edge : edges) {
    if (edge.time != now) fmt::format_to(std::back_inserter(out), "#{}\n", edge.time);
    now = edge.time;
    out += Change(signals[edge.signal], edge.signal, edge.value);
  }
  const Picos end = timeline::EndOf(run.timeline);
  if (end > now) fmt::format_to(std::back_inserter(out), "#{}\n", end);
  return out;
}

}  // namespace spillway::output
