// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/rebind.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/hlo/rebind_edit.h"
#include "sim/hlo/rebind_rules.h"
#include "sim/hlo/rebind_trips.h"

namespace spillway::hlo {
namespace {

/// A dimension of an entry parameter.
struct Place {
  const Instruction* parameter = nullptr;
  std::size_t dimension = 0;
  int unknown = -1;
};

std::string NameOf(const Instruction& parameter) {
  const std::string name = parameter.OpName();
  return name.empty() ? std::string(parameter.name) : name;
}

std::string Describe(const Place& place) { return fmt::format("{}[{}]", NameOf(*place.parameter), place.dimension); }

bool Answers(const Instruction& parameter, const std::string& name) {
  return parameter.name == name || parameter.OpName() == name || std::to_string(parameter.parameter_number) == name;
}

/// `dimensions: {q: [0], k: [0, 1]}` of the places.
std::string Statement(const std::vector<Place>& places) {
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (const Place& place : places) by_name[NameOf(*place.parameter)].push_back(place.dimension);
  std::vector<std::string> parts;
  for (const auto& [name, dims] : by_name) parts.push_back(fmt::format("{}: [{}]", name, fmt::join(dims, ", ")));
  return fmt::format("dimensions: {{{}}}", fmt::join(parts, ", "));
}

class Binder {
 public:
  Binder(const Module& module, const RebindRequest& request, DimRules& rules)
      : module_(module), request_(request), rules_(rules), solver_(rules.solver()) {}

  /// Gives every dimension of an entry parameter its new value.
  Status Bind(std::vector<std::string>& bound) {
    for (const Instruction* parameter : module_.entry->parameters) {
      if (parameter == nullptr) continue;
      for (int array = 0; array < rules_.ArrayCount(*parameter); ++array) {
        const std::vector<int>& dims = rules_.Dims(*parameter, array);
        for (std::size_t d = 0; d < dims.size(); ++d) places_.push_back({parameter, d, dims[d]});
      }
    }
    if (Diagnostics errors = CheckNames(); !errors.empty()) return errors;
    Diagnostics errors;
    std::vector<Place> all;
    for (const Binding& binding : request_.bindings) {
      std::vector<Place> mine = PlacesOf(binding);
      if (mine.empty()) {
        errors.push_back(Error(fmt::format("no dimension of a parameter has the size of {}={}", binding.symbol,
                                           binding.from),
                               "the dump was compiled for another value"));
        continue;
      }
      if (request_.dimensions.empty()) {
        if (auto error = Guess(binding, mine)) {
          errors.push_back(std::move(*error));
          continue;
        }
      }
      for (const Place& place : mine) {
        bound.push_back(Describe(place));
        const std::int64_t factor = solver_.Old(place.unknown) / binding.from;
        std::int64_t value = 0;
        if (__builtin_mul_overflow(factor, binding.to, &value)) {
          errors.push_back(module_.ErrorAt(*place.parameter, "the new size overflows"));
          continue;
        }
        solver_.Set(place.unknown, value, place.parameter);
        all.push_back(place);
      }
    }
    if (!errors.empty()) return errors;
    // The other dimensions stay. Those that an instruction equates with a bound one are contradictions.
    for (const Place& place : places_) {
      const bool taken = std::any_of(all.begin(), all.end(), [&](const Place& p) { return p.unknown == place.unknown; });
      if (taken) continue;
      if (solver_.Changed(place.unknown)) {
        return {module_.ErrorAt(*place.parameter,
                                fmt::format("{} is not bound, but is one with a dimension that becomes {}",
                                            Describe(place), *solver_.Value(place.unknown)),
                                fmt::format("state it too: {}", Statement(With(all, place))))};
      }
      solver_.Fix(place.unknown, place.parameter);
    }
    return Done{};
  }

 private:
  static std::vector<Place> With(std::vector<Place> places, const Place& more) {
    places.push_back(more);
    return places;
  }

