// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/mosaic.h"

#include <algorithm>

#include "sim/hlo/mlir_bytecode.h"
#include "sim/hlo/mlir_scalar.h"
#include "sim/hlo/mosaic_body.h"
#include "sim/plan/mosaic_text.h"

namespace spillway::plan {
namespace {

constexpr std::int64_t kMaxSteps = std::int64_t{1} << 31;
constexpr std::int64_t kMaxElement = std::int64_t{1} << 40;

/// Block index by dimension, as a program over the grid indices.
class IndexMap : public WindowMap {
 public:
  IndexMap(hlo::ScalarProgram program, std::vector<int> results, std::vector<std::int64_t> bounds, hlo::Dims sizes,
           bool element_offsets)
      : program_(std::move(program)),
        results_(std::move(results)),
        bounds_(std::move(bounds)),
        sizes_(std::move(sizes)),
        element_offsets_(element_offsets) {}

  Box At(const Box& domain) const override {
    std::vector<std::int64_t> indices;
    for (const Interval& side : domain) indices.push_back(side.lo);
    hlo::ScalarProgram::Values values = program_.Evaluate(indices);
    Box window;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      hlo::ScalarProgram::Value index = program_.Get(values, results_[d]);
      std::int64_t at = std::clamp<std::int64_t>(index.value, 0, kMaxElement);
      std::int64_t unit = element_offsets_ ? 1 : bounds_[d];
      // Where data decides, the assumed entry may lie outside: the last block then.
      if (index.assumed) at = std::min(at, std::max<std::int64_t>((sizes_[d] - 1) / unit, 0));
      at = at < kMaxElement / unit ? at * unit : kMaxElement;
      window.push_back({std::min(at, sizes_[d]), std::min(at + bounds_[d], sizes_[d])});
    }
    return window;
  }

  /// Looks at the first and last index of every axis: some value is not computed; some depends on data.
  void Probe(const std::vector<std::int64_t>& grid, bool& unknown, bool& assumed) const {
    std::vector<std::int64_t> first(grid.size(), 0), last;
    for (std::int64_t bound : grid) last.push_back(bound - 1);
    for (const auto& indices : {first, last}) {
      hlo::ScalarProgram::Values values = program_.Evaluate(indices);
      for (int result : results_) {
        hlo::ScalarProgram::Value value = program_.Get(values, result);
        unknown = unknown || !value.known;
        assumed = assumed || value.assumed;
      }
    }
  }

 private:
  hlo::ScalarProgram program_;
  std::vector<int> results_;
  std::vector<std::int64_t> bounds_;
  hlo::Dims sizes_;
  bool element_offsets_;
};

/// A grid axis or a constant by dimension (text bodies).
class PlainMap : public WindowMap {
 public:
  PlainMap(TextWindow window, hlo::Dims sizes) : window_(std::move(window)), sizes_(std::move(sizes)) {}

  Box At(const Box& domain) const override {
    Box window;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const TextWindow::Index& index = window_.index[d];
      std::int64_t block = index.axis >= 0 && index.axis < static_cast<int>(domain.size()) ? domain[index.axis].lo : index.constant;
      std::int64_t at = block < kMaxElement / window_.bounds[d] ? block * window_.bounds[d] : kMaxElement;
      window.push_back({std::min(at, sizes_[d]), std::min(at + window_.bounds[d], sizes_[d])});
    }
    return window;
  }

 private:
  TextWindow window_;
  hlo::Dims sizes_;
};

/// Equal parts of a sequence, one a step.
class PartsMap : public WindowMap {
 public:
  PartsMap(hlo::Dims grid, std::int64_t steps, std::int64_t total)
      : grid_(std::move(grid)), total_(total), part_((total + steps - 1) / steps) {}

  Box At(const Box& domain) const override {
    std::int64_t step = 0;
    for (std::size_t d = 0; d < grid_.size(); ++d) step = step * grid_[d] + domain[d].lo;
    std::int64_t at = part_ > 0 ? std::min(step, total_ / part_ + 1) * part_ : 0;
    return Box(1, Interval{std::min(at, total_), std::min(at + part_, total_)});
  }

 private:
  hlo::Dims grid_;
  std::int64_t total_, part_;
};

/// Shapes of the operands, then of the results.
std::vector<const hlo::Shape*> ArraysOf(const hlo::Instruction& kernel) {
  std::vector<const hlo::Shape*> arrays;
  for (const hlo::Instruction* operand : kernel.operands) arrays.push_back(&operand->shape);
  if (kernel.shape.IsTuple()) {
    for (const hlo::Shape& element : kernel.shape.elements) arrays.push_back(&element);
  } else {
    arrays.push_back(&kernel.shape);
  }
  return arrays;
}

