// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulate.h"

#include <fmt/format.h>

#include "sim/engine/core.h"
#include "sim/engine/sim_context.h"
#include "sim/engine/time.h"
#include "sim/model/hbm_memory.h"

namespace spillway::engine {

Result<RunResult> Simulate(const plan::Program& program, const config::ChipConfig& chip,
                           const SimulateOptions& options) {
  const VmemOccupancy vmem(program);
  Diagnostics errors;
  for (const Status& status : {model::CheckHbm(chip.hbm), vmem.Check(chip), CheckHbm(program, chip)}) {
    if (!status.ok()) errors.insert(errors.end(), status.errors().begin(), status.errors().end());
  }
  if (!errors.empty()) return errors;

  SimContext context;
  Recorder recorder(program, chip, options.record_timeline);
  Hbm hbm("hbm", chip, recorder, options.experience.get());
  Dma dma("dma", chip, recorder);
  Core core("core", program, chip, vmem, recorder);
  dma.hbm(hbm);
  core.dma(dma);
  core.set_interrupted(options.interrupted);
  core.set_progress(options.progress);
  context.Run();

  const Picos end = Now() + recorder.skipped();
  const bool stopped = core.limit_reached() || (options.interrupted && options.interrupted->load());
  if (!core.failure().empty()) return Error(core.failure());
  RunResult result;
  result.limit_reached = core.limit_reached();
  if (core.limit_reached()) {
    result.limit = Error(fmt::format("the limit of {} events (run.max_events) was reached at {}", chip.run.max_events, FormatDuration(end)),
                         "--set run.max_events=0 removes the limit");
  } else if (!core.finished() && !stopped) {
    result.limit_reached = true;
    result.limit = Error(fmt::format("the program deadlocks at {}: {}", FormatDuration(end), core.Blocked()));
  }
  if (!core.finished()) core.Abandon();

  result.summary = recorder.TakeSummary(Now());
  result.summary.complete = core.finished();
  result.summary.vmem_peak_bytes = vmem.peak();
  result.summary.vmem_buffers_bytes = vmem.peak_buffers();
  if (vmem.peak_op() >= 0 && vmem.peak() > 0) {
    result.summary.vmem_peak_at = program.ops[static_cast<std::size_t>(vmem.peak_op())].name;
  }
  result.timeline = recorder.TakeTimeline();
  if (options.keep_experience) result.experience = hbm.experience();
  return result;
}

}  // namespace spillway::engine