  Diagnostics CheckNames() {
    Diagnostics errors;
    for (const auto& [name, dims] : request_.dimensions) {
      const auto hit = std::find_if(module_.entry->parameters.begin(), module_.entry->parameters.end(),
                                    [&, &wanted = name](const Instruction* p) { return p != nullptr && Answers(*p, wanted); });
      if (hit == module_.entry->parameters.end()) {
        std::vector<std::string> known;
        for (const Instruction* parameter : module_.entry->parameters) {
          if (parameter != nullptr) known.push_back(NameOf(*parameter));
        }
        errors.push_back(Error(fmt::format("the entry has no parameter '{}'", name),
                               fmt::format("its parameters: {}", fmt::join(known, ", "))));
        continue;
      }
      for (const int d : dims) {
        const Shape& shape = (*hit)->shape;
        const bool inside = shape.IsArray() && d >= 0 && d < shape.rank();
        const bool fits = inside && std::any_of(request_.bindings.begin(), request_.bindings.end(), [&](const Binding& b) {
          return b.from > 0 && shape.dimensions[static_cast<std::size_t>(d)] % b.from == 0;
        });
        if (!fits) {
          errors.push_back(module_.ErrorAt(**hit, inside ? fmt::format("dimension {} of '{}' is {}, no multiple of a bound symbol",
                                                                        d, name, shape.dimensions[static_cast<std::size_t>(d)])
                                                          : fmt::format("'{}' has no dimension {}", name, d)));
        }
      }
    }
    return errors;
  }

  std::vector<Place> PlacesOf(const Binding& binding) {
    std::vector<Place> mine;
    for (const Place& place : places_) {
      const std::int64_t size = solver_.Old(place.unknown);
      if (request_.dimensions.empty()) {
        if (size == binding.from) mine.push_back(place);
        continue;
      }
      for (const auto& [name, dims] : request_.dimensions) {
        const bool named = Answers(*place.parameter, name) &&
                           std::find(dims.begin(), dims.end(), static_cast<int>(place.dimension)) != dims.end();
        // Of two symbols, the one whose value it has; else the first that divides it.
        const auto exact = std::find_if(request_.bindings.begin(), request_.bindings.end(),
                                        [&](const Binding& b) { return b.from == size; });
        const auto divides = std::find_if(request_.bindings.begin(), request_.bindings.end(),
                                          [&](const Binding& b) { return size % b.from == 0; });
        const auto owner = exact != request_.bindings.end() ? exact : divides;
        if (named && owner != request_.bindings.end() && owner->symbol == binding.symbol) mine.push_back(place);
      }
    }
    return mine;
  }

  /// Dimensions of the symbol's size are one symbol only if instructions equate them all, or if they are the same
  /// dimension of parameters that all have one shape (q, k and v); else the user must say which bind.
  std::optional<Diagnostic> Guess(const Binding& binding, const std::vector<Place>& places) {
    const Place& first = places.front();
    const auto alike = [&](const Place& place) {
      return place.dimension == first.dimension && place.parameter->shape.dimensions == first.parameter->shape.dimensions;
    };
    const bool one_shape = std::all_of(places.begin(), places.end(), alike);
    for (const Place& place : places) {
      if (one_shape || solver_.Same(place.unknown, first.unknown)) continue;
      return module_.ErrorAt(
          *place.parameter,
          fmt::format("{} is {} like {}, perhaps by chance: it is not known whether {} binds it", Describe(place),
                      binding.from, Describe(first), binding.symbol),
          fmt::format("state which dimensions bind; all of them: {}", Statement(places)));
    }
    for (const Binding& other : request_.bindings) {
      if (&other != &binding && other.from == binding.from) {
        return Error(fmt::format("{} and {} are both {} in the dump", binding.symbol, other.symbol, binding.from),
                     "use a dump that was compiled for different values");
      }
    }
    return std::nullopt;
  }