std::optional<MosaicWindow> WindowFrom(const hlo::MosaicBody& body, const hlo::MosaicBody::Window& from,
                                       const hlo::Shape& shape, bool& assumed) {
  MosaicWindow window;
  window.buffers = from.buffers;
  if (from.bounds.empty()) {
    window.kind = MosaicWindow::Kind::kManual;
    return window;
  }
  if (from.transform.empty()) {
    window.kind = MosaicWindow::Kind::kWhole;
    return window;
  }
  const hlo::MlirOperation* function = body.Function(from.transform);
  if (function == nullptr || function->regions.size() != 1 || function->regions[0].size() != 1) return std::nullopt;
  const hlo::MlirBlock& block = function->regions[0][0];
  if (block.arguments.size() < body.iteration_bounds.size()) return std::nullopt;
  hlo::ScalarProgram program(body.module);
  for (std::size_t a = 0; a < body.iteration_bounds.size(); ++a) program.AddInput(block.arguments[a]);
  std::vector<int> results;
  for (const hlo::MlirOperation& op : block.operations) {
    program.Add(op);
    if (op.name == "func.return") results = op.operands;
  }
  if (results.size() != shape.dimensions.size() || from.bounds.size() != results.size()) return std::nullopt;
  auto map = std::make_shared<IndexMap>(std::move(program), std::move(results), from.bounds, shape.dimensions, from.element_offsets);
  bool unknown = false;
  map->Probe(body.iteration_bounds, unknown, assumed);
  if (unknown) return std::nullopt;
  window.bounds = from.bounds;
  window.map = std::move(map);
  return window;
}

std::optional<MosaicGrid> FromBytecode(const std::string& bytes, const hlo::Instruction& kernel) {
  auto body = hlo::MosaicBodyFrom(bytes);
  if (!body) return std::nullopt;
  std::vector<const hlo::Shape*> arrays = ArraysOf(kernel);
  if (static_cast<std::int64_t>(arrays.size()) != body->scalar_prefetch + static_cast<std::int64_t>(body->windows.size())) {
    return std::nullopt;
  }
  MosaicGrid grid;
  grid.iteration_bounds = body->iteration_bounds;
  grid.scratch_bytes = body->ScratchBytes();
  bool assumed = false;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    auto at = static_cast<std::int64_t>(i) - body->scalar_prefetch;
    if (at < 0) {
      grid.windows.push_back({MosaicWindow::Kind::kWhole, {}, nullptr, 1});
      continue;
    }
    auto window = WindowFrom(*body, body->windows[at], *arrays[i], assumed);
    if (!window) return std::nullopt;
    grid.windows.push_back(std::move(*window));
  }
  if (assumed) grid.assumption = "which blocks a kernel reads depends on prefetched scalars: taken in order";
  return grid;
}

std::optional<MosaicGrid> FromText(const std::string& text, const hlo::Instruction& kernel) {
  auto read = GridFromText(text);
  std::vector<const hlo::Shape*> arrays = ArraysOf(kernel);
  if (!read || read->windows.size() != arrays.size()) return std::nullopt;
  MosaicGrid grid;
  grid.iteration_bounds = read->iteration_bounds;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    TextWindow& from = read->windows[i];
    if (from.bounds.size() != arrays[i]->dimensions.size()) return std::nullopt;
    MosaicWindow window;
    window.bounds = from.bounds;
    window.map = std::make_shared<PlainMap>(std::move(from), arrays[i]->dimensions);
    grid.windows.push_back(std::move(window));
  }
  return grid;
}

}  // namespace

std::optional<MosaicGrid> MosaicGridOf(const hlo::Instruction& kernel) {
  auto body = hlo::MosaicBytesOf(kernel);
  return body ? MosaicGridFrom(*body, kernel) : std::nullopt;
}

std::optional<MosaicGrid> MosaicGridFrom(const std::string& body, const hlo::Instruction& kernel) {
  auto grid = hlo::IsMlirBytecode(body) ? FromBytecode(body, kernel) : FromText(body, kernel);
  if (!grid) return std::nullopt;
  std::int64_t steps = 1;
  for (std::int64_t bound : grid->iteration_bounds) steps = steps > kMaxSteps ? steps : steps * bound;
  if (steps > kMaxSteps) return std::nullopt;
  return grid;
}

Grid GridOfMosaic(const MosaicGrid& mosaic) {
  Grid grid;
  grid.anchor = 0;
  grid.from_dump = true;
  for (std::size_t a = 0; a < mosaic.iteration_bounds.size(); ++a) {
    std::int64_t bound = mosaic.iteration_bounds[a];
    grid.sizes.push_back(bound);
    if (bound > 1) grid.axes.push_back({static_cast<int>(a), 1, bound});
    grid.steps *= bound;
  }
  return grid;
}

std::shared_ptr<const WindowMap> MakePartsMap(const Grid& grid, std::int64_t total) {
  return std::make_shared<PartsMap>(grid.sizes, std::max<std::int64_t>(grid.steps, 1), total);
}

}  // namespace spillway::plan