  const Module& module_;
  const RebindRequest& request_;
  DimRules& rules_;
  DimSolver& solver_;
  std::vector<Place> places_;
};

/// What no size that changes bears on keeps its size. Two things would be a guess and are refused: a size that hangs on
/// one that changes in a way that leaves it open, and one that nothing relates to anything and that is as large as one
/// that changes. The other ones are named in `assumptions`. Small sizes come first, so that what is made of them (flat
/// bytes of an array) follows.
Diagnostics SettleTheRest(const Module& module, DimRules& rules, std::vector<std::string>& assumptions) {
  DimSolver& solver = rules.solver();
  const auto refuse = [&](int v, const char* why) -> Diagnostics {
    const Instruction& origin = *solver.Origin(v);
    return {module.ErrorAt(origin, fmt::format("a dimension of '{}' is {}, and {}", origin.name, solver.Old(v), why),
                           "use a dump compiled for another value of the symbol")};
  };
  std::vector<int> open;
  for (int v = 0; v < solver.count(); ++v) {
    if (rules.IsArrayDim(v) && !solver.Value(v)) open.push_back(v);
  }
  for (const int v : solver.Hanging()) {
    if (rules.IsArrayDim(v)) return refuse(v, "what it becomes does not follow from the sizes that change");
  }
  std::stable_sort(open.begin(), open.end(), [&](int a, int b) { return solver.Old(a) < solver.Old(b); });
  std::vector<std::string> kept;
  for (const int v : open) {
    if (solver.Value(v)) continue;
    if (rules.IsOldSize(solver.Old(v))) {
      return refuse(v, "whether it is one with the dimensions of that size that change does not follow");
    }
    kept.push_back(fmt::format("{} of '{}'", solver.Old(v), solver.Origin(v)->name));
    solver.Fix(v, solver.Origin(v));
    solver.Solve(assumptions);
    if (!solver.errors().empty()) return solver.errors();
  }
  if (!kept.empty()) {
    constexpr std::size_t kMost = 4;
    const std::size_t more = kept.size() > kMost ? kept.size() - kMost : 0;
    kept.resize(kept.size() - more);
    assumptions.push_back(fmt::format("dimensions that nothing relates to the parameters are kept: {}{}", fmt::join(kept, ", "),
                                      more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  return {};
}

}  // namespace

Result<Rebound> Rebind(const Module& module, const RebindRequest& request) {
  if (module.entry == nullptr) return Error("the module has no entry computation");
  for (const Binding& binding : request.bindings) {
    if (binding.from < 2 || binding.to < 1) {
      return Error(fmt::format("{} cannot be rewritten from {} to {}", binding.symbol, binding.from, binding.to),
                   "values are positive, and a symbol that is 1 in the dump cannot be told from other ones");
    }
  }
  DimRules rules(module, request);
  DimSolver& solver = rules.solver();
  const std::vector<RebindLoop> loops = RelateLoops(module, rules);
  Rebound rebound;
  if (const Status status = Binder(module, request, rules).Bind(rebound.bound); !status.ok()) return status.errors();
  solver.Solve(rebound.assumptions);
  if (Diagnostics errors = rules.CheckOpaque(); !errors.empty()) return errors;
  solver.RequireComplete();
  if (!solver.errors().empty()) return solver.errors();
  if (Diagnostics errors = SettleTheRest(module, rules, rebound.assumptions); !errors.empty()) return errors;
  if (Diagnostics errors = rules.CheckOpaque(); !errors.empty()) return errors;
  if (Diagnostics errors = CheckLoops(module, rules, loops, rebound.assumptions); !errors.empty()) return errors;
  for (std::string& assumption : rules.ShareAssumptions()) rebound.assumptions.push_back(std::move(assumption));
  Result<ModuleEdits> edits = MakeEdits(module, rules, loops);
  if (!edits.ok()) return edits.errors();
  std::string name = module.file;
  for (const Binding& binding : request.bindings) name += fmt::format(" ({}={})", binding.symbol, binding.to);
  Result<std::unique_ptr<Module>> rewritten = Rewrite(module, *edits, name);
  if (!rewritten.ok()) return rewritten.errors();
  rebound.module = std::move(*rewritten);
  return rebound;
}

}  // namespace spillway::hlo
